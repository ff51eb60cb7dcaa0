"""Mutex: a lock per fiber of the wrapped level.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(Mutex(SparseDict(Element(0))))", [[1, 0], [2, 0]]))
Dense(Mutex(SparseDict(Element(0))))  2×2
├─ [:, 1]
│  ├─ 1: 1
│  └─ 2: 2
└─ [:, 2]

Invariant: lock[p] is 0, or it names the one task that updates fiber p. A task takes the lock
when it unfurls the fiber or increments the element, before it accesses anything below the Mutex, and releases it
afterwards. A task that requests a lock which it already holds waits forever. Reading takes no lock, since nothing is
updated meanwhile, but where the same statement updates the tensor.
Stability: adds node and sibling from its level down (figure "stability"), on the devices that take the locks.

| buffer | cell | length    | meaning                                          |
|--------|------|-----------|--------------------------------------------------|
| lock   | lock | positions | 0: free; otherwise the task that updates fiber p |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.levels.base import Buffer, Buffers, Cost, Discipline, Fibers, Find, Inside, Modifier


@dataclass(frozen=True)
class Mutex(Modifier):
    """A lock per fiber."""

    cost = Cost(visit=6.0, met=20.0, remedy=4)
    discipline = Discipline.LOCK
    figure = Discipline.LOCK.adds
    buffers = (Buffer("lock", "lock", "positions", "0: free; otherwise the task that updates fiber p"),)
    operations = """
    def declare():
        child.declare()
    def assemble(p):
        child.assemble(p)
    def freeze(P):
        child.freeze(P)
    def thaw(P):
        child.thaw(P)
    def equal(p, q):
        return child.equal(p, q)
    def copy(p, q):
        child.copy(p, q)
    def is_fill(p):
        return child.is_fill(p)
    def truncate(P):
        child.truncate(P)
    def coalesce(local, global_, task, m, P):
        child.coalesce(local, global_, task, m, P)

    def bind(p):
        acquire(lock, p)
        return p
    def unbind(p):
        release(lock, p)
    def bind_read(p):
        return p
    """

    def pack(self, fibers: Fibers) -> tuple[Buffers, Iterable[tuple[int | None, Fibers]]]:
        return {}, [(None, fibers)]

    def unpack(self, find: Find, positions: np.ndarray) -> Iterator[Inside]:
        yield Inside(None, np.arange(len(positions)), positions)
