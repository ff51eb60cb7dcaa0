"""Procedures shared by levels of stretches of indices: runs of one child, and blocks of children.

`SEGMENTS` coalesces copies of such levels, dealt in pieces as `sorted_keys` says, by the operations ::

    entry(p, k) → first index of stretch k of fiber p          last(k) → its last one
    below(k, i) → the child of index i in stretch k            width(indices) → the number of their children
    put(k, i, last, q): stretch k is i to last, and its last child is q
    comparable() → whether stretches can be joined at once, rather than when they are frozen
    follows(e, k) → whether stretch k of the same fiber continues stretch e before it, so that both can be one
    prolong(e, k): stretch e takes in k                        move(k, e): stretch k becomes stretch e

A *segment* lies between two indices where a stretch of some copy begins or ends, so each copy has all of it or none.
Each segment becomes a stretch, with the children of these copies below; a piece may also begin or end within one. Once
the children are merged, `join` makes the stretches maximal: `place` puts stretch k after the `made` ones, of which
those after `before` are of its fiber, or into the last of these if it may join that.
"""

from __future__ import annotations

from functools import cached_property

from wingspan.base.libraries import np
from wingspan.levels.append_only import SUBTREES
from wingspan.levels.base import GROUPS, Below, Children, Unusual, differ
from wingspan.levels.sorted_keys import PIECES

HOLDS = """
    def holds(c, i):
        return 0 < c.i and c.i <= i and i <= c.last
"""
"""Whether i is in the rest, from c.i on, of the stretch that ends at c.last."""

WITH_GAPS = """
    def seek(c, i):
        if c.i < i:
            lvl.skip(c, i)
            lvl.load(c)
            c.i = i if c.i < i else c.i
    def index(c):
        return c.i if c.q < c.end else 0
    def stop(c):
        return c.last
    def next(c, i):
        if c.q < c.end and c.i <= i:
            if i < c.last:
                c.i = i + 1
            else:
                c.q = c.q + 1
                lvl.load(c)
"""
"""A cursor through stretches with gaps in between: c.i to c.last is the rest of stretch c.q, and `load` reads both."""

RUNS = (
    SUBTREES
    + """
    def freeze(P):
        lvl.number(P)
        child.freeze(ptr[P + 1] - 1)
        if not child.fixed:
            lvl.join_frozen(P)
    def join_frozen(P):
        made = 0
        k = 1
        p = 1
        while p <= P:
            before = made
            end = ptr[p + 1]
            while k < end:
                made = lvl.place(before, made, k, True)
                k = k + 1
            ptr[p + 1] = made + 1
            p = p + 1
        fill[1] = made
        child.truncate(made)
    def comparable():
        return child.fixed
    def stored(entries):
        return entries
    def last(k):
        return right[k]
    def below(k, i):
        return k
    def width(indices):
        return 1
"""
)
"""The common part of levels of runs: entry k is run k, which ends at right[k] and has child k.

Children of a fixed size are compared as they are written. Others are compared once they are frozen, and can be cut off
from the end of their buffers; until then, each index has a run of its own.
"""

SEGMENTS = (
    GROUPS
    + PIECES
    + """
    def coalesce(local, global_, task, m, P):
        pieces = lvl.deal(local, global_, task, m)
        across = 0
        j = 2
        while j <= pieces:
            starts[j] = starts[j] + across
            if least[j] > 1:
                a = first[j]
                across = across + lvl.next_group(global_, a) - a
            j = j + 1
        for j in parallel(1, pieces, grain):
            lvl.unite(local, global_, task, j, False)
        kids[1] = 0
        pairs[1] = 0
        j = 1
        while j <= pieces:
            news[j + 1] = news[j] + news[j + 1]
            kids[j + 1] = kids[j] + kids[j + 1]
            pairs[j + 1] = pairs[j] + pairs[j + 1]
            j = j + 1
        for j in parallel(1, pieces, grain):
            lvl.unite(local, global_, task, j, True)
        made = pairs[pieces + 1]
        globals[made + 1] = 0
        child.coalesce(locals, globals, tasks, made, P)
        lvl.join(global_, m)

    def unite(local, global_, task, j, writes):
        a = first[j]
        low = least[j]
        last = first[j + 1]
        stop = least[j + 1]
        base = starts[j]
        q = 0
        kid = 0
        made = 0
        if writes:
            q = news[j]
            kid = kids[j]
            made = pairs[j]
        while a < last or low < stop:
            g = global_[a]
            bound = n + 1 if a < last else stop
            there = base
            i = bound
            b = a
            while global_[b] == g:
                t = task[b]
                p = local[b]
                k = lvl[t].reach(p, low)
                if k < lvl[t].ptr[p + 1]:
                    x = lvl[t].entry(p, k)
                    x = low if x < low else x
                    if x < bound:
                        there = there + 1
                        members[there] = b
                        here[there] = k
                        ahead[there] = x
                        i = x if x < i else i
                b = b + 1
            while i < bound:
                following = bound
                covering = 0
                at = base
                while at < there:
                    at = at + 1
                    x = ahead[at]
                    if x == i:
                        covering = covering + 1
                        t = task[members[at]]
                        x = lvl[t].last(here[at]) + 1
                    following = x if x < following else following
                width = lvl.width(following - i)
                q = q + 1
                if writes:
                    lvl.put(q, i, following - 1, kid + width)
                    x = 0
                    while x < width:
                        child.assemble(kid + x + 1)
                        at = base
                        while at < there:
                            at = at + 1
                            if ahead[at] == i:
                                made = made + 1
                                t = task[members[at]]
                                locals[made] = lvl[t].below(here[at], i + x)
                                globals[made] = kid + x + 1
                                tasks[made] = t
                        x = x + 1
                else:
                    made = made + covering * width
                kid = kid + width
                after = bound
                at = base
                while at < there:
                    at = at + 1
                    x = ahead[at]
                    if x == i:
                        x = following
                        member = members[at]
                        t = task[member]
                        k = here[at]
                        if lvl[t].last(k) < following:
                            p = local[member]
                            x = bound
                            if k + 1 < lvl[t].ptr[p + 1]:
                                x = lvl[t].entry(p, k + 1)
                            here[at] = k + 1
                        ahead[at] = x
                    after = x if x < after else after
                i = after
            if a < last:
                if writes:
                    sums[b] = q
                a = b
                low = 1
            else:
                low = stop
        if not writes:
            news[j + 1] = q
            kids[j + 1] = kid
            pairs[j + 1] = made
    def reach(p, i):
        k = ptr[p]
        if i > 1:
            before = k
            k = lvl.find(p, i)
            if before < k:
                end = lvl.last(k - 1)
                if end >= i:
                    k = k - 1
        return k

    def place(before, made, k, joins):
        goes_on = False
        if joins:
            if before < made:
                goes_on = lvl.follows(made, k)
        e = made
        if goes_on:
            lvl.prolong(e, k)
        else:
            e = made + 1
            if e < k:
                lvl.move(k, e)
        return e
    def join(global_, m):
        made = 0
        a = 1
        while a <= m:
            b = lvl.next_group(global_, a)
            before = made
            k = sums[a]
            end = sums[b]
            while k < end:
                k = k + 1
                made = lvl.place(before, made, k, lvl.comparable())
            if before < made:
                ptr[global_[a] + 1] = made - before
                prev[1] = global_[a]
            a = b
        fill[1] = made
"""
)


def begins(sizes: np.ndarray, indices: np.ndarray, below: Below | None = None) -> np.ndarray:
    """The children that begin a stretch: all but those that continue the stretch of the index before them.

    `sizes` has the number of children of each fiber, `indices` all their indices.
    """
    new: np.ndarray = np.ones(len(indices), dtype=np.bool_)
    new[1:] = np.diff(indices) != 1
    if below is not None:
        values = below.elements()
        new[1:] |= differ(values[1:], values[:-1]).any(axis=1)
    new[firsts(sizes)] = True
    return new


def firsts(sizes: np.ndarray) -> np.ndarray:
    """The numbers of the first children of the fibers that have some."""
    begin: np.ndarray = np.cumsum(sizes) - sizes
    return begin[sizes > 0]


def sums(sizes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The sum of the children's values, per fiber."""
    total: np.ndarray = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=total[1:])
    last = np.cumsum(sizes)
    found: np.ndarray = total[last] - total[last - sizes]
    return found


def spread(
    sizes: np.ndarray, left: np.ndarray, right: np.ndarray, positions: np.ndarray, n: int, step: int = 0
) -> Children:
    """The children of fibers with `sizes` stretches, from `left` to `right`. Raises Unusual if these do not ascend.

    The first child of a stretch is at its position, each further child `step` positions later.
    """
    new: np.ndarray = np.ones(len(left), dtype=np.bool_)
    new[1:] = left[1:] > right[:-1]
    new[firsts(sizes)] = True
    if not (new & (left <= right) & (left >= 0) & (right < n)).all():
        raise Unusual
    return Spread(sizes, left, (right - left + 1).astype(np.int64), positions, step)


class Spread(Children):
    """The children of stretches. Indices and positions are made on demand."""

    def __init__(
        self, sizes: np.ndarray, left: np.ndarray, lengths: np.ndarray, positions: np.ndarray, step: int
    ) -> None:
        self.sizes = sums(sizes, lengths)
        self.left, self.lengths, self.starts, self.step = left, lengths, positions, step

    @cached_property
    def indices(self) -> np.ndarray:  # type: ignore[override]
        return self._spread(self.left, 1)

    @cached_property
    def positions(self) -> np.ndarray:  # type: ignore[override]
        return self._spread(self.starts, self.step)

    def _spread(self, first: np.ndarray, step: int) -> np.ndarray:
        """A number per child: the first one of its stretch, plus `step` for each child before it there."""
        before = np.cumsum(self.lengths) - self.lengths
        found: np.ndarray = np.repeat(first - step * before, self.lengths)
        if step:
            found += np.arange(len(found))
        return found


def disorder(
    positions: np.ndarray, sizes: np.ndarray, entries: np.ndarray, left: np.ndarray, right: np.ndarray, gap: int
) -> str | None:
    """The mistake in the stretches of some fibers, counted from 0. Two of them are at least `gap` indices apart."""
    follows: np.ndarray = np.ones(len(left), dtype=np.bool_)
    follows[firsts(sizes)] = False
    after: np.ndarray = np.zeros(len(left), dtype=np.bool_)
    after[1:] = left[1:] <= right[:-1] + gap
    for bad, what in (
        (left > right, "it ends before it begins"),
        (follows & after, "it overlaps the one before it" if gap == 0 else "it touches the one before it"),
    ):
        if bad.any():
            k = int(np.argmax(bad))
            fiber = int(np.searchsorted(np.cumsum(sizes), k, side="right"))
            return f"fiber {positions[fiber] + 1}, entry {entries[k] + 1}: {what}"
    return None
