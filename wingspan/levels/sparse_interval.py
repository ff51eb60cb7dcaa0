"""SparseInterval: at most one run of equal children per fiber. For ranges, ramps and the rows of a mask.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(SparseInterval(Element(0)))", [[0, 5, 0], [3, 5, 0], [3, 0, 0]]))
Dense(SparseInterval(Element(0)))  3×3
├─ [:, 1]
│  └─ [2:3]: 3
├─ [:, 2]
│  └─ [1:2]: 5
└─ [:, 3]

Invariant: fiber p has one child for the indices left[p] to right[p], at position (p - 1)·w + 1 with w = min(n, 2), or
none if right[p] = 0. A write must extend the run by the next index, with a child that equals the run's: a gap, a
repeated index or another value is a fault. The position after the child is scratch: the next index is written there, to
be compared. A later visit may extend the run. What is below has a fixed size.
Copies cannot be merged: the union of two intervals need not be an interval.
Stability {cousin}, where the figure has ∅ ("for any other level format", section 3.1): fibers share no cell. Two tasks
in one fiber would have to write in ascending order, but may take turns in any order.

| buffer | cell  | length    | meaning                                     |
|--------|-------|-----------|---------------------------------------------|
| left   | index | positions | the first index of the run of fiber p       |
| right  | index | positions | the last one, 0 if fiber p has none         |
"""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder
from wingspan.levels.base import (
    Below,
    Buffer,
    Buffers,
    Children,
    Dependence,
    Fibers,
    Find,
    Storage,
    Stored,
    Unusual,
    narrow,
)
from wingspan.levels.stretches import HOLDS, begins, firsts, spread


@dataclass(frozen=True)
class SparseInterval(Storage):
    """At most one run of equal children per fiber."""

    cursor = ("i", "last", "before")
    traversal = Traversal.RUNS
    order = UpdateOrder.CONTIGUOUS
    identity = Identity.FIBER
    buffers = (
        Buffer("left", "index", "positions", "the first index of the run of fiber p"),
        Buffer("right", "index", "positions", "the last one, 0 if fiber p has none"),
    )
    operations = (
        HOLDS
        + """
    def declare():
        child.declare()
    def width():
        return 2 if n > 1 else n
    def assemble(p):
        right[p] = 0
        if n > 0:
            child.assemble((p - 1) * lvl.width() + 1)
    def freeze(P):
        child.freeze(P * lvl.width())
    def thaw(P):
        child.thaw(P * lvl.width())

    def unfurl(c):
        c.before = 0
        c.i = 0
        c.last = right[c.p]
        if c.last > 0:
            c.i = left[c.p]
    def seek(c, i):
        lvl.next(c, i - 1)
    def index(c):
        return c.i
    def stop(c):
        return c.last
    def child(c, i):
        return (c.p - 1) * lvl.width() + 1 if lvl.holds(c, i) else 0
    def next(c, i):
        if c.i > 0 and c.i <= i:
            c.i = i + 1 if i < c.last else 0

    def open(c):
        c.i = 0
        c.last = 0
        c.before = 0
    def enter(c, i):
        c.before = right[c.p]
        c.last = i
        q = (c.p - 1) * lvl.width() + 1
        if n > 1:
            if c.before > 0:
                q = q + 1
                child.assemble(q)
        return q
    def exit(c, i):
        before = c.before
        run = right[c.p]
        check(run == before, "the fiber ends at {run}, and not at {before}, as a visit within this one has written it")
        if before > 0:
            check(before + 1 == i, "a fiber has one run, but {i} comes after {before}")
            if n > 1:
                q = (c.p - 1) * lvl.width() + 1
                equal = child.equal(q, q + 1)
                check(equal, "a fiber has one run of equal children, but that of {i} differs")
        else:
            left[c.p] = i
        right[c.p] = c.last
    def close(c):
        pass
    """
    )

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        filled = sizes > 0
        if np.count_nonzero(begins(sizes, indices, below)) > np.count_nonzero(filled):
            raise Unusual
        runs: np.ndarray = np.zeros((2, fibers.total), dtype=narrow(n))
        runs[0, fibers.positions[filled]] = indices[firsts(sizes)] + 1
        runs[1, fibers.positions[filled]] = indices[firsts(sizes)] + sizes[filled]
        width = min(n, 2)
        children = Fibers(fibers.total * width, np.repeat(fibers.positions, sizes) * width)
        return {"left": Stored(runs[0]), "right": Stored(runs[1])}, children

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        left, right = find("left").take(positions, 1), find("right").take(positions, 1)
        there = right != -1
        return spread(there.astype(np.int64), left[there], right[there], positions[there] * min(n, 2), n)

    def stability(self) -> frozenset[Dependence]:
        return frozenset({"cousin"})
