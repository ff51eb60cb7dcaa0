"""The operators of the oracle: exact values, their types, and what faults."""

from __future__ import annotations

from fractions import Fraction

import pytest

from proofs_tests.by_hand import call, same, worth
from wingspan.errors import Fault
from wingspan.lang import ir
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
    with pytest.raises(Fault, match="overflows a 64-bit integer"):
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
        (call("isqrt", -1), "isqrt needs an integer that is not negative, got -1"),
        (call("isqrt", 4.0), "isqrt needs an integer that is not negative, got 4.0"),
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


def test_a_double_that_is_not_finite_faults():
    with pytest.raises(Fault, match="inf is not a finite double"):
        worth(ir.Literal(float("inf")))
