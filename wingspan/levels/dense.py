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
