"""The contents of a tensor's buffers in read mode, as arrays; and the entries of a tensor as levels see them.

`Level.pack` makes buffers from entries in bulk, `Level.unpack` finds the entries again. Both see one level of one
instance, as arrays in which positions and indices count from 0, as in NumPy and SciPy. They repeat what the operations
of the level write and read; the operations remain the definition. Whatever arrays cannot express is `Unusual` and left
to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np

INT32 = 2**31 - 1
"""The largest number that fits arrays of 32 bits."""


class Unusual(Exception):
    """Arrays cannot hold this, or buffers are not in order: leave it to the operations of the levels."""


@dataclass(frozen=True, eq=False)
class Stored:
    """The contents of a buffer: cell k holds `values[k - 1] + shift`, and cells beyond hold zero."""

    values: np.ndarray
    shift: int = 0
    at: np.ndarray | None = None
    """if few cells are in use, their numbers, ascending: cell `at[k]` holds `values[k] + shift`"""

    @staticmethod
    def from_cells(cells: np.ndarray, values: np.ndarray) -> Stored:
        """A buffer with few cells in use, given in any order, each once."""
        order = np.argsort(cells)
        return Stored(values[order], at=cells[order])

    @staticmethod
    def of(*values: Any) -> Stored:
        """A buffer of a few numbers."""
        return Stored(np.array(values, dtype=np.int64))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Let nobody write a copy's arrays: they are its own, as NumPy's copies of read-only arrays are not."""
        self.__dict__.update(state)
        for array in (self.values, self.at):
            if array is not None:
                array.flags.writeable = False

    def take(self, places: np.ndarray, base: int = 0) -> np.ndarray:
        """The contents of the cells at these places, counted from 0, minus the base; a slice is not copied."""
        shift = self.shift - base
        if self.at is None and (span := consecutive(places)) and span.stop <= len(self.values):
            found = self.values[span]
            return found + shift if shift else found
        k = places if self.at is None else np.searchsorted(self.at, places + 1)
        there = (k >= 0) & (k < len(self.values))
        if self.at is not None:
            there[there] = self.at[k[there]] == places[there] + 1
        whole = self.values.dtype.kind in "iu"
        found = np.zeros(len(places), dtype=np.int64 if whole else self.values.dtype)
        found[there] = self.values[k[there]]
        if self.shift:
            found[there] += self.shift
        return found - base if base else found

    @property
    def number(self) -> int:
        """The content of a buffer's only cell."""
        if self.at is None:
            return int(self.values[0]) + self.shift if len(self.values) else 0
        return int(self.take(np.zeros(1, dtype=np.int64))[0])

    def logical(self, dtype: np.dtype[Any]) -> np.ndarray:
        """All cells from 1 on as an array of this type, without copying if they are stored so."""
        assert self.at is None
        if not self.shift:
            return self.values.astype(dtype, copy=False)
        shifted: np.ndarray = np.add(self.values, self.shift, dtype=dtype, casting="unsafe")
        return shifted

    def minus_1(self) -> np.ndarray:
        """All cells from 1 on, as numbers that count from 0; without copying if they are stored so."""
        return self.values if self.shift == 1 else self.values + (self.shift - 1)

    def cells(self) -> Iterator[int]:
        """The numbers of the cells in use."""
        return iter(range(1, len(self.values) + 1) if self.at is None else self.at.tolist())


Buffers = dict[str, Stored]
"""The contents of a level's buffers, by name; missing ones hold zeros."""

Find = Callable[[str], Stored]
"""The contents of the buffer with a name."""


@dataclass(frozen=True)
class Below:
    """The elements and nodes below the children of some fibers."""

    elements: Callable[[], np.ndarray]
    """the elements below each child, a row for each; Unusual if children differ in size"""
    nodes: Callable[[int], np.ndarray]
    """the number of each child's descendants, this many axes further down"""


class Fibers(NamedTuple):
    """The fibers of a level in one instance."""

    total: int
    """their number"""
    positions: np.ndarray
    """the positions that are visited when the entries are stored, ascending"""


@dataclass(eq=False)
class Children:
    """The children of some fibers, fiber after fiber."""

    sizes: np.ndarray
    """the number of each fiber's children"""
    indices: np.ndarray
    """the index of each, ascending in a fiber"""
    positions: np.ndarray
    """the position of each"""


class Inside(NamedTuple):
    """The place to which a modifier leads in one instance of the level that it wraps."""

    key: int | None
    """the key of the instance; None if there is only one"""
    chosen: np.ndarray
    """the fibers that lie there"""
    positions: np.ndarray
    """the position of each there"""


def differ(x: np.ndarray, y: Any) -> np.ndarray:
    """Whether each element differs; NaN equals NaN."""
    wrong: np.ndarray = np.asarray(x != y)
    if x.dtype.kind in "fO":
        wrong &= np.asarray((x == x) | (y == y))
    return wrong


def consecutive(places: np.ndarray) -> slice | None:
    """The places as a slice, if each is one more than the one before it and the first is not negative."""
    if not len(places) or places[0] < 0 or places[-1] - places[0] != len(places) - 1:
        return None
    return slice(int(places[0]), int(places[-1]) + 1) if (places[1:] - places[:-1] == 1).all() else None


def narrow(largest: int) -> type:
    """The narrower type of integers that holds numbers up to the largest."""
    return np.int32 if largest <= INT32 else np.int64


def computed(positions: np.ndarray, sizes: np.ndarray, n: int, indices: np.ndarray | int) -> np.ndarray:
    """The places p·n + i of the indices i of some fibers p, fiber after fiber. Unusual if they do not fit 64 bits."""
    if (int(positions.max(initial=0)) + 1) * n >= 2**63:
        raise Unusual
    return np.repeat(np.multiply(positions, n, dtype=np.int64), sizes) + indices
