"""Line structure: where statements end and blocks close, in either of the two layouts.

A program that says `end` anywhere closes every block by it; any other closes blocks by indentation. Both are
handed to the grammar in one shape: a separator after each statement and header, `END` after each block. As in Julia,
parentheses where a statement may begin enclose statements, and a line that ends in an operator or a comma goes on in
the next one.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NoReturn

from lark import Token
from lark.lark import PostLex

from wingspan.base.errors import Mark, ParseError, Source, Span

LIMIT = 100
"""The deepest nesting of brackets, and of blocks and operators together."""

ALTERNATIVES = ("ELSEIF", "ELSE")
"""The tokens that end one block of an `if` and begin the next."""

HEADERS = ("FOR", "IF", "LET", "BEGIN")
"""The words that begin a block."""

_CONTINUED = frozenset(
    ["COMMA", "ASSIGN", "_ARROW", "OR", "AND", "COMPARE", "PLUS", "MINUS", "BITS", "TIMES", "SHIFT", "NOT", "TILDE"]
)
"""After these a line is not complete."""

_BEFORE = frozenset(["", "NEWLINE", "SEMICOLON", "BEGIN", "ELSE", "_FINCH", "OPTION", "_OPEN"])
"""After these a statement may begin; the first stands for the beginning of the text."""

_STRUCTURE = re.compile(r'"[^"\n]*"|#[^\n]*|[()\[\]]|(?<![\w:])end(?!\w)')
_CLOSER = {"(": ")", "[": "]"}


class LayoutError(Exception):
    """A mistake of the line structure, at a token: a parse error whose source is not known here."""

    def __init__(self, message: str, token: Token, fix: str) -> None:
        super().__init__(message)
        self.message, self.token, self.fix = message, token, fix


def closed_by_end(source: Source) -> bool:
    """Whether blocks are closed by `end`. Every bracket is matched on the way; ParseError if one is not."""
    opened: list[int] = []  # where the brackets stand that are still open
    by_end = False
    for match in _STRUCTURE.finditer(source.text):
        word = match[0]
        if word == "end":
            by_end = True
        elif word in _CLOSER:
            opened.append(match.start())
            if len(opened) > LIMIT:
                too_deep(source.span_at(match.start(), 1))
        elif word in _CLOSER.values():
            if not opened:
                here = source.span_at(match.start(), 1)
                raise ParseError("this bracket closes nothing", here, fix=f"remove {word} or open it before")
            start = opened.pop()
            awaited = _CLOSER[source.text[start]]
            if awaited != word:
                here = source.span_at(match.start(), 1)
                mark = Mark(source.span_at(start, 1), f"{awaited} is still to come")
                message = "this bracket closes another kind of bracket"
                raise ParseError(message, here, marks=(mark,), fix=f"write {awaited} before it, or in its place")
    if opened:
        missing = _CLOSER[source.text[opened[-1]]]
        span = source.span_at(opened[-1], 1)
        raise ParseError("this bracket is never closed", span, fix=f"add the missing {missing}")
    return by_end


def too_deep(span: Span) -> NoReturn:
    """Refuse what later passes could not walk."""
    raise ParseError(
        f"this is nested more than {LIMIT} deep", span, fix="split it; x = … names a part of an expression"
    )


class Layout(PostLex):
    """Between the lexer and the grammar: newlines inside brackets vanish, all others become separators.

    A grammar keeps one layout, and several threads may parse with it: what is known of a text is in its blocks.
    """

    always_accept = ("NEWLINE", "SEMICOLON", "END", "LPAR", "RPAR", *ALTERNATIVES)

    def __init__(self, blocks: type[Blocks]) -> None:
        self.blocks = blocks

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """The tokens of `stream` with separators and block ends put in."""
        blocks = self.blocks()
        separated = True
        last = None
        for token, nested in significant(stream):
            last = token
            if token.type in ("NEWLINE", "SEMICOLON") and not nested:
                blocks.line_ends(token)
                if not separated:
                    yield Token.new_borrow_pos("_SEP", "", token)
                separated = True
            else:
                if token.type in ("END", "_CLOSE", *ALTERNATIVES) and not (nested or separated):
                    yield Token.new_borrow_pos("_SEP", "", token)
                yield from blocks.token(token)
                separated = token.type in ("BEGIN", "_OPEN")
        if last is not None:
            end = Token("_SEP", "", line=last.end_line, column=last.end_column)
            if not separated:
                yield end
            yield from blocks.finish(end)


def significant(stream: Iterator[Token]) -> Iterator[tuple[Token, bool]]:
    """The tokens without the ends of lines that end no statement, each with whether brackets of an expression are
    around it. Parentheses around statements are _OPEN and _CLOSE; between them, a line ends as by `;`.
    """
    groups: list[bool] = []  # of each open bracket, whether it encloses statements
    header = False  # whether this is the header of a loop, whose range begins in the line of its `=`
    last = ""
    for token in stream:
        nested = not all(groups)
        match token.type:
            case "NEWLINE" if nested or (last in _CONTINUED and not (header and last == "ASSIGN")):
                continue
            case "NEWLINE" if groups:
                token = token.update("SEMICOLON")
            case "LPAR" | "LSQB":
                groups.append(token.type == "LPAR" and last in _BEFORE)
                token = token.update("_OPEN") if groups[-1] else token
            case "RPAR" | "RSQB" if groups and groups.pop():
                token = token.update("_CLOSE")
        header = token.type == "FOR" or (header and token.type not in ("NEWLINE", "SEMICOLON"))
        last = token.type
        yield token, nested


class Blocks(ABC):
    """The blocks of one text, as its tokens go by."""

    @abstractmethod
    def line_ends(self, token: Token) -> None:
        """A newline outside of brackets, or a semicolon."""

    @abstractmethod
    def token(self, token: Token) -> Iterator[Token]:
        """The tokens that the grammar sees for an ordinary token."""

    @abstractmethod
    def finish(self, end: Token) -> Iterator[Token]:
        """The tokens that the grammar sees at the end of the text."""


class Ended(Blocks):
    """Blocks closed by `end`; indentation is free."""

    def __init__(self) -> None:
        self.opened: list[Token] = []
        self.otherwise = False
        """whether the line so far ends in `else`"""

    def line_ends(self, token: Token) -> None:
        self.otherwise = False

    def token(self, token: Token) -> Iterator[Token]:
        if token.type == "IF" and self.otherwise:
            raise one_word(token)
        self.otherwise = token.type == "ELSE"
        if token.type in (*HEADERS, "_OPEN"):
            self.opened.append(token)
        elif token.type in ALTERNATIVES:
            if not self.opened or self.opened[-1].type != "IF":
                raise no_if(token)
        elif token.type == "_CLOSE":
            if self.opened[-1].type != "_OPEN":
                raise never_closed(self.opened[-1])
            self.opened.pop()
        elif token.type == "END":
            if not self.opened or self.opened[-1].type == "_OPEN":
                raise LayoutError("this `end` closes nothing", token, "remove it")
            self.opened.pop()
        yield token

    def finish(self, end: Token) -> Iterator[Token]:
        if self.opened:
            raise never_closed(self.opened[-1])
        yield from ()


class Indented(Blocks):
    """Blocks closed by indentation."""

    def __init__(self) -> None:
        self.columns: list[int] = []
        self.headers: list[Token] = []
        """of the blocks that are open"""
        self.header: Token | None = None
        """of a block whose body comes next"""
        self.fresh = True
        self.tab: Token | None = None

    def line_ends(self, token: Token) -> None:
        if token.type == "NEWLINE":
            self.fresh = True
            self.tab = token if "\t" in token else None
        elif self.header is not None:
            raise LayoutError(f"a `{self.header}` on one line must be closed", token, "add `; end` at its end")

    def token(self, token: Token) -> Iterator[Token]:
        if self.fresh:
            yield from self.first_of_line(token)
        elif self.header is not None and self.header.type == "ELSE":
            if token.type == "IF":
                raise one_word(token)
            raise LayoutError("the block of an `else` begins on the next line", token, "move it there, indented")
        self.fresh = False
        if token.type in (*HEADERS, *ALTERNATIVES):
            self.header = token
        yield token

    def first_of_line(self, token: Token) -> Iterator[Token]:
        """Compare the line's indentation with the blocks that are open: END for each one that it leaves."""
        if self.tab is not None:
            raise LayoutError("a tab stands in the indentation", token, "indent by blanks, or close blocks by `end`")
        column = token.column or 1
        if not self.columns:
            self.columns.append(column)
        if self.header is not None:
            if column <= self.columns[-1]:
                fix = "indent its body, or close it by `end`; an empty body is `skip`"
                raise LayoutError(f"this `{self.header}` has no body", self.header, fix)
            self.columns.append(column)
            self.headers.append(self.header)
            self.header = None
        elif column > self.columns[-1]:
            raise LayoutError("this line is indented, but no block begins before it", token, "remove the indentation")
        elif column not in self.columns:
            fix = f"begin it in column {' or '.join(map(str, self.columns))}"
            raise LayoutError("this line's indentation matches no open block", token, fix)
        ended = None
        while column < self.columns[-1]:
            self.columns.pop()
            ended = self.headers.pop()
            if token.type not in ALTERNATIVES or column < self.columns[-1]:
                yield from close(token)
        if token.type in ALTERNATIVES and (ended is None or ended.type not in ("IF", "ELSEIF")):
            raise no_if(token)

    def finish(self, end: Token) -> Iterator[Token]:
        if self.header is not None:
            fix = "indent its body, or close it by `end`; an empty body is `skip`"
            raise LayoutError(f"this `{self.header}` has no body", self.header, fix)
        for _ in self.columns[1:]:
            yield from close(end)


def never_closed(header: Token) -> LayoutError:
    """The mistake of a block without its `end`."""
    fix = "close it by `end`; a program that says `end` once closes every block by it"
    return LayoutError(f"this `{header}` is never closed", header, fix)


def no_if(token: Token) -> LayoutError:
    """The mistake of an `else` that follows no block of an `if`."""
    fix = "write it after the block of an `if`, in the column of the `if` where indentation closes blocks"
    return LayoutError(f"this `{token}` belongs to no `if`", token, fix)


def one_word(token: Token) -> LayoutError:
    """The mistake of an `if` on the line of an `else`."""
    return LayoutError(
        "`else if` begins a second `if`", token, "write `elseif`, or begin the `if` on a line of its own"
    )


def close(token: Token) -> Iterator[Token]:
    """The end of a block, just before `token`."""
    yield Token.new_borrow_pos("END", "end", token)
    yield Token.new_borrow_pos("_SEP", "", token)
