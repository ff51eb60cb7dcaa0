"""RunList: runs of equal children, without gaps. Images, channel by channel.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(RunList(Element(0)))", [[7, 0, 0], [7, 0, 0], [0, 5, 0], [7, 5, 0]]))
Dense(RunList(Element(0)))  4×3
├─ [:, 1]
│  ├─ [1:2]: 7
│  ├─ 3: 0
│  └─ 4: 7
├─ [:, 2]
│  ├─ [1:2]: 0
│  └─ [3:4]: 5
└─ [:, 3]

Invariant (when frozen): the runs of fiber p are at ptr[p] ≤ q < ptr[p+1]; ptr[1] = 1. Run q has one child, q, for the
indices up to right[q]: from the one after the run before it, or from 1. A fiber has no runs, and is all fill, or its
last run ends at n. Runs are maximal: children of neighbours differ. Fibers are updated in ascending order, each once,
with ascending indices. A gap becomes a run of fill when a later index is written, or when the fiber is closed. As in
SparseRunList, a child is dropped if it equals the one before it; children that vary in size are compared, moved and
dropped when they are frozen. Copies are merged segment by segment, and then runs are joined again.
Stability ∅ ("for any other level format", section 3.1): fill, ptr and right are shared by all fibers.

| buffer | cell     | length        | meaning                                                           |
|--------|----------|---------------|-------------------------------------------------------------------|
| ptr    | position | positions + 1 | frozen: first run of fiber p; updating: ptr[p+1] counts its runs  |
| right  | index    | entries       | the last index of run q                                           |
| fill   | count    | 1             | runs in closed fibers                                             |
| prev   | position | 1             | the last fiber with runs                                          |
"""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder
from wingspan.levels.append_only import APPENDED, count_mistake, skipping
from wingspan.levels.base import (
    COUNTS,
    Below,
    Buffer,
    Buffers,
    Children,
    Fibers,
    Find,
    Leaf,
    Level,
    Storage,
    Stored,
    differ,
)  # fmt: skip
from wingspan.levels.sorted_keys import list_entries, pointers
from wingspan.levels.stretches import RUNS, SEGMENTS, disorder, firsts, spread, sums


@dataclass(frozen=True)
class RunList(Storage):
    """Runs of equal children, without gaps."""

    arrangement = "runs"
    cursor = ("q", "end", "i", "last", "first", "at")
    lists = COUNTS
    traversal = Traversal.RUN_LIST
    order = UpdateOrder.APPEND
    joins_frozen = True
    identity = Identity.SPANNED
    buffers = (
        Buffer("ptr", "position", "positions + 1", "frozen: first run of fiber p; updating: ptr[p+1] counts its runs"),
        Buffer("right", "index", "entries", "the last index of run q", assigned=True),
        Buffer("fill", "count", "1", "runs in closed fibers"),
        Buffer("prev", "position", "1", "the last fiber with runs"),
    )
    operations = (
        APPENDED
        + skipping("right")
        + SEGMENTS
        + RUNS
        + """
    def entry(p, k):
        i = 1
        if k > ptr[p]:
            i = right[k - 1] + 1
        return i
    def put(k, i, last, q):
        right[k] = last
    def follows(e, k):
        return child.equal(e, k)
    def prolong(e, k):
        right[e] = right[k]
    def move(k, e):
        right[e] = right[k]
        child.copy(k, e)

    def unfurl(c):
        c.q = ptr[c.p]
        c.end = ptr[c.p + 1]
        c.first = 0
        c.at = 0
        c.i = 1
        c.last = 0
        lvl.load(c)
    def load(c):
        if c.q < c.end:
            c.last = right[c.q]
    def seek(c, i):
        if c.i < i:
            c.i = i
            lvl.skip(c, i)
            lvl.load(c)
    def index(c):
        return c.i if c.q < c.end else 0
    def stop(c):
        return c.last
    def child(c, i):
        return c.q if c.q < c.end and c.i <= i and i <= c.last else 0
    def next(c, i):
        if c.q < c.end and c.i <= i:
            c.i = i + 1
            if i >= c.last:
                c.q = c.q + 1
                lvl.load(c)

    def open(c):
        lvl.in_order(c.p)
        c.q = fill[1] + 1
        c.first = c.q
        c.end = 0
        c.i = 0
        c.last = 0
        c.at = 0
    def gap(c, i):
        c.at = c.q
        if c.i + 1 < i:
            child.assemble(c.q)
            c.at = c.q + 1
            if c.first < c.q:
                if child.fixed:
                    if child.equal(c.q - 1, c.q):
                        c.at = c.q
    def fill_gap(c, i):
        if c.i + 1 < i:
            right[c.at - 1] = i - 1
            c.q = c.at
    def enter(c, i):
        lvl.after(c.i, i)
        lvl.gap(c, i)
        child.assemble(c.at)
        c.last = i
        return c.at
    def exit(c, i):
        lvl.fill_gap(c, i)
        goes_on = False
        if child.fixed:
            if c.first < c.q:
                goes_on = child.equal(c.q - 1, c.q)
        if goes_on:
            right[c.q - 1] = c.last
        else:
            right[c.q] = c.last
            c.q = c.q + 1
        c.i = c.last
    def close(c):
        if c.first < c.q:
            lvl.gap(c, n + 1)
            lvl.fill_gap(c, n + 1)
            lvl.append(c.p, c.q - 1)
    """
    )

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        filled, values = sizes > 0, below.elements()
        first, last = firsts(sizes), np.cumsum(sizes)[filled] - 1
        blank = np.logical_not(differ(values, _fill(self))).all(axis=1)
        before: np.ndarray = np.full(len(indices), -1, dtype=np.int64)  # the index of the child before
        before[1:] = indices[:-1]
        before[first] = -1
        gap = indices > before + 1
        new, begins, ends = np.zeros((3, len(indices)), dtype=np.bool_)
        begins[1:] = gap[1:] & ~blank[:-1]  # a run of fill begins before the child
        begins[first] = gap[first]
        new[1:] = differ(values[1:], values[:-1]).any(axis=1)  # the child begins a run
        new[first] = True
        new[gap] = ~blank[gap]
        ends[last] = (indices[last] < n - 1) & ~blank[last]  # a run of fill begins after it
        made = begins.astype(np.int64) + new + ends
        end = np.cumsum(made)
        own = end - ends - 1
        right: np.ndarray = np.zeros(int(made.sum()), dtype=indices.dtype)
        right[own] = indices
        right[own[gap & new] - 1] = indices[gap & new] - 1
        right[end[last] - 1] = n - 1
        buffers = {
            "ptr": Stored(pointers(fibers, sums(sizes, made)), 1),
            "right": Stored(right, 1),
            "fill": Stored.of(len(right)),
            "prev": Stored.of(fibers.positions[filled][-1] + 1 if len(first) else 0),
        }
        return buffers, Fibers(len(right), own)

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        sizes, runs = list_entries(find("ptr"), len(find("right").values), positions)
        return spread(sizes, *_ends(find, sizes, runs), runs, n)

    def disorder(self, find: Find, n: int, positions: np.ndarray) -> str | None:
        sizes, runs = list_entries(find("ptr"), len(find("right").values), positions)
        left, right = _ends(find, sizes, runs)
        if wrong := disorder(positions, sizes, runs, left, right, gap=0):
            return wrong
        filled, last = positions[sizes > 0], np.cumsum(sizes)[sizes > 0] - 1
        short = right[last] != n - 1
        if short.any():
            k = int(np.argmax(short))
            return f"fiber {filled[k] + 1}, entry {runs[last[k]] + 1}: it is the last one, and ends before {n}"
        return count_mistake(find, positions, sizes)


def _ends(find: Find, sizes: np.ndarray, runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and last indices of runs in some fibers, counted from 0."""
    right = find("right").take(runs, 1)
    left: np.ndarray = np.zeros(len(runs), dtype=np.int64)
    left[1:] = right[:-1] + 1
    left[firsts(sizes)] = 0
    return left, right


def _fill(level: Level) -> object:
    """The fill value of the leaf."""
    return level.fill if isinstance(level, Leaf) else _fill(level.child)  # type: ignore[attr-defined]
