"""A replay as a Mermaid sequence diagram: a lifeline for each task, and for each cell that tasks contend for.

https://mermaid.js.org/syntax/sequenceDiagram.html
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator
from textwrap import wrap

from wingspan.explorer.interleaving import by_path
from wingspan.explorer.machine import CellAccess
from wingspan.explorer.races import OPERATIONS
from wingspan.lang.algebra import show
from wingspan.results.words import VERBS, describe_access
from wingspan.views.order import OrderPoint, failures, points, tasks_of
from wingspan.views.steps import indices
from wingspan.views.view import ReplayReport

MOST_CELLS = 8
"""If tasks contend for more cells, only the one that they race on has a lifeline; the others are in notes."""

WIDTH = 40
"""Columns of longer texts."""


def replay(report: ReplayReport) -> str:
    """The visible steps, where tasks begin and end, the racing pair in colour, and how the run ended."""
    run = list(points(report))
    tasks = tasks_of(run)
    names = {task: f"t{number}" for number, task in enumerate(tasks)}
    cells = {cell: f"c{number}" for number, cell in enumerate(_contended_cells(report))}
    lines = ["box Tasks", *(f"  participant {names[task]} as task {task}" for task in tasks), "end"]
    if cells:
        lines += ["box Shared cells", *(f"  participant {cells[cell]} as {_text(str(cell))}" for cell in cells), "end"]
    begun: set[str] = set()
    first, second = (report.followed - 1, report.followed) if report.racing else (0, 0)
    for point in run:
        if point.kind == "step":
            lines += ["rect rgba(213, 94, 0, 0.2)"] if point.number == first else []
            lines += _step(point, names, cells)
            lines += _race(report, names) if point.number == second else []
        elif point.kind == "fork":
            lines += [f"{names[point.task]}->>+{names[task]}: spawns" for task in point.tasks]
            begun.update(point.tasks)
        else:
            lines += [f"{names[task]}-->>-{names[point.task]}: ends" for task in point.tasks]
            begun.difference_update(point.tasks)
    lines += [*_end(report, names), *(f"deactivate {names[task]}" for task in sorted(begun, key=by_path))]
    return "\n".join(["sequenceDiagram", *(f"  {line}" for line in lines)])


def _race(report: ReplayReport, names: dict[str, str]) -> list[str]:
    """A note on the racing pair, and the end of its colour."""
    assert report.racing is not None
    second = report.followed
    one, other = sorted((report.visible[second - 2].task, report.visible[second - 1].task), key=by_path)
    text = f"{second - 1} and {second} race on {report.racing.cell}"
    return [f"Note over {names[one]},{names[other]}: {_text(text)}", "end"]


def _contended_cells(report: ReplayReport) -> list[Hashable]:
    """The cells that several tasks touch by visible steps, not all of them reading."""
    tasks: defaultdict[Hashable, set[str]] = defaultdict(set)
    changed: set[Hashable] = set()
    for action in report.visible:
        for touch in action.touches:
            tasks[touch.cell].add(action.task)
            changed |= {touch.cell} if touch.effect != "read" else set()
    found = [cell for cell, there in tasks.items() if len(there) > 1 and cell in changed]
    if len(found) > MOST_CELLS:
        return [report.racing.cell] if report.racing else []
    return found


def _step(point: OrderPoint, names: dict[str, str], cells: dict[Hashable, str]) -> Iterator[str]:
    """An arrow to each cell with a lifeline, from it if the step reads; a note for what else the step does."""
    assert point.action is not None
    task, at = names[point.task], indices(point.action)
    for touch in point.action.touches:
        if touch.cell not in cells:
            yield f"Note over {task}: {point.number} {_text(describe_access(touch) + at)}"
        elif touch.effect == "read":
            yield f"{cells[touch.cell]}-->>{task}: {point.number} {_text(_verb(touch) + at)}"
        else:
            yield f"{task}->>{cells[touch.cell]}: {point.number} {_text(_verb(touch) + at)}"
    if not point.action.touches:
        yield f"Note over {task}: {point.number} {_text(point.action.rule + at)}"


def _verb(touch: CellAccess) -> str:
    """The verb for an access to a cell that need not be named."""
    does = VERBS[OPERATIONS[touch.effect]]
    if touch.effect in ("acquire", "release"):
        return does
    return f"{does}{' to' if touch.effect == 'atomic' else ''} {show(touch.value)}"


def _end(report: ReplayReport, names: dict[str, str]) -> Iterator[str]:
    """Notes on a fault, on each task that waits for ever, and on an interleaving that was left."""
    yield from (f"Note over {names[task]}: {_wrap(text)}" for task, text in failures(report))
    if report.mismatch is not None:
        yield f"Note over t0,t{len(names) - 1}: {_wrap(f'mismatch: {report.mismatch.message}')}"


def _wrap(text: str) -> str:
    """A text in lines that are not too long."""
    return "<br/>".join(map(_text, wrap(text, WIDTH)))


def _text(text: str) -> str:
    """A text as it is; what might mean something to Mermaid goes by number.

    >>> _text('a; "b" <c> : d')
    'a#59; #34;b#34; #60;c#62; #58; d'
    """
    return re.sub(r"[^\w .,()\[\]=+*/-]", lambda found: f"#{ord(found[0])};", text)
