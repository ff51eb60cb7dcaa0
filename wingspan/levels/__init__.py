"""Level formats, each written once: its buffers, its invariant, its stability and its operations."""

from wingspan.levels.base import Buffer, Leaf, Level, Modifier, Storage, Tower
from wingspan.levels.registry import REGISTRY, resolve

__all__ = ["REGISTRY", "Buffer", "Leaf", "Level", "Modifier", "Storage", "Tower", "resolve"]
