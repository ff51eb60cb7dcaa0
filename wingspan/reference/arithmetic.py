"""The operators of the language over exact values."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from wingspan.base.errors import Fault, InternalError, Span
from wingspan.base.libraries import np
from wingspan.lang import ir
from wingspan.lang.ir import Value
from wingspan.reference.values import INT_MAX, INT_MIN, beyond, double, show, single


def _nonfinite_result(op: str, a: Value, b: Value) -> Value:
    """a ⊗ b if one of them is Inf, -Inf or NaN, and no divisor is 0."""
    if a != a or b != b or (op in ("÷", "%") and beyond(a)):
        return ir.NAN
    if op in ("min", "max"):
        found = a if (a < b) == (op == "min") else b
        return found if beyond(found) else Fraction(found)
    if op in ("÷", "%"):
        crosses = (a < 0 < b) or (b < 0 < a)
        return Fraction(-1 if crosses else 0) if op == "÷" else b if crosses else Fraction(a)
    x, y = (np.float64(v if beyond(v) else (v > 0) - (v < 0)) for v in (a, b))
    with np.errstate(invalid="ignore"):
        made = float(x + y if op == "+" else x - y if op == "-" else x * y if op == "*" else x / y)
    return ir.NAN if made != made else made if math.isinf(made) else Fraction(0)


def equal_or_nan(a: Value, b: Value) -> bool:
    """Whether two values are equal, or both NaN."""
    return a == b or (a != a and b != b)


def _floor_quotient(a: Value, b: Value) -> Value:
    quotient = a // b
    return quotient if _both_int(a, b) else Fraction(quotient)


def _minimum(a: Value, b: Value) -> Value:
    return min(a, b) if _both_int(a, b) else Fraction(min(a, b))


def _maximum(a: Value, b: Value) -> Value:
    return max(a, b) if _both_int(a, b) else Fraction(max(a, b))


def _both_int(a: Value, b: Value) -> bool:
    return isinstance(a, int) and isinstance(b, int)


def _quotient(a: Value, b: Value) -> Value:
    return Fraction(a) / Fraction(b)


NUMERIC: dict[str, Callable[[Value, Value], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "÷": _floor_quotient,
    "%": operator.mod,
    "min": _minimum,
    "max": _maximum,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

BITWISE: dict[str, Callable[[int, int], int]] = {"&": operator.and_, "|": operator.or_, "⊻": operator.xor}

WRAPPING: dict[str, Callable[[int, int], int]] = {"+%": operator.add, "-%": operator.sub, "*%": operator.mul}

OF_INTEGERS = {*BITWISE, *WRAPPING, "~", "<<", ">>", "gcd"}

PAIRING = ("minby", "maxby")

PARTS = ("first", "second")

EQUALITY: dict[str, Callable[[Value, Value], bool]] = {"==": operator.eq, "!=": operator.ne}

LOGICAL: dict[str, Callable[[Value, Value], bool]] = {"&&": operator.and_, "||": operator.or_}


def binary(op: str, a: Value, b: Value, span: Span | None) -> Value:
    """a ⊗ b, exactly."""
    if op in LOGICAL:
        return LOGICAL[op](_boolean(op, a, span), _boolean(op, b, span))
    if op in EQUALITY:
        if isinstance(a, bool) != isinstance(b, bool):
            raise Fault(f"{op} needs two numbers or two booleans, got {show(a)} and {show(b)}", span)
        return EQUALITY[op](a, b)
    if op in BITWISE:
        return BITWISE[op](_integer(op, a, span), _integer(op, b, span))
    if op in WRAPPING:
        return _wrap_around(WRAPPING[op](_integer(op, a, span), _integer(op, b, span)))
    if op == "gcd":
        return require_64_bits(math.gcd(_integer(op, a, span), _integer(op, b, span)), span)
    if op == "pair":
        return _pair(_number(op, a, span), _integer(op, b, span), span)
    if op in PAIRING:
        return min(_require_pair(op, a, span), _require_pair(op, b, span), key=partial(_rank, op))
    if op in ("<<", ">>"):
        return require_64_bits(_shift(op, _integer(op, a, span), _integer(op, b, span), span), span)
    if op not in NUMERIC:
        raise InternalError(f"the reference has no operator {op} of two arguments", span)
    a, b = _number(op, a, span), _number(op, b, span)
    if op in ("/", "÷", "%") and b == 0:
        raise Fault("division by zero", span)
    if (beyond(a) or beyond(b)) and op not in ("<", "<=", ">", ">="):
        return _nonfinite_result(op, a, b)
    return require_64_bits(NUMERIC[op](a, b), span)


def unary(op: str, a: Value, span: Span | None) -> Value:
    """⊗ a, exactly."""
    if op == "!":
        return not _boolean(op, a, span)
    if op in PARTS:
        p = _require_pair(op, a, span)
        return p.second if op == "second" else double(p.first)
    if op == "~":
        return -1 - _integer(op, a, span)
    a = _number(op, a, span)
    if op == "-":
        return require_64_bits(-a, span)
    if op == "abs":
        return require_64_bits(-a if a < 0 else a, span)
    if op == "isqrt":
        if not isinstance(a, int) or a < 0:
            raise Fault(f"isqrt needs an integer of at least 0, got {show(a)}", span)
        return math.isqrt(a)
    if op in ("+", "min", "max"):
        return a
    raise InternalError(f"the reference has no operator {op} of one argument", span)


def _number(op: str, value: Value, span: Span | None) -> Value:
    if isinstance(value, bool):
        raise Fault(f"{op} needs numbers, got {show(value)}", span)
    return value


def _integer(op: str, value: Value, span: Span | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Fault(f"{op} needs integers, got {show(value)}", span)
    return value


def _require_pair(op: str, value: Value, span: Span | None) -> ir.Pair:
    if not isinstance(value, ir.Pair):
        raise Fault(f"{op} needs pairs, got {show(value)}", span)
    return value


def _pair(x: Value, i: int, span: Span | None) -> ir.Pair:
    """The pair of a number, rounded to single precision, and an integer of 32 bits."""
    if not -(2**31) <= i < 2**31:
        raise Fault(f"the second of a pair has 32 bits, and {i} does not fit", span)
    near: Value = x if beyond(x) else single(Fraction(x))
    try:
        return ir.Pair.of(float(near), i)
    except OverflowError:
        return ir.Pair.of(math.inf if near > 0 else -math.inf, i)


def _rank(op: str, p: ir.Pair) -> tuple[bool, float, int]:
    """Pairs in the order in which an operator prefers them: NaN, then the least or the greatest, then the first."""
    known = p.first == p.first
    x = p.first if known else 0.0
    return known, x if op == "minby" else -x, p.second


def _shift(op: str, a: int, places: int, span: Span | None) -> int:
    """a times or divided by a power of two, rounded down. 2**64 is more than any integer."""
    if places < 0:
        raise Fault(f"{op} needs a count of at least 0, got {places}", span)
    power = 1 << min(places, 64)
    return a * power if op == "<<" else a // power


def _wrap_around(value: int) -> int:
    """The integer of 64 bits that is equal modulo 2⁶⁴."""
    low = value & 2**64 - 1
    return low if low <= INT_MAX else low - 2**64


def _boolean(op: str, value: Value, span: Span | None) -> bool:
    """The value of an operand, which has to be a boolean."""
    if not isinstance(value, bool):
        raise Fault(f"{op} needs booleans, got {show(value)}", span)
    return value


def holds(value: Value, span: Span | None) -> bool:
    """The value of a condition, which has to be a boolean."""
    if not isinstance(value, bool):
        raise Fault(f"a condition is true or false, not {show(value)}", span)
    return value


def require_64_bits(value: Value, span: Span | None) -> Value:
    """The value, which has to fit 64 bits if it is an integer."""
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        raise Fault(f"overflow: {value} does not fit a 64-bit integer", span)
    return value
