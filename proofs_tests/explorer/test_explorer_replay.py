"""An interleaving is written and read back, and replay follows it step by step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.exploring import explore_graph
from wingspan.base.errors import Fault, InputError
from wingspan.explorer import Blocked, Replay, Step, format_interleaving, parse_interleaving, replay
from wingspan.testing.litmus import (
    Assert,
    Check,
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

paths = st.lists(st.integers(1, 12), max_size=3).map(lambda path: ".".join(map(str, path)))


@given(st.lists(paths, max_size=12).flatmap(lambda tasks: st.just([t for t in tasks for _ in range(len(t) % 3 + 1)])))
@settings(derandomize=True, deadline=None)
def test_text_of_an_interleaving_reads_back(tasks: list[str]) -> None:
    text = format_interleaving(tasks)
    assert parse_interleaving(text) == tasks
    assert text and " " not in text


@pytest.mark.parametrize(
    "text", ["", " ", "1,,2", "1,", "a", "1*", "1*0", "*2", "1.", ".1", "01", "0.1", "1*-2", "1;2", "-,1", "١", "1**2"]
)
def test_nonsense_is_not_an_interleaving(text: str) -> None:
    with pytest.raises(InputError, match="is not a task path"):
        parse_interleaving(text)


@pytest.mark.parametrize("text", ["1*99999999999999", ",".join(["1*9999999"] * 2)])
def test_an_interleaving_cannot_fill_the_memory(text: str) -> None:
    with pytest.raises(InputError, match="longer than"):
        parse_interleaving(text)


def test_replay_yields_invisible_steps_too() -> None:
    run = replay(ninc(2), "1,2*2", finish=False)
    assert [(step.task, step.rule) for step in run] == [
        ("1", "Load"),
        ("1", "Private"),
        ("2", "Load"),
        ("2", "Private"),
        ("2", "Store"),
    ]
    assert run.end == "stopped"


def test_replay_goes_on_with_the_first_task_that_can_step() -> None:
    run = replay(ninc(2), ["2"])
    assert [step.task for step in run if step.visible] == ["2", "1", "1", "2"]
    assert run.end == "finished"


def test_replay_of_root_steps_after_the_tasks() -> None:
    """The root runs when the last task has ended; it is written 0."""
    machine = Litmus((Store("x", 1),), after=(Private(), Load("x"), Assert(2)))
    (fault,) = explore_graph(machine).faults
    assert fault.interleaving == "1,0*2"
    assert [step.task for step in replay(machine, fault.interleaving)] == ["1", "", "", ""]


def ended(machine: Litmus, interleaving: str) -> Replay[LitmusState]:
    """A replay that was taken to its end."""
    run = replay(machine, interleaving)
    assert list(run)
    return run


@pytest.mark.parametrize(
    ("interleaving", "message"),
    [
        ("1,2", "step 2 names task 2, but task 2 waits for lock m, held by task 1; tasks that can step: 1 (Load)"),
        ("1,3", "step 2 names task 3, but task 3 has not begun, or there is none; tasks that can step: 1 (Load)"),
        ("2,0", "step 2 names task 0, but task 0 waits for its tasks to end; tasks that can step: 2 (Load)"),
        ("1*5", "step 5 names task 1, but task 1 has ended; tasks that can step: 2 (Lock)"),
        ("1*4,2*5", "step 9 names task 2, but the run has finished; tasks that can step: none"),
    ],
)
def test_replay_says_where_and_why_an_interleaving_stops_matching(interleaving: str, message: str) -> None:
    run = ended(lockinc(2), interleaving)
    assert run.mismatch is not None and run.mismatch.message == message
    assert run.end == "finished" and run.incident is None
    assert (run.mismatch.span is not None) == ("waits for lock" in message)


def test_an_interleaving_that_a_fault_or_a_deadlock_cuts_short_does_not_match_to_its_end() -> None:
    run = ended(Litmus((Check("x", 1),), (Store("x", 1),)), "1,2*3")
    assert (run.end, run.followed) == ("fault", 1)
    assert run.mismatch is not None and run.mismatch.reason == "the run has ended in a fault"
    run = ended(Litmus((Lock("a"), Lock("b")), (Lock("b"), Lock("a"))), "1,2,1,1")
    assert (run.end, run.followed) == ("deadlock", 2)
    assert run.mismatch is not None and run.mismatch.reason == "the run has ended in a deadlock"
    assert run.mismatch.left == "1*2"


def test_a_fault_in_the_last_step_of_an_interleaving_is_no_mismatch() -> None:
    run = ended(Litmus((Check("x", 1),), (Store("x", 1),)), "1")
    assert (run.end, run.mismatch) == ("fault", None)


def test_a_replay_that_is_not_to_go_on_stops_where_the_interleaving_stops_matching() -> None:
    run = replay(lockinc(2), "1,2,1*3", finish=False)
    assert [step.task for step in run] == ["1"]
    assert run.end == "stopped" and run.mismatch is not None and run.mismatch.left == "2,1*3"


instructions = st.one_of(
    st.builds(Load, st.sampled_from("xy")),
    st.builds(Store, st.sampled_from("xy"), st.integers(0, 1)),
    st.builds(Private),
    st.builds(Lock, st.sampled_from("mn")),
    st.builds(Unlock, st.sampled_from("mn")),
    st.builds(Check, st.just("x"), st.integers(0, 1)),
)
machines = st.lists(st.lists(instructions, max_size=4).map(tuple), min_size=1, max_size=3).flatmap(
    lambda tasks: st.builds(lambda after: Litmus(*tasks, after=tuple(after)), st.lists(instructions, max_size=2))
)
anything = st.lists(st.sampled_from(["", "1", "2", "3", "1.1"]), max_size=10)


@given(machines, anything)
@settings(derandomize=True, deadline=None, max_examples=many(400))
def test_any_interleaving_is_followed_as_far_as_it_matches(machine: Litmus, tasks: list[str]) -> None:
    """The longest prefix that can be taken is; then the run is the one that the prefix alone leads to."""
    run = replay(machine, tasks)
    steps = [(step.task, step.rule) for step in run if step.visible]
    longest = max(n for n in range(len(tasks) + 1) if possible(machine, tasks[:n]))
    assert run.followed == longest
    assert [task for task, _ in steps[:longest]] == tasks[:longest]
    alone = replay(machine, tasks[:longest])
    assert [(step.task, step.rule) for step in alone if step.visible] == steps
    assert (alone.end, alone.incident, alone.mismatch) == (run.end, run.incident, None)
    assert (run.mismatch is None) == (longest == len(tasks))
    if run.mismatch is not None:
        there = replay(machine, tasks[:longest], finish=False)
        list(there)
        stopped = there.end == "stopped"
        able = [(c.task, c.rule) for c in there.choices.values() if isinstance(c, Step)] if stopped else []
        assert (run.mismatch.step, run.mismatch.task) == (longest + 1, tasks[longest])
        assert list(run.mismatch.able) == able
        assert stopped == (not run.mismatch.reason.startswith("the run has"))
        rest = parse_interleaving(run.mismatch.followed), parse_interleaving(run.mismatch.left)
        assert rest == (tasks[:longest], tasks[longest:])


def possible(machine: Litmus, tasks: list[str]) -> bool:
    """Whether the visible steps of these tasks, in this order, are a run; by the machine alone."""
    state: LitmusState | Fault = machine.initial()
    for task in tasks:
        state = private(machine, state)
        if isinstance(state, Fault) or task not in machine.tasks(state):
            return False
        step = machine.step(state, task)
        if isinstance(step, Blocked):
            return False
        state = step.next
    return True


def private(machine: Litmus, state: LitmusState | Fault) -> LitmusState | Fault:
    """The state when no task has a step left that the others cannot see."""
    while isinstance(state, LitmusState):
        steps = [machine.step(state, task) for task in machine.tasks(state)]
        found = [step for step in steps if isinstance(step, Step) and not step.visible]
        if not found:
            break
        state = found[0].next
    return state


def test_replay_stops_at_a_deadlock_in_the_middle() -> None:
    machine = Litmus((Lock("a"), Lock("b")), (Lock("b"), Lock("a")))
    run: Iterator[Step[LitmusState]] = iter(stopped := replay(machine, "1,2,1,1"))
    assert [step.task for step in run] == ["1", "2"]
    assert stopped.end == "deadlock"
    assert all(isinstance(choice, Blocked) for choice in stopped.choices.values())
