"""Dense: every index has a child, at a position that is computed.

>>> from wingspan.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(Element(0))", [4, 0, 7]))
Dense(Element(0))  3
├─ 1: 4
├─ 2: 0
└─ 3: 7

Invariant: the child of index i in fiber p is at position (p - 1)·n + i. Nothing is stored.
Stability {node, sibling, cousin}: "dense levels are static mapping functions" (figure "stability").
"""

from __future__ import annotations

from dataclasses import dataclass

from wingspan.levels.base import EVERY, Dependence, Storage


@dataclass(frozen=True)
class Dense(Storage):
    """Every index has a child."""

    lookup = True
    full = True
    operations = """
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
    def coalesce(local, global_, task, m, P):
        made = 0
        a = 1
        while a <= m:
            g = global_[a]
            b = a
            while global_[b] == g:
                b = b + 1
            i = 1
            while i <= n:
                k = a
                while k < b:
                    made = made + 1
                    locals[made] = (local[k] - 1) * n + i
                    globals[made] = (g - 1) * n + i
                    tasks[made] = task[k]
                    k = k + 1
                i = i + 1
            a = b
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

    def stability(self) -> frozenset[Dependence]:
        return EVERY
