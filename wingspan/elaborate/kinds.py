"""The kinds of values, as far as they are known before a program runs: mistakes found early, and booleans as numbers.

Pairs have a kind of their own: only `minby`, `maxby` and `=` take them, and `first` and `second` take them apart.

A boolean where a number is needed counts as 1 or 0, as in Finch.jl: `A[i] * (i > j)` is `A[i] * ifelse(i > j, 1, 0)`.
That is ours, not the paper's: its `call` takes what an operator is defined for. Where two kinds are possible, as of a
variable that is given both, nothing is changed, and the rules decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from wingspan.base.errors import Fault, Mistakes, ProgramError
from wingspan.lang import algebra, ir
from wingspan.lang.kinds import KINDS
from wingspan.lang.operators import BITS, EQUALITIES, LOGIC, OPERATORS, PAIRING, PARTS, WRAPPING
from wingspan.lang.printer import show
from wingspan.levels import usual

Kinds = frozenset[str]
"""The kinds that a value may have: some of `int`, `float` and `bool`, or `pair` alone."""

NONE: Kinds = frozenset()
ANY: Kinds = frozenset({"int", "float", "bool"})
PAIR: Kinds = frozenset({"pair"})
INT: Kinds = frozenset({"int"})
BOOL: Kinds = frozenset({"bool"})
FLOAT: Kinds = frozenset({"float"})
NUMBERS: Kinds = frozenset({"int", "float"})


class HasKind(Protocol):
    """An object with elements of one kind."""

    @property
    def kind(self) -> str:
        """int, float, bool or pair."""


def kinds_of(e: ir.Expression, tensors: Mapping[str, HasKind]) -> Kinds:
    """The kinds that the value of an expression over tensors may have, with booleans as numbers where it needs them."""
    walk = _KindInference(tensors, {})
    return walk.infer(walk.expression(e))


def settle_kinds(
    body: ir.Statement, towers: Mapping[str, HasKind], mistakes: Mistakes
) -> tuple[ir.Statement, dict[str, Kinds]]:
    """The program with its booleans as numbers where numbers are needed; a mistake where no value can be of use. And
    the kinds that functions are called with, by name.
    """
    kinds = {s.name: NONE for s in body.walk() if isinstance(s, ir.Set)}
    while True:
        walk = _KindInference(towers, kinds)
        walk.statement(body)
        if walk.given == kinds:
            walk = _KindInference(towers, kinds, mistakes)
            return walk.statement(body), walk.calls
        kinds = walk.given


def specialize(
    f: ir.Function,
    kinds: tuple[Kinds, ...],
    mistakes: Mistakes | None = None,
    calls: dict[str, Kinds] | None = None,
) -> ir.Function:
    """A function for arguments of these kinds: with booleans as numbers where it needs numbers. `calls` gets the kinds
    of the functions that it calls.
    """
    inner = _KindInference({}, dict(zip(f.parameters, kinds, strict=True)), mistakes, calls)
    return replace(f, body=algebra.simplify_expression(inner.expression(f.body), typed=True))


def given_by(f: ir.Function, kinds: tuple[Kinds, ...]) -> Kinds:
    """The kinds that a function may give for arguments of these kinds."""
    return _KindInference({}, dict(zip(f.parameters, kinds, strict=True))).infer(f.body)


class _KindInference:
    """A walk over the program. `kinds` are those of its variables, all that bear a name together."""

    def __init__(
        self,
        towers: Mapping[str, HasKind],
        kinds: Mapping[str, Kinds],
        mistakes: Mistakes | None = None,
        calls: dict[str, Kinds] | None = None,
    ) -> None:
        self.towers, self.kinds, self.mistakes = towers, kinds, mistakes
        self.given = dict(kinds)
        self.calls: dict[str, Kinds] = {} if calls is None else calls
        self._known: dict[int, tuple[ir.Expression, Kinds]] = {}
        """the kinds of expressions, by their ids: operators ask for those of all that is inside of them"""

    def statement(self, s: ir.Statement) -> ir.Statement:
        match s:
            case ir.Block(statements=statements):
                return ir.Block(tuple(map(self.statement, statements)), span=s.span)
            case ir.For(range=r, body=body):
                return replace(s, range=self.range(r), body=self.statement(body))
            case ir.If(condition=e, body=body):
                return replace(s, condition=self.condition(e), body=self.statement(body))
            case ir.Assert(condition=e):
                return replace(s, condition=self.truth(self.expression(e), "an assertion is true or false"))
            case ir.Set(name=name, value=e):
                e = self.require_no_pair(self.expression(e), "a variable holds a number or a boolean")
                self.given[name] |= self.infer(e) - PAIR
                return replace(s, value=e)
            case ir.Assign(access=access, op=op, value=e):
                value = self.convert_update(access.fiber.tensor, access, op, self.expression(e))
                return ir.Assign(self.access(access), self.updating(access, op), value, span=s.span)
            case ir.Declare(tensor=T, init=e):
                return replace(s, init=self.convert_update(T, e, "=", e))
        return s

    def range(self, r: ir.RangeLike) -> ir.RangeLike:
        match r:
            case ir.Parallel(range=ir.Range() as ends):
                return replace(r, range=self.ends(ends))
            case ir.Range():
                return self.ends(r)
        return r

    def ends(self, r: ir.Range) -> ir.Range:
        return replace(
            r, start=self.require_integer(self.expression(r.start)), stop=self.require_integer(self.expression(r.stop))
        )

    def expression(self, e: ir.Expression) -> ir.Expression:
        match e:
            case ir.Call(op=ir.Function() as f, args=args):
                made = tuple(self.require_no_pair(self.expression(a), f"{f} takes numbers and booleans") for a in args)
                kinds = tuple(self.infer(a) - PAIR for a in made)
                return ir.Call(self.specialize(f, kinds), made, span=e.span)
            case ir.Call(op=str(op), args=args):
                made = tuple(map(self.expression, args))
                if op in PARTS:
                    return ir.Call(op, tuple(self.pair(a, f"{op} takes a pair") for a in made), span=e.span)
                if OPERATORS[op].booleans and all(self.infer(a) == BOOL for a in made):
                    op = OPERATORS[op].booleans
                if op == "pair":
                    made = self.numeric(made[0]), self.require_integer(self.number(made[1]))
                elif OPERATORS[op].of_integers:
                    made = tuple(self.require_integer(self.number(a)) for a in made)
                elif op in LOGIC:
                    made = tuple(self.truth(a, f"{op} needs booleans") for a in made)
                elif op not in EQUALITIES or any(kinds and "bool" not in kinds for kinds in map(self.infer, made)):
                    made = tuple(self.numeric(a) for a in made)
                return ir.Call(op, made, span=e.span)
            case ir.Access():
                return self.access(e)
            case ir.IsMissing(operand=operand):
                return replace(e, operand=self.expression(operand))
            case ir.Coalesce(first=first, otherwise=otherwise):
                return self.infer_coalesce(e, self.expression(first), self.expression(otherwise))
            case ir.Choice(condition=condition, then=then, otherwise=otherwise):
                then, otherwise = self.unify("ifelse", self.expression(then), self.expression(otherwise))
                whole = self.infer(then) == self.infer(otherwise) == INT
                return ir.Choice(self.condition(condition), then, otherwise, whole, span=e.span)
        return e

    def specialize(self, f: ir.Function, kinds: tuple[Kinds, ...]) -> ir.Function:
        """A function for these kinds, which are noted."""
        self.calls[f.name] = self.calls.get(f.name, NONE).union(*kinds)
        return specialize(f, kinds, self.mistakes, self.calls)

    def infer_coalesce(self, e: ir.Coalesce, access: ir.Expression, otherwise: ir.Expression) -> ir.Expression:
        """A read element, or a value of its kind; a choice if the element must change to be of one."""
        first, second = self.unify("coalesce", access, otherwise)
        second = algebra.simplify_expression(second, typed=True)
        if isinstance(second, ir.Literal) and second.kind == "pair":
            second = ir.Literal(algebra.convert(algebra.exact(second.value), "pair"), span=second.span)
        if first is access:
            return replace(e, first=access, otherwise=second)
        return ir.Choice(ir.Call("!", (ir.IsMissing(access),)), first, second, span=e.span)

    def access(self, a: ir.Access) -> ir.Access:
        subscripts = tuple(self.subscript(e) for e in a.subscripts)
        return replace(a, subscripts=subscripts)

    def subscript(self, e: ir.Expression) -> ir.Expression:
        if isinstance(e, ir.Permissive):
            inner = self.require_no_pair(e.subscript, "an integer is needed here")
            return replace(e, subscript=self.subscript(inner))
        made = self.expression(e)
        constant = not any(isinstance(node, ir.Access | ir.Variable | ir.Index) for node in made.walk())
        return made if constant else self.require_integer(made)  # `extents` judges constants

    # ----------------------------------------------------------------------------------------------- what is needed

    def condition(self, e: ir.Expression) -> ir.Expression:
        return self.truth(self.expression(e), "a condition is true or false")

    def truth(self, e: ir.Expression, needed: str) -> ir.Expression:
        """A value that may be a boolean."""
        if (kinds := self.infer(e)) and "bool" not in kinds:
            fix = TAKE_APART if kinds == PAIR else f"write {_parenthesize(e)} != 0"
            if isinstance(e, ir.Literal) and kinds != PAIR:
                fix = f"write {algebra.literal(e.value != 0)}"
            self.mistake(f"{needed}, and {show(e)} is {_a(kinds)}", e, fix)
        return e

    def require_integer(self, e: ir.Expression) -> ir.Expression:
        """A value that may be an integer."""
        if (kinds := self.infer(e)) and "int" not in kinds:
            fix = "÷ divides integers" if isinstance(e, ir.Call) and e.op == "/" else "give an integer"
            fix = TAKE_APART if kinds == PAIR else fix
            self.mistake(f"an integer is needed here, and {show(e)} is {_a(kinds)}", e, fix)
        return e

    def require_no_pair(self, e: ir.Expression, needed: str) -> ir.Expression:
        """A value that is no pair."""
        if self.infer(e) == PAIR:
            self.mistake(f"{needed}, and {show(e)} is a pair", e, TAKE_APART)
        return e

    def pair(self, e: ir.Expression, needed: str) -> ir.Expression:
        """A value that is a pair."""
        if (kinds := self.infer(e)) and "pair" not in kinds:
            self.mistake(f"{needed}, and {show(e)} is {_a(kinds)}", e, "give a pair: (x, i), with an integer i")
        return e

    def require_pair(self, T: str, e: ir.Expression) -> None:
        """A mistake if a tensor holds pairs and a value is none, or the other way round."""
        if T in self.towers and self.towers[T].kind == "pair":
            self.pair(e, f"{T} holds pairs")
        elif T in self.towers:
            self.require_no_pair(e, f"{T} holds {KINDS[self.towers[T].kind].word}s")

    def numeric(self, e: ir.Expression) -> ir.Expression:
        """A value as a number, which is no pair."""
        return self.number(self.require_no_pair(e, "a number is needed here"))

    def number(self, e: ir.Expression) -> ir.Expression:
        """A value as a number, if it is a boolean."""
        if self.infer(e) != BOOL:
            return e
        if isinstance(e, ir.Literal):
            return ir.Literal(int(e.value), span=e.span)
        return ir.Choice(e, ir.Literal(1, span=e.span), ir.Literal(0, span=e.span), span=e.span)

    def updating(self, access: ir.Access, op: ir.Operator) -> ir.Operator:
        """A function for elements of a tensor; what it gives is one again."""
        T = access.fiber.tensor
        if not isinstance(op, ir.Function) or T not in self.towers or self.towers[T].kind == "pair":
            return op
        held: Kinds = frozenset({self.towers[T].kind})
        f = self.specialize(op, (held, held))
        made = given_by(f, (held, held))
        if made == INT and held == FLOAT:
            f = replace(f, body=_double(f.body, made))
        elif made != held:
            message = f"{T} holds {KINDS[self.towers[T].kind].word}s, and {f} gives {_a(made)} for two of these"
            self.mistake(
                message, access, "÷ divides integers" if "float" in made else f"write another function than {f}"
            )
        return f

    def convert_update(self, T: str, at: ir.Expression, op: ir.Operator, e: ir.Expression) -> ir.Expression:
        """Convert a value that a tensor is updated or declared with to the kind of its elements."""
        if T not in self.towers:
            return e
        kind = self.towers[T].kind
        if op in PAIRING or "pair" in (kind, *self.infer(e)):
            return self.require_pairs_only(T, at, op, e)
        if op in BITS:
            if kind != "int":
                wraps = op in WRAPPING
                needs = f"{OPERATORS[op].update} {'wraps' if wraps else 'needs'}"
                instead = (
                    f"write {op[0]}="
                    if wraps == (kind == "float") and not OPERATORS[op].word
                    else f"use {usual.LEAF}(0)"
                )
                self.mistake(f"{needs} integers, and {T} holds {KINDS[kind].word}s", at, instead)
            return self.require_integer(self.number(e))
        if kind == "bool":
            return self.stored_truth(T, at, op, e)
        if op in LOGIC:
            fix = f"use {usual.LEAF}(false)" + (f", or <<{op[0]}>>= for bits" if kind == "int" else "")
            self.mistake(f"<<{op}>>= needs booleans, and {T} holds {KINDS[kind].word}s", at, fix)
        return self.stored_number(T, op, self.number(e))

    def require_pairs_only(self, T: str, at: ir.Expression, op: ir.Operator, e: ir.Expression) -> ir.Expression:
        """The value of an update in which there are pairs, so that all of it must be of pairs."""
        held = self.towers[T].kind
        if op in PAIRING and held != "pair":
            self.mistake(f"{op} updates pairs, and {T} holds {KINDS[held].word}s", at, f"use {usual.LEAF}((Inf, 0))")
        elif held == "pair" and op not in ("=", *PAIRING):
            self.mistake(f"{T} holds pairs, which {op} does not update", at, "use <<minby>>=, <<maxby>>= or =")
        else:
            self.require_pair(T, e)
        return e

    def stored_truth(self, T: str, at: ir.Expression, op: ir.Operator, e: ir.Expression) -> ir.Expression:
        """The same of a tensor of booleans."""
        if not isinstance(op, ir.Function) and op not in ("=", "&&", "||"):
            self.mistake(f"{OPERATORS[op].update} needs numbers, and {T} holds booleans", at, f"use {usual.LEAF}(0)")
            return e
        return self.truth(e, f"{T} holds booleans")

    def stored_number(self, T: str, op: ir.Operator, e: ir.Expression) -> ir.Expression:
        """The same of a tensor of numbers: a constant must be one that it can hold, or that a sum leads to."""
        known = algebra.simplify_expression(e, typed=True)
        if self.towers[T].kind == "int" and op in ("=", "+", "-") and isinstance(known, ir.Literal):
            try:
                algebra.convert(known.value, "int")
            except Fault:
                message = f"{T} holds 64-bit integers, and {algebra.show(known.value)} is none"
                self.mistake(message, e, f"give an integer, or use {usual.LEAF}(0.0)")
        return e

    def unify(self, word: str, x: ir.Expression, y: ir.Expression) -> tuple[ir.Expression, ir.Expression]:
        """Two values of which one is taken, as values of one kind."""
        first, second = self.infer(x), self.infer(y)
        of_pairs = PAIR in (first, second)
        if first == second or not (first and second) or not (of_pairs or len(first) == len(second) == 1):
            return x, y
        if of_pairs or BOOL in (first, second):
            message = f"{word} takes {_a(first)}, {show(x)}, or {_a(second)}, {show(y)}"
            self.mistake(message, y, "give two pairs" if of_pairs else "give two numbers, or two booleans")
            return x, y
        return _double(x, first), _double(y, second)

    def mistake(self, message: str, e: ir.Expression, fix: str) -> None:
        if self.mistakes is not None:
            self.mistakes.note(ProgramError(message, e.span, fix=fix))

    # --------------------------------------------------------------------------------------------------- what it is

    def infer(self, e: ir.Expression) -> Kinds:
        """The kinds that an expression may have, by the rules of `lang.algebra`."""
        if id(e) not in self._known:
            self._known[id(e)] = e, self._infer_kinds(e)
        return self._known[id(e)][1]

    def _infer_kinds(self, e: ir.Expression) -> Kinds:
        match e:
            case ir.Literal(kind=kind):
                return frozenset({kind})
            case ir.Index():
                return INT
            case ir.Variable(name=name):
                return INT if " " in name else self.kinds.get(name, ANY)  # an extent that is left open
            case ir.Access(fiber=F):
                return frozenset({self.towers[F.tensor].kind}) if F.tensor in self.towers else ANY
            case ir.Choice(then=first, otherwise=otherwise) | ir.Coalesce(first=first, otherwise=otherwise):
                return self.infer(first) | self.infer(otherwise)
            case ir.Call(op=ir.Function() as f, args=args):
                return given_by(f, tuple(map(self.infer, args)))
            case ir.IsMissing():
                return BOOL
            case ir.Call(op=str(op)) if OPERATORS[op].gives:
                return frozenset({OPERATORS[op].gives})
            case ir.Call(args=args):
                parts = [self.infer(a) - BOOL - PAIR for a in args]
                if any(part == {"float"} for part in parts):
                    return frozenset({"float"})
                return NONE.union(*parts)
        return ANY


def _double(e: ir.Expression, kinds: Kinds) -> ir.Expression:
    """An integer as the double that it is equal to."""
    if kinds != INT:
        return e
    if isinstance(e, ir.Literal):
        return ir.Literal(algebra.convert(e.value, "float"), span=e.span)
    return ir.Call("+", (e, ir.Literal(algebra.exact(0.0), span=e.span)), span=e.span)


def _a(kinds: Kinds) -> str:
    """Kinds in words."""
    return " or ".join(f"a{'n' * (kind == 'int')} {KINDS[kind].word}" for kind in sorted(kinds))


def _parenthesize(e: ir.Expression) -> str:
    text = show(e)
    return f"({text})" if isinstance(e, ir.Call) else text


TAKE_APART = "first(p[]) and second(p[]) are the parts of p[]"
"""The remedy for a pair where a part of it is needed."""
