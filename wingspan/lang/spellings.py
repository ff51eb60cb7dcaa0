"""Spellings of Finch.jl that have a normal form: they are read as what they mean, and never printed.

    @finch mode = :fast begin … end     its statements
    let x = e; s; end                   if true; x = e; s; end, without the `if` at the end of a block
    A[walk(i)]                          A[i]
    swizzle(A, 2, 1)[i, j]              A[j, i]
    A[(2:4)(i)] in a loop over _        A[i + 1] in a loop over 1:3
    something(e, nothing, 0)            coalesce(e, 0)

A `let` has variables of its own. Where the program uses their names otherwise, they get others. What has no effect is
noted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from lark import Token, Tree

from wingspan.base.errors import Span
from wingspan.lang import ir
from wingspan.lang.branches import is_integer
from wingspan.lang.definitions import Definitions
from wingspan.lang.mistakes import INSTEAD, PROTOCOLS, VIEWS
from wingspan.lang.reader import Branch, flat

MODES = (":fast", ":safe", ":debug")
"""The checks that Finch.jl makes as it compiles and runs a program."""


class Spellings(Definitions):
    """Reads what the printer writes in another way."""

    @abstractmethod
    def statement(self, tree: Branch) -> ir.Statement:
        """A statement."""

    @abstractmethod
    def subscript(self, tree: Branch) -> ir.Expression:
        """A subscript, which may leave its axis."""

    @abstractmethod
    def coalesce(self, tree: Branch) -> ir.Expression:
        """The first value that is not missing."""

    names_outside: frozenset[str] = frozenset()
    """the names that occur where no `let` binds them"""

    # ------------------------------------------------------------------------------------------------ statements

    def expand_groups(self, trees: Iterable[Branch]) -> list[Branch]:
        """Statements, with those that `begin`, parentheses and `@finch` enclose in place of the enclosing ones."""
        found: list[Branch] = []
        waiting = [*trees][::-1]
        while waiting:
            tree = waiting.pop()
            if tree.data not in ("group", "macro"):
                found.append(tree)
                continue
            for each in tree.children:
                if isinstance(each, Token) and each.type == "OPTION":
                    with self.mistakes.collecting():
                        self.option(each)
            waiting += [each for each in reversed(tree.children) if isinstance(each, Tree)]
        return found

    def option(self, token: Token) -> None:
        """`mode = :fast`, `algebra = MyAlgebra()` or `MyAlgebra()` alone, which have no effect."""
        name, _, value = map(str.strip, token.partition("="))
        if name != "mode":
            self.note("`algebra` has no effect: what holds of a function is declared with it", token)
        elif value not in MODES:
            self.fail(f"there is no mode {value}", token, "mode = :fast, :safe or :debug; it has no effect")
        else:
            self.note("`mode` has no effect: all programs are checked alike", token)

    def local_block(self, tree: Branch) -> ir.Block:
        """The statements of a `let`, the first of which bind its variables."""
        header = self.token(tree.children[0])
        parts = [c for c in tree.children if isinstance(c, Tree)]
        before = dict(self.renamed)
        made: list[ir.Statement] = []
        try:
            with self.deeper(header):
                for each in (part for part in parts if part.data == "definition"):
                    made.append(self.local_variable(each))
                made += self.block_of(part for part in parts if part.data != "definition")
        finally:
            self.renamed = before
        return ir.Block(tuple(made))

    def block_of(self, trees: Iterable[Branch]) -> tuple[ir.Statement, ...]:
        """The statements of a block. A `let` at its end needs no scope of its own."""
        *before, last = (*self.expand_groups(trees),) or (None,)
        made = [self.statement(tree) for tree in before if tree is not None]
        if last is not None and last.data == "let":
            with self.mistakes.collecting():
                made.append(self.local_block(last))
        elif last is not None:
            made.append(self.statement(last))
        return flat(made)

    def local_variable(self, tree: Branch) -> ir.Set:
        """`x = e` after `let`: e is evaluated before x is bound."""
        word, sign, e = tree.children
        token = self.token(word)
        name = self.name(token)
        if sign != "=":
            self.fail("`let` binds variables by `=`", self.token(sign), f"let {name} = …")
        value = self.expression(self.tree(e))
        taken = {*self.names_outside, *self.loops, *self.renamed.values()}
        self.renamed[name] = next(n for n in self.unused_names(name) if n not in taken)
        return ir.Set(self.renamed[name], value, span=self.span(tree))

    def unused_names(self, word: str) -> Iterator[str]:
        """The word itself, then others like it that the text does not have."""
        yield word
        yield from (name for k in count(2) if (name := f"{word}{k}") not in self.source.text)

    # ------------------------------------------------------------------------------------------------ expressions

    def protocol(self, tree: Branch) -> ir.Expression | None:
        """`walk(i)` as a subscript: i; None if this is something else."""
        word, *given = tree.children
        if tree.data != "applied" or word not in PROTOCOLS or word in self.functions:
            return None
        if len(given) != 1:
            self.fail(f"{word} takes one subscript", tree, f"A[{word}(i)]")
        self.note(f"`{word}` has no effect: formats and expressions decide how levels are stepped through", tree)
        return self.subscript(self.tree(given[0]))

    def conversion(self, tree: Branch) -> ir.Expression:
        """`Int(e)`, where e is an integer as it stands."""
        e = self.expression(self.tree(tree.children[1]))
        if not is_integer(e):
            message, fix = INSTEAD["Int"]
            self.fail(message, tree, fix)
        self.note("`Int` has no effect: this is an integer", tree)
        return e

    def something(self, tree: Branch) -> ir.Expression:
        """`something(a, nothing, b)`, the first that is not `nothing`: `coalesce(a, b)`."""
        first, *given = tree.children
        values = [e for e in map(self.tree, given) if e.data != "name" or e.children[0] != "nothing"]
        if len(values) < 2:
            message, fix = INSTEAD["something"]
            self.fail(message, self.token(first), fix)
        return self.coalesce(Tree("coalesce", list(values), tree.meta))

    def window(self, tree: Branch) -> ir.Expression:
        """`A[(2:4)(i)]` in a loop over `_`, which is one over 1:3 then: `A[i + 1]`."""
        start, stop, i = (self.expression(self.tree(e)) for e in tree.children)
        match start, stop, i:
            case ir.Literal(int(a)), ir.Literal(int(b)), ir.Index(name) if 1 <= a <= b + 1 and name in self.whole:
                length = b - a + 1
                if self.windows.setdefault(name, length) != length:
                    fix = "give each window as many indices"
                    self.fail(f"{name} runs through a window of {self.windows[name]} and of {length}", tree, fix)
                return shift(i, a - 1, self.span(tree))
        self.fail(
            "a window has two numbers, and an index over `_`", tree, "A[(2:4)(i)], or A[i + 1] in a loop over 1:3"
        )

    def view(self, tree: Branch) -> ir.Access:
        """A view of a tensor before its subscripts:

        `swizzle(A, 2, 1)[i, j]`, A[j, i]: axis k of the view is the axis of A that the k-th number names;
        `permissive(A, true)[i]`, A[~i]; `offset(A, 1)[i]`, A[i + 1].
        """
        word, *arguments, group = tree.children
        view = str(word)
        if view not in VIEWS:
            self.fail("an access is of a tensor by its name", tree, f"A[i, j], or {VIEWS['swizzle']}")
        name, *axes = map(self.tree, arguments)
        wanted = {"swizzle": "number", "permissive": "boolean"}.get(view)
        if name.data != "name" or any(wanted and axis.data != wanted for axis in axes):
            what = {"swizzle": "the numbers of its axes", "permissive": "true or false for each axis"}
            self.fail(f"{view} takes a tensor and {what.get(view, 'a shift for each axis')}", tree, VIEWS[view])
        numbers = [str(self.token(axis.children[0])) for axis in axes] if wanted else []
        if view == "swizzle" and sorted(numbers) != sorted(str(k) for k in range(1, len(axes) + 1)):
            self.fail("swizzle names each axis of the tensor once", tree, VIEWS[view])
        subscripts = [self.subscript(self.tree(e)) for e in self.tree(group).children if e is not None]
        if len(subscripts) != len(axes):
            fix = f"write one subscript for each axis: {VIEWS[view]}"
            self.fail(f"this view has {len(axes)} axes, and here {len(subscripts)} subscripts", self.tree(group), fix)
        match view:
            case "swizzle":
                placed = dict(zip(map(int, numbers), subscripts, strict=True))
                subscripts = [placed[k] for k in sorted(placed)]
            case "permissive":
                subscripts = [
                    ir.Permissive(e, span=e.span) if leaves == "true" and not isinstance(e, ir.Permissive) else e
                    for e, leaves in zip(subscripts, numbers, strict=True)
                ]
            case "offset":
                shifts = map(self.expression, axes)
                subscripts = [shift(e, by, e.span) for e, by in zip(subscripts, shifts, strict=True)]
        tensor = self.token(name.children[0])
        root = ir.Fiber(self.bindable(tensor), len(axes) + 1, span=self.span(tensor))
        return ir.Access(root, tuple(subscripts), span=self.span(tree))


def shift(e: ir.Expression, by: int | ir.Expression, span: Span | None) -> ir.Expression:
    """A subscript and what it is shifted by: `i + 1`, `~(i - 1)`, `i`."""
    if isinstance(e, ir.Permissive):
        return replace(e, subscript=shift(e.subscript, by, span))
    if isinstance(by, ir.Literal) and isinstance(by.value, int):
        by = by.value
    if isinstance(by, int):
        return ir.Call("-" if by < 0 else "+", (e, ir.Literal(abs(by), span=span)), span=span) if by else e
    return ir.Call("+", (e, by), span=span)


def find_names_outside(trees: Iterable[Branch]) -> frozenset[str]:
    """The names that occur where no `let` binds them."""
    found: set[str] = set()
    waiting: list[tuple[Any, frozenset[str]]] = [(tree, frozenset()) for tree in trees]
    while waiting:
        node, bound = waiting.pop()
        if isinstance(node, Token) and node.type == "NAME" and node not in bound:
            found.add(str(node))
        elif isinstance(node, Tree):
            for each in node.children:
                if node.data == "let" and isinstance(each, Tree) and each.data == "definition":
                    name, _, value = each.children
                    waiting.append((value, bound))
                    bound |= {str(name)}
                else:
                    waiting.append((each, bound))
    return frozenset(found)
