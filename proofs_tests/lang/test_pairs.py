"""Pairs in words of 64 bits: what they hold, their order, and how they are written."""

import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from wingspan.base.errors import Fault, ParseError
from wingspan.lang import ir
from wingspan.lang.algebra import apply, exact
from wingspan.lang.pairs import SECONDS, Pair
from wingspan.lang.parser import parse
from wingspan.lang.printer import show
from wingspan.tensors.pairs import PAIR, words
from wingspan.tensors.pairs import pairs as records

LEAST = float(np.float32(1e-45))
NUMBERS = st.floats(width=32) | st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, LEAST, -LEAST])
INDICES = st.integers(SECONDS[0], SECONDS[-1]) | st.sampled_from([SECONDS[0], -1, 0, 1, SECONDS[-1]])
MANY = st.lists(st.tuples(NUMBERS, INDICES), min_size=1, max_size=8)


def made(x, i) -> Any:
    return apply("pair", x, i)


def same(x, y):
    return x == y or (x != x and y != y)


@given(NUMBERS, INDICES)
def test_a_pair_holds_what_it_was_made_of(x, i):
    """Both parts come back, of -0.0 the zero without a sign; and a word has 64 bits."""
    p = Pair.of(x, i)
    assert same(p.first, x) and p.second == i
    assert math.copysign(1.0, p.first) == (1.0 if x == 0 or x != x else math.copysign(1.0, x))
    assert -(2**63) <= p < 2**63


def test_the_word_of_a_cell_that_was_never_written_is_zero():
    assert Pair(0).first == 0.0 and Pair(0).second == 0 and Pair.of(-0.0, 0) == 0


@given(st.tuples(NUMBERS, INDICES), st.tuples(NUMBERS, INDICES))
def test_words_are_in_the_order_of_pairs(p, q):
    """As Python's tuples are, where there is no NaN."""
    assume(p[0] == p[0] and q[0] == q[0])
    assert (Pair.of(*p) < Pair.of(*q)) == (p < q) and (Pair.of(*p) == Pair.of(*q)) == (p == q)


@given(MANY)
def test_minby_and_maxby_find_what_argmin_and_argmax_find(given):
    """With the places in the list as indices, NumPy's first least and first greatest, NaN before any, in any order."""
    numbers = np.array([x for x, _ in given], np.float32)
    pairs = [Pair.of(float(x), k) for k, x in enumerate(numbers)]
    for op, wanted in (("minby", np.argmin), ("maxby", np.argmax)):
        for order in (pairs, pairs[::-1]):
            found: Any = order[0]
            for p in order[1:]:
                found = apply(op, found, p)
            assert found.second == wanted(numbers) and same(found.first, float(numbers[found.second]))


@given(MANY)
def test_of_equal_numbers_the_smaller_index_is_kept_also_if_it_is_negative(given):
    tied = [Pair.of(0.5, i) for _, i in given]
    for op in ("minby", "maxby"):
        found: Any = tied[0]
        for p in tied[1:]:
            found = apply(op, found, p)
        assert found == Pair.of(0.5, min(i for _, i in given))


@pytest.mark.parametrize("op", ["minby", "maxby"])
@given(st.tuples(NUMBERS, INDICES), st.tuples(NUMBERS, INDICES), st.tuples(NUMBERS, INDICES))
def test_what_the_algebra_says_of_minby_and_maxby_holds(op, p, q, r):
    """Both are associative, commutative and idempotent, NaN included."""
    x, y, z = (Pair.of(*each) for each in (p, q, r))
    assert apply(op, apply(op, x, y), z) == apply(op, x, apply(op, y, z))
    assert apply(op, x, y) == apply(op, y, x) and apply(op, x, x) == x


@given(st.lists(st.tuples(NUMBERS, INDICES), max_size=5))
def test_arrays_of_pairs_have_the_same_words(given):
    """`tensors.pairs` does for whole arrays what `Pair` does for one, both ways."""
    array = np.array(given, PAIR)
    packed = words(array)
    assert packed.tolist() == [Pair.of(x, i) for x, i in given]
    again = records(packed)
    assert np.array_equal(again["first"], array["first"], equal_nan=True)
    assert again["second"].tolist() == array["second"].tolist()


@example(1 + Fraction(1, 2**24) + Fraction(1, 2**60))  # a double would be halfway between two numbers
@given(st.fractions(-(10**30), 10**30))
def test_the_first_is_the_nearest_number_of_single_precision(x):
    near = np.float32(made(x, 1).first)
    around = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
    assert all(abs(Fraction(float(near)) - x) <= abs(Fraction(float(other)) - x) for other in around)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_rounded_as_numpy_rounds_it(x):
    """Of two numbers that are as near, the even one; beyond the largest to Inf."""
    with np.errstate(over="ignore", under="ignore"):
        assert made(exact(x), 1).first == float(np.float32(x))


def test_beyond_the_largest_number_a_pair_is_infinite():
    largest = struct.unpack("<f", struct.pack("<I", 0x7F7FFFFF))[0]
    half = Fraction(2) ** 103
    assert made(Fraction(largest) + half - 1, 0).first == largest
    assert made(Fraction(largest) + half, 0).first == math.inf
    assert made(-(Fraction(10) ** 400), 0).first == -math.inf


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((0.5, 2**31), "the second of a pair has 32 bits, and 2147483648 does not fit"),
        ((0.5, -(2**31) - 1), "the second of a pair has 32 bits, and -2147483649 does not fit"),
        ((0.5, 0.5), "a pair needs an integer as its second, got 0.5"),
        ((True, 1), "a pair needs a number, got true"),
    ],
)
def test_what_is_no_pair_is_a_fault(args, message):
    with pytest.raises(Fault, match=message):
        apply("pair", *map(exact, args))


@pytest.mark.parametrize("op", ["+", "min", "<", "/"])
def test_arithmetic_on_a_pair_is_a_fault(op):
    with pytest.raises(Fault, match=r"needs numbers, got \(0.5, 3\)"):
        apply(op, Pair.of(0.5, 3), 1)


@given(NUMBERS, INDICES)
def test_a_pair_is_written_so_that_it_is_read_again(x, i):
    literal = ir.Literal(Pair.of(x, i))
    assert parse(f"p .= {show(literal)}").body == ir.Block((ir.Declare("p", literal),))


def test_pairs_are_shown_by_their_shortest_decimals():
    shown = [str(Pair.of(x, 3)) for x in (0.1, 2.0, 1e30, math.inf, -math.inf, math.nan, 16777217.0)]
    assert shown == [
        "(0.1, 3)", "(2.0, 3)", "(1e+30, 3)", "(Inf, 3)", "(-Inf, 3)", "(NaN, 3)", "(16777216.0, 3)",
    ]  # fmt: skip


def test_pairs_are_written_in_expressions_data_and_formats():
    text = """\
A = Tensor(Dense(Element((Inf, 0))), [(0.5, 1), (-Inf, -3)])
p = Tensor(Merge(dev, Element((-Inf, 2147483647))))
p .= (0.0, 0)
for i = 1:2
    p[] <<maxby>>= (-x[i] + 1, i)
    p[] <<minby>>= ifelse(c[i], A[i], (NaN, i - 1))
    y[i] = first(p[]) * second(A[i])
end"""
    assert show(parse(text)) == text
    assert parse(show(parse(text))) == parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p .= (0.5, 2147483648)", "the second of a pair has 32 bits"),
        ("p = Scalar((0.5, 1.5))", "a pair needs an integer as its second, got 1.5"),
        ("A = Tensor(Dense(Element((Inf, 0))), [(0.5, 1), 2])", "pairs and other elements do not mix"),
        ("function first(x, y) = x", "first is built in"),
        ("function minby(x, y) = x", "minby is built in"),
        ("x = first(p[], 1)", "first takes one pair"),
        ("x <<minby>>= (0.5, 1)", "x is a bare name"),
        ("x = choose((0.5, 1))(1, 2)", "choose.z. takes one number or boolean"),
        ("function f(x, y; identity = (0.5, 1)) = x", "functions are of numbers and booleans"),
    ],
)
def test_a_mistake_is_said_where_it_is_made(text, message):
    with pytest.raises(ParseError, match=message):
        parse(text)
