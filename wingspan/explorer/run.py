"""One run of a machine to its end, without a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from wingspan.base.errors import Fault
from wingspan.explorer.incident import Deadlock, FaultReport, RunFault
from wingspan.explorer.interleaving import Trail
from wingspan.explorer.machine import Blocked, Machine, Step

S = TypeVar("S")


def run(machine: Machine[S], progress: Callable[[int, int], None] | None = None, begin: S | None = None) -> S:
    """The state after a run in which each task gets as far as it can before the next. RunFault if it does not finish.

    Only that task is asked for its step, whereas a replay asks all tasks. It begins in the first state or in another.
    """
    state, trail, count = machine.initial() if begin is None else begin, Trail(), 0
    while tasks := machine.tasks(state):
        waiting: list[Blocked] = []
        for task in tasks:
            choice = machine.step(state, task)
            if isinstance(choice, Step):
                break
            waiting.append(choice)
        else:
            raise RunFault(Deadlock(tuple(waiting), str(trail)))
        if choice.visible:
            trail.add(choice.task)
        if isinstance(choice.next, Fault):
            raise RunFault(FaultReport.from_step(choice, choice.next, str(trail)))
        state = choice.next
        count += 1
        if progress is not None and count % 1024 == 0:
            progress(count, len(tasks))
    return state
