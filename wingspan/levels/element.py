"""Element: the leaf that stores one value a position, and protects none.

>>> from wingspan.tensor import Tensor
>>> print(Tensor.from_numpy("Element(0.0)", 2.5))
Element(0.0): 2.5

Invariant: val[p] is the value at position p.
Stability {sibling, cousin}: "Element levels … cannot support data races on the leaves" (section 3.1): an update is a
load and a store, between which another task may come.

| buffer | cell  | length    | meaning            |
|--------|-------|-----------|--------------------|
| val    | value | positions | the value at p     |
"""

from __future__ import annotations

from dataclasses import dataclass

from wingspan.levels.base import Buffer, Dependence, Leaf

VALUES = """
    def declare():
        pass
    def assemble(p):
        val[p] = z
    def freeze(P):
        pass
    def thaw(P):
        pass
    def coalesce(local, global_, task, m, P):
        before = 0
        k = 1
        while k <= m:
            g = global_[k]
            v = lvl[task[k]].val[local[k]]
            if g == before:
                v = merge(val[g], v)
            val[g] = v
            before = g
            k = k + 1
    def unwrap(p):
        return val[p]
"""
"""What leaves that store a value a position have in common."""


@dataclass(frozen=True)
class Element(Leaf):
    """A value a position, updated by a load and a store."""

    buffers = (Buffer("val", "value", "positions", "the value at p"),)
    operations = f"""{VALUES}
    def increment(p, v):
        if overwrites:
            val[p] = v
        else:
            val[p] = combine(val[p], v)
    """

    def stability(self) -> frozenset[Dependence]:
        return frozenset({"sibling", "cousin"})
