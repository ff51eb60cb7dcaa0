"""Failures of a run: a step that the rules forbid, or tasks that wait for ever."""

from __future__ import annotations

from typing import Any, ClassVar

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, Span
from wingspan.explorer.machine import Blocked, Indices, Step


def explain_blocked(blocked: Blocked) -> str:
    """Name the lock that a task waits for, and its holder.

    >>> explain_blocked(Blocked("1", "lock a", "2"))
    'task 1 waits for lock a, held by task 2'
    >>> explain_blocked(Blocked("", "lock a", ""))
    'task 0 waits for lock a, which it holds itself'
    >>> explain_blocked(Blocked("1.2", "lock a", "1"))
    'task 1.2 waits for lock a, held by task 1, which waits for its tasks to end'
    """
    waiting = f"task {blocked.task or '0'} waits for {blocked.waits_for}"
    if blocked.holder is None:
        return f"{waiting}, which no task will give"
    if blocked.holder == blocked.task:
        return f"{waiting}, which it holds itself"
    above = not blocked.holder or blocked.task.startswith(f"{blocked.holder}.")
    return f"{waiting}, held by task {blocked.holder or '0'}" + (", which waits for its tasks to end" if above else "")


@dataclass(frozen=True)
class FaultReport:
    """A step that the rules forbid, and the interleaving that ends with it."""

    message: str
    task: str
    rule: str
    span: Span | None
    indices: Indices
    """the current loop indices"""
    interleaving: str
    topic: str = "fault"
    """its kind: `fault`, or `assertion` of one that does not hold"""

    @staticmethod
    def from_step(step: Step[Any], fault: Fault, interleaving: str) -> FaultReport:
        """The report of a step that ends in a fault."""
        span = fault.span or step.span
        return FaultReport(fault.message, step.task, step.rule, span, step.indices, interleaving, fault.topic)


@dataclass(frozen=True)
class Deadlock:
    """One or more tasks, each of which waits for ever, and the interleaving that leads there."""

    topic: ClassVar[str] = "deadlock"

    waiting: tuple[Blocked, ...]
    interleaving: str

    @property
    def message(self) -> str:
        """The lock that each of the tasks waits for."""
        return "; ".join(map(explain_blocked, self.waiting))

    @property
    def span(self) -> Span | None:
        """The statement at which the first of them waits."""
        return self.waiting[0].span


Incident = FaultReport | Deadlock
"""A failure that ends a run."""


class RunFault(Fault):
    """A run failed: read `incident`, whose interleaving `replay` follows step by step."""

    def __init__(self, incident: Incident) -> None:
        super().__init__(incident.message, incident.span, topic=incident.topic)
        self.incident = incident

    def __reduce__(self) -> tuple[type[RunFault], tuple[Incident]]:
        """Pickle it with its incident, for other processes."""
        return type(self), (self.incident,)
