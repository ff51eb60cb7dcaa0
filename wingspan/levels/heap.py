"""The cells of all tensors of a program as one immutable value, for machines whose states are explored."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import immutables

from wingspan.lang.ir import Instance
from wingspan.lang.printer import copy
from wingspan.levels.base import FIBER, Tower
from wingspan.levels.frames import Cell, Held

Heap = immutables.Map[Cell, Any]
"""μ: every cell of every tensor. Cells never written read as zero."""


def without(heap: Heap, tensor: str, instance: Instance) -> Heap:
    """The heap without a private copy: memory that nothing can reach must not tell states apart."""
    size = len(instance)
    gone = [cell for cell in heap if cell.tensor == tensor and cell.instance[:size] == instance]
    with heap.mutate() as left:
        for cell in gone:
            del left[cell]
        heap = left.finish()
    return heap


def alone(cell: Cell, chain: Instance, owner: str = "") -> bool:
    """Whether no task but the one with this chain could touch the cell while it runs.

    An instance whose keys name all of a task's ancestry is reached by this task alone: tasks of one device under one
    parent differ in their thread id; and so is a thread's own cell of a buffer, `owner` being the tag of its level's
    keys. But whoever loads an isolated fiber declares, thaws and freezes all that is below, so keys from there on do
    not count.
    """
    keys = set(takewhile(lambda key: key[0] != FIBER, cell.instance))
    if len(keys) == len(cell.instance) and owner:
        keys.add((owner, cell.offset))
    return keys.issuperset(chain)


def lock(held: Held, tower: Tower) -> str:
    """What a task waits for, in words."""
    number = tower.numbers[held.cell.depth]
    what = "position" if number == 1 else "fiber"
    return f"the lock of {what} {held.position} of {held.cell.tensor}, level {number}{copy(held.cell.instance)}"
