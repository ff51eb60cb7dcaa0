"""A replay as a picture for slides: a lane for each task, time downwards, a row for each visible step. SVG or TikZ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import wrap
from typing import Literal

from wingspan.base.dataclass import dataclass
from wingspan.explorer.incident import FaultReport, explain_blocked
from wingspan.results.listing import listing
from wingspan.semantics.rules.schema import SYMBOLS
from wingspan.views import svg
from wingspan.views.order import OrderPoint, points, tasks_of
from wingspan.views.steps import place
from wingspan.views.view import ReplayReport

WIDE = 72
"""Columns of the sentences below the lanes."""


@dataclass(frozen=True)
class Row:
    """One moment: a step in the lane of its task, or an arrow from a task to others or back."""

    kind: Literal["step", "fork", "join"]
    lane: int
    text: str
    """the accesses of the step, in words"""
    number: str = ""
    place: str = ""
    """the place of the step, and the indices in force"""
    racing: bool = False
    lost: str = ""
    """the part of the step in a lost update, in words"""
    others: tuple[int, ...] = ()
    """the lanes that begin or end here"""


@dataclass(frozen=True)
class Lanes:
    """The tasks by name, the rows, from which row to which each task is under way, and how the run ended.

    `stale` has two rows for each lost update: the read of an old value, and the write of what was computed from it.
    """

    title: str
    tasks: tuple[str, ...]
    rows: tuple[Row, ...]
    alive: tuple[tuple[int, int], ...]
    stale: tuple[tuple[int, int], ...]
    end: tuple[str, ...]
    bad: bool


def lanes(report: ReplayReport) -> Lanes:
    """Lays out a run."""
    run = list(points(report))
    tasks = tasks_of(run)
    number = {task: lane for lane, task in enumerate(tasks)}
    racing = {report.followed - 1, report.followed} if report.racing else set()
    lost = _lost_updates(report)
    rows = tuple(_row(point, number, racing, lost) for point in run)
    at = {row.number: index for index, row in enumerate(rows)}
    updates = ((action.lost, k) for k, action in enumerate(report.visible, start=1) if action.lost is not None)
    stale = tuple((at[str(update.read)], at[str(k)]) for update, k in updates)
    alive = []
    for lane in range(len(tasks)):
        there = [at for at, row in enumerate(rows) if lane == row.lane or lane in row.others]
        alive.append((0, len(rows) - 1) if lane == 0 else (min(there), max(there)))
    left = [f"mismatch: {report.mismatch.message}"] if report.mismatch else []
    return Lanes(
        f"{report.invocation.name}: interleaving {report.interleaving}",
        tuple(tasks),
        rows,
        tuple(alive),
        stale,
        tuple(line for text in (*_end(report), *left) for line in wrap(text, WIDE)),
        report.incident is not None,
    )


def _lost_updates(report: ReplayReport) -> dict[int, str]:
    """The parts of steps in lost updates, by the numbers of the steps."""
    parts: dict[int, list[str]] = {}
    for number, action in enumerate(report.visible, start=1):
        if action.lost is not None:
            parts.setdefault(action.lost.read, []).append(f"old value, used in step {number}")
            parts.setdefault(action.lost.written, []).append(f"lost in step {number}")
            parts.setdefault(number, []).append(f"loses step {action.lost.written}")
    return {number: ", ".join(dict.fromkeys(each)) for number, each in parts.items()}


def _row(point: OrderPoint, number: dict[str, int], racing: set[int], lost: dict[int, str]) -> Row:
    lane = number[point.task]
    if point.action is None:
        return Row(point.kind, lane, "", others=tuple(number[task] for task in point.tasks))
    action, step = point.action, point.number
    does = action.does or action.rule
    return Row("step", lane, does, str(step), place(action), step in racing, lost.get(step, ""))


def _end(report: ReplayReport) -> Iterator[str]:
    found = report.incident
    if report.racing:
        yield f"steps {report.followed - 1} and {report.followed} race on {report.racing.cell}"
    for number, action in enumerate(report.visible, start=1):
        if action.lost is not None:
            yield f"step {number} {action.lost.text}"
    if isinstance(found, FaultReport):
        yield f"task {found.task or '0'} faults: {found.message}"
    elif found is not None:
        yield from (f"deadlock: {explain_blocked(blocked)}" for blocked in found.waiting)
    elif report.outcome is not None:
        yield f"result: {listing(report.outcome)}"


# ---------------------------------------------------------------------------------------------------------------- SVG

MARGIN, HIGH, PAD, GAP = 16, 34, 8, 22
"""Pixels: around the picture, of a row, inside and between boxes."""


def as_svg(drawn: Lanes) -> str:
    """The lanes as SVG."""
    widths = _widths(drawn)
    wide = [width * svg.CHAR + 2 * PAD for width in widths]
    digits = max((len(row.number) for row in drawn.rows), default=0)
    left = MARGIN + digits * svg.CHAR + GAP
    axis = [left + sum(wide[:lane]) + lane * GAP + wide[lane] / 2 for lane in range(len(wide))]
    right = left + sum(wide) + len(wide) * GAP
    top = MARGIN + svg.ROW
    middle = [top + HIGH * (at + 1) for at in range(len(drawn.rows))]
    heads = zip(axis, drawn.tasks, strict=True)
    parts = [svg.text(x, top, f"task {task}", anchor="middle", bold=True) for x, task in heads]
    for x, (first, last) in zip(axis, drawn.alive, strict=True):
        if drawn.rows:
            parts.append(svg.line(x, middle[first] if first else top + 8, x, middle[last], stroke=svg.GREY))
    for read, write in drawn.stale:
        x = axis[drawn.rows[read].lane]
        parts.append(svg.line(x, middle[read] + 13, x, middle[write] - 13, stroke=svg.RED, wide=True))
    places = [_margin_text(row) for row in drawn.rows]
    for row, beside, y in zip(drawn.rows, places, middle, strict=True):
        x = axis[row.lane]
        for other in row.others:
            ends = (x, axis[other]) if row.kind == "fork" else (axis[other], x)
            parts.append(svg.line(ends[0], y, ends[1], y, stroke=svg.GREY, dashed=True, arrow=True))
        if row.kind == "step":
            colour, fill = svg.RED if row.racing or row.lost else svg.BLACK, svg.PALE if row.racing else "#fff"
            half = len(row.text) * svg.CHAR / 2 + PAD
            parts.append(svg.box(x - half, y - 13, 2 * half, 26, stroke=colour, fill=fill))
            parts.append(svg.text(x, y + 5, row.text, anchor="middle", fill=colour))
            parts.append(svg.text(left - GAP, y + 5, row.number, anchor="end", fill=svg.GREY))
            parts.append(svg.text(right, y + 5, beside, fill=svg.RED if row.lost else svg.GREY))
    y = (middle[-1] if middle else top) + HIGH
    for line in drawn.end:
        parts.append(svg.text(MARGIN, y, line, fill=svg.RED if drawn.bad else svg.BLACK))
        y += svg.ROW
    place = max(map(len, places), default=0) * svg.CHAR
    width = max(right + place, *(MARGIN + svg.CHAR * len(line) for line in drawn.end), 0) + MARGIN
    return svg.picture(width, y, drawn.title, *parts)


def _margin_text(row: Row) -> str:
    """The text at the right of a row: its place, and its part in a lost update."""
    return "  ".join(filter(None, (row.place, row.lost)))


def _widths(drawn: Lanes) -> list[int]:
    """The characters of the longest box of each lane."""
    return [
        max(len(f"task {task}"), *(len(row.text) for row in drawn.rows if row.lane == lane), 0)
        for lane, task in enumerate(drawn.tasks)
    ]


# --------------------------------------------------------------------------------------------------------------- TikZ

EM = 0.19
"""Centimetres for a character of \\footnotesize\\ttfamily."""


def as_tikz(drawn: Lanes) -> str:
    """The lanes as a tikzpicture, for slides and papers that use the package tikz."""
    wide = [width * EM + 0.5 for width in _widths(drawn)]
    axis = [sum(wide[:lane]) + wide[lane] / 2 + 0.7 for lane in range(len(wide))]
    right = sum(wide) + 1
    lines = [
        "% needs tikz",
        f"% {drawn.title}",
        r"\begin{tikzpicture}[font=\footnotesize\ttfamily, yscale=-0.6,",
        r"  access/.style={draw, rounded corners=2pt, fill=white, inner sep=3pt},",
        r"  lost/.style={access, draw=red!70!black, text=red!70!black}, racing/.style={lost, fill=red!10}]",
    ]
    lines += [
        rf"\node[font=\footnotesize\bfseries] at ({x:.2f}, 0) {{task {task}}};"
        for x, task in zip(axis, drawn.tasks, strict=True)
    ]
    for x, (first, last) in zip(axis, drawn.alive, strict=True):
        if drawn.rows:
            lines.append(rf"\draw[gray] ({x:.2f}, {first + 1 if first else 0.4}) -- ({x:.2f}, {last + 1});")
    for read, write in drawn.stale:
        x = axis[drawn.rows[read].lane]
        lines.append(rf"\draw[red!70!black, very thick] ({x:.2f}, {read + 1.4}) -- ({x:.2f}, {write + 0.6});")
    for at, row in enumerate(drawn.rows, start=1):
        x = axis[row.lane]
        for other in row.others:
            ends = (x, axis[other]) if row.kind == "fork" else (axis[other], x)
            lines.append(rf"\draw[gray, dashed, ->] ({ends[0]:.2f}, {at}) -- ({ends[1]:.2f}, {at});")
        if row.kind == "step":
            style = "racing" if row.racing else "lost" if row.lost else "access"
            lines.append(rf"\node[{style}] at ({x:.2f}, {at}) {{{tex(row.text)}}};")
            lines.append(rf"\node[gray] at (0, {at}) {{{row.number}}};")
            lines.append(rf"\node[gray, anchor=west] at ({right:.2f}, {at}) {{{tex(_margin_text(row))}}};")
    for number, line in enumerate(drawn.end):
        colour = "red!70!black, " if drawn.bad else ""
        low = len(drawn.rows) + 1.2 + 0.7 * number
        lines.append(rf"\node[{colour}anchor=west] at (-0.3, {low:.1f}) {{{tex(line)}}};")
    return "\n".join((*lines, r"\end{tikzpicture}"))


_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "…": r"\ldots{}"}


def tex(text: str) -> str:
    r"""A text in LaTeX.

    >>> print(tex("a_b % {1} σ ÷ é"))
    a\_b \% \{1\} \ensuremath{\sigma } \ensuremath{\div } é
    """

    def one(match: re.Match[str]) -> str:
        character = match[0]
        if character in "&%$#_{}":
            return f"\\{character}"
        return _SPECIAL.get(character) or rf"\ensuremath{{{SYMBOLS[character]}}}"

    return re.sub(f"[{re.escape(''.join([*'&%$#_{}', *_SPECIAL, *(s for s in SYMBOLS if len(s) == 1)]))}]", one, text)


def replay_svg(report: ReplayReport) -> str:
    """A run as SVG."""
    return as_svg(lanes(report))


def replay_tikz(report: ReplayReport) -> str:
    """A run as a tikzpicture."""
    return as_tikz(lanes(report))
