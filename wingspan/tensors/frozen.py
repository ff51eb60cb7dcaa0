"""Tensors in read mode as arrays: one for each buffer of each instance, in place of a dictionary of cells.

SciPy's arrays are used as they are: `shift` is what their numbers, which count from 0, lack.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import repeat
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.frames import Cell
from wingspan.buffers.stored import Stored
from wingspan.lang.algebra import double, exact
from wingspan.lang.ir import Instance
from wingspan.lang.kinds import KINDS
from wingspan.levels.base import Tower
from wingspan.tensors._checks import ordered

Key = tuple[int, str, Instance]
"""A buffer in an instance: the depth of its level, its name, the keys that lead there."""


def round_to_width(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """An array of exact values as integers, the nearest doubles, or booleans, of this width."""
    with np.errstate(over="ignore"):  # infinite beyond the largest, as doubles are
        return np.array([double(value) for value in array.flat], dtype=dtype).reshape(array.shape)


@dataclass(frozen=True, eq=False)
class Frozen(Mapping[Cell, Any]):
    """The cells of a tensor, read from arrays as they are asked for; doubles are rationals, as in every dictionary."""

    tower: Tower
    arrays: Mapping[Key, Stored]

    def __reduce__(self) -> tuple[type[Frozen], tuple[Tower, Mapping[Key, Stored]]]:
        """Copies have arrays of their own, of which other things hold."""
        return Frozen, (self.tower, self.arrays)

    def __getitem__(self, cell: Cell) -> Any:
        stored = self.arrays.get(cell[1:4])
        if stored is None:
            raise KeyError(cell)
        k = cell.offset - 1
        if stored.at is not None:
            k = int(np.searchsorted(stored.at, cell.offset))
            if k < len(stored.at) and stored.at[k] != cell.offset:
                raise KeyError(cell)
        if not 0 <= k < len(stored.values):
            raise KeyError(cell)
        return self._value(cell.depth, cell.buffer)(stored.values[k].item() + stored.shift)

    def __iter__(self) -> Iterator[Cell]:
        for key, stored in self.arrays.items():
            yield from (Cell("", *key, offset) for offset in stored.cells())

    @cached_property
    def is_immutable(self) -> bool:
        """Whether nobody can write its arrays."""
        return all(is_immutable(stored.values) for stored in self.arrays.values())

    @property
    def is_borrowed(self) -> bool:
        """Whether an array is the caller's, who can write it: what is kept of it here is only to be read."""
        known: bool | None = getattr(self.arrays, "is_borrowed", None)
        return self._has_borrowed if known is None else known

    @cached_property
    def _has_borrowed(self) -> bool:
        return any(is_borrowed(stored.values) for stored in self.arrays.values())

    @cached_property
    def disorder(self) -> str | None:
        """The broken invariant of its levels, if its elements lie in one array; None if there is none."""
        return self.columns.disorder(self) if self.columns else None

    @property
    def columns(self) -> Columns | None:
        """The layout of its elements in one array, if they have one."""
        return Columns.from_tower(self.tower)

    def __len__(self) -> int:
        return sum(len(stored.values) for stored in self.arrays.values())

    def dictionary(self) -> dict[Cell, Any]:
        """All cells, except those of a leaf that hold the zero that they would hold if nobody had written them."""
        made: dict[Cell, Any] = {}
        for (depth, name, instance), stored in self.arrays.items():
            level, above = self.tower.levels[depth], self.tower.levels[depth - 1]
            if level.leaf and above.zeros and self.tower.kind != "bool":
                used = np.flatnonzero(stored.values)
                stored = Stored(stored.values[used], at=used + 1)
            cells = map(Cell, repeat(""), repeat(depth), repeat(name), repeat(instance), stored.cells())
            values = map(self._value(depth, name), (v + stored.shift for v in stored.values.tolist()))
            made.update(zip(cells, values, strict=True))
        return made

    def _value(self, depth: int, name: str) -> Callable[[Any], Any]:
        return exact_elements[self.tower.kind] if holds_elements(self.tower, depth, name) else int


exact_elements: dict[str, Callable[[Any], Any]] = {
    name: exact if kind.python is float else kind.python for name, kind in KINDS.items()
}
"""From what an array holds to an element of each kind."""


def holds_elements(tower: Tower, depth: int, name: str) -> bool:
    """Whether a buffer holds elements of the tensor, and not positions, indices or the like."""
    return any(buffer.name == name and buffer.cell == "value" for buffer in tower.levels[depth].buffers)


def is_immutable(array: np.ndarray) -> bool:
    """Whether nobody can write an array."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base is None and not array.flags.writeable


def is_borrowed(array: np.ndarray) -> bool:
    """Whether an array is only to be read here, and somebody else can write it."""
    base = array.base
    if not array.flags.writeable and isinstance(base, np.ndarray):
        return base.flags.writeable or is_borrowed(base)
    return False


def hand_out(array: np.ndarray) -> np.ndarray:
    """An array to hand out: a copy if somebody else has it, too; else a view of the result of an engine, to be read."""
    if not array.flags.writeable:
        return array.copy()
    view = array.view()
    view.flags.writeable = False
    return view


def fix(array: np.ndarray) -> None:
    """Let nobody write an array, nor what it is a part of."""
    while isinstance(array.base, np.ndarray):
        array.flags.writeable, array = False, array.base
    array.flags.writeable = False


def collect(tower: Tower, cells: Mapping[Cell, Any]) -> Frozen:
    """The cells of a dictionary as arrays: from cell 1 on, or those in use if the buffer is hashed."""
    known = {(depth, b.name): b for depth, level in enumerate(tower.levels) for b in level.buffers}
    groups: dict[Key, dict[int, Any]] = {}
    for cell, value in cells.items():
        if (cell.depth, cell.buffer) in known:
            groups.setdefault(cell[1:4], {})[cell.offset] = value
    made: dict[Key, Stored] = {}
    for key, group in groups.items():
        buffer = known[key[:2]]
        dtype = {"flag": np.dtype(np.uint8), "value": tower.dtype}.get(buffer.cell, np.dtype(np.int64))
        at = np.fromiter(group, np.int64, len(group))
        values = round_to_width(np.fromiter(group.values(), object, len(group)), dtype)
        if buffer.hashed:
            made[key] = Stored.from_cells(at, values)
            continue
        array: np.ndarray = np.zeros(at.max(), dtype=dtype)
        array[at - 1] = values
        made[key] = Stored(array)
    return Frozen(tower, made)


# ------------------------------------------------------------------------------------------------ arrays in one piece


@dataclass(frozen=True)
class Columns:
    """A tower of Dense levels around the leaf, or around one last SparseList: its elements lie in one array.

    They are in column-major order: `fibers` fibers, one after the other, of the `extent` of the first axis.
    """

    tower: Tower

    @staticmethod
    def from_tower(tower: Tower) -> Columns | None:
        """The columns of a tower; None if it has other levels."""
        return Columns(tower) if tower.in_one_piece else None

    @property
    def sparse(self) -> bool:
        """Whether there is a SparseList."""
        return self.tower.ends_in_list

    @property
    def extent(self) -> int:
        return self.tower.shape[0] if self.tower.shape else 1

    @property
    def fibers(self) -> int:
        return math.prod(self.tower.shape[1:])

    def frozen(self, values: np.ndarray, ptr: np.ndarray | None = None, idx: np.ndarray | None = None) -> Frozen:
        """The cells of a tensor with these elements; the pointers and indices of its SparseList count from 0."""
        leaf = len(self.tower.levels) - 1
        arrays: dict[Key, Stored] = {(leaf, "val", ()): Stored(values)}
        if ptr is not None and idx is not None:
            last = np.searchsorted(ptr, ptr[-1:])
            last.flags.writeable = False
            found = {"ptr": Stored(ptr, 1), "idx": Stored(idx, 1), "fill": Stored(ptr[-1:]), "prev": Stored(last)}
            arrays.update({(leaf - 1, name, ()): stored for name, stored in found.items()})
        return Frozen(self.tower, arrays)

    def disorder(self, frozen: Frozen) -> str | None:
        """The broken invariant of the levels; None if there is none."""
        return self._disorder(*self._arrays(frozen))

    def _disorder(self, values: np.ndarray, ptr: Stored, idx: Stored) -> str | None:
        if self.sparse:
            return disorder(ptr, idx, len(values), self.fibers, self.extent)
        size = self.fibers * self.extent
        return f"it has {len(values)} elements at {size} positions" if len(values) < size else None

    def arrays_in_order(self, frozen: Frozen) -> tuple[np.ndarray] | tuple[np.ndarray, Stored, Stored] | None:
        """The elements, pointers and indices of a tensor, cut to what is in use; None if they are not in order."""
        parts = self._arrays(frozen)
        if self._disorder(*parts):
            return None
        values, ptr, idx = self.sparse_arrays(frozen) if self.sparse else parts
        if self.tower.kind == "bool":
            values = values.view(np.bool_)
        return (values, ptr, idx) if self.sparse else (values[: self.fibers * self.extent],)

    def sparse_arrays(self, frozen: Frozen) -> tuple[np.ndarray, Stored, Stored]:
        """The elements, pointers and indices of a tensor with a SparseList; if in order, cut to what is in use."""
        values, ptr, idx = self._arrays(frozen)
        entries = max(int(ptr.values[-1]) + ptr.shift - 1, 0) if len(ptr.values) else 0
        return values[:entries], ptr, Stored(idx.values[:entries], idx.shift)

    def _arrays(self, frozen: Frozen) -> tuple[np.ndarray, Stored, Stored]:
        leaf = len(self.tower.levels) - 1
        val = frozen.arrays.get((leaf, "val", ()))
        values = np.zeros(0, self.tower.dtype) if val is None else val.values
        if not self.sparse:
            return values, Stored.of(), Stored.of()
        ptr, idx = frozen.arrays.get((leaf - 1, "ptr", ())), frozen.arrays.get((leaf - 1, "idx", ()))
        ptr = Stored.of() if ptr is None else Stored(ptr.values[: self.fibers + 1], ptr.shift)
        return values, ptr, Stored.of() if idx is None else idx


class DeferredArrays(Mapping[Key, Stored]):
    """The arrays of a tensor, which are made when somebody first asks for one."""

    @cached_property
    @abstractmethod
    def _all(self) -> Mapping[Key, Stored]:
        """All of them."""

    def __getitem__(self, key: Key) -> Stored:
        return self._all[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


class BorrowedArrays(DeferredArrays):
    """The arrays of a tensor in one piece, which are the caller's: only to be read, and as long as the call lasts.

    `arrays` are the elements, and the pointers and indices of a SparseList, which count from 0. What the levels call
    them is looked up when somebody asks: most kernels only read the arrays.
    """

    def __init__(self, tower: Tower, *arrays: np.ndarray) -> None:
        self.tower, self.arrays = tower, arrays

    is_borrowed = True

    @cached_property
    def _all(self) -> Mapping[Key, Stored]:
        views = [array.view() for array in self.arrays]
        for view in views:
            view.flags.writeable = False
        return Columns(self.tower).frozen(*views).arrays


UNSORTED = "the indices of a fiber do not ascend"


def disorder(ptr: Stored, idx: Stored, children: int, fibers: int, extent: int) -> str | None:
    """The broken invariant of a frozen SparseList with so many fibers and children; None if there is none."""
    first, pointers, indices = 1 - ptr.shift, ptr.values, idx.values
    if ordered(pointers, first, indices, 1 - idx.shift, children, fibers, extent):
        return None
    if len(pointers) != fibers + 1:
        return f"it has {len(pointers)} pointers for {fibers} fibers"
    if pointers[0] != first:
        return "its pointers do not begin at the first entry"
    if (pointers[1:] < pointers[:-1]).any():
        return "its pointers do not ascend"
    entries = int(pointers[-1]) - first
    if entries > len(indices) or entries > children:
        return f"its pointers announce {entries} entries, and there are {min(len(indices), children)}"
    indices = indices[:entries]
    if entries and not 1 <= int(indices.min()) + idx.shift <= int(indices.max()) + idx.shift <= extent:
        return "an index is out of bounds"
    falls = indices[1:] <= indices[:-1]
    begins = pointers[1:-1] - first
    falls[begins[(begins > 0) & (begins < entries)] - 1] = False
    return UNSORTED if falls.any() else None
