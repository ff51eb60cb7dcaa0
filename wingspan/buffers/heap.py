"""The cells of all tensors of a program as one immutable value, for machines whose states are explored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import immutables

from wingspan.buffers.frames import Cell, LockHeld
from wingspan.buffers.level import FIBER
from wingspan.buffers.tower import Tower
from wingspan.lang import ir
from wingspan.lang.devices import Device, path_of
from wingspan.lang.ir import Instance
from wingspan.lang.printer import copy

Heap = immutables.Map[Cell, Any]
"""μ: every cell of every tensor. Cells never written read as zero."""


class PrivateCopy(NamedTuple):
    """The cells of an instance of a tensor, and of those inside of it."""

    tensor: str
    instance: Instance

    def includes(self, cell: Hashable) -> bool:
        """Whether a cell is one of them."""
        size = len(self.instance)
        return isinstance(cell, Cell) and cell.tensor == self.tensor and cell.instance[:size] == self.instance


def without(heap: Any, tensor: str, instance: Instance) -> Any:
    """A heap without a private copy: unreachable memory must not distinguish states."""
    copy = PrivateCopy(tensor, instance)
    if not isinstance(heap, immutables.Map):
        return heap.drop(copy)
    gone = [cell for cell in heap if copy.includes(cell)]
    with heap.mutate() as left:
        for cell in gone:
            del left[cell]
        heap = left.finish()
    return heap


def alone(cell: Cell, chain: Instance, owner: str = "") -> bool:
    """Whether no task but the one with this chain could access the cell while it runs.

    An instance whose keys name all of a task's ancestry is reached by this task alone, since tasks of one device under
    one parent differ in their thread id. So is a thread's own cell of a buffer, `owner` being the tag of its level's
    keys. But any task that loads an isolated fiber declares, thaws and freezes everything below, so keys from there on
    do not count.
    """
    keys = set(_thread_keys(cell.instance))
    if len(keys) == len(cell.instance) and owner:
        keys.add((owner, cell.offset))
    return keys.issuperset(chain)


def _thread_keys(instance: Instance) -> Instance:
    """The keys before the first isolated fiber."""
    for k, (tag, _) in enumerate(instance):
        if tag == FIBER:
            return instance[:k]
    return instance


def asymmetry(body: ir.Statement, towers: Mapping[str, Tower]) -> str:
    """The reason that exchanging the names of two tasks of a program has other effects; empty if there is none."""
    for tensor, tower in towers.items():
        for level in tower.levels:
            if level.device is not None:
                return f"a level {level.name} of {tensor} belongs to threads by their ids"
    loops = (node for node in body.walk() if isinstance(node, ir.Parallel))
    if any(isinstance(loop.device, Device) and loop.device.id == FIBER for loop in loops):
        return f"a device is called {FIBER}, as what tells isolated fibers apart"
    return ""


def split_by_task(heap: Heap) -> tuple[Heap, dict[str, frozenset[Hashable]]]:
    """Split a heap into the part of no task and that of each, by path, without the path: its copies and the locks it
    holds.

    For a program without `asymmetry`, so keys before an isolated fiber are those of a task.
    """
    own: dict[str, set[Hashable]] = defaultdict(set)
    chains: dict[Instance, Instance] = {}
    with heap.mutate() as left:
        for cell, value in heap.items():
            lock = type(value) is str
            instance = cell.instance
            if not instance and not lock:
                continue
            if instance not in chains:
                chains[instance] = _thread_keys(instance)
            chain = chains[instance]
            nameless = cell._replace(instance=instance[len(chain) :])
            if lock:
                own[value].add((len(chain), nameless))
                value = True
            if chain:
                own[path_of(chain)].add((nameless, value))
                del left[cell]
            elif lock:
                left[cell] = value
        shared = left.finish()
    return shared, {path: frozenset(cells) for path, cells in own.items()}


def split_cell(cell: Cell) -> tuple[str, Cell]:
    """The path of the task that has a cell for itself, and the cell without it; the path of the root if none does."""
    chain = _thread_keys(cell.instance)
    return path_of(chain), cell._replace(instance=cell.instance[len(chain) :])


def named_task(value: Any) -> str | None:
    """The path of a task, if that is what a cell holds: a lock that is taken holds that of its holder."""
    return value if type(value) is str else None


def anonymize(instance: Instance, chain: Instance) -> Instance:
    """Remove from an instance the names of the task with this chain, and of those that it descends from."""
    depth = 0
    while depth < min(len(instance), len(chain)) and instance[depth] == chain[depth]:
        depth += 1
    return (("", depth), *instance[depth:])


def lock(held: LockHeld, tower: Tower) -> str:
    """Name a lock in words."""
    number = tower.numbers[held.cell.depth]
    what = "position" if number == 1 else "fiber"
    return f"the lock of {what} {held.position} of {held.cell.tensor}, level {number}{copy(held.cell.instance)}"
