"""Under symmetry tables of local steps change nothing either: states are merged, and tasks named, as without tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from textwrap import dedent
from typing import Any

import pytest

from proofs_tests.effort import few, many
from proofs_tests.explorer.plain import PlainSymmetric
from proofs_tests.explorer.symmetric import told
from proofs_tests.explorer.test_symmetry_of_programs import CHUNKS, FORGETTING, NESTED, WAITING, nested
from proofs_tests.explorer.test_tables import MOST, QUIZ, graph
from proofs_tests.explorer.test_visibility import PROGRAMS
from proofs_tests.program_templates import regions
from wingspan import api
from wingspan.explorer import Search, explore
from wingspan.explorer.machine import Symmetric
from wingspan.explorer.states import States
from wingspan.testing.choosing import by_seed
from wingspan.testing.templates import write_meeting, write_race

HOLDERS = """
C = Tensor(Dense(Mutex(Element(0))), 1)
D = Tensor(Dense(Element(0)), 2)
C .= 0
D .= 0
for i = parallel(1:2, cpu(:t, 2), dynamic_schedule(1))
    C[1] += 1
    D[i] = 1
end
return C, D
"""

OWN = """
t = cpu(:t, 3)
C = Tensor(Dense(Atomic(0)), 1)
w = Tensor(Dense(Element(0)), 1)
C .= 0
for i = parallel(1:3, t, dynamic_schedule(1))
    w .= 0
    w[1] += i
    C[1] += w[1]
end
return C
"""

WHOLE = {
    "chunks": CHUNKS,
    "nested": NESTED,
    "waiting": WAITING,
    "holders": HOLDERS,
    "forgetting": FORGETTING,
    "copies": OWN,
}


def walked(machine: Any) -> States[Any]:
    """All states of a machine up to names, or the first of them."""
    states: States[Any] = States(machine, max_states=MOST)
    states.symmetry = True
    states.search(lambda: states.flood())
    return states


def names(states: States[Any]) -> dict[tuple[int, str], str | None]:
    """For each edge whose step does not end its task, the name of the task at the node to which the edge leads."""
    return {
        (node, states.paths[task]): states.name(node, task)
        for node in range(states.nodes)
        for task, _, target in states.moves(node)
        if target >= 0 and not states.ended(node, task)
    }


def require_same(text: str, threads: int | None = None) -> Counter[str]:
    """The graphs of a program up to names, with tables and without, on both machines; what they have seen."""
    bound = api.bind(api.parse(dedent(text)), threads=threads)
    seen: Counter[str] = Counter()
    for name in api.MACHINES:
        machine = api.machine_of(bound, name)
        assert isinstance(machine, Symmetric)
        if machine.asymmetry:
            seen["distinguishable"] += 1
            continue
        tabled, plain = walked(machine), walked(PlainSymmetric(machine))
        assert (tabled.walker is None, plain.walker is None) == (False, True)
        assert graph(tabled) == graph(plain)
        assert names(tabled) == names(plain)
        seen["states"] += tabled.nodes
        seen["renamed"] += sum(path != name for (_, path), name in names(tabled).items())
    return seen


@pytest.mark.parametrize("name", few(list(PROGRAMS), 6))
def test_programs_about_visibility_have_the_same_graph(name: str) -> None:
    require_same(PROGRAMS[name])


@pytest.mark.parametrize("name", few(list(WHOLE), 6))
def test_copies_locks_and_nested_tasks_go_with_their_names(name: str) -> None:
    assert require_same(WHOLE[name])["renamed"]


@pytest.mark.parametrize("file", few(QUIZ, 4), ids=lambda file: file.stem)
def test_the_quiz_has_the_same_graph(file: Path) -> None:
    require_same(file.read_text())


def test_random_programs_have_the_same_graph() -> None:
    """Two tasks at one tensor of any format; several and nested regions; loops over runs; tasks that run tasks."""
    seen: Counter[str] = Counter()
    for seed in range(many(300)):
        match seed % 4:
            case 0:
                seen += require_same(write_meeting(by_seed(seed)))
            case 1:
                seen += require_same(regions(seed))
            case 2:
                seen += require_same(write_race(by_seed(seed)))
            case _:
                seen += require_same(nested(Random(seed)))
    assert seen["states"] > 20 * seen["distinguishable"] and seen["renamed"]


@pytest.mark.parametrize("strategy", ["auto", "graph"])
@pytest.mark.parametrize("machine", api.MACHINES)
@pytest.mark.parametrize("name", few(list(WHOLE), 2))
def test_verdicts_name_tasks_of_a_run(name: str, machine: str, strategy: str) -> None:
    """Their interleavings replay, and lead where they say; with and without tables they are the same."""
    program = api.machine_of(api.bind(api.parse(dedent(WHOLE[name]))), machine)
    search = Search(strategy, symmetry=True)
    tabled, plain = (replace(explore(each, search), seconds=0.0) for each in (program, PlainSymmetric(program)))
    assert tabled == plain
    told(program, tabled)


def test_a_machine_is_asked_for_few_steps() -> None:
    text = "C = Scalar(0)\nC[] = 0\nfor i = parallel(1:6, cpu(:t, 6), dynamic_schedule(1))\n    C[] += 1\nend"
    states = States(api.semantics(api.bind(api.parse(text))))
    states.symmetry = True
    states.search(lambda: states.flood(10_000))
    assert states.walker is not None and states.walker.asked < 1_000 < 10_000 < states.steps
