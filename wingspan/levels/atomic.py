"""Atomic: the leaf whose updates are single steps.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(Atomic(0))", [1, 2]))
Dense(Atomic(0))  2
├─ 1: 1
└─ 2: 2

Invariant: as Element's.
Stability {node, sibling, cousin}: "a leaf level guarded by system atomics" (section 4.3). Overwriting is atomic too,
but the last write wins, so the result is race-free and still depends on the order.

| buffer | cell  | length    | meaning            |
|--------|-------|-----------|--------------------|
| val    | value | positions | the value at p     |
"""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.levels.base import EVERY, Cost, Dependence, Leaf
from wingspan.levels.element import VALUES, Element


@dataclass(frozen=True)
class Atomic(Leaf):
    """One value per position, updated by one atomic read-modify-write."""

    cost = Cost(visit=3.0, met=20.0, merged=50.0, remedy=2)
    arrangement = "values"
    readable_while_updated = True
    figure = EVERY
    buffers = Element.buffers
    fits = True
    operations = f"""{VALUES}
    def increment(p, v):
        atomic(val, p, v)
        if overwrites and copied:
            atomic(written, p, 1)
    def look(p):
        return look(val, p)
    """

    pack, unpack = Element.pack, Element.unpack

    def stability(self) -> frozenset[Dependence]:
        return EVERY
