"""SparseDict: a dictionary from positions and indices to children, with its keys in order. For outer products.

>>> from wingspan.tensors.tensor import Tensor
>>> print(Tensor.from_numpy("SparseDict(SparseDict(Element(0)))", [[0, 7], [0, 0], [0, 9]]))
SparseDict(SparseDict(Element(0)))  3×2
└─ [:, 2]
   ├─ 1: 7
   └─ 3: 9

Invariant: the key of index i in fiber p is (p - 1)·n + i. The dictionary tbl has the children 1 to fill, and each child
has its key: tbl[key[q]] = q. Children are made in the order in which they are first entered, and stay until the next
declaration. When frozen, srt lists the keys of the written children (set[q] = 1) in ascending order, and fiber p has
the entries ptr[p] ≤ k < ptr[p+1]. Fibers may be visited in any order, any number of times, even during another visit.
Several threads merge the copies, but one of them alone fills the dictionary: threads that insert keys in turns would
wait for each other for longer.
Stability ∅ ("for any other level format", section 3.1): all fibers share the dictionary, and making a child may move
its whole contents. So a lookup reads fill, which making a child writes.

| buffer | cell     | length              | meaning                                                        |
|--------|----------|---------------------|----------------------------------------------------------------|
| tbl    | position | positions · n       | the child of a key, 0 if it has none                           |
| key    | position | children            | the key of child q                                             |
| set    | flag     | children            | 1: something below child q has been written                    |
| fill   | count    | 1                   | the number of children                                         |
| srt    | position | entries             | frozen: the keys of the children that were written             |
| ptr    | position | positions + 1       | frozen: the first entry of fiber p                             |
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
    IndexList,
    Storage,
    Stored,
    computed,
)
from wingspan.levels.sorted_keys import KEYED, UNION, list_entries, pointers


@dataclass(frozen=True)
class SparseDict(Storage):
    """A dictionary, written in any order."""

    cost = Cost(visit=20.0, merged=40.0, sorted=20.0, remedy=6)
    cursor = ("k", "end", "key", "q", "seen")
    traversal = Traversal.ENTRIES
    order = UpdateOrder.ANY
    identity = Identity.NUMBERED
    listing = IndexList("srt", "k", "key", keyed=True)
    buffers = (
        Buffer("tbl", "position", "positions · n", "the child of a key, 0 if it has none", hashed=True),
        Buffer("key", "position", "children", "the key of child q", assigned=True),
        Buffer("set", "flag", "children", "1: something below child q has been written", assigned=True),
        Buffer("fill", "count", "1", "the number of children"),
        Buffer("srt", "position", "entries", "frozen: the keys of the children that were written", assigned=True),
        Buffer("ptr", "position", "positions + 1", "frozen: the first entry of fiber p"),
    )
    operations = (
        GROUPS
        + KEYED
        + UNION
        + """
    def declare():
        q = fill[1]
        while q >= 1:
            tbl[key[q]] = 0
            q = q - 1
        fill[1] = 0
        child.declare()
    def assemble(p):
        pass
    def freeze(P):
        children = fill[1]
        entries = 0
        q = 1
        while q <= children:
            if set[q] == 1:
                entries = entries + 1
                srt[entries] = key[q]
            q = q + 1
        lvl.split(P, entries)
        child.freeze(children)
    def thaw(P):
        child.thaw(fill[1])
    def below(p, k):
        return tbl[srt[k]]
    def put(p, i, q):
        key[q] = (p - 1) * n + i
        set[q] = 1
        child.assemble(q)
        return q
    def complete(global_, m, entries):
        fill[1] = entries
        q = 1
        while q <= entries:
            tbl[key[q]] = q
            q = q + 1

    def child(c, i):
        q = 0
        if c.k < c.end and c.key == (c.p - 1) * n + i:
            q = tbl[c.key]
        return q
    def enter(c, i):
        children = fill[1]
        c.q = tbl[(c.p - 1) * n + i]
        c.seen = 0
        if c.q == 0:
            c.q = children + 1
            fill[1] = c.q
            key[c.q] = (c.p - 1) * n + i
            set[c.q] = 0
            child.assemble(c.q)
            tbl[(c.p - 1) * n + i] = c.q
        else:
            c.seen = set[c.q]
        return c.q
    def exit(c, i):
        if c.seen == 0:
            set[c.q] = 1
    """
    )

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        keys, entries = computed(fibers.positions, sizes, n, indices), np.arange(len(indices))
        buffers = {
            "tbl": Stored(entries, 1, at=keys + 1),
            "key": Stored(keys, 1),
            "set": Stored(np.ones(len(keys), dtype=np.uint8)),
            "fill": Stored.of(len(keys)),
            "srt": Stored(keys, 1),
            "ptr": Stored(pointers(fibers, sizes), 1),
        }
        return buffers, Fibers(len(keys), entries)

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        sizes, entries = list_entries(find("ptr"), len(find("srt").values), positions)
        keys = find("srt").take(entries, 1)
        before = computed(positions, sizes, n, 0)
        return Children(sizes, keys - before, find("tbl").take(keys, 1))

    def disorder(self, find: Find, n: int, positions: np.ndarray) -> str | None:
        _, entries = list_entries(find("ptr"), len(find("srt").values), positions)
        counted, there = find("fill").number, len(find("key").values)
        if not 0 <= counted <= there:
            return f"entry {there}: it is the last one, and the level counts {counted}"
        children = np.arange(counted)
        keys, inside = find("key").take(children, 1), find("srt").take(entries, 1)
        written = keys[find("set").take(children) != 0]
        for what, bad in (
            ("leads to another child", keys[find("tbl").take(keys, 1) != children]),
            ("was written, and is not listed", np.setdiff1d(written, inside)),
            ("is listed, and was not written", np.setdiff1d(inside, written)),
        ):
            if len(bad):
                fiber, index = divmod(int(bad[0]), max(n, 1))
                return f"fiber {fiber + 1}, index {index + 1}: it {what}"
        return None
