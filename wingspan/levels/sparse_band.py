"""SparseBand: contiguous children, from the first written index of a fiber to the last one.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("Dense(SparseBand(Element(0)))", [[4, 7, 0], [1, 0, 0], [0, 2, 0], [0, 0, 0]]))
Dense(SparseBand(Element(0)))  4×3
├─ [:, 1]
│  ├─ 1: 4
│  └─ 2: 1
├─ [:, 2]
│  ├─ 1: 7
│  ├─ 2: 0
│  └─ 3: 2
└─ [:, 3]

Invariant (when frozen): the children of fiber p are at ptr[p] ≤ q < ptr[p+1], with the indices from lo[p] on, one after
the other; ptr[1] = 1. Something was written below the first and the last child; a child in between without a write is
all fill. Fibers are updated in ascending order, each once, with ascending indices; children are counted when a fiber is
closed. Copies are merged from the first index of any of them to the last one.
Stability ∅ ("for any other level format", section 3.1): fill and ptr are shared by all fibers.

| buffer | cell     | length        | meaning                                                                 |
|--------|----------|---------------|-------------------------------------------------------------------------|
| ptr    | position | positions + 1 | frozen: first child of fiber p; updating: ptr[p+1] counts its children  |
| lo     | index    | positions     | the index of the first child of fiber p, if it has one                  |
| fill   | count    | 1             | children of closed fibers                                               |
| prev   | position | 1             | the last fiber with children                                            |
"""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder
from wingspan.levels.append_only import APPENDED, FREEZE, count_mistake
from wingspan.levels.base import GROUPS, Below, Buffer, Buffers, Children, Fibers, Find, Storage, Stored, narrow
from wingspan.levels.sorted_keys import list_entries, pointers
from wingspan.levels.stretches import HOLDS, firsts


@dataclass(frozen=True)
class SparseBand(Storage):
    """The children from the first written index of a fiber to the last one."""

    cursor = ("i", "last", "q", "made", "start")
    traversal = Traversal.BLOCKS
    order = UpdateOrder.APPEND
    identity = Identity.SPANNED
    buffers = (
        Buffer(
            "ptr", "position", "positions + 1", "frozen: first child of fiber p; updating: ptr[p+1] counts its children"
        ),
        Buffer("lo", "index", "positions", "the index of the first child of fiber p, if it has one", assigned=True),
        Buffer("fill", "count", "1", "children of closed fibers"),
        Buffer("prev", "position", "1", "the last fiber with children"),
    )
    operations = (
        APPENDED
        + FREEZE
        + HOLDS
        + GROUPS
        + """
    def coalesce(local, global_, task, m, P):
        sums[1] = 0
        for k in parallel(1, m):
            t = task[k]
            p = local[k]
            sums[k + 1] = lvl[t].ptr[p + 1] - lvl[t].ptr[p]
            if not lvl.joins(global_, k):
                lvl.span(local, global_, task, k)
        lvl.accumulate(sums, m + 1)
        made = 0
        k = 1
        while k <= m:
            g = global_[k]
            entries = ptr[g + 1]
            if entries > 0:
                here[k] = made
                made = made + entries
                prev[1] = g
            k = lvl.next_group(global_, k)
        fill[1] = made
        for k in parallel(1, m, grain):
            if not lvl.joins(global_, k):
                lvl.unite(local, global_, task, k)
        pairs = sums[m + 1]
        globals[pairs + 1] = 0
        child.coalesce(locals, globals, tasks, pairs, P)
    def span(local, global_, task, a):
        g = global_[a]
        begin = n + 1
        end = 0
        k = a
        while global_[k] == g:
            t = task[k]
            p = local[k]
            size = lvl[t].ptr[p + 1] - lvl[t].ptr[p]
            if size > 0:
                i = lvl[t].lo[p]
                begin = i if i < begin else begin
                end = i + size if end < i + size else end
            k = k + 1
        if end > 0:
            lo[g] = begin
            ptr[g + 1] = end - begin
    def unite(local, global_, task, a):
        g = global_[a]
        entries = ptr[g + 1]
        if entries > 0:
            begin = lo[g]
            before = here[a]
            made = sums[a]
            x = 0
            while x < entries:
                q = before + x + 1
                child.assemble(q)
                k = a
                while global_[k] == g:
                    t = task[k]
                    p = local[k]
                    first = lvl[t].ptr[p]
                    end = lvl[t].ptr[p + 1]
                    kid = first + begin + x - lvl[t].lo[p]
                    if first <= kid and kid < end:
                        made = made + 1
                        locals[made] = kid
                        globals[made] = q
                        tasks[made] = t
                    k = k + 1
                x = x + 1
    def stored(entries):
        return entries

    def unfurl(c):
        c.made = 0
        c.start = 0
        c.i = 0
        c.last = 0
        c.q = ptr[c.p]
        end = ptr[c.p + 1]
        if c.q < end:
            c.i = lo[c.p]
            c.q = c.q - c.i
            c.last = end - 1 - c.q
    def seek(c, i):
        lvl.next(c, i - 1)
    def index(c):
        return c.i
    def stop(c):
        return c.last
    def child(c, i):
        return c.q + i if lvl.holds(c, i) else 0
    def next(c, i):
        if c.i > 0 and c.i <= i:
            c.i = i + 1 if i < c.last else 0

    def open(c):
        lvl.in_order(c.p)
        c.made = fill[1]
        c.q = c.made + 1
        c.start = 0
        c.i = 0
        c.last = 0
    def enter(c, i):
        lvl.after(c.i, i)
        q = c.q
        if c.start > 0:
            q = c.q + i - c.start
        else:
            c.made = q - 1
        while c.made < q:
            c.made = c.made + 1
            child.assemble(c.made)
        return q
    def exit(c, i):
        if c.start == 0:
            c.start = i
        c.i = i
    def close(c):
        if c.start > 0:
            lo[c.p] = c.start
            lvl.append(c.p, c.q + c.i - c.start)
    """
    )

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        filled, first = fibers.positions[sizes > 0], firsts(sizes)
        widths: np.ndarray = np.zeros(len(sizes), dtype=np.int64)
        widths[sizes > 0] = indices[first + sizes[sizes > 0] - 1] - indices[first] + 1
        begin: np.ndarray = np.cumsum(widths) - widths
        begin[sizes > 0] -= indices[first]
        lo: np.ndarray = np.zeros(fibers.total, dtype=narrow(n))
        lo[filled] = indices[first] + 1
        buffers = {
            "ptr": Stored(pointers(fibers, widths), 1),
            "lo": Stored(lo),
            "fill": Stored.of(int(widths.sum())),
            "prev": Stored.of(filled[-1] + 1 if len(filled) else 0),
        }
        return buffers, Fibers(int(widths.sum()), np.repeat(begin, sizes) + indices)

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        ptr = find("ptr")
        sizes, children = list_entries(ptr, len(positions) * n, positions)
        shift = find("lo").take(positions, 1) - ptr.take(positions, 1)
        return Children(sizes, children + np.repeat(shift, sizes), children)

    def disorder(self, find: Find, n: int, positions: np.ndarray) -> str | None:
        sizes, _ = list_entries(find("ptr"), len(positions) * n, positions)
        return count_mistake(find, positions, sizes)
