"""SparseByteMap: a flag per index, in words of 64. The workspace of Gustavson's algorithm.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("SparseByteMap(Element(0))", [0, 4, 0, 9]))
SparseByteMap(Element(0))  4
├─ 2: 4
└─ 4: 9

Invariant: the child of index i in fiber p is at q = (p - 1)·n + i, as in Dense. Fiber p has ⌈n/64⌉ words of tbl. Bit
i - 1 of these words says whether the child has been written; if flat is 2, flag i of the fiber's 64·⌈n/64⌉ flags says
so, and all other bits are 0. When frozen, flat is 0. While flat is 0, bit w - 1 of top says whether word w of tbl is
not 0. A leaf below that has not been written holds the fill value, so an update need not ask whether an index is new:
all leaves hold `ready` from the start, and declaring resets those that were written, or all if the fill value changes.
Other levels are assembled with the fiber. Fibers may be visited in any order, any number of times, even during another
visit.

One word of top stands for 4096 indices, so a few entries are read and cleared quickly. Keeping top up to date is costly
for many entries: then only freezing writes it. If most words are written again and again, each write waits for the one
before it; then an update writes a flag per index, which reads nothing, and freezing turns flags into words. Declaring
chooses by `likely`, the expected number of updates. A plan that knows a bound sets it. Otherwise it is two for each
word that was not 0 when last frozen, unless there were no entries: empty columns do not decide for the columns between
them.
Stability ∅ ("for any other level format", section 3.1): all fibers share top, and 64 indices share a word of tbl.

| buffer | cell  | length                 | meaning                                                            |
|--------|-------|------------------------|--------------------------------------------------------------------|
| tbl    | bits  | positions · words      | the children that have been written; words is ⌈n/64⌉               |
| top    | bits  | positions · words / 64 | the words of tbl that are not 0                                    |
| flag   | flag  | positions · words · 64 | the children that have been written, if flat is 2                  |
| flat   | flag  | 1                      | 1: top is made when freezing; 2: so is tbl                         |
| likely | count | 1                      | how many updates are likely: more than there are words, or fewer   |
| size   | count | 1                      | the most fibers that there have been                               |
| ready  | value | 1                      | what leaves hold that have not been written                        |
"""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder
from wingspan.levels.base import (
    GROUPS,
    Below,
    Buffer,
    Buffers,
    Children,
    Cost,
    Fibers,
    Find,
    Leaf,
    Storage,
    Stored,
    Unusual,
    WordCursor,
    computed,
)


@dataclass(frozen=True)
class SparseByteMap(Storage):
    """A flag per index, written in any order."""

    arrangement = "words"
    cost = Cost(visit=2.0, merged=2.0)
    cursor = ("i", "before", "rest", "t", "more", "flat")
    traversal = Traversal.ENTRIES
    order = UpdateOrder.ANY
    identity = Identity.BITMAP
    words = WordCursor("i", "rest", "before")
    buffers = (
        Buffer(
            "tbl", "bits", "positions · words", "the children that have been written; words is ⌈n/64⌉", role="members"
        ),
        Buffer("top", "bits", "positions · words / 64", "the words of tbl that are not 0"),
        Buffer("flag", "flag", "positions · words · 64", "the children that have been written, if flat is 2"),
        Buffer("flat", "flag", "1", "1: top is made when freezing; 2: so is tbl", role="summary"),
        Buffer(
            "likely", "count", "1", "how many updates are likely: more than there are words, or fewer", role="expected"
        ),
        Buffer("size", "count", "1", "the most fibers that there have been"),
        Buffer("ready", "value", "1", "what leaves hold that have not been written"),
    )
    operations = (
        GROUPS
        + """
    def words():
        return (n + 63) // 64
    def declare():
        cells = size[1] * lvl.words()
        lvl.settle(cells)
        p = 1
        t = 1
        while t <= (cells + 63) // 64:
            x = top[t]
            if x != 0:
                top[t] = 0
            while x != 0:
                w = (t - 1) * 64 + first(x) + 1
                x = rest(x)
                if child.leaf:
                    while p * lvl.words() < w:
                        p = p + 1
                    lvl.forget(tbl[w], (p - 1) * n + (w - (p - 1) * lvl.words() - 1) * 64 + 1)
                tbl[w] = 0
            t = t + 1
        some = likely[1]
        cells = cells if cells > 0 else lvl.words()
        flat[1] = 2 if some > cells * 32 else 1 if some * 4 > cells else 0
        if child.leaf:
            if not same(ready[1], z):
                lvl.fill(1, size[1])
                ready[1] = z
        child.declare()
    def settle(cells):
        how = flat[1]
        if how == 2:
            for w in parallel(1, cells, 64):
                x = 0
                k = 0
                while k < 64:
                    y = flag[(w - 1) * 64 + k + 1]
                    x = x | (bit(k) if y != 0 else 0)
                    k = k + 1
                tbl[w] = x
                while k > 0:
                    flag[(w - 1) * 64 + k] = 0
                    k = k - 1
        if how > 0:
            lvl.summarize(cells)
    def summarize(cells):
        for t in parallel(1, (cells + 63) // 64, 64):
            last = t * 64 if t * 64 < cells else cells
            w = (t - 1) * 64 + 1
            x = 0
            while w <= last:
                y = tbl[w]
                x = x | (bit(w - 1) if y != 0 else 0)
                w = w + 1
            top[t] = x
        flat[1] = 0
    def forget(x, q):
        y = x
        while y != 0:
            child.assemble(q + first(y))
            y = rest(y)
    def fill(p, last):
        q = (p - 1) * n + 1
        while q <= last * n:
            child.assemble(q)
            q = q + 1
    def assemble(p):
        fibers = size[1]
        if not child.leaf:
            lvl.fill(p, p)
        elif not (blank and same(zero, z)):
            lvl.fill(fibers + 1, p)
        if fibers < p:
            size[1] = p
    def freeze(P):
        cells = P * lvl.words()
        lvl.settle(cells)
        found = 0
        t = 1
        while t <= (cells + 63) // 64:
            found = found + count(top[t])
            t = t + 1
        if found > 0:
            likely[1] = 2 * found
        child.freeze(P * n)
    def thaw(P):
        child.thaw(P * n)

    def coalesce(local, global_, task, m, P):
        groups = lvl.number_groups(global_, m)
        cells = groups * lvl.words()
        pieces = cells // grain + 1
        starts[1] = 0
        flat[1] = 1
        if child.leaf:
            for j in parallel(1, pieces, grain):
                lvl.unite(local, global_, task, j, cells, True)
        else:
            for j in parallel(1, pieces - 1, grain):
                starts[j + 1] = lvl.unite(local, global_, task, j, cells, False)
            j = 2
            while j <= pieces:
                starts[j] = starts[j - 1] + starts[j]
                j = j + 1
            for j in parallel(1, pieces, grain):
                made = lvl.unite(local, global_, task, j, cells, True)
                if j == pieces:
                    starts[j + 1] = made
            made = starts[pieces + 1]
            globals[made + 1] = 0
            child.coalesce(locals, globals, tasks, made, P)
    def unite(local, global_, task, j, cells, writes):
        made = 0
        if writes:
            made = starts[j]
        last = j * grain if j * grain < cells else cells
        done = (j - 1) * grain
        group = done // lvl.words() + 1 if done < last else 1
        w = done - (group - 1) * lvl.words() + 1
        while done < last:
            g = global_[first[group]]
            x = 0
            k = first[group]
            while global_[k] == g:
                t = task[k]
                y = lvl[t].tbl[(local[k] - 1) * lvl.words() + w]
                if child.leaf:
                    left = y
                    while left != 0:
                        i = (w - 1) * 64 + first(left) + 1
                        child.adopt(t, (local[k] - 1) * n + i, (g - 1) * n + i, x | bit(i - 1) != x)
                        left = rest(left)
                x = x | y
                if not writes:
                    made = made + count(y)
                k = k + 1
            if writes and x != 0:
                tbl[(g - 1) * lvl.words() + w] = x
                while x != 0 and not child.leaf:
                    i = (w - 1) * 64 + first(x) + 1
                    k = first[group]
                    while global_[k] == g:
                        t = task[k]
                        y = lvl[t].tbl[(local[k] - 1) * lvl.words() + w]
                        if y | bit(i - 1) == y:
                            made = made + 1
                            locals[made] = (local[k] - 1) * n + i
                            globals[made] = (g - 1) * n + i
                            tasks[made] = t
                        k = k + 1
                    x = rest(x)
            done = done + 1
            w = w + 1
            if w > lvl.words():
                w = 1
                group = group + 1
        return made

    def unfurl(c):
        c.flat = 0
        lvl.reach(c, 0)
        lvl.take(c)
    def seek(c, i):
        if c.i > 0 and c.i < i:
            lvl.reach(c, i - 1)
            if c.before == (i - 1) // 64 * 64:
                c.rest = since(c.rest, i - 1)
                if c.rest == 0:
                    lvl.skip(c)
            lvl.take(c)
    def reach(c, x):
        w = (c.p - 1) * lvl.words() + x // 64
        c.t = w // 64 + 1
        c.more = 0
        if w < c.p * lvl.words():
            c.more = since(top[c.t], w)
        lvl.skip(c)
    def skip(c):
        last = (c.p * lvl.words() + 63) // 64
        while c.more == 0 and c.t < last:
            c.t = c.t + 1
            c.more = top[c.t]
        c.rest = 0
        c.before = 0
        if c.more != 0:
            w = (c.t - 1) * 64 + first(c.more) + 1
            c.more = rest(c.more)
            if w <= c.p * lvl.words():
                c.rest = tbl[w]
                c.before = (w - (c.p - 1) * lvl.words() - 1) * 64
    def take(c):
        c.i = 0
        if c.rest != 0:
            c.i = c.before + first(c.rest) + 1
            c.rest = rest(c.rest)
    def index(c):
        return c.i
    def child(c, i):
        return (c.p - 1) * n + i if c.i == i else 0
    def next(c, i):
        if c.i == i:
            if c.rest == 0:
                lvl.skip(c)
            lvl.take(c)
    def drain(c, i):
        if child.leaf:
            child.assemble((c.p - 1) * n + i)
    def forget_passed(c):
        if child.leaf:
            if c.rest == 0:
                tbl[(c.p - 1) * lvl.words() + c.before // 64 + 1] = 0
                if c.more == 0:
                    top[c.t] = 0

    def open(c):
        c.i = 0
        c.before = 0
        c.rest = 0
        c.t = 0
        c.more = 0
        c.flat = flat[1]
    def enter(c, i):
        return (c.p - 1) * n + i
    def exit(c, i):
        if c.flat == 2:
            flag[(c.p - 1) * lvl.words() * 64 + i] = 1
        else:
            w = (c.p - 1) * lvl.words() + (i - 1) // 64 + 1
            tbl[w] = tbl[w] | bit(i - 1)
            if c.flat == 0:
                t = (w - 1) // 64 + 1
                top[t] = top[t] | bit(w - 1)
    def close(c):
        pass
    """
    )

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        words = -(-n // 64)
        flags: np.ndarray = np.zeros(fibers.total * words * 64, dtype=np.bool_)
        flags[computed(fibers.positions, sizes, words * 64, indices)] = True
        tbl = _words(flags)
        buffers = {
            "tbl": Stored(tbl),
            "top": Stored(_words(tbl != 0)),
            "likely": Stored.of(2 * np.count_nonzero(tbl)),
            "size": Stored.of(fibers.total),
        }
        if isinstance(self.child, Leaf):
            buffers["ready"] = Stored(np.array([self.child.fill]))
        return buffers, Fibers(fibers.total * n, computed(fibers.positions, sizes, n, indices))

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        words = -(-n // 64)
        places = computed(positions, np.full(len(positions), words), words, np.tile(np.arange(words), len(positions)))
        found = find("tbl").take(places).astype("<i8")
        if ((find("top").take(places // 64) >> places % 64 & 1) != (found != 0)).any():
            raise Unusual
        filled = np.flatnonzero(found)
        k, bit = np.nonzero(np.unpackbits(found[filled].view(np.uint8), bitorder="little").reshape(-1, 64))
        fiber, word = np.divmod(filled[k], max(words, 1))
        sizes, indices = np.bincount(fiber, minlength=len(positions)), word * 64 + bit
        return Children(sizes, indices, computed(positions, sizes, n, indices))

    def disorder(self, find: Find, n: int, positions: np.ndarray) -> str | None:
        words, fibers = max(-(-n // 64), 1), find("size").number
        if len(positions) and positions.max() >= fibers:
            return f"fiber {positions.max() + 1}: the level counts {fibers}"
        if len(positions) and (find("flat").number or len(_used_cells(find("flag")))):
            return "fiber 1: the summaries of what was written are not made"
        written, noted = _used_cells(find("tbl")), _used_cells(find("top"))
        bits = np.unpackbits(find("top").take(noted).astype("<i8").view(np.uint8), bitorder="little")
        t, bit = np.nonzero(bits.reshape(-1, 64))
        summary = noted[t] * 64 + bit
        for what, bad in (
            ("was written, but there is no such fiber", written[~np.isin(written // words, positions)]),
            ("was written, and the summary leaves it out", np.setdiff1d(written, summary)),
            ("is in the summary, and was not written", np.setdiff1d(summary, written)),
        ):
            if len(bad):
                fiber, word = divmod(int(bad[0]), words)
                return f"fiber {fiber + 1}, indices from {word * 64 + 1} on: a word of them {what}"
        return None


def _used_cells(stored: Stored) -> np.ndarray:
    """The cells that are not 0, counted from 0."""
    k = np.flatnonzero(stored.values + stored.shift)
    return k if stored.at is None else stored.at[k] - 1


def _words(flags: np.ndarray) -> np.ndarray:
    """Words of 64 bits; the first flag is the lowest bit of the first word."""
    packed = np.packbits(np.pad(flags, (0, -len(flags) % 64)), bitorder="little")
    return packed.view("<i8").astype(np.int64, copy=False)
