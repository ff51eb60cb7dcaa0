"""The operators of the oracle: exact values, their types, and what faults."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from proofs_tests.by_hand import call, let, run, same, worth
from wingspan.base.errors import Fault
from wingspan.lang import algebra, ir
from wingspan.lang.words import equal_or_nan
from wingspan.reference import INT_MAX, INT_MIN


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (call("+", 2, 3), 5),
        (call("-", 2, 3), -1),
        (call("-", 3), -3),
        (call("*", 2, 3), 6),
        (call("/", 6, 3), Fraction(2)),
        (call("/", 1, 3), Fraction(1, 3)),
        (call("÷", 7, 2), 3),
        (call("÷", -7, 2), -4),
        (call("÷", 7, -2), -4),
        (call("÷", 7.5, 2), Fraction(3)),
        (call("%", -7, 3), 2),
        (call("%", 7, -3), -2),
        (call("%", -0.5, 2), Fraction(3, 2)),
        (call("+", 1, 0.5), Fraction(3, 2)),
        (call("*", 2, 0.5), Fraction(1)),
        (call("min", 3, 1, 2), 1),
        (call("min", 1, 2.5), Fraction(1)),
        (call("max", 1, 2.5), Fraction(5, 2)),
        (call("max", 3, 2.5), Fraction(3)),
        (call("abs", -4), 4),
        (call("abs", -0.5), Fraction(1, 2)),
        (call("isqrt", 24), 4),
        (call("isqrt", INT_MAX), 3037000499),
        (call("gcd", -12, 18), 6),
        (call("gcd", 0, -7), 7),
        (call("gcd", 0, 0), 0),
        (call("gcd", INT_MIN, INT_MAX), 1),
        (call("==", 1, 1.0), True),
        (call("!=", True, False), True),
        (call("<", 1, 2), True),
        (call("<=", 2, 1.5), False),
        (call(">", 2, 2), False),
        (call(">=", 2, 2), True),
        (call("&&", True, False), False),
        (call("||", False, True), True),
        (call("!", False), True),
    ],
    ids=repr,
)
def test_operators_are_exact_and_keep_their_type(e, expected):
    """Integers stay integers except under `/`; one double makes a double; ÷ and % are floored."""
    assert same(worth(e), expected)


def test_doubles_add_without_rounding():
    """The double 0.1 is a fraction, and ten of it are not 1."""
    assert worth(call("*", 0.1, 10)) == 10 * Fraction(0.1) != 1


@pytest.mark.parametrize(
    "e",
    [
        call("+", INT_MAX, 1),
        call("-", INT_MIN, 1),
        call("-", INT_MIN),
        call("abs", INT_MIN),
        call("*", 2**32, 2**31),
        call("÷", INT_MIN, -1),
        ir.Literal(2**63),
    ],
    ids=repr,
)
def test_integers_never_leave_64_bits(e):
    with pytest.raises(Fault, match=r"overflow: -?[0-9]+ does not fit a 64-bit integer"):
        worth(e)


def test_the_ends_of_64_bits_are_integers():
    assert worth(call("+", INT_MAX - 1, 1)) == INT_MAX
    assert worth(call("-", INT_MIN + 1, 1)) == INT_MIN


@pytest.mark.parametrize("op", ["/", "÷", "%"])
@pytest.mark.parametrize("zero", [0, 0.0])
def test_division_by_zero_faults(op, zero):
    with pytest.raises(Fault, match="division by zero"):
        worth(call(op, 1, zero))


@pytest.mark.parametrize(
    ("e", "message"),
    [
        (call("+", 1, True), r"\+ needs numbers, got true"),
        (call("*", False, 0.5), r"\* needs numbers, got false"),
        (call("-", True), "- needs numbers, got true"),
        (call("min", True, 1), "min needs numbers"),
        (call("<", False, True), "< needs numbers"),
        (call("==", 1, True), "== needs two numbers or two booleans"),
        (call("&&", 1, True), "&& needs booleans, got 1"),
        (call("!", 0), "! needs booleans, got 0"),
        (call("isqrt", -1), "isqrt needs an integer of at least 0, got -1"),
        (call("isqrt", 4.0), "isqrt needs an integer of at least 0, got 4.0"),
        (call("gcd", 4.0, 2), "gcd needs integers, got 4.0"),
        (call("gcd", 2, True), "gcd needs integers, got true"),
        (call("gcd", INT_MIN, 0), "overflow: 9223372036854775808 does not fit a 64-bit integer"),
    ],
    ids=repr,
)
def test_booleans_are_no_numbers_and_numbers_no_booleans(e, message):
    with pytest.raises(Fault, match=message):
        worth(e)


@pytest.mark.parametrize(("op", "first"), [("&&", False), ("||", True)])
def test_both_sides_of_a_logical_operator_are_evaluated(op, first):
    """As in the rules, where all arguments are values before the call steps."""
    with pytest.raises(Fault, match="division by zero"):
        worth(call(op, first, call("==", call("÷", 1, 0), 1)))


def computed(op, a, b):
    """a ⊗ b of values that are no literals."""
    return run(let("x", a), let("y", b), let("z", call(op, ir.Variable("x"), ir.Variable("y")))).variables["z"]


BEYOND: list[Any] = [math.inf, -math.inf, math.nan, 0.0, 1.5, -2.0, Fraction(10) ** 400, -(Fraction(10) ** 400)]


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "÷", "%", "min", "max", "<", "<=", "==", "!="])
def test_inf_and_nan_are_computed_with_as_numpy_does(op: str) -> None:
    """The reference and the rules agree, and with NumPy where all operands are doubles."""
    numpy: Any = {
        "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "÷": np.floor_divide, "%": np.mod,
        "min": np.minimum, "max": np.maximum, "<": np.less, "<=": np.less_equal, "==": np.equal, "!=": np.not_equal,
    }[op]  # fmt: skip
    for a, b in itertools.product(BEYOND, BEYOND):
        if (b == 0 and op in ("/", "÷", "%")) or not any(isinstance(v, float) and not math.isfinite(v) for v in (a, b)):
            continue
        found = computed(op, a, b)
        assert equal_or_nan(found, algebra.apply(op, algebra.exact(a), algebra.exact(b))), (op, a, b)
        if not any(isinstance(v, Fraction) for v in (a, b)):
            with np.errstate(all="ignore"):
                assert equal_or_nan(found, numpy(a, b).item()), (op, a, b)
