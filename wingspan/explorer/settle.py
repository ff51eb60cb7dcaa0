"""Invisible steps are taken at once: they commute with everything that other tasks do, so their order does not matter.

The search and `replay` share this file, and so agree on which states a list of visible steps passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, InternalError
from wingspan.explorer.machine import Blocked, Machine, Step

S = TypeVar("S")

LONG = 1024
"""From this number of invisible steps of one task on, an endless loop is watched for."""


@dataclass(slots=True, unsafe_hash=True)
class QuiescentState(Generic[S]):
    """A state in which every task's next step is visible, faults or is blocked; and the steps that led to it."""

    state: S
    choices: dict[str, Step[S] | Blocked]
    taken: list[Step[S]]


def went_on(task: str, settled: QuiescentState[S]) -> tuple[str, ...]:
    """The tasks above one that have taken steps since it did, innermost first; it was the last below them to end.

    A machine never advances a task in a step of a task below it, so none is missed.
    """
    above = (step.task for step in settled.taken if step.task != task and _descends(task, step.task))
    return tuple(dict.fromkeys(above))


def _descends(path: str, ancestor: str) -> bool:
    """Whether a task descends from another."""
    return not ancestor or path.startswith(f"{ancestor}.")


def run_ahead(
    machine: Machine[S], state: S, task: str, tick: Callable[[], None], note: Callable[[Step[S]], None]
) -> tuple[S, Step[S] | Blocked | None]:
    """Take the invisible steps of one task, up to its next visible or faulting step: the state there, and that step.

    The step is None if the task has finished or waits for its children.

    `tick` is called before each step, `note` with each step taken. The steps are not kept here: in a search they would
    dominate the memory.
    """
    count = 0
    anchor: Hashable = None
    while task in machine.tasks(state):
        tick()
        step = machine.step(state, task)
        if isinstance(step, Blocked) or step.visible or isinstance(step.next, Fault):
            return state, step
        note(step)
        count += 1
        state = step.next
        if count >= LONG:  # Brent 1980: compare with the state at the last power of two
            here = machine.fingerprint(state)
            if here == anchor:
                raise InternalError(f"task {task or '0'} repeats invisible steps without end", step.span)
            if count.bit_count() == 1:
                anchor = here
    return state, None


class Successor(NamedTuple, Generic[S]):
    """The state after a step and the invisible steps that follow it."""

    state: S
    steps: int
    """the number of invisible steps after it"""
    choice: Step[S] | Blocked | None = None
    """the next step of its task there; None if it has none, or it is not known"""


def advance(machine: Machine[S], step: Step[S], tick: Callable[[], None]) -> Successor[S]:
    """Take a step that does not fault, and the invisible steps of its task after it."""
    assert not isinstance(step.next, Fault)
    steps = 0

    def note(_: Step[S]) -> None:
        nonlocal steps
        steps += 1

    state, choice = run_ahead(machine, step.next, step.task, tick, note)
    return Successor(state, steps, choice)


def settle(
    machine: Machine[S],
    state: S,
    last: str | None = None,
    tick: Callable[[], None] = lambda: None,
    known: Step[S] | Blocked | None = None,
) -> QuiescentState[S]:
    """Run invisible steps to quiescence, starting with task `last`; then those of each task in turn.

    The next step of one task in this state may be known: visible, faulting or blocked. It is not computed again.
    """
    taken: list[Step[S]] = []
    if last is not None:
        state, _ = run_ahead(machine, state, last, tick, taken.append)
    while True:
        before = len(taken)
        choices = {}
        for task in machine.tasks(state):
            if known is not None and known.task == task and not taken:
                choices[task] = known
                continue
            state, choice = run_ahead(machine, state, task, tick, taken.append)
            if choice is not None:
                choices[task] = choice
        if len(taken) == before:
            return QuiescentState(state, choices, taken)
