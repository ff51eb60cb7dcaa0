"""Pure expressions, whose evaluation nobody notices: it cannot fault, and reads nothing that another task writes.

A lowering may leave these out where their value does not matter. The rules evaluate both sides of &&, and the ends of
the range of every loop that they reach.
"""

from __future__ import annotations

from collections.abc import Collection

from wingspan.elaborate import Elaborated
from wingspan.lang import algebra, ir
from wingspan.lang.kinds import KINDS, Kind
from wingspan.lang.operators import COMPARISONS, LOGIC
from wingspan.lang.terms import read_while_updated
from wingspan.plan import layout
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, Op, Reg
from wingspan.plan.lowering.variables import Variables
from wingspan.plan.ranges import ANY, Range, range_of


class Purity:
    """Knows the kinds of pure expressions of a bound program: `kind`."""

    def __init__(self, bound: Elaborated, variables: Variables) -> None:
        self.bound = bound
        self.extents = {e for shape in bound.extents.values() for e in shape}
        self.changing = read_while_updated(bound.body)
        """the tensors that statements read while they are updated, be it by other tasks"""
        self.loops: dict[str, set[ir.Range]] = {}
        """for each index the ranges of all loops over it"""
        for node in bound.body.walk():
            if isinstance(node, ir.For):
                r = node.range.range if isinstance(node.range, ir.Parallel) else node.range
                assert isinstance(r, ir.Range)
                self.loops.setdefault(node.index, set()).add(r)
        self.variables: dict[str, Kind | None] = {}
        for binder in variables.kinds:
            name, _ = binder
            private = binder not in variables.shared and not variables.has_mixed_kinds(binder)
            kind = variables.kind(binder) if private else None
            self.variables[name] = kind if self.variables.get(name, kind) == kind else None
        self.ranges: dict[str, Range] = {}

    def kind(self, e: ir.Expression) -> Kind | None:
        """The kind of a pure expression; None of any other."""
        match e:
            case ir.Literal(kind=kind):
                return KINDS[kind]
            case ir.Index():
                return KINDS["int"]
            case ir.Variable(name=name):
                return self.variables.get(name)
            case ir.Access(fiber=F) if F.tensor in self.changing:
                return None
            case ir.Access(fiber=F, subscripts=subscripts) if F.by == 0 or F.open:
                inside = map(self._within, subscripts, self.bound.extents[F.tensor])
                return self.bound.towers[F.tensor].elements if all(inside) else None
            case ir.Choice(condition=condition, then=then, otherwise=otherwise):
                chosen, other = self.kind(then), self.kind(otherwise)
                return chosen if self.is_boolean(condition) and chosen is other else None
            case ir.Call(op=op, args=args):
                if op in LOGIC:
                    return KINDS["bool"] if all(map(self.is_boolean, args)) else None
                if not all(map(self.is_number, args)):
                    return None
                if op in COMPARISONS:
                    return KINDS["bool"]
                whole = op in ("min", "max") or (op == "*" and any(algebra.is_literal(a, 0) for a in args))
                if any(map(self.is_double, args)) and op in ("+", "-", "*", "min", "max"):
                    return KINDS["float"]
                return KINDS["int"] if whole or self.range(e) != ANY else None
        return None

    def is_number(self, e: ir.Expression) -> bool:
        """Whether an expression is pure, and a number."""
        kind = self.kind(e)
        return kind is not None and kind.is_number

    def is_integer(self, e: ir.Expression) -> bool:
        """Whether an expression is pure, and an integer."""
        kind = self.kind(e)
        return kind is not None and kind.is_integer

    def is_double(self, e: ir.Expression) -> bool:
        """Whether an expression is pure, and a double."""
        kind = self.kind(e)
        return kind is not None and kind.is_double

    def is_boolean(self, e: ir.Expression) -> bool:
        """Whether an expression is pure, and true or false."""
        kind = self.kind(e)
        return kind is not None and kind.is_boolean

    def range(self, e: ir.Expression) -> Range:
        """The integers that a sum or a product over indices and extents is among; ANY if it may not fit, or is none."""
        plain = self._plain(e, frozenset())
        return ANY if plain is None or not self._fits(plain) else range_of(plain, self.ranges)

    def _plain(self, e: ir.Expression, around: Collection[str]) -> Expr | None:
        """The expression over registers with ranges, one for each index; None if it is none. `around`: being asked."""
        match e:
            case ir.Literal(value=value) if self.is_integer(e):
                return Const(value)
            case ir.Variable(name=name) if e in self.extents:
                self.ranges[name] = (0, layout.SMALL - 1)
                return Reg(name)
            case ir.Index(name=name) if name in self.ranges:
                return Reg(name)
            case ir.Index(name=name) if name not in around:
                ends = [self._plain(end, {*around, name}) for r in self.loops[name] for end in (r.start, r.stop)]
                if any(end is None or not self._fits(end) for end in ends):
                    return None
                among = [range_of(end, self.ranges) for end in ends if end is not None]
                self.ranges[name] = (min(least for least, _ in among), max(most for _, most in among))
                return Reg(name)
            case ir.Call(op=str() as symbol, args=(x, y)) if symbol in ("+", "-", "*", "min", "max"):
                a, b = self._plain(x, around), self._plain(y, around)
                return None if a is None or b is None else op(symbol, a, b)
        return None

    def _fits(self, e: Expr) -> bool:
        """Whether an expression and all that it is computed from is known to fit a register."""
        return range_of(e, self.ranges) != ANY and (not isinstance(e, Op) or all(map(self._fits, e.args)))

    def _within(self, subscript: ir.Expression, extent: ir.Expression) -> bool:
        """Whether a subscript stays in an axis, by the ranges of all loops that have its name, or may leave it."""
        if isinstance(subscript, ir.Permissive):
            return True
        return isinstance(subscript, ir.Index) and all(
            self.runs(r) and (r.stop == extent or _at_most(r.stop, extent)) for r in self.loops[subscript.name]
        )

    def runs(self, r: ir.Range) -> bool:
        """Whether a range has plain ends, and begins where axes do, or later."""
        ends = isinstance(r.stop, ir.Literal) or r.stop in self.extents
        return ends and isinstance(r.start, ir.Literal) and isinstance(r.start.value, int) and r.start.value >= 1


def _at_most(e: ir.Expression, extent: ir.Expression) -> bool:
    return isinstance(e, ir.Literal) and isinstance(extent, ir.Literal) and e.value <= extent.value
