"""A fault or a deadlock as text: what happened, where, to which tasks, and the command that leads there."""

from __future__ import annotations

from wingspan.base.errors import Diagnostic, Mark, Span
from wingspan.explorer.incident import Deadlock, FaultReport, Incident
from wingspan.lang import ir
from wingspan.results.words import written_indices
from wingspan.views.values import task
from wingspan.views.view import Invocation


def incident(found: Incident, program: ir.Node, invocation: Invocation) -> str:
    """The message about it; `program` is as written, to name its loops."""
    see = invocation.replay(found.interleaving)
    if isinstance(found, FaultReport):
        who = f"{task(found.task, written_indices(found.indices, program))}, by the rule {found.rule}"
        notes = (("task", who), ("see ", see))
        return Diagnostic("error", found.topic, found.message, found.span, notes=notes).render()
    labels = _labels(found)
    label = labels.pop(found.span) if found.span else ""
    marks = tuple(Mark(span, text) for span, text in labels.items())
    return Diagnostic("error", found.topic, found.message, found.span, label, marks, (("see", see),)).render()


def _labels(deadlock: Deadlock) -> dict[Span, str]:
    """The tasks that wait at each place."""
    there: dict[Span, list[str]] = {}
    for blocked in deadlock.waiting:
        if blocked.span is not None:
            there.setdefault(blocked.span, []).append(blocked.task or "0")
    return {
        span: f"task {tasks[0]} waits here" if len(tasks) == 1 else f"tasks {', '.join(tasks)} wait here"
        for span, tasks in there.items()
    }
