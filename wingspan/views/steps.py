"""A replay as text: one line for each step, in the lane of its task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from wingspan.base.errors import Diagnostic
from wingspan.explorer.interleaving import Mismatch, by_path
from wingspan.results.listing import listing
from wingspan.views.incident import incident
from wingspan.views.values import count
from wingspan.views.view import Action, ReplayReport

MOST_LANES = 12
"""More tasks share one lane."""
MOST = 12
"""Steps of a counterexample that are shown."""
WIDEST = 48
"""Touches with longer texts stick out of their column."""


def replay(report: ReplayReport, every: bool = False) -> str:
    """The steps, how the run ended and what it computed. The steps that other tasks can observe are numbered.

    The others are invisible; a line stands for all those that a task takes in a row, unless `every` step is asked for.
    """
    headline = f"replay  {report.invocation.name}: interleaving {report.interleaving}"
    return "\n".join([headline, "", *_steps(report, every), "", *_end(report)])


def _steps(report: ReplayReport, every: bool) -> Iterator[str]:
    groups = list(_groups(report.actions, every))
    digits = len(str(len(report.visible)))
    rules = max((len(group[0].rule) for group in groups if len(group) == 1), default=0)
    widest = max((len(action.does) for action in report.actions if len(action.does) <= WIDEST), default=0)
    number = 0
    for group, lane in zip(groups, lanes([group[0].task for group in groups]), strict=True):
        action = group[0]
        if action.visible and number == report.followed and report.mismatch:
            yield f"  {'':>{digits}}  ── {report.mismatch.message}"
        number += action.visible
        step_text = (
            _fold(group) if len(group) > 1 else f"{action.rule:<{rules}}  {action.does:<{widest}}  {_at(action)}"
        )
        yield f"  {str(number) if action.visible else '·':>{digits}}  {lane}  {step_text}".rstrip()
        if action.lost is not None:
            yield f"  {'':>{digits}}  ── step {number} {action.lost.text}"
        if action.visible and number == report.followed:
            yield from (f"  {'':>{digits}}  ── {text}" for text in _ending_lines(report))


def counterexample(report: ReplayReport, names: Sequence[str]) -> Iterator[str]:
    """The visible steps that a run was asked for, or those up to the last update that it loses; of many the last MOST.

    `names` are those of the result that matter.
    """
    steps = report.visible[: report.followed]
    lost = [number for number, action in enumerate(steps, start=1) if action.lost is not None]
    last = lost[-1] if lost else len(steps)
    first = max(0, last - MOST)
    yield f"run {report.interleaving} {_ends(report, names)}"
    if first:
        yield f"  … after {count(first, 'step')}"
    digits = len(str(last))
    drawn = list(lanes([action.task for action in steps]))
    widest = max((len(action.does) for action in steps[first:last]), default=0)
    for number, action in enumerate(steps[first:last], start=first + 1):
        step = f"{drawn[number - 1]}  {action.does or action.rule:<{widest}}  {place(action)}"
        yield f"  {number:>{digits}}  {step}".rstrip()
        if action.lost is not None:
            yield f"  {'':>{digits}}  ── step {number} {action.lost.text}"
    if last < len(steps):
        yield f"  … and {count(len(steps) - last, 'step')} more"


def _ends(report: ReplayReport, names: Sequence[str]) -> str:
    """The claim that a counterexample shows."""
    if report.incident is not None:
        return f"ends in a {report.end}: {report.incident.message}"
    if report.racing is not None and report.followed < len(report.visible):
        return f"leads to a race: steps {report.followed - 1} and {report.followed} conflict"
    assert report.outcome is not None
    return f"ends with {listing(report.outcome, names or None)}"


def _groups(actions: Sequence[Action], every: bool) -> Iterator[list[Action]]:
    """The steps that a line is for."""
    for (_, visible), group in groupby(actions, lambda action: (action.task, action.visible)):
        if visible or every:
            yield from ([action] for action in group)
        else:
            yield list(group)


def _fold(group: Sequence[Action]) -> str:
    return f"{group[0].rule} … {group[-1].rule}: {count(len(group), 'invisible step')}"


def indices(action: Action) -> str:
    """The loop indices in force at a step: ` (i = 2)`."""
    text = ", ".join(f"{name} = {index}" for name, index in action.indices)
    return f" ({text})" if text else ""


def place(action: Action) -> str:
    """The line and the column of a step, and the loop indices in force: `5:3 (i = 2)`."""
    return (f"{action.span.line}:{action.span.column}" if action.span else "") + indices(action)


def _at(action: Action) -> str:
    """The place and the text of a step."""
    return f"{action.span.line}:{action.span.column} {action.span.text}{indices(action)}" if action.span else ""


def _ending_lines(report: ReplayReport) -> Iterator[str]:
    """The lines after the last of the steps that were asked for."""
    number = report.followed
    if report.racing is not None:
        yield f"steps {number - 1} and {number} conflict: both touch {report.racing.cell}, at least one writes it"
    if report.mismatch is None and number < len(report.visible):
        yield "the given interleaving ends here; the run goes on with the first task that can step"


def lanes(stepping: Sequence[str]) -> Iterator[str]:
    """For each line the lanes of all tasks: the name of the one that steps, a line for those that are under way."""
    tasks = sorted(set(stepping), key=by_path)
    if len(tasks) > MOST_LANES:
        width = max(map(len, tasks))
        yield from (f"{task:<{width}}" for task in stepping)
        return
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for at, task in enumerate(stepping):
        first.setdefault(task, at)
        last[task] = at
    for at, name in enumerate(stepping):
        marks = {task: "│" if first[task] < at < last[task] else "" for task in tasks} | {name: name}
        yield " ".join(f"{marks[task]:^{len(task)}}" for task in tasks)


def _end(report: ReplayReport) -> list[str]:
    """The end of the run, its result if it has one, and the place where it left the interleaving."""
    left = [] if report.mismatch is None else ["", mismatch(report.mismatch)]
    if report.incident is not None:
        return [incident(report.incident, report.program, report.invocation), *left]
    assert report.outcome is not None
    taken = f"{count(len(report.actions), 'step')}, of which other tasks can observe {len(report.visible)}"
    return [f"{report.end}  after {taken}", f"  result  {listing(report.outcome)}", *left]


def mismatch(mismatch: Mismatch) -> str:
    """The message about an interleaving that the run did not follow to its end."""
    notes = (("followed", mismatch.followed), ("left    ", mismatch.left))
    return Diagnostic("error", "mismatch", mismatch.message, mismatch.span, notes=notes).render()
