"""SparseCOO: an ordered list of entries with one coordinate per axis; the last axis is the most significant.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("SparseCOO(2, Element(0))", [[0, 5], [0, 0], [3, 6]]))
SparseCOO(2, Element(0))  3×2
├─ [:, 1]
│  └─ 3: 3
└─ [:, 2]
   ├─ 1: 5
   └─ 3: 6

`SparseCOO(N, child)` is a stack of N levels, one per axis; no modifier fits in between. They share one list of entries:
level k has coordinate k of every entry, as in COO arrays. The outermost level has fibers like those of a SparseList. A
fiber of the other levels consists of the entries of one index of the level above, and its position is that of the first
of these entries.

Invariant (when frozen): the entries of fiber p of the outermost level are at ptr[p] ≤ q < ptr[p+1]; ptr[1] = 1. Those
of fiber p of another level are at p ≤ q < upto[p]. In each fiber idx does not descend, and ascends in the innermost
level; entries with the same index are one fiber of the level below.
During updates, ptr[p+1] counts the entries of fiber p, and the innermost level appends entries at fill + 1. The other
levels write the coordinate of all entries of an index when they leave it. Fibers must be visited in ascending order,
each once, with ascending indices.
Stability ∅ ("for any other level format", section 3.1): fill, ptr and idx are shared by all fibers.

| buffer | cell     | length        | meaning                                                               |
|--------|----------|---------------|-----------------------------------------------------------------------|
| ptr    | position | positions + 1 | frozen: first entry of fiber p; updating: ptr[p+1] counts its entries |
| idx    | index    | entries       | the index of entry q                                                  |
| fill   | count    | 1             | entries in closed fibers                                              |
| prev   | position | 1             | the last fiber with entries                                           |

Those are the buffers of the outermost level. The others have `idx` and `upto`, a position for each of their positions.

Copies are merged by one union of all coordinates at once; `key` numbers them by index.
"""

from __future__ import annotations

import re
from typing import Self

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder
from wingspan.levels.append_only import APPENDED, COMPLETE, FREEZE, count_mistake, skipping
from wingspan.levels.base import (
    GROUPS,
    Below,
    Buffer,
    Buffers,
    Children,
    Fibers,
    Find,
    IndexList,
    Level,
    Storage,
    Stored,
    narrow,
)
from wingspan.levels.sorted_keys import UNION, list_entries, pointers, ranges_from
from wingspan.levels.stretches import firsts, sums

READING = (
    skipping("idx")
    + """
    def load(c):
        if c.q < c.end:
            c.i = idx[c.q]
    def seek(c, i):
        lvl.skip(c, i)
        lvl.load(c)
    def index(c):
        return c.i if c.q < c.end else 0
    def child(c, i):
        return c.q if lvl.index(c) == i else 0
    def next(c, i):
        if lvl.index(c) == i:
            c.q = lvl.past(c.q)
            lvl.load(c)
    def enter(c, i):
        last = c.i
        check(last < i, "indices are appended in ascending order, but {i} comes after {last}")
        child.assemble(c.q)
        return c.q
"""
)
"""The common part of these levels. past(q): the first entry after q with another index; always a later entry,
whatever a race has left in upto.
"""

OUTER = """
    def past(q):
        end = child.ending(q)
        return end if q < end else q + 1
    def exit(c, i):
        end = child.ending(c.q)
        while c.q < end:
            idx[c.q] = i
            c.q = c.q + 1
        c.i = i

    def keys():
        return n * child.keys()
    def key(k):
        return (idx[k] - 1) * child.keys() + child.key(k)
    def place(i, q):
        index = (i - 1) // child.keys() + 1
        idx[q] = index
        child.place(i - (index - 1) * child.keys(), q)
"""
"""The operations of a level whose entries another level continues.

keys(): the number of coordinates from this level down. key(k): the number of those of entry k.
place(i, q): entry q has the coordinates with number i.
"""

INNERMOST = """
    def past(q):
        return q + 1
    def exit(c, i):
        idx[c.q] = i
        c.q = c.q + 1
        c.i = i

    def keys():
        return n
    def key(k):
        return idx[k]
    def place(i, q):
        idx[q] = i
        child.assemble(q)
"""

FIRST = (
    GROUPS
    + re.sub(r"\bn\b", "lvl.keys()", UNION)
    + APPENDED
    + FREEZE
    + """
    def stored(entries):
        return entries
    def entry(p, k):
        return lvl.key(k)
    def below(p, k):
        return k
    def put(p, i, q):
        owner[q + 1] = p
        lvl.place(i, q)
        return q
"""
    + COMPLETE
    + """        owner[1] = 0
        owner[entries + 2] = 0
        for q in parallel(1, entries):
            if not lvl.goes_on(q):
                next = q + 1
                while lvl.goes_on(next):
                    next = next + 1
                child.bound(q, next)
    def goes_on(q):
        same = owner[q] == owner[q + 1]
        if same:
            same = idx[q - 1] == idx[q]
        return same

    def unfurl(c):
        c.q = ptr[c.p]
        c.end = ptr[c.p + 1]
        c.i = 0
        lvl.load(c)
    def open(c):
        lvl.in_order(c.p)
        c.q = fill[1] + 1
        c.end = 0
        c.i = 0
    def close(c):
        lvl.append(c.p, c.q - 1)
"""
)
"""The outermost level. goes_on(q): whether entry q has the same fiber and index as the one before it."""

CONTINUING = """
    def declare():
        child.declare()
    def assemble(p):
        upto[p] = p
    def freeze(P):
        child.freeze(P)
    def thaw(P):
        child.thaw(P)
    def coalesce(local, global_, task, m, P):
        child.coalesce(local, global_, task, m, P)
    def ending(p):
        return upto[p]

    def unfurl(c):
        c.q = c.p
        c.end = upto[c.p]
        c.i = 0
        lvl.load(c)
    def open(c):
        p = c.p
        end = upto[p]
        check(end == p, "a fiber is appended to by one visit, but {p} has entries up to {end} from another one")
        c.q = p
        c.end = 0
        c.i = 0
    def close(c):
        if c.p < c.q:
            upto[c.p] = c.q
"""
"""The other levels, whose positions are positions of entries."""

INNER_BOUND = """
    def bound(p, end):
        upto[p] = end
        q = p
        while q < end:
            i = idx[q]
            next = q + 1
            more = next < end
            while more:
                more = idx[next] == i
                if more:
                    next = next + 1
                    more = next < end
            child.bound(q, next)
            q = next
"""
"""bound(p, end): fiber p has the entries before `end`; all of its coordinates are there."""

INNERMOST_BOUND = """
    def bound(p, end):
        upto[p] = end
"""

IDX = Buffer("idx", "index", "entries", "the index of entry q", assigned=True)
UPTO = Buffer("upto", "position", "positions", "the entry after the last one of fiber p")


@dataclass(frozen=True)
class CoordinateLevel(Storage):
    """One of the levels."""

    cursor = ("q", "end", "i")
    traversal = Traversal.ENTRIES
    order = UpdateOrder.APPEND
    identity = Identity.APPENDED

    @property
    def name(self) -> str:
        return "SparseCOO"

    @property
    def axes(self) -> int:
        """The number of levels from this one down."""
        return 1 + self.child.axes if isinstance(self.child, CoordinateLevel) else 1

    def __str__(self) -> str:
        below: Level = self
        while isinstance(below, CoordinateLevel):
            below = below.child
        return f"{self.name}({self.axes}, {below})"

    def list_coordinates(
        self, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[np.ndarray, Stored, Fibers]:
        """The number of entries of each fiber, their coordinates, and the fibers of the children."""
        if self.axes == 1:
            return sizes, Stored(indices, 1), Fibers(len(indices), np.arange(len(indices)))
        spans = below.nodes(self.axes - 1)
        children = Fibers(int(spans.sum()), np.cumsum(spans) - spans)
        return sums(sizes, spans), Stored(np.repeat(indices, spans), 1), children

    def children(self, find: Find, sizes: np.ndarray, entries: np.ndarray) -> Children:
        """The children of fibers with `sizes` entries each, and these entries."""
        indices = find("idx").take(entries, 1)
        if self.axes == 1:
            return Children(sizes, indices, entries)
        new: np.ndarray = np.ones(len(indices), dtype=np.bool_)
        new[1:] = indices[1:] != indices[:-1]
        new[firsts(sizes)] = True
        return Children(sums(sizes, new), indices[new], entries[new])


@dataclass(frozen=True)
class SparseCOO(CoordinateLevel):
    """The outermost level."""

    arrangement = "coordinates"
    several_axes = True
    lists = (Buffer("owner", "position", "entries + 2", "the fiber of entry q - 1 of the merged level"),)
    buffers = (
        Buffer(
            "ptr", "position", "positions + 1", "frozen: first entry of fiber p; updating: ptr[p+1] counts its entries"
        ),
        IDX,
        Buffer("fill", "count", "1", "entries in closed fibers"),
        Buffer("prev", "position", "1", "the last fiber with entries"),
    )
    operations = FIRST + READING + OUTER

    @classmethod
    def around(cls, child: Level, axes: int) -> Self:
        """The levels of two or more axes, around another one."""
        below: CoordinateLevel = Innermost(child)
        for _ in range(axes - 2):
            below = Inner(below)
        return cls(below)

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        entries, idx, children = self.list_coordinates(sizes, indices, below)
        filled = fibers.positions[sizes > 0]
        buffers = {
            "ptr": Stored(pointers(fibers, entries), 1),
            "idx": idx,
            "fill": Stored.of(children.total),
            "prev": Stored.of(filled[-1] + 1 if len(filled) else 0),
        }
        return buffers, children

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        return self.children(find, *list_entries(find("ptr"), len(find("idx").values), positions))

    def disorder(self, find: Find, n: int, positions: np.ndarray) -> str | None:
        sizes, _ = list_entries(find("ptr"), len(find("idx").values), positions)
        return count_mistake(find, positions, sizes)


@dataclass(frozen=True)
class Continuing(CoordinateLevel):
    """One of the other levels."""

    continues = True
    buffers = (IDX, UPTO)

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        entries, idx, children = self.list_coordinates(sizes, indices, below)
        return {"idx": idx, "upto": ends(fibers, entries)}, children

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        return self.children(find, *fiber_entries(find, positions))

    def disorder(self, find: Find, n: int, positions: np.ndarray) -> str | None:
        last = find("upto").take(positions, 2)
        bad = last < positions
        entries = find("fill").number
        bad |= last + 1 != np.append(positions, entries)[1:]
        if not bad.any():
            return None
        k = int(np.argmax(bad))
        after = f"the last of all is {entries}"
        if k + 1 < len(bad):
            after = f"the next fiber begins at {positions[k + 1] + 1}"
        return f"fiber {positions[k] + 1}: its last entry is {last[k] + 1}, and {after}"


@dataclass(frozen=True)
class Inner(Continuing):
    """A level between the outermost and the innermost one."""

    operations = CONTINUING + INNER_BOUND + READING + OUTER

    pack, unpack = Continuing.pack, Continuing.unpack  # by the buffers that they know: see `Level.packs`


@dataclass(frozen=True)
class Innermost(Continuing):
    """The level with an index for each entry."""

    listing = IndexList("idx", "q", "i")
    operations = CONTINUING + INNERMOST_BOUND + READING + INNERMOST

    pack, unpack = Continuing.pack, Continuing.unpack  # by the buffers that they know: see `Level.packs`


def ends(fibers: Fibers, entries: np.ndarray) -> Stored:
    """upto, if the visited fibers have `sizes` entries each."""
    upto: np.ndarray = np.zeros(fibers.total, dtype=narrow(fibers.total + 1))
    upto[fibers.positions] = fibers.positions + entries + 1
    return Stored(upto)


def fiber_entries(find: Find, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of entries of some fibers, and their places, counted from 0. Raises Unusual if there are too many."""
    sizes = find("upto").take(positions, 1) - positions
    return sizes, ranges_from(positions, sizes, len(find("idx").values))
