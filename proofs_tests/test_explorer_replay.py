"""An interleaving is written and read back, and replay follows it step by step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.exploring import explore_graph
from proofs_tests.litmus import Assert, Litmus, Load, Lock, Private, State, Store, lockinc, ninc
from wingspan.errors import InputError
from wingspan.explorer import Blocked, Step, format_interleaving, parse_interleaving, replay

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


@pytest.mark.parametrize(
    ("interleaving", "message"),
    [
        ("1,2", "step 2 names task 2, but task 2 waits for lock m, held by task 1; tasks that can step: 1 .Load."),
        ("1,3", "step 2 names task 3, but task 3 has no step to take here; tasks that can step: 1"),
        ("1*4,2*5", "step 9 names task 2, but the run is over; tasks that can step: none"),
    ],
)
def test_replay_says_where_an_interleaving_goes_wrong(interleaving: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(replay(lockinc(2), interleaving))


def test_replay_stops_at_a_deadlock_in_the_middle() -> None:
    machine = Litmus((Lock("a"), Lock("b")), (Lock("b"), Lock("a")))
    run: Iterator[Step[State]] = iter(stopped := replay(machine, "1,2,1,1"))
    assert [step.task for step in run] == ["1", "2"]
    assert stopped.end == "deadlock"
    assert all(isinstance(choice, Blocked) for choice in stopped.choices.values())
