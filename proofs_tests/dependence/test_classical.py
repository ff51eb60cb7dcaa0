"""The named dependence tests never disprove what happens, and disprove all that their textbooks say."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from proofs_tests.by_hand import at, call, lift
from proofs_tests.effort import few, many
from wingspan.dependence.classical import TESTS, IndexTerm, IntegerInterval, disprove
from wingspan.lang import ir
from wingspan.lang.affine import Affine, affine
from wingspan.lang.algebra import apply, simplify_expression

linear = partial(affine, symbols=True)
derandomized = settings(derandomize=True, deadline=None, max_examples=many(200))
MEETS = {"<": int.__lt__, "=": int.__eq__, ">": int.__gt__, "*": lambda x, y: True}
MIRROR = {"<": ">", "=": "=", ">": "<", "*": "*"}
WINDOW = 6
"""The range of brute force for unknown bounds, and for the values of symbols."""

coefficients = st.integers(-4, 4) | st.sampled_from((0, 0, 1, -1, 2))
constants = st.integers(-9, 9) | st.integers(-1, 1)
bounds = st.tuples(st.integers(-3, 3), st.integers(-1, 3)).map(lambda b: (b[0], b[0] + b[1]))
some_bounds = bounds | st.tuples(st.none() | st.integers(-3, 0), st.none() | st.integers(0, 3))


# --------------------------------------------------------------------------------------------------------- strategies


@st.composite
def cases(draw):
    """Subscripts of two accesses as (coefficients, constant), directions, and the bounds of each side.

    i, j, k are common; l, private to either or both, and the symbol n may occur.
    """
    common = "ijk"[: draw(st.integers(1, 3))]
    sides = [common + draw(st.sampled_from(("", "", "l"))) for _ in "fg"]
    symbol = draw(st.sampled_from(("", "", "", "n")))
    rank = draw(st.integers(1, 2))
    subscripts = [
        [({x: draw(coefficients) for x in names + symbol}, draw(constants)) for _ in range(rank)] for names in sides
    ]
    directions = {x: draw(st.sampled_from("<=>*")) for x in common}
    first = {x: draw(some_bounds) for x in sides[0]}
    second = {x: first[x] if x in common and draw(st.booleans()) else draw(some_bounds) for x in sides[1]}
    return *subscripts, directions, first, second


def written(form):
    """A linear form as an expression, in the ways that people write one."""
    e = lift(form[1])
    for k, (name, a) in enumerate(form[0].items()):
        x = ir.Variable(name) if name == "n" else ir.Index(name)
        term = x if a == 1 else call("-", x) if a == -1 else call("*", a, x) if k % 2 else call("*", x, a)
        e = call("+", e, term) if k % 2 else call("-", term, call("-", e))
    return e


def span(pair):
    """The values between two bounds."""
    low, high = pair
    low = -WINDOW if low is None else low
    return range(low, (WINDOW if high is None else high) + 1)


def meet(f, g, directions, first, second):
    """Whether brute force finds iterations in which all subscripts are equal."""
    # What each name adds to f_k(x) - g_k(x'), over all its values; the values of different names are independent.
    parts = []
    for x in sorted({x for coefficients_, _ in f + g for x in coefficients_}):
        ys = [(u.get(x, 0), v.get(x, 0)) for (u, _), (v, _) in zip(f, g, strict=True)]
        if x == "n":
            pairs = [(v, v) for v in range(-WINDOW, WINDOW + 1)]
        else:
            pairs = list(product(span(first.get(x, (0, 0))), span(second.get(x, (0, 0)))))
            pairs = [(u, v) for u, v in pairs if MEETS[directions.get(x, "*")](u, v)]
        parts.append({tuple(a * u - b * v for a, b in ys) for u, v in pairs})
    sums = {tuple(u - v for (_, u), (_, v) in zip(f, g, strict=True))}
    for part in parts:
        sums = {tuple(map(sum, zip(s, p, strict=True))) for s in sums for p in part}
    return (0,) * len(f) in sums


def disproved(f, g, directions, first, second):
    return disprove([written(e) for e in f], [written(e) for e in g], directions, first, second)


# ------------------------------------------------------------------------------------------------------- linear forms


@st.composite
def arithmetic(draw, depth=3):
    """Expressions over names and small numbers, linear or not."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from([lift("i"), lift("j"), lift("x"), *map(lift, range(-3, 4))]))
    op = draw(st.sampled_from("++--**÷%"))
    args = [draw(arithmetic(depth=depth - 1)) for _ in range(1 if op in "+-" and draw(st.booleans()) else 2)]
    return call(op, *args)


@derandomized
@given(arithmetic(), st.fixed_dictionaries({x: st.integers(-20, 20) for x in "ijx"}))
def test_a_linear_form_is_worth_what_its_expression_is(e, values):
    """The expression has a value there; a constant has a form without names, however it is written."""
    form = linear(e)
    lifted = e.map(lambda n: lift(values[n.name]) if isinstance(n, ir.Index | ir.Variable) else n)
    value = simplify_expression(lifted)
    assume(isinstance(value, ir.Literal) and (form is not None or lifted == e))
    assert form is not None and isinstance(value, ir.Literal)
    assert form.constant + sum(a * values[x] for x, a in form.factors.items()) == value.value
    assert all(form.factors.values())
    assert not form.factors or lifted != e


@pytest.mark.parametrize("op", ["÷", "%"])
def test_division_of_constants_rounds_down(op):
    for x, y in product(range(-7, 8), (-3, -2, 1, 2, 3)):
        assert linear(call(op, x, y)) == Affine({}, int(apply(op, x, y)))


@derandomized
@given(st.dictionaries(st.sampled_from("ijkln"), coefficients, max_size=5), constants)
def test_every_linear_form_is_known_as_such(terms, constant):
    form = linear(written((terms, constant)))
    assert form is not None
    assert form.factors == {x: a for x, a in terms.items() if a}


@pytest.mark.parametrize(
    "e",
    [
        call("*", "i", "j"),
        call("*", "i", "i"),
        call("÷", "i", 2),
        call("%", 7, "i"),
        call("%", "x", 2),
        call("÷", 4, 0),
        call("/", 4, 2),
        call("min", "i", 1, 2),
        call("+", "i", 1.0),
        call("*", "i", True),
        call("!", "i"),
        call("+", "i", at("A", "i")),
    ],
)
def test_what_is_not_linear(e):
    assert linear(e) is None


# ---------------------------------------------------------------------------------------------------------- soundness


@derandomized
@given(cases())
def test_what_is_disproved_never_happens(case):
    """Up to three common loops, private ones, symbols, unknown bounds, empty ranges, one or two subscripts."""
    assume(disproved(*case))
    assert not meet(*case)


@derandomized
@given(cases())
def test_each_test_alone_is_sound_on_the_subscript_it_names(case):
    """It suffices that one subscript is never equal: the one that the disproof names."""
    f, g, *rest = case
    found = disproved(*case)
    assume(found)
    k = found.subscript
    assert not meet([f[k]], [g[k]], *rest)
    assert found.reason.startswith(f"{found.test}: ")
    alone = disproved([f[k]], [g[k]], *rest)
    assert alone is not None and alone.reason == found.reason


@derandomized
@given(cases())
def test_the_same_test_disproves_the_accesses_exchanged(case):
    """The second access compares with the first by the opposite directions."""
    f, g, directions, first, second = case
    one, other = disproved(*case), disproved(g, f, {x: MIRROR[d] for x, d in directions.items()}, second, first)
    assert (one and (one.test, one.subscript)) == (other and (other.test, other.subscript))


# ---------------------------------------------------------------------------------------------------------- precision

RANGES = [(1, 3), (-2, 2), (2, 2), (0, 1)]


SIV = [("strong SIV", a, a) for a in (-3, -1, 1, 2)]
SIV += [("weak-zero SIV", a, b) for a, b in ((2, 0), (-1, 0), (0, 3), (0, 1))]
SIV += [("weak-crossing SIV", a, -a) for a in (1, -2, 3)]


@pytest.mark.parametrize(("test", "a", "b"), few(SIV, 5))
def test_each_siv_test_is_exact(test, a, b):
    """With known bounds, equal on both sides or not, it disproves exactly what never happens."""
    seen = set()
    for c, d, one, other in product(range(-7, 8), "<=>*", RANGES, RANGES):
        case = [({"i": a}, 0)], [({"i": b}, c)], {"i": d}, {"i": one}, {"i": other}
        found = disproved(*case)
        assert (found is None) == meet(*case), case
        seen.add(found and found.test)
    assert seen == {None, test}


@derandomized
@given(coefficients, coefficients, st.sampled_from("<=>*"), some_bounds, some_bounds)
def test_banerjees_bounds_are_attained(a, b, direction, first, second):
    """Each end of a·i - b·i' is a value of it, and an end is missing exactly where a wider search finds more."""
    term = IndexTerm("i", a, b, direction, IntegerInterval(*first), IntegerInterval(*second))

    def ends(far):
        one, other = (range(-far if x is None else x, (far if y is None else y) + 1) for x, y in (first, second))
        values = [a * u - b * v for u in one for v in other if MEETS[direction](u, v)]
        return (min(values), max(values)) if values else None

    near, further = ends(14), ends(16)
    if near is None or further is None:
        assert term.impossible or IntegerInterval(*first).empty or IntegerInterval(*second).empty
    else:
        assert not term.impossible
        steady = [x if x == y else None for x, y in zip(near, further, strict=True)]
        assert term.values == IntegerInterval(*steady)


def test_no_test_is_dead():
    """All small subscripts over i, j and a private l: each of the six disproves some, and some are not disproved."""
    fired: Counter[str] = Counter()
    small = dict.fromkeys("ijl", (1, 3))
    for a, b, c, d, e in product((0, 1, 2), (0, 2, -1), (0, 2), (0, 2), range(-2, 5)):
        for directions in ("*=", "<*", "=>"):
            f, g = ({"i": a, "j": c}, 0), ({"i": b, "l": d}, e)
            found = disproved([f], [g], dict(zip("ij", directions, strict=True)), small, small)
            fired[found.test if found else "none"] += 1
    assert set(fired) == {*TESTS, "none"}, fired


# ----------------------------------------------------------------------------------------------------------- examples

i, j, n = ir.Index("i"), ir.Index("j"), ir.Variable("n")
WIDE = {"i": (None, None), "j": (None, None)}
SMALL = {"i": (1, 3), "j": (1, 3)}


def plus(e, k):
    return call("+", e, k)


def twice(e):
    return call("*", 2, e)


EXAMPLES = [
    (1, 2, "**", SMALL, "ZIV: 1 = 2 has no solution"),
    (plus(n, 1), n, "**", SMALL, "ZIV: n + 1 = n has no solution"),
    (plus(i, 1), i, "=*", SMALL, "strong SIV: i + 1 = i' has no solution with i = i', as i' - i must be 1"),
    (i, plus(i, 1), "<*", WIDE, "strong SIV: i = i' + 1 has no solution with i < i', as i' - i must be -1"),
    (plus(i, 5), i, "<*", SMALL, "strong SIV: i + 5 = i' has no solution with 1 <= i, i' <= 3, as i' - i must be 5"),
    (twice(i), plus(twice(i), 1), "**", WIDE,
     "strong SIV: 2 * i = 2 * i' + 1 has no solution, as i' - i must be -1/2"),
    (plus(i, n), call("-", plus(i, n), 2), ">*", WIDE,
     "strong SIV: i + n = i' + n - 2 has no solution with i > i', as i' - i must be 2"),
    (twice(i), 5, "**", WIDE, "weak-zero SIV: 2 * i = 5 has no solution, as i must be 5/2"),
    (4, i, "**", SMALL, "weak-zero SIV: 4 = i' has no solution with 1 <= i' <= 3, as i' must be 4"),
    (i, 3, "<*", SMALL, "weak-zero SIV: i = 3 has no solution with i < i' and 1 <= i, i' <= 3, as i must be 3"),
    (1, i, "<*", SMALL, "weak-zero SIV: 1 = i' has no solution with i < i' and 1 <= i, i' <= 3, as i' must be 1"),
    (i, call("-", 5, i), "=*", WIDE,
     "weak-crossing SIV: i = 5 - i' has no solution with i = i', as i + i' must be 5"),
    (i, call("-", 7, i), "**", SMALL,
     "weak-crossing SIV: i = 7 - i' has no solution with 1 <= i, i' <= 3, as i + i' must be 7"),
    (i, call("-", 2, i), "<*", SMALL,
     "weak-crossing SIV: i = 2 - i' has no solution with i < i' and 1 <= i, i' <= 3, as i + i' must be 2"),
    (twice(i), plus(call("*", 4, j), 1), "**", WIDE,
     "GCD: 2 * i = 4 * j' + 1 has no solution, as 2 does not divide 1"),
    (plus(twice(n), 1), twice(i), "**", WIDE, "GCD: 2 * n + 1 = 2 * i' has no solution, as 2 does not divide -1"),
    (call("+", call("*", 3, i), twice(j)), plus(i, 1), "=*", WIDE,
     "GCD: 3 * i + 2 * j = i' + 1 has no solution with i = i', as 2 does not divide 1"),
    (plus(i, 10), j, "**", SMALL,
     "Banerjee: i + 10 = j' has no solution with 1 <= i <= 3 and 1 <= j' <= 3, as the left side is at least 8 larger"),
    (twice(i), plus(i, 3), ">*", {"i": (3, None)},
     "Banerjee: 2 * i = i' + 3 has no solution with i > i' and 3 <= i, i', as the left side is at least 2 larger"),
    (call("+", i, j), call("+", i, j), "=>", WIDE,
     "Banerjee: i + j = i' + j' has no solution with i = i' and j > j', as the left side is at least 1 larger"),
    (call("+", i, j), call("+", i, j), "=<", WIDE,
     "Banerjee: i + j = i' + j' has no solution with i = i' and j < j', as the left side is at least 1 smaller"),
    (twice(i), call("+", i, n), "<*", {"i": (1, 1)},
     "Banerjee: 2 * i = i' + n has no solution with i < i' and 1 <= i, i' <= 1"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "g", "directions", "bounds", "reason"), EXAMPLES, ids=[e[4] for e in EXAMPLES])
def test_what_a_disproof_says(f, g, directions, bounds, reason):
    """The name of the textbook, the equation, as few premises as it needs, and why."""
    found = disprove([lift(f)], [lift(g)], dict(zip("ij", directions, strict=True)), bounds, bounds)
    assert found is not None
    assert (found.test, found.reason) == (reason.split(":")[0], reason)


def test_bounds_of_each_side_are_its_own():
    """Triangular loops: i up to 3 here and from 4 there."""
    found = disprove([i], [i], {"i": "*"}, {"i": (1, 3)}, {"i": (4, None)})
    assert found is not None
    assert found.reason == ("strong SIV: i = i' has no solution with 1 <= i <= 3 and 4 <= i', as i' - i must be 0")


def test_private_loops_of_one_name_are_two():
    """for i … c[2 * i] and for i … c[i + 3] in two loops: a solution, but none if the loop were a common one."""
    f, g = [twice(i)], [plus(i, 3)]
    assert disprove(f, g, {}, SMALL, SMALL) is None
    found = disprove(f, g, {"i": "="}, {"i": (1, 2)}, {"i": (1, 2)})
    assert found is not None and found.test == "Banerjee"


def test_an_index_is_not_the_variable_of_its_name():
    assert disprove([plus(i, 1)], [ir.Variable("i")], {}, SMALL, {}) is None
    found = disprove([plus(ir.Variable("i"), 1)], [ir.Variable("i")], {}, {}, {})
    assert found is not None and found.test == "ZIV"


def test_a_subscript_that_is_not_linear_is_skipped():
    loaded = at("A", "i")
    assert disprove([loaded, i], [loaded, i], {"i": "*"}, SMALL, SMALL) is None
    found = disprove([loaded, i], [loaded, i], {"i": "<"}, SMALL, SMALL)
    assert found is not None and found.subscript == 1


def test_what_nothing_is_known_of_may_be_equal():
    assert disprove([lift(0)], [n], {}, {}, {}) is None
    assert disprove([twice(i)], [plus(n, 1)], {"i": "*"}, SMALL, SMALL) is None
    assert disprove([lift(0)], [i], {}, {}, {}) is None
    assert disprove([lift(0)], [i], {"i": "<"}, {}, {}) is None
