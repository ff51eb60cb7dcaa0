"""Dense: every index has a child, whose position is computed.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(Element(0))", [4, 0, 7]))
Dense(Element(0))  3
├─ 1: 4
├─ 2: 0
└─ 3: 7

Invariant: the child of index i in fiber p is at position (p - 1)·n + i. Nothing is stored.
Stability {node, sibling, cousin}: "dense levels are static mapping functions" (figure "stability").
"""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder
from wingspan.levels.base import (
    EVERY,
    GROUPS,
    Below,
    Buffers,
    Children,
    Cost,
    Dependence,
    Fibers,
    Find,
    Storage,
    computed,
    narrow,
)


@dataclass(frozen=True)
class Dense(Storage):
    """Every index has a child."""

    cost = Cost(merged=50.0)
    arrangement = "all"
    figure = EVERY
    traversal = Traversal.LOOKUP
    order = UpdateOrder.ANY
    identity = Identity.ALL
    operations = (
        GROUPS
        + """
    def declare():
        child.declare()
    def assemble(p):
        q = (p - 1) * n + 1
        while q <= p * n:
            child.assemble(q)
            q = q + 1
    def freeze(P):
        child.freeze(P * n)
    def thaw(P):
        child.thaw(P * n)
    def equal(p, q):
        alike = True
        k = 1
        while k <= n and alike:
            alike = child.equal((p - 1) * n + k, (q - 1) * n + k)
            k = k + 1
        return alike
    def copy(p, q):
        k = 1
        while k <= n:
            child.copy((p - 1) * n + k, (q - 1) * n + k)
            k = k + 1
    def is_fill(p):
        idle = True
        k = 1
        while k <= n and idle:
            idle = child.is_fill((p - 1) * n + k)
            k = k + 1
        return idle
    def truncate(P):
        child.truncate(P * n)
    def coalesce(local, global_, task, m, P):
        if child.leaf:
            lvl.add(local, global_, task, m)
        else:
            lvl.list(local, global_, task, m, P)
    def add(local, global_, task, m):
        groups = lvl.number_groups(global_, m)
        cells = groups * n
        for j in parallel(1, (cells + grain - 1) // grain, grain):
            done = (j - 1) * grain
            last = done + grain if done + grain < cells else cells
            while done < last:
                group = done // n
                before = done - group * n
                more = n - before if n - before < last - done else last - done
                k = first[group + 1]
                p = (global_[k] - 1) * n + before
                lvl.adopt(task[k], (local[k] - 1) * n + before, p, more, True)
                k = k + 1
                while lvl.joins(global_, k):
                    lvl.adopt(task[k], (local[k] - 1) * n + before, p, more, False)
                    k = k + 1
                done = done + more
    def adopt(t, p, q, cells, first):
        i = 1
        while i <= cells:
            child.adopt(t, p + i, q + i, first)
            i = i + 1
    def list(local, global_, task, m, P):
        for k in parallel(1, m):
            if not lvl.joins(global_, k):
                b = lvl.next_group(global_, k)
                q = k
                while q < b:
                    here[q] = k
                    members[q] = b - k
                    q = q + 1
        made = m * n
        for q in parallel(1, made):
            k = (q - 1) // n + 1
            a = here[k]
            before = q - (a - 1) * n - 1
            i = before // members[k]
            k = a + before - i * members[k]
            locals[q] = (local[k] - 1) * n + i + 1
            globals[q] = (global_[k] - 1) * n + i + 1
            tasks[q] = task[k]
        globals[made + 1] = 0
        child.coalesce(locals, globals, tasks, made, P)

    def unfurl(c):
        pass
    def seek(c, i):
        pass
    def child(c, i):
        return (c.p - 1) * n + i
    def next(c, i):
        pass

    def open(c):
        pass
    def enter(c, i):
        return (c.p - 1) * n + i
    def exit(c, i):
        pass
    def close(c):
        pass
    """
    )

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        return {}, Fibers(fibers.total * n, computed(fibers.positions, sizes, n, indices))

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        sizes = np.full(len(positions), n)
        indices: np.ndarray = np.tile(np.arange(n, dtype=narrow(n)), len(positions))
        return Children(sizes, indices, computed(positions, sizes, n, indices))

    def stability(self) -> frozenset[Dependence]:
        return EVERY
