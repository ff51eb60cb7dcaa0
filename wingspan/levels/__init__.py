"""Level formats, each written once: its buffers, its invariant, its stability and its operations."""

from wingspan.buffers.tower import MOST_AXES
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder
from wingspan.levels.base import Buffer, Discipline, Leaf, Level, Modifier, Storage, Tower
from wingspan.levels.registry import REGISTRY, register, registered, resolve, unregister

__all__ = [
    "MOST_AXES",
    "REGISTRY",
    "Buffer",
    "Discipline",
    "Identity",
    "Leaf",
    "Level",
    "Modifier",
    "Storage",
    "Tower",
    "Traversal",
    "UpdateOrder",
    "register",
    "registered",
    "resolve",
    "unregister",
]
