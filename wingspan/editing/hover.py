"""The explanation of a place of a text, as Markdown: formats, tensors, devices, loops, and the rules that apply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from wingspan import api
from wingspan.base.errors import Span, WingspanError
from wingspan.dependence.stability import repaired
from wingspan.editing.completion import about
from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.lang.devices import Device
from wingspan.lang.printer import show
from wingspan.levels import REGISTRY, Tower
from wingspan.levels.base import Gated, Modifier
from wingspan.program import Program
from wingspan.semantics.rules import ALL
from wingspan.views.inference import rules_text
from wingspan.views.values import in_order

ANY = Device("any", 2)
"""A device that stands for those that gate no level."""


def hover(program: Program, line: int, column: int) -> str:
    """The explanation of a place, counted from 1; empty if there is nothing to say."""
    return "\n\n".join(_paragraphs(program, line, column))


def _paragraphs(program: Program, line: int, column: int) -> Iterator[str]:
    inside = [node for node in program.tree.walk() if node.span is not None and _contains(node.span, line, column)]
    if not inside:
        return
    node = min(reversed(inside), key=lambda each: _size(each.span))
    word = _word(node.span, line, column)
    match node:
        case ir.Format(name=name) if name in REGISTRY:
            yield _format(name)
        case (
            ir.Access(fiber=ir.Fiber(tensor=name))
            | ir.Fiber(tensor=name)
            | ir.Freeze(tensor=name)
            | ir.Thaw(tensor=name)
        ):
            yield from _tensor(program, name)
        case ir.Declare(tensor=name) if word == name:
            yield from _tensor(program, name)
        case ir.Define(name=name):
            yield from _tensor(program, name)
        case ir.Variable(name=name):
            yield from _definition(program, name)
        case ir.For():
            yield _loop(node)
    yield from _rules(node)


def _contains(span: Span | None, line: int, column: int) -> bool:
    return span is not None and (span.line, span.column) <= (line, column) < (span.end_line, span.end_column)


def _size(span: Span | None) -> tuple[int, int]:
    assert span is not None
    return span.end_line - span.line, span.end_column - span.column


def _word(span: Span | None, line: int, column: int) -> str:
    """The word at a place."""
    text = span.source.line(line) if span is not None else ""
    return next((found[0] for found in re.finditer(r"\w+", text) if found.start() < column <= found.end()), "")


def _code(text: str) -> str:
    return f"```wingspan\n{text}\n```"


def _format(name: str) -> str:
    level = REGISTRY[name]
    if issubclass(level, Modifier):
        adds = in_order(level.discipline.adds) if level.discipline else ()
        return f"**{name}**: {about(level)}\n\nIt adds {_set(adds)} to what the level inside of it supports."
    return f"**{name}**: {about(level)}"


def _set(kinds: Iterable[str]) -> str:
    return f"{{{', '.join(kinds)}}}"


def _tensor(program: Program, name: str) -> Iterator[str]:
    """The definition of a tensor, its extents, and the dependences that each level supports."""
    yield from _definition(program, name)
    try:
        bound = api.bind(program, symbolic=True)
    except WingspanError:
        return  # the mistakes are shown where they are
    tower = bound.towers.get(name)
    if tower is not None:
        yield _extents(bound, name)
        yield _stability(tower)


def _definition(program: Program, name: str) -> Iterator[str]:
    for s in program.tree.body.statements:
        if isinstance(s, ir.Define) and s.name == name:
            yield _code(show(s))


def _extents(bound: Elaborated, name: str) -> str:
    written = [show(each) for each in bound.extents.get(name, ())]
    state = "open input, " if name in bound.open else ""
    return f"{state}extents: {' × '.join(written)}" if written else f"{state}no axes: one element"


def _stability(tower: Tower) -> str:
    """The dependences between tasks that each level supports, root first."""
    gates = [level.on for level in tower.levels if isinstance(level, Gated)]
    device = gates[0] if gates else ANY
    supported = repaired(tower, device, lambda depth: True)
    on = f", for the tasks of {device}" if gates else ""
    rows = [
        f"| {number} | {tower.levels[depth].name} | {_set(list(in_order(supported[number])))} |"
        for number, depth in sorted(tower.depths.items(), reverse=True)
    ]
    return "\n".join([f"| level | format | supports{on} |", "|---|---|---|", *rows])


def _loop(loop: ir.For) -> str:
    how = "in parallel" if isinstance(loop.range, ir.Parallel) else "one iteration after the other"
    return f"**{loop.index}** runs {how}.\n\n{_code(show(ir.For(loop.index, loop.range, ir.SKIP)).splitlines()[0])}"


def _rules(node: ir.Node) -> Iterator[str]:
    """The rules of the semantics that apply to a node, as they are drawn."""
    for name in _rule_names(node):
        yield f"```text\n{rules_text([ALL[name]])}\n```"


def _rule_names(node: ir.Node) -> tuple[str, ...]:
    match node:
        case ir.For(range=ir.Parallel()):
            return ("ParallelFor",)
        case ir.For():
            return ("SerialFor",)
        case ir.ScheduleCall(kind="static"):
            return ("StaticFor",)
        case ir.ScheduleCall():
            return ("DynamicFor",)
        case ir.Assign() | ir.Declare() | ir.Freeze() | ir.Thaw() | ir.Access():
            return (type(node).__name__,)
        case ir.If():
            return ("IfTrue", "IfFalse")
    return ()
