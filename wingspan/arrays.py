"""Between arrays and the elements that a tensor stores."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

from wingspan.errors import InputError
from wingspan.lang.algebra import exact
from wingspan.lang.ir import Value
from wingspan.levels.cells import Entry

LARGEST = 2**63 - 1


def numbers(data: Any) -> np.ndarray:
    """An array of 64-bit integers, doubles, booleans, or of exact Python numbers (`object`); else an InputError."""
    try:
        array = np.asarray(data)
    except (ValueError, TypeError) as error:
        raise InputError(f"not an array: {error}", fix="use rows of one length") from None
    if array.dtype.kind == "O":
        return _objects(array)
    kinds: dict[str, type] = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}
    if array.dtype.kind not in kinds or array.dtype.itemsize > 8:
        raise InputError(f"a tensor does not hold {array.dtype} elements", fix="use integers, doubles or booleans")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise _not_finite(array[~np.isfinite(array)][0])
    if array.dtype.kind == "u" and array.size and int(array.max()) > LARGEST:
        raise InputError(f"{array.max()} does not fit a 64-bit integer", fix="use smaller integers, or doubles")
    return array.astype(kinds[array.dtype.kind], copy=False)


def _objects(array: np.ndarray) -> np.ndarray:
    made = np.empty(array.shape, dtype=object)
    for k, value in enumerate(array.flat):
        value = value.item() if isinstance(value, np.generic) else value
        if not isinstance(value, bool | int | float | Fraction):
            raise InputError(
                f"a tensor does not hold a {type(value).__name__}: {value!r}", fix="use integers, doubles or booleans"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise _not_finite(value)
        made.flat[k] = value
    return made


def _not_finite(value: Any) -> InputError:
    return InputError(f"{value} is not a finite number, and results are exact only for those", fix="use finite numbers")


def entries_of(data: Any, fill: Value) -> list[Entry]:
    """The elements of a dense array that differ from `fill`, or those that a SciPy sparse array stores."""
    return sparse_entries(data) if scipy.sparse.issparse(data) else dense_entries(data, fill)


def dense_entries(data: Any, fill: Value) -> list[Entry]:
    """The elements of a dense array that differ from `fill`."""
    array = numbers(data)
    chosen = _differing(array, exact(fill))
    at = (np.argwhere(chosen) + 1).tolist()
    return list(zip(map(tuple, at), array[chosen].tolist(), strict=True))


def _differing(array: np.ndarray, fill: Value) -> np.ndarray:
    """Where an array differs from `fill`; numbers of other kinds are compared exactly, booleans differ from them."""
    if array.dtype == object:
        flags = [v != fill or isinstance(v, bool) != isinstance(fill, bool) for v in array.flat]
        return np.array(flags, dtype=np.bool_).reshape(array.shape)
    same: Any = None
    if (array.dtype == np.bool_) == isinstance(fill, bool):
        try:
            same = array.dtype.type(fill)
        except OverflowError:
            same = None
    if same is None or exact(same.item()) != fill:
        return np.ones(array.shape, dtype=np.bool_)
    return np.asarray(array != same)


def sparse_entries(matrix: Any) -> list[Entry]:
    """The stored elements of a SciPy sparse array; duplicates are summed exactly, of booleans one is enough."""
    try:
        coo = scipy.sparse.coo_array(matrix)
    except ValueError as error:
        raise InputError(f"not a SciPy sparse array in order: {error}", fix="make it anew") from None
    for axis, extent in zip(coo.coords, coo.shape, strict=True):
        if len(axis) and not (axis.min() >= 0 and axis.max() < extent):
            raise InputError("not a SciPy sparse array in order: an index is out of bounds", fix="make it anew")
    at = zip(*((axis + 1).tolist() for axis in coo.coords), strict=True)
    entries: list[Entry] = list(zip(at, numbers(coo.data).tolist(), strict=True))
    return entries if len({at for at, _ in entries}) == len(entries) else _summed(entries)


def _summed(entries: list[Entry]) -> list[Entry]:
    sums: dict[tuple[int, ...], Value] = {}
    for at, value in entries:
        if at not in sums:
            sums[at] = exact(value)
        elif isinstance(value, bool):
            sums[at] = sums[at] or value
        else:
            sums[at] += exact(value)
    return list(sums.items())
