"""Graphs for Graphviz: of a replay what comes before what, with a column for each task; of a search its states.

https://graphviz.org/doc/info/lang.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from textwrap import fill

from wingspan.explorer.incident import explain_blocked
from wingspan.explorer.interleaving import by_path
from wingspan.explorer.verdict import StateEdge, StateGraph, StateNode
from wingspan.results.listing import listing
from wingspan.results.words import describe_access, written_indices
from wingspan.trace.memory import buffers, show_contents
from wingspan.views.order import OrderEdge, OrderPoint, edges, failures, points
from wingspan.views.steps import place
from wingspan.views.values import count, reach
from wingspan.views.view import Action, ExploreReport, ReplayReport

WIDTH = 40
"""Columns of longer texts."""

RED = 'color="#d55e00" fontcolor="#d55e00" penwidth=2'
BLUE = 'color="#0072b2" fontcolor="#0072b2"'
GREEN = 'color="#007a58" fontcolor="#007a58" penwidth=2'
SHADED = 'style=filled fillcolor="#fae3d5"'

# ------------------------------------------------------------------------------------------------------------ a replay


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
    for number, (task, message) in enumerate(failures(report)):
        columns[task].append(f"e{number} [label={_text(fill(message, WIDTH))} shape=octagon {RED}]")
        lines += [f"n{last[task]} -> e{number}"] if task in last else []
    title = f"{report.invocation.name}: interleaving {report.interleaving}"
    left = f"\n{fill(f'mismatch: {report.mismatch.message}', 2 * WIDTH)}" if report.mismatch else ""
    head = _head(title + left)
    return "\n".join(["digraph run {", *head, *_clusters(columns), *(f"  {line}" for line in lines), "}"])


def _head(title: str) -> Iterator[str]:
    yield f"  label={_text(title)} labelloc=t fontname=Helvetica newrank=true"
    yield "  node [shape=box fontname=Helvetica fontsize=11]"
    yield "  edge [fontname=Helvetica fontsize=10]"


def _clusters(columns: dict[str, list[str]]) -> Iterator[str]:
    for number, task in enumerate(sorted(columns, key=by_path)):
        yield f"  subgraph cluster_{number} {{"
        yield f"    label={_text(f'task {task}')} color=gray"
        yield from (f"    {node}" for node in columns[task])
        yield "  }"


def _node(name: str, point: OrderPoint, red: bool) -> str:
    if point.action is None:
        label = f"{'spawns' if point.kind == 'fork' else 'joins'} {', '.join(point.tasks)}"
        return f"{name} [label={_text(label)} shape=plain]"
    does = "\n".join(map(describe_access, point.action.touches)) or point.action.rule
    label = f"{point.number}  {does}\n{place(point.action)}".rstrip()
    return f"{name} [label={_text(label)}{f' {RED}' if red else ''}]"


def _edge(edge: OrderEdge, run: list[OrderPoint], red: bool) -> str:
    arrow = f"n{edge.first} -> n{edge.second}"
    if edge.cells:
        return f"{arrow} [label={_text(', '.join(edge.cells))} {RED if red else BLUE}]"
    return arrow if run[edge.first].task == run[edge.second].task else f"{arrow} [style=dashed]"


# ----------------------------------------------------------------------------------------------------------- a search


def explore(report: ExploreReport, memory: bool = False, tick: Callable[[], None] = lambda: None) -> str:
    """The states that a search has reached, by number, and the steps between them; the verdict must have the graph.

    With `memory` a state shows the buffers of what the program computes. A step that faults leads to a node that tells
    the fault, one that the search has not taken to `...`. A task that waits for a lock makes no step, and has no edge:
    its state says so. `tick` is called before each state and each step; what it raises ends the drawing.
    """
    graph = report.verdict.graph
    assert graph is not None
    active = {edge.source for edge in graph.edges}
    lines = ["start [shape=point]", "start -> n0"] if graph.nodes else []
    for number, node in enumerate(graph.nodes):
        tick()
        lines.append(f"n{number} [label={_state(number, node, number in active, report, memory)}]")
    lines += [
        f'u{number} [label="..." shape=plain]' for number in dict.fromkeys(edge.source for edge in _remaining(graph))
    ]
    for number, edge in enumerate(graph.edges):
        tick()
        if edge.fault is not None:
            lines.append(f"f{number} [label={_text(fill(f'fault: {edge.fault}', WIDTH))} shape=octagon {RED}]")
        racing = any(edge.task in pair for pair in graph.nodes[edge.source].races)
        lines.append(f"{_arrow(number, edge)} [label={_step_label(edge, report)}{f' {RED}' if racing else ''}]")
    return "\n".join(["digraph states {", *_head(_legend(report, graph)), *(f"  {line}" for line in lines), "}"])


def _remaining(graph: StateGraph) -> list[StateEdge]:
    """The steps that the search has not taken."""
    return [edge for edge in graph.edges if edge.target is None and edge.fault is None]


def _legend(report: ExploreReport, graph: StateGraph) -> str:
    verdict = report.verdict
    states, steps = count(len(graph.nodes), "state"), count(len(graph.edges), "step")
    keys = []
    if verdict.states > len(graph.nodes):
        keys.append(f"not shown: {count(verdict.states - len(graph.nodes), 'state')} that other processes reached")
    if verdict.symmetry:
        keys.append("states that differ only in the names of tasks are one: names are those in the state before a step")
    if left := _remaining(graph):
        keys.append(f"...: {count(len(left), 'step')} not taken" + (", nor needed" if verdict.complete else ""))
    if any(node.races for node in graph.nodes):
        keys.append("shaded: tasks race, by their red steps")
    if any(node.outcome is not None for node in graph.nodes):
        keys.append("two borders: a result")
    return "\n".join(
        [
            f"{verdict.verdict}  {report.invocation.name}",
            f"{reach(verdict)}: {states}, {steps} (strategy {verdict.strategy}; machine {verdict.machine})",
            *keys,
        ]
    )


def _state(number: int, node: StateNode, active: bool, report: ExploreReport, memory: bool) -> str:
    """The label of a state, and how it is drawn."""
    lines, style = [str(number), *(_memory(node, report) if memory else ())], ""
    if node.outcome is not None:
        serial = next(ending.serial for ending in report.endings if ending.outcome == node.outcome)
        lines.append(fill(f"result: {listing(node.outcome, report.differing or None)}", WIDTH))
        style = " peripheries=2"
        if serial is not None:
            lines.append("the sequential result" if serial else "not the sequential result")
            style += f" {GREEN if serial else RED}"
    elif not active:
        lines += ["deadlock", *(fill(explain_blocked(blocked), WIDTH) for blocked in node.waiting)]
        style = f" shape=octagon {RED}"
    else:
        lines += [f"{one or '0'} and {other or '0'} race" for one, other in node.races]
        lines += [fill(f"{blocked.task or '0'} waits for {blocked.waits_for}", WIDTH) for blocked in node.waiting]
        style = f" {SHADED}" if node.races else ""
    return _text("\n".join(lines)) + style


def _memory(node: StateNode, report: ExploreReport) -> Iterator[str]:
    """The buffers of all tensors but the inputs, a line for each."""
    for buffer in buffers(node.state.heap, report.towers):
        if buffer.tensor not in report.inputs:
            cells = " ".join(show_contents(node.state.heap[cell]) for cell in buffer.cells.values())
            yield fill(f"{buffer.title}  {cells}", WIDTH)


def _arrow(number: int, edge: StateEdge) -> str:
    if edge.fault is not None:
        return f"n{edge.source} -> f{number}"
    return f"n{edge.source} -> " + (f"u{edge.source}" if edge.target is None else f"n{edge.target}")


def _step_label(edge: StateEdge, report: ExploreReport) -> str:
    """The task of a step, its rule, its accesses and their places."""
    inside = tuple(written_indices(edge.indices, report.program))
    action = Action(edge.task or "0", edge.rule, edge.span, edge.touches, True, inside)
    lines = [f"{action.task}  {action.rule}", *map(describe_access, action.touches), place(action)]
    return _text("\n".join(filter(None, lines)))


# ---------------------------------------------------------------------------------------------------------------- both


def _text(text: str) -> str:
    r"""A string of the language.

    >>> print(_text('a "b"\n\\N'))
    "a \"b\"\n\\N"
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
