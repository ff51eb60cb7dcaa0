"""Element-wise kernels on inputs with one pattern: they run over what is stored, with the results of the program."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import few, many
from wingspan import Fault, InputError, Limits, Tensor, api
from wingspan.base import libraries
from wingspan.elaborate.entries import over_entries
from wingspan.tensors import patterns
from wingspan.tensors.frozen import Frozen

pytestmark = needs_compiler

PARAMS = {"nt": 2, "sch": "dynamic_schedule(2)"}
VALUES = [-0.0, 0.0, 1.0, -1.5, 1e308, 5e-324]
"""Stored zeros of both signs, what overflows, what is smaller than any normal double."""

EXPRESSIONS: dict[str, Any] = {
    "A[i, j] + B[i, j]": lambda x, y: x + y,
    "A[i, j] * B[i, j]": lambda x, y: x * y,
    "A[i, j]": lambda x, y: 0.0 + x,
    "A[i, j] * s[] - min(A[i, j], B[i, j])": lambda x, y: x * 2.0 - np.where(y < x, y, x),
}
"""Expressions at each index, and the same by NumPy on vectors of the stored elements."""

HEADS = {
    "parallel": ("Dense(Shard(dev, SparseList(Element(0.0))))", "parallel(_, dev, sch)"),
    "serial": ("Dense(SparseList(Element(0.0)))", "_"),
}


def program(e: str, how: str, op: str = "=") -> wingspan.Program:
    """An element-wise program of two matrices and a number."""
    form, outer = HEADS[how]
    device = "dev = cpu(:t, nt)\n" if how == "parallel" else ""
    loops = f"for j = {outer}\n    for i = _\n        C[i, j] {op} {e}\n    end\nend\n"
    return wingspan.parse(f"{device}C = Tensor({form})\nC .= 0.0\n{loops}return C\n")


WAYS = dict(
    zip(
        EXPRESSIONS,
        [
            ("parallel", "=", "compiled"),
            ("parallel", "=", "native"),
            ("serial", "+=", "compiled"),
            ("serial", "=", "compiled"),
        ],
        strict=True,
    )
)


@cache
def kernel_of(e: str) -> wingspan.Kernel:
    """An expression as a kernel, each in another way."""
    how, op, engine = WAYS[e]
    return wingspan.compile(program(e, how, op), params=PARAMS if how == "parallel" else {}, engine=engine)


def csc(pattern: np.ndarray, values: np.ndarray) -> Any:
    """A matrix that stores its values where the pattern is true, zeros too."""
    columns, rows = np.nonzero(pattern.T)
    ptr = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=pattern.shape[1]))])
    return scipy.sparse.csc_array((values[: len(rows)].copy(), rows, ptr), shape=pattern.shape)


@st.composite
def matrices(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A pattern, and elements for two matrices."""
    shape = draw(st.tuples(st.integers(0, 5), st.integers(0, 5)))
    size = shape[0] * shape[1]
    stored = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    values = st.lists(st.sampled_from(VALUES), min_size=size, max_size=size).map(np.array)
    return np.array(stored, dtype=bool).reshape(shape), draw(values), draw(values)


@pytest.mark.parametrize("e", few(list(EXPRESSIONS), 2))
@settings(max_examples=many(400), deadline=None)
@given(drawn=matrices())
def test_results_are_those_of_the_program(e: str, drawn: tuple[np.ndarray, ...]) -> None:
    """Elements are NumPy's to the bit, and lie where the register machine, which knows no patterns, has them."""
    pattern, x, y = drawn
    kernel = kernel_of(e)
    assert kernel.same_pattern is not None
    given = {"A": csc(pattern, x), "B": csc(pattern, y), "s": np.float64(2.0)}
    given = {name: given[name] for name in kernel.inputs}
    made = kernel(**given)
    stored = int(pattern.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        expected = csc(pattern, EXPRESSIONS[e](x[:stored], y[:stored]))
    assert made.to_scipy().toarray().tobytes() == expected.toarray().tobytes()
    general = api.run(kernel.program, inputs=given, params=kernel.params, engine="native").tensors["C"]
    assert [(at, str(value)) for at, value in made.entries()] == [(at, str(value)) for at, value in general.entries()]
    assert made.shape == general.shape and str(made.tower) == HEADS["serial"][0]


NOT_ELEMENTWISE = {
    "reads across": "C[i, j] = A[i, j] + A[j, i]",
    "writes across": "C[j, i] = A[i, j]",
    "uses the index": "C[i, j] = A[i, j] * i",
    "is dense": "C[i, j] = A[i, j] + 1.0",
    "is dense where it overwrites a fill value": "C[i, j] *= A[i, j]",
    "reads nothing": "C[i, j] = A[i, j] * 0.0",
    "writes along a diagonal": "C[i, i] = A[i, j]",
    "is conditional": "if A[i, j] > 0.0\n C[i, j] = A[i, j]\n end",
    "does two things": "C[i, j] += A[i, j]\n C[i, j] += A[i, j]",
}


@pytest.mark.parametrize("why", NOT_ELEMENTWISE)
def test_other_programs_have_no_such_kernel(why: str) -> None:
    """Their stores do not follow from the elements of one pattern one by one."""
    head = "C = Tensor(Dense(SparseList(Element(0.0))))\nC .= 0.0\n"
    every, some = "C[i, j] = A[i, j]", NOT_ELEMENTWISE[why]
    for axis, statement, whole in (("_", some, False), ("1:3", every, False), ("_", every, True)):
        loops = f"for j = {axis}\n for i = {axis}\n {statement}\n end\nend\n"
        program = wingspan.parse(f"{head}{loops}return C\n")
        found = over_entries(program.tree, api.bind(program, symbolic=True).towers)
        assert (found is not None) == whole


def test_inputs_in_other_levels_have_no_such_kernel() -> None:
    """Nor have results that keep elements in other levels than their inputs."""
    loops = "C .= 0.0\nfor j = _\n for i = _\n C[i, j] = A[i, j]\n end\nend\nreturn C\n"
    forms = ["Dense(SparseList(Element(0.0)))", "Dense(SparseDict(Element(0.0)))", "Dense(Dense(Element(0.0)))"]
    for result, operand in product(forms, forms):
        program = wingspan.parse(f"C = Tensor({result})\nA = Tensor({operand})\n{loops}")
        found = over_entries(program.tree, api.bind(program, symbolic=True).towers)
        assert (found is not None) == (result == operand == forms[0])


def example(seed: int = 0) -> tuple[Any, Any]:
    """Two matrices with one pattern, in arrays of their own."""
    rng = np.random.default_rng(seed)
    A = scipy.sparse.random_array((6, 7), density=0.4, format="csc", rng=rng)
    B = A.copy()
    B.data += 1.0
    return A, B


def arrays(tensor: Tensor) -> dict[str, np.ndarray]:
    """The arrays of the last level of a matrix."""
    assert isinstance(tensor.data, Frozen)
    return {name: stored.values for (depth, name, _), stored in tensor.data.arrays.items() if depth == 1}


def test_the_result_shares_what_nobody_can_write() -> None:
    """Tensors' subscripts; and the result, given to another call, has the pattern of its operands at once."""
    A, B = example()
    kernel = kernel_of("A[i, j] + B[i, j]")
    a, b = (Tensor.from_scipy("Dense(SparseList(Element(0.0)))", each) for each in (A, B))
    made = kernel(A=a, B=b)
    assert all(np.shares_memory(array, arrays(a)[name]) for name, array in arrays(made).items())
    again = kernel(A=made, B=b)
    assert np.shares_memory(arrays(again)["idx"], arrays(a)["idx"])
    assert (again.to_scipy() != A + B + B).nnz == 0


def test_what_the_caller_writes_later_changes_no_result() -> None:
    """SciPy's arrays are the caller's: the result has copies, and each call looks at them anew."""
    A, B = example()
    kernel = kernel_of("A[i, j] + B[i, j]")
    expected = (A + B).toarray()
    made = kernel(A=A, B=B)
    assert not any(np.shares_memory(array, A.indices) for array in arrays(made).values())
    j = int(np.argmax(np.diff(A.indptr) < 6))
    free = sorted(set(range(6)) - set(A.indices[A.indptr[j] : A.indptr[j + 1]]))[0]
    A.indices[A.indptr[j]] = free
    A.sort_indices()
    assert (made.to_scipy().toarray() == expected).all()
    assert (kernel(A=A, B=B).to_scipy().toarray() == (A + B).toarray()).all()


def test_borrowed_operands_are_looked_at_in_each_call() -> None:
    """Their arrays are the caller's, too, though the tensors are those of the call before."""
    A, B = example()
    kernel = kernel_of("A[i, j] + B[i, j]")
    a, b = (Tensor.from_scipy("Dense(SparseList(Element(0.0)))", each, borrow=True) for each in (A, B))
    first, before = kernel(A=a, B=b), (A + B).toarray()
    for each in (A, B):
        each.indices[:] = np.concatenate([np.arange(n) for n in np.diff(each.indptr)])
        each.data += 1.0
    assert (kernel(A=a, B=b).to_scipy().toarray() == (A + B).toarray()).all()
    assert (first.to_scipy().toarray() == before).all()
    j = int(np.argmax((np.diff(B.indptr) > 0) & (np.diff(B.indptr) < 6)))
    B.indices[B.indptr[j + 1] - 1] = 5
    assert (kernel(A=a, B=b).to_scipy().toarray() == (A + B).toarray()).all()


def test_what_nobody_can_write_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And arrays that tensors share, never."""
    A, B = example()
    a, b = (Tensor.from_scipy("Dense(SparseList(Element(0.0)))", each) for each in (A, B))
    compared: list[np.ndarray] = []

    def equal(x: np.ndarray, y: np.ndarray) -> bool:
        compared.append(x)
        return bool((x == y).all())

    monkeypatch.setattr(libraries.np, "array_equal", equal)
    assert patterns.same_pattern(a, b) and compared
    compared.clear()
    assert patterns.same_pattern(a, b) and patterns.same_pattern(a, a)
    shared = scipy.sparse.csc_array((B.data, A.indices, A.indptr), shape=A.shape)
    x, y = (Tensor.from_scipy("Dense(SparseList(Element(0.0)))", each, borrow=True) for each in (A, shared))
    assert patterns.same_pattern(x, y) and not compared


def test_unequal_patterns_are_told_apart() -> None:
    """Also where they differ in the last subscript only, in shape, in order, and in how wide their numbers are."""
    n = 3 * patterns.FEW
    rows = np.arange(n)
    last = np.append(rows[:-1], n)
    form = "SparseList(Element(0.0))"
    x, y = (scipy.sparse.coo_array((np.ones(n), (at,)), shape=(n + 1,)) for at in (rows, last))
    longer = scipy.sparse.coo_array((np.ones(n), (rows,)), shape=(n + 2,))
    a, b, c = (Tensor.from_scipy(form, each) for each in (x, y, longer))
    assert not patterns.same_pattern(a, b) and not patterns.same_pattern(a, c)
    wide = scipy.sparse.coo_array((np.ones(n), (rows.astype(np.int64),)), shape=(n + 1,))
    assert patterns.same_pattern(a, Tensor.from_scipy(form, wide))


def test_spoiled_subscripts_are_refused() -> None:
    """As without a shared pattern: nothing runs on an input that is out of order."""
    A, B = example()
    kernel = kernel_of("A[i, j] + B[i, j]")
    a, b = (Tensor.from_scipy("Dense(SparseList(Element(0.0)))", each, borrow=True) for each in (A, B))
    for each in (A, B):
        each.indices[:] = each.indices[::-1].copy()
    with pytest.raises(InputError, match="not a tensor in order"):
        kernel(A=a, B=b)


def test_faults_are_told_at_their_place() -> None:
    """An overflow of integers, and memory that runs out."""
    head = "C = Tensor(Dense(SparseList(Element(0))))\nC .= 0\n"
    loops = "for j = _\n    for i = _\n        C[i, j] = A[i, j] * A[i, j]\n    end\nend\n"
    kernel = wingspan.compile(wingspan.parse(f"{head}{loops}return C"), inputs={"A": "int"})
    large = scipy.sparse.csc_array(np.array([[0, 2**40], [3, 0]]))
    with pytest.raises(Fault, match="overflow") as found:
        kernel(A=large)
    assert found.value.span is not None and found.value.span.line == 5
    many_entries = scipy.sparse.csc_array(np.ones((300, 300), dtype=np.int64))
    with pytest.raises(Fault, match="memory"):
        kernel(A=many_entries, limits=Limits(memory=100_000))


def test_extents_that_the_program_gives_are_required() -> None:
    """Also of inputs that agree with each other."""
    head = "C = Tensor(Dense(SparseList(Element(0.0))), 6, 8)\nC .= 0.0\n"
    kernel = wingspan.compile(wingspan.parse(f"{head}for j = _\n for i = _\n C[i, j] = A[i, j]\n end\nend\nreturn C"))
    with pytest.raises(InputError, match="extent 7"):
        kernel(A=example()[0])
