"""The canonical form of a program's text, with its comments and blank lines.

The printer knows no comments. Each line that it prints has a place in the written text, that of the statement that it
begins or of the `end` that it is; these places never decrease. So each comment goes between or behind the printed lines
by its own place: one behind code to the last line before it, one in a line of its own before the first line after it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import TypeAlias

from wingspan.base.dataclass import dataclass
from wingspan.lang import ir
from wingspan.lang.layout import HEADERS
from wingspan.lang.printer import INDENT, show
from wingspan.program import Program, parse

LINE = re.compile(r'((?:[^"#]|"[^"]*")*)(.*)')
"""The code and the comment of a line."""
BLOCKS = re.compile(r'"[^"\n]*"|#[^\n]*|(?<![\w:])(?:for|if|let|begin|elseif|else|end)(?!\w)')
"""The words that begin and end blocks, and what else may contain such words."""

Place: TypeAlias = tuple[int, int]
"""A line and a column, from 1."""


@dataclass(frozen=True)
class PrintedLine:
    """A printed line.

    Attributes:
        place: where its statement begins in the written text, or its `end` stands. An `end` that is not written, and
            one in whose place an `else` is written, have the place of the line before.
        written: whether what it says stands at its place.
        column: in which the block begins that it ends; 0 if it ends none.
    """

    place: Place
    written: bool = True
    column: int = 0


def format_text(text: str, name: str = "program.ws") -> str:
    """The text in its canonical form. ParseError if it is no program."""
    return format_program(parse(text + "\n", name))


def format_program(program: Program) -> str:
    """The text that a program was parsed from, in its canonical form, with all its comments."""
    text = next(node.span.source.text for node in program.tree.walk() if node.span is not None)
    lines = show(program.tree).splitlines()
    printed = [*_Places(text).of(program)]
    before, behind = _distribute(text, printed)
    made: list[str] = []
    for k, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())] + INDENT * bool(printed[k].column)
        made += [f"{indent}{comment}".rstrip() for comment in before[k]]
        made.append("  ".join((line, *behind[k])))
    return "\n".join((*made, *before[-1])).rstrip("\n") + "\n"


class _Places:
    """The places of the lines that a program is printed in."""

    def __init__(self, text: str) -> None:
        self.closers = _find_closers(text)
        self.columns = _find_columns(text)
        self.last: Place = (1, 1)

    def of(self, program: Program) -> Iterator[PrintedLine]:
        """The printed lines of a program."""
        if program.tree.body.statements:
            yield from self.statement(program.tree.body)
        if program.tree.returns:
            yield self.begin(program.tree)

    def statement(self, s: ir.Statement) -> Iterator[PrintedLine]:
        """The printed lines of a statement, as `printer.lines` prints them."""
        match s:
            case ir.Block(statements) if statements:
                for each in statements:
                    yield from self.statement(each)
            case ir.For(body=body) | ir.If(body=body):
                yield self.begin(s)
                yield from self.statement(body)
                yield self.end(s)
            case _:
                yield self.begin(s)

    def begin(self, node: ir.Node) -> PrintedLine:
        """The line that a node begins. What an `else` became stands there, not where its `if` does."""
        if node.span is None:
            return PrintedLine(self.last, written=False)
        self.last = max(self.last, (node.span.line, node.span.column))
        return PrintedLine(self.last)

    def end(self, block: ir.Node) -> PrintedLine:
        """The `end` of a block: that of the text, if no alternative comes before it."""
        assert block.span is not None
        closers = self.closers.get((block.span.line, block.span.column), [])
        word, self.last = next((closer for closer in closers if closer[1] >= self.last), ("", self.last))
        return PrintedLine(self.last, word == "end", self.columns[block.span.line - 1])


def _find_closers(text: str) -> dict[Place, list[tuple[str, Place]]]:
    """By the place of a word that begins a block: the alternatives after it, and its `end`, with their places."""
    words = [
        (match[0], (number, match.start() + 1))
        for number, line in enumerate(text.split("\n"), start=1)
        for match in BLOCKS.finditer(line)
        if match[0][0] not in '"#'
    ]
    by_end = any(word == "end" for word, _ in words)
    found: dict[Place, list[tuple[str, Place]]] = {}
    opened: list[list[Place]] = []  # of each open block, its first word and those of its alternatives
    for word, place in words:
        if word.upper() in HEADERS:
            opened.append([place])
            continue
        while not by_end and opened[-1][0][1] > place[1]:
            opened.pop()
        for each in opened[-1]:
            found.setdefault(each, []).append((word, place))
        if word == "end":
            opened.pop()
        else:
            opened[-1].append(place)
    return found


def _find_columns(text: str) -> list[int]:
    """The column in which each line begins, from 1; a blank line begins where the next one does."""
    columns, column = [], 1
    for line in reversed(text.split("\n")):
        column = len(line) - len(line.lstrip()) + 1 if line.strip() else column
        columns.append(column)
    return columns[::-1]


def _distribute(text: str, printed: list[PrintedLine]) -> tuple[list[list[str]], list[list[str]]]:
    """The comments and blank lines before each printed line and at the end, and the comments behind each."""
    before: list[list[str]] = [[] for _ in (*printed, None)]
    behind: list[list[str]] = [[] for _ in printed]
    places = [line.place for line in printed]
    least = 0  # comments in lines of their own keep their order
    for number, (line, column) in enumerate(zip(text.split("\n"), _find_columns(text), strict=True), start=1):
        match = LINE.fullmatch(line)
        assert match is not None
        code, comment = match[1].rstrip(), match[2].rstrip()
        k = bisect_right(places, (number, len(code) + 1))
        if not code:
            while k > least and not printed[k - 1].written and 0 < printed[k - 1].column < column:
                k -= 1
            least = max(least, k)
            before[least].append(comment)
        elif comment:
            while k and not printed[k - 1].written:
                k -= 1
            (behind[k - 1] if k else before[0]).append(comment)
    return before, behind
