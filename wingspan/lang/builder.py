"""From the grammar's parse tree to `ir`, with what a grammar cannot check.

A name bound by an enclosing `for` is an index, any other a variable; definitions stand at the top level and
`return` last; numbers fit 64 bits; nothing nests deeper than `layout.LIMIT`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import reduce
from typing import Any

from lark import Token, Tree

from wingspan.base.errors import Mark, ParseError, Span
from wingspan.lang import branches, functions, ir
from wingspan.lang.data import pair
from wingspan.lang.definitions import DEFINITIONS
from wingspan.lang.ir import accesses
from wingspan.lang.keywords import KEYWORDS
from wingspan.lang.kinds import KINDS
from wingspan.lang.layout import ALTERNATIVES, LIMIT, too_deep
from wingspan.lang.masks import MASKS
from wingspan.lang.mistakes import NAMED
from wingspan.lang.operators import PAIRING, PARTS, REDUCTIONS, WORDS
from wingspan.lang.printer import show
from wingspan.lang.reader import Branch, ends_block, flat
from wingspan.lang.spellings import Spellings, find_names_outside

_REDUCTION = {"&": "&&", "|": "||", "": "=", ":": "="}
"""The operators that an update spells differently before its = (for example, &= for &&)."""


class Builder(Spellings):
    """Builds the tree of one program: its statements and expressions."""

    # ------------------------------------------------------------------------------------------------ statements

    def program(self, tree: Branch) -> ir.Program:
        """The program; ParseError with the mistakes of all statements."""
        statements: list[Any] = self.expand_groups(map(self.tree, tree.children))
        self.names_outside = find_names_outside(statements)
        returns: tuple[str, ...] = ()
        span = None
        if statements and statements[-1].data == "return":
            last = statements.pop()
            span = self.span(last)
            with self.mistakes.collecting():
                returns = tuple(map(self.name, last.children))
        before = [ir.Define(f.name, f, span=f.span) for f in self.given]
        body = ir.Block((*before, *flat(map(self.statement, statements))))
        self.mistakes.raise_all()
        return ir.Program(body, returns, tuple(self.notes), span=span)

    def statement(self, tree: Branch) -> ir.Statement:
        """A statement; `skip` if it is mistaken."""
        with self.mistakes.collecting():
            return self.well_formed(tree)
        return ir.SKIP

    def well_formed(self, tree: Branch) -> ir.Statement:
        """A statement; ParseError if it is mistaken."""
        span = self.span(tree)
        first: Any = tree.children[0] if tree.children else None
        match tree.data:
            case "assign":
                return self.assign(tree)
            case "declare":
                init: Any = tree.children[1]
                return ir.Declare(self.bindable(first), self.expression(init), span=span)
            case "freeze":
                return ir.Freeze(self.bindable(first), span=span)
            case "thaw":
                return ir.Thaw(self.bindable(first), span=span)
            case "assert":
                return ir.Assert(self.expression(self.tree(first)), span=span)
            case "skip":
                return ir.Skip(span=span)
            case "function":
                return self.function(tree)
            case "for":
                return self.loop(tree)
            case "if":
                return self.branch(tree)
            case "let":
                return self.let(tree)
        self.fail(
            "`return` must be the last statement of the program", tree, "move it to the end, outside of every block"
        )

    def assign(self, tree: Branch) -> ir.Statement:
        target, sign, value = tree.children
        assert isinstance(target, Tree) and isinstance(sign, Token) and isinstance(value, Tree)
        word = sign[:-1]
        op = self.reduction(word[2:-2].strip(" \t") if word[:2] == "<<" else _REDUCTION.get(word, word), sign)
        defines = value.data in DEFINITIONS
        if target.data != "name":
            if defines:
                fix = "give it a name of its own: name = …"
                self.fail("an element of a tensor cannot be a device, a schedule or a tensor", value, fix)
            updated = self.access(target) if target.data == "access" else self.view(target)
            return ir.Assign(updated, op, self.expression(value), span=self.span(tree))
        token: Any = target.children[0]
        name = self.renamed.get(token) or self.bindable(token)
        if op != "=" or sign == ":=":
            called = f"{op}({name}, e)" if op in WORDS or isinstance(op, ir.Function) else f"{name} {op} e"
            fix = f"write {name} = {'e' if op == '=' else called}, or {name}[] {sign} e if {name} is a tensor"
            if op in PAIRING:
                fix = f"write {name}[] {sign} e, where {name} is a tensor of pairs"
            self.fail(f"`{sign}` updates an element of a tensor, and {name} is a bare name", sign, fix)
        if not defines:
            return ir.Set(name, self.expression(value), span=self.span(tree))
        if self.blocks:
            self.fail("a definition stands at the top level only", tree, "move it before the outermost block")
        return ir.Define(name, self.definition(value), span=self.span(tree))

    def reduction(self, word: str, sign: Token) -> ir.Operator:
        """The operator in `⊕=` or `<<⊕>>=`."""
        op = WORDS[word].symbol if word in WORDS else word
        if op in REDUCTIONS:
            return op
        if found := re.fullmatch(r"choose\((.*)\)", word):
            return self.chooser(found[1].strip(), sign)
        if op in KEYWORDS:
            self.fail("this is no reduction", sign, NAMED)
        if op == "overwrite" and op not in self.functions:
            return "="
        known = self.declared_function(op, sign, 2)
        if len(known.parameters) != 2:
            fix = f"declare a function of two: what the element holds, and what {op} combines it with"
            self.fail(f"an update is by a function of two parameters, and {op} has {len(known.parameters)}", sign, fix)
        return known

    def loop(self, tree: Branch) -> ir.Statement:
        """A loop; with several indices, a nest of loops."""
        header = self.token(tree.children[0])
        parts = [c for c in tree.children if isinstance(c, Tree)]
        bindings = [part for part in parts if part.data == "binding"]
        heads: list[tuple[str, ir.Whole | ir.Range | ir.Parallel, Span]] = []
        with ExitStack() as nest:
            for number, binding in enumerate(bindings):
                if number:
                    nest.enter_context(self.deeper(binding))
                word, sign = map(self.token, binding.children[:2])
                domain = self.tree(binding.children[2])
                if sign not in ("=", "in", "∈"):
                    self.fail("a loop binds its index by `=` or `in`", sign, "for i = 1:n")
                made = self.range(domain)
                name = nest.enter_context(self.index(word, made))
                begin = self.span(word if number else header)
                heads.append((name, made, begin.up_to(self.span(domain))))
            inside = self.body(parts[len(bindings) :], header)
        for name, whole, span in reversed(heads):
            made = self.restrict_to_window(name, whole)
            inside = ir.For(name, made, inside, span=span)
        return inside

    def restrict_to_window(
        self, name: str, domain: ir.Whole | ir.Range | ir.Parallel
    ) -> ir.Whole | ir.Range | ir.Parallel:
        """The domain of a loop that has been read: the range 1:n if its index runs through a window of n indices."""
        if name not in self.windows:
            return domain
        here = domain.range.span if isinstance(domain, ir.Parallel) else domain.span
        made = ir.Range(ir.Literal(1, span=here), ir.Literal(self.windows.pop(name), span=here), span=here)
        return replace(domain, range=made) if isinstance(domain, ir.Parallel) else made

    @contextmanager
    def index(self, word: Token, domain: ir.RangeLike) -> Iterator[str]:
        """The name of a loop's index, which is bound within."""
        name = self.name(word)
        if name in self.loops:
            marks = (Mark(self.loops[name], "the outer loop"),)
            self.fail(f"{name} is already the index of an enclosing loop", word, "choose another name", marks)
        hidden = self.renamed.pop(name, None)
        self.loops[name] = self.span(word)
        if isinstance(domain.range if isinstance(domain, ir.Parallel) else domain, ir.Whole):
            self.whole.add(name)
        try:
            yield name
        finally:
            del self.loops[name]
            self.whole.discard(name)
            if hidden is not None:
                self.renamed[name] = hidden

    def let(self, tree: Branch) -> ir.If:
        """A `let` among other statements, whose variables are no others'."""
        self.blocks += 1
        try:
            made = self.local_block(tree)
        finally:
            self.blocks -= 1
        return ir.If(ir.Literal(True), ir.seq(*made.statements), span=self.span(tree))

    def branch(self, tree: Branch) -> ir.Statement:
        """An `if`, with its alternatives written out as `branches` says."""
        parts: list[list[Any]] = []
        for child in tree.children:
            if isinstance(child, Token) and child.type in ("IF", *ALTERNATIVES):
                parts.append([child])
            elif child is not None and not ends_block(child):
                parts[-1].append(child)
        if self.depth + len(parts) - 1 > LIMIT:
            too_deep(self.span(parts[-1][0]))
        made: list[ir.If] = []
        for header, *rest in parts:
            if header.type == "ELSE":
                return branches.written_out(made, self.body(rest, header), self.blocks == 0, self.fresh)
            condition, *body = rest
            span = self.span(header).up_to(self.span(condition))
            made.append(ir.If(self.expression(condition), self.body(body, header), span=span))
        return branches.written_out(made, ir.SKIP, self.blocks == 0, self.fresh)

    def fresh(self) -> str:
        """A name for a condition that occurs nowhere in the text."""
        while True:
            self.conditions += 1
            name = f"condition{self.conditions}"
            if name not in self.source.text:
                return name

    def unused_name(self, word: str) -> str:
        """A name that the text does not have, for advice."""
        return next(name for name in self.unused_names(word) if not re.search(rf"\b{name}\b", self.source.text))

    def body(self, trees: list[Any], header: Token) -> ir.Statement:
        """A block's statements: none are `skip`, one stands for itself."""
        with self.deeper(header):
            self.blocks += 1
            made = self.block_of(trees)
            self.blocks -= 1
        if not made:
            return ir.SKIP
        return made[0] if len(made) == 1 else ir.Block(made)

    # --------------------------------------------------------------------------------------------------- ranges

    def range(self, tree: Branch) -> ir.Whole | ir.Range | ir.Parallel:
        if tree.data != "parallel":
            return self.extent(tree)
        inner, device, schedule = (*tree.children, None, None)[:3]
        return ir.Parallel(
            self.extent(self.tree(inner)),
            ir.DEFAULT_DEVICE if device is None else self.device(self.tree(device)),
            ir.DEFAULT_SCHEDULE if schedule is None else self.schedule(self.tree(schedule)),
            span=self.span(tree),
        )

    def extent(self, tree: Branch) -> ir.Whole | ir.Range:
        if tree.data == "whole":
            return ir.Whole(span=self.span(tree))
        start, stop = self.ends(self.tree(tree.children[0])) if tree.data == "ends" else tree.children
        return ir.Range(self.expression(self.tree(start)), self.expression(self.tree(stop)), span=self.span(tree))

    def ends(self, tree: Branch) -> tuple[Branch, Branch]:
        """The ends of `extent(a, b)`."""
        if tree.data != "applied" or tree.children[0] != "extent" or "extent" in self.functions:
            self.fail("a range has two ends", tree, "1:n, or _ for the whole axis")
        if len(tree.children) != 3:
            self.fail("extent takes the two ends of a range", tree, "extent(1, n), or 1:n")
        return self.tree(tree.children[1]), self.tree(tree.children[2])

    # ---------------------------------------------------------------------------------------------- expressions

    def expression(self, tree: Branch) -> ir.Expression:
        while tree.data == "paren":
            tree = self.tree(tree.children[0])
        with self.deeper(tree):
            return self.operation(tree)

    def operation(self, tree: Branch) -> ir.Expression:
        match tree.data:
            case "name":
                token = self.token(tree.children[0])
                if token in self.renamed:
                    return ir.Variable(self.renamed[token], span=self.span(tree))
                kind = ir.Index if token in self.loops else ir.Variable
                return kind(self.name(token), span=self.span(tree))
            case "access":
                return self.access(tree)
            case "view":
                return self.view(tree)
            case "number" | "boolean":
                return self.literal(tree)
            case "pair":
                return self.pair(tree)
            case "unary" if self.negative(tree):
                return self.literal(tree)
            case "unary":
                sign, operand = tree.children
                return ir.Call(str(sign), (self.expression(self.tree(operand)),), span=self.span(tree))
            case "call":
                return self.call(tree)
            case "applied" | "chosen":
                return self.function_call(tree)
            case "missing":
                return ir.Missing(span=self.span(tree))
            case "ismissing":
                return ir.IsMissing(self.expression(self.tree(tree.children[0])), span=self.span(tree))
            case "coalesce":
                return self.coalesce(tree)
            case "window":
                self.fail("a window is a whole subscript", tree, "A[(2:4)(i)], or A[i + 1] in a loop over 1:3")
            case "mask":
                return self.mask(tree)
            case "choice":
                return self.choice(tree)
            case "compare":
                return self.comparison(tree)
        left, sign, right = tree.children
        pair = (self.expression(self.tree(left)), self.expression(self.tree(right)))
        return ir.Call(str(sign), pair, span=self.span(tree))

    def comparison(self, tree: Branch) -> ir.Expression:
        """A comparison; `a < b < c` is `a < b && b < c`."""
        left, sign, right = tree.children
        first, second = self.tree(left), self.tree(right)
        if first.data != "compare":
            pair = (self.expression(first), self.expression(second))
            return ir.Call(str(sign), pair, span=self.span(tree))
        before, middle = self.comparison(first), self.tree(first.children[2])
        if any(map(is_chained, middle.iter_subtrees())):  # it would double with each chain around it
            self.fail("a chain of comparisons stands inside of another one", middle, "bind it before: x = …")
        last = (self.expression(middle), self.expression(second))
        after = ir.Call(str(sign), last, span=self.span(middle).up_to(self.span(tree)))
        return ir.Call("&&", (before, after), span=self.span(tree))

    def choice(self, tree: Branch) -> ir.Choice:
        if len(tree.children) != 3:
            self.fail("ifelse takes a condition and two values", tree, "ifelse(c, a, b)")
        condition, then, otherwise = (self.expression(self.tree(e)) for e in tree.children)
        for e in (then, otherwise):
            self.no_search(e, "ifelse evaluates only the value that it takes")
        return ir.Choice(condition, then, otherwise, span=self.span(tree))

    def call(self, tree: Branch) -> ir.Call:
        word, *given = tree.children
        op = WORDS[str(word)]
        if len(given) not in op.operands:
            self.fail(f"{word} takes {op.arguments}", tree, op.example)
        arguments = tuple(self.expression(self.tree(g)) for g in given)
        return ir.Call(op.symbol, arguments, span=self.span(tree))

    def pair(self, tree: Branch) -> ir.Expression:
        """(x, i), which is a literal if both are, of the kinds that they should be."""
        x, i = (self.expression(self.tree(e)) for e in tree.children)
        if isinstance(x, ir.Literal) and isinstance(i, ir.Literal) and KINDS[x.kind].is_number and i.kind == "int":
            return pair(x, i, self.span(tree))
        return ir.Call("pair", (x, i), span=self.span(tree))

    def function_call(self, tree: Branch) -> ir.Expression:
        """The call of a declared function, of first or second, or of choose(z)."""
        first, *given = tree.children
        if first == "something" and first not in self.functions:
            return self.something(tree)
        if first == "Int" and len(given) == 1 and "Int" not in self.functions:
            return self.conversion(tree)
        if isinstance(first, Token) and first in PARTS:
            if len(given) != 1:
                self.fail(f"{first} takes one pair", tree, f"{first}(p[])")
            return ir.Call(str(first), (self.expression(self.tree(given[0])),), span=self.span(tree))
        if isinstance(first, Token):
            op = self.declared_function(str(first), first, len(given))
        else:
            z = self.literal(first)
            if z.kind == "pair":
                self.fail("choose(z) takes one number or boolean", first, "choose(0)(a, b)")
            op = functions.choose(z)
        if len(given) != len(op.parameters):
            self.fail(functions.misfit(op, len(given)), tree, f"{op}({', '.join(op.parameters)})")
        return ir.Call(op, tuple(self.expression(self.tree(g)) for g in given), span=self.span(tree))

    def mask(self, tree: Branch) -> ir.Expression:
        name, *groups = tree.children
        mask = MASKS[str(name)]
        arguments, subscripts = ([g for g in self.tree(group).children if g is not None] for group in groups)
        if (len(arguments), len(subscripts)) != (len(mask.arguments), len(mask.subscripts)):
            self.fail(f"this is not how {name} is used", tree, f"{mask.text(str(name))}")
        given = tuple(self.expression(self.tree(g)) for g in (*arguments, *subscripts))
        return mask.expand(given, self.span(tree))

    def coalesce(self, tree: Branch) -> ir.Expression:
        """coalesce(a, b, c) is coalesce(a, coalesce(b, c)), and coalesce(a) is a."""
        values = [self.expression(self.tree(e)) for e in tree.children]
        values[:-1] = map(self.permit_leaving, values[:-1])
        for e in values[1:]:
            self.no_search(e, "coalesce evaluates this only where what stands before it is missing")
        for e in values[:-1]:
            if not isinstance(e, ir.Access):  # an access with ~ finds nothing where it is missing
                self.no_search(e, "coalesce evaluates this only where it is not missing", open=True)
        span = self.span(tree)
        return reduce(lambda rest, e: ir.Coalesce(e, rest, span=span), reversed(values))

    def permit_leaving(self, e: ir.Expression) -> ir.Expression:
        """An access with ~ before its subscripts, if it has none: nothing else of it could be missing. An index whose
        loop is over `_`, and so over the axis, stays bare.
        """
        if not isinstance(e, ir.Access) or permissive(e):
            return e

        def open_(s: ir.Expression) -> ir.Expression:
            return s if isinstance(s, ir.Index) and s.name in self.whole else ir.Permissive(s, span=s.span)

        return replace(e, subscripts=tuple(map(open_, e.subscripts)))

    def no_search(self, e: ir.Expression, why: str, open: bool = False) -> None:
        """ParseError if an expression that may not be evaluated has a subscript that may fail, with ~ unless `open`."""
        for inner, _ in accesses(e):
            for subscript in inner.subscripts:
                if not (plain(subscript) or (open and isinstance(subscript, ir.Permissive))):
                    settled = f"coalesce({show(inner)}, 0)" if permissive(inner) else show(inner)
                    fix = f"bind it before: {self.unused_name('x')} = {settled}"
                    raise ParseError(f"{why}, so it cannot search here", subscript.span, fix=fix)

    def subscript(self, tree: Branch) -> ir.Expression:
        first = tree
        while first.data in ("binary", "compare"):
            first = self.tree(first.children[0])
        if first.data != "unary" or first.children[0] != "~":
            inner = self.window(tree) if tree.data == "window" else self.protocol(tree)
            return self.expression(tree) if inner is None else inner
        if first is not tree:
            self.fail("~ takes the whole subscript", first, "write it in parentheses: ~(i + 1)")
        return ir.Permissive(self.expression(self.tree(tree.children[1])), span=self.span(tree))

    def access(self, tree: Branch) -> ir.Access:
        word, *given = tree.children
        name = self.bindable(self.token(word))
        subscripts = tuple(self.subscript(self.tree(g)) for g in given if g is not None)
        root = ir.Fiber(name, len(subscripts) + 1, span=self.span(self.token(word)))
        return ir.Access(root, subscripts, span=self.span(tree))


def is_chained(tree: Branch) -> bool:
    """Whether this is a comparison with a comparison."""
    first = tree.children[0] if tree.data == "compare" else None
    return isinstance(first, Tree) and first.data == "compare"


def permissive(access: ir.Access) -> list[ir.Permissive]:
    """The subscripts that may leave their axes."""
    return [e for e in access.subscripts if isinstance(e, ir.Permissive)]


def plain(e: ir.Expression) -> bool:
    """Whether a subscript is made of names and numbers by operators that never fail, overflow apart."""
    match e:
        case ir.Call(op="+" | "-" | "*" | "min" | "max", args=args):
            return all(map(plain, args))
        case ir.Call(op="÷" | "%", args=(x, ir.Literal(value=int(by)))):
            return by > 0 and plain(x)
        case ir.Permissive(subscript=inner):
            return plain(inner)
    return isinstance(e, ir.Literal | ir.Variable | ir.Index)
