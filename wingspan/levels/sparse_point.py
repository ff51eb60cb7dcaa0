"""SparsePoint: at most one index per fiber. For permutations, one-hot rows and the place of a maximum.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(SparsePoint(Element(0)))", [[0, 5, 0], [3, 0, 0]]))
Dense(SparsePoint(Element(0)))  2×3
├─ [:, 1]
│  └─ 2: 3
├─ [:, 2]
│  └─ 1: 5
└─ [:, 3]

Invariant: the child of fiber p is at position p, and idx[p] is its index, or 0 if nothing below it has been written. A
fiber may be visited again, and any index entered, but all writes must have the same index: a second index is a fault.
Copies of a fiber can be merged if they have the same index.
Stability {cousin}, where the figure has ∅ ("for any other level format", section 3.1): fibers share no cell. Two tasks
may take turns to update one index; if they update two, one of them faults in any order.

| buffer | cell  | length    | meaning                                          |
|--------|-------|-----------|--------------------------------------------------|
| idx    | index | positions | the index of the entry of fiber p, 0 if it has none |
"""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder
from wingspan.levels.base import (
    GROUPS,
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


@dataclass(frozen=True)
class SparsePoint(Storage):
    """At most one index per fiber."""

    cursor = ("i",)
    traversal = Traversal.ENTRIES
    order = UpdateOrder.ONE_INDEX
    identity = Identity.FIBER
    buffers = (Buffer("idx", "index", "positions", "the index of the entry of fiber p, 0 if it has none"),)
    operations = (
        GROUPS
        + """
    def declare():
        child.declare()
    def assemble(p):
        idx[p] = 0
        child.assemble(p)
    def freeze(P):
        child.freeze(P)
    def thaw(P):
        child.thaw(P)
    def coalesce(local, global_, task, m, P):
        for k in parallel(1, m):
            t = task[k]
            i = lvl[t].idx[local[k]]
            sums[k] = 1 if i > 0 else 0
        lvl.accumulate(sums, m)
        for k in parallel(1, m):
            if not lvl.joins(global_, k):
                lvl.unite(local, global_, task, k)
        made = 0
        if m > 0:
            made = sums[m]
        globals[made + 1] = 0
        child.coalesce(locals, globals, tasks, made, P)
    def unite(local, global_, task, a):
        g = global_[a]
        at = 0
        k = a
        while global_[k] == g:
            t = task[k]
            i = lvl[t].idx[local[k]]
            if i > 0:
                check(at == 0 or at == i, "one copy of a fiber has the index {at}, and another one {i}")
                at = i
                made = sums[k]
                locals[made] = local[k]
                globals[made] = g
                tasks[made] = t
            k = k + 1
        idx[g] = at

    def unfurl(c):
        c.i = idx[c.p]
    def seek(c, i):
        if c.i < i:
            c.i = 0
    def index(c):
        return c.i
    def child(c, i):
        return c.p if c.i == i else 0
    def next(c, i):
        if c.i == i:
            c.i = 0

    def open(c):
        c.i = 0
    def enter(c, i):
        return c.p
    def exit(c, i):
        at = idx[c.p]
        check(at == 0 or at == i, "a fiber has one index, but {i} comes after {at}")
        idx[c.p] = i
    def close(c):
        pass
    """
    )

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        if (sizes > 1).any():
            raise Unusual
        filled = fibers.positions[sizes > 0]
        idx: np.ndarray = np.zeros(fibers.total, dtype=narrow(n))
        idx[filled] = indices + 1
        return {"idx": Stored(idx)}, Fibers(fibers.total, filled)

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        indices = find("idx").take(positions)
        there = indices != 0
        return Children(there.astype(np.int64), indices[there] - 1, positions[there])

    def stability(self) -> frozenset[Dependence]:
        return frozenset({"cousin"})
