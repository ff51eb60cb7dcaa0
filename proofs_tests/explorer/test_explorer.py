"""The state-graph search finds exactly what walking every interleaving one by one finds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.exploring import explore_graph
from wingspan.errors import Fault, InternalError, Span
from wingspan.explorer import Blocked, Machine, Step, Touch, Verdict, replay
from wingspan.explorer import states as states_module
from wingspan.explorer.interleaving import parse_interleaving
from wingspan.explorer.races import kind_of
from wingspan.explorer.settle import settle
from wingspan.explorer.states import Status
from wingspan.testing.litmus import (
    Add,
    Assert,
    Check,
    Claim,
    Jump,
    Litmus,
    Load,
    Lock,
    Private,
    Program,
    Spawn,
    State,
    Store,
    Unlock,
    lockinc,
    ninc,
)


def length(interleaving: str) -> int:
    return len(parse_interleaving(interleaving))


Cost = tuple[int, int]
"""How many preemptions an interleaving takes, and how many steps: the measure of short ones."""


def cost(machine: Machine[Any], interleaving: str) -> Cost:
    """By a replay: a task is preempted when another one steps although it could."""
    tasks, preemptions = parse_interleaving(interleaving), 0
    for k in range(1, len(tasks)):
        run = replay(machine, tasks[:k], finish=False)
        steps = list(run)
        visible = max(n for n, step in enumerate(steps) if step.visible)
        able = {task for task, choice in run.choices.items() if isinstance(choice, Step)}
        preemptions += tasks[k] != tasks[k - 1] and tasks[k - 1] in able and not has_ended(*steps[visible:])
    return preemptions, len(tasks)


def has_ended(step: Step[Any], *after: Step[Any]) -> bool:
    """Whether a step ends its task, so that one above it goes on; another may have its path right after it."""
    above = step.task.split(".") if step.task else []
    return bool({".".join(above[:k]) for k in range(len(above))} & {each.task for each in after})


# --- an independent oracle: walk every interleaving, invisible steps one by one, nothing merged ---


@dataclass
class Walk:
    """All runs of a program, told apart by their visible steps only."""

    machine: Litmus
    finished: dict[tuple[str, ...], Hashable] = field(default_factory=dict)
    faulted: dict[tuple[str, ...], str] = field(default_factory=dict)
    deadlocked: dict[tuple[str, ...], frozenset[Blocked]] = field(default_factory=dict)
    races: set[tuple[str, frozenset[Span | None]]] = field(default_factory=set)
    settled: set[State] = field(default_factory=set)
    """the states without an invisible step to take"""
    ends: set[tuple[State, str]] = field(default_factory=set)
    """those of them in which a run ends, with the step that faults if one does"""

    def __post_init__(self) -> None:
        self.visit(self.machine.initial(), ())

    def visit(self, state: State, trace: tuple[str, ...]) -> None:
        choices = [self.machine.step(state, task) for task in self.machine.tasks(state)]
        steps = [choice for choice in choices if isinstance(choice, Step)]
        if not choices:
            self.finished[trace] = self.machine.outcome(state)
        elif not steps:
            self.deadlocked[trace] = frozenset(c for c in choices if isinstance(c, Blocked))
        if all(step.visible for step in steps):
            self.settled.add(state)
            faulting = [step.task for step in steps if isinstance(step.next, Fault)]
            self.ends |= {(state, task) for task in faulting or [""] * (not steps)}
        for one, other in product(steps, steps):
            for x, y in product(one.footprint, other.footprint):
                if one.task < other.task and racing(x, y):
                    self.races.add((str(x.cell), frozenset((one.span, other.span))))
        for step in steps:
            longer = (*trace, step.task) if step.visible else trace
            if isinstance(step.next, Fault):
                self.faulted[longer] = step.next.message
            else:
                self.visit(step.next, longer)


def racing(x: Touch, y: Touch) -> bool:
    effects = {x.effect, y.effect}
    return x.cell == y.cell and bool(effects & {"read", "write"}) and not effects <= {"read", "look"}


@dataclass
class Cheapest:
    """The least cost of each finding, by walking every interleaving of visible steps."""

    machine: Litmus
    least: dict[Hashable, Cost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.visit(settle(self.machine, self.machine.initial()).state, (0, 0), "nobody")

    def note(self, finding: Hashable, cost: Cost) -> None:
        self.least[finding] = min(self.least.get(finding, (999, 999)), cost)

    def visit(self, state: State, cost: Cost, last: str) -> None:
        choices = {task: self.machine.step(state, task) for task in self.machine.tasks(state)}
        steps = {task: choice for task, choice in choices.items() if isinstance(choice, Step)}
        if not steps:
            waiting = frozenset(c for c in choices.values() if isinstance(c, Blocked))
            self.note(waiting or ("result", self.machine.outcome(state)), cost)
        for task, step in steps.items():
            after = (cost[0] + (last in steps and last != task), cost[1] + 1)
            if isinstance(step.next, Fault):
                self.note(step.next.message, after)
            else:
                settled = settle(self.machine, step.next, task)
                self.visit(settled.state, after, "nobody" if has_ended(step, *settled.taken) else task)
        for one, other in combinations(steps.values(), 2):
            for x, y in product(one.footprint, other.footprint):
                if racing(x, y):
                    self.race((str(x.cell), frozenset((one.span, other.span))), cost, last, steps, one, other)

    def race(self, key: Hashable, cost: Cost, last: str, steps: Mapping[str, Step[State]], *pair: Step[State]) -> None:
        """Both orders in which the second still races; if there is none, either of the two alone."""
        alone, both = [], []
        for first, second in (pair, pair[::-1]):
            preempted = cost[0] + (last in steps and last != first.task)
            alone.append((preempted, cost[1] + 1))
            if isinstance(first.next, Fault):
                continue
            after = settle(self.machine, first.next, first.task)
            then = after.choices.get(second.task)
            if isinstance(then, Step) and any(racing(x, y) for x in first.footprint for y in then.footprint):
                goes_on = isinstance(after.choices.get(first.task), Step) and not has_ended(first, *after.taken)
                both.append((preempted + goes_on, cost[1] + 2))
        for found in both or alone:
            self.note(key, found)


def blocks() -> st.SearchStrategy[Program]:
    """A few instructions: mostly accesses; critical sections; now and then a mistake."""
    cell, lock, small = st.sampled_from("xy"), st.sampled_from("mn"), st.integers(0, 1)
    load = st.tuples(st.builds(Load, cell))
    store = st.tuples(st.builds(Store, cell, small, st.booleans()))
    local = st.tuples(st.one_of(st.builds(Private), st.builds(Jump, st.just(2), small)))
    mistake = st.tuples(
        st.one_of(
            st.builds(Assert, small), st.builds(Check, cell, small), st.builds(Lock, lock), st.builds(Unlock, lock)
        )
    )
    section = st.tuples(st.one_of(load, store), lock).map(lambda pair: (Lock(pair[1]), *pair[0], Unlock(pair[1])))
    nested = st.permutations("mn").map(lambda p: (Lock(p[0]), Lock(p[1]), Unlock(p[1]), Unlock(p[0])))
    atomic = st.tuples(st.one_of(st.builds(Add, cell), st.builds(Claim, cell, small)))
    usual = st.one_of(load, store, store, local, atomic, section, nested)
    return st.integers(0, 11).flatmap(lambda dice: mistake if dice == 7 else usual)


@st.composite
def programs(draw: st.DrawFn) -> Litmus:
    """Two tasks of up to six instructions or three of up to three, and what comes after them."""
    count, most = draw(st.sampled_from([(2, 6), (3, 3)]))
    tasks: list[Program] = []
    for _ in range(count):
        drawn = draw(st.lists(blocks(), min_size=2, max_size=4))
        tasks.append(tuple(instruction for block in drawn for instruction in block)[:most])
    after = draw(st.one_of(st.just(()), blocks()))
    return Litmus(*tasks, after=after)


@st.composite
def regions(draw: st.DrawFn) -> Litmus:
    """Two tasks, and when they have ended two others with the same paths."""
    tasks = [draw(blocks())[:4] for _ in range(4)]
    return Litmus(*tasks[:2], after=(Spawn(tuple(tasks[2:])),))


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


def facts(verdict: Verdict) -> dict[str, object]:
    """All of a verdict but the time it took."""
    return {name: value for name, value in vars(verdict).items() if name != "seconds"}


# --- programs with known numbers ---


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
    """The failing assertion is met in two states of the other task, and told once, by the shorter way."""
    machine = Litmus((Assert(1),), (Store("y", 1),))
    verdict = explore_graph(machine)
    assert [(fault.interleaving, fault.span) for fault in verdict.faults] == [("1", machine.spans[machine.first[0]])]
    assert (verdict.interleavings, verdict.executions) == (2, 2)


def test_places_tell_spans_apart() -> None:
    """Races at two places of one line, on the same cell, are two races."""
    machine = Litmus((Store("x", 1), Store("x", 1)), (Store("x", 1),))
    assert len(explore_graph(machine).races) == 2


def test_states_that_become_equal_by_invisible_steps_are_merged() -> None:
    """What the load saw is forgotten when the root begins, by an invisible step: one end, two interleavings."""

    class Forgetful(Litmus):
        def fingerprint(self, state: State) -> Hashable:
            return (state.cells, state.threads[0]) if state.threads[0][0] else state

    verdict = explore_graph(Forgetful((Load("x"),), (Store("x", 1),), after=(Private(),)))
    assert (verdict.states, verdict.executions, verdict.interleavings) == (4, 1, 2)


def test_a_settled_state_asks_each_task_once() -> None:
    """What the tasks said when none of them had an invisible step left is what comes next."""
    asked: list[str] = []

    class Asked(Litmus):
        def step(self, state: State, task: str) -> Step[State] | Blocked:
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
    x = Touch("cell", "write", "A", level=one[0], position=one[1], index=one[2])
    y = Touch("cell", "read", "A", level=other[0], position=other[1], index=other[2])
    assert (kind_of(x, y), kind_of(y, x)) == (kind, kind)


# --- searches that end early, and machines that never do ---


def test_a_truncated_search_is_never_safe() -> None:
    """Six by six states; with room for one less the search says that it is incomplete."""
    machine = Litmus((Load("x"),) * 5, (Load("x"),) * 5)
    for bound in range(1, 36):
        verdict = explore_graph(machine, max_states=bound)
        assert (verdict.verdict, verdict.complete, verdict.stopped_by) == ("incomplete", False, "max-states")
        assert (verdict.states, verdict.interleavings) == (bound, None)
    assert explore_graph(machine, max_states=36).verdict == "safe"


def test_what_a_truncated_search_found_stands() -> None:
    verdict = explore_graph(ninc(4), max_states=400)
    assert (verdict.verdict, verdict.complete, verdict.interleavings) == ("race", False, None)
    assert all(result.interleavings is None for result in verdict.results)


def test_time_runs_out() -> None:
    """Time is looked at before each step: without any, nothing is explored and nothing claimed."""
    verdict = explore_graph(lockinc(2), max_seconds=-1)
    assert (verdict.verdict, verdict.stopped_by, verdict.states) == ("incomplete", "max-seconds", 0)


def test_an_interrupt_ends_the_search_with_what_it_has() -> None:
    calls: list[Status] = []

    def interrupt(status: Status) -> None:
        calls.append(status)
        if len(calls) == 2:
            raise KeyboardInterrupt

    verdict = explore_graph(Litmus((Add("x"),) * 30, (Add("x"),) * 30), progress=interrupt)
    assert (verdict.verdict, verdict.complete, verdict.stopped_by) == ("incomplete", False, "interrupt")
    assert [(status.unit, status.explored) for status in calls] == [("state", 256), ("state", 512)]
    assert verdict.states == 512


def test_an_interrupt_inside_the_machine_ends_the_search() -> None:
    class Interrupted(Litmus):
        def outcome(self, state: State) -> Hashable:
            raise KeyboardInterrupt

    verdict = explore_graph(Interrupted((Add("x"),), (Load("x"),)))
    assert (verdict.verdict, verdict.stopped_by) == ("race", "interrupt")


class Spin(Litmus):
    """A task that loads the same cell, or does something private, for ever."""

    def __init__(self, visible: bool) -> None:
        super().__init__((Store("y", 1), Load("x") if visible else Private(0), Private(0)))

    def step(self, state: State, task: str) -> Step[State] | Blocked:
        if state.threads[1][0] == self.first[0]:
            return super().step(state, task)
        step = super().step(state, task)
        assert isinstance(step, Step)
        return Step(step.task, step.rule, step.footprint, step.visible, state, step.span)


@pytest.mark.parametrize("visible", [True, False])
def test_a_machine_that_does_not_end_is_an_internal_error(visible: bool) -> None:
    with pytest.raises(InternalError):
        explore_graph(Spin(visible))
