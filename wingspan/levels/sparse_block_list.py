"""SparseBlockList: blocks of neighbouring indices, each with contiguous children (VBL).

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(SparseBlockList(Element(0)))", [[4, 0], [1, 0], [0, 2], [7, 3]]))
Dense(SparseBlockList(Element(0)))  4×2
├─ [:, 1]
│  ├─ 1: 4
│  ├─ 2: 1
│  └─ 4: 7
└─ [:, 2]
   ├─ 3: 2
   └─ 4: 3

Invariant (when frozen): the blocks of fiber p are at ptr[p] ≤ r < ptr[p+1]; ptr[1] = 1. Block r has the children
ofs[r] ≤ q < ofs[r+1], ofs[1] = 1, with as many indices, up to idx[r]. Blocks ascend in a fiber and are maximal: between
two of them at least one index is missing. Fibers are updated in ascending order, each once, with ascending indices.
Copies are merged segment by segment, and then blocks are joined again.
Stability ∅ ("for any other level format", section 3.1): fill, ptr, idx and ofs are shared by all fibers.

| buffer | cell     | length        | meaning                                                               |
|--------|----------|---------------|-----------------------------------------------------------------------|
| ptr    | position | positions + 1 | frozen: first block of fiber p; updating: ptr[p+1] counts its blocks  |
| idx    | index    | entries       | the last index of block r                                             |
| ofs    | position | entries + 1   | the first child of block r, or the next new child                     |
| fill   | count    | 1             | blocks in closed fibers                                               |
| prev   | position | 1             | the last fiber with blocks                                            |
"""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder
from wingspan.levels.append_only import APPENDED, FREEZE, count_mistake, skipping
from wingspan.levels.base import COUNTS, Below, Buffer, Buffers, Children, Fibers, Find, Storage, Stored, narrow
from wingspan.levels.sorted_keys import list_entries, pointers
from wingspan.levels.stretches import SEGMENTS, WITH_GAPS, begins, disorder, spread, sums


@dataclass(frozen=True)
class SparseBlockList(Storage):
    """Blocks of neighbouring indices, appended in order."""

    cursor = ("q", "end", "i", "last", "base", "first")
    lists = COUNTS
    traversal = Traversal.BLOCK_LIST
    order = UpdateOrder.APPEND
    identity = Identity.APPENDED
    buffers = (
        Buffer(
            "ptr", "position", "positions + 1", "frozen: first block of fiber p; updating: ptr[p+1] counts its blocks"
        ),
        Buffer("idx", "index", "entries", "the last index of block r", assigned=True),
        Buffer("ofs", "position", "entries + 1", "the first child of block r, or the next new child", assigned=True),
        Buffer("fill", "count", "1", "blocks in closed fibers"),
        Buffer("prev", "position", "1", "the last fiber with blocks"),
    )
    operations = (
        APPENDED.replace("        child.declare()\n", "        ofs[1] = 1\n        child.declare()\n")
        + FREEZE
        + skipping("idx")
        + WITH_GAPS
        + SEGMENTS
        + """
    def stored(entries):
        return ofs[entries + 1] - 1
    def entry(p, k):
        return idx[k] - ofs[k + 1] + ofs[k] + 1
    def last(k):
        return idx[k]
    def below(k, i):
        return ofs[k + 1] - 1 - idx[k] + i
    def width(indices):
        return indices
    def put(k, i, last, q):
        idx[k] = last
        ofs[k + 1] = q + 1
    def comparable():
        return True
    def follows(e, k):
        return idx[e] + 1 == idx[k] - ofs[k + 1] + ofs[k] + 1
    def prolong(e, k):
        lvl.move(k, e)
    def move(k, e):
        idx[e] = idx[k]
        ofs[e + 1] = ofs[k + 1]

    def unfurl(c):
        c.q = ptr[c.p]
        c.end = ptr[c.p + 1]
        c.first = 0
        c.base = 0
        c.i = 0
        c.last = 0
        lvl.load(c)
    def load(c):
        if c.q < c.end:
            c.last = idx[c.q]
            c.base = ofs[c.q + 1] - 1 - c.last
            c.i = ofs[c.q] - c.base
    def child(c, i):
        return c.base + i if c.q < c.end and c.i <= i and i <= c.last else 0

    def open(c):
        lvl.in_order(c.p)
        c.q = fill[1] + 1
        c.first = c.q
        c.base = ofs[c.q]
        c.end = 0
        c.i = 0
        c.last = 0
    def enter(c, i):
        lvl.after(c.i, i)
        child.assemble(c.base)
        return c.base
    def exit(c, i):
        if c.first == c.q or c.i + 1 < i:
            c.q = c.q + 1
        idx[c.q - 1] = i
        c.base = c.base + 1
        ofs[c.q] = c.base
        c.i = i
    def close(c):
        lvl.append(c.p, c.q - 1)
    """
    )

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        new, filled = begins(sizes, indices), fibers.positions[sizes > 0]
        first = np.flatnonzero(new)
        ofs: np.ndarray = np.append(first, len(indices)).astype(narrow(len(indices) + 1))
        buffers = {
            "ptr": Stored(pointers(fibers, sums(sizes, new)), 1),
            "idx": Stored(indices[ofs[1:] - 1], 1),
            "ofs": Stored(ofs, 1),
            "fill": Stored.of(len(first)),
            "prev": Stored.of(filled[-1] + 1 if len(filled) else 0),
        }
        return buffers, Fibers(len(indices), np.arange(len(indices)))

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        sizes, blocks = list_entries(find("ptr"), len(find("idx").values), positions)
        return spread(sizes, *_ends(find, blocks), find("ofs").take(blocks, 1), n, step=1)

    def disorder(self, find: Find, n: int, positions: np.ndarray) -> str | None:
        sizes, blocks = list_entries(find("ptr"), len(find("idx").values), positions)
        if find("ofs").number != 1:
            return "entry 1: its children do not begin at 1"
        wrong = disorder(positions, sizes, blocks, *_ends(find, blocks), gap=1)
        return wrong or count_mistake(find, positions, sizes)


def _ends(find: Find, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and last indices of some blocks, counted from 0."""
    right, ofs = find("idx").take(blocks, 1), find("ofs")
    return right - (ofs.take(blocks + 1, 1) - ofs.take(blocks, 1)) + 1, right
