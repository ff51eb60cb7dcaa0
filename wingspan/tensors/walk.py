"""The stored elements of a tensor in read mode, all at once, from its arrays.

This reads what the operations of the formats would read one element at a time, as `cells.Reader` does for any format.
It knows the formats of this package only: `elements` leaves every other one to its own operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from math import prod

import numpy as np
import scipy.sparse

from wingspan.errors import InternalError
from wingspan.lang.ir import Instance
from wingspan.levels.atomic import Atomic
from wingspan.levels.base import FIBER, Storage
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element
from wingspan.levels.isolate import Isolate
from wingspan.levels.merge import Merge
from wingspan.levels.mutex import Mutex
from wingspan.levels.shard import Shard
from wingspan.levels.sparse_byte_map import SparseByteMap
from wingspan.levels.sparse_dict import SparseDict
from wingspan.levels.sparse_list import SparseList
from wingspan.tensors.frozen import DTYPES, Frozen, Stored, disorder

Lists = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The elements of SparseLists, their indices and their pointers, which count from 0."""

Elements = tuple[list[np.ndarray], np.ndarray]
"""Subscripts, from 1, an array for each axis; and the values."""

KNOWN = frozenset({Element, Atomic, Dense, SparseList, SparseByteMap, SparseDict, Mutex, Isolate, Shard, Merge})
"""The formats whose buffers this module reads. Not those derived from them, which may hold something else in these."""


def elements(frozen: Frozen) -> Elements | None:
    """The stored elements in column-major order; None if a format or its buffers are not as this module knows them."""
    if not all(type(level) in KNOWN for level in frozen.tower.levels):
        return None
    walk = _Walk(frozen)
    try:
        leaves = walk.reached(_START, len(frozen.tower.levels) - 1)
        parts = [(at.subscripts, walk.buffer(at, "val")[at.positions]) for at in leaves]
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


def columns(frozen: Frozen) -> scipy.sparse.csc_array | None:
    """A matrix of SparseLists whose modifiers have brought its columns into few instances; None if it is none such.

    The columns of all instances are put side by side, and then in order, which SciPy does column by column.
    """
    tower = frozen.tower
    if tower.rank != 2 or not all(type(level) in KNOWN for level in tower.levels):
        return None
    depth = tower.depths[2]
    if type(tower.levels[depth]) is not SparseList or depth + 2 != len(tower.levels):
        return None
    walk = _Walk(frozen)
    try:
        pieces = list(islice(walk.reached(_START, depth), PIECES + 1))
        if len(pieces) > PIECES:
            return None
        none: Lists = np.zeros(0, dtype=DTYPES[tower.kind]), np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int32)
        parts = [*map(walk.lists, pieces), none]
    except _Unknown:
        return None
    widths = [len(ptr) - 1 for _, _, ptr in parts]
    column = np.full(tower.shape[1], sum(widths))  # an empty one after all others, unless it is found
    for piece, before in zip(pieces, accumulate(widths, initial=0), strict=False):
        column[piece.subscripts[0] - 1] = before + piece.positions - 1
    entries = [len(values) for values, _, _ in parts]
    ptr = [ptr[:-1] + before for (_, _, ptr), before in zip(parts, accumulate(entries, initial=0), strict=False)]
    values, indices = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    pointers = np.concatenate([*ptr, np.full(2, sum(entries))])
    side_by_side = scipy.sparse.csc_array((values, indices, pointers), shape=(tower.shape[0], sum(widths) + 1))
    return side_by_side[:, column]


PIECES = 256
"""Instances that are put side by side; more would each take longer than their columns."""


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


_START = _Fibers(0, np.ones(1, dtype=np.int64), (), [])
"""The root fiber."""


class _Walk:
    def __init__(self, frozen: Frozen) -> None:
        self.arrays, self.tower = frozen.arrays, frozen.tower

    def buffer(self, at: _Fibers, name: str) -> Stored:
        return self.arrays.get((at.depth, name, at.instance), Stored(np.zeros(0, dtype=np.int64)))

    def lists(self, at: _Fibers) -> Lists:
        """The SparseLists of an instance. They are only taken as they are if they are in order."""
        n, dtype = self.tower.extent(at.depth), DTYPES[self.tower.kind]
        ptr, idx = self.buffer(at, "ptr"), self.buffer(at, "idx")
        val = self.arrays.get((at.depth + 1, "val", at.instance), Stored(np.zeros(0, dtype=dtype)))
        ptr = Stored(ptr.values[: int(at.positions.max(initial=0)) + 1], ptr.shift)
        if val.at is not None or disorder(ptr, idx, len(val.values), len(ptr.values) - 1, n):
            raise _Unknown
        pointers = ptr.minus_1()
        values = val.values.view(dtype) if dtype is np.bool_ else val.values
        return values[: pointers[-1]], idx.minus_1()[: pointers[-1]], pointers

    def reached(self, at: _Fibers, depth: int) -> Iterator[_Fibers]:
        """The positions of the level at a depth that some fibers lead to, for each instance."""
        if at.depth == depth:
            yield at
            return
        level, p = self.tower.levels[at.depth], at.positions
        every = np.ones(len(p), dtype=np.bool_)
        match level:
            case Storage():
                yield from self.reached(self.children(at, level, self.tower.extent(at.depth)), depth)
            case Mutex():
                yield from self.reached(at.some(every, p), depth)
            case Merge():
                now = self.buffer(at, "now")[np.ones(1, dtype=np.int64)].item()
                yield from self.reached(at.some(every, p, (level.key, now)), depth)
            case Isolate():
                there = self.buffer(at, "state")[p] > 0
                self.check_leaf(at, there)
                for k in np.flatnonzero(there):
                    yield from self.reached(at.some(np.array([k]), np.ones_like(p), (FIBER, int(p[k]))), depth)
            case Shard():
                child, owner = self.buffer(at, "ptr")[p], self.buffer(at, "owner")[p]
                self.check_leaf(at, child > 0)
                for t in np.unique(owner[child > 0]).tolist():
                    yield from self.reached(at.some((owner == t) & (child > 0), child, (level.key, t)), depth)
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
            case SparseByteMap():
                fiber, index = self.flagged(at, n)
                child = (p[fiber] - 1) * n + index
            case SparseDict():
                fiber, k = self.listed(at, "srt")
                key = self.buffer(at, "srt")[k]
                index = key - (p[fiber] - 1) * n
                child = self.buffer(at, "tbl")[key]
            case _:
                raise InternalError(f"{level.name} is among the formats that are walked, and no case reads it")
        falls = (index[1:] <= index[:-1]) & (fiber[1:] == fiber[:-1])
        if len(index) and (falls.any() or index.min() < 1 or index.max() > n or child.min() < 1):
            raise _Unknown
        subscripts = [index, *(axis[fiber] for axis in at.subscripts)]
        return _Fibers(at.depth + 1, child, at.instance, subscripts)

    def flagged(self, at: _Fibers, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Of all entries of the fibers: which fiber, from 0, and index; from the bits of words."""
        words = -(-n // 64)
        fiber, word = (axis.ravel() for axis in np.indices((len(at.positions), words)))
        found = self.buffer(at, "tbl")[(at.positions[fiber] - 1) * words + word + 1].astype("<i8")
        there = np.flatnonzero(found)
        k, index = np.nonzero(np.unpackbits(found[there].view(np.uint8), bitorder="little").reshape(-1, 64))
        return fiber[there[k]], word[there[k]] * 64 + index + 1

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
