"""The range of an integer expression of a plan, where it is plain to see: subscripts that need no check."""

from __future__ import annotations

from collections.abc import Mapping

from wingspan.lang.algebra import INT64
from wingspan.plan.ir import Const, Expr, Op, Reg

Range = tuple[int, int]

ANY: Range = (INT64[0], INT64[-1])


def range_of(e: Expr, known: Mapping[str, Range]) -> Range:
    """The least and the greatest integer; `known` has those of registers by name."""
    match e:
        case Const(value=bool()) | Const(value=float()):
            return ANY
        case Const(value=value):
            return (int(value), int(value))
        case Reg(name=name):
            return known.get(name, ANY)
        case Op(op=op, args=args):
            return apply(op, *(range_of(a, known) for a in args))
    return ANY


def apply(op: str, *args: Range) -> Range:
    """The range of an operator over ranges."""
    match op, args:
        case "+", ((a, b), (c, d)):
            found = (a + c, b + d)
        case "-", ((a, b), (c, d)):
            found = (a - d, b - c)
        case "neg", ((a, b),):
            found = (-b, -a)
        case "*", ((a, b), (c, d)):
            products = (a * c, a * d, b * c, b * d)
            found = (min(products), max(products))
        case "muladd", (x, n, v):
            return apply("+", x, apply("*", n, v))
        case "min", ((a, b), (c, d)):
            found = (min(a, c), min(b, d))
        case "max", ((a, b), (c, d)):
            found = (max(a, c), max(b, d))
        case "%", ((a, b), (c, d)) if c == d > 0:
            found = (a, b) if 0 <= a <= b < c else (0, c - 1)
        case "÷", ((a, b), (c, d)) if c == d > 0:
            found = (a // c, b // c)
        case (("first" | "count"), _):
            found = (0, 64)
        case _:
            return ANY
    return found if found[0] in INT64 and found[1] in INT64 else ANY
