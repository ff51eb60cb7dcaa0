"""Helpers for reading any part of the parse tree: places, names, numbers, and the limit of nesting."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from lark import Token, Tree

from wingspan.base.errors import Mark, Mistakes, ParseError, Source, Span
from wingspan.lang import ir
from wingspan.lang.data import pair
from wingspan.lang.layout import LIMIT, too_deep

Branch = Tree[Token]


class Reader(ABC):
    """Reads the parse tree of one program. What the parts of the grammar have in common is here."""

    def __init__(self, source: Source, functions: Sequence[ir.Function] = ()) -> None:
        self.source, self.given = source, functions
        self.loops: dict[str, Span] = {}  # the indices of the enclosing loops, and where they are bound
        self.whole: set[str] = set()  # those of loops over `_`
        self.windows: dict[str, int] = {}  # those of them that run through a window, and its length
        self.renamed: dict[str, str] = {}  # the variables of the enclosing `let`s, and what they are called
        self.notes: list[Mark] = []
        self.blocks = 0
        self.depth = 0
        self.conditions = 0  # how many have been given a name
        self.functions = {f.name: f for f in functions}  # and those declared so far
        self.mistakes = Mistakes()

    # ---------------------------------------------------------------------------------------------------- places

    def span(self, at: Branch | Token) -> Span:
        """The span of a tree or a token."""
        meta: Any = at.meta if isinstance(at, Tree) else at
        return Span(self.source, meta.line, meta.column, meta.end_line, meta.end_column)

    def fail(self, message: str, at: Branch | Token, fix: str | None = None, marks: tuple[Mark, ...] = ()) -> NoReturn:
        raise ParseError(message, self.span(at), fix=fix, marks=marks)

    def note(self, text: str, at: Branch | Token) -> None:
        """Note what is not wrong, but has no effect: once for all places where the same can be said."""
        if all(text != note.text for note in self.notes):
            self.notes.append(Mark(self.span(at), text))

    @contextmanager
    def deeper(self, at: Branch | Token) -> Iterator[None]:
        """One level further down, where a limit waits."""
        if self.depth == LIMIT:
            too_deep(self.span(at))
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    @abstractmethod
    def expression(self, tree: Branch) -> ir.Expression:
        """An expression, wherever it stands."""

    # --------------------------------------------------------------------------------------------------- numbers

    def negative(self, tree: Branch) -> bool:
        """Whether this is a minus sign directly on a number."""
        sign, operand = tree.children
        return sign == "-" and self.tree(operand).data == "number"

    def literal(self, tree: Branch) -> ir.Literal:
        span = self.span(tree)
        if tree.data == "pair":
            x, i = (self.literal(self.tree(e)) for e in tree.children)
            return pair(x, i, span)
        if tree.data == "unary":
            return ir.Literal(self.number("-" + self.token(self.tree(tree.children[1]).children[0]), span), span=span)
        word = self.token(tree.children[0])
        return ir.Literal(word == "true" if tree.data == "boolean" else self.number(word, span), span=span)

    def number(self, text: str, span: Span) -> int | float:
        """The value of a number as written; it must fit a 64-bit integer or a double."""
        if text.lstrip("-").isdigit():
            if len(text.lstrip("-0")) <= 19 and -(2**63) <= int(text) < 2**63:
                return int(text)
            raise ParseError(
                "this integer does not fit 64 bits", span, fix="write it as a double, 1e30, or choose a smaller one"
            )
        value = float(text)
        if math.isinf(value) and "Inf" not in text:
            raise ParseError("this number is larger than every double", span, fix="the largest is about 1.8e308")
        return value

    # -------------------------------------------------------------------------------------------------- names

    def variable(self, tree: Branch) -> ir.Variable:
        return ir.Variable(self.name(self.token(tree.children[0])), span=self.span(tree))

    def name(self, token: Any) -> str:
        """A name, of letters, digits and `_`."""
        text = str(token)
        if not text.isidentifier():
            self.fail(f"{text} is not a name", token, "names are made of letters, digits and `_`")
        return text

    def bindable(self, token: Token) -> str:
        """A name that is not the index of an enclosing loop."""
        name = self.name(token)
        if name in self.loops:
            marks = (Mark(self.loops[name], "bound here"),)
            self.fail(
                f"{name} is the index of an enclosing loop", token, "an index is only read; choose another name", marks
            )
        return name

    @staticmethod
    def tree(child: Any) -> Branch:
        assert isinstance(child, Tree)
        return child

    @staticmethod
    def token(child: Any) -> Token:
        assert isinstance(child, Token)
        return child


def flat(statements: Iterable[ir.Statement]) -> tuple[ir.Statement, ...]:
    """The statements of a block, those of blocks inside of it among them."""
    return tuple(s for each in statements for s in (each.statements if isinstance(each, ir.Block) else (each,)))


def ends_block(child: Any) -> bool:
    """Whether this is the word that closes a block."""
    return isinstance(child, Token) and child.type == "END"
