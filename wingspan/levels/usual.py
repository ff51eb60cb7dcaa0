"""The formats that other packages choose, by what they are for. Programs and advice are written with these names."""

from __future__ import annotations

from wingspan.buffers.level import Leaf, Level, Storage
from wingspan.lang.ir import Value
from wingspan.lang.widths import Width
from wingspan.levels.atomic import Atomic
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element
from wingspan.levels.isolate import Isolate
from wingspan.levels.merge import Merge
from wingspan.levels.mutex import Mutex
from wingspan.levels.run_list import RunList
from wingspan.levels.shard import Shard
from wingspan.levels.sparse_byte_map import SparseByteMap
from wingspan.levels.sparse_coo import SparseCOO
from wingspan.levels.sparse_dict import SparseDict
from wingspan.levels.sparse_list import SparseList

LEAF = Element.__name__
"""Holds any elements."""
ATOMIC = Atomic.__name__
"""Holds them, and updates each in one step."""
ALL = Dense.__name__
"""Stores all indices."""
ASCENDING = SparseList.__name__
"""Stores a few, which are written in ascending order."""
ANY_ORDER = SparseDict.__name__
"""Stores a few, which are written in any order."""
BITMAP = SparseByteMap.__name__
"""Stores a few of a small extent, which are written in any order."""
RUNS = RunList.__name__
"""Stores runs of equal elements."""
COORDINATES = SparseCOO.__name__
"""Stores a few entries of several axes."""
UNGATED = (Isolate.__name__, Mutex.__name__)
GATED = (Shard.__name__, Merge.__name__)
"""The modifiers to try, of no device and of one."""


def leaf(fill: Value, width: Width) -> Leaf:
    """A leaf for elements of a width."""
    return Element(fill, width)


def vector(fill: Value, width: Width) -> Storage:
    """The levels of a vector that stores all its elements."""
    return Dense(leaf(fill, width))


def dense(rank: int, fill: Value, width: Width) -> Level:
    """The levels of a tensor that stores all its elements."""
    made: Level = leaf(fill, width)
    for _ in range(rank):
        made = Dense(made)
    return made
