"""A tower of levels: those of a tensor, root first, with its extents."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InternalError
from wingspan.base.libraries import np
from wingspan.buffers.discipline import Discipline
from wingspan.buffers.level import LISTS, WRITTEN, Buffer, Leaf, Level, Modifier, Storage
from wingspan.lang.ir import Value
from wingspan.lang.kinds import KINDS, Kind
from wingspan.lang.widths import Width

MOST_AXES = 16
"""A pass over all levels nests a loop for each axis, and Python nests at most twenty blocks."""

OTHERS = 64
"""Towers with other extents that one knows."""

OPEN = -1
"""The entry in a tower's shape for an extent that is left open; no axis has it."""


@dataclass(frozen=True)
class Tower:
    """The levels of a tensor, root first, and its extents in the order of the subscripts."""

    levels: tuple[Level, ...]
    shape: tuple[int, ...]

    @staticmethod
    def of(root: Level, shape: tuple[int, ...]) -> Tower:
        """The tower under `root`."""
        levels = [root]
        while isinstance(levels[-1], Storage | Modifier):
            levels.append(levels[-1].child)
        return Tower(tuple(levels), shape)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The level number at each depth."""
        below = 0
        numbers = []
        for level in reversed(self.levels):
            below += not level.modifier
            numbers.append(below)
        return tuple(reversed(numbers))

    @cached_property
    def depths(self) -> dict[int, int]:
        """The depth of the storage level or leaf with a number."""
        return {number: d for d, number in enumerate(self.numbers) if not self.levels[d].modifier}

    def modifiers(self, number: int) -> range:
        """The depths of the modifiers around the level with this number, outermost first."""
        depth = self.depths[number]
        return range(self.depths[number + 1] + 1 if number < self.rank + 1 else 0, depth)

    def entry_modifiers(self, number: int) -> range:
        """The modifiers that take effect when the parent's index is entered; around the root there are none."""
        return range(self.modifiers(number).start, self.use_modifiers(number).start)

    def use_modifiers(self, number: int) -> range:
        """The modifiers that take effect when their fiber is unfurled or their element updated."""
        around = self.modifiers(number)
        root = number == self.rank + 1
        start = next((d for d in around if root or self.levels[d].bind_on_use), around.stop)
        return range(start, around.stop)

    @cached_property
    def storage(self) -> tuple[Storage, ...]:
        """The levels that have an axis, root first."""
        return tuple(level for level in self.levels if isinstance(level, Storage))

    @cached_property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.storage)

    @cached_property
    def _hash(self) -> int:
        return hash((self.levels, self.shape))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Tower], tuple[tuple[Level, ...], tuple[int, ...]]]:
        """The cached attributes are not sent to another process: hashes would be wrong there."""
        return Tower, (self.levels, self.shape)

    def extent(self, depth: int) -> int:
        """The extent of the axis that the level at `depth` iterates over."""
        return self.shape[self.numbers[depth] - 2]

    @property
    def full_positions(self) -> int:
        """The positions of the full levels together."""
        return prod(self.extent(depth) for depth, level in enumerate(self.levels) if level.full)

    @cached_property
    def packs(self) -> bool:
        """Whether all levels have `pack` and `unpack`."""
        return all(level.packs for level in self.levels)

    @cached_property
    def in_one_piece(self) -> bool:
        """Whether its levels are Dense around the leaf, or around one last SparseList: then its elements lie in one
        array.
        """
        *outer, leaf = [level.layout for level in self.levels]
        last = outer.pop() if outer else "all"
        return leaf == "values" and last in ("all", "pointers") and outer.count("all") == len(outer)

    @cached_property
    def ends_in_list(self) -> bool:
        """Whether the level around the leaf is a SparseList."""
        return len(self.levels) > 1 and self.levels[-2].layout == "pointers"

    def with_shape(self, shape: tuple[int, ...]) -> Tower:
        """The same levels with other extents; the last ones that were asked for are kept, with what they know."""
        found = self._others.get(shape)
        if found is None:
            if len(self._others) >= OTHERS:
                self._others.clear()
            found = self._others[shape] = Tower(self.levels, shape)
        return found

    @cached_property
    def _others(self) -> dict[tuple[int, ...], Tower]:
        return {}

    @cached_property
    def has_copies(self) -> bool:
        """Whether the leaf has copies, which coalesce merges."""
        return any(level.discipline is Discipline.COPY for level in self.levels)

    def buffers(self, depth: int) -> tuple[Buffer, ...]:
        """The buffers of the level at a depth: its own, and those for coalesce. InternalError if names clash."""
        level = self.levels[depth]
        more = () if not self.has_copies else (WRITTEN,) if level.leaf else (*LISTS, *level.lists)
        for name in {buffer.name for buffer in level.buffers} & {buffer.name for buffer in more}:
            raise InternalError(f"{level.name}: coalesce has a buffer {name} of its own, so call this one otherwise")
        return (*level.buffers, *more)

    @cached_property
    def private_buffers(self) -> frozenset[tuple[int, str]]:
        """Depth and name of the buffers whose cells belong to a thread each."""
        return frozenset(
            (d, buffer.name) for d, level in enumerate(self.levels) for buffer in level.buffers if buffer.own
        )

    @cached_property
    def readable_while_updated(self) -> bool:
        """Whether statements that update the tensor may read it, too: all of its levels say so."""
        return all(level.readable_while_updated for level in self.levels)

    @property
    def leaf(self) -> Leaf:
        """The last level."""
        leaf = self.levels[-1]
        assert isinstance(leaf, Leaf)
        return leaf

    @property
    def fill(self) -> Value:
        """The fill value of the format."""
        return self.leaf.fill

    @cached_property
    def kind(self) -> str:
        """The type of the elements: int, float, bool or pair."""
        return self.leaf.kind

    @property
    def elements(self) -> Kind:
        """The kind of the elements."""
        return KINDS[self.kind]

    @property
    def width(self) -> Width:
        """The storage width of the elements."""
        return self.leaf.width

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements in arrays."""
        return np.dtype(self.width.dtype)

    def tracks_writes(self, number: int) -> bool:
        """Whether some level above the one with this number needs to know if something below it was written."""
        return any(level.assembles for level in self.levels[: self.depths[number]])

    def __str__(self) -> str:
        return str(self.levels[0])
