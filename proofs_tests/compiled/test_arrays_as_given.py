"""Arrays of SciPy and NumPy in every shape that users have: kernels read them, convert them, or refuse them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import copy
from functools import cache
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import many
from proofs_tests.places import ROOT
from wingspan import InputError

pytestmark = needs_compiler

EXAMPLES = ROOT / "examples"
SPMV = """
x = Tensor(Dense(Element(0.0)))
y = Tensor(Dense(Element(0.0)))
y .= 0
for j = _
    for i = _
        y[j] += A[i, j] * x[i]
return y
"""
"""A product with the transpose of a matrix."""


@cache
def kernel_of(name: str) -> wingspan.Kernel:
    """A kernel, the same for all cases: its later calls find what the earlier ones have prepared."""
    source: str | Path | wingspan.Program = wingspan.parse(SPMV) if name == "spmv" else EXAMPLES / f"{name}.ws"
    return wingspan.compile(source, params={} if name == "spmv" else {"nt": 2, "sch": "dynamic_schedule(1)"})


def wide(matrix: Any) -> Any:
    """A matrix with indices and pointers of 64 bits."""
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def mixed(matrix: Any) -> Any:
    """A matrix with indices of 32 bits, and pointers of 64."""
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


def unsorted(matrix: Any) -> Any:
    """A matrix whose columns begin with their last entry."""
    made = matrix.tocsr().tocsc()
    for begin, end in zip(made.indptr, made.indptr[1:], strict=False):
        for array in (made.indices, made.data):
            array[begin:end] = array[begin:end][::-1].copy()
    made.has_sorted_indices = False
    return made


def duplicated(matrix: Any) -> Any:
    """A matrix that stores each element in two halves."""
    coo = matrix.tocoo()
    rows, columns = (np.repeat(axis, 2) for axis in coo.coords)
    order = np.argsort(columns, kind="stable")
    pointers = np.searchsorted(columns[order], np.arange(matrix.shape[1] + 1))
    return scipy.sparse.csc_array((np.repeat(coo.data / 2, 2)[order], rows[order], pointers), shape=matrix.shape)


def read_only(matrix: Any) -> Any:
    """A matrix that nobody may write through its arrays."""
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    return matrix


def strided(matrix: Any) -> Any:
    """A matrix whose arrays are every other cell of larger ones."""
    for name in ("data", "indices", "indptr"):
        setattr(matrix, name, np.repeat(getattr(matrix, name), 2)[::2])
    return matrix


def foreign(matrix: Any) -> Any:
    """A matrix with elements in the other byte order."""
    matrix.data = matrix.data.astype(matrix.data.dtype.newbyteorder())
    return matrix


def longer(matrix: Any) -> Any:
    """A matrix whose arrays go on after its last entry."""
    matrix.data, matrix.indices = np.append(matrix.data, 7.0), np.append(matrix.indices, np.int32(0))
    return matrix


FORMS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda m: m,
    "matrix": scipy.sparse.csc_matrix,
    "wide": wide,
    "mixed": mixed,
    "unsorted": unsorted,
    "duplicated": duplicated,
    "read-only": read_only,
    "strided": strided,
    "foreign": foreign,
    "longer": longer,
    "narrow": lambda m: m.astype(np.float32),
    "whole": lambda m: (m * 4).astype(np.int64),
    **{name: methodcaller("asformat", name) for name in ("csr", "coo", "bsr", "dia", "dok", "lil")},
    "dense": lambda m: m.toarray(),
    "dense rows": lambda m: np.asfortranarray(m.toarray())[:, ::-1][:, ::-1],
}
"""Forms of a matrix, given in CSC with 32 bits."""


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Any, Any]:
    """Two matrices of one shape, often with one pattern, with zeros that are stored."""
    shape = draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    size = shape[0] * shape[1]
    pattern = st.lists(st.booleans(), min_size=size, max_size=size)
    first = draw(pattern)
    second = first if draw(st.booleans()) else draw(pattern)
    values = st.lists(st.sampled_from([0.0, 1.0, -0.5, 4.0]), min_size=size, max_size=size)
    return tuple(csc(shape, np.array(stored, dtype=bool), np.array(draw(values))) for stored in (first, second))


def csc(shape: tuple[int, int], stored: np.ndarray, values: np.ndarray) -> Any:
    """A CSC array that stores some of the values, zeros too."""
    columns, rows = np.nonzero(stored.reshape(shape[::-1]))
    pointers = np.searchsorted(columns, np.arange(shape[1] + 1)).astype(np.int32)
    made = scipy.sparse.csc_array((values[stored.astype(bool)], rows.astype(np.int32), pointers), shape=shape)
    assert made.indices.dtype == made.indptr.dtype == np.int32
    return made


@pytest.mark.parametrize("name", ["spadd", "hadamard"])
@settings(max_examples=many(600), deadline=None)
@given(drawn=matrices(), forms=st.tuples(st.sampled_from(list(FORMS)), st.sampled_from(list(FORMS))))
def test_sums_and_products_are_those_of_dense_arrays(name: str, drawn: tuple[Any, Any], forms: tuple[str, str]) -> None:
    """The second call has what the first one prepared; matrices that were given are as they were."""
    kernel = kernel_of(name)
    A, B = (FORMS[form](m.copy()) for form, m in zip(forms, drawn, strict=True))
    x, y = (m.toarray() if scipy.sparse.issparse(m) else np.array(m) for m in (A, B))
    expected = x + y if name == "spadd" else x * y
    for _ in range(2):
        made = kernel(A=A, B=B)
        assert np.array_equal(made.to_scipy().toarray(), expected)
        assert np.array_equal(made.to_numpy(), expected)
    for m, before in ((A, x), (B, y)):
        assert np.array_equal(m.toarray() if scipy.sparse.issparse(m) else m, before)


@settings(max_examples=many(300), deadline=None)
@given(drawn=matrices(), form=st.sampled_from(list(FORMS)), whole=st.booleans())
def test_a_matrix_and_a_vector(drawn: tuple[Any, Any], form: str, whole: bool) -> None:
    kernel = kernel_of("spmv")
    A = FORMS[form](drawn[0].copy())
    x = np.arange(A.shape[0], dtype=np.int64 if whole else np.float64)[::-1]
    expected = (A.toarray() if scipy.sparse.issparse(A) else np.array(A)).T @ x
    for vector in (x, x.copy()):
        assert np.array_equal(kernel(A=A, x=vector).to_numpy(), expected)


ENTRIES: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda x: x,
    "wide": lambda x: coo(x, tuple(axis.astype(np.int64) for axis in x.coords)),
    "mixed": lambda x: coo(x, (x.coords[0].astype(np.int64), *x.coords[1:])),
    "backwards": lambda x: coo(x, tuple(axis[::-1].copy() for axis in x.coords), x.data[::-1].copy()),
    "strided": lambda x: coo(x, tuple(axis[::-1] for axis in x.coords), x.data[::-1]),
    "in halves": lambda x: coo(x, tuple(np.repeat(axis, 2) for axis in x.coords), np.repeat(x.data / 2, 2)),
    "narrow": lambda x: x.astype(np.float32),
    "dense": lambda x: x.toarray(),
}
"""Forms of an array in COO."""


def coo(x: Any, coords: tuple[np.ndarray, ...], data: np.ndarray | None = None) -> Any:
    """An array in COO with other arrays, which SciPy leaves as they are."""
    made = x.copy()
    made.coords, made.data = coords, x.data if data is None else data
    return made


@st.composite
def entries(draw: st.DrawFn, rank: int) -> Any:
    """An array in COO of a few axes, with zeros that are stored, in the order in which they are drawn."""
    shape = tuple(draw(st.integers(0, 4)) for _ in range(rank))
    subscripts = st.tuples(*(st.integers(0, max(n - 1, 0)) for n in shape))
    at = draw(st.lists(subscripts, max_size=12, unique=True)) if 0 not in shape else []
    values = [draw(st.sampled_from([0.0, 1.0, -0.5, 4.0])) for _ in at]
    coords = tuple(np.array([i[axis] for i in at], dtype=np.int32) for axis in range(rank))
    return scipy.sparse.coo_array((np.array(values, dtype=np.float64), coords), shape=shape)


@settings(max_examples=many(600), deadline=None)
@given(x=entries(1), form=st.sampled_from(list(ENTRIES)))
def test_a_sparse_vector(x: Any, form: str) -> None:
    """Entries in any order, of which some may be there twice."""
    kernel = kernel_of("spmspv")
    A = np.arange(3.0 * x.shape[0]).reshape(3, x.shape[0])
    given = ENTRIES[form](x)
    for _ in range(2):
        made = kernel(A=scipy.sparse.csc_array(A), x=given)
        assert np.array_equal(made.to_numpy(), A @ x.toarray())
        assert np.array_equal(made.to_scipy().toarray(), A @ x.toarray())


@settings(max_examples=many(600), deadline=None)
@given(x=entries(3), form=st.sampled_from(list(ENTRIES)))
def test_a_sparse_tensor_of_three_axes(x: Any, form: str) -> None:
    """Each of its entries is found under its subscripts, and no others."""
    kernel = kernel_of("mttkrp_rows")
    C = np.asfortranarray(np.arange(2.0 * x.shape[1]).reshape(2, x.shape[1]))
    D = np.asfortranarray(1.0 + np.arange(2.0 * x.shape[0]).reshape(2, x.shape[0]))
    for _ in range(2):
        made = kernel(BT=ENTRIES[form](x), CT=C, DT=D).to_numpy()
        assert np.array_equal(made, np.einsum("lki,rk,rl->ri", x.toarray(), C, D))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("index", [-1, 3])
def test_subscripts_out_of_bounds_are_refused(axis: int, index: int) -> None:
    """In the first call with such extents, and after a good one."""
    x = scipy.sparse.coo_array((np.ones(2), tuple(np.array([0, 2], dtype=np.int32) for _ in range(3))), shape=(3, 3, 3))
    kernel = kernel_of("mttkrp_rows")
    C = np.ones((2, 3), order="F")
    kernel(BT=x, CT=C, DT=C)
    x.coords[axis][1] = index
    for _ in range(2):
        with pytest.raises(InputError, match="BT: not a SciPy sparse array in order"):
            kernel(BT=x, CT=C, DT=C)


def spoiled_index(m: Any) -> None:
    m.indices[-1] = m.shape[0]


def negative_index(m: Any) -> None:
    m.indices[0] = -1


def falling_pointers(m: Any) -> None:
    m.indptr[1] = m.indptr[-1] + 1


def late_pointers(m: Any) -> None:
    m.indptr[0] = 1


def too_few_pointers(m: Any) -> None:
    m.indptr = m.indptr[:-1]


def too_few_elements(m: Any) -> None:
    m.data = m.data[:-1]


def too_many_announced(m: Any) -> None:
    m.indptr[-1] += 1


def no_array(m: Any) -> None:
    m.indices = m.indices.tolist()


SPOILERS = [
    spoiled_index, negative_index, falling_pointers, late_pointers, too_few_pointers, too_few_elements,
    too_many_announced, no_array,
]  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILERS)
@pytest.mark.parametrize("which", ["A", "B", "both", "one"])
def test_arrays_that_are_spoiled_are_refused_in_each_call(spoil: Callable[[Any], None], which: str) -> None:
    """Also if another matrix shares the pattern, as an array or byte for byte, or was given in a call before."""
    A = csc((4, 3), np.array([1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1], dtype=bool), np.arange(12.0))
    B = A if which == "one" else A.copy()
    for name in ("spadd", "hadamard", "spmv"):
        kernel = kernel_of(name)
        inputs = {"A": A, "x": np.ones(4)} if name == "spmv" else {"A": A, "B": B}
        for _ in range(2):
            kernel(**inputs)
    for m in {"A": [A], "B": [B], "both": [A, B], "one": [A]}[which]:
        spoil(m)
    for name in ("spadd", "hadamard"):
        with pytest.raises(InputError, match="not a SciPy sparse array in order"):
            kernel_of(name)(A=A, B=B)
    if which != "B":
        with pytest.raises(InputError, match="not a SciPy sparse array in order"):
            kernel_of("spmv")(A=A, x=np.ones(4))


def test_a_result_keeps_the_pattern_of_inputs_that_change() -> None:
    """It has pointers and indices of its own, though the inputs lend theirs."""
    A = csc((4, 3), np.array([1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1], dtype=bool), np.arange(12.0))
    B = A.copy()
    kernel = kernel_of("spadd")
    kernel(A=A, B=B)
    made = kernel(A=A, B=B)
    expected = (A + B).toarray()
    for m in (A, B):
        m.indices[:], m.indptr[:] = 9, 0
    assert np.array_equal(made.to_scipy().toarray(), expected)
    assert np.array_equal(made.to_numpy(), expected)


def test_a_result_with_a_lent_pattern_is_a_tensor_like_any_other() -> None:
    """It is read by the next call, copied and validated."""
    A = csc((4, 3), np.array([1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1], dtype=bool), np.arange(12.0))
    kernel = kernel_of("spadd")
    kernel(A=A, B=A)
    made = kernel(A=A, B=A.copy())
    made.validate()
    assert made.nnz == A.nnz
    for again in (made, pickle.loads(pickle.dumps(made)), copy(made)):
        for _ in range(2):
            assert np.array_equal(kernel(A=again, B=made).to_scipy().toarray(), 4 * A.toarray())


def test_shapes_that_differ_are_refused_after_a_call_with_equal_ones() -> None:
    A = csc((4, 3), np.ones(12, dtype=bool), np.arange(12.0))
    B = csc((3, 4), np.ones(12, dtype=bool), np.arange(12.0))
    kernel = kernel_of("spadd")
    for m in (A, B):
        kernel(A=m, B=m)
    with pytest.raises(InputError, match="one loop runs over both"):
        kernel(A=A, B=B)
