"""Expressions of plans as C."""

from __future__ import annotations

import math
from typing import Protocol

from wingspan.compiled.registers import Names
from wingspan.lang.ir import Value
from wingspan.lang.operators import OPERATIONS
from wingspan.plan.ir import Compute, Const, Expr, Load, Op, PlanBuffer, Reg


class FunctionContext(Protocol):
    """The writer of the function around a statement."""

    names: Names

    def cell_name(self, x: Reg, b: PlanBuffer) -> str: ...

    def load(self, s: Load) -> str: ...

    def text(self, e: Expr) -> str: ...

    def success(self, s: Compute) -> str: ...


def expression(e: Expr, names: Names) -> str:
    """An expression."""
    match e:
        case Const(value=value):
            return constant(value)
        case Reg():
            return names.register(e)
        case Op(op=op, args=args):
            c = OPERATIONS[op].c
            if c and not c.isidentifier():
                return f" {c} ".join(operand(a, names) for a in args) if len(args) > 1 else c + operand(args[0], names)
            if op == "select" and isinstance(args[1], Op) and args[1].op == "bit" and args[2] == Const(0):
                return f"ws_bit_if({expression(args[0], names)}, {expression(args[1].args[0], names)})"
            if op == "select":
                parts = (
                    operand(a, names) if isinstance(a, Op) and a.op == "select" else expression(a, names) for a in args
                )
                return "{} ? {} : {}".format(*parts)
            if op in ("÷", "%") and isinstance(args[1], Const) and (by := int(args[1].value)).bit_count() == 1 <= by:
                by_word = f">> {by.bit_length() - 1}" if op == "÷" else f"& {by - 1}"
                return f"{operand(args[0], names)} {by_word}"
            operands = ", ".join(expression(a, names) for a in args)
            return f"{c or f'ws_{op}_{e.type.cell}'}({operands})"
    raise AssertionError(e)


def operand(e: Expr, names: Names) -> str:
    """An expression as part of another one."""
    text = expression(e, names)
    negative = isinstance(e, Const) and text.startswith("-")
    return f"({text})" if negative or (isinstance(e, Op) and not text.startswith(("ws_", "fabs("))) else text


def constant(value: Value) -> str:
    """A number or a truth value."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            if abs(value) < 2**31:
                return str(value)
            return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"
        case float():
            if math.isnan(value):
                return "NAN"
            return repr(value) if math.isfinite(value) else "INFINITY" if value > 0 else "-INFINITY"
    raise AssertionError(value)


def offset(e: Expr, names: Names) -> str:
    """A position as what is counted from 0: one less."""
    match e:
        case Const(value=value):
            return str(int(value) - 1)
        case Op(op="+", args=(x, Const(value=n))):
            return expression(x, names) if n == 1 else f"{operand(x, names)} + {int(n) - 1}"
    return f"{operand(e, names)} - 1"


def c_value(e: Expr, names: Names) -> str:
    """An expression as a value of a message, a `ws_value`."""
    return f"{{.{e.type.member} = {expression(e, names)}}}"
