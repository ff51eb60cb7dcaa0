"""Pattern: the leaf without values: what is stored is true, and all else false. Graphs, masks and sets.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(SparseList(Pattern()))", [[False, True], [True, True]]))
Dense(SparseList(Pattern()))  2×2
├─ [:, 1]
│  └─ 2: true
└─ [:, 2]
   ├─ 1: true
   └─ 2: true

Invariant: every child of the level above is true. So that level must have only children that were written, which
excludes Dense. The fill value is always false. An update by true makes the level above keep the child; an update by
false changes nothing, and is a fault where it might have to replace true.
Stability {node, sibling, cousin}: a Pattern has no memory.
"""

from __future__ import annotations

from dataclasses import field

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.lang.ir import Value
from wingspan.lang.widths import USUAL, Width
from wingspan.levels.base import EVERY, Buffers, Dependence, Fibers, Find, Leaf, Unusual


@dataclass(frozen=True)
class Pattern(Leaf):
    """True wherever there is a child."""

    fill: Value = field(default=False, init=False)
    width: Width = field(default=USUAL["bool"], init=False)

    implied = True
    operations = """
    def declare():
        check(not z, "its fill value is false")
    def assemble(p):
        pass
    def freeze(P):
        pass
    def thaw(P):
        pass
    def coalesce(local, global_, task, m, P):
        pass
    def adopt(t, p, q, first):
        pass
    def unwrap(p):
        return True
    def equal(p, q):
        return True
    def copy(p, q):
        pass
    def is_fill(p):
        return False
    def truncate(P):
        pass
    def increment(p, v):
        check(combine(True, v), "an element that may be true is set to false, which a Pattern cannot: use |=")
        return combine(False, v)
    """

    def pack(self, fibers: Fibers, values: np.ndarray) -> Buffers:
        if not values.all():
            raise Unusual
        return {}

    def unpack(self, find: Find, positions: np.ndarray) -> np.ndarray:
        return np.ones(len(positions), dtype=np.bool_)

    def stability(self) -> frozenset[Dependence]:
        return EVERY

    def __str__(self) -> str:
        return f"{self.name}()"
