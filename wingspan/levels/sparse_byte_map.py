"""SparseByteMap: a flag for every index, and a list of the flags that are set. The workspace of Gustavson's algorithm.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("SparseByteMap(Element(0))", [0, 4, 0, 9]))
SparseByteMap(Element(0))  4
├─ 2: 4
└─ 4: 9

Invariant: the child of index i in fiber p is at q = (p - 1)·n + i, as in Dense. tbl[q] ≠ 0 exactly for the q in
srt[1..fill], each there once; when frozen these are the written ones (tbl[q] = 2), srt ascends, and the entries of
fiber p are at ptr[p] ≤ k < ptr[p+1]. No flag is set before the first declaration, and declaring clears those that are.
A leaf below is assembled when it is first entered, other levels with the fiber. Fibers may be visited in any order, any
number of times, also while a visit goes on.
Stability ∅ ("for any other level format", section 3.1): fill and srt are shared by all fibers.

| buffer | cell     | length        | meaning                                                          |
|--------|----------|---------------|------------------------------------------------------------------|
| tbl    | flag     | positions · n | 0: the child at q is not there, 1: it is assembled, 2: written   |
| srt    | position | entries       | the children that are there                                      |
| ptr    | position | positions + 1 | frozen: the first entry of fiber p                               |
| fill   | count    | 1             | the number of entries                                            |
"""

from __future__ import annotations

from dataclasses import dataclass

from wingspan.levels.base import GROUPS, Buffer, Storage
from wingspan.levels.sorted_keys import KEYED, UNION


@dataclass(frozen=True)
class SparseByteMap(Storage):
    """A flag for every index, written in any order."""

    cursor = ("k", "end", "key", "q", "seen")
    assembles = True
    full = True
    buffers = (
        Buffer("tbl", "flag", "positions · n", "0: the child at q is not there, 1: it is assembled, 2: written"),
        Buffer("srt", "position", "entries", "the children that are there"),
        Buffer("ptr", "position", "positions + 1", "frozen: the first entry of fiber p"),
        Buffer("fill", "count", "1", "the number of entries"),
    )
    operations = (
        GROUPS
        + KEYED
        + UNION
        + """
    def declare():
        k = fill[1]
        while k >= 1:
            tbl[srt[k]] = 0
            k = k - 1
        fill[1] = 0
        child.declare()
    def assemble(p):
        if not child.leaf:
            q = (p - 1) * n + 1
            while q <= p * n:
                child.assemble(q)
                q = q + 1
    def freeze(P):
        there = fill[1]
        entries = 0
        k = 1
        while k <= there:
            q = srt[k]
            if tbl[q] == 2:
                entries = entries + 1
                if entries < k:
                    srt[entries] = q
            else:
                tbl[q] = 0
            k = k + 1
        if entries < there:
            fill[1] = entries
        lvl.split(P, entries)
        child.freeze(P * n)
    def thaw(P):
        child.thaw(P * n)
    def below(p, k):
        return srt[k]
    def put(p, i, q):
        new = (p - 1) * n + i
        tbl[new] = 2
        srt[q] = new
        if child.leaf:
            child.assemble(new)
        return new
    def complete(global_, m, entries):
        fill[1] = entries

    def child(c, i):
        return c.key if lvl.index(c) == i else 0
    def enter(c, i):
        c.q = (c.p - 1) * n + i
        c.seen = tbl[c.q]
        if c.seen == 0:
            tbl[c.q] = 1
            new = fill[1] + 1
            fill[1] = new
            srt[new] = c.q
            if child.leaf:
                child.assemble(c.q)
        return c.q
    def exit(c, i):
        if c.seen < 2:
            tbl[c.q] = 2
    """
    )
