"""Programs built without the parser, and what the reference makes of them."""

from __future__ import annotations

import numpy as np

from wingspan.lang import ir
from wingspan.lang.devices import STATIC, Device
from wingspan.reference import ReferenceResults, evaluate


def lift(e):
    """Names of one letter from i to n are indices, other names variables, numbers and booleans literals."""
    if isinstance(e, str):
        return ir.Index(e) if e in "ijklmn" else ir.Variable(e)
    return e if isinstance(e, ir.Node) else ir.Literal(e)


def at(tensor, *subscripts):
    return ir.Access(ir.Fiber(tensor, len(subscripts) + 1), tuple(map(lift, subscripts)))


def call(op, *args):
    return ir.Call(op, tuple(map(lift, args)))


def put(access, op, value):
    return ir.Assign(access, op, lift(value))


def let(name, value):
    return ir.Set(name, lift(value))


def declare(tensor, init):
    return ir.Declare(tensor, lift(init))


def loop(index, start, stop, *body):
    return ir.For(index, ir.Range(lift(start), lift(stop)), ir.Block(body))


def parallel(index, start, stop, *body):
    ends = ir.Range(lift(start), lift(stop))
    return ir.For(index, ir.Parallel(ends, Device("dev", 2), STATIC), ir.Block(body))


def when(condition, *body):
    return ir.If(lift(condition), ir.Block(body))


def run(*statements, shapes=None, kinds=None, **inputs) -> ReferenceResults:
    """Run the statements; inputs bring their shapes, and all tensors are int unless told otherwise."""
    arrays_ = {name: np.asarray(value) for name, value in inputs.items()}
    shapes = {name: a.shape for name, a in arrays_.items()} | (shapes or {})
    return evaluate(ir.Block(statements), arrays_, shapes, dict.fromkeys(shapes, "int") | (kinds or {}))


def worth(e):
    """The value of an expression without tensors."""
    return run(let("x", e)).variables["x"]


def same(value, expected) -> bool:
    """Equal and of one type: Python holds 1, True and Fraction(1) equal."""
    return type(value) is type(expected) and value == expected
