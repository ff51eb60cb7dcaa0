"""Memory between runs: an engine keeps that of its last run for the next one, until it is released."""

from __future__ import annotations

from weakref import WeakValueDictionary

from wingspan.plan.layout import Bounds
from wingspan.runtime import _memory

PooledMemory = tuple[int, Bounds, _memory.Memory]
"""Memory, with the reservation and the sizes of buffers that it was made for."""


class MemoryPool:
    """The memory of an engine that no run uses."""

    def __init__(self) -> None:
        self._blocks: list[PooledMemory] = []
        _all[id(self)] = self

    def put(self, reservation: int, sizes: Bounds, memory: _memory.Memory) -> None:
        """Keep memory for the next run, or free it if there is some already."""
        if not self._blocks:
            memory.rest()
            self._blocks.append((reservation, sizes, memory))

    def take(self) -> PooledMemory | None:
        """The memory, which is then no longer spare; None if there is none."""
        try:
            return self._blocks.pop()
        except IndexError:
            return None


_all: WeakValueDictionary[int, MemoryPool] = WeakValueDictionary()


def release() -> int:
    """Free the memory that kernels and other runs keep for later runs. Results are not affected.

    Returns:
        The number of bytes freed.
    """
    released = 0
    for found in _all.valuerefs():
        while (pool := found()) is not None and (block := pool.take()) is not None:
            released += block[2].committed
    return released


_memory.reclaim_by(release)
