"""SciPy's sparse arrays, checked before SciPy does anything with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache
from typing import Any

from wingspan.base.errors import InputError
from wingspan.base.libraries import np, scipy
from wingspan.buffers.stored import Stored, narrow
from wingspan.lang.numbers import axes
from wingspan.tensors.frozen import UNSORTED, disorder


def coordinates(matrix: Any) -> Any:
    """A matrix in CSC or CSR as it is, and every other array in COO."""
    compressed = matrix.format in ("csc", "csr") and matrix.ndim == 2
    return matrix if compressed else scipy.sparse.coo_array(matrix)


def in_order(matrix: Any, convert: Callable[[Any], Any] = coordinates) -> Any:
    """A SciPy sparse array as CSC, CSR or COO, not always sorted, but else as it should be; or an InputError.

    It is converted only after its arrays have been checked, which SciPy trusts.
    """
    try:
        found = _damage(matrix)
        if found in (None, UNSORTED) and (matrix := convert(_with_signed_indices(matrix))).format == "coo":
            sides = zip(matrix.coords, matrix.shape, strict=True)
            if any(len(axis) and not (axis.min() >= 0 and axis.max() < extent) for axis, extent in sides):
                found = "an index is out of bounds"
    except Exception as error:  # SciPy raises whatever it meets in arrays that were replaced
        found = reason(error)
    if found and found != UNSORTED:
        raise InputError(f"not a SciPy sparse array in order: {found}", fix="make it anew")
    return matrix


def _with_signed_indices(matrix: Any) -> Any:
    """The matrix with signed indices: NumPy and SciPy turn unsigned ones of 64 bits into doubles, or refuse them.

    SciPy also warns of all unsigned ones in COO. What does not fit becomes negative, and is out of bounds. Diagonals
    outside of a matrix stay outside.
    """
    if matrix.format == "coo" and not all(axis.dtype in (np.int32, np.int64) for axis in matrix.coords):
        made = copy(matrix)
        made.coords = tuple(axis.astype(np.int64) for axis in matrix.coords)
        return made
    if hasattr(matrix, "indptr") and np.uint64 in (matrix.indices.dtype, matrix.indptr.dtype):
        made = copy(matrix)
        made.indices, made.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
        return made
    if matrix.format == "dia" and any(not -matrix.shape[0] <= k <= matrix.shape[1] for k in matrix.offsets.tolist()):
        made = copy(matrix)  # SciPy takes offsets modulo 2³²
        made.offsets = np.clip(matrix.offsets, -matrix.shape[0], matrix.shape[1])
        return made
    return matrix


def csc_array(values: np.ndarray, indices: np.ndarray, pointers: np.ndarray, shape: tuple[int, ...]) -> Any:
    """A CSC array of arrays that are in order, with indices and pointers as wide as SciPy keeps them.

    SciPy's constructor takes longer to look at them than a small kernel takes.
    """
    made = _copy(_without_columns(shape))
    made.data, made.indices, made.indptr = values, indices, pointers
    return made


def coo_array(values: np.ndarray, subscripts: Sequence[np.ndarray], shape: tuple[int, ...]) -> Any:
    """A COO array of entries in column-major order, each once, with subscripts as wide as SciPy keeps them."""
    made = _copy(_without_entries(shape))
    width = narrow(max(shape))
    made.data, made.coords = values, tuple([axis.astype(width, copy=False) for axis in subscripts])
    made.has_canonical_format = len(shape) == 1  # SciPy's order has the first axis first
    return made


def _copy(array: Any) -> Any:
    """A shallow copy of an array of SciPy, as `copy.copy` makes it in ten times the time."""
    kind: Any = type(array)
    made = kind.__new__(kind)
    made.__dict__.update(array.__dict__)
    return made


@lru_cache(maxsize=64)
def _without_columns(shape: tuple[int, ...]) -> Any:
    """A CSC array to copy, whose own arrays are to be replaced."""
    made = scipy.sparse.csc_array(shape)
    made.indptr = made.indptr[:1].copy()
    return made


@lru_cache(maxsize=64)
def _without_entries(shape: tuple[int, ...]) -> Any:
    """A COO array to copy, whose own arrays are to be replaced."""
    return scipy.sparse.coo_array(shape)


def reason(error: Exception) -> str:
    """The message of a library's error, in one line."""
    return str(error).partition("\n")[0] or type(error).__name__


DATA_AXES = {"coo": 1, "csc": 1, "csr": 1, "dia": 2, "bsr": 3}
"""The axes of `data`, by format. What the other formats hold is no array."""


def _damage(matrix: Any) -> str | None:
    """Describe damage in the arrays of a SciPy sparse array, which SciPy itself trusts, down to a crash."""
    if matrix.format == "lil":
        return _uneven_lists(matrix.rows, matrix.data, matrix.shape[0])
    if matrix.format not in DATA_AXES:
        return None
    names = {"coo": (), "dia": ("offsets",)}.get(matrix.format, ("indices", "indptr"))
    integers = {name: getattr(matrix, name) for name in names}
    if matrix.format == "coo":
        integers = {f"coords[{k}]": axis for k, axis in enumerate(matrix.coords)}
    for name, array in {"data": matrix.data, **integers}.items():
        rank = DATA_AXES[matrix.format] if name == "data" else 1
        if not isinstance(array, np.ndarray) or array.ndim != rank:
            return f"{name} is no array of {axes(rank)}"
        if np.ma.is_masked(array):
            return f"{name} is masked"
        if name != "data" and array.dtype.kind not in "iu":
            return f"{name} holds no integers"
        if array.dtype.kind == "O":
            return f"{name} holds objects"
    if "indices" in integers and len(matrix.indices) != len(matrix.data):
        return "indices and data differ in length"
    if matrix.format == "dia" and len(matrix.offsets) != len(matrix.data):
        return f"it has {len(matrix.offsets)} offsets for {len(matrix.data)} diagonals"
    return None if matrix.format in ("coo", "dia") else misplaced_entries(matrix)


def _uneven_lists(rows: Any, data: Any, extent: int) -> str | None:
    """Describe uneven lists of LIL, if any: SciPy counts those of `rows`, and copies as many of `data`."""
    for name, lists in {"rows": rows, "data": data}.items():
        if not isinstance(lists, np.ndarray) or lists.shape != (extent,) or not all(type(x) is list for x in lists):
            return f"{name} is no array of {extent} lists"
    differ = [k for k in range(extent) if len(rows[k]) != len(data[k])]
    return f"rows[{differ[0]}] and data[{differ[0]}] differ in length" if differ else None


def misplaced_entries(matrix: Any) -> str | None:
    """Describe misplaced entries or blocks of CSC, CSR or BSR, if any."""
    shape = (1, *matrix.shape)[-2:]
    sides = [n // block for n, block in zip(shape, matrix.data.shape[1:] or (1, 1), strict=True)]
    fibers, extent = sides[::-1] if matrix.format == "csc" else sides
    return disorder(Stored(matrix.indptr, 1), Stored(matrix.indices, 1), len(matrix.data), fibers, extent)
