"""The outline of a text: its definitions, and its loops inside of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wingspan.base.errors import Span
from wingspan.editing.edits import range_of
from wingspan.lang import ir
from wingspan.lang.printer import show
from wingspan.program import Program

if TYPE_CHECKING:
    from wingspan.editing.json_types import Symbol

KINDS: dict[type[Any], Any] = {ir.Cpu: "device", ir.ScheduleCall: "schedule", ir.Function: "function"}


def outline(program: Program) -> list[Symbol]:
    """The symbols of a program, in the order of its text."""
    return _symbols(program.tree.body)


def _symbols(s: ir.Node) -> list[Symbol]:
    match s:
        case ir.Block(statements=statements):
            return [symbol for each in statements for symbol in _symbols(each)]
        case ir.If(body=body):
            return _symbols(body)
        case ir.Define(name=name, value=value, span=Span() as span):
            detail = show(s).partition("=")[2].strip()
            return [_symbol(name, detail, KINDS.get(type(value), "tensor"), span, span, [])]
        case ir.For(index=index, range=over, body=body, span=Span() as span):
            inner = _symbols(body)
            spans = [node.span for node in s.walk() if node.span is not None]
            last = max(spans, key=lambda each: (each.end_line, each.end_column))
            title = show(ir.For(index, over, ir.SKIP)).splitlines()[0].removeprefix("for ")
            return [_symbol(index, title, "loop", span, span.up_to(last), inner)]
    return []


def _symbol(name: str, detail: str, kind: Any, span: Span, around: Span, children: list[Symbol]) -> Symbol:
    return {
        "name": name,
        "detail": detail,
        "kind": kind,
        "range": range_of(span),
        "whole": range_of(around),
        "children": children,
    }
