"""A replay as text: one line for each step, in the lane of its task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wingspan.errors import Span
from wingspan.explorer.machine import Touch
from wingspan.explorer.races import OPERATIONS
from wingspan.lang.printer import value
from wingspan.report.incident import incident
from wingspan.report.values import VERBS, count, listing
from wingspan.report.view import Action, ReplayReport

MOST_LANES = 12
"""More tasks share one lane."""
WIDEST = 48
"""Touches with longer texts stick out of their column."""


def replay(report: ReplayReport) -> str:
    """Every step, how the run ended and what it computed. The steps that other tasks can observe are numbered."""
    headline = f"replay  {report.invocation.file}: interleaving {report.interleaving}"
    return "\n".join([headline, "", *_steps(report), "", *_end(report)])


def _steps(report: ReplayReport) -> Iterator[str]:
    visible = [action for action in report.actions if action.visible]
    digits = len(str(len(visible)))
    rules = max((len(action.rule) for action in report.actions), default=0)
    texts = ["; ".join(map(touched, action.touches)) for action in report.actions]
    widest = max((len(text) for text in texts if len(text) <= WIDEST), default=0)
    number = 0
    for action, lane, text in zip(report.actions, _lanes(report.actions), texts, strict=True):
        number += action.visible
        mark = str(number) if action.visible else "·"
        yield f"  {mark:>{digits}}  {lane}  {action.rule:<{rules}}  {text:<{widest}}  {_place(action.span)}".rstrip()
        if action.visible and number == report.given:
            yield from (f"  {'':>{digits}}  ── {text}" for text in _given(visible, number))


def touched(touch: Touch) -> str:
    """What a step does to a cell: `writes c.val[3] = 1`, `takes c.lock[1]`."""
    does = f"{VERBS[OPERATIONS[touch.effect]]} {touch.cell}"
    return does if touch.effect in ("acquire", "release") else f"{does} = {value(touch.value)}"


def _place(span: Span | None) -> str:
    return f"{span.line}:{span.column} {span.text}" if span else ""


def _given(visible: Sequence[Action], number: int) -> Iterator[str]:
    """What there is to say after the last of the steps that were asked for."""
    racing = visible[number - 1].racing(visible[number - 2]) if number > 1 else None
    if racing is not None:
        yield f"steps {number - 1} and {number} conflict: both touch {racing.cell}, at least one writes it"
    if number < len(visible):
        yield "the given interleaving ends here; the run goes on with the first task that can step"


def _lanes(actions: Sequence[Action]) -> Iterator[str]:
    """For each step the lanes of all tasks: the name of the one that steps, a line for those that are under way."""
    tasks = sorted({action.task for action in actions}, key=lambda task: [int(part) for part in task.split(".")])
    if len(tasks) > MOST_LANES:
        width = max(map(len, tasks))
        yield from (f"{action.task:<{width}}" for action in actions)
        return
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for at, action in enumerate(actions):
        first.setdefault(action.task, at)
        last[action.task] = at
    for at, action in enumerate(actions):
        marks = {task: "│" if first[task] < at < last[task] else "" for task in tasks} | {action.task: action.task}
        yield " ".join(f"{marks[task]:^{len(task)}}" for task in tasks)


def _end(report: ReplayReport) -> list[str]:
    """How the run ended, and its result if it has one."""
    if report.incident is not None:
        return [incident(report.incident, report.program, report.invocation)]
    assert report.outcome is not None
    visible = sum(action.visible for action in report.actions)
    taken = f"{count(len(report.actions), 'step')}, of which other tasks can observe {visible}"
    return [f"{report.end}  after {taken}", f"  result  {listing(report.outcome)}"]
