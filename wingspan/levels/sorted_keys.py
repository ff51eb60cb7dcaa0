"""Procedures shared by levels that list entries in order, fiber by fiber, when frozen, in the buffer language.

In all of them fiber p has the entries ptr[p] ≤ k < ptr[p+1]. `KEYED` has the operations of levels that list the *keys*
of the entries, (p - 1)·n + i, in `srt`. `PIECES` and `UNION` coalesce copies of any of them, by the operations ::

    entry(p, k) → index of entry k of fiber p       below(p, k) → its child
    put(p, i, q) → child                            entry q is the one with index i of fiber p
    complete(global_, m, entries)                   all entries have been put

A fiber of the merged level is the union of a *group*: the fibers of the copies with the same number in `global_`. The
entries of all groups, ordered by group and then by index, are cut into pieces of `grain` entries; each fiber counts as
one additional entry. Piece j begins with index least[j] of the group of fiber first[j]; starts[j] entries of copies
come before it. A piece may be a part of one group or span several, so the work is even whatever the sizes are. The
pieces are united twice: the first time, each only counts its entries, which gives the places for the second time.
`pointers` and `listed` make and read ptr for `pack` and `unpack`.
"""

from __future__ import annotations

from wingspan.base.libraries import np
from wingspan.levels.append_only import skipping
from wingspan.levels.base import Fibers, Stored, Unusual, narrow

PIECES = """
    def deal(local, global_, task, m):
        sums[1] = 0
        for k in parallel(1, m):
            t = task[k]
            p = local[k]
            sums[k + 1] = lvl[t].ptr[p + 1] - lvl[t].ptr[p] + 1
        lvl.accumulate(sums, m + 1)
        pieces = sums[m + 1] // grain + 1
        first[1] = 1
        least[1] = 1
        starts[1] = 0
        news[1] = 0
        for j in parallel(2, pieces, grain):
            lvl.cut(local, global_, task, m, j)
        first[pieces + 1] = m + 1
        least[pieces + 1] = 1
        return pieces

    def cut(local, global_, task, m, j):
        before = (j - 1) * grain
        k = 1
        high = m
        while k < high:
            middle = (k + high + 1) // 2
            if sums[middle] <= before:
                k = middle
            else:
                high = middle - 1
        while lvl.joins(global_, k):
            k = k - 1
        rest = before - sums[k]
        i = 1
        high = n + 1
        while i < high:
            middle = (i + high) // 2
            if lvl.smaller(local, global_, task, k, middle) < rest:
                i = middle + 1
            else:
                high = middle
        if i > n:
            k = lvl.next_group(global_, k)
            i = 1
        start = sums[k] - k + 1
        if i > 1:
            start = start + lvl.smaller(local, global_, task, k, i)
        first[j] = k
        least[j] = i
        starts[j] = start

    def smaller(local, global_, task, a, i):
        g = global_[a]
        entries = 0
        k = a
        while global_[k] == g:
            t = task[k]
            p = local[k]
            entries = entries + lvl[t].find(p, i) - lvl[t].ptr[p]
            k = k + 1
        return entries

    def find(p, i):
        k = ptr[p]
        high = ptr[p + 1]
        while k < high:
            middle = (k + high) // 2
            if lvl.entry(p, middle) < i:
                k = middle + 1
            else:
                high = middle
        return k
"""
"""The division of the work: `deal` finds the pieces, and returns their number."""

UNION = (
    PIECES
    + """
    def coalesce(local, global_, task, m, P):
        pieces = lvl.deal(local, global_, task, m)
        made = sums[m + 1] - m
        for j in parallel(1, pieces - 1, grain):
            news[j + 1] = lvl.unite(local, global_, task, j, False)
        j = 2
        while j <= pieces:
            news[j] = news[j - 1] + news[j]
            j = j + 1
        for j in parallel(1, pieces, grain):
            entries = lvl.unite(local, global_, task, j, True)
            if j == pieces:
                news[pieces + 1] = entries
        lvl.complete(global_, m, news[pieces + 1])
        globals[made + 1] = 0
        child.coalesce(locals, globals, tasks, made, P)

    def unite(local, global_, task, j, writes):
        a = first[j]
        low = least[j]
        last = first[j + 1]
        stop = least[j + 1]
        made = starts[j]
        q = 0
        if writes:
            q = news[j]
        while a < last or low < stop:
            g = global_[a]
            bound = n + 1 if a < last else stop
            before = made
            there = made
            i = bound
            b = a
            while global_[b] == g:
                t = task[b]
                p = local[b]
                k = lvl[t].ptr[p]
                if low > 1:
                    k = lvl[t].find(p, low)
                if k < lvl[t].ptr[p + 1]:
                    x = lvl[t].entry(p, k)
                    if x < bound:
                        there = there + 1
                        members[there] = b
                        here[there] = k
                        ahead[there] = x
                        i = x if x < i else i
                b = b + 1
            while i < bound:
                q = q + 1
                new = q
                if writes:
                    new = lvl.put(g, i, q)
                following = bound
                at = before
                while at < there:
                    at = at + 1
                    x = ahead[at]
                    if x == i:
                        member = members[at]
                        t = task[member]
                        p = local[member]
                        k = here[at]
                        made = made + 1
                        if writes:
                            locals[made] = lvl[t].below(p, k)
                            globals[made] = new
                            tasks[made] = t
                        x = bound
                        if k + 1 < lvl[t].ptr[p + 1]:
                            x = lvl[t].entry(p, k + 1)
                        here[at] = k + 1
                        ahead[at] = x
                    following = x if x < following else following
                i = following
            if a < last:
                a = b
                low = 1
            else:
                low = stop
        return q
"""
)

KEYED = (
    skipping("srt", "k", "(c.p - 1) * n + i")
    + """
    def split(P, entries):
        sort(srt, entries)
        pieces = entries // grain + 1
        for j in parallel(1, pieces, grain):
            k = (j - 1) * grain + 1
            p = 0
            if j > 1:
                p = (srt[k - 1] - 1) // n + 1
            last = j * grain if j < pieces else entries
            while k <= last:
                key = srt[k]
                while p * n < key:
                    p = p + 1
                    ptr[p] = k
                k = k + 1
            if j == pieces:
                while p <= P:
                    p = p + 1
                    ptr[p] = k
    def entry(p, k):
        return srt[k] - (p - 1) * n

    def unfurl(c):
        c.k = ptr[c.p]
        c.end = ptr[c.p + 1]
        c.seen = 0
        c.q = 0
        c.key = 0
        if c.k < c.end:
            c.key = srt[c.k]
    def seek(c, i):
        lvl.skip(c, i)
        if c.k < c.end:
            c.key = srt[c.k]
    def index(c):
        return c.key - (c.p - 1) * n if c.k < c.end else 0
    def next(c, i):
        if lvl.index(c) == i:
            c.k = c.k + 1
            if c.k < c.end:
                c.key = srt[c.k]

    def open(c):
        c.k = 0
        c.end = 0
        c.key = 0
        c.q = 0
        c.seen = 0
    def close(c):
        pass
"""
)


def pointers(fibers: Fibers, sizes: np.ndarray) -> np.ndarray:
    """ptr, counted from 0, if the visited fibers have `sizes` entries each."""
    ptr: np.ndarray = np.zeros(fibers.total + 1, dtype=narrow(int(sizes.sum()) + 1))
    ptr[fibers.positions + 1] = sizes
    return np.cumsum(ptr, out=ptr)


def list_entries(ptr: Stored, most: int, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of entries of some fibers, and their places, counted from 0. Raises Unusual if there are too many."""
    first = ptr.take(positions, 1).astype(np.int64, copy=False)
    sizes = ptr.take(positions + 1, 1) - first
    return sizes, ranges_from(first, sizes, most)


def ranges_from(first: np.ndarray, sizes: np.ndarray, most: int) -> np.ndarray:
    """`sizes` consecutive numbers from each of the first ones on. Raises Unusual if the total exceeds `most`."""
    total = int(sizes.sum())
    if (first < 0).any() or (sizes < 0).any() or (sizes > most).any() or total > most:
        raise Unusual
    before = np.cumsum(sizes) - sizes
    if (first - before == first[:1]).all():
        return np.arange(int(first[0]), int(first[0]) + total) if len(first) else np.zeros(0, dtype=np.int64)
    numbers: np.ndarray = np.arange(total) + np.repeat(first - before, sizes)
    return numbers
