"""The reduction runs each trace exactly once, and finds all that the state graph finds."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import due, many
from proofs_tests.explorer.plain import Plain
from proofs_tests.explorer.test_explored_programs import SMALL
from proofs_tests.exploring import explore_dpor, explore_graph
from proofs_tests.native.test_native_machine import findings
from wingspan import api
from wingspan.base.errors import WingspanError
from wingspan.explorer import Machine, Verdict
from wingspan.explorer._dpor import Dpor
from wingspan.explorer.dpor import SequentialSearch
from wingspan.explorer.findings import verdict
from wingspan.explorer.states import States
from wingspan.testing.litmus import Add, Check, Claim, Litmus, Load, Lock, Spawn, Store, Unlock, ninc
from wingspan.testing.programs import programs
from wingspan.testing.templates import meetings


def searched(machine: Machine[Any]) -> tuple[Verdict, Dpor]:
    states = States(machine)
    alone = SequentialSearch(states)
    states.search(alone.search.run)
    return verdict(states, alone.coverage(), None, False), alone.search


@pytest.mark.parametrize(
    ("machine", "traces"),
    [
        (Litmus((Store("x", 1),), *[(Load("x"),)] * 5), 2**5),
        (Litmus((Lock("a"), Lock("b"), Unlock("b"), Unlock("a")), (Lock("b"), Lock("a"), Unlock("a"), Unlock("b"))), 3),
        (Litmus((Lock("a"), Lock("a")), (Lock("a"), Unlock("a"))), 2),
        (Litmus((Spawn(((Lock("a"),),)), Unlock("a")), (Lock("a"),)), 2),
        (Litmus((Claim("x", 1),), (Claim("x", 1),)), 1),
        (Litmus((Add("x"),), (Claim("x", 1),)), 2),
        (Litmus((Check("x", 1),), (Check("x", 1),)), 1),
        (Litmus(), 1),
    ],
)
def test_numbers_of_traces_that_can_be_told_by_hand(machine: Litmus, traces: int) -> None:
    """A writer among n readers: 2ⁿ; what comes of locks in opposite orders; claims that fail only read."""
    found, search = searched(machine)
    assert (search.executions, search.redundant, found.complete) == (traces, 0, True)


def test_a_bound_cuts_the_reduction_short() -> None:
    verdict = explore_dpor(ninc(3), max_states=20)
    assert (verdict.complete, verdict.stopped_by, verdict.states) == (False, "max-states", 20)


@pytest.mark.parametrize("machine", api.MACHINES)
@pytest.mark.parametrize("after", ["static_schedule()", "dynamic_schedule(1)"])
def test_loops_one_after_the_other_do_not_race(machine: str, after: str) -> None:
    """The steps of a loop's tasks come after all steps of the loop before, whatever the tasks' names."""
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
    with_tables = api.machine_of(api.bind(program), machine)
    for each in (with_tables, Plain(with_tables)):
        found, search = searched(each)
        assert (found.verdict, search.executions, search.redundant) == ("safe", 1, 0)


def test_both_strategies_find_the_same_on_both_machines() -> None:
    """On 200 random wingspan programs: the same of all four, and both machines have as many traces."""
    seen: Counter[str] = Counter()

    @settings(max_examples=many(200), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.one_of(meetings(), programs(SMALL)))
    def agree(text: str) -> None:
        try:
            bound = api.bind(api.parse(text), threads=None if "far" in text else 2)
            machines: list[Machine[Any]] = [api.machine_of(bound, name) for name in api.MACHINES]
        except WingspanError:
            return
        full = [explore_graph(machine, max_states=200) for machine in machines]
        if all(verdict.complete for verdict in full):
            fewer = [explore_dpor(machine) for machine in machines]
            first, *others = [findings(verdict) for verdict in (*full, *fewer)]
            assert all(other == first for other in others), text
            assert fewer[0].executions == fewer[1].executions, text
            seen[full[0].verdict] += 1
            seen["reduced"] += fewer[0].executions < (full[0].interleavings or 0)
            seen["traces"] += fewer[0].executions > 1

    agree()
    least = {"safe": 50, "race": 20, "fault": 5, "traces": 30, "reduced": 30}
    assert all(seen[name] >= due(number) for name, number in least.items()), seen
