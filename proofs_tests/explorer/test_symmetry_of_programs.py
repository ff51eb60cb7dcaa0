"""Under symmetry programs of the language, and plans, have the same findings and counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import due, few, many
from proofs_tests.explorer.symmetric import assert_the_same, counted, told
from proofs_tests.explorer.test_explored_programs import SMALL
from proofs_tests.exploring import explore_graph
from wingspan import api
from wingspan.base.errors import Fault, WingspanError
from wingspan.explorer import Step, replay
from wingspan.explorer.machine import Symmetric
from wingspan.explorer.races import races_of
from wingspan.explorer.states import States
from wingspan.explorer.symmetry import canonical_form
from wingspan.testing.programs import programs
from wingspan.testing.templates import meetings

ALIKE = replace(SMALL, modifiers=("Mutex", "Isolate"), spawning=1)


def test_random_programs_have_the_same_findings_and_counts() -> None:
    """On 100 programs whose tasks take their iterations in turns, on both machines."""
    seen: Counter[str] = Counter()

    @settings(max_examples=many(100), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.one_of(meetings(modifiers=("Mutex", "Isolate")), meetings(), programs(ALIKE)), st.sampled_from([2, 3]))
    def compare(text: str, threads: int) -> None:
        text = re.sub(r"(parallel\([^,()]+, \w+)\)", r"\1, dynamic_schedule(1))", text)
        try:
            bound = api.bind(api.parse(text), threads=None if "far" in text else threads)
            machines = [api.machine_of(bound, name) for name in api.MACHINES]
        except WingspanError:
            return
        for machine in machines:
            seen["distinguishable"] += bool(machine.asymmetry)
            compared = None if machine.asymmetry else assert_the_same(machine, most=400)
            if compared is not None:
                full, fewer = compared
                seen[full.verdict] += 1
                seen["fewer"] += fewer.states < full.states

    compare()
    least = {"fewer": 60, "safe": 60, "race": 8, "distinguishable": 10}
    assert all(seen[name] >= due(number) for name, number in least.items()), seen


NESTED = """
d = cpu(:d, 2)
e = cpu(2, d)
C = Tensor(Dense(Mutex(Dense(Element(0)))), 2, 1)
w = Tensor(Dense(Element(0)), 1)
C .= 0
for i = parallel(1:2, d, dynamic_schedule(1))
    w .= 0
    for j = parallel(1:2, e, dynamic_schedule(1))
        w[1] += 1
    end
    C[1, i] += w[1]
end
return C
"""

CHUNKS = """
C = Tensor(Dense(Element(0)), 3)
w = Tensor(SparseByteMap(Element(0)), 1)
C .= 0
for i = parallel(1:3, cpu(:t, 3), dynamic_schedule(1))
    w .= 0
    w[1] += i
    for j = 1:1
        C[i] = w[j]
    end
end
return C
"""

WAITING = """
C = Tensor(Mutex(Dense(Mutex(Element(0)))), 2)
C .= 0
for i = parallel(1:3, cpu(:t, 3), dynamic_schedule(1))
    C[1] += 1
end
return C
"""


@pytest.mark.parametrize(
    ("text", "factor", "machine"),
    few(
        [(*case, name) for name in ("native", "semantics") for case in ((NESTED, 3.5), (CHUNKS, 3.5), (WAITING, 4))], 1
    ),
)
def test_copies_locks_and_nested_tasks_have_no_names(text: str, factor: float, machine: str) -> None:
    """Three tasks have 3! orders; two that have two each 2³: what each has for itself goes with it."""
    compared = assert_the_same(api.machine_of(api.bind(api.parse(text)), machine), most=20_000)
    assert compared is not None
    full, fewer = compared
    assert full.states > factor * fewer.states


def nested(draw: Random) -> str:
    """A random program of tasks that run tasks: they share variables, at times tensors, that the outer ones have each.

    Values are few, so that what tasks have comes to be equal again.
    """
    formats = ("Dense(Element(0))", "Dense(Atomic(0))", "Dense(Mutex(Element(0)))", "Isolate(SparseList(Element(0)))")
    threads = draw.choice([(2, 2), (2, 2), (2, 1), (3, 1), (1, 3)])
    head = [f"d = cpu(:d, {threads[0]})", f"e = cpu({threads[1]}, d)", f"g = cpu(:g, {draw.choice([2, 3])})"]
    head += [f"{name} = Tensor({draw.choice(formats)}, {extent})" for name, extent in (("C", 2), ("w", 1))]

    def statement(names: list[str], index: str, tensors: list[str]) -> list[str]:
        name = draw.choice(names)
        match draw.choice(["set", "set", "set", "if", "update", "update"]):
            case "set":
                return [f"{name} = {draw.choice(['1', '5', index, f'{name} + 1', draw.choice(names)])}"]
            case "if":
                return [f"if {name} == {draw.choice('015')}", *statement(names, index, tensors), "end"]
        tensor = draw.choice(tensors)
        return [f"{tensor}[{draw.choice(['1', index]) if tensor == 'C' else 1}] += 1"]

    def region(device: str, index: str, names: list[str], tensors: list[str]) -> list[str]:
        body = []
        if draw.random() < 0.6:
            names = [*names, f"y{index}"]
            body.append(f"y{index} = {draw.choice('05')}")
        if device == "d":
            if draw.random() < 0.4:
                tensors = [*tensors, "w"]
                body.append("w .= 0")
            body += statement(names, index, tensors) if draw.random() < 0.5 else []
            body += region("e", "j", names, tensors)
        body += statement(names, index, tensors) if device != "d" or draw.random() < 0.5 else []
        ends = draw.choice(["1:2", "1:2", "1:2", "1:1", "2:1"])
        schedule = draw.choice([*["dynamic_schedule(1)"] * 4, "dynamic_schedule(2)", "static_schedule()"])
        return [f"for {index} = parallel({ends}, {device}, {schedule})", *body, "end"]

    lines = ["C .= 0", "v = 0", *region("d", "i", ["v"], ["C"])]
    if draw.random() < 0.25:
        lines += region("g", "i", ["v"], ["C"])
    return "\n".join((*head, *lines, "return C"))


def assert_alike(machine: Symmetric[Any], states: States[Any]) -> None:
    """States that count as one have the same next steps, up to names: to states that count as one, with equal races.

    This is what all else rests on, seen at each state that there is without symmetry.
    """
    marks = [canonical_form(*machine.anonymize(states.state(node))) for node in range(states.nodes)]
    known: dict[Hashable, Counter[Hashable]] = {}
    for node, each in enumerate(marks):
        seen: Counter[Hashable] = Counter(finding for finding, _ in states.at.get(node, ()) if finding[0] == "result")
        able: list[Step[Any]] = []
        for task, _, target in states.moves(node):
            choice = states.choice(node, states.paths[task])
            if not isinstance(choice, Step):
                seen["blocked", choice.span] += 1
                continue
            able.append(choice)
            after = choice.next.message if isinstance(choice.next, Fault) else marks[target]
            touches = tuple((touch.effect, touch.tensor, touch.spot) for touch in choice.footprint)
            seen[choice.rule, choice.span, choice.indices, touches, after] += 1
        for one, other in combinations(able, 2):
            seen.update(("race", key) for key, _, _ in races_of(one, other))
        assert known.setdefault(each, seen) == seen


@pytest.mark.parametrize("name", api.MACHINES)
def test_states_that_count_as_one_go_on_alike(name: str) -> None:
    """On the states of 70 random programs with tasks that run tasks, most of which have fewer under symmetry."""
    seen: Counter[str] = Counter()
    for seed in range(many(70)):
        machine = api.machine_of(api.bind(api.parse(nested(Random(seed)))), name)
        states: States[Any] = States(machine, max_states=150)
        states.search(states.flood)
        if states.stopped_by is None:
            assert isinstance(machine, Symmetric) and not machine.asymmetry
            assert_alike(machine, states)
            fewer = explore_graph(machine, symmetry=True)
            assert counted(machine, fewer) == counted(machine, explore_graph(machine))
            told(machine, fewer)
            seen[fewer.verdict] += 1
            seen["fewer"] += fewer.states < states.nodes
    least = {"fewer": 30, "race": 5, "safe": 30}
    assert all(seen[kind] >= due(number) for kind, number in least.items()), seen


FORGETTING = """
d = cpu(:d, 2)
e = cpu(:e, 2, d)
v = 0
for i = parallel(1:2, d, dynamic_schedule(1))
    y = 5
    for j = parallel(1:2, e)
        if v == 1
            y = 5
        end
    end
    v = 1
end
"""


@pytest.mark.parametrize("machine", api.MACHINES)
def test_a_race_is_shown_whole_where_its_first_step_leads_to_other_names(machine: str) -> None:
    """The y of one outer task is called that of the other one there; both writes are to be in the interleaving."""
    assert assert_the_same(api.machine_of(api.bind(api.parse(FORGETTING)), machine)) is not None


@pytest.mark.parametrize("machine", api.MACHINES)
@pytest.mark.parametrize("file", few(sorted(Path("examples").glob("quiz_*.ws")), 5), ids=lambda path: path.stem)
def test_quiz_programs_have_the_same_findings_and_counts(file: Path, machine: str) -> None:
    assert assert_the_same(api.machine_of(api.bind(file), machine)) is not None


MERGED = """
t = cpu(:t, 3)
s = Tensor(Merge(t, Element(0)))
s .= 0
for i = parallel(1:3, t, dynamic_schedule(1))
    s[] += ifelse(i == 1, 1, ifelse(i == 2, 9223372036854775807, -9223372036854775807))
end
return s
"""


@pytest.mark.parametrize("name", api.MACHINES)
def test_exchanging_threads_with_their_copies_is_no_renaming(name: str) -> None:
    """A Merge folds the copies in the order of the threads: the same copies overflow in one order, and not in another.

    So tasks are distinguished there: `1,2,3` claims the iterations in the order of the threads, `2,3,1` in another.
    """
    machine = api.machine_of(api.bind(api.parse(MERGED)), name)
    ends = [replay(machine, claims, finish=True) for claims in ("1,2,3", "2,3,1")]
    for run in ends:
        list(run)
    assert [run.end for run in ends] == ["fault", "finished"]
    assert machine.asymmetry == "a level Merge of s belongs to threads by their ids"


SHARDED = """
t = cpu(:t, 2)
C = Tensor(Dense(Shard(t, SparseByteMap(Element(0)))), 2, 2)
C .= 0
for j = parallel(1:2, t, dynamic_schedule(1))
    C[1, j] += 1
end
for j = parallel(1:2, t)
    C[2, j] += 1
end
return C
"""


@pytest.mark.parametrize("name", api.MACHINES)
def test_exchanging_threads_with_their_shards_is_no_renaming(name: str) -> None:
    """Between the loops, the states after `1,2` and `2,1` differ only in who has claimed which column into its shard.

    The static loop then lets thread 1 reach column 1, which is a fault if thread 2 has claimed it. So tasks are
    distinguished there.
    """
    machine = api.machine_of(api.bind(api.parse(SHARDED)), name)
    runs = [replay(machine, claims, finish=True) for claims in ("1,2", "2,1")]
    for run in runs:
        list(run)
    assert [run.end for run in runs] == ["finished", "fault"]
    message = "C, level 2 Shard: position 1 belongs to thread 2, and thread 1 reaches it"
    assert runs[1].incident is not None and runs[1].incident.message == message
    assert machine.asymmetry == "a level Shard of C belongs to threads by their ids"
    verdict = api.explore(api.parse(SHARDED), machine=name, symmetry=True, strategy="graph").verdict
    assert verdict.complete and message in {fault.message for fault in verdict.faults} and verdict.results
