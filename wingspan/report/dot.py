"""A replay as a graph for Graphviz: what comes before what, with a column for each task.

https://graphviz.org/doc/info/lang.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from textwrap import fill

from wingspan.explorer.incident import FaultReport, explain
from wingspan.report.order import Edge, Point, by_path, edges, points
from wingspan.report.steps import indices, touched
from wingspan.report.view import ReplayReport

WIDTH = 40
"""Columns of longer texts."""

RED = 'color="#d55e00" fontcolor="#d55e00" penwidth=2'
BLUE = 'color="#0072b2" fontcolor="#0072b2"'


def replay(report: ReplayReport) -> str:
    """The visible steps, forks and joins; edges are dashed where tasks begin and end, and name the cell of a conflict.

    What follows from other edges has none. The racing pair is red.
    """
    run = list(points(report))
    racing = {report.followed - 1, report.followed} if report.racing else set()
    red = {number for number, point in enumerate(run) if point.kind == "step" and point.number in racing}
    columns: defaultdict[str, list[str]] = defaultdict(list)
    for number, point in enumerate(run):
        columns[point.task].append(_node(f"n{number}", point, number in red))
    lines = [_edge(edge, run, {edge.first, edge.second} <= red) for edge in edges(run)]
    last = {point.task: number for number, point in enumerate(run)}
    for number, (task, message) in enumerate(_ends(report)):
        columns[task].append(f"e{number} [label={_text(fill(message, WIDTH))} shape=octagon {RED}]")
        lines += [f"n{last[task]} -> e{number}"] if task in last else []
    return "\n".join(["digraph run {", *_head(report), *_clusters(columns), *(f"  {line}" for line in lines), "}"])


def _head(report: ReplayReport) -> Iterator[str]:
    title = f"{report.invocation.file}: interleaving {report.interleaving}"
    left = f"\n{fill(f'mismatch: {report.mismatch.message}', 2 * WIDTH)}" if report.mismatch else ""
    yield f"  label={_text(title + left)} labelloc=t fontname=Helvetica newrank=true"
    yield "  node [shape=box fontname=Helvetica fontsize=11]"
    yield "  edge [fontname=Helvetica fontsize=10]"


def _clusters(columns: dict[str, list[str]]) -> Iterator[str]:
    for number, task in enumerate(sorted(columns, key=by_path)):
        yield f"  subgraph cluster_{number} {{"
        yield f"    label={_text(f'task {task}')} color=gray"
        yield from (f"    {node}" for node in columns[task])
        yield "  }"


def _node(name: str, point: Point, red: bool) -> str:
    if point.action is None:
        label = f"{'spawns' if point.kind == 'fork' else 'joins'} {', '.join(point.tasks)}"
        return f"{name} [label={_text(label)} shape=plain]"
    action = point.action
    does = "\n".join(map(touched, action.touches)) or action.rule
    place = f"{action.span.line}:{action.span.column}" if action.span else ""
    label = f"{point.number}  {does}\n{place}{indices(action)}".rstrip()
    return f"{name} [label={_text(label)}{f' {RED}' if red else ''}]"


def _edge(edge: Edge, run: list[Point], red: bool) -> str:
    arrow = f"n{edge.first} -> n{edge.second}"
    if edge.cells:
        return f"{arrow} [label={_text(', '.join(edge.cells))} {RED if red else BLUE}]"
    return arrow if run[edge.first].task == run[edge.second].task else f"{arrow} [style=dashed]"


def _ends(report: ReplayReport) -> Iterator[tuple[str, str]]:
    """What tasks come to that do not end: a fault, or that they wait for ever."""
    found = report.incident
    if isinstance(found, FaultReport):
        yield found.task or "0", f"fault: {found.message}"
    elif found is not None:
        yield from ((blocked.task or "0", f"deadlock: {explain(blocked)}") for blocked in found.waiting)


def _text(text: str) -> str:
    r"""A string of the language.

    >>> print(_text('a "b"\n\\N'))
    "a \"b\"\n\\N"
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
