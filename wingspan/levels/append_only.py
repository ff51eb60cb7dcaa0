"""Procedures shared by levels that append to one list, fiber by fiber, in the buffer language.

When frozen, fiber p has the entries ptr[p] ≤ q < ptr[p+1]. During updates, ptr[p+1] counts them, `fill` counts all
entries, and `prev` is the last fiber with entries: fibers are visited in ascending order, each once. A level defines ::

    stored(entries) → the number of children of that many entries

and calls `in_order(p)` before it updates a fiber, `after(last, i)` before it moves from one index to another, and
`append(p, last)` once it has made the entries up to the last one. When reading, `skip(c, i)`, from `skipping`, advances
c.q to the first entry that ends at i or later.
"""

from __future__ import annotations

from wingspan.base.libraries import np
from wingspan.buffers.stored import Find

APPENDED = """
    def declare():
        ptr[1] = 1
        fill[1] = 0
        prev[1] = 0
        child.declare()
    def assemble(p):
        ptr[p + 1] = 0
    def number(P):
        p = 1
        while p <= P:
            ptr[p + 1] = ptr[p] + ptr[p + 1]
            p = p + 1
    def thaw(P):
        entries = ptr[P + 1] - 1
        p = P
        while p >= 1:
            ptr[p + 1] = ptr[p + 1] - ptr[p]
            p = p - 1
        child.thaw(lvl.stored(entries))
    def in_order(p):
        before = prev[1]
        check(before < p, "fibers are appended in ascending order, each once, but {p} comes after {before}")
    def after(last, i):
        check(last < i, "indices are appended in ascending order, but {i} comes after {last}")
    def append(p, last):
        before = fill[1]
        if before < last:
            ptr[p + 1] = ptr[p + 1] + last - before
            fill[1] = last
            prev[1] = p
"""

FREEZE = """
    def freeze(P):
        lvl.number(P)
        child.freeze(lvl.stored(ptr[P + 1] - 1))
"""
"""Freezing, if nothing else is left to do."""

SUBTREES = """
    def equal(p, q):
        alike = True
        i = 1
        a = ptr[p]
        b = ptr[q]
        a_end = ptr[p + 1]
        b_end = ptr[q + 1]
        while alike and (a < a_end or b < b_end):
            a_first = n + 1
            a_last = n
            if a < a_end:
                a_first = lvl.entry(p, a)
                a_last = lvl.last(a)
            b_first = n + 1
            b_last = n
            if b < b_end:
                b_first = lvl.entry(q, b)
                b_last = lvl.last(b)
            a_first = i if a_first < i else a_first
            b_first = i if b_first < i else b_first
            i = a_last if a_last < b_last else b_last
            if a_first == b_first:
                alike = child.equal(a, b)
            else:
                if a_first < b_first:
                    alike = child.is_fill(a)
                    i = b_first - 1 if b_first <= a_last else a_last
                else:
                    alike = child.is_fill(b)
                    i = a_first - 1 if a_first <= b_last else b_last
            if a < a_end and a_last <= i:
                a = a + 1
            if b < b_end and b_last <= i:
                b = b + 1
            i = i + 1
        return alike
    def is_fill(p):
        idle = True
        k = ptr[p]
        end = ptr[p + 1]
        while k < end and idle:
            idle = child.is_fill(k)
            k = k + 1
        return idle
    def copy(p, q):
        k = ptr[p]
        end = ptr[p + 1]
        e = ptr[q]
        while k < end:
            lvl.move(k, e)
            k = k + 1
            e = e + 1
        ptr[q + 1] = e
    def truncate(P):
        entries = ptr[P + 1] - 1
        p = 0
        if entries > 0:
            p = P
            while ptr[p] > entries:
                p = p - 1
        fill[1] = entries
        prev[1] = p
        child.truncate(entries)
"""
"""Frozen fibers that may be below runs: they are compared, moved to the front, and cut off. An entry has one child.

The fibers before one that is moved are where they are to be. A level also defines ::

    entry(p, k) → first index of entry k of fiber p                  last(k) → its last index
    move(k, e): entry k becomes entry e, at k or before it, and so does what is below
"""

COMPLETE = """\
    def complete(global_, m, entries):
        fill[1] = entries
        end = sums[m + 1] - m + 1
        globals[end] = entries + 1
        for k in parallel(1, m):
            if not lvl.joins(global_, k):
                b = lvl.next_group(global_, k)
                low = sums[k] - k + 2
                high = sums[b] - b + 2
                if low < high:
                    ptr[global_[k] + 1] = globals[high] - globals[low]
                    if high == end:
                        prev[1] = global_[k]
"""
"""The end of coalesce for lists: sets the range of entries of each fiber. A level may add to it."""


def skipping(ends: str, entry: str = "q", goal: str = "i") -> str:
    """`skip`, a galloping search, given the buffer that holds the last index of each entry.

    It advances c.`entry` to the first entry that ends at `goal` or later.
    """
    return f"""
    def skip(c, i):
        high = c.end
        step = 1
        near = c.{entry}
        while near < high:
            if {ends}[near] < {goal}:
                c.{entry} = near + 1
                near = near + step
                step = step + step
            else:
                high = near
        while c.{entry} < high:
            middle = (c.{entry} + high) // 2
            if {ends}[middle] < {goal}:
                c.{entry} = middle + 1
            else:
                high = middle
"""


def count_mistake(find: Find, positions: np.ndarray, sizes: np.ndarray) -> str | None:
    """The mistake in `fill` and `prev`, if these fibers have `sizes` entries each and all others none."""
    entries, counted = int(sizes.sum()), find("fill").number
    if counted != entries:
        return f"entry {entries}: it is the last one, and the level counts {counted}"
    last, noted = int(positions[sizes > 0].max(initial=-1)) + 1, find("prev").number
    return f"fiber {last}: it is the last one with entries, and the level notes {noted}" if noted != last else None
