"""Each strategy finds what it promises, and says how far that goes."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.explorer.tiny import programs, regions
from proofs_tests.explorer.walking import Cheapest, Cost, cost
from proofs_tests.exploring import explore_by, explore_dpor, explore_graph
from proofs_tests.traces import Traces
from wingspan.base.errors import Fault, InputError
from wingspan.explorer import Blocked, Search, Step, Verdict, explore, search
from wingspan.explorer.estimate import Move, SampleMean, estimate_traces, weigh_random_walk
from wingspan.explorer.settle import settle
from wingspan.explorer.states import States, Status
from wingspan.testing.litmus import Check, Litmus, LitmusState, Load, Program, Spawn, Store, lockinc, ninc


def findings(verdict: Verdict) -> dict[str, set[Any]]:
    """All of a verdict that does not depend on the way that the search has taken."""
    return {
        "results": {result.outcome for result in verdict.results},
        "races": {
            (r.tensor, r.level, r.buffer, r.kind, frozenset((r.first.span, r.second.span))) for r in verdict.races
        },
        "faults": {(fault.message, fault.span) for fault in verdict.faults},
        "deadlocks": {frozenset(deadlock.waiting) for deadlock in verdict.deadlocks},
    }


def chances(machine: Litmus) -> dict[Hashable, Fraction]:
    """The probability of each outcome, by walking every interleaving of visible steps."""
    found: dict[Hashable, Fraction] = defaultdict(Fraction)

    def visit(state: LitmusState, chance: Fraction) -> None:
        choices = [machine.step(state, task) for task in machine.tasks(state)]
        steps = [choice for choice in choices if isinstance(choice, Step)]
        if not choices:
            found[machine.outcome(state)] += chance
        for step in steps:
            if not isinstance(step.next, Fault):
                visit(settle(machine, step.next, step.task).state, chance / len(steps))

    visit(settle(machine, machine.initial()).state, Fraction(1))
    return found


@settings(max_examples=many(100), derandomize=True, deadline=None)
@given(programs())
def test_the_graph_tells_how_likely_each_result_is(machine: Litmus) -> None:
    found = {result.outcome: result.probability for result in explore_graph(machine).results}
    assert found == {outcome: pytest.approx(float(chance)) for outcome, chance in chances(machine).items()}


def test_chances_of_three_increments() -> None:
    """Not the shares, 48, 36 and 6 of 90: an interleaving in which tasks end early is more likely than others."""
    found = {result.outcome: result.probability for result in explore_graph(ninc(3)).results}
    assert found == pytest.approx({(("x", 1),): 1 / 3, (("x", 2),): 1 / 2, (("x", 3),): 1 / 6})


# ---------------------------------------------------------------------------------------------------------------- auto

WIDE = Litmus((Store("x", 1),) * 60, (Store("y", 1),) * 60)
"""3,721 states, one trace."""


def test_auto_takes_the_graph_while_it_is_small() -> None:
    verdict = explore(ninc(3))
    assert (verdict.strategy, verdict.reason, verdict.interleavings) == ("graph", "the states are few", 90)


def test_auto_takes_traces_where_the_graph_is_large() -> None:
    verdict = explore(WIDE)
    assert (verdict.strategy, verdict.executions, verdict.complete) == ("dpor", 1, True)
    assert re.fullmatch(r"the graph has over 1\d\d\d states", verdict.reason)
    assert verdict.states < explore_graph(WIDE).states


def test_auto_takes_the_graph_where_traces_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PROBE", 20)
    monkeypatch.setattr(search, "MANY", 100)
    verdict = explore(ninc(4))
    assert (verdict.strategy, verdict.interleavings) == ("graph", 2520)
    assert re.fullmatch(r"there seem to be [\de+.]+ ± [\de+.]+ traces", verdict.reason)


@settings(max_examples=many(100), derandomize=True, deadline=None)
@given(programs(), st.integers(0, 30))
def test_auto_finds_all_that_there_is(machine: Litmus, probe: int) -> None:
    """The state where it changes the strategy does not matter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "PROBE", probe)
        verdict = explore(machine)
    every = explore_graph(machine)
    assert (verdict.complete, verdict.verdict) == (True, every.verdict)
    assert findings(verdict) == findings(every)


def test_auto_does_not_wait_for_states_that_cost_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many steps it looks at traces, also with fewer states."""
    monkeypatch.setattr(search, "COSTLY", 100)
    verdict = explore(Litmus((Store("x", 1),) * 20, (Store("y", 1),) * 20))
    assert (verdict.strategy, verdict.executions, verdict.complete) == ("dpor", 1, True)
    assert verdict.states < 441


def test_a_strategy_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="there is no strategy swarm"):
        explore(ninc(2), Search("swarm"))


# ------------------------------------------------------------------------------------------------- estimates of traces


def expectation(machine: Litmus) -> Fraction:
    """The expectation of a walk's estimate: all choices that a walk can make, each with its probability."""
    states, mean = States(machine), Fraction(0)
    script: list[tuple[int, int]] = []

    def take() -> None:
        nonlocal mean
        while True:
            made = 0
            chance = Fraction(1)

            def choice(allowed: list[Move]) -> Move:
                nonlocal made, chance
                if made == len(script):
                    script.append((0, len(allowed)))
                made += 1
                chance /= len(allowed)
                return allowed[script[made - 1][0]]

            product = Fraction(weigh_random_walk(states, choice))
            mean += chance * product
            while script and script[-1][0] + 1 == script[-1][1]:
                script.pop()
            if not script:
                return
            script[-1] = (script[-1][0] + 1, script[-1][1])

    states.search(take)
    return mean


@settings(max_examples=many(150), derandomize=True, deadline=None)
@given(programs())
def test_the_estimate_is_unbiased(machine: Litmus) -> None:
    """The mean over all walks, each as likely as it is, is the number of traces that walking every one finds."""
    assert expectation(machine) == len(Traces(machine).traces)


@pytest.mark.parametrize(("machine", "traces"), [(ninc(4), 576), (ninc(5), 14400), (lockinc(4), 24)])
def test_the_error_of_an_estimate_is_told(machine: Litmus, traces: int) -> None:
    """400 walks of a fixed seed; three standard errors. Under a lock every walk gives the number."""
    states: States[LitmusState] = States(machine)
    found: list[SampleMean] = []
    states.search(lambda: found.append(estimate_traces(states.fresh_copy(), 400)))
    assert abs(found[0].mean - traces) <= 3 * found[0].error
    assert (found[0].error == 0) == (traces == 24)


def test_the_reduction_tells_how_far_it_is() -> None:
    """Traces run and planned, errors, and after a thousand runs about how many there are: 14,400."""
    told: list[Status] = []
    verdict = explore(ninc(5), Search("dpor"), progress=told.append)
    by_traces = [status for status in told if status.unit == "trace"]
    assert [status.explored for status in by_traces] == sorted(status.explored for status in by_traces)
    assert all(status.planned > 0 for status in by_traces)
    last = by_traces[-1]
    assert 14_000 <= last.explored <= verdict.executions == 14_400
    assert last.errors == len(verdict.races)
    assert last.total is not None and abs(last.total.mean - 14_400) < 3 * last.total.error


def test_memory_is_bounded() -> None:
    verdict = explore(ninc(4), Search("graph", max_memory=1))
    assert (verdict.complete, verdict.stopped_by, verdict.states) == (False, "max-memory", 0)


# ------------------------------------------------------------------------------------------------------ random and pct


@pytest.mark.parametrize("strategy", ["random", "pct"])
@settings(max_examples=many(50), derandomize=True, deadline=None)
@given(machine=programs(), seed=st.integers(0, 9))
def test_what_some_runs_find_is_there(strategy: str, machine: Litmus, seed: int) -> None:
    """A part of the results, races, faults and deadlocks; never called complete, and the same again by its seed."""
    every, some = explore_graph(machine), explore_by(strategy, machine, runs=20, seed=seed)
    assert (some.complete, some.stopped_by, some.executions) == (False, "runs", 20)
    for found in ("results", "races", "faults", "deadlocks"):
        assert findings(some)[found] <= findings(every)[found]
    assert sum(result.executions for result in some.results) <= 20
    again = explore_by(strategy, machine, runs=20, seed=seed)
    assert {**vars(again), "seconds": 0} == {**vars(some), "seconds": 0}


@pytest.mark.parametrize("seed", range(5))
def test_a_run_that_a_bound_cuts_short_promises_nothing(seed: int) -> None:
    """Here the second or a later one. The first promises nothing in any case: how long runs are is not known yet."""
    verdict = explore(ninc(3), Search("pct", runs=50, max_states=9, seed=seed))
    assert verdict.stopped_by == "max-states" and verdict.executions >= 1
    assert int(verdict.remark.split()[0]) == verdict.executions - 1


def test_random_runs_come_out_as_likely_as_the_graph_says() -> None:
    """3,000 runs of a fixed seed; four standard deviations."""
    exact = {result.outcome: result.probability for result in explore_graph(ninc(3)).results}
    for result in explore_by("random", ninc(3), runs=3000).results:
        p = exact[result.outcome]
        assert p is not None
        assert abs(result.executions - 3000 * p) < 4 * math.sqrt(3000 * p * (1 - p))


def test_seeds_differ() -> None:
    ends = {
        tuple(sorted((r.outcome, r.executions) for r in explore_by("random", ninc(3), runs=9, seed=seed).results))
        for seed in range(5)
    }
    assert len(ends) > 1


NEEDLE = Litmus((Store("x", 1), Store("x", 2)), (*(Load("y"),) * 9, Check("x", 1)))
"""The check passes only between the two stores: one change of priorities does it, at the right one of twelve steps."""


def test_pct_keeps_its_promise() -> None:
    """In 4,000 runs what has depth 2 is found at least as often as the bound says; random runs find it less often."""
    found: Counter[str] = Counter()
    for seed in range(40):
        for strategy in ("pct", "random"):
            verdict = explore(NEEDLE, Search(strategy, runs=100, depth=2, seed=seed))
            found[strategy] += sum(result.executions for result in verdict.results)
            promise = rf"9\d of the runs .* depth 2 .* ≥ 1/\(2·12\^1\) each, ≥ 0\.98\d together, .*\(seed {seed}\)"
            assert strategy == "random" or re.fullmatch(promise, verdict.remark)
    assert found["pct"] >= 4000 / 24
    assert found["random"] < found["pct"]


# ------------------------------------------------------------------------------------------ bounded, and shortest ways


def needed(machine: Litmus) -> int:
    """The fewest preemptions within which every step that can be taken is, wherever and after whichever task."""
    least: dict[tuple[LitmusState, str, str], int] = {}

    def visit(state: LitmusState, sofar: int, last: str) -> None:
        choices = [machine.step(state, task) for task in machine.tasks(state)]
        steps = {choice.task: choice for choice in choices if isinstance(choice, Step)}
        for task, step in steps.items():
            now = sofar + (last in steps and last != task)
            least[state, last, task] = min(now, least.get((state, last, task), 99))
            if not isinstance(step.next, Fault):
                visit(settle(machine, step.next, task).state, now, task)

    visit(settle(machine, machine.initial()).state, 0, "nobody")
    return max(least.values(), default=0)


@settings(max_examples=many(100), derandomize=True, deadline=None)
@given(programs(), st.integers(0, 3))
def test_a_bounded_search_finds_what_takes_no_more(machine: Litmus, bound: int) -> None:
    """The results and deadlocks that take so many preemptions or fewer; complete if no step takes more."""
    verdict = explore_by("bounded", machine, preemptions=bound)
    least = Cheapest(machine).least
    within = {key for key, (count, _) in least.items() if count <= bound}
    assert {("result", result.outcome) for result in verdict.results} == {
        key for key in within if isinstance(key, tuple) and key[0] == "result"
    }
    assert {frozenset(deadlock.waiting) for deadlock in verdict.deadlocks} == {
        key for key in within if isinstance(key, frozenset)
    }
    assert verdict.complete == (needed(machine) <= bound)
    assert verdict.stopped_by in (None, "preemptions")


def costs(machine: Litmus, verdict: Verdict) -> dict[Hashable, Cost]:
    found: dict[Hashable, Cost] = {("result", r.outcome): cost(machine, r.interleaving) for r in verdict.results}
    found |= {frozenset(d.waiting): cost(machine, d.interleaving) for d in verdict.deadlocks}
    found |= {(r.cell, frozenset((r.first.span, r.second.span))): cost(machine, r.interleaving) for r in verdict.races}
    for fault in verdict.faults:
        found[fault.message] = min(found.get(fault.message, (999, 999)), cost(machine, fault.interleaving))
    return found


@settings(max_examples=many(100), derandomize=True, deadline=None)
@given(programs())
def test_shortest_ways_can_be_had_after_a_reduction(machine: Litmus) -> None:
    """Interleavings along the visited states may be longer; on request, they are the shortest of all."""
    least = Cheapest(machine).least
    assert costs(machine, explore_dpor(machine, exact=True)) == least
    assert all(least[key] <= found for key, found in costs(machine, explore_dpor(machine)).items())


@settings(max_examples=many(100), derandomize=True, deadline=None)
@given(st.one_of(programs(), regions()), st.integers(0, 9))
def test_races_come_shortest_first(machine: Litmus, seed: int) -> None:
    """Also where few states are known, and the second of two steps is looked for in one that is not."""
    assert_in_order(machine, seed)


@pytest.mark.parametrize("seed", range(30))
def test_a_task_that_has_ended_where_no_search_went_is_not_preempted(seed: int) -> None:
    """Task 1.1 ends by a step that races, and another begins, before the other step of the race."""
    spawning: Program = Spawn(((Store("x", 1),),)), Spawn(((Load("z"), Load("z")),))
    assert_in_order(Litmus(spawning, (Check("x", 5),), (Load("z"), Store("y", 1)), (Load("y"),)), seed)


def assert_in_order(machine: Litmus, seed: int) -> None:
    verdict = explore_by("random", machine, runs=1, seed=seed)
    found = [cost(machine, race.interleaving) for race in verdict.races]
    assert found == sorted(found)


def test_a_bound_ends_the_search_for_shorter_ways() -> None:
    """It says so, and keeps to the bound."""
    verdict = explore(ninc(4), Search("dpor", exact=True, max_states=20))
    assert (verdict.stopped_by, verdict.states, verdict.verdict) == ("max-states", 20, "race")
    assert verdict.left_out == (("shortest interleavings: some that are shown are longer", "max-states"),)


@pytest.mark.parametrize("strategy", ["graph", "dpor", "random", "pct", "bounded"])
def test_all_strategies_give_one_kind_of_verdict(strategy: str) -> None:
    """Also on a program that does nothing."""
    for machine, verdict in ((Litmus(), "safe"), (lockinc(2), "safe"), (ninc(2), "race")):
        found: dict[str, Any] = vars(explore_by(strategy, machine))
        expected = "incomplete" if verdict == "safe" and strategy in ("random", "pct") else verdict
        assert (found["verdict"], found["strategy"], found["machine"]) == (expected, strategy, "litmus")
        assert not any(isinstance(waiting, Blocked) for waiting in found["deadlocks"])
