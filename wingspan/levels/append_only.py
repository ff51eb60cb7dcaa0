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
    def freeze(P):
        p = 1
        while p <= P:
            ptr[p + 1] = ptr[p] + ptr[p + 1]
            p = p + 1
        child.freeze(lvl.stored(ptr[P + 1] - 1))
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
