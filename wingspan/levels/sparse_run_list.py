"""SparseRunList: runs of equal children, with fill in between. For images with a background.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(SparseRunList(Element(0)))", [[7, 0], [7, 5], [0, 5], [7, 4]]))
Dense(SparseRunList(Element(0)))  4×2
├─ [:, 1]
│  ├─ [1:2]: 7
│  └─ 4: 7
└─ [:, 2]
   ├─ [2:3]: 5
   └─ 4: 4

Invariant (when frozen): the runs of fiber p are at ptr[p] ≤ q < ptr[p+1]; ptr[1] = 1. Run q has one child, q, for the
indices left[q] to right[q]. Runs ascend in a fiber, and are maximal: the children of adjacent runs differ. Fibers are
updated in ascending order, each once, with ascending indices. Each index is a run of its own until the loop leaves it:
if its child equals that of an adjacent run before it, that run is extended, and the child is dropped. Children that
vary in size, as lists do, are compared, moved and dropped when they are frozen. Copies are merged segment by segment,
and then runs are joined again.
Stability ∅ ("for any other level format", section 3.1): fill, ptr, left and right are shared by all fibers.

| buffer | cell     | length        | meaning                                                           |
|--------|----------|---------------|-------------------------------------------------------------------|
| ptr    | position | positions + 1 | frozen: first run of fiber p; updating: ptr[p+1] counts its runs  |
| left   | index    | entries       | the first index of run q                                          |
| right  | index    | entries       | the last index of run q                                           |
| fill   | count    | 1             | runs in closed fibers                                             |
| prev   | position | 1             | the last fiber with runs                                          |
"""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder
from wingspan.levels.append_only import APPENDED, count_mistake, skipping
from wingspan.levels.base import COUNTS, Below, Buffer, Buffers, Children, Fibers, Find, RunEnds, Storage, Stored
from wingspan.levels.sorted_keys import list_entries, pointers
from wingspan.levels.stretches import RUNS, SEGMENTS, WITH_GAPS, begins, disorder, spread, sums


@dataclass(frozen=True)
class SparseRunList(Storage):
    """Runs of equal children, with fill in between."""

    arrangement = "stretches"
    cursor = ("q", "end", "i", "last", "first")
    lists = COUNTS
    traversal = Traversal.RUN_LIST
    order = UpdateOrder.APPEND
    joins_frozen = True
    identity = Identity.APPENDED
    runs = RunEnds("left", "right")
    buffers = (
        Buffer("ptr", "position", "positions + 1", "frozen: first run of fiber p; updating: ptr[p+1] counts its runs"),
        Buffer("left", "index", "entries", "the first index of run q", assigned=True),
        Buffer("right", "index", "entries", "the last index of run q", assigned=True),
        Buffer("fill", "count", "1", "runs in closed fibers"),
        Buffer("prev", "position", "1", "the last fiber with runs"),
    )
    operations = (
        APPENDED
        + skipping("right")
        + WITH_GAPS
        + SEGMENTS
        + RUNS
        + """
    def entry(p, k):
        return left[k]
    def put(k, i, last, q):
        left[k] = i
        right[k] = last
    def follows(e, k):
        goes_on = right[e] + 1 == left[k]
        if goes_on:
            goes_on = child.equal(e, k)
        return goes_on
    def prolong(e, k):
        right[e] = right[k]
    def move(k, e):
        left[e] = left[k]
        right[e] = right[k]
        child.copy(k, e)

    def unfurl(c):
        c.q = ptr[c.p]
        c.end = ptr[c.p + 1]
        c.first = 0
        c.i = 0
        c.last = 0
        lvl.load(c)
    def load(c):
        if c.q < c.end:
            c.i = left[c.q]
            c.last = right[c.q]
    def child(c, i):
        return c.q if c.q < c.end and c.i <= i and i <= c.last else 0

    def open(c):
        lvl.in_order(c.p)
        c.q = fill[1] + 1
        c.first = c.q
        c.end = 0
        c.i = 0
        c.last = 0
    def enter(c, i):
        lvl.after(c.i, i)
        child.assemble(c.q)
        c.last = i
        return c.q
    def exit(c, i):
        goes_on = False
        if child.fixed:
            if c.first < c.q:
                goes_on = child.equal(c.q - 1, c.q)
        if goes_on and c.i + 1 == i:
            right[c.q - 1] = c.last
        else:
            left[c.q] = i
            right[c.q] = c.last
            c.q = c.q + 1
        c.i = c.last
    def close(c):
        lvl.append(c.p, c.q - 1)
    """
    )

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        new, filled = begins(sizes, indices, below), fibers.positions[sizes > 0]
        first = np.flatnonzero(new)
        buffers = {
            "ptr": Stored(pointers(fibers, sums(sizes, new)), 1),
            "left": Stored(indices[first], 1),
            "right": Stored(indices[np.append(first, len(indices))[1:] - 1], 1),
            "fill": Stored.of(len(first)),
            "prev": Stored.of(filled[-1] + 1 if len(filled) else 0),
        }
        return buffers, Fibers(len(first), np.cumsum(new) - 1)

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        sizes, runs = list_entries(find("ptr"), len(find("right").values), positions)
        return spread(sizes, *_ends(find, runs), runs, n)

    def disorder(self, find: Find, n: int, positions: np.ndarray) -> str | None:
        sizes, runs = list_entries(find("ptr"), len(find("right").values), positions)
        wrong = disorder(positions, sizes, runs, *_ends(find, runs), gap=0)
        return wrong or count_mistake(find, positions, sizes)


def _ends(find: Find, runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and last indices of some runs, counted from 0."""
    return find("left").take(runs, 1), find("right").take(runs, 1)
