"""Entries of a tensor into the buffers of its levels, all at once.

What one level makes of its fibers is said by its format (`Level.pack`). Here is the way from level to level, and from
instance to instance, each of which takes a step in Python; an entry takes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.stored import Below, Fibers, Stored, Unusual, narrow
from wingspan.lang.ir import Instance
from wingspan.levels.base import Leaf, Modifier, Storage, Tower
from wingspan.tensors.frozen import Frozen, Key, fix

EXACT = 2**53
"""Doubles hold all integers up to here."""


@dataclass(frozen=True, eq=False)
class TensorEntries:
    """Elements with their subscripts as *compressed sparse fibers*, the way that tensors are stored.

    A node stands for all elements whose last k subscripts are the same, for each k from 0 to the rank. All nodes are in
    order, the last axis first. `indices[k]` has the next subscript, from 0, of each child of the nodes with k
    subscripts; `pointers[k]` has the number of the first child of each of these nodes, and the number of all children.
    """

    pointers: list[np.ndarray]
    indices: list[np.ndarray]
    values: np.ndarray

    @staticmethod
    def from_subscripts(subscripts: Sequence[np.ndarray], shape: tuple[int, ...], values: np.ndarray) -> TensorEntries:
        """Elements in any order; duplicates are summed, or combined by `or` if they are booleans.

        `subscripts` has an array for each axis, counted from 0. The arrays are copied. Unusual if a sum may be rounded.
        """
        order = in_order(subscripts, shape)
        made = TensorEntries([], [], values.copy() if order is None else values[order])
        begins: np.ndarray = np.zeros(len(values), dtype=np.bool_)
        begins[:1] = True
        for axis, extent in zip(reversed(subscripts), reversed(shape), strict=True):
            axis = (axis if order is None else axis[order]).astype(narrow(extent), copy=order is None)
            parents, begins = begins, begins.copy()
            begins[1:] |= axis[1:] != axis[:-1]
            children = slice(None) if begins.all() else np.flatnonzero(begins)
            made.indices.append(axis[children])
            first = np.flatnonzero(parents[children]) if made.pointers else np.zeros(1, dtype=np.int64)
            made.pointers.append(np.append(first, len(made.indices[-1])))
        return made if begins.all() else replace(made, values=_sums(made.values, np.flatnonzero(begins)))


def in_order(subscripts: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray | None:
    """The permutation that sorts subscripts from 0, the last axis first; None if they are sorted."""
    bits = [max(extent - 1, 0).bit_length() for extent in shape]
    if sum(bits) > 63:
        return np.lexsort(subscripts)
    key: np.ndarray = np.zeros(len(subscripts[0]) if subscripts else 0, dtype=np.int64)
    for axis, width in zip(reversed(subscripts), reversed(bits), strict=True):
        key <<= width
        np.bitwise_or(key, axis, out=key, casting="unsafe")
    if (key[1:] >= key[:-1]).all():
        return None
    number = len(key).bit_length()
    if sum(bits) + number > 63:
        return np.argsort(key)
    key <<= number
    key |= np.arange(len(key))
    key.sort()  # numbers are sorted faster than the order is found that sorts them
    key &= (1 << number) - 1
    return key


def _sums(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The sums of the values from each of these numbers on, or their `or`. Unusual if a sum may be rounded."""
    if values.dtype == np.bool_:
        return np.logical_or.reduceat(values, first)
    values = values.astype(np.float64 if values.dtype.kind == "f" else np.int64, copy=False)
    whole = values.dtype == np.int64 or bool((values == np.trunc(values)).all())
    if not whole or float(np.abs(values.astype(np.float64)).max(initial=0)) * len(values) >= EXACT:
        raise Unusual
    return np.add.reduceat(values, first)


def pack(tower: Tower, entries: TensorEntries) -> Frozen:
    """The tensor in read mode that stores these entries, values of its kind, and no others unless its levels are full.

    Unusual if a level cannot hold them in arrays.
    """
    if not tower.packs:
        raise Unusual
    for array in (*entries.indices, entries.values):
        fix(array)
    visited = 1 if tower.rank else len(entries.values)
    made = _Pack(tower, entries, {})
    made.level(0, (), Fibers(1, np.zeros(visited, dtype=np.int64)), 0)
    return Frozen(tower, made.arrays)


@dataclass(frozen=True, eq=False)
class _Pack:
    tower: Tower
    entries: TensorEntries
    arrays: dict[Key, Stored]

    def level(self, depth: int, instance: Instance, fibers: Fibers, first: int) -> None:
        """Pack the levels of an instance from a depth down; the fibers visited are the nodes from the first one on."""
        level, entries, last = self.tower.levels[depth], self.entries, first + len(fibers.positions)
        match level:
            case Leaf():
                buffers = level.pack(fibers, entries.values[first:last])
            case Storage():
                k = self.tower.rank + 1 - self.tower.numbers[depth]
                pointers = entries.pointers[k][first : last + 1]
                indices = entries.indices[k][pointers[0] : pointers[-1]]
                a, b = int(pointers[0]), int(pointers[-1])
                below = Below(partial(self.elements, depth + 1, a, b), partial(self.nodes, k + 1, a, b))
                buffers, children = level.pack(fibers, self.tower.extent(depth), np.diff(pointers), indices, below)
                self.level(depth + 1, instance, children, int(pointers[0]))
            case Modifier():
                buffers, parts = level.pack(fibers)
                for key, inside in parts:
                    self.level(depth + 1, instance if key is None else (*instance, (level.key, key)), inside, first)
                    first += len(inside.positions)
            case _:
                raise Unusual
        for name, stored in buffers.items():
            if len(stored.values):
                fix(stored.values)
                self.arrays[depth, name, instance] = stored

    def nodes(self, k: int, first: int, last: int, axes: int) -> np.ndarray:
        """Count the nodes with so many subscripts more below some nodes with k subscripts."""
        bounds: np.ndarray = np.arange(first, last + 1)
        for pointers in self.entries.pointers[k : k + axes]:
            bounds = pointers[bounds]
        return np.diff(bounds)

    def elements(self, depth: int, first: int, last: int) -> np.ndarray:
        """All elements below some nodes, stored or not, a row for each: below them are Dense levels only."""
        tower, rows = self.tower, last - first
        at, size = np.arange(rows), 1
        for d in range(depth, len(tower.levels)):
            if not isinstance(tower.levels[d], Storage):
                continue
            if not tower.levels[d].lookup:
                raise Unusual
            n, k = tower.extent(d), tower.rank + 1 - tower.numbers[d]
            pointers = self.entries.pointers[k][first : last + 1]
            first, last = int(pointers[0]), int(pointers[-1])
            at, size = np.repeat(at, np.diff(pointers)) * n + self.entries.indices[k][first:last], size * n
        every = np.full(rows * size, tower.fill, self.entries.values.dtype)
        every[at] = self.entries.values[first:last]
        return every.reshape(rows, size)
