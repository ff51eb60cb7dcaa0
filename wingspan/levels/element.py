"""Element: the leaf that stores one value per position, without protection.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Element(0.0)", 2.5))
Element(0.0): 2.5

Invariant: val[p] is the value at position p.
Stability {sibling, cousin}: "Element levels … cannot support data races on the leaves" (section 3.1): an update is a
load and a store, and another task may step in between.

| buffer | cell  | length    | meaning            |
|--------|-------|-----------|--------------------|
| val    | value | positions | the value at p     |
"""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.levels.base import GROUPS, Buffer, Buffers, Dependence, Fibers, Find, Leaf, Stored, consecutive

VALUES = f"""{GROUPS}
    def declare():
        fit(z)
    def assemble(p):
        val[p] = z
        if overwrites and copied:
            written[p] = 0
    def freeze(P):
        pass
    def thaw(P):
        pass
    def coalesce(local, global_, task, m, P):
        for k in parallel(1, m):
            if not lvl.joins(global_, k):
                lvl.adopt(task[k], local[k], global_[k], True)
                b = k + 1
                while lvl.joins(global_, b):
                    lvl.adopt(task[b], local[b], global_[b], False)
                    b = b + 1
    def adopt(t, p, q, first):
        v = lvl[t].val[p]
        if overwrites:
            w = lvl[t].written[p]
            if first or w == 1:
                val[q] = v
                written[q] = w
        else:
            if not first:
                v = fit(merge(val[q], v))
            val[q] = v
    def unwrap(p):
        return val[p]
    def equal(p, q):
        return alike(val[p], val[q])
    def copy(p, q):
        val[q] = val[p]
        if overwrites and copied:
            written[q] = written[p]
    def is_fill(p):
        return alike(val[p], z)
    def truncate(P):
        pass
"""
"""The common part of leaves with one value per position. written: see `base.WRITTEN`."""


@dataclass(frozen=True)
class Element(Leaf):
    """One value per position, updated by a load and a store."""

    arrangement = "values"
    readable_while_updated = True
    figure = frozenset({"sibling", "cousin"})
    buffers = (Buffer("val", "value", "positions", "the value at p", assigned=True),)
    fits = True
    operations = f"""{VALUES}
    def increment(p, v):
        if overwrites:
            val[p] = fit(v)
            if copied:
                written[p] = 1
        else:
            val[p] = fit(combine(val[p], v))
    """

    def pack(self, fibers: Fibers, values: np.ndarray) -> Buffers:
        if len(values) != fibers.total or not consecutive(fibers.positions):
            every = (
                np.full(fibers.total, self.fill, values.dtype) if self.fill else np.zeros(fibers.total, values.dtype)
            )
            every[fibers.positions] = values
            values = every
        return {"val": Stored(values)}

    def unpack(self, find: Find, positions: np.ndarray) -> np.ndarray:
        return find("val").take(positions)

    def stability(self) -> frozenset[Dependence]:
        return frozenset({"sibling", "cousin"})
