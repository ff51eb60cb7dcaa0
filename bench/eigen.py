"""Eigen, of Debian's libeigen3-dev, compiled when the measurement begins. It works on one thread, and sorts."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from bench.glue import library
from bench.peers import Call, Inputs

FUNCTIONS = {"spgemm": "product", "spadd": "sum", "hadamard": "pointwise", "spmspv": "apply"}


class Given(ctypes.Structure):
    """A matrix by columns."""

    _fields_ = (
        ("rows", ctypes.c_int),
        ("columns", ctypes.c_int),
        ("starts", ctypes.c_void_p),
        ("indices", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
    )


class Eigen:
    """The functions of eigen.cpp. OSError if they cannot be compiled."""

    def __init__(self) -> None:
        made = library("eigen.cpp", "c++", "-std=c++14", "-DNDEBUG", "-I/usr/include/eigen3")
        if made is None:
            raise OSError("eigen.cpp does not compile")
        self.library = made
        for name in FUNCTIONS.values():
            getattr(made, name).restype = ctypes.c_void_p

    def calls(self, kernel: str, given: Inputs, threads: int) -> Iterator[tuple[str, Call]]:
        """Its operation that computes the kernel, on SciPy's arrays where they lie."""
        if threads == 1 and kernel in FUNCTIONS:
            A, B = (ctypes.byref(self.given(given[name])) for name in ("A", "x" if kernel == "spmspv" else "B"))
            function = getattr(self.library, FUNCTIONS[kernel])
            yield (
                "eigen",
                Call(lambda: function(A, B), self.csc, lambda made: self.library.release(ctypes.c_void_p(made))),
            )

    def given(self, matrix: Any) -> Given:
        """A matrix of SciPy's, whose arrays must live on."""
        arrays = matrix.indptr, matrix.indices, matrix.data
        return Given(*matrix.shape, *(array.ctypes.data for array in arrays))

    def csc(self, made: int) -> Any:
        """A copy of a result."""
        about = Given()
        self.library.describe(ctypes.c_void_p(made), ctypes.byref(about))

        def array(at: int, kind: Any, length: int) -> np.ndarray:
            return np.ctypeslib.as_array(ctypes.cast(at, ctypes.POINTER(kind)), (length,)).copy() if length else []

        starts = array(about.starts, ctypes.c_int, about.columns + 1)
        entries = int(starts[-1])
        parts = array(about.values, ctypes.c_double, entries), array(about.indices, ctypes.c_int, entries), starts
        return scipy.sparse.csc_array(parts, shape=(about.rows, about.columns))
