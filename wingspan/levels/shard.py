"""Shard(D): each thread of D has a level instance of its own; a position belongs to the thread that reaches it first.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(Shard(dev, SparseList(Element(0))))", [[1, 0], [2, 0]], devices={"dev": 2}))
Dense(Shard(dev, SparseList(Element(0))))  2×2
├─ [:, 1]  thread 1
│  ├─ 1: 1
│  └─ 2: 2
└─ [:, 2]  unclaimed

Invariant: position p is unclaimed (ptr[p] = 0, and its fiber is all fill), or it is fiber ptr[p] in the instance of
thread owner[p], and 1 ≤ ptr[p] ≤ used[owner[p]]. A claim lasts until the tensor is declared again; a second thread at p
faults. It is made on arrival, before anything is written; the paper says "on the first write" (reading-notes, L4).
Only a task of D itself may update: "device-gated levels must be unfurled by the parallel loop over their device"
(section 4.3). Each thread freezes its own level when it ends (commit) and thaws it when it starts (checkout).
Below a Merge, copies are claimed by thread 1 fiber by fiber, one after the other.
Stability: adds cousin from its level down (figure "stability"), since different positions have different instances or
belong to one thread.

| buffer | cell     | length    | meaning                                 |
|--------|----------|-----------|-----------------------------------------|
| ptr    | position | positions | the fiber within the thread's level     |
| owner  | thread   | positions | the thread that claimed p               |
| used   | count    | threads   | the fibers that thread t has claimed    |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.levels.base import THREADS, Buffer, Buffers, Cost, Discipline, Fibers, Find, Gated, Inside, Stored


@dataclass(frozen=True)
class Shard(Gated):
    """An instance of the wrapped level per thread of a device."""

    cost = Cost(visit=2.0, remedy=3)
    discipline = Discipline.CLAIM
    figure = Discipline.CLAIM.adds
    buffers = (
        Buffer("ptr", "position", "positions", "the fiber within the thread's level"),
        Buffer("owner", "thread", "positions", "the thread that claimed p"),
        Buffer("used", "count", "threads", "the fibers that thread t has claimed", own=True),
    )
    operations = (
        THREADS
        + """
    def declare():
        t = 1
        while t <= threads:
            used[t] = 0
            child[t].declare()
            t = t + 1
    def assemble(p):
        ptr[p] = 0
    def freeze(P):
        pass
    def thaw(P):
        pass

    def coalesce(local, global_, task, m, P):
        made = 0
        k = 1
        while k <= m:
            t = task[k]
            q = lvl[t].ptr[local[k]]
            if q > 0:
                g = global_[k]
                if ptr[g] == 0:
                    new = used[1] + 1
                    used[1] = new
                    owner[g] = 1
                    ptr[g] = new
                    child[1].assemble(new)
                made = made + 1
                locals[made] = q
                globals[made] = ptr[g]
                tasks[made] = t + P * lvl[t].owner[local[k]]
            k = k + 1
        globals[made + 1] = 0
        child[1].coalesce(locals, globals, tasks, made, P * (threads + 1))
        child[1].freeze(used[1])

    def bind(p):
        t = thread()
        check(t > 0, "position {p} is updated outside of a task of the device {device}")
        q = ptr[p]
        if q == 0:
            q = used[t] + 1
            used[t] = q
            owner[p] = t
            ptr[p] = q
            child[t].assemble(q)
        else:
            claimed = owner[p]
            check(claimed == t, "position {p} belongs to thread {claimed}, and thread {t} reaches it")
        return t, q
    def bind_read(p):
        q = ptr[p]
        t = 0
        if q > 0:
            t = owner[p]
        return t, q
    """
    )

    def pack(self, fibers: Fibers) -> tuple[Buffers, Iterable[tuple[int | None, Fibers]]]:
        claimed = np.arange(len(fibers.positions))
        ptr, owner = np.zeros((2, fibers.total), dtype=np.int64)
        ptr[fibers.positions], owner[fibers.positions] = claimed + 1, 1
        buffers = {"ptr": Stored(ptr), "owner": Stored(owner), "used": Stored.of(len(claimed))}
        nothing = Fibers(0, claimed[:0])
        return buffers, [(1, Fibers(len(claimed), claimed)), *((t, nothing) for t in range(2, self.on.nthreads + 1))]

    def unpack(self, find: Find, positions: np.ndarray) -> Iterator[Inside]:
        child, owner = find("ptr").take(positions), find("owner").take(positions)
        for t in np.unique(owner[child > 0]).tolist():
            chosen = np.flatnonzero((owner == t) & (child > 0))
            yield Inside(t, chosen, child[chosen] - 1)

    def claims(self, find: Find) -> tuple[Stored, Stored]:
        return find("ptr"), find("owner")

    def disorder(self, find: Find, positions: np.ndarray) -> str | None:
        child, owner = find("ptr").take(positions), find("owner").take(positions)
        used, claimed = find("used"), child != 0
        outside = claimed & ((owner < 1) | (owner > self.on.nthreads) | (child < 1) | (child > used.take(owner - 1)))
        twice: np.ndarray = np.ones(len(positions), dtype=np.bool_)
        twice[np.unique(np.stack([owner, child]), axis=1, return_index=True)[1]] = False
        for bad, what in ((outside, "is no"), (claimed & twice, "is also another one's")):
            if bad.any():
                k = int(np.argmax(bad))
                return f"fiber {positions[k] + 1}: {child[k]} {what} fiber of thread {owner[k]}"
        return None
