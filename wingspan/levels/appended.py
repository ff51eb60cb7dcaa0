"""What levels have in common that append to one list, fiber by fiber; as text in the buffer language.

When frozen, the entries of fiber p are at ptr[p] ≤ q < ptr[p+1]. While updating, ptr[p+1] counts them, `fill` counts
all, and `prev` is the last fiber that has some: fibers are visited in ascending order, each once. A level adds ::

    stored(entries) → how many children so many entries have

and calls `in_order(p)` before it updates a fiber, `after(last, i)` before it goes on from one index to another, and
`append(p, last)` when it has made the entries up to the last one. Reading, `skip(c, i)` moves c.q on to the first entry
that ends at i or later, by the ends that `skipping` names.
"""

from __future__ import annotations

import numpy as np

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
"""The end of coalesce where a list is made of the groups' entries: which are those of each fiber. A level may go on."""


def skipping(ends: str) -> str:
    """`skip` by the buffer that has the last index of each entry."""
    return f"""
    def skip(c, i):
        high = c.end
        step = 1
        near = c.q
        while near < high:
            if {ends}[near] < i:
                c.q = near + 1
                near = near + step
                step = step + step
            else:
                high = near
        while c.q < high:
            middle = (c.q + high) // 2
            if {ends}[middle] < i:
                c.q = middle + 1
            else:
                high = middle
"""


NUMBER: np.ndarray = np.zeros(1, dtype=np.int64)
"""The place of a buffer's only cell."""


def miscounted(find: Find, positions: np.ndarray, sizes: np.ndarray) -> str | None:
    """What `fill` and `prev` get wrong, if these fibers have so many entries each and no other one has any."""
    entries, counted = int(sizes.sum()), find("fill").take(NUMBER)[0]
    if counted != entries:
        return f"entry {entries}: it is the last one, and the level counts {counted}"
    last, noted = int(positions[sizes > 0].max(initial=-1)) + 1, find("prev").take(NUMBER)[0]
    return f"fiber {last}: it is the last one with entries, and the level notes {noted}" if noted != last else None
