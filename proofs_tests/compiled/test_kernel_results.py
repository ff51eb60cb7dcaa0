"""Results of kernels: values, copies, memory, and calls at once."""

from __future__ import annotations

import gc
import os
import threading
import tracemalloc
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.compiled.kernels import NT, SMALL, quarters
from proofs_tests.effort import few, many
from proofs_tests.places import EXAMPLES
from wingspan import Fault, InputError, Limits, Tensor, api
from wingspan.elaborate.inputs import fit_input
from wingspan.tensors.frozen import Frozen

pytestmark = needs_compiler


def test_several_results_come_by_name_and_variables_as_numbers() -> None:
    text = "a = Tensor(Dense(Element(0.0)))\nb = Tensor(Dense(Element(0.0)))\nb .= 0.0\nn = 0\n"
    kernel = wingspan.compile(api.parse(text + "for i = _\n    b[i] += a[i]\n    n = i\nend\nh = n / 2"))
    found = kernel(a=[1.0, 2.0, 3.0])
    assert (found.b.to_numpy().tolist(), found.n, found.h, type(found.h)) == ([1.0, 2.0, 3.0], 3, 1.5, float)
    assert found._fields == ("b", "n", "h")


def test_variables_of_inner_scopes_are_no_results() -> None:
    text = "a = Tensor(Dense(Element(0)))\nb = Tensor(Dense(Element(0)))\nb .= 0\n"
    kernel = wingspan.compile(api.parse(text + "for i = _\n    x = a[i] + 1\n    b[i] += x\nend"), engine="native")
    assert repr(kernel) == "<Kernel <program>(a: Dense(Element(0))) → b; native, for all extents>"
    assert kernel(a=[1, 2]).to_numpy().tolist() == [2, 3]


def test_a_result_with_another_fill_value_is_an_input_like_any_other() -> None:
    """Its format says 0, and it was declared with 1, which is what its columns hold that nobody has written."""
    copied = "a = Tensor(Dense(SparseList(Element(0.0))))\nb = Tensor(Dense(SparseList(Element(0.0))))\nb .= %s\n"
    copied += "for j = _\n    for i = _\n        b[i, j] += a[i, j]\n    end\nend\nreturn b"
    ones, zeros = (wingspan.compile(api.parse(copied % z), engine="native") for z in ("1.0", "0.0"))
    first = ones(a=[[0.0, 2.0], [0.0, 0.0]])
    assert first.to_numpy().tolist() == [[1.0, 3.0], [1.0, 1.0]] and first.fill == 1
    assert zeros(a=first).to_numpy().tolist() == [[1.0, 3.0], [1.0, 1.0]]


def test_nothing_is_copied_where_the_arrays_fit() -> None:
    """Neither columns that come from SciPy, nor dense results."""
    A = scipy.sparse.random_array((50, 40), density=0.2, format="csc", rng=1)
    form = api.bind(EXAMPLES / "spadd.ws", params=NT, symbolic=True).towers["A"]
    taken = fit_input("A", form, 0, A).data
    assert isinstance(taken, Frozen)
    arrays = {name: stored.values for (_, name, _), stored in taken.arrays.items()}
    for name, source in {"val": A.data, "idx": A.indices, "ptr": A.indptr}.items():
        assert np.shares_memory(arrays[name], source), name
    y = wingspan.compile(api.parse(SMALL % "Atomic(0)"))(A=np.ones((3, 4), int), x=np.arange(4))
    assert np.shares_memory(np.asarray(y), np.asarray(y)) and np.asarray(y).tolist() == [6, 6, 6]


CSC = "Dense(SparseList(Element(0.0)))"


def test_a_tensor_that_was_given_before_is_not_copied_again() -> None:
    """A list by hash, which the first call copies into the places where the kernel looks for it."""
    text = "x = Tensor(SparseDict(Element(0)))\ns = Tensor(Element(0))\ns .= 0\nfor i = _\ns[] += x[i]\nend\nreturn s"
    kernel = wingspan.compile(api.parse(text), engine="native")
    x = Tensor.from_numpy("SparseDict(Element(0))", np.arange(1, 5001))

    def allocated() -> int:
        tracemalloc.start()
        try:
            assert int(np.asarray(kernel(x=x))) == 5000 * 5001 // 2
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    first = allocated()
    assert first > 5000 * 16 > 10 * allocated()


def test_arrays_that_their_owner_changes_between_calls_are_read_anew() -> None:
    """Arrays that C reads in place, and arrays that it gets copies of, in 64 bits here. Both are checked anew."""
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT)
    matrix = scipy.sparse.csc_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int32)
    borrowing = Tensor.from_scipy(CSC, matrix, borrow=True)
    for first in (borrowing, matrix):
        assert kernel(A=first, B=matrix).to_numpy().tolist() == [[2.0, 0.0], [4.0, 6.0]]
        matrix.data[0], matrix.indices[1:], matrix.indptr[1] = 5.0, (0, 1), 1
        assert kernel(A=first, B=matrix).to_numpy().tolist() == [[10.0, 4.0], [0.0, 6.0]]
        matrix.indices[0] = 2
        with pytest.raises(InputError, match="order: an index is out of bounds"):
            kernel(A=first, B=np.ones((2, 2)))
        matrix.data[0], matrix.indices[:], matrix.indptr[1] = 1.0, (0, 1, 1), 2


@pytest.mark.parametrize("engine", ["compiled", "native"])
def test_a_kernel_goes_at_once_when_nobody_has_it(engine: str) -> None:
    """With its memory and address space: there is no need to wait for the garbage collector."""
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT, engine=engine)
    kernel(A=np.eye(3), B=np.eye(3))
    gone: list[weakref.ref[Any]] = [weakref.ref(kernel), weakref.ref(kernel._any)]
    gc.disable()
    try:
        del kernel
        assert [each() for each in gone] == [None, None]
    finally:
        gc.enable()


def test_a_kernel_keeps_no_tensor() -> None:
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT)
    A = Tensor.from_numpy(CSC, np.eye(3))
    kernel(A=A, B=A)
    gone = weakref.ref(A)
    del A
    gc.collect()
    assert gone() is None


def test_results_outlive_later_calls() -> None:
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT)
    given = [quarters(30, 20) for _ in range(5)]
    found = [kernel(A=A, B=A) for A in given]
    for A, C in zip(given, found, strict=True):
        assert np.array_equal(C.to_numpy(), 2 * A)


def test_memory_stays_flat() -> None:
    """Over thousands of calls, with extents that go up and down."""
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=NT)
    given = [scipy.sparse.csc_array(quarters(n, 3)) for n in (1, 20, 5, 70)]

    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    held = 0
    for number in range(many(10_000)):
        if number == many(10_000) // 2:
            held = resident()
        kernel(A=given[number % 4], B=given[number % 4])
    assert resident() - held < 8 << 20


@pytest.mark.deep
def test_many_kernels_live_at_once() -> None:
    """Each has memory of its own, and there is address space for all: once 128 took all that there is."""
    text = SMALL % "Atomic(0)"
    kernels = [wingspan.compile(api.parse(text), engine="native") for _ in range(150)]
    assert {int(kernel(A=np.ones((2, 2), int), x=[1, 2]).to_numpy().sum()) for kernel in kernels} == {6}


def test_python_threads_call_one_kernel_at_once() -> None:
    kernel = wingspan.compile(EXAMPLES / "spgemm_gustavson.ws", params=NT)
    given = [quarters(n, n) for n in (3, 17, 40, 64)]
    wrong: list[str] = []

    def work(A: Any) -> None:
        for _ in range(20):
            if not np.array_equal(kernel(A=A, B=A).to_numpy(), A @ A):
                wrong.append(str(A.shape))

    workers = [threading.Thread(target=work, args=(A,)) for A in given]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


DOT = """
x = Tensor(SparseList(Element(0.0)))
y = Tensor(SparseList(Element(0.0)))
s = Scalar(0.0)
s .= 0.0
z = Tensor(SparseList(Element(0.0)))
z .= 0.0
for i = _
    s[] += x[i] * y[i]
    z[i] = x[i] + y[i]
end
return s, z
"""


@pytest.mark.parametrize("n", few([2**31 + 1, 2**31 - 4, 2**31 - 3, 2**31 - 2, 2**31 - 1, 2**31, 2**40], 2))
def test_extents_beyond_32_bits_get_a_plan_of_their_own(n: int) -> None:
    """Indices are 32 bits wide in the plan for all extents; the last index is where that would show."""
    kernel = wingspan.compile(api.parse(DOT))
    at = [0, 5, n - 2, n - 1]
    pairs = [1.0, 2.0, 4.0, 8.0], [1.0, 0.0, 0.5, 0.25]
    x, y = (scipy.sparse.coo_array((values, (at,)), shape=(n,)) for values in pairs)
    s, z = kernel(x=x, y=y)
    found = z.to_scipy()
    assert (float(np.asarray(s)), found.coords[0].tolist(), found.data.tolist()) == (5.0, at, [2.0, 2.0, 4.5, 8.25])
    small = scipy.sparse.coo_array(([3.0], ([2],)), shape=(4,))
    s, z = kernel(x=small, y=small)
    assert (float(np.asarray(s)), z.to_scipy().coords[0].tolist()) == (9.0, [2])


def test_a_limit_of_memory_is_kept() -> None:
    text = "v = Tensor(Dense(Element(0.0)))\ny = Tensor(Dense(Element(0.0)))\ny .= 0.0\n"
    kernel = wingspan.compile(api.parse(text + "for i = _\n    y[i] += v[i]\nend\nreturn y"))
    given: dict[str, Any] = {"v": np.ones(500_000)}
    with pytest.raises(Fault, match=r"out of memory: the run needs \d+ bytes, which is more than its limit"):
        kernel(**given, limits=replace(Limits(), memory=3_000_000))
    assert kernel(**given).to_numpy().sum() == 500_000


def matrices(n: int) -> tuple[scipy.sparse.csc_array, scipy.sparse.csc_array]:
    made = [scipy.sparse.random_array((n, n + 3), density=0.2, format="csc", rng=seed) for seed in (3, 4)]
    return made[0], made[1]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [1, 40])
def test_scipy_has_the_result_of_one_thread_as_it_is(n: int, threads: int) -> None:
    """Indices count from 0 and are as wide as SciPy's. What several threads have made may be put together anew.

    The arrays stay as they are when their tensor and kernel are gone, and other runs have taken memory.
    """
    A, B = matrices(n)
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params={"nt": threads, "sch": "dynamic_schedule(2)"})
    made = kernel(A=A, B=B)
    found, again, expected = made.to_scipy(), made.to_scipy(), A + B
    for name in ("data", "indices"):
        shared = np.shares_memory(getattr(found, name), getattr(again, name))
        assert shared or threads > 1 or not found.nnz, name
    del made, again
    kernel(A=B, B=B)
    kernel(A=A, B=A)
    del kernel
    assert [found.indices.dtype, found.indptr.dtype] == [expected.indices.dtype, expected.indptr.dtype]
    found.check_format(full_check=True)
    assert found.has_canonical_format and (found != expected).nnz == 0 and found.nnz == expected.nnz
    assert (found + A).nnz == expected.nnz


@pytest.mark.parametrize("engine", ["compiled", "native"])
def test_arrays_are_checked_in_every_call(engine: str) -> None:
    """Also those of the call before, which their owner may have spoiled: nothing is remembered of them."""
    A, B = matrices(40)
    params = {"nt": 1, "sch": "dynamic_schedule(2)"}
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params=params, engine=engine)
    for _ in range(2):
        assert abs(kernel(A=A, B=B).to_scipy() - (A + B)).max() == 0
    good = A.indices[-1]
    A.indices[-1] = 40
    with pytest.raises(InputError, match="an index is out of bounds"):
        kernel(A=A, B=B)
    A.indices[-1] = good
    A.data.flags.writeable = A.indices.flags.writeable = False
    assert abs(kernel(A=A, B=A).to_scipy() - 2 * A).max() == 0
    A.indices.flags.writeable = True  # as its owner may
    A.indices[-1] = -1
    with pytest.raises(InputError, match="an index is out of bounds"):
        kernel(A=A, B=A)


def test_a_result_with_the_pattern_of_an_input_keeps_it_when_that_changes() -> None:
    """It has its own indices, as its owner may write those of the input at any time."""
    A, _ = matrices(40)
    B = scipy.sparse.csc_array((A.data + 1, A.indices, A.indptr), shape=A.shape)
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params={"nt": 1, "sch": "dynamic_schedule(2)"})
    expected = (A + B).toarray()
    made = kernel(A=A, B=B)
    A.indices[:], A.data[:] = 0, 7
    assert np.array_equal(made.to_numpy(), expected) and np.array_equal(made.to_scipy().toarray(), expected)
