"""Relations between iterations have the solutions that their words say, found by trying all pairs of a small box."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product

import islpy as isl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from wingspan.dependence import relations as r
from wingspan.lang import ir

BOX = range(-3, 4)
NAMES = ("x0", "x1", "y0", "y1")
Point = dict[str, int]
Holds = Callable[[Point], bool]
OPERATORS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def solutions(relation: r.Relation) -> set[tuple[int, ...]]:
    """The solutions in the box, as isl counts them."""
    box = r.all_of(r.TermComparison(ir.Index(name), op, ir.Literal(end)) for name in NAMES for op, end in ENDS)
    found: set[tuple[int, ...]] = set()

    def note(point: isl.Point) -> None:
        found.add(tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(len(NAMES))))

    r.solutions(NAMES, relation & box).foreach_point(note)
    return found


ENDS = ((">=", BOX[0]), ("<=", BOX[-1]))


def expected(holds: Holds) -> set[tuple[int, ...]]:
    """The solutions in the box, one after the other."""
    return {values for values in product(BOX, repeat=len(NAMES)) if holds(dict(zip(NAMES, values, strict=True)))}


@st.composite
def terms(draw: st.DrawFn, names: tuple[str, ...]) -> tuple[ir.Expression, Callable[[Point], int]]:
    """An affine term, and its value at a point."""
    name, k = draw(st.sampled_from(names)), draw(st.integers(1, 3))
    variable, number = ir.Index(name), ir.Literal(k)
    values: list[tuple[ir.Expression, Callable[[Point], int]]] = [
        (number, lambda p: k),
        (variable, lambda p: p[name]),
        (ir.Call("-", (variable,)), lambda p: -p[name]),
        (ir.Call("+", (variable, number)), lambda p: p[name] + k),
        (ir.Call("*", (number, variable)), lambda p: k * p[name]),
        (ir.Call("÷", (variable, number)), lambda p: p[name] // k),
        (ir.Call("%", (ir.Call("-", (variable, number)), number)), lambda p: (p[name] - k) % k),
    ]
    return draw(st.sampled_from(values))


@st.composite
def conditions(draw: st.DrawFn, names: tuple[str, ...] = NAMES, depth: int = 2) -> tuple[r.Relation, Holds]:
    """A relation, and whether it holds at a point."""
    kind = draw(st.sampled_from(["compare", "and", "or", "not", "exists"] if depth else ["compare"]))
    if kind == "compare":
        (left, a), (right, b) = draw(terms(names)), draw(terms(names))
        op = draw(st.sampled_from(sorted(OPERATORS)))
        return r.TermComparison(left, op, right), lambda p: OPERATORS[op](a(p), b(p))
    if kind == "exists" and "w0" not in names:
        one, holds = draw(conditions((*names, "w0"), depth - 1))
        inside = r.all_of(r.TermComparison(ir.Index("w0"), op, ir.Literal(end)) for op, end in ENDS)
        return r.Exists(("w0",), one & inside), lambda p: any(holds({**p, "w0": w}) for w in BOX)
    one, holds = draw(conditions(names, depth - 1))
    if kind == "not":
        return ~one, lambda p: not holds(p)
    other, also = draw(conditions(names, depth - 1))
    return (
        (one | other, lambda p: holds(p) or also(p)) if kind == "or" else (one & other, lambda p: holds(p) and also(p))
    )


@settings(max_examples=many(40), deadline=None)
@example((~r.TRUE | r.FALSE, lambda p: False))
@example((r.TRUE & ~r.FALSE, lambda p: True))
@given(conditions())
def test_joined_relations_have_the_solutions_of_their_parts(case):
    relation, holds = case
    assert solutions(relation) == expected(holds)


def before(p: Point, one: list[str], other: list[str]) -> bool:
    return [p[name] for name in one] < [p[name] for name in other]


X, Y, W = r.index("x", 0), r.index("y", 0), r.index("w", 0)
TWO = ir.Literal(2)
BETWEEN = r.Exists(("w0",), r.TermComparison(X, "<", W) & r.TermComparison(W, "<", Y))
NAMED: dict[str, tuple[r.Relation, Holds]] = {
    "differs": (r.differs(1), lambda p: p["x1"] != p["y1"]),
    "agree": (r.agree([0, 1]), lambda p: (p["x0"], p["x1"]) == (p["y0"], p["y1"])),
    "equal indices": (r.equal_indices([0, 1], [1, 0]), lambda p: (p["x0"], p["x1"]) == (p["y1"], p["y0"])),
    "unequal indices": (r.unequal_indices([0, 1], [1, 0]), lambda p: (p["x0"], p["x1"]) != (p["y1"], p["y0"])),
    "not before": (r.not_before([0, 1], [1, 0]), lambda p: not before(p, ["x0", "x1"], ["y1", "y0"])),
    "not before, exchanged": (r.not_before([0], [1], "yx"), lambda p: not before(p, ["y0"], ["x1"])),
    "a quotient": (r.TermComparison(ir.Call("÷", (X, TWO)), "==", Y), lambda p: p["x0"] // 2 == p["y0"]),
    "a remainder": (r.TermComparison(ir.Call("%", (X, TWO)), "==", Y), lambda p: p["x0"] % 2 == p["y0"]),
    "one in between": (BETWEEN, lambda p: p["y0"] - p["x0"] > 1),
    "none in between": (~BETWEEN, lambda p: p["y0"] - p["x0"] <= 1),
    "no index to compare": (r.unequal_indices([], []), lambda p: False),
    "no index to order": (r.not_before([], []), lambda p: True),
}


@pytest.mark.parametrize("name", NAMED)
def test_each_named_condition_says_what_its_docstring_says(name):
    relation, holds = NAMED[name]
    assert solutions(relation) == expected(holds)


def test_a_parameter_has_one_value_for_both_iterations():
    n = ir.Variable("n")
    both = r.TermComparison(r.index("x", 0), "==", n) & r.TermComparison(r.index("y", 0), "==", n)
    assert r.solutions(NAMES, both & r.differs(0)).is_empty()
    assert not r.solutions(NAMES, both).is_empty()


def test_relations_are_found_again_however_they_were_joined():
    """An answer is looked up by its relation."""
    a, b, c = r.differs(0), r.differs(1), r.agree([0, 1])
    assert (a & b) & c == a & (b & c) == r.all_of([r.TRUE, a, b, c])
    assert hash((a | b) | c) == hash(a | (b | c))
    assert a & b != a | b
