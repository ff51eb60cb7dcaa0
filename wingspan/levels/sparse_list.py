"""SparseList: the indices of each fiber in ascending order, fiber after fiber (the inner level of CSC).

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(SparseList(Element(0)))", [[0, 5], [0, 0], [3, 6]]))
Dense(SparseList(Element(0)))  3×2
├─ [:, 1]
│  └─ 3: 3
└─ [:, 2]
   ├─ 1: 5
   └─ 3: 6

Invariant (when frozen): the entries of fiber p are at ptr[p] ≤ q < ptr[p+1]; ptr[1] = 1; idx ascends within a fiber.
During updates, ptr[p+1] counts the entries of fiber p, and entries are appended at fill + 1: fibers must be visited in
ascending order, each once, with ascending indices. An entry is counted only if something below it was written. Freezing
does not change fill and prev.
Stability ∅ ("for any other level format", section 3.1): fill, ptr and idx are shared by all fibers.

| buffer | cell     | length        | meaning                                                               |
|--------|----------|---------------|-----------------------------------------------------------------------|
| ptr    | position | positions + 1 | frozen: first entry of fiber p; updating: ptr[p+1] counts its entries |
| idx    | index    | entries       | the index of entry q                                                  |
| fill   | count    | 1             | entries in closed fibers                                              |
| prev   | position | 1             | the last fiber with entries                                           |
"""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder
from wingspan.levels.append_only import COMPLETE, SUBTREES, count_mistake, skipping
from wingspan.levels.base import GROUPS, Below, Buffer, Buffers, Children, Fibers, Find, IndexList, Storage, Stored
from wingspan.levels.sorted_keys import UNION, list_entries, pointers


@dataclass(frozen=True)
class SparseList(Storage):
    """The indices of each fiber in ascending order, appended in order."""

    arrangement = "pointers"
    cursor = ("q", "end", "i")
    traversal = Traversal.ENTRY_LIST
    order = UpdateOrder.APPEND
    identity = Identity.APPENDED
    listing = IndexList("idx", "q", "i")
    buffers = (
        Buffer(
            "ptr", "position", "positions + 1", "frozen: first entry of fiber p; updating: ptr[p+1] counts its entries"
        ),
        Buffer("idx", "index", "entries", "the index of entry q", assigned=True),
        Buffer("fill", "count", "1", "entries in closed fibers"),
        Buffer("prev", "position", "1", "the last fiber with entries"),
    )
    operations = (
        GROUPS
        + UNION
        + SUBTREES
        + skipping("idx")
        + """
    def declare():
        ptr[1] = 1
        fill[1] = 0
        prev[1] = 0
        child.declare()
    def assemble(p):
        ptr[p + 1] = 0
    def freeze(P):
        p = 1
        while p <= P:
            ptr[p + 1] = ptr[p] + ptr[p + 1]
            p = p + 1
        child.freeze(ptr[P + 1] - 1)
    def thaw(P):
        entries = ptr[P + 1] - 1
        p = P
        while p >= 1:
            ptr[p + 1] = ptr[p + 1] - ptr[p]
            p = p - 1
        child.thaw(entries)
    def entry(p, k):
        return idx[k]
    def last(k):
        return idx[k]
    def move(k, e):
        idx[e] = idx[k]
        child.copy(k, e)
    def below(p, k):
        return k
    def put(p, i, q):
        idx[q] = i
        child.assemble(q)
        return q
"""
        + COMPLETE
        + """
    def unfurl(c):
        c.q = ptr[c.p]
        c.end = ptr[c.p + 1]
        c.i = 0
        if c.q < c.end:
            c.i = idx[c.q]
    def seek(c, i):
        lvl.skip(c, i)
        if c.q < c.end:
            c.i = idx[c.q]
    def index(c):
        return c.i if c.q < c.end else 0
    def child(c, i):
        return c.q if lvl.index(c) == i else 0
    def next(c, i):
        if lvl.index(c) == i:
            c.q = c.q + 1
            if c.q < c.end:
                c.i = idx[c.q]

    def open(c):
        p = c.p
        before = prev[1]
        check(before < p, "fibers are appended in ascending order, each once, but {p} comes after {before}")
        c.q = fill[1] + 1
        c.end = 0
        c.i = 0
    def enter(c, i):
        last = c.i
        check(last < i, "indices are appended in ascending order, but {i} comes after {last}")
        child.assemble(c.q)
        return c.q
    def exit(c, i):
        idx[c.q] = i
        c.q = c.q + 1
        c.i = i
    def close(c):
        new = c.q - 1 - fill[1]
        if new > 0:
            ptr[c.p + 1] = ptr[c.p + 1] + new
            fill[1] = c.q - 1
            prev[1] = c.p
    """
    )

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        filled = fibers.positions[sizes > 0]
        buffers = {
            "ptr": Stored(pointers(fibers, sizes), 1),
            "idx": Stored(indices, 1),
            "fill": Stored.of(len(indices)),
            "prev": Stored.of(filled[-1] + 1 if len(filled) else 0),
        }
        return buffers, Fibers(len(indices), np.arange(len(indices)))

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        sizes, entries = list_entries(find("ptr"), len(find("idx").values), positions)
        return Children(sizes, find("idx").take(entries, 1), entries)

    def disorder(self, find: Find, n: int, positions: np.ndarray) -> str | None:
        sizes, _ = list_entries(find("ptr"), len(find("idx").values), positions)
        return count_mistake(find, positions, sizes)
