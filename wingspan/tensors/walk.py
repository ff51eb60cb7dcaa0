"""The stored elements of a tensor in read mode, all at once, from its arrays: the way back from `pack`.

What one level holds is said by its format (`Level.unpack`), as `cells.Reader` has it read by its operations, an element
at a time. Levels that do not say it, and buffers that are not in order, are left to these.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import TypeAlias

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np, scipy
from wingspan.buffers.stored import Children, Stored, Unusual, narrow
from wingspan.lang.ir import Instance, Value
from wingspan.levels.base import Modifier, Storage
from wingspan.levels.sorted_keys import ranges_from
from wingspan.levels.stretches import Spread
from wingspan.tensors._gather import PIECES
from wingspan.tensors.foreign import RunArray
from wingspan.tensors.frozen import Frozen
from wingspan.tensors.gather import claimed_columns, lists_of, members, side_by_side
from wingspan.tensors.pack import in_order

Elements: TypeAlias = "tuple[list[np.ndarray], np.ndarray]"
"""Subscripts, from 0, an array for each axis; and the values. The arrays may be parts of the tensor's own."""


def elements(frozen: Frozen) -> Elements | None:
    """The stored elements in column-major order; None if a format or its buffers leave them to its operations."""
    if not frozen.tower.packs:
        return None
    if (listed := members(frozen)) is not None:
        rows, values = listed
        return [rows], values
    walk = _TensorWalk(frozen)
    try:
        parts = [walk.leaf(at) for at in walk.fibers_at_depth(_root(), len(frozen.tower.levels) - 1)]
    except Unusual:
        return None
    dtype = frozen.tower.dtype
    if len(parts) == 1:
        subscripts, values = parts[0]
        return subscripts, values.astype(dtype, copy=False)
    if not parts:
        return [np.zeros(0, dtype=np.int64) for _ in frozen.tower.shape], np.zeros(0, dtype=dtype)
    subscripts = [np.concatenate(axis) for axis in zip(*(part[0] for part in parts), strict=True)]
    values = np.concatenate([values for _, values in parts]).astype(dtype, copy=False)
    order = in_order(subscripts, frozen.tower.shape)
    return (subscripts, values) if order is None else ([axis[order] for axis in subscripts], values[order])


def count(frozen: Frozen) -> int | None:
    """Count the stored elements; None where `elements` is. Runs are counted without taking them apart."""
    tower = frozen.tower
    if not (tower.packs and tower.rank and tower.levels[tower.depths[2]].stretch == "run"):
        found = elements(frozen)
        return None if found is None else len(found[1])
    walk = _TensorWalk(frozen)
    try:
        return sum(int(walk.children(at).sizes.sum()) for at in walk.fibers_at_depth(_root(), tower.depths[2]))
    except Unusual:
        return None


def runs(frozen: Frozen, fill: Value) -> RunArray | None:
    """The runs of a vector, with those of fill between them; None if it is none, or its level keeps no runs."""
    tower = frozen.tower
    if tower.rank != 1 or not tower.packs or tower.levels[tower.depths[2]].stretch != "run":
        return None
    walk, dtype, n = _TensorWalk(frozen), tower.dtype, tower.shape[0]
    none: np.ndarray = np.zeros(0, dtype=np.int64)
    first, last = none, none
    values: np.ndarray = none.astype(dtype)
    try:
        for at in walk.fibers_at_depth(_root(), tower.depths[2]):
            children = walk.children(at)
            assert isinstance(children, Spread)
            first, last = children.left, children.left + children.lengths
            below = _Fibers(at.depth + 1, at.instance, children.starts, [])
            for leaves in walk.fibers_at_depth(below, len(tower.levels) - 1):
                values = walk.leaf(leaves)[1].astype(dtype, copy=False)
    except Unusual:
        return None
    gap = np.append(first, n) > np.append(0, last)
    there = np.stack([gap, np.append(np.ones(len(last), dtype=np.bool_), False)], axis=1).ravel()
    ends = np.stack([np.append(first, n), np.append(last, n)], axis=1).ravel()[there]
    every: np.ndarray = np.full((len(values) + 1, 2), fill, dtype=dtype)
    every[:-1, 1] = values
    return (
        RunArray(ends.astype(narrow(n), copy=False), every.ravel()[there])
        if gap.any()
        else RunArray(last.astype(narrow(n), copy=False), values)
    )


def invariants(frozen: Frozen) -> str | None:
    """Describe a broken invariant, naming level, fiber and entry, from the root down; None if there is none.

    Levels that do not say how they are read from arrays are not looked at.
    """
    return _TensorWalk(frozen).disorder(_root()) if frozen.tower.packs else None


def columns(frozen: Frozen) -> scipy.sparse.csc_array | None:
    """A matrix of SparseLists whose modifiers have brought its columns into few instances; None if it is none such.

    If one instance has all columns in order, its elements are not copied, nor are indices that count from 0.
    """
    tower = frozen.tower
    if tower.rank != 2:
        return None
    if (claimed := claimed_columns(frozen)) is not None:
        return claimed
    if not tower.packs:
        return None
    depth = tower.depths[2]
    if tower.levels[depth].layout != "pointers" or depth + 2 != len(tower.levels):
        return None
    walk = _TensorWalk(frozen)
    try:
        pieces = list(islice(walk.fibers_at_depth(_root(), depth), PIECES + 1))
        if len(pieces) > PIECES:
            return None
    except Unusual:
        return None
    lists = [lists_of(frozen, depth, piece.instance) for piece in pieces]
    return side_by_side(lists, [(at.subscripts[0], at.positions) for at in pieces], tower)


@dataclass(frozen=True)
class _Fibers:
    """Positions of a level in one instance, and the subscripts that lead to each, the first axis first."""

    depth: int
    instance: Instance
    positions: np.ndarray
    subscripts: list[np.ndarray]


def _root() -> _Fibers:
    """The root fiber."""
    return _Fibers(0, (), np.zeros(1, dtype=np.int64), [])


class _TensorWalk:
    def __init__(self, frozen: Frozen) -> None:
        self.arrays, self.tower = frozen.arrays, frozen.tower

    def find(self, at: _Fibers, name: str) -> Stored:
        """The contents of a buffer of these fibers' level, or of the level above if that lists the same entries."""
        depth, levels = at.depth, self.tower.levels
        while levels[depth].continues and name not in {buffer.name for buffer in levels[depth].buffers}:
            depth -= 1
        return self.arrays.get((depth, name, at.instance), Stored(np.zeros(0, dtype=np.int64)))

    def leaf(self, at: _Fibers) -> Elements:
        """The elements of an instance."""
        return at.subscripts, self.tower.leaf.unpack(lambda name: self.find(at, name), at.positions)

    def fibers_at_depth(self, at: _Fibers, depth: int) -> Iterator[_Fibers]:
        """The positions of the level at a depth that some fibers lead to, for each instance."""
        if at.depth == depth:
            yield at
            return
        match level := self.tower.levels[at.depth]:
            case Storage():
                children = self.children(at)
                if self.check(children, at):
                    raise Unusual
                outer = [np.repeat(axis, children.sizes) for axis in at.subscripts]
                subscripts = [children.indices, *outer]
                yield from self.fibers_at_depth(
                    _Fibers(at.depth + 1, at.instance, children.positions, subscripts), depth
                )
            case Modifier():
                there = 0
                for key, chosen, positions in level.unpack(lambda name: self.find(at, name), at.positions):
                    there += len(chosen)
                    instance = at.instance if key is None else (*at.instance, (level.key, key))
                    subscripts = [axis[chosen] for axis in at.subscripts]
                    yield from self.fibers_at_depth(_Fibers(at.depth + 1, instance, positions, subscripts), depth)
                if there < len(at.positions) and at.depth in self.tower.use_modifiers(1):
                    raise Unusual  # what a modifier of an element lacks is stored as fill if that takes effect late

    def children(self, at: _Fibers) -> Children:
        """The children of fibers of a storage level."""
        level = self.tower.levels[at.depth]
        assert isinstance(level, Storage)
        unpack = partial(level.unpack, partial(self.find, at), self.tower.extent(at.depth))
        distinct = at.positions if level.has_fixed_size else _distinct(at.positions)
        if len(distinct) == len(at.positions):
            return unpack(at.positions)
        children = unpack(distinct)  # lists below runs are read once, and may be larger than their buffers if repeated
        fibers = np.searchsorted(distinct, at.positions)
        sizes = children.sizes[fibers]
        own = ranges_from((np.cumsum(children.sizes) - children.sizes)[fibers], sizes, int(sizes.sum()))
        return Children(sizes, children.indices[own], children.positions[own])

    def check(self, children: Children, at: _Fibers) -> str | None:
        """Describe the defect unless the indices ascend in each fiber and are in bounds, and each leads to a child."""
        indices, begins = children.indices, np.cumsum(children.sizes)[:-1]
        falls = indices[1:] <= indices[:-1]
        falls[begins[(begins > 0) & (begins < len(indices))] - 1] = False
        n = self.tower.extent(at.depth)
        outside = (indices < 0) | (indices >= n)
        for bad, what in (
            (outside, "is out of bounds"),
            (falls, "is not less than the next one"),
            (children.positions < 0, "has no child"),
        ):
            if bad.any():
                k = int(np.argmax(bad))
                fiber = int(np.searchsorted(np.cumsum(children.sizes), k, side="right"))
                return f"fiber {at.positions[fiber] + 1}, index {int(indices[k]) + 1}: it {what}"
        return None

    def disorder(self, at: _Fibers) -> str | None:
        """The broken invariant of the levels from these fibers down, by level, fiber and entry."""
        level, find = self.tower.levels[at.depth], partial(self.find, at)
        place = f"level {self.tower.numbers[at.depth]} {level.name}"
        inside: list[_Fibers] = []
        try:
            match level:
                case Storage():
                    n = self.tower.extent(at.depth)
                    if wrong := level.disorder(find, n, at.positions):
                        return f"{place}, {wrong}"
                    children = level.unpack(find, n, at.positions)
                    if wrong := self.check(children, at):
                        return f"{place}, {wrong}"
                    inside = [_Fibers(at.depth + 1, at.instance, _distinct(children.positions), [])]
                case Modifier():
                    if wrong := level.disorder(find, at.positions):
                        return f"{place}, {wrong}"
                    for key, _, positions in level.unpack(find, at.positions):
                        instance = at.instance if key is None else (*at.instance, (level.key, key))
                        inside.append(_Fibers(at.depth + 1, instance, _distinct(positions), []))
        except Unusual:
            return f"{place}: its pointers are not in order"
        return next((wrong for each in inside if (wrong := self.disorder(each))), None)


def _distinct(positions: np.ndarray) -> np.ndarray:
    """The positions without duplicates, ascending. They are sorted only if they are not."""
    if (positions[1:] < positions[:-1]).any():
        return np.unique(positions)
    new: np.ndarray = np.ones(len(positions), dtype=np.bool_)
    new[1:] = positions[1:] != positions[:-1]
    found: np.ndarray = positions[new]
    return found
