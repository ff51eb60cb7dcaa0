"""Subscripts `i + k`, which loops enter as views, and `~`, which reads beyond the ends of an axis.

Costs are numbers of accesses to buffers, counted on the plan under the controlled scheduler.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from proofs_tests.effort import few
from proofs_tests.places import EXAMPLES
from proofs_tests.plan.test_looplets import assert_same, counts
from wingspan import api
from wingspan.base.errors import Fault, ParseError, ProgramError
from wingspan.elaborate import Elaborated
from wingspan.plan.ir import walk
from wingspan.plan.pipeline import lower
from wingspan.testing import compare

ENGINES = ("semantics", "reference", "native", "native-controlled")
FORMATS = tuple(
    f"{level}(Element(0))"
    for level in ("Dense", "SparseList", "SparseDict", "SparseByteMap", "RunList", "SparseRunList",
                  "SparseBlockList", "SparseBand", "SparseInterval", "SparsePoint")
)  # fmt: skip
RUNS = ("RunList(Element(0))", "SparseRunList(Element(0))")
STENCIL = """
A = Tensor({form})
C = Tensor({form}, {n})
C .= 0
for i = 1:{n}
    C[i] = coalesce(A[~(i - 1)], 0) + A[i] + coalesce(A[~(i + 1)], 0)
return C
"""
SHIFTED = """
A = Tensor({form})
y = Tensor(Dense(Element(0)), {length})
y .= 0
for k = {by}:{by}
    for i = 1:{length}
        y[i] += 3 * coalesce(A[~(i + k)], {z}) + coalesce(A[~(k - i)], 7)
return y
"""


WHOLE = """
A = Tensor({form})
B = Tensor({form})
c = Scalar(0)
C = Tensor({result}, {n})
c .= 0
C .= 0
for i = 1:{n}
    {update}
return c, C
"""
BOUNDARY = "C[i] += coalesce(A[~(i - 1)], 7)"
"""Stores a zero wherever A has none: only where it is evaluated is it known which value of the choice it takes."""
CHOICES = {
    BOUNDARY: lambda a, b: np.append(7, a[1:-2])[: len(a) - 2],
    "c[] += coalesce(A[~i] * B[i], 0)": lambda a, b: a[1:-1] @ b[1:-1],
    "c[] += coalesce(A[~(i + 1)] * B[~(i - 1)], 0)": lambda a, b: a[2:] @ b[:-2],
    "c[] += coalesce(A[~(i - 1)], 7) * B[i]": lambda a, b: a[:-2] @ b[1:-1] + 7 * b[1],
    "C[i] += coalesce(A[~(i - 1)] + A[i] + B[~(i + 1)], 0)": (lambda a, b: np.pad((a[:-2] + a[1:-1] + b[2:])[1:-1], 1)),
    "C[i] += ifelse(i > 2, A[i], 0)": lambda a, b: np.where(np.arange(len(a) - 2) > 1, a[1:-1], 0),
    "if i > 2\n        C[i] += A[i]": lambda a, b: np.where(np.arange(len(a) - 2) > 1, a[1:-1], 0),
    "C[i] += ifelse(A[i] > 1, A[i] * B[i], 0)": lambda a, b: np.where(a > 1, a * b, 0)[1:-1],
}
"""Updates by expressions that hold a choice, and what they make of two vectors with a zero before and after them."""


def vector(n: int, form: str) -> np.ndarray:
    """Elements that the format can hold: one run, or only one of them, where that is all that it has."""
    x = np.zeros(n, int)
    if "Interval" in form:
        x[n // 3 : n // 2] = 3
    elif "Point" in form:
        x[n // 2 : n // 2 + 1] = 4
    else:
        x[:] = np.random.default_rng(n).integers(-1, 3, n)
    return x


def agreed(bound: Elaborated) -> dict[str, np.ndarray]:
    """The results, on which all engines agree."""
    found = compare(bound, [api.engine(name) for name in ENGINES])
    assert found.difference is None and not found.left_out
    return {name: tensor.to_numpy() for name, tensor in api.run(bound, engine="native").tensors.items()}


def elements(x: np.ndarray, at: np.ndarray, z: int) -> np.ndarray:
    """Elements at indices from 1, and z beyond the ends."""
    inside = (at >= 1) & (at <= len(x))
    return np.where(inside, x[np.clip(at - 1, 0, max(len(x) - 1, 0))] if len(x) else z, z)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("n", few([5, 0, 1, 2], 1))
def test_a_view_has_what_the_fiber_has_further_on(form: str, n: int) -> None:
    """Beyond its ends, where all of it lies beyond them, and with a value other than that of the format's fill."""
    x = vector(n, form)
    for by, z, length in list(product((-6, -1, 0, 1, 2), (0, 5), (0, 1, 4)))[n::5]:
        made = agreed(api.bind(api.parse(SHIFTED.format(form=form, by=by, z=z, length=length)), inputs={"A": x}))
        i = np.arange(1, length + 1)
        assert (made["y"] == 3 * elements(x, i + by, z) + elements(x, by - i, 7)).all(), (by, z, length)


@pytest.mark.parametrize("level", ["RunList", "SparseRunList", "SparseList"])
def test_a_stencil_costs_runs_and_entries_and_not_indices(level: str) -> None:
    def cost(n: int) -> object:
        x = np.zeros(n, int)
        x[n // 3 : n // 3 + 12 if level == "SparseList" else n // 2] = 3
        x[-1] = 5
        bound = api.bind(api.parse(STENCIL.format(form=f"{level}(Element(0))", n=n)), inputs={"A": x})
        assert (agreed(bound)["C"] == np.convolve(x, [1, 1, 1], "same")).all()
        return counts(bound)

    assert cost(60) == cost(180)


def choosing(update: str, form: str, result: str, a: Any, b: Any) -> Elaborated:
    """A loop with one update, over vectors of a format, and the fill value of each."""
    text = WHOLE.format(form=form, result=result, n=len(a), update=update)
    return api.bind(api.parse(text), inputs={"A": a} | ({"B": b} if "B[" in update else {"B": 0 * np.asarray(b)}))


@pytest.mark.parametrize("form", [*(form for form in FORMATS if form.startswith("S")), "SparseList(Element(0.0))"])
@pytest.mark.parametrize("update", few([update for update in CHOICES if update != BOUNDARY], 1))
def test_an_expression_that_may_be_missing_costs_entries_and_not_indices(update: str, form: str) -> None:
    """`coalesce(A[~i] * B[i], 0)` visits what `A[i] * B[i]` does; before and after an axis there are no entries."""

    def cost(n: int) -> int:
        a, b = np.zeros((2, n), int)
        a[10:14], b[11:13] = 3, 2
        if "Point" in form:
            a[11:] = b[12:] = a[10] = 0
        result = form if form in RUNS else "SparseDict(Element(0))"
        bound = choosing(update, form, result, a, b)
        found = agreed(bound)["c" if update.startswith("c") else "C"]
        assert (found == CHOICES[update](np.pad(a, 1), np.pad(b, 1))).all()
        return counts(bound).total()

    assert cost(180) <= cost(60)


def test_a_product_in_a_choice_reads_what_both_have() -> None:
    """Two vectors of four elements, none of which meet."""
    a, b = np.zeros((2, 60), int)
    a[10:14] = b[40:44] = 3
    update = "c[] += coalesce(A[~(i + 1)] * B[~(i - 1)], 0)"
    found = counts(choosing(update, "SparseList(Element(0))", "SparseList(Element(0))", a, b))
    assert found["A.val"] == found["B.val"] == 0


@pytest.mark.parametrize("form", few(["Dense(Element(0))", "SparseList(Element(0))", "RunList(Element(0))"], 1))
@pytest.mark.parametrize("update", CHOICES)
def test_a_loop_with_a_choice_stores_what_the_rules_store(update: str, form: str) -> None:
    """Also at indices where the choice is zero, if an element is read there that is stored."""
    for n in (1, 4):
        a, b = np.random.default_rng(n).integers(0, 3, (2, n))
        for result in ("SparseDict(Element(0))", *RUNS):
            assert_same(choosing(update, form, result, a, b), Counter(), False)


def test_an_integer_zero_in_a_choice_between_doubles_is_data() -> None:
    """Times Inf it is NaN, as where the choice is made while the program runs; both values of a choice are doubles."""
    text = "A = Tensor(SparseList(Element(0)))\nB = Tensor(Dense(Element(0.0)))\ny = Tensor(Dense(Element(0.0)), 3)\n"
    text += "y .= 0\nfor i = 1:3\ny[i] += coalesce(A[~(i - 1)] * B[i], 5.0)\nend\nreturn y"
    bound = api.bind(api.parse(text), inputs={"A": [0, 2, 0], "B": [1.0, np.inf, 3.0]})
    assert np.array_equal(agreed(bound)["y"], [5.0, np.nan, 6.0], equal_nan=True)


def test_the_middle_of_a_dense_stencil_compares_nothing() -> None:
    """Three loads of A at each index but the first and the last, which have two."""
    x = np.arange(20)
    bound = api.bind(api.parse(STENCIL.format(form="Dense(Element(0))", n=20)), inputs={"A": x})
    assert (agreed(bound)["C"] == np.convolve(x, [1, 1, 1], "same")).all()
    assert counts(bound)["A.val"] == 3 * 20 - 2


def test_many_views_do_not_make_a_plan_of_all_their_windows() -> None:
    """Five windows that may overlap in any way; a body for each way would be 3⁵ of them."""

    def size(views: int) -> int:
        total = " + ".join(f"coalesce(A[~(i + k{v})], 0)" for v in range(views))
        heads = "".join(f"for k{v} = {v}:{v + 1}\n" for v in range(views))
        text = "A = Tensor(Dense(Element(0)))\ny = Tensor(Dense(Element(0)), 9)\ny .= 0\n"
        text += f"{heads}for i = 1:9\ny[i] += {total}\n" + "end\n" * (views + 1) + "return y"
        bound = api.bind(api.parse(text), inputs={"A": np.arange(1, 8)})
        agreed(bound)
        return sum(1 for _ in walk(lower(bound).body))

    assert size(5) < 8 * size(2)


def test_without_a_tilde_an_index_beyond_the_end_is_a_fault() -> None:
    """The fault occurs if the index is reached, and in every engine."""
    text = "A = Tensor(SparseList(Element(0)))\ns = Scalar(0)\ns .= 0\nfor i = 1:3\ns[] += A[i + 1]\nend\nreturn s"
    program = api.parse(text)
    assert int(agreed(api.bind(program, inputs={"A": [1, 2, 3, 4]}))["s"]) == 9
    for engine in ENGINES:
        with pytest.raises(Fault, match=r"A has the indices 1:3 on axis 1, got 4"):
            api.run(program, inputs={"A": [1, 2, 3]}, engine=engine)


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        ("y[i] += A[~(i + 1)]", ProgramError, r"A\[~\(i \+ 1\)\] is missing where ~ leaves the axis"),
        ("y[i] += coalesce(A[~(i + 1)])", ProgramError, r"A\[~\(i \+ 1\)\] is missing where ~ leaves the axis"),
        ("y[i] += coalesce(A[~i], A[A[i]])", ParseError, "so it cannot search here"),
        ("y[i] += coalesce(A[~i], true)", ProgramError, r"coalesce takes an integer, A\[~i\], or a boolean, true"),
    ],
)  # fmt: skip
def test_what_cannot_be_missing_is_one_clear_error(statement: str, error: type[Exception], message: str) -> None:
    tensors = "A = Tensor(Dense(Element(0)), [1, 2])\ny = Tensor(Dense(Element(0)), 2)"
    text = f"{tensors}\ny .= 0\nfor i = 1:2\n{statement}\nend"
    with pytest.raises(error, match=message) as raised:
        api.bind(api.parse(text))
    assert raised.value.fix  # type: ignore[attr-defined]


def test_a_plan_does_not_double_with_each_view() -> None:
    """Windows that all differ, whose order is not known: twice as many views make a plan at most twice as long."""

    def size(views: int) -> int:
        total = " + ".join(f"coalesce(A[~(i - {k} * j + {k})], 0)" for k in range(1, views + 1))
        text = "A = Tensor(Dense(Element(0)), 9)\ny = Tensor(Dense(Element(0)), 9)\nA .= 1\ny .= 0\nfor j = 1:2\n"
        bound = api.bind(api.parse(f"{text}for i = 1:9\ny[i] += {total}\nend\nend\nreturn y"))
        return sum(1 for _ in walk(lower(bound).body))

    assert size(8) < 2 * size(4)


@pytest.mark.parametrize(("n", "name"), few(list(product((0, 5, 1, 2), ("stencil", "stencil_2d"))), 3))
def test_the_stencils_of_the_examples(name: str, n: int) -> None:
    """On one to three threads, dealt statically and dynamically; and C computes the same."""
    x = np.random.default_rng(n).integers(0, 3, (n, n + 1)).astype(float)
    p = np.pad(x, 1)
    expected = {
        "stencil": np.pad(x[:, 0], 1)[:-2] + x[:, 0] + np.pad(x[:, 0], 1)[2:],
        "stencil_2d": p[1:-1, 1:-1] + p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:],
    }[name]
    inputs = {"x": x[:, 0].astype(int)} if name == "stencil" else {"X": x}
    for nt, sch in ((1, "static_schedule()"), (2, "dynamic_schedule(1)"), (3, "static_schedule()")):
        bound = api.bind(EXAMPLES / f"{name}.ws", inputs=inputs, params={"nt": nt, "sch": sch})
        (made,) = agreed(bound).values()
        assert (made == expected).all()


@pytest.mark.parametrize("axis", ["~(i + 1), j", "i, ~(j + 1)", "~(i - 1), ~(j + 1)"])
def test_a_view_of_a_column_ends_with_it(axis: str) -> None:
    """Beyond lies the next column, whose elements differ from the fill value."""
    text = "A = Tensor(Dense(Dense(Element(0))))\nY = Tensor(Dense(Dense(Element(0))), 3, 2)\nY .= 0\nfor j = 1:2\n"
    text += f"for i = 1:3\nY[i, j] += coalesce(A[{axis}], 0)\nend\nend\nreturn Y"
    A = np.arange(1, 7).reshape(3, 2)
    by_row, by_column = {"~(i + 1), j": (1, 0), "i, ~(j + 1)": (0, 1)}.get(axis, (-1, 1))
    expected = np.pad(A, 1)[1 + by_row : 4 + by_row, 1 + by_column : 3 + by_column]
    assert (agreed(api.bind(api.parse(text), inputs={"A": A}))["Y"] == expected).all()
