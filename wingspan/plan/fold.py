"""Private operators over expressions of a plan, worked out as far as that is certain."""

from __future__ import annotations

from wingspan.lang import algebra
from wingspan.lang.ir import Value
from wingspan.lang.operators import COMPUTES
from wingspan.plan.ir import Const, Expr, Op, Reg


def constant(value: Value) -> Const:
    """A value as a machine holds it: a rational as the nearest double, a pair as its word."""
    return Const(algebra.machine_value(value))


def op(name: str, *args: Expr) -> Expr:
    """A private operator over expressions, worked out now where that is certain."""
    values = [a.value for a in args if isinstance(a, Const)]
    if len(values) == len(args):
        folded = Const(algebra.one_nan(COMPUTES[name](*values)))
        if not folded.type.is_integer or folded.value in algebra.INT64:
            return folded
    match name, args:
        case (("+" | "-"), (x, Const(value=0))) if x.type.is_integer:
            return x
        case "+", (Const(value=0), x) if x.type.is_integer:
            return x
        case "*", (x, Const(value=0)) | (Const(value=0), x) if x.type.is_integer:
            return Const(0)
        case "*", (x, Const(value=1)) | (Const(value=1), x) if x.type.is_integer:
            return x
        case "since", (x, Const(value=0)):
            return x
        case "select", (Const(value=chosen), x, y):
            return x if chosen else y
        case "and", (Const(value=True), x) | (x, Const(value=True)):
            return x
        case "and", (Const(value=False), _) | (_, Const(value=False)):
            return Const(False)
        case "or", (Const(value=False), x) | (x, Const(value=False)):
            return x
        case "==", (Reg() as x, y) if x == y and not x.type.has_nan:
            return Const(True)
    return Op(name, args)
