"""The reduction runs each trace exactly once, and finds all that the state graph finds."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings

from proofs_tests.exploring import explore_dpor, explore_graph
from proofs_tests.litmus import Add, Check, Claim, Litmus, Load, Lock, Store, Unlock, lockinc, ninc
from proofs_tests.test_explorer import programs
from proofs_tests.traces import Traces
from wingspan import api
from wingspan.explorer import Machine, Verdict
from wingspan.explorer._dpor import Dpor
from wingspan.explorer.dpor import coverage
from wingspan.explorer.findings import verdict
from wingspan.explorer.states import States


def findings(verdict: Verdict) -> dict[str, object]:
    """All of a verdict that does not depend on the way that the search has taken."""
    return {
        "verdict": verdict.verdict,
        "results": {result.outcome for result in verdict.results},
        "races": {
            (r.tensor, r.level, r.buffer, r.kind, frozenset((r.first.span, r.second.span))) for r in verdict.races
        },
        "faults": {(fault.message, fault.span) for fault in verdict.faults},
        "deadlocks": {frozenset(deadlock.waiting) for deadlock in verdict.deadlocks},
    }


def searched(machine: Machine[Any]) -> tuple[Verdict, Dpor]:
    states = States(machine)
    search = Dpor(states)
    states.search(search.run)
    return verdict(states, coverage(search), None, False), search


@settings(max_examples=300, derandomize=True, deadline=None)
@given(programs())
def test_every_trace_is_run_exactly_once(machine: Litmus) -> None:
    """As many runs as walking all interleavings finds traces, none of them given up; and the same ends."""
    walked = Traces(machine)
    found, search = searched(machine)
    assert (search.executions, search.redundant) == (len(walked.traces), 0)
    assert {result.outcome for result in found.results} == walked.ends
    assert {fault.message for fault in found.faults} == walked.faults
    assert {frozenset(deadlock.waiting) for deadlock in found.deadlocks} == walked.deadlocks
    assert findings(found) == findings(explore_graph(machine))


@pytest.mark.parametrize(
    ("machine", "traces"),
    [
        *((ninc(n), math.factorial(n) ** 2) for n in (1, 2, 3, 4)),
        *((lockinc(n), math.factorial(n)) for n in (1, 2, 3, 4)),
        (Litmus(*[(Store(cell, 1),) for cell in "abcdef"]), 1),
        (Litmus((Store("x", 1),), *[(Load("x"),)] * 5), 2**5),
        (Litmus((Lock("a"), Lock("b"), Unlock("b"), Unlock("a")), (Lock("b"), Lock("a"), Unlock("a"), Unlock("b"))), 3),
        (Litmus((Lock("a"), Lock("a")), (Lock("a"), Unlock("a"))), 2),
        (Litmus((Claim("x", 1),), (Claim("x", 1),)), 1),
        (Litmus((Add("x"),), (Claim("x", 1),)), 2),
        (Litmus((Check("x", 1),), (Check("x", 1),)), 1),
        (Litmus(), 1),
    ],
)
def test_numbers_of_traces_that_can_be_told_by_hand(machine: Litmus, traces: int) -> None:
    """Increments: (n!)²; under a lock n!; distinct cells 1; a writer among n readers 2ⁿ; failing claims only read."""
    found, search = searched(machine)
    assert (search.executions, search.redundant, found.complete) == (traces, 0, True)


def test_a_bound_cuts_the_reduction_short() -> None:
    verdict = explore_dpor(ninc(3), max_states=20)
    assert (verdict.complete, verdict.stopped_by, verdict.states) == (False, "max-states", 20)


@pytest.mark.parametrize("machine", api.MACHINES)
@pytest.mark.parametrize("after", ["static_schedule()", "dynamic_schedule(1)"])
def test_loops_one_after_the_other_do_not_race(machine: str, after: str) -> None:
    """What a loop's tasks do comes after all that those of the loop before did, whatever they are called."""
    program = api.parse(
        f"""
    c = Tensor(Dense(Element(0)), 2)
    c .= 0
    for i = parallel(1:2, cpu(:a, 2))
        c[i] += 1
    end
    for i = parallel(1:2, cpu(:b, 1), {after})
        c[i] += 1
    end
    for i = parallel(1:2, cpu(:a, 2))
        c[i] += 1
    end
    return c
    """
    )
    found, search = searched(api.machine_of(api.bind(program), machine))
    assert (found.verdict, search.executions, search.redundant) == ("safe", 1, 0)
