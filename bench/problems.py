"""The operands of the measured kernels: square matrices and tensors of rank 3, from a folder or generated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from bench.peers import Inputs

RANK = 32
"""Columns of the factors of MTTKRP."""

FILLED = 0.25
"""The fraction of a sparse factor that is stored."""

CORNER = 200
"""Rows and columns of dense products."""

ROWS = {"inner": 2_100, "outer": 8_000, "nested": 40_000}
"""Larger matrices are not given to the products of which some take more than linear time."""


def generated() -> Iterator[tuple[str, Any]]:
    """Matrices and tensors to measure on where there are no others: even ones, skewed ones, a mesh."""
    rng = np.random.default_rng(1)
    n, entries = 30_000, 240_000
    yield "uniform", from_entries((n, n), rng.integers(0, n, (2, entries)))
    yield "skewed", from_entries((n, n), (n * rng.random((2, entries)) ** 3).astype(np.int64))
    line = scipy.sparse.eye_array(200, k=1) + scipy.sparse.eye_array(200) + scipy.sparse.eye_array(200, k=-1)
    yield "mesh", scipy.sparse.csc_array(scipy.sparse.kron(line, line))
    shape = 2_000, 300, 2_000
    yield "cube", from_entries(shape, [rng.integers(0, extent, 60_000) for extent in shape])


def from_entries(shape: tuple[int, ...], coordinates: Any) -> Any:
    """An array with an element of 1 for each different entry."""
    made = scipy.sparse.coo_array((np.ones(len(coordinates[0])), tuple(coordinates)), shape=shape)
    made.sum_duplicates()
    made.data[:] = 1.0
    return made


def arrays(folder: str | None, only: str | None) -> Iterator[tuple[str, Any]]:
    """Names and arrays: matrices in CSC, sorted, with 32-bit indices and without stored zeros; tensors in COO."""
    for name, array in generated() if folder is None else saved(Path(folder)):
        if only is not None and name not in only.split(","):
            continue
        if array.ndim == 3:
            yield name, array.astype(np.float64)
        elif array.shape[0] == array.shape[1]:
            made = scipy.sparse.csc_array(array).astype(np.float64)
            made.eliminate_zeros()
            yield name, in_order(made)


def in_order(matrix: Any) -> Any:
    """A CSC matrix with sorted columns and 32-bit indices."""
    matrix.sort_indices()
    matrix.indptr, matrix.indices = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    return matrix


def saved(folder: Path) -> Iterator[tuple[str, Any]]:
    """The arrays in a folder: matrices as save_npz writes them, tensors as `coords`, `data` and `shape`."""
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as parts:
            if "format" in parts:
                yield path.stem, scipy.sparse.load_npz(path)
            elif parts["coords"].shape[0] == 3:
                entries = parts["data"], tuple(parts["coords"])
                yield path.stem, scipy.sparse.coo_array(entries, shape=tuple(map(int, parts["shape"])))


def operands(kernel: str, A: Any) -> Iterator[tuple[str, Inputs]]:
    """The operands of a kernel made of an array, each with its name; none if the array does not suit."""
    rng = np.random.default_rng(2)
    if kernel.startswith("mttkrp"):
        if A.ndim == 3:
            yield "", {"B": A, **factors(kernel, A.shape, rng)}
    elif kernel == "inner_nested" and A.ndim == 2:
        corner = A[:CORNER, :CORNER].toarray()
        yield "", {"A": corner, "B": corner}
    elif A.ndim == 3 or A.shape[0] > ROWS.get(kernel, A.shape[0]):
        return
    elif kernel in ("spadd", "hadamard"):
        yield "shuffled", {"A": A, "B": in_order(A[rng.permutation(A.shape[0])])}
        for name, copy in (("shared", False), ("equal", True)):
            parts = A.data + 1, A.indices, A.indptr
            yield name, {"A": A, "B": scipy.sparse.csc_array(parts, shape=A.shape, copy=copy)}
    elif kernel == "spmspv":
        n = A.shape[1]
        at = np.sort(rng.choice(n, max(n // 10, 1), replace=False)).astype(np.int32)
        parts = np.ones(len(at)), at, np.array([0, len(at)], np.int32)
        yield "", {"A": A, "x": scipy.sparse.csc_array(parts, shape=(n, 1))}
    else:
        yield "", {"A": A, "B": A}


def factors(kernel: str, shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    """The factors of MTTKRP: dense by rows, or sparse by rows."""
    names = list(zip("CD", shape[1:], strict=True))
    if kernel == "mttkrp":
        return {name: rng.random((n, RANK)) for name, n in names}
    return {name: scipy.sparse.random_array((n, RANK), density=FILLED, format="csr", rng=rng) for name, n in names}
