"""`einsum` with affine subscripts, such as `A[i + k - 1]`, computes what loops over NumPy arrays do."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import wingspan
from proofs_tests.effort import few, many
from wingspan import Tensor, einsum
from wingspan.base.errors import InputError
from wingspan.tensors.foreign import with_fill

INDICES = "ijk"
KINDS: dict[str, Any] = {"bool": np.bool_, "int": np.int64, "float": np.float64}
UPDATES: dict[str, Any] = {"+=": np.add, "*=": np.multiply, "<<max>>=": np.maximum, "=": None}


class Subscript(NamedTuple):
    """Multiples of the indices, and a number."""

    factors: tuple[int, ...]
    constant: int
    leaves: bool = False
    """whether it may leave its axis"""

    def at(self, indices: tuple[int, ...]) -> int:
        return self.constant + sum(by * i for by, i in zip(self.factors, indices, strict=True))

    def largest(self, extents: tuple[int, ...]) -> int:
        """The largest value; 0 if an index in it has none."""
        ends = [(1, n) if by else (1, 1) for by, n in zip(self.factors, extents, strict=True)]
        return max(map(self.at, product(*(range(first, last + 1) for first, last in ends))), default=0)

    def __str__(self) -> str:
        text = " + ".join([f"{by} * {index}" for by, index in zip(self.factors, INDICES, strict=True) if by])
        return f"{'~' * self.leaves}({text or 0} + {self.constant})"


class Access(NamedTuple):
    """An operand, and the subscripts that it is read at."""

    name: str
    array: np.ndarray
    subscripts: tuple[Subscript, ...]

    def __str__(self) -> str:
        text = f"{self.name}[{', '.join(map(str, self.subscripts))}]"
        return f"coalesce({text}, 2)" if any(s.leaves for s in self.subscripts) else text

    def at(self, indices: tuple[int, ...]) -> Any:
        place = tuple(s.at(indices) for s in self.subscripts)
        inside = all(1 <= p <= n for p, n in zip(place, self.array.shape, strict=True))
        return self.array[tuple(p - 1 for p in place)] if inside else 2


@st.composite
def subscripts(draw: st.DrawFn, extents: tuple[int, ...], leaves: bool) -> tuple[Subscript, int]:
    """A subscript that is at least 1, and the largest value that it has."""
    factors = tuple(draw(st.lists(st.sampled_from([0, 0, 1, 1, -1, 2]), min_size=3, max_size=3)))
    ends = [sorted((by, by * n)) for by, n in zip(factors, extents, strict=True)]
    found = Subscript(factors, draw(st.integers(1, 2)) - sum(low for low, _ in ends), leaves)
    return found, max(found.constant + sum(high for _, high in ends), 0)


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, list[Access], tuple[Subscript, ...], tuple[int, ...]]:
    """⊕, one or two operands, the subscripts of the output, and the extents of i, j and k."""
    extents = tuple(draw(st.sampled_from([0, 1, 2, 3, 3])) for _ in INDICES)
    accesses = []
    for name in "AB"[: draw(st.integers(1, 2))]:
        kind = draw(st.sampled_from(sorted(KINDS)))
        leaves = kind != "bool" and draw(st.booleans())
        made = [draw(subscripts(extents, leaves)) for _ in range(draw(st.integers(1, 2)))]
        shape = tuple(max(n - draw(st.integers(0, 2)), 0) if leaves else n for _, n in made)
        values = draw(st.lists(st.sampled_from([0, 0, 1, 2, -1]), min_size=int(np.prod(shape)), max_size=99))
        array = np.array(values[: int(np.prod(shape))]).astype(KINDS[kind]).reshape(shape)
        accesses.append(Access(name, array, tuple(s for s, _ in made)))
    output = tuple(draw(subscripts(extents, False))[0] for _ in range(draw(st.integers(0, 2))))
    return draw(st.sampled_from(sorted(UPDATES))), accesses, output, extents


def operand(array: np.ndarray, form: str) -> Any:
    """An array in a form: dense, with zeros that are not stored, or with another value that is not."""
    if form == "dense":
        return array
    fill: Any = array.dtype.type(0 if form == "sparse" else 1)
    at = np.nonzero(array != fill)
    stored = scipy.sparse.coo_array((array[at], at), shape=array.shape)
    leaf = f"Element({str(fill.item()).lower()})"
    name = f"Dense(SparseList({leaf}))" if array.ndim == 2 else f"SparseList({leaf})"
    return Tensor.from_scipy(name, with_fill(stored, fill.item()))


def iterations(accesses: list[Access], output: tuple[Subscript, ...], extents: tuple[int, ...]) -> Any:
    """The values of the indices that are in a subscript; the others count as 1."""
    every = [s for access in accesses for s in access.subscripts] + list(output)
    used = [any(s.factors[k] for s in every) for k in range(3)]
    return list(product(*(range(1, n + 1) if use else [1] for n, use in zip(extents, used, strict=True))))


@settings(max_examples=many(1000), deadline=None)
@given(programs(), st.lists(st.sampled_from(["dense", "sparse", "filled"]), min_size=2, max_size=2))
def test_it_computes_what_loops_do(drawn: Any, forms: list[str]) -> None:
    """At any extents, formats and kinds, by two engines; and it refuses to overwrite elements."""
    op, accesses, output, extents = drawn
    places = iterations(accesses, output, extents)
    written = [tuple(s.at(place) for s in output) for place in places]
    text = f"C[{', '.join(map(str, output))}] {op} {' * '.join(map(str, accesses))}"
    inputs = {access.name: operand(access.array, form) for access, form in zip(accesses, forms, strict=False)}
    read = [s for access in accesses for s in access.subscripts]
    known: Mapping[str, int] = {
        index: n
        for k, (index, n) in enumerate(zip(INDICES, extents, strict=True))
        if any(s.factors[k] for s in (*read, *output))
    }
    try:
        made = einsum(text, extents=known, engine="native", init=0 if op == "=" else None, **inputs)
    except InputError as error:
        assert op == "=" and "overwri" in error.message, text
        return
    assert op != "=" or len({*written}) == len(written), text
    shape = tuple(s.largest(extents) for s in output)
    expected = np.full(shape, made.fill if op != "=" else 0, dtype=made.dtype)
    for place, at in zip(places, written, strict=True):
        value = np.prod([access.at(place) for access in accesses])
        cell = tuple(k - 1 for k in at)
        expected[cell] = value if op == "=" else UPDATES[op](expected[cell], value)
    assert made.shape == shape and np.array_equal(made.to_numpy(), expected), (text, made.program)
    again = wingspan.run(made.program, inputs=made.inputs, engine="reference").tensors[made.program.tree.returns[0]]
    assert np.array_equal(again.to_numpy(), made.stored.to_numpy())


A, W, M = np.arange(1.0, 10), np.array([1.0, 10.0, 100.0]), np.arange(20.0).reshape(4, 5)
INFERRED: dict[str, Any] = {
    "C[i] += A[i + k - 1] * w[k]": np.correlate(A, W, "valid"),
    "C[i] += A[i + k] * w[k]": np.correlate(A[1:], W, "valid"),
    "C[i + k - 1] += A[i] * w[k]": np.convolve(A, W),
    "C[i] = A[i + 1] - A[i + 2]": -np.diff(A)[1:],
    "C[i] = A[2 * i - 1]": A[::2],
    "C[i] = A[10 - i]": A[::-1],
    "s[] += A[i + 3]": A.sum(),
    "s[] += A[i + 3] * A[i + 4]": A[1:] @ A[:-1],
    "C[j] = M[2, j]": M[1],
    "C[i, i] = A[i]": np.diag(A),
    "C[i, i + 1] = w[i]": np.diag(W, 1)[:3],
    "C[5 * i + j - 5] = M[i, j]": M.ravel(),
}


@pytest.mark.parametrize(
    ("text", "engine"), [*product(INFERRED, ["native"]), *few([*product(INFERRED, ["compiled"])], 3)]
)
def test_an_index_runs_as_far_as_its_subscripts_lie_in_their_axes(text: str, engine: str) -> None:
    named: dict[str, Any] = {"A": A, "w": W, "M": M}
    made = einsum(text, engine=engine, threads=1, **{name: x for name, x in named.items() if f"{name}[" in text})
    assert made.shape == INFERRED[text].shape and np.array_equal(made.to_numpy(), INFERRED[text])


def test_a_convolution_of_sparse_arrays_visits_what_they_store() -> None:
    """Its loops step through views of the fibers."""
    a = scipy.sparse.random_array((50, 50), density=0.05, rng=1, format="csr")
    w = scipy.sparse.csr_array(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    made = einsum("C[i, j] += A[i + k - 1, j + l - 1] * w[k, l]", A=a, w=w)
    dense, taps = a.toarray(), w.toarray()
    expected = sum(taps[k, l] * dense[k : k + 49, l : l + 48] for k in range(2) for l in range(3))
    assert np.allclose(made.to_numpy(), expected) and made.check().verdict == "safe"


def test_a_sparse_result_stores_what_its_inputs_do() -> None:
    """Elements that are written once, as those of joined axes are; NaN is no fill value, and others are skipped."""
    a = scipy.sparse.coo_array((np.array([3.0, np.nan, 1.0]), ([0, 7, 9], [4, 0, 9])), shape=(10, 10))
    made = einsum("C[10 * i + j - 10] = a[i, j]", a=a)
    assert made.nnz == 3 and np.array_equal(made.to_numpy(), a.toarray().ravel(), equal_nan=True)
    filled = Tensor.from_scipy("Dense(SparseList(Element(2)))", with_fill(scipy.sparse.eye_array(5, dtype=int) * 7, 2))
    made = einsum("C[5 * i + j - 5] = a[i, j]", a=filled)
    assert made.nnz == 5 and made.fill == 2 and np.array_equal(made.to_numpy(), np.where(np.eye(5), 7, 2).ravel())


def test_extents_say_how_far_a_stencil_goes() -> None:
    text = "y[i] += coalesce(x[~(i + k - 2)], 0) * w[k]"
    made = einsum(text, x=A, w=W, extents={"i": 9})
    assert np.array_equal(made.to_numpy(), np.correlate(A, W, "same"))
    assert einsum(text, x=A, w=W, extents={"i": 4}).shape == (4,)
    assert einsum(text, x=A, w=W, extents={"i": 0}).shape == (0,)


@pytest.mark.parametrize(("text", "extents", "message", "fix"), [
    ("C[i] = A[i + 1] - A[i]", {}, "axis 1 of A has extent 9, and i + 1 runs from 2 to 10, with i from 1 to 9",
     "say what to take outside of it, coalesce(A[~(i + 1)], 0), or give an extent: extents={'i': …}"),
    ("C[i] = A[i - 1]", {}, "axis 1 of A has extent 9, and i - 1 runs from 0 to 9, with i from 1 to 10",
     "say what to take outside of it, coalesce(A[~(i - 1)], 0)"),
    ("C[i] = A[i]", {"i": 10}, "axis 1 of A has extent 9, and i runs from 1 to 10, with i from 1 to 10",
     "say what to take outside of it, coalesce(A[~(i)], 0), or give an extent: extents={'i': …}"),
    ("C[] = A[10]", {}, "axis 1 of A has extent 9, and here the index 10", "use an index from 1 to 9"),
    ("C[i - 1] = A[i]", {}, "C has indices from 1 on axis 1, and i - 1 can be 0", "write i"),
    ("C[i, j] = A[i + j]", {}, "the extent of i cannot be inferred: subscripts bound i and j only together",
     "give it: extents={'i': …}"),
    ("C[i] = coalesce(A[~(i - 1)], 0)", {}, "the extent of i cannot be inferred: no axis bounds i",
     "give it: extents={'i': …}"),
    ("C[i] = A[~(i - 1)]", {"i": 3}, "A[~(i - 1)] has no value where i - 1 leaves the axis",
     "say what to take there: coalesce(A[~(i - 1)], 0)"),
    ("C[i + j] = A[i] * A[j]", {}, "C[i + j] may be one element for several i and j, which would overwrite it",
     "reduce: write +=, or <<max>>="),
    ("C[i + j] <<choose(0)>>= A[i] * A[j]", {}, "the order of the loops over i, j matters to choose(0), and einsum "
     "chooses it", "write a program for this: wingspan.compile"),
    ("C[i] = A[i]", {"k": 2}, "no subscript has the index k", "give extents of i"),
    ("C[i] = A[i]", {"i": -1}, "i cannot have the extent -1", "give a whole number, 0 or greater"),
    ("C[i] = A[i]", {"i": 2.5}, "i cannot have the extent 2.5", "give a whole number, 0 or greater"),
    ("C[i] = A[A[i]]", {}, "the subscript A[i] is no sum of multiples of indices and a whole number",
     "write a program for this: wingspan.compile"),
])  # fmt: skip
def test_an_index_that_leaves_its_axis_is_one_message(
    text: str, extents: Mapping[str, int], message: str, fix: str
) -> None:
    with pytest.raises(InputError) as caught:
        einsum(text, A=A, extents=extents)
    assert (caught.value.message, caught.value.fix) == (message, fix)


def test_a_format_takes_indices_in_any_order_or_is_refused() -> None:
    with pytest.raises(InputError, match="C is updated in any order of its indices, and SparseList"):
        einsum("C[i + k] += A[i] * w[k]", A=A, w=W, format="SparseList(Element(0.0))")
    made = einsum("C[i + k - 1] += A[i] * w[k]", A=A, w=W, format="SparseDict(Element(0.0))")
    assert np.array_equal(made.to_numpy(), np.convolve(A, W))


def test_a_product_with_shifted_factors_is_taken_apart() -> None:
    """Factors without i come first, also if the result is updated at any indices, or has an axis of its own."""
    b = np.arange(15.0).reshape(3, 5)
    for text, expected in (
        ("y[i] += A[i + k - 1] * b[k, j] * v[j]", np.correlate(A, b @ M[0], "valid")),
        ("y[i + k - 1] += A[i] * b[k, j] * v[j]", np.convolve(A, b @ M[0])),
        ("y[i, l] += A[i + k - 1] * b[k, j] * v[j]", np.correlate(A, b @ M[0], "valid")[:, None] * [1, 1]),
    ):
        extents = {"l": 2} if "l" in text else {}
        made = einsum(text, A=A, b=b, v=M[0], extents=extents, threads=1)
        assert "; then" in made.reason and np.allclose(made.to_numpy(), expected), text
