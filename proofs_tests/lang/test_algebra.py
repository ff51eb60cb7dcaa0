"""The values of operators, and that simplifying a statement does not change its effect."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from proofs_tests.by_hand import at, call, put, same, when
from proofs_tests.effort import many
from wingspan.base.errors import Fault
from wingspan.lang import ir
from wingspan.lang.algebra import (
    apply,
    convert,
    double,
    exact,
    exactly,
    is_literal,
    show,
    simplify,
    simplify_expression,
)

derandomized = settings(derandomize=True, deadline=None, max_examples=many(200))
INT = st.integers(-(2**63), 2**63 - 1)
DOUBLE = st.floats(allow_nan=False, allow_infinity=False)
RATIONAL = DOUBLE.map(Fraction)
NUMBER = st.integers(-5, 5) | st.fractions(-5, 5, max_denominator=8)
VALUE = NUMBER | st.booleans()


# ------------------------------------------------------------------------------------------------------------ operators


@derandomized
@given(INT, INT, st.sampled_from([("+", operator.add), ("-", operator.sub), ("*", operator.mul)]))
def test_integers_are_exact_or_a_fault(x, y, op):
    """64 bits, never wrapped."""
    expected = op[1](x, y)
    if -(2**63) <= expected < 2**63:
        assert same(apply(op[0], x, y), expected)
    else:
        with pytest.raises(Fault, match=r"overflow: -?[0-9]+ does not fit a 64-bit integer"):
            apply(op[0], x, y)


@pytest.mark.parametrize(("op", "args"), [("-", (-(2**63),)), ("abs", (-(2**63),)), ("÷", (-(2**63), -1))])
def test_the_smallest_integer_has_no_opposite(op, args):
    with pytest.raises(Fault, match="overflow: 9223372036854775808"):
        apply(op, *args)


@derandomized
@given(RATIONAL, RATIONAL | INT)
def test_doubles_are_rationals(x, y):
    """Sums, products and quotients are not rounded; with an integer they are rational."""
    assert same(apply("+", x, y), x + y) and same(apply("*", y, x), x * y)
    if y:
        assert same(apply("/", x, y), x / y)


@derandomized
@given(NUMBER, NUMBER.filter(bool))
def test_division_rounds_down(x, y):
    """÷ and % fit together, the remainder has the divisor's sign; / of integers is exact."""
    quotient, remainder = apply("÷", x, y), apply("%", x, y)
    assert quotient == math.floor(Fraction(x) / Fraction(y)) and quotient * y + remainder == x
    assert remainder == 0 or (remainder > 0) == (y > 0)
    assert same(apply("/", x, y), Fraction(x) / Fraction(y))


@derandomized
@given(st.lists(NUMBER, min_size=1, max_size=4))
def test_min_and_max_take_any_number_of_values(values):
    assert (apply("min", *values), apply("max", *values)) == (min(values), max(values))


@pytest.mark.parametrize(
    ("op", "args", "message"),
    [
        ("/", (1, 0), "division by zero"),
        ("÷", (Fraction(1), Fraction(0)), "division by zero"),
        ("%", (1, 0), "division by zero"),
        ("+", (True, 1), r"\+ needs numbers, got true"),
        ("<", (1, False), "< needs numbers, got false"),
        ("&&", (True, 1), "&& needs booleans, got 1"),
        ("==", (1, True), "== needs two numbers or two booleans, got 1 and true"),
        ("!=", (False, Fraction(0)), "!= needs two numbers or two booleans, got false and 0"),
        ("!", (Fraction(1, 2),), "! needs booleans, got 0.5"),
        ("isqrt", (-1,), "isqrt needs an integer of at least 0, got -1"),
        ("isqrt", (Fraction(4),), "isqrt needs an integer of at least 0, got 4.0"),
    ],
)
def test_where_an_operator_is_not_defined(op, args, message):
    with pytest.raises(Fault, match=message):
        apply(op, *args)


@pytest.mark.parametrize(
    ("x", "y", "equal"),
    [(1, Fraction(1), True), (True, False, False), (False, False, True), (2, 3, False)],
)
def test_equality_is_of_values(x, y, equal):
    assert (apply("==", x, y), apply("!=", x, y)) == (equal, not equal)


def test_overwriting_gives_the_second_argument():
    assert same(apply("=", True, 3), 3)


# --------------------------------------------------------------------------------------------------------------- values


@derandomized
@given(DOUBLE.map(lambda x: x + 0.0) | INT | st.booleans())
def test_showing_gives_what_a_program_writes(value):
    """And reading it again gives the value."""
    text = show(exact(value))
    read = {"true": True, "false": False}.get(text) if text.isalpha() else type(value)(text)
    assert same(read, value) and show(value) == text


@pytest.mark.parametrize(
    ("value", "text", "in_full"),
    [
        (Fraction(1, 3), "0.3333333333333333", "1/3"),
        (Fraction(2**53 + 1), "9007199254740992.0", "9007199254740993/1"),
        (Fraction(10) ** 400, "1e+400", "1e+400"),
        (-(Fraction(10) ** 5000) / 3, *["-3.3333333333333333333e+4999…"] * 2),
        (Fraction(1, 10**400), "1e-400", "1e-400"),
        (Fraction(1, 3**100), "1.9403252174826328e-48", "1.9403252174826328375e-48…"),
    ],
)
def test_rationals_that_no_double_equals_are_shown_as_the_nearest_one_or_in_full(value, text, in_full):
    """Numbers beyond all doubles have all their digits; a request for more ends with its block."""
    assert show(value) == text
    with exactly():
        assert show(value) == in_full
        with exactly(False):
            assert show(value) == text
    assert show(value) == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Fraction(1, 3), 1 / 3),
        (Fraction(10) ** 400, math.inf),
        (-(Fraction(10) ** 400), -math.inf),
        (7, 7),
        (True, True),
    ],
)
def test_the_nearest_double(value, expected):
    assert same(double(value), expected)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (3, "float", Fraction(3)),
        (0.1, "float", Fraction(0.1)),
        (Fraction(6, 2), "int", 3),
        (2.0, "int", 2),
        (True, "bool", True),
    ],
)
def test_conversion_keeps_the_value(value, kind, expected):
    assert same(convert(value, kind), expected)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (2.5, "int", "2.5 is not a 64-bit integer"),
        (2**63, "int", "overflow"),
        (Fraction(2**63), "int", "overflow"),
        (True, "int", "true is not a 64-bit integer"),
        (False, "float", "false is not a double"),
        (1, "bool", "1 is not a boolean"),
    ],
)
def test_what_no_element_of_a_kind_equals_is_refused(value, kind, message):
    with pytest.raises(Fault, match=message):
        convert(value, kind)


# ------------------------------------------------------------------------------------------------------- simplification

BINARY = st.sampled_from(["+", "-", "*", "&&", "||", "min"])
UNARY = st.sampled_from(["-", "!"])
EXPRESSION = st.recursive(
    VALUE.map(ir.Literal) | st.sampled_from([ir.Variable("x"), ir.Variable("y")]),
    lambda below: (
        st.builds(lambda op, x, y: ir.Call(op, (x, y)), BINARY, below, below)
        | st.builds(lambda op, x: ir.Call(op, (x,)), UNARY, below)
    ),
    max_leaves=8,
)


def evaluate(e, values):
    match e:
        case ir.Literal(value=value):
            return exact(value)
        case ir.Variable(name=name):
            return values[name]
    return apply(e.op, *(evaluate(a, values) for a in e.args))


@derandomized
@given(EXPRESSION, VALUE, VALUE)
def test_simplifying_keeps_the_value(e, x, y):
    """Expressions that fault may have a simpler form that does not."""
    try:
        expected = evaluate(e, {"x": x, "y": y})
    except Fault:
        assume(False)
    found = evaluate(simplify_expression(e), {"x": x, "y": y})
    assert found == expected and isinstance(found, bool) == isinstance(expected, bool)


@derandomized
@given(EXPRESSION)
def test_simplifying_twice_is_simplifying_once(e):
    """And an expression with nothing to simplify stays the same object."""
    once = simplify_expression(e)
    assert simplify_expression(once) is once


X, Y, A = ir.Variable("x"), ir.Variable("y"), at("A", "i")


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (call("*", A, 0), ir.Literal(0)),
        (call("*", 0.0, A), ir.Literal(0.0)),
        (call("+", A, 0.0), A),
        (call("+", 0, A), A),
        (call("-", A, 0), A),
        (call("-", 0, X), call("-", 0, X)),
        (call("*", 1, X), X),
        (call("&&", X, False), ir.Literal(False)),
        (call("||", False, X), X),
        (call("+", X, False), call("+", X, False)),
        (call("*", X, call("-", 2, 2)), ir.Literal(0)),
        (call("/", 1, 0), call("/", 1, 0)),
        (call("min", X, 0), call("min", X, 0)),
    ],
)
def test_identities_and_annihilators(e, expected):
    assert simplify_expression(e) == expected


@pytest.mark.parametrize(
    ("s", "expected"),
    [
        (put(A, "+", 0), ir.SKIP),
        (put(A, "-", call("*", X, 0)), ir.SKIP),
        (put(A, "*", 1.0), ir.SKIP),
        (put(A, "&&", True), ir.SKIP),
        (put(A, "=", 0), put(A, "=", 0)),
        (put(A, "min", 0), put(A, "min", 0)),
        (put(A, "+", False), put(A, "+", False)),
        (when(False, put(A, "=", 1)), ir.SKIP),
        (when(X, put(A, "+", 0)), ir.If(X, ir.SKIP)),
        (ir.For("i", ir.Whole(), put(A, "+", 0)), ir.SKIP),
        (ir.Block((put(A, "+", 0), put(A, "+", call("+", Y, 0)))), put(A, "+", Y)),
        (ir.Set("x", call("+", Y, 0)), ir.Set("x", Y)),
    ],
)
def test_updates_that_change_nothing_go(s, expected):
    assert simplify(s) == expected


def test_overwriting_by_a_literal_goes_where_the_caller_says_so():
    """It is asked about the assignment as simplified, and about no other."""
    inner = ir.Block((put(A, "=", call("*", X, 0)), put(A, "=", X)))
    asked = []

    def droppable(assign):
        asked.append(assign)
        return True

    loop = ir.For("i", ir.Whole(), inner)
    assert simplify(ir.For("j", ir.Whole(), loop), droppable) == ir.For(
        "j", ir.Whole(), ir.For("i", ir.Whole(), put(A, "=", X))
    )
    assert asked == [put(A, "=", 0)]


def test_a_literal_equals_numbers_of_its_sort():
    assert is_literal(ir.Literal(0.0), 0) and is_literal(ir.Literal(False), False)
    assert not is_literal(ir.Literal(False), 0) and not is_literal(ir.Literal(0), False) and not is_literal(X, 0)
