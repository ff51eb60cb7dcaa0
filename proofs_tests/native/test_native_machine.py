"""The plan under a controlled scheduler goes wrong in the ways, and only in the ways, that the rules predict.

The oracle is the semantics, which shares with the plan no more than the levels and the elaborated program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from proofs_tests import places
from proofs_tests.effort import few
from proofs_tests.explorer.test_visibility import PROGRAMS
from proofs_tests.exploring import explore_graph
from proofs_tests.semantics import test_listings as listings
from wingspan import api
from wingspan.elaborate import Elaborated
from wingspan.explorer import AccessReport, Blocked, FaultReport, Race, Step, Verdict, replay
from wingspan.explorer.incident import Deadlock
from wingspan.explorer.races import span_key
from wingspan.native.machine import Native, NativeState

EXAMPLES = places.EXAMPLES
SMALL = ("dependent", "dependent_atomic", "independent")


def findings(verdict: Verdict) -> dict[str, Any]:
    """The findings of a verdict, without counts and examples; of a race also its places and rules."""
    assert verdict.complete
    return {
        "verdict": verdict.verdict,
        "outcomes": {result.outcome for result in verdict.results},
        "races": {
            (race.tensor, race.level, race.level_name, race.buffer, race.kind, frozenset(map(site, sides(race))))
            for race in verdict.races
        },
        "faults": {(fault.message, site(fault)) for fault in verdict.faults},
        "deadlocks": {deadlock.message for deadlock in verdict.deadlocks},
    }


def sides(race: Race) -> tuple[AccessReport, AccessReport]:
    """The two accesses."""
    return race.first, race.second


def site(found: AccessReport | FaultReport) -> Hashable:
    """By which rule, and where in the program."""
    return found.rule, span_key(found.span)


def assert_alike(bound: Elaborated) -> Verdict:
    """Both machines find the same; what the native one found."""
    found = explore_graph(api.native(bound))
    assert findings(found) == findings(explore_graph(api.semantics(bound)))
    return found


def assert_replayed(bound: Elaborated, found: Verdict) -> None:
    """Each interleaving of the verdict leads to what it is printed for."""
    machine = api.native(bound)
    for race in found.races:
        run = replay(machine, race.interleaving, finish=False)
        taken = [step for step in run if step.visible]
        nexts = [step for step in run.choices.values() if isinstance(step, Step)]
        pairs = [*zip(taken[-2:-1], taken[-1:], strict=True), *((taken[-1], step) for step in nexts)]
        assert any(conflict(one, other, race.cell) for one, other in pairs)
    for result in found.results:
        run = replay(machine, result.interleaving, finish=False)
        list(run)
        assert (run.end, machine.outcome(run.state)) == ("finished", result.outcome)
    incidents: list[FaultReport | Deadlock] = [*found.faults, *found.deadlocks]
    for incident in incidents:
        run = replay(machine, incident.interleaving, finish=False)
        list(run)
        assert run.incident is not None and run.incident.message == incident.message


def conflict(one: Step[NativeState], other: Step[NativeState], cell: str) -> bool:
    """Whether two steps of different tasks race on a cell."""
    return one.task != other.task and any(
        x.races(y) and str(x.cell) == cell for x in one.footprint for y in other.footprint
    )


# ----------------------------------------------------------------------------------------------- against the semantics


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("quiz_*.ws")), ids=lambda path: path.stem)
def test_the_quiz_goes_wrong_in_the_same_ways(path: Path) -> None:
    """Every program that is broken on purpose: same verdict, outcomes, races, faults and deadlocks, all replayable."""
    bound = api.bind(path)
    assert_replayed(bound, assert_alike(bound))


@pytest.mark.parametrize("name", SMALL)
def test_the_small_examples_behave_alike(name: str) -> None:
    """The examples that need neither data nor parameters."""
    bound = api.bind(EXAMPLES / f"{name}.ws")
    assert_replayed(bound, assert_alike(bound))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_kind_of_level_behaves_alike(name: str) -> None:
    """Programs on each of the levels, with nested tasks, private copies, locks and variables."""
    bound = api.bind(api.parse(dedent(PROGRAMS[name])))
    assert_replayed(bound, assert_alike(bound))


@pytest.mark.parametrize("use", ["x = C[r[1], r[1]]", "d[1] += C[r[1], r[1]]", "if C[r[1], r[1]] == 0\nd[1] += 1\nend"])
@pytest.mark.parametrize("format", ["SparseByteMap", "SparseList", "SparseDict", "Dense"])
def test_nothing_is_out_of_bounds_of_a_fiber_that_is_not_there(format: str, use: str) -> None:
    """An access to one is its fill value; where there is one, as in dense formats, it is a fault."""
    text = f"""
    r = Tensor(Dense(Element(0)), [2])
    C = Tensor({format}(Dense(Element(0))), 1, 2)
    d = Tensor(Dense(Element(0)), 1)
    C .= 0
    d .= 0
    {use}
    return d
    """
    assert assert_alike(api.bind(api.parse(text))).verdict == ("fault" if format == "Dense" else "safe")


@pytest.mark.parametrize("schedule", ["static_schedule()", "dynamic_schedule(1)"])
@pytest.mark.parametrize("name", listings.PRODUCTS[:-1])
def test_the_listings_are_safe_as_plans(name: str, schedule: str) -> None:
    """All interleavings of two tasks on 2×2 matrices: the product, and no race."""
    A, B = listings.matrices(2, 2, 2, seed=2)
    bound = api.bind(listings.program(name, schedule), **listings.binding(name, schedule, 2, A, B))
    found = explore_graph(api.native(bound))
    assert (found.complete, found.verdict) == (True, "safe")
    assert found.results[0].outcome.values()["C"] == (A @ B).tolist()


KERNELS: dict[str, dict[str, list[Any]]] = {
    "hadamard": {"A": [[1, 0], [2, 3]], "B": [[0, 4], [5, 6]]},
    "spadd": {"A": [[1, 0], [2, 3]], "B": [[0, 4], [5, 6]]},
    "spmspv": {"A": [[1, 2], [0, 3]], "x": [4, 5]},
    "mttkrp_dense": {"B": [[[1, 2], [3, 4]]], "C": [[1, 2], [3, 4]], "D": [[5, 6], [7, 8]]},
    "mttkrp_sparse": {"BT": [[[1], [0]], [[3], [4]]], "C": [[1, 2], [3, 0]], "D": [[5, 6], [0, 8]]},
}
"""Inputs of the other kernels."""


@pytest.mark.parametrize("schedule", ["static_schedule()", "dynamic_schedule(1)"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_kernels_are_safe_as_plans(name: str, schedule: str) -> None:
    """All interleavings of two tasks: no race, and what the reference computes, in doubles."""
    inputs = {tensor: np.array(values, dtype=float) for tensor, values in KERNELS[name].items()}
    found = api.explore(EXAMPLES / f"{name}.ws", machine="native", inputs=inputs, params={"nt": 2, "sch": schedule})
    assert (found.verdict.complete, found.verdict.verdict) == (True, "safe")
    assert [result.outcome for result in found.verdict.results] == [found.expected]


def test_a_list_that_a_race_has_put_out_of_order_is_read_as_by_the_rules() -> None:
    """Its indices may be 3 and then 2: where only one task has written a list, the plan does not ask for that."""
    text = """
        T = Tensor(SparseList(Element(0)), 3)
        C = Tensor(Dense(Element(0)), 3)
        T .= 0
        for k = parallel(1:2)
            for i = 1:3
                if (k == 1) == (i == 3)
                    T[i] += i
                end
            end
        end
        C .= 0
        for i = 1:3
            C[i] += T[i]
        end
        return C
    """
    rules, plan = (api.explore(api.parse(dedent(text)), machine=machine).verdict for machine in ("semantics", "native"))
    assert rules.complete and plan.complete
    assert [result.outcome for result in plan.results] == [result.outcome for result in rules.results]
    assert len(rules.results) == 10


class Everything(Native):
    """The machine with nothing taken for granted: every access is one that others may observe."""

    def step(self, state: NativeState, task: str) -> Step[NativeState] | Blocked:
        step = super().step(state, task)
        return replace(step, visible=True) if isinstance(step, Step) else step


@pytest.mark.parametrize("name", few(list(PROGRAMS), 9))
def test_what_is_taken_for_private_is(name: str) -> None:
    """With every access interleaved the findings are the same."""
    bound = api.bind(api.parse(dedent(PROGRAMS[name])))
    machine = api.native(bound)
    assert findings(explore_graph(Everything(machine.code, bound))) == findings(explore_graph(machine))


# ------------------------------------------------------------------------------------------------- on the command line


def test_the_command_explores_and_replays_plans(command) -> None:
    """`--machine native` finds the race of the example, and prints the command that shows it on that machine."""
    told = command("explore", str(EXAMPLES / "dependent.ws"), "--machine", "native")
    assert told.status == 1
    assert "machine native" in told.out
    (line,) = re.findall(r"^ +see +(wingspan replay .*)$", told.out, re.MULTILINE)[:1]
    assert "--machine native" in line
    shown = command(*line.replace("'", "").split()[1:])
    assert "conflict: both touch" in shown.out
    assert len(shown.out.splitlines()) < len(
        command(*line.replace("'", "").replace("native", "semantics").split()[1:]).out.splitlines()
    )
    verdict = json.loads(command("explore", str(EXAMPLES / "dependent.ws"), "--machine", "native", "--json").out)
    assert (verdict["machine"], verdict["verdict"]) == ("native", "race")
