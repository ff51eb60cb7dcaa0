"""Isolate: each fiber of the wrapped level has a level instance of its own.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(Isolate(SparseList(Element(0))))", [[1, 0], [2, 0]]))
Dense(Isolate(SparseList(Element(0))))  2×2
├─ [:, 1]
│  ├─ 1: 1
│  └─ 2: 2
└─ [:, 2]  empty

Invariant: position p has an instance, with one fiber, exactly if state[p] > 0; without an instance, p is all fill.
An update that reaches p loads the instance: it makes a new one, or thaws the one that exists. When the update ends, it
stores the instance: it freezes it and writes state[p]. So a second visit adds to what the first one wrote, unless an
ordered level refuses it. A visit during another visit is a fault.
Below a Merge, copies are merged fiber by fiber, one after the other; the threads share the work within a fiber.
Stability: adds cousin from its level down (figure "stability"), since different positions have different instances. It
adds nothing for a single position: loading is a read and storing a write.

| buffer | cell | length    | meaning                                            |
|--------|------|-----------|----------------------------------------------------|
| state  | flag | positions | 0: no level for p, 1: it is there, 2: it is loaded |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.levels.base import Buffer, Buffers, Cost, Discipline, Fibers, Find, Inside, Modifier, Stored


@dataclass(frozen=True)
class Isolate(Modifier):
    """One instance of the wrapped level per fiber."""

    cost = Cost(visit=230.0, remedy=4)
    discipline = Discipline.INSTANCE
    figure = Discipline.INSTANCE.adds
    buffers = (Buffer("state", "flag", "positions", "0: no level for p, 1: it is there, 2: it is loaded"),)
    operations = """
    def declare():
        fit(z)
    def assemble(p):
        state[p] = 0
    def freeze(P):
        pass
    def thaw(P):
        pass
    def checkout():
        pass
    def commit():
        pass
    def coalesce(local, global_, task, m, P):
        a = 1
        while a <= m:
            g = global_[a]
            made = 0
            top = 0
            while global_[a] == g:
                t = task[a]
                p = local[a]
                if lvl[t].state[p] > 0:
                    made = made + 1
                    locals[made] = 1
                    globals[made] = 1
                    tasks[made] = t + P * p
                    if p > top:
                        top = p
                a = a + 1
            if made > 0:
                globals[made + 1] = 0
                child[g].declare()
                child[g].assemble(1)
                child[g].coalesce(locals, globals, tasks, made, P * (top + 1))
                child[g].freeze(1)
                state[g] = 1

    def bind(p):
        there = state[p]
        check(there < 2, "fiber {p} is visited while a visit of it goes on")
        state[p] = 2
        if there == 0:
            child[p].declare()
            child[p].assemble(1)
        else:
            child[p].thaw(1)
        child[p].checkout()
        return p, 1
    def unbind(p):
        child[p].commit()
        child[p].freeze(1)
        state[p] = 1
    def bind_read(p):
        q = 0
        if state[p] > 0:
            q = 1
        return p, q
    """

    def pack(self, fibers: Fibers) -> tuple[Buffers, Iterable[tuple[int | None, Fibers]]]:
        state: np.ndarray = np.zeros(fibers.total, dtype=np.uint8)
        state[fibers.positions] = 1
        only = Fibers(1, np.zeros(1, dtype=np.int64))
        return {"state": Stored(state)}, ((p + 1, only) for p in fibers.positions.tolist())

    def unpack(self, find: Find, positions: np.ndarray) -> Iterator[Inside]:
        for k in np.flatnonzero(find("state").take(positions) > 0).tolist():
            yield Inside(int(positions[k]) + 1, np.array([k]), np.zeros(1, dtype=np.int64))

    def disorder(self, find: Find, positions: np.ndarray) -> str | None:
        state = find("state").take(positions)
        bad = (state != 0) & (state != 1)
        return f"fiber {positions[np.argmax(bad)] + 1}: a visit of it goes on" if bad.any() else None
