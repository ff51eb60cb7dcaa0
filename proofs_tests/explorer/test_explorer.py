"""The state-graph search finds exactly what walking every interleaving one by one finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.explorer.tiny import programs, regions
from proofs_tests.explorer.walking import Cheapest, Cost, Walk, cost
from proofs_tests.exploring import explore_graph, facts
from wingspan.base.errors import Fault
from wingspan.explorer import replay
from wingspan.explorer import states as states_module
from wingspan.explorer.interleaving import parse_interleaving
from wingspan.testing.litmus import Litmus


@settings(max_examples=many(400), derandomize=True, deadline=None)
@given(programs())
def test_graph_search_agrees_with_walking_every_interleaving(machine: Litmus) -> None:
    """Counts, outcomes, faults, deadlocks, races and the length of every witness, on random programs."""
    walk, verdict = Walk(machine), explore_graph(machine)
    assert verdict.complete
    assert (verdict.states, verdict.executions) == (len(walk.settled), len(walk.ends))
    assert verdict.interleavings == len(walk.finished) + len(walk.faulted) + len(walk.deadlocked)
    assert {r.outcome: r.interleavings for r in verdict.results} == Counter(walk.finished.values())
    assert {fault.message for fault in verdict.faults} == set(walk.faulted.values())
    assert {frozenset(deadlock.waiting) for deadlock in verdict.deadlocks} == set(walk.deadlocked.values())
    races = {(r.cell, frozenset((r.first.span, r.second.span))) for r in verdict.races}
    assert races == walk.races
    assert len(races) == len(verdict.races)


@settings(max_examples=many(200), derandomize=True, deadline=None)
@given(st.one_of(programs(), regions()))
def test_witnesses_have_the_fewest_preemptions_and_then_the_fewest_steps(machine: Litmus) -> None:
    verdict = explore_graph(machine)
    found: dict[Hashable, Cost] = {("result", r.outcome): cost(machine, r.interleaving) for r in verdict.results}
    found |= {frozenset(d.waiting): cost(machine, d.interleaving) for d in verdict.deadlocks}
    found |= {(r.cell, frozenset((r.first.span, r.second.span))): cost(machine, r.interleaving) for r in verdict.races}
    for fault in verdict.faults:
        found[fault.message] = min(found.get(fault.message, (999, 999)), cost(machine, fault.interleaving))
    assert found == Cheapest(machine).least


@settings(max_examples=many(200), derandomize=True, deadline=None)
@given(programs())
def test_every_witness_replays(machine: Litmus) -> None:
    """A result's interleaving computes it, an incident's ends in it, a race's ends in its two steps back to back."""
    verdict = explore_graph(machine)
    for result in verdict.results:
        run = replay(machine, result.interleaving, finish=False)
        assert [step.task for step in run if step.visible] == parse_interleaving(result.interleaving)
        assert (run.end, machine.outcome(run.state)) == ("finished", result.outcome)
    for fault in verdict.faults:
        run = replay(machine, fault.interleaving)
        last = list(run)[-1].next
        assert isinstance(last, Fault) and last.message == fault.message
        assert (run.end, run.incident) == ("fault", fault)
    for deadlock in verdict.deadlocks:
        run = replay(machine, deadlock.interleaving, finish=False)
        assert list(run) is not None
        assert (run.end, run.incident) == ("deadlock", deadlock)
    for race in verdict.races:
        run = replay(machine, race.interleaving, finish=False)
        first, second = [step for step in run if step.visible][-2:]
        assert (first.task, second.task) == (race.first.task, race.second.task)
        assert (first.span, second.span) == (race.first.span, race.second.span)
        assert first.footprint[0].races(second.footprint[0])


@settings(max_examples=many(100), derandomize=True, deadline=None)
@given(programs())
def test_forgetting_next_steps_changes_nothing(machine: Litmus) -> None:
    """The search says the same when it keeps no next steps and computes them anew."""
    kept = explore_graph(machine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states_module, "KEEP", 0)
        anew = explore_graph(machine)
    assert facts(kept) == facts(anew)
