"""Merge(D): each thread of D updates its own copy of the level; freezing merges the copies.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Merge(dev, SparseDict(Element(0)))", [1, 0, 2], devices={"dev": 2}))
Merge(dev, SparseDict(Element(0)))  3
├─ 1: 1
└─ 3: 2

Invariant: child[t] is the copy of thread t, and its first used[t] fibers are assembled. child[now] is the merged level;
only this one is read. Every copy starts each phase as all fill. For every fiber, `freeze` folds the merged level of
earlier phases and then the copies, in the order of the threads, by ⊕ (by + if ⊕ is -). This equals the sequential
result if ⊕ is associative and commutative and the fill value is neutral (x ⊕ fill = x).
Under =, a copy replaces exactly the elements that its thread has set in the phase. Each leaf has a flag per element for
this, only in copies and only in phases of =. The result is right if no two threads set one element in one phase.
Thawing keeps the merged level aside, to be folded in, and begins another one: now alternates between 0 and threads + 1.
If one copy has all fibers, the others have none, and no earlier phase left anything, nothing is folded: that copy is
the merged level, and now is its thread, until thawing folds it after all.
Only a task of D itself may update: "device-gated levels must be unfurled by the parallel loop over their device"
(section 4.3). Each thread freezes its copy when it ends (commit) and thaws it when it starts (checkout). The threads
share the work of merging. Copies are listed by fiber: before the copies of fiber p, thread t has min(used[t], p - 1)
entries in the list.
Stability: adds node, sibling and cousin from its level down (figure "stability").

| buffer | cell   | length  | meaning                                                                |
|--------|--------|---------|------------------------------------------------------------------------|
| used   | count  | threads | how many fibers of thread t's copy are assembled                       |
| now    | thread | 1       | which child is the merged level                                        |
| kept   | count  | 1       | how many fibers the other merged level holds from before the phase     |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.levels.base import THREADS, Buffer, Buffers, Cost, Discipline, Fibers, Find, Gated, Inside


@dataclass(frozen=True)
class Merge(Gated):
    """A copy of the wrapped level per thread of a device."""

    cost = Cost(remedy=5)
    arrangement = "copies"
    buffers = (
        Buffer("used", "count", "threads", "how many fibers of thread t's copy are assembled", own=True),
        Buffer("now", "thread", "1", "which child is the merged level"),
        Buffer("kept", "count", "1", "how many fibers the other merged level holds from before the phase"),
    )
    discipline = Discipline.COPY
    figure = Discipline.COPY.adds
    operations = (
        THREADS
        + """
    def declare():
        now[1] = 0
        kept[1] = 0
        child[0].declare()
        lvl.empty()
    def empty():
        t = 1
        while t <= threads:
            used[t] = 0
            child[t].declare()
            t = t + 1
    def assemble(p):
        child[now[1]].assemble(p)
    def freeze(P):
        t = lvl.alone(P)
        if t > 0:
            now[1] = t
        else:
            lvl.fold(P)
    def alone(P):
        found = 0
        merged = now[1]
        before = kept[1]
        if merged == 0 and before == 0 and P > 0:
            fibers = 0
            t = 1
            while t <= threads:
                q = used[t]
                fibers = fibers + q
                if q == P:
                    found = t
                t = t + 1
            if fibers > P:
                found = 0
        return found
    def fold(P):
        merged = now[1]
        before = kept[1]
        for p in parallel(1, P, threads):
            k = lvl.listed(p - 1)
            if p <= before:
                k = k + 1
                locals[k] = p
                globals[k] = p
                tasks[k] = threads + 1 - merged
            t = 1
            while t <= threads:
                if p <= used[t]:
                    k = k + 1
                    locals[k] = p
                    globals[k] = p
                    tasks[k] = t
                t = t + 1
        m = lvl.listed(P)
        if m > 0:
            globals[m + 1] = 0
            child[merged].coalesce(locals, globals, tasks, m, threads + 2)
        child[merged].freeze(P)
    def listed(p):
        before = kept[1]
        fibers = p if p < before else before
        t = 1
        while t <= threads:
            q = used[t]
            fibers = fibers + p if p < q else fibers + q
            t = t + 1
        return fibers
    def thaw(P):
        t = now[1]
        if t > 0 and t <= threads:
            now[1] = 0
            lvl.fold(P)
        merged = threads + 1 - now[1]
        now[1] = merged
        kept[1] = P
        child[merged].declare()
        p = 1
        while p <= P:
            child[merged].assemble(p)
            p = p + 1
        lvl.empty()
    def coalesce(local, global_, task, m, P):
        for k in parallel(1, m):
            t = task[k]
            tasks[k] = t + P * lvl[t].now[1]
        child[now[1]].coalesce(local, global_, tasks, m, P * (threads + 2))

    def bind(p):
        t = thread()
        check(t > 0, "position {p} is updated outside of a task of the device {device}")
        q = used[t]
        if q < p:
            while q < p:
                q = q + 1
                child[t].assemble(q)
            used[t] = p
        return t, p
    def bind_read(p):
        return now[1], p
    """
    )

    def pack(self, fibers: Fibers) -> tuple[Buffers, Iterable[tuple[int | None, Fibers]]]:
        return {}, [(0, fibers)]

    def unpack(self, find: Find, positions: np.ndarray) -> Iterator[Inside]:
        yield Inside(find("now").number, np.arange(len(positions)), positions)
