"""Columns that several threads have made, each in lists of its own, as one matrix of SciPy: all processors copy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from wingspan.base.libraries import np, scipy
from wingspan.buffers.stored import Stored, narrow
from wingspan.tensors._gather import gather
from wingspan.tensors.frozen import disorder, hand_out
from wingspan.tensors.parallel import map_parallel, processors

PART = 1 << 19
"""Entries that are worth a thread."""


class Lists(NamedTuple):
    """SparseLists of one instance: their elements and indices, and pointers, which count from 0."""

    values: np.ndarray
    idx: Stored
    pointers: np.ndarray


Places: TypeAlias = "tuple[np.ndarray, np.ndarray]"
"""Columns, and for each which of an instance's lists it is."""


def side_by_side(
    lists: Sequence[Lists], places: Sequence[Places], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> scipy.sparse.csc_array | None:
    """The columns of a matrix in order; None if the indices of a column are not in order.

    What one instance has in order already is not copied, but for indices that count from 1.
    """
    piece, start, sizes = np.zeros((3, shape[1] + 1), dtype=np.int64)
    for number, ((_, _, pointers), (columns, positions)) in enumerate(zip(lists, places, strict=True)):
        piece[columns], start[columns] = number, pointers[positions]
        sizes[columns + 1] = pointers[positions + 1] - pointers[positions]
    ptr = np.cumsum(sizes)
    entries = int(ptr[-1])
    if not entries:
        return scipy.sparse.csc_array(shape, dtype=dtype)
    if len(lists) > 1 or not np.array_equal(start[:-1], ptr[:-1]):
        values: np.ndarray = np.empty(entries, dtype=dtype)
        made = _copy_lists(lists, piece, start, ptr, shape, values)
    else:
        values, idx = lists[0].values[:entries], Stored(lists[0].idx.values[:entries], lists[0].idx.shift)
        if idx.shift != 1:
            made = _copy_lists(lists, piece, start, ptr, shape, None)
        elif disorder(Stored(ptr, 1), idx, entries, shape[1], shape[0]):
            made = None
        else:
            made = hand_out(idx.values), ptr.astype(idx.values.dtype)
    return None if made is None else scipy.sparse.csc_array((hand_out(values.view(dtype)), *made), shape=shape)


def _copy_lists(
    lists: Sequence[Lists], piece: np.ndarray, start: np.ndarray, ptr: np.ndarray, shape: tuple[int, ...], into: Any
) -> tuple[np.ndarray, np.ndarray] | None:
    """Indices, counted from 0, and pointers, as narrow as SciPy keeps them; elements are copied into an array."""
    entries = int(ptr[-1])
    ptr = ptr.astype(narrow(max(*shape, entries)), copy=False)
    rows = np.empty(entries, dtype=ptr.dtype)
    values = np.empty(0, "b") if into is None else into.view("b")
    width = np.result_type(*(idx.values for _, idx, _ in lists))
    sources = [(idx.values.astype(width, copy=False), elements.view("b")) for elements, idx, _ in lists]
    least = np.array([1 - idx.shift for _, idx, _ in lists])
    parts = max(1, min(processors(), entries // PART))
    bounds = [0, *np.searchsorted(ptr, entries // parts * np.arange(1, parts)).tolist(), shape[1]]

    def copy(part: tuple[int, int]) -> bool:
        return gather(sources, least, shape[0], piece, start, ptr, *part, rows, values)

    ordered = list(map_parallel(copy, pairwise(bounds))) if parts > 1 else [copy((0, shape[1]))]
    return (rows, ptr) if all(ordered) else None
