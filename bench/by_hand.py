"""MTTKRP in C that we wrote ourselves, as TACO's best schedule does it: TACO itself is in no package registry.

`hand-written C` keeps the sum of each fiber in a workspace, as TACO's own evaluation does; `hand-written C, plain` does
not. Both are compiled with the flags that TACO uses, and for this processor.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np

from bench.glue import library
from bench.peers import Call, Inputs

FLAGS = ("-std=c99", "-ffast-math", "-fopenmp")


class ByHand:
    """The loops of mttkrp.c. OSError if they cannot be compiled."""

    def __init__(self) -> None:
        made = library("mttkrp.c", "cc", *FLAGS)
        if made is None:
            raise OSError("mttkrp.c does not compile")
        self.library = made

    def calls(self, kernel: str, given: Inputs, threads: int) -> Iterator[tuple[str, Call]]:
        """Dense MTTKRP in both ways, and nothing else."""
        if kernel != "mttkrp":
            return
        B, C, D = given["B"], *(np.ascontiguousarray(given[name]) for name in "CD")
        i, k, l = B.coords
        order = np.lexsort((l, k, i))
        i, k, l = (axis[order].astype(np.int32) for axis in (i, k, l))
        first = np.flatnonzero(np.concatenate([[len(i) > 0], (i[1:] != i[:-1]) | (k[1:] != k[:-1])])[: len(i)])
        fibers = np.append(first, len(i)).astype(np.int32)
        rows = np.searchsorted(i[first], np.arange(B.shape[0] + 1)).astype(np.int32)
        arrays = rows, k[first], fibers, l, B.data[order], C, D
        numbers = ctypes.c_int64(B.shape[0]), ctypes.c_int64(C.shape[1]), ctypes.c_int(threads)

        def run(function: str) -> np.ndarray:
            A = np.empty((B.shape[0], C.shape[1]))
            pointers = (ctypes.c_void_p(array.ctypes.data) for array in (*arrays, A))
            getattr(self.library, function)(*numbers, *pointers)
            return A

        yield "hand-written C", Call(lambda: run("workspace"), lambda A: A)
        yield "hand-written C, plain", Call(lambda: run("plain"), lambda A: A)
