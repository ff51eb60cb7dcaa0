"""The base of every format: the classes of levels, and texts that several formats share."""

from wingspan.buffers.discipline import EVERY, NONE, Dependence, Discipline, Support
from wingspan.buffers.level import (
    COUNTS,
    FIBER,
    LISTS,
    Buffer,
    Cost,
    Gated,
    IndexList,
    Leaf,
    Level,
    Modifier,
    RunEnds,
    Storage,
    WordCursor,
)
from wingspan.buffers.stored import (
    Below,
    Buffers,
    Children,
    Fibers,
    Find,
    Inside,
    Stored,
    Unusual,
    computed,
    consecutive,
    differ,
    narrow,
)
from wingspan.buffers.tower import MOST_AXES, OPEN, Tower

__all__ = [
    "COUNTS",
    "EVERY",
    "FIBER",
    "GROUPS",
    "LISTS",
    "MOST_AXES",
    "NONE",
    "OPEN",
    "THREADS",
    "Below",
    "Buffer",
    "Buffers",
    "Children",
    "Cost",
    "Dependence",
    "Discipline",
    "Fibers",
    "Find",
    "Gated",
    "IndexList",
    "Inside",
    "Leaf",
    "Level",
    "Modifier",
    "RunEnds",
    "Storage",
    "Stored",
    "Support",
    "Tower",
    "Unusual",
    "WordCursor",
    "computed",
    "consecutive",
    "differ",
    "narrow",
]

GROUPS = """
    def joins(global_, k):
        before = 0
        if k > 1:
            before = global_[k - 1]
        return before == global_[k]
    def next_group(global_, k):
        b = k + 1
        while lvl.joins(global_, b):
            b = b + 1
        return b
    def number_groups(global_, m):
        sums[1] = 1
        for k in parallel(2, m):
            if lvl.joins(global_, k):
                sums[k] = 0
            else:
                sums[k] = 1
        lvl.accumulate(sums, m)
        for k in parallel(1, m):
            if not lvl.joins(global_, k):
                first[sums[k]] = k
        groups = 0
        if m > 0:
            groups = sums[m]
        return groups
    def accumulate(buf, cells):
        pieces = (cells + grain - 1) // grain
        for j in parallel(1, pieces, grain):
            k = (j - 1) * grain + 1
            sum = buf[k]
            while k < cells and k < j * grain:
                k = k + 1
                sum = sum + buf[k]
                buf[k] = sum
        j = 2
        while j <= pieces:
            k = j * grain if j < pieces else cells
            buf[k] = buf[(j - 1) * grain] + buf[k]
            j = j + 1
        for j in parallel(2, pieces, grain):
            k = (j - 1) * grain
            sum = buf[k]
            while k + 1 < cells and k + 1 < j * grain:
                k = k + 1
                buf[k] = sum + buf[k]
"""
"""Operations that are common to levels that merge copies.

joins(global_, k): whether fiber k is merged into the same fiber as the one before it. next_group(global_, k): the
first fiber after k that is not. number_groups(global_, m): how many fibers m fibers are merged into; fiber first[g] is
the first one of group g. accumulate(buf, cells): replaces every cell by the sum of the cells up to it.
"""

THREADS = """
    def checkout():
        t = thread()
        if t > 0:
            child[t].thaw(used[t])
            child[t].checkout()
    def commit():
        t = thread()
        if t > 0:
            child[t].commit()
            child[t].freeze(used[t])
"""
"""The common part of gated levels: thread t has used[t] fibers in child[t], which is frozen while it does not run."""
