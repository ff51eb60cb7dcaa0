"""Edits of a program's text: how they are applied, and those that make the changes of an advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from wingspan.base.errors import ParseError, Span
from wingspan.dependence.changes import headers
from wingspan.dependence.findings import Advice
from wingspan.lang import ir
from wingspan.lang.printer import show
from wingspan.program import Program, parse

if TYPE_CHECKING:
    from wingspan.editing.json_types import Fix, Range, TextEdit


def normalize_text(text: str) -> str:
    """The text as spans refer to it: each line ends by a newline."""
    return "\n".join(text.removeprefix("\ufeff").splitlines())


def range_of(span: Span) -> Range:
    """The place of a span."""
    return {
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def apply_edits(text: str, edits: Sequence[TextEdit]) -> str:
    r"""The text after edits, which do not overlap; what is inserted where a piece is replaced comes before it.

    >>> apply_edits("a\nbc", [{"line": 2, "column": 2, "end_line": 2, "end_column": 3, "text": "d"}])
    'a\nbd'
    """
    lines = [*normalize_text(text).split("\n"), ""]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    text = "\n".join(lines[:-1])
    for edit in sorted(edits, key=_places, reverse=True):
        start = starts[edit["line"] - 1] + edit["column"] - 1
        end = starts[edit["end_line"] - 1] + edit["end_column"] - 1
        text = text[:start] + edit["text"] + text[end:]
    return text


def _places(edit: TextEdit) -> tuple[int, ...]:
    return edit["line"], edit["column"], edit["end_line"], edit["end_column"]


def whole_text_edit(text: str, new: str) -> TextEdit:
    """The edit that replaces the whole text."""
    lines = normalize_text(text).split("\n")
    return {"line": 1, "column": 1, "end_line": len(lines), "end_column": len(lines[-1]) + 1, "text": new}


def fix_of(advice: Advice, written: Program, text: str) -> Fix:
    """A change that was advised, as edits of the definitions and headers that it changes.

    Comments stay. If such edits do not give the program that was tested, one edit rewrites the whole text.
    """
    changed = parse(advice.program, written.name)
    edits = list(_edits(written.tree, changed.tree))
    lossless = _reads_as(apply_edits(text, edits), changed)
    return {
        "title": "; ".join(advice.change.splitlines()),
        "cost": advice.cost,
        "lossless": lossless,
        "edits": edits if lossless else [whole_text_edit(text, f"{advice.program}\n")],
    }


def _reads_as(text: str, program: Program) -> bool:
    try:
        return parse(text, program.name).tree == program.tree
    except ParseError:
        return False


def _edits(old: ir.Program, new: ir.Program) -> Iterator[TextEdit]:
    """Replaced definitions, new ones before the statement that follows them, and replaced headers of loops."""
    known = {s.name: s for s in old.body.statements if isinstance(s, ir.Define)}
    added: list[ir.Define] = []
    statements = iter(old.body.statements)
    for s in new.body.statements:
        if isinstance(s, ir.Define) and s.name not in known:
            added.append(s)
            continue
        before = next(statements, None)
        if before is None or before.span is None:
            return
        if added:
            yield {**_before(before.span), "text": "".join(f"{show(each)}\n" for each in added)}
            added = []
        if isinstance(s, ir.Define) and s != before:
            yield {**range_of(before.span), "text": show(s)}
    for was, now in zip(headers(old), headers(new), strict=False):
        if was.node.range != now.node.range and was.node.span is not None:
            yield {
                **range_of(was.node.span),
                "text": show(ir.For(now.node.index, now.node.range, ir.SKIP)).split("\n")[0],
            }


def _before(span: Span) -> Range:
    return {"line": span.line, "column": span.column, "end_line": span.line, "end_column": span.column}
