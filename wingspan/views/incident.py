"""A fault or a deadlock as text: what happened, where, to which tasks, and the command that leads there."""

from __future__ import annotations

from wingspan.base.errors import Diagnostic, Mark, Span
from wingspan.explorer.incident import Deadlock, FaultReport, Incident
from wingspan.lang import ir
from wingspan.results.words import written_indices
from wingspan.views.values import task
from wingspan.views.view import Invocation


def incident(incident: Incident, program: ir.Node, invocation: Invocation) -> str:
    """The message about it; `program` is as written, to name its loops."""
    see = invocation.replay(incident.interleaving)
    if isinstance(incident, FaultReport):
        who = f"{task(incident.task, written_indices(incident.indices, program))}, by the rule {incident.rule}"
        notes = (("task", who), ("see ", see))
        return Diagnostic("error", incident.topic, incident.message, incident.span, notes=notes).render()
    labels = _labels(incident)
    label = labels.pop(incident.span) if incident.span else ""
    marks = tuple(Mark(span, text) for span, text in labels.items())
    return Diagnostic("error", incident.topic, incident.message, incident.span, label, marks, (("see", see),)).render()


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
