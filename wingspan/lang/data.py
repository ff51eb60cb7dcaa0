"""Vector and matrix literals, `[1, 2, 3]` and `[1 2; 3 4]`, where blanks separate; `[[1, 2], [3, 4]]` is a matrix."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from wingspan.base.errors import Fault, ParseError, Source, Span
from wingspan.lang import algebra, ir

_PIECE = re.compile(r"(?P<comment>#[^\n]*)|(?P<mark>[\n;,])|(?P<word>\([^()#]*\)|[^\s;,#]+)")
NOT_STORED = "use NaN for what is not there, or a tensor of Pattern that holds which elements are"
"""The remedy for storing that a value is missing."""

_LIST = re.compile(r"#[^\n]*|(\[(?:[^\[\]#]|#[^\n]*+)*+\])")

_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|Inf|NaN)")
_PAIR = re.compile(rf"\(\s*({_NUMBER.pattern})\s*,\s*({_NUMBER.pattern})\s*\)")


def matrix(source: Source, text: str, start: int, number: Callable[[str, Span], int | float]) -> ir.Data:
    """The data that a text in brackets says, which begins at `start` in its source.

    Commas make a vector; so do no element and a single one. Blanks separate the elements of a matrix's row,
    `;` or the end of a line its rows. `[7;]` is the matrix with one element. A list of lists is a matrix by rows.
    """
    if re.match(r"\[(?:\s|#[^\n]*)*\[", text):
        return matrix_of_lists(source, text, start, number)
    offset = start + 1
    whole = source.span_at(start, 1)
    rows: list[list[ir.Literal]] = [[]]
    marks: list[str] = []
    wanting = True
    for piece in _PIECE.finditer(text[1:-1]):
        span = source.span_at(offset + piece.start(), piece.end() - piece.start())
        match piece.lastgroup:
            case "word":
                rows[-1].append(element(piece[0], span, number))
                wanting = False
            case "mark" if piece[0] == ",":
                if wanting:
                    raise ParseError("an element is missing before this comma", span, fix="[1, 2, 3]")
                wanting = True
                marks.append(",")
            case "mark":
                rows.append([])
                marks.append(piece[0])
    rows = [row for row in rows if row]
    flat = [value for row in rows for value in row]
    if "," in marks or (len(flat) <= 1 and ";" not in marks):
        if ";" in marks:
            raise ParseError("a vector has commas, a matrix has none", whole, fix="[1, 2, 3] or [1 2; 3 4]")
        if (wanting and flat) or len(flat) > marks.count(",") + 1:
            raise ParseError("the elements of a vector are separated by single commas", whole, fix="[1, 2, 3]")
        return ir.Data(1, (unify_kinds(flat),), span=whole)
    return matrix_of_rows(rows, whole, "rows are separated by `;` or the end of a line")


def matrix_of_lists(source: Source, text: str, start: int, number: Callable[[str, Span], int | float]) -> ir.Data:
    """The matrix whose rows are the lists in a list, as nested lists are in Python."""
    found = [match for match in _LIST.finditer(text, 1) if match[1]]
    rows: list[Sequence[ir.Literal]] = []
    for match in found:
        row = matrix(source, match[1], start + match.start(), number)
        if row.rank != 1:
            raise ParseError("the elements of such a row are separated by commas", row.span, fix="[[1, 2], [3, 4]]")
        rows.append(row.rows[0])
    whole = source.span_at(start, 1)
    between = "".join(_LIST.sub(lambda match: "_" * bool(match[1]), text[1:-1]).split())
    if not re.fullmatch(r"_(,_)*", between):
        raise ParseError(
            "rows in brackets are separated by single commas", whole, fix="[[1, 2], [3, 4]], or [1 2; 3 4]"
        )
    return matrix_of_rows(rows, whole, "write as many in each: [[1, 2], [3, 4]]")


def matrix_of_rows(rows: Sequence[Sequence[ir.Literal]], whole: Span, fix: str) -> ir.Data:
    """The matrix with some rows; ParseError if they differ in length, or there is no element."""
    for row in rows:
        if len(row) != len(rows[0]):
            message = f"this row has {len(row)} elements, the first has {len(rows[0])}"
            raise ParseError(message, row[0].span if row else whole, fix=fix)
    if not any(rows):
        raise ParseError("a matrix needs an element", whole, fix="[] is the empty vector")
    values = iter(unify_kinds([value for row in rows for value in row]))
    return ir.Data(2, tuple(tuple(next(values) for _ in row) for row in rows), span=whole)


def element(word: str, span: Span, number: Callable[[str, Span], int | float]) -> ir.Literal:
    """One element: a signed number, `true` or `false`, or a pair."""
    if word in ("true", "false"):
        return ir.Literal(word == "true", span=span)
    if parts := _PAIR.fullmatch(word):
        x, i = (ir.Literal(number(part, span), span=span) for part in parts.groups())
        return pair(x, i, span)
    if word == "missing":
        raise ParseError("an element is never missing: it is a number, or true or false", span, fix=NOT_STORED)
    if not _NUMBER.fullmatch(word):
        raise ParseError(f"`{word}` is not an element", span, fix="elements are numbers, or true and false")
    return ir.Literal(number(word, span), span=span)


def pair(x: ir.Literal, i: ir.Literal, span: Span) -> ir.Literal:
    """The pair of two literals; ParseError if they make none."""
    try:
        return ir.Literal(algebra.apply("pair", algebra.exact(x.value), i.value), span=span)
    except Fault as fault:
        raise ParseError(fault.message, span, fix="a pair is (x, i): (0.5, 3)") from None


def unify_kinds(values: list[ir.Literal]) -> tuple[ir.Literal, ...]:
    """The values as one kind: integers next to doubles become doubles."""
    kinds = {value.kind for value in values}
    if "pair" in kinds and len(kinds) > 1:
        odd = next(value for value in values if (value.kind == "pair") != (values[0].kind == "pair"))
        raise ParseError("pairs and other elements do not mix", odd.span, fix="write pairs only: [(0.5, 1), (2.0, 3)]")
    if "bool" in kinds and len(kinds) > 1:
        odd = next(value for value in values if (value.kind == "bool") != (values[0].kind == "bool"))
        raise ParseError("numbers and booleans do not mix", odd.span, fix="write 1 for true and 0 for false")
    if kinds == {"int", "float"}:
        return tuple(ir.Literal(float(value.value), span=value.span) for value in values)
    return tuple(values)
