"""Products taken apart: by every division of its factors, a product is what it is by one nest of loops."""

from __future__ import annotations

import re
from functools import reduce
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from wingspan import Tensor, api
from wingspan.api.expressions import einsum
from wingspan.choices.contractions import StepBudget, enumerate_contractions, factors, is_reassociable
from wingspan.choices.reading import read_einsum

SEMIRINGS = {
    "*": ["+=", "-="],
    "+": ["<<min>>=", "<<max>>="],
    "min": ["<<min>>=", "<<max>>="],
    "max": ["<<min>>=", "<<max>>="],
    "&&": ["<<||>>=", "<<&&>>="],
    "||": ["<<||>>=", "<<&&>>="],
}
DTYPES: list[type] = [np.int64, np.float64]


def budgets(text: str, **inputs: Any) -> list[StepBudget]:
    """The ways to compute an expression."""
    return enumerate_contractions(*read_einsum(api.parse(text).tree, inputs))


@st.composite
def products(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A reduction of two to four factors over up to four indices, with its inputs: small whole numbers, or booleans."""
    op = draw(st.sampled_from(sorted(SEMIRINGS)))
    extents = {index: draw(st.sampled_from([1, 2, 2, 3, 3, 0])) for index in "ijkl"}
    inputs: dict[str, Any] = {}
    written = []
    for name in "ABDE"[: draw(st.integers(2, 4))]:
        axes = draw(st.lists(st.sampled_from("ijkl"), min_size=1, max_size=2))
        inputs[name] = draw(arrays([extents[index] for index in axes], op in ("&&", "||")))
        written.append(draw(factor(f"{name}[{', '.join(axes)}]", axes[0], op)))
    used = sorted({index for factor in written for index in "ijkl" if f"{index}," in factor or f"{index}]" in factor})
    output = draw(st.lists(st.sampled_from(used), unique=True, max_size=2))
    value = reduce(lambda x, y: f"{op}({x}, {y})" if op in ("min", "max") else f"{x} {op} {y}", written)
    return f"C[{', '.join(output)}] {draw(st.sampled_from(SEMIRINGS[op]))} {value}", inputs


@st.composite
def arrays(draw: st.DrawFn, shape: list[int], logical: bool) -> Any:
    """An array of few kinds of elements, dense or sparse, with all elements stored, some or none."""
    size = int(np.prod(shape))
    some = np.array(draw(st.lists(st.sampled_from([0, 0, 1, 2, -3]), min_size=size, max_size=size)))
    array: np.ndarray = some.reshape(shape).astype(bool if logical else draw(st.sampled_from(DTYPES)))
    form = draw(st.sampled_from(["dense", "filled", "csr", "csc"]))
    if form == "filled":
        fill = draw(st.sampled_from([False, True] if logical else [0, 1]))
        value = str(array.dtype.type(fill)).lower()
        levels = draw(st.sampled_from(["SparseList", "Dense", "SparseByteMap"]))
        tower = f"{levels}(" + ("SparseList(" if len(shape) > 1 else "") + f"Element({value})" + ")" * len(shape)
        return Tensor.from_numpy(tower, array)
    return scipy.sparse.coo_array(array).asformat(form) if form != "dense" and len(shape) == 2 else array


def factor(access: str, index: str, op: str) -> st.SearchStrategy[str]:
    """An access, or an expression with it."""
    if op in ("&&", "||"):
        return st.sampled_from([access, access, f"!{access}", f"({access} != ({index} > 1))"])
    return st.sampled_from(
        [access, access, f"({access} - 1)", f"max({access}, {index})", f"ifelse({access} > 0, 2, 0)"]
    )


def value(way: StepBudget, axes: tuple[str, ...], engine: str) -> np.ndarray:
    """The value of a program, by an engine; the level dependence test accepts the program."""
    text, inputs = way.program()
    program = api.parse(text)
    assert api.check(program, test="exact", budget=0).verdict == "safe"
    tensors = {name: operand.tensor(order) for name, (operand, order) in inputs.items()}
    made = api.run(program, engine=engine, inputs=tensors).tensors[program.tree.returns[0]]
    levels = way.nests[-1].order[::-1]
    return np.asarray(made).transpose([levels.index(axis) for axis in range(len(axes))])


@settings(max_examples=many(800), deadline=None)
@given(products(), st.booleans())
def test_every_way_to_compute_a_product_is_the_reference(drawn: tuple[str, dict[str, Any]], begun: bool) -> None:
    """Of random semirings, factors and formats, on extents from 0, some all fill, some all stored. Sums are exact."""
    text, inputs = drawn
    init = None if not begun else True if "&&>>" in text or "||>>" in text else 2
    what, operands = read_einsum(api.parse(text).tree, inputs, init)
    every = enumerate_contractions(what, operands)
    wanted = value(next(way for way in every if len(way.nests) == 1), what.axes, "reference")
    assert not factors(what) or is_reassociable(what, operands)
    for way in every:
        if len(way.nests) > 1:
            made = value(way, what.axes, "native")
            assert made.dtype == wanted.dtype
            np.testing.assert_array_equal(made, wanted)


# ------------------------------------------------------------------------------------------------------ what is chosen

A = scipy.sparse.random_array((60, 60), density=0.3, format="csr", rng=1)
D, X = np.ones((60, 60)), np.arange(60.0)

CHOSEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "y[i] += A[i, k] * B[k, j] * x[j]": (
        {"A": A, "B": A, "x": X}, ["t[k] += BT[j, k] * x[j]", "y[i] += AT[k, i] * t[k]"]
    ),
    "y[i] += x[i] * A[k, i] * B[k, j]": (
        {"A": A, "B": A, "x": X}, ["t[k] += BT[j, k]", "y[i] += x[i] * AT[i, k] * t[k]"]
    ),
    "s[] += x[i] * z[j]": ({"x": X, "z": X}, ["t[] += z[j]", "s[] += x[i] * t[]"]),
    "y[i] -= 2 * A[i, k] * x[j]": ({"A": A, "x": X}, ["t[] += x[j]", "y[i] -= AT[k, i] * 2 * t[]"]),
    "M[i, r] += A[i, k] * D[k, j] * E[j, r]": (
        {"A": A, "D": D, "E": D[:, :3]}, ["t[k, r] += DT[j, k] * E[j, r]", "M[i, r] += AT[k, i] * t[k, r]"]
    ),
    "C[i, l] <<min>>= D[i, j] + E[j, k] + F[k, l]": (
        {"D": D, "E": D, "F": D}, ["t[l, j] <<min>>= ET[k, j] + FT[l, k]", "CT[l, i] <<min>>= DT[j, i] + t[l, j]"]
    ),
    "C[i, j] += S[i, j] * D[i, k] * E[j, k]": (
        {"S": A, "D": D, "E": D}, ["CT[j, i] += ST[j, i] * DT[k, i] * ET[k, j]"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", CHOSEN)
def test_the_chosen_division_is_the_one_by_hand(text: str) -> None:
    """Factors that lack an index stay out of its reduction where that is less work: not in a sampled product."""
    inputs, statements = CHOSEN[text]
    best = budgets(text, **inputs)[0]
    updates = re.findall(r"^ *(\S+\[.*\] (?:[+-]=|<<min>>=) .*)$", best.program()[0], re.MULTILINE)
    assert updates == statements


def test_the_value_is_that_of_the_program_that_is_shown() -> None:
    """It has all steps, runs again, and passes the exact test as a whole."""
    made = einsum("C[i, l] += A[i, k] * B[k, j] * E[j, l]", A=A, B=D, E=D[:, :3], engine="native")
    assert made.reason.count("; then loops") == 1 and str(made.program).count(".= 0") == 2
    assert made.check().verdict == "safe"
    again = api.run(made.program, inputs=made.inputs).tensors[made.program.tree.returns[0]]
    np.testing.assert_array_equal(again.to_numpy(), made.stored.to_numpy())
    np.testing.assert_allclose(made.to_numpy(), A @ D @ D[:, :3])


def test_every_step_runs_in_parallel_where_that_pays() -> None:
    """The intermediate result and the result, each by its outermost loop; the test accepts the program as a whole."""
    made = einsum("C[i, l] += A[i, k] * B[k, j] * E[j, l]", A=A, B=D, E=D, threads=2, engine="native")
    assert str(made.program).count("parallel(_, dev)") == 2 and "\nfor k = parallel(_, dev)\n" in str(made.program)
    assert made.check().verdict == "safe"
    np.testing.assert_allclose(made.to_numpy(), A @ D @ D)


FEW = scipy.sparse.csr_array(np.where(np.arange(12) < 3, 1, np.zeros((12, 12), np.int64)))
"""It reads three rows of what the next ones compute."""
ONES = np.ones((12, 12))
CHAIN = "y[i] += A[i, k] * B[k, j] * x[j]"


def unread(value: float) -> np.ndarray:
    """A matrix with a value in the rows that are not read."""
    return np.where(np.arange(12)[:, None] < 3, 0 * value, np.full((12, 12), value))


UNBOUNDED: dict[str, tuple[str, Any, Any, Any, float]] = {
    "an integer would overflow": (CHAIN, FEW, unread(2**40), np.full(12, 2**40), 0),
    "the sum of integers would": (CHAIN, FEW, unread(2**30), np.full(12, 2**30), 0),
    "Inf would be multiplied by a sum": (CHAIN, FEW * np.inf, np.resize([3.0, -2.0], (12, 12)), ONES[0], np.nan),
    "zero would be multiplied by Inf": (CHAIN, FEW.toarray(), unread(1e200), np.full(12, 1e200), 0),
    "a NaN would be": (CHAIN, FEW.toarray(), unread(1.0), np.full(12, np.nan), np.nan),
    "a quotient would be a fault": ("y[i] += A[i, k] * (B[k, j] / x[k])", FEW, ONES, (np.arange(12) < 3) / 1, 36),
}


@pytest.mark.parametrize("why", UNBOUNDED)
def test_a_product_is_not_taken_apart_where_that_could_be_seen(why: str) -> None:
    """By intermediate results it would be a fault, Inf or NaN where one nest gives a number, or the reverse."""
    text, a, b, x, wanted = UNBOUNDED[why]
    made = einsum(text, engine="native", A=a, B=b, x=x)
    assert "then" not in made.reason
    np.testing.assert_array_equal(made.to_numpy(), np.full(12, wanted))
    assert len(budgets(text, A=a, B=b, x=x)[0].nests) == 2
    ones = np.ones_like(b)
    assert is_reassociable(*read_einsum(api.parse(text).tree, {"A": FEW, "B": ones, "x": ones[0]})) == (text == CHAIN)


def test_elements_of_one_place_are_added_before_they_are_bounded() -> None:
    twice = scipy.sparse.coo_array(([2**61, 2**61], ([0, 0], [1, 1])), shape=(2, 2))
    what, operands = read_einsum(api.parse("y[i] += A[i, k] * x[j]").tree, {"A": twice, "x": np.ones(2, np.int64)})
    assert operands["A"].largest == 2.0**62 and not is_reassociable(what, operands)
    assert twice.nnz == 2


@pytest.mark.parametrize("small, apart", [(1e-200, False), (1e-100, True)])
def test_products_that_might_become_zero_are_not_taken_apart(small: float, apart: bool) -> None:
    given: dict[str, Any] = {"A": np.full((2, 2), 1e300), "B": np.full((2, 2), small), "x": np.full(2, small)}
    what, operands = read_einsum(api.parse("y[i] += A[i, j] * B[j, k] * x[k]").tree, given)
    assert is_reassociable(what, operands) == apart
    np.testing.assert_allclose(einsum("y[i] += A[i, j] * B[j, k] * x[k]", **given), 4 * 1e300 * small * small)
