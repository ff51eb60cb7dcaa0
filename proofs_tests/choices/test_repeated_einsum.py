"""Expressions that are computed again with other arrays of the same traits: by the same program, from these arrays."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import many
from wingspan import InputError, einsum
from wingspan.compiled import background

FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "csr": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_matrix,
    "coo": scipy.sparse.coo_array,
    "unsorted csr": lambda a: _reversed_rows(scipy.sparse.csr_array(a)),
    "csr in halves": lambda a: _in_halves(scipy.sparse.csr_array(a)),
    "coo in halves": lambda a: _in_halves(scipy.sparse.coo_array(a)),
    "bsr": scipy.sparse.bsr_array,
    "lil": scipy.sparse.lil_array,
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every other": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "foreign": lambda a: a.astype(">f8"),
    "lists": lambda a: a.tolist(),
}
"""Forms of a dense array."""

EXPRESSIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "C[i, j] += A[i, k] * B[k, j]": lambda a, b: a @ b,
    "C[j, i] = A[i, j] + B[i, j]": lambda a, b: (a + b).T,
    "C[i] += A[i, j] * B[i, j]": lambda a, b: (a * b).sum(axis=1),
    "C[] += A[i, j] * B[j, i]": lambda a, b: (a * b.T).sum(),
}
"""Expressions, and the same by NumPy."""


def _reversed_rows(matrix: Any) -> Any:
    """A matrix whose rows begin with their last entry."""
    for begin, end in zip(matrix.indptr, matrix.indptr[1:], strict=False):
        for array in (matrix.indices, matrix.data):
            array[begin:end] = array[begin:end][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


def _in_halves(matrix: Any) -> Any:
    """A matrix that stores each element in two halves."""
    coo = matrix.tocoo()
    rows, columns = (np.repeat(axis, 2) for axis in coo.coords)
    values = np.repeat(coo.data / 2, 2)
    if matrix.format == "coo":
        return scipy.sparse.coo_array((values, (rows, columns)), shape=matrix.shape)
    pointers = np.searchsorted(rows, np.arange(matrix.shape[0] + 1))
    return scipy.sparse.csr_array((values, columns, pointers), shape=matrix.shape)


def matrix(draw: st.DrawFn, n: int) -> np.ndarray:
    """A square array, mostly of zeros."""
    values = st.lists(st.sampled_from([0.0, 0.0, 1.0, -0.5, 4.0]), min_size=n * n, max_size=n * n)
    return np.array(draw(values)).reshape(n, n)


@settings(max_examples=many(400), deadline=None)
@given(data=st.data(), e=st.sampled_from(list(EXPRESSIONS)), forms=st.tuples(*[st.sampled_from(list(FORMS))] * 2))
def test_each_call_computes_from_the_arrays_that_it_is_given(data: Any, e: str, forms: tuple[str, str]) -> None:
    """Calls with other numbers at the same places, and at others, follow each other."""
    n = data.draw(st.integers(1, 3))
    for _ in range(3):
        a, b = (matrix(data.draw, n) for _ in forms)
        for _ in range(2):
            A, B = FORMS[forms[0]](a), FORMS[forms[1]](b)
            made = einsum(e, A=A, B=B, engine="native")
            assert np.array_equal(made.to_numpy(), EXPRESSIONS[e](a, b))
            inputs = {name: made.inputs[name] for name in made.inputs}
            (again,) = wingspan.run(made.program, inputs=inputs, engine="reference").tensors.values()
            assert np.array_equal(again.to_numpy(), made.stored.to_numpy())
        a[...] = 2 * a


def example(n: int = 4, seed: int = 1) -> tuple[Any, np.ndarray]:
    """A matrix in CSR, and a vector."""
    rng = np.random.default_rng(seed)
    return scipy.sparse.random_array((n, n), density=0.5, format="csr", rng=rng), rng.random(n)


@pytest.mark.parametrize("engine", ["native", pytest.param("compiled", marks=needs_compiler)])
def test_mistakes_in_later_calls_are_those_of_the_expression(engine: str) -> None:
    """The program calls its inputs by other names, and has their axes in another order."""
    A, x = example()
    for _ in range(2):
        einsum("y[i] += A[i, k] * x[k]", A=A, x=x, engine=engine)
    with pytest.raises(InputError, match="axis 1 of x has extent 3, and axis 2 of A has 4: k runs over both"):
        einsum("y[i] += A[i, k] * x[k]", A=A, x=x[:3], engine=engine)
    A.indices[0] = 4
    with pytest.raises(InputError, match="]: A: not a SciPy sparse array in order: an index is out of bounds"):
        einsum("y[i] += A[i, k] * x[k]", A=A, x=x, engine=engine)


def test_a_repeated_result_is_pickled_with_its_inputs() -> None:
    A, x = example()
    for _ in range(2):
        made = einsum("y[i] += A[i, k] * x[k]", A=A, x=x, engine="native")
    copy = pickle.loads(pickle.dumps(made))
    assert np.array_equal(copy.to_numpy(), A @ x)
    assert {name: copy.inputs[name].shape for name in copy.inputs} == {
        name: made.inputs[name].shape for name in made.inputs
    }


@needs_compiler
def test_c_takes_over_when_many_calls_are_worth_compiling_it() -> None:
    A, x = example(300, 2)
    engines = []
    for _ in range(6):
        engines.append(einsum("y[i] += A[i, k] * x[k]", A=A, x=x, threads=1).engine)
        background.wait_for_all()
    assert engines[0] == "native" and engines[-1] == "compiled"
    assert engines == sorted(engines, reverse=True)
    assert np.allclose(einsum("y[i] += A[i, k] * x[k]", A=A, x=x, threads=1).to_numpy(), A @ x)
