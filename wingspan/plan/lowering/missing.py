"""Bodies that may be run with the fill value of a fiber where it has no child, as they do then what is left of them.

    C[i] = A[i] + B[i]            with 0 for B[i]    C[i] = A[i] + 0           the same as    C[i] = A[i]
    C[i] = A[i] · x + B[i]        with 0 for A[i]    C[i] = 0 · x + B[i]       C[i] = B[i], which x ≠ Inf takes
    C[i] += A[i]; D[i] += B[i]    with 0 for A[i]    C[i] += 0; D[i] += B[i]   D[i] += B[i], which enters nothing in C

What is left is worked out exactly (`lang.algebra.simplify`). Here a machine computes it, so it is compared with what
machines make of the body: they round each result, compute a term that is multiplied by zero, and may fault in it.
"""

from __future__ import annotations

from wingspan.base.errors import Fault
from wingspan.lang import algebra, ir
from wingspan.lang.terms import replace_access
from wingspan.plan.lowering.purity import Purity


def fill_stands_in(
    body: ir.Statement, F: ir.Fiber, index: str, fill: ir.Literal, rest: ir.Statement, purity: Purity
) -> bool:
    """Whether a body does what `rest` does, which is left of it without F, if a machine runs it with F's fill value."""
    rounding = _Rounding(purity)
    filled = rounding.statement(replace_access(body, F, index, fill))
    return filled is not None and filled == rounding.statement(rest)


class _Rounding:
    """Works out what machines compute, as far as that is certain; `purity` knows what cannot fault."""

    def __init__(self, purity: Purity) -> None:
        self.purity = purity

    def statement(self, s: ir.Statement) -> ir.Statement | None:
        """An assignment, or a block of such; None if it is another statement."""
        match s:
            case ir.Assign(access=access, op=op, value=value):
                return ir.Assign(access, op, self.value(value, True))
            case ir.Block(statements=statements):
                inner = [made for each in statements if (made := self.statement(each)) is not None]
                return ir.Block(tuple(inner)) if len(inner) == len(statements) else None
        return None

    def value(self, e: ir.Expression, outermost: bool = False) -> ir.Expression:
        """An expression; the outermost one is stored, and so becomes what the element is."""
        match e:
            case ir.Literal(value=value):
                return ir.Literal(algebra.machine_value(value))
            case ir.Call(op=str() as op, args=args):
                return self.call(op, tuple(map(self.value, args)), outermost)
        return e

    def call(self, op: str, args: tuple[ir.Expression, ...], outermost: bool) -> ir.Expression:
        """An operator over such values."""
        values = [algebra.exact(a.value) for a in args if isinstance(a, ir.Literal)]
        if len(values) == len(args):
            try:
                result = algebra.machine_value(algebra.apply(op, *values))
            except Fault:
                return ir.Call(op, args)
            return ir.Call(op, args) if type(result) is int and result not in algebra.INT64 else ir.Literal(result)
        for k, a in enumerate(args if len(args) == 2 else ()):
            other = args[1 - k]
            drops = algebra.is_identity(a, op) and (k == 1 or not algebra.takes_away(op))
            if drops and (outermost or not self.purity.is_double(a) or self.purity.is_double(other)):
                return other
            if op == "*" and algebra.is_literal(a, 0) and self.purity.is_integer(a) and self.purity.is_integer(other):
                return a
        return ir.Call(op, args)
