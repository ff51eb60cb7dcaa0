"""Tiny programs whose interleavings, races, faults and deadlocks are known."""

from __future__ import annotations

import math
from collections.abc import Hashable

import pytest

from proofs_tests.explorer.walking import Walk, length
from proofs_tests.exploring import explore_graph
from wingspan.explorer import Blocked, CellAccess, Step
from wingspan.explorer.races import kind_of
from wingspan.explorer.settle import settle
from wingspan.testing.litmus import (
    Add,
    Assert,
    Check,
    Claim,
    Jump,
    Litmus,
    LitmusState,
    Load,
    Lock,
    Private,
    Store,
    Unlock,
    lockinc,
    ninc,
)


@pytest.mark.parametrize(("n", "states"), [(2, 13), (3, 84), (4, 755), (5, 8638)])
def test_increments_have_multinomially_many_interleavings(n: int, states: int) -> None:
    """(2n)! / 2ⁿ interleavings; for 4 and 5 the numbers of states are those that TLC counts."""
    verdict = explore_graph(ninc(n))
    assert verdict.interleavings == math.factorial(2 * n) // 2**n
    assert verdict.states == states
    assert sum(result.interleavings or 0 for result in verdict.results) == verdict.interleavings


def test_three_increments_end_in_1_2_3_in_48_36_6_of_90_interleavings() -> None:
    verdict = explore_graph(ninc(3))
    assert {r.outcome: r.interleavings for r in verdict.results} == {(("x", 1),): 48, (("x", 2),): 36, (("x", 3),): 6}
    assert verdict.verdict == "race"


def test_a_long_run_is_counted_without_recursion() -> None:
    """Two tasks of 150 stores each to their own cells: 300 choose 150 interleavings, 151² states."""
    verdict = explore_graph(Litmus((Store("x", 1),) * 150, (Store("y", 1),) * 150))
    assert verdict.interleavings == math.comb(300, 150)
    assert (verdict.states, verdict.executions, verdict.verdict) == (151**2, 1, "safe")


@pytest.mark.parametrize("n", [2, 3, 4])
def test_increments_under_a_lock_are_safe(n: int) -> None:
    """Only the order of the critical sections is free: n! interleavings, one outcome, no race."""
    verdict = explore_graph(lockinc(n), expected=(("x", n),))
    assert (verdict.verdict, verdict.interleavings, verdict.races) == ("safe", math.factorial(n), ())


def test_the_only_outcome_can_be_wrong() -> None:
    assert explore_graph(lockinc(2), expected=(("x", 3),)).verdict == "wrong"


def test_opposite_lock_order_deadlocks() -> None:
    """Both incidents of the message: who waits, for what, and who holds it; four runs end well, two do not."""
    machine = Litmus((Lock("a"), Lock("b"), Unlock("b"), Unlock("a")), (Lock("b"), Lock("a"), Unlock("a"), Unlock("b")))
    verdict = explore_graph(machine)
    assert verdict.verdict == "deadlock"
    (deadlock,) = verdict.deadlocks
    assert deadlock.message == "task 1 waits for lock b, held by task 2; task 2 waits for lock a, held by task 1"
    assert deadlock.interleaving == "1,2"
    assert deadlock.span == machine.spans[machine.first[0] + 1]
    assert verdict.interleavings == len(Walk(machine).finished) + 2


def test_a_task_can_wait_for_itself() -> None:
    (deadlock,) = explore_graph(Litmus((Lock("a"), Lock("a")))).deadlocks
    assert (deadlock.message, deadlock.interleaving) == ("task 1 waits for lock a, which it holds itself", "1")


def test_the_same_deadlock_is_told_once_by_the_shortest_way() -> None:
    """Task 1 waits for itself whether or not task 2 stores before it ends."""
    machine = Litmus((Lock("a"), Lock("a")), (Load("x"), Jump(2, 1), Store("y", 1)), (Store("x", 1),))
    verdict = explore_graph(machine)
    (deadlock,) = verdict.deadlocks
    assert (verdict.executions, length(deadlock.interleaving)) == (2, 3)


def test_atomic_updates_do_not_race_with_each_other() -> None:
    verdict = explore_graph(Litmus((Add("x"),), (Add("x"),), (Add("x"),)))
    assert (verdict.verdict, verdict.interleavings) == ("safe", 6)


def test_an_atomic_update_races_with_a_load() -> None:
    (race,) = explore_graph(Litmus((Add("x"),), (Load("x"),))).races
    assert {race.first.operation, race.second.operation} == {"atomic update", "read"}


def test_a_step_races_only_when_what_it_does_races() -> None:
    """A claim that fails only reads; it races with the load in the states where it succeeds."""
    machine = Litmus((Claim("x", 1),), (Load("x"),), (Store("x", 1),))
    pairs = {(race.first.rule, race.second.rule): race.interleaving for race in explore_graph(machine).races}
    assert pairs == {("Claim", "Store"): "1,3", ("Load", "Store"): "2,3", ("Claim", "Load"): "3,1,2"}
    assert explore_graph(Litmus((Claim("x", 1),), (Load("x"),))).races == ()


def test_a_race_ends_with_the_two_steps_that_race() -> None:
    """The claim fails, and so reads, only before the update: after it both are atomic."""
    (race,) = explore_graph(Litmus((Add("x"),), (Claim("x", 1),))).races
    assert (race.first.rule, race.second.rule, race.interleaving) == ("Claim", "Add", "2,1")


def test_reads_do_not_race() -> None:
    assert explore_graph(Litmus((Load("x"),), (Load("x"),))).races == ()


def test_a_race_hidden_from_happens_before_is_found() -> None:
    """Locks order the two stores in the run that a tracer sees first; the state where both come next exists anyway."""
    machine = Litmus((Store("x", 1), Lock("m"), Unlock("m")), (Lock("m"), Unlock("m"), Store("x", 1)))
    verdict = explore_graph(machine)
    (race,) = verdict.races
    assert (race.cell, race.interleaving, verdict.verdict) == ("x", "2*3,1", "race")
    assert len(verdict.results) == 1


def test_a_task_waiting_for_a_lock_does_not_race() -> None:
    """Both stores are next in line behind one lock, never next at the same time."""
    critical = (Lock("m"), Store("x", 1), Unlock("m"))
    assert explore_graph(Litmus(critical, critical)).verdict == "safe"


def test_the_faulting_side_of_a_race_comes_second() -> None:
    """A check that fails ends the run, so only the other order puts the two back to back."""
    verdict = explore_graph(Litmus((Check("x", 1),), (Store("x", 1),)))
    (race,) = verdict.races
    assert (race.interleaving, race.first.rule, race.second.rule) == ("2,1", "Store", "Check")
    assert verdict.verdict == "fault"
    assert (verdict.interleavings, verdict.executions) == (2, 2)
    (fault,) = verdict.faults
    assert (fault.message, fault.interleaving) == ("x is not 1", "1")


def test_same_mistake_in_one_place_is_one_incident() -> None:
    """The failing assertion is met in two states of the other task, and reported once, by the shorter way."""
    machine = Litmus((Assert(1),), (Store("y", 1),))
    verdict = explore_graph(machine)
    assert [(fault.interleaving, fault.span) for fault in verdict.faults] == [("1", machine.spans[machine.first[0]])]
    assert (verdict.interleavings, verdict.executions) == (2, 2)


def test_places_tell_spans_apart() -> None:
    """Races at two places of one line, on the same cell, are two races."""
    machine = Litmus((Store("x", 1), Store("x", 1)), (Store("x", 1),))
    assert len(explore_graph(machine).races) == 2


def test_states_that_become_equal_by_invisible_steps_are_merged() -> None:
    """The root's invisible first step forgets the loaded value: one end, two interleavings."""

    class Forgetful(Litmus):
        def fingerprint(self, state: LitmusState) -> Hashable:
            return (state.cells, state.threads[0]) if state.threads[0][0] else state

    verdict = explore_graph(Forgetful((Load("x"),), (Store("x", 1),), after=(Private(),)))
    assert (verdict.states, verdict.executions, verdict.interleavings) == (4, 1, 2)


def test_a_settled_state_asks_each_task_once() -> None:
    """The steps of the tasks once none of them is invisible are those that come next."""
    asked: list[str] = []

    class Asked(Litmus):
        def step(self, state: LitmusState, task: str) -> Step[LitmusState] | Blocked:
            asked.append(task)
            return super().step(state, task)

    machine = Asked((Lock("m"), Add("x")), (Load("x"),))
    settled = settle(machine, machine.initial())
    assert not settled.taken
    assert asked == list(settled.choices) == ["1", "2"]


def test_order_dependence_without_a_race() -> None:
    """Two critical sections that do not commute: both outcomes with half of the interleavings each."""
    verdict = explore_graph(Litmus((Lock("m"), Store("x", 1), Unlock("m")), (Lock("m"), Store("x", 2), Unlock("m"))))
    assert verdict.verdict == "order-dependent"
    assert sorted((r.outcome, r.interleavings) for r in verdict.results) == [((("x", 1),), 1), ((("x", 2),), 1)]


def test_nothing_to_do_is_one_empty_interleaving() -> None:
    verdict = explore_graph(Litmus((Private(),)))
    assert (verdict.verdict, verdict.interleavings, verdict.results[0].interleaving) == ("safe", 1, "-")
    assert (verdict.states, verdict.steps, verdict.executions) == (1, 1, 1)


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ((None, None, None), (None, None, None), ""),
        ((1, 2, 5), (1, 3, 5), "cousin"),
        ((1, 2, 5), (1, 2, 6), "sibling"),
        ((1, 2, 5), (1, 2, 5), "node"),
        ((1, 2, None), (1, 2, 5), "node"),
    ],
)
def test_kinds_of_dependence(
    one: tuple[int | None, int | None, int | None], other: tuple[int | None, int | None, int | None], kind: str
) -> None:
    """(level, position, index) of both sides."""
    x = CellAccess("cell", "write", "A", level=one[0], position=one[1], index=one[2])
    y = CellAccess("cell", "read", "A", level=other[0], position=other[1], index=other[2])
    assert (kind_of(x, y), kind_of(y, x)) == (kind, kind)
