"""A deadlock in words: who waits for what, and who holds it."""

from __future__ import annotations

from collections.abc import Iterable

from wingspan.errors import Fault, Mark
from wingspan.explorer.machine import Blocked


def explain(blocked: Blocked) -> str:
    """What one task waits for.

    >>> explain(Blocked("1", "lock a", "2"))
    'task 1 waits for lock a, held by task 2'
    >>> explain(Blocked("", "lock a", ""))
    'task 0 waits for lock a, which it holds itself'
    """
    waiting = f"task {blocked.task or '0'} waits for {blocked.waits_for}"
    if blocked.holder is None:
        return f"{waiting}, which no task will give"
    if blocked.holder == blocked.task:
        return f"{waiting}, which it holds itself"
    return f"{waiting}, held by task {blocked.holder or '0'}"


def describe(waiting: Iterable[Blocked]) -> str:
    """What each of the tasks of a deadlock waits for."""
    return "; ".join(explain(blocked) for blocked in waiting)


def deadlocked(waiting: Iterable[Blocked]) -> Fault:
    """The error of a run that ends so."""
    blocked = list(waiting)
    marks = tuple(Mark(each.span) for each in blocked[1:] if each.span)
    return Fault(describe(blocked), blocked[0].span, topic="deadlock", marks=marks)
