"""The stored elements of a tensor in read mode, all at once, from its arrays.

This reads what the operations of the formats would read one element at a time, as `cells.Reader` does for any format.
It knows the formats of this package only: `elements` leaves every other one to its own operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from wingspan.errors import InternalError
from wingspan.lang.ir import Instance
from wingspan.levels.atomic import Atomic
from wingspan.levels.base import FIBER, Leaf, Storage
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element
from wingspan.levels.isolate import Isolate
from wingspan.levels.merge import Merge
from wingspan.levels.mutex import Mutex
from wingspan.levels.shard import Shard
from wingspan.levels.sparse_byte_map import SparseByteMap
from wingspan.levels.sparse_dict import SparseDict
from wingspan.levels.sparse_list import SparseList
from wingspan.tensors.frozen import DTYPES, Frozen, Stored

Elements = tuple[list[np.ndarray], np.ndarray]
"""Subscripts, from 1, an array for each axis; and the values."""

KNOWN = frozenset({Element, Atomic, Dense, SparseList, SparseByteMap, SparseDict, Mutex, Isolate, Shard, Merge})
"""The formats whose buffers this module reads. Not those derived from them, which may hold something else in these."""


def elements(frozen: Frozen) -> Elements | None:
    """The stored elements in column-major order; None if a format or its buffers are not as this module knows them."""
    if not all(type(level) in KNOWN for level in frozen.tower.levels):
        return None
    start = _Fibers(0, np.ones(1, dtype=np.int64), (), [])
    try:
        parts = list(_Walk(frozen).below(start))
    except _Unknown:
        return None
    dtype = DTYPES[frozen.tower.kind]
    if not parts:
        return [np.zeros(0, dtype=np.int64) for _ in frozen.tower.shape], np.zeros(0, dtype=dtype)
    subscripts = [np.concatenate(axis) for axis in zip(*(part[0] for part in parts), strict=True)]
    values: np.ndarray = np.concatenate([values for _, values in parts]).astype(dtype, copy=False)
    if len(parts) == 1:
        return subscripts, values
    order = _order(subscripts, frozen.tower.shape)
    return [axis[order] for axis in subscripts], values[order]


def _order(subscripts: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """The column-major order of elements that lie in few ascending runs, which a merge sort finds."""
    if prod(shape) >= 2**63:
        return np.lexsort(subscripts)
    key = np.zeros_like(subscripts[0])
    for axis, extent in zip(reversed(subscripts), reversed(shape), strict=True):
        key *= extent
        key += axis - 1
    return np.argsort(key, kind="stable")


class _Unknown(Exception):
    """Leave it to the operations of the formats."""


@dataclass(frozen=True)
class _Fibers:
    """Positions of a level in one instance, and the subscripts that lead to each, the first axis first."""

    depth: int
    positions: np.ndarray
    instance: Instance
    subscripts: list[np.ndarray]

    def some(self, chosen: np.ndarray, positions: np.ndarray, *keys: tuple[str, int]) -> _Fibers:
        """Those of the next level that the chosen ones lead to, in the instance with these keys."""
        subscripts = [axis[chosen] for axis in self.subscripts]
        return _Fibers(self.depth + 1, positions[chosen], (*self.instance, *keys), subscripts)


class _Walk:
    def __init__(self, frozen: Frozen) -> None:
        self.arrays, self.tower = frozen.arrays, frozen.tower

    def buffer(self, at: _Fibers, name: str) -> Stored:
        return self.arrays.get((at.depth, name, at.instance), Stored(np.zeros(0, dtype=np.int64)))

    def below(self, at: _Fibers) -> Iterator[Elements]:
        """The elements below some fibers."""
        level, p = self.tower.levels[at.depth], at.positions
        every = np.ones(len(p), dtype=np.bool_)
        match level:
            case Leaf():
                yield at.subscripts, self.buffer(at, "val")[p]
            case Storage():
                yield from self.below(self.children(at, level, self.tower.extent(at.depth)))
            case Mutex():
                yield from self.below(at.some(every, p))
            case Merge():
                now = self.buffer(at, "now")[np.ones(1, dtype=np.int64)].item()
                yield from self.below(at.some(every, p, (level.key, now)))
            case Isolate():
                there = self.buffer(at, "state")[p] > 0
                self.check_leaf(at, there)
                for k in np.flatnonzero(there):
                    yield from self.below(at.some(np.array([k]), np.ones_like(p), (FIBER, int(p[k]))))
            case Shard():
                child, owner = self.buffer(at, "ptr")[p], self.buffer(at, "owner")[p]
                self.check_leaf(at, child > 0)
                for t in np.unique(owner[child > 0]).tolist():
                    yield from self.below(at.some((owner == t) & (child > 0), child, (level.key, t)))
            case _:
                raise InternalError(f"{level.name} is among the formats that are walked, and no case reads it")

    def check_leaf(self, at: _Fibers, there: np.ndarray) -> None:
        """An element whose modifier takes effect late is stored, as fill, also where the modifier has nothing."""
        if at.depth in self.tower.late(1) and not there.all():
            raise _Unknown

    def children(self, at: _Fibers, level: Storage, n: int) -> _Fibers:
        """The children of all fibers of a storage level."""
        p = at.positions
        match level:
            case Dense():
                count = np.full(len(p), n, dtype=np.int64)
                fiber = np.repeat(np.arange(len(p)), count)
                index = np.tile(np.arange(1, n + 1), len(p))
                child = (p[fiber] - 1) * n + index
            case SparseList():
                fiber, child = self.listed(at, "idx")
                index = self.buffer(at, "idx")[child]
            case SparseByteMap() | SparseDict():
                fiber, k = self.listed(at, "srt")
                key = self.buffer(at, "srt")[k]
                index = key - (p[fiber] - 1) * n
                child = self.buffer(at, "tbl")[key] if isinstance(level, SparseDict) else key
            case _:
                raise InternalError(f"{level.name} is among the formats that are walked, and no case reads it")
        falls = (index[1:] <= index[:-1]) & (fiber[1:] == fiber[:-1])
        if len(index) and (falls.any() or index.min() < 1 or index.max() > n or child.min() < 1):
            raise _Unknown
        subscripts = [index, *(axis[fiber] for axis in at.subscripts)]
        return _Fibers(at.depth + 1, child, at.instance, subscripts)

    def listed(self, at: _Fibers, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Of all entries of the fibers: which fiber, from 0, and number in the buffer with this name."""
        ptr = self.buffer(at, "ptr")
        first = ptr[at.positions]
        count = ptr[at.positions + 1] - first
        most = len(self.buffer(at, name).values)
        if (first < 1).any() or (count < 0).any() or (count > most).any() or count.sum() > most:
            raise _Unknown
        fiber = np.repeat(np.arange(len(first)), count)
        return fiber, np.arange(len(fiber)) + np.repeat(first - np.cumsum(count) + count, count)
