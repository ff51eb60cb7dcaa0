"""Libraries that kernels are measured beside: SciPy, MKL and SuiteSparse:GraphBLAS.

    pip install 'wingspan[peers]'

Each takes SciPy's CSC matrices and works on them where they lie, or on copies in a form of its own that are made before
anything is timed. Results have sorted columns, but for those of `mkl unsorted`.
"""

from __future__ import annotations

import ctypes
import glob
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse

Inputs = Mapping[str, Any]
"""The operands of a kernel by name: CSC matrices, and vectors as matrices of one column."""


@dataclass(frozen=True)
class Call:
    """A function to time; `result` makes a SciPy matrix of its value, and `free` frees it, both untimed."""

    run: Callable[[], Any]
    result: Callable[[Any], Any]
    free: Callable[[Any], object] = lambda _: None


def scipy_calls(kernel: str, given: Inputs, threads: int) -> Iterator[tuple[str, Call]]:
    """SciPy, which works on one thread."""
    if threads == 1:
        run = mttkrp(**given) if kernel.startswith("mttkrp") else by_scipy(kernel, **given)
        yield "scipy", Call(run, lambda made: made)


def by_scipy(kernel: str, A: Any, B: Any = None, x: Any = None) -> Callable[[], Any]:
    """SciPy's operation; a product is sorted, too."""

    def product() -> Any:
        made = A @ (x if B is None else B)
        if scipy.sparse.issparse(made):
            made.has_sorted_indices = False
            made.sort_indices()
        return made

    pointwise = {"spadd": lambda: A + B, "hadamard": lambda: A * B}
    return pointwise.get(kernel, product)


def mttkrp(B: Any, C: Any, D: Any) -> Callable[[], Any]:
    """The rows of C and D that entries of B need, multiplied, and summed by a matrix of the entries of each row."""
    i, k, l = B.coords
    selector = scipy.sparse.csr_array((B.data, (i, np.arange(B.nnz))), shape=(B.shape[0], B.nnz))
    return lambda: selector @ (C[k] * D[l])


class Mkl:
    """MKL's inspector-executor routines, on the transposed problem in CSR."""

    NONE = 10
    """SPARSE_OPERATION_NON_TRANSPOSE"""

    def __init__(self) -> None:
        (path, *_) = glob.glob(f"{sys.prefix}/lib/libmkl_rt.so*")
        self.library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        self.library.MKL_Set_Interface_Layer(0)

    def calls(self, kernel: str, given: Inputs, threads: int) -> Iterator[tuple[str, Call]]:
        """The library's routines for the kernel, if it has any."""
        if kernel not in ("spgemm", "spadd", "spmspv"):
            return
        library, A, B = self.library, self.matrix(given["A"]), self.matrix(given.get("B", given.get("x")))

        def run(sort: bool) -> ctypes.c_void_p:
            library.MKL_Set_Num_Threads(threads)
            made = ctypes.c_void_p()
            if kernel == "spadd":
                status = library.mkl_sparse_d_add(self.NONE, A, ctypes.c_double(1), B, ctypes.byref(made))
            else:
                status = library.mkl_sparse_spmm(self.NONE, B, A, ctypes.byref(made))
            if status or (sort and library.mkl_sparse_order(made)):
                raise SystemExit(f"MKL fails with status {status}")
            return made

        yield "mkl", Call(lambda: run(kernel != "spadd"), self.csc, library.mkl_sparse_destroy)
        if kernel != "spadd":
            yield "mkl unsorted", Call(lambda: run(False), self.csc, library.mkl_sparse_destroy)

    def matrix(self, matrix: Any) -> ctypes.c_void_p:
        """Its handle of a matrix, whose arrays must live on."""
        handle = ctypes.c_void_p()
        arrays = matrix.indptr.ctypes.data, matrix.indptr.ctypes.data + 4, matrix.indices.ctypes.data
        pointers = map(ctypes.c_void_p, (*arrays, matrix.data.ctypes.data))
        self.library.mkl_sparse_d_create_csr(ctypes.byref(handle), 0, *matrix.shape[::-1], *pointers)
        return handle

    def csc(self, made: ctypes.c_void_p) -> Any:
        """A copy of a result."""
        base, rows, columns = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        starts, ends, indices, values = (ctypes.c_void_p() for _ in range(4))
        sizes = map(ctypes.byref, (base, rows, columns))
        self.library.mkl_sparse_d_export_csr(made, *sizes, *map(ctypes.byref, (starts, ends, indices, values)))

        def array(at: ctypes.c_void_p, kind: Any, length: int) -> np.ndarray:
            return np.ctypeslib.as_array(ctypes.cast(at, ctypes.POINTER(kind)), (length,)).copy() if length else []

        last = array(ends, ctypes.c_int, rows.value)
        indptr = np.concatenate([[0], last]).astype(np.int32)
        entries = int(indptr[-1])
        parts = array(values, ctypes.c_double, entries), array(indices, ctypes.c_int, entries), indptr
        found = scipy.sparse.csc_array(parts, shape=(columns.value, rows.value))
        found.sort_indices()
        return found


class GraphBlas:
    """SuiteSparse:GraphBLAS through python-graphblas; results are materialized, which sorts them."""

    def __init__(self) -> None:
        self.module = import_module("graphblas")
        self.module.init("suitesparse", blocking=False)

    def calls(self, kernel: str, given: Inputs, threads: int) -> Iterator[tuple[str, Call]]:
        """Its operation that computes the kernel, on matrices by columns as they come."""
        if kernel not in ("spgemm", "spadd", "hadamard", "spmspv"):
            return
        from graphblas import Matrix, binary, semiring

        def taken(matrix: Any) -> Any:
            parts = matrix.indptr.astype(np.uint64), matrix.indices.astype(np.uint64), matrix.data
            return Matrix.from_csr(*parts, ncols=matrix.shape[0])  # its transpose by rows

        A, B = taken(given["A"]), taken(given.get("B", given.get("x")))
        config = self.module.ss.config

        def run() -> Any:
            config["nthreads"] = threads
            if kernel == "spadd":
                made = A.ewise_add(B, binary.plus).new()
            elif kernel == "hadamard":
                made = A.ewise_mult(B, binary.times).new()
            else:
                made = B.mxm(A, semiring.plus_times).new()
            made.wait("materialize")
            return made

        yield "graphblas", Call(run, lambda made: scipy.sparse.csc_array(self.module.io.to_scipy_sparse(made).T))
