"""Memory to look at: the buffers of each level, and the fibertree of each tensor that has one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from wingspan.buffers.frames import Cell
from wingspan.buffers.heap import Heap
from wingspan.lang import ir
from wingspan.lang.printer import copy, term
from wingspan.levels import Tower
from wingspan.semantics.config import Config, Cursor, Dirty, Handle, State
from wingspan.semantics.memory import stores
from wingspan.tensors.cells import Reader

MOST = 64
"""A fiber has no more children here; `more` says that it has."""


@dataclass(frozen=True)
class Buffer:
    """One buffer of one copy of a level: its cells by offset."""

    tensor: str
    level: int
    level_name: str
    name: str
    instance: ir.Instance
    cells: Mapping[int, Cell]

    @property
    def title(self) -> str:
        """`c.val`, and which copy of the level it belongs to."""
        return f"{self.tensor}.{self.name}{copy(self.instance)}"


def held(value: Any) -> str:
    """What a cell holds. A lock that is taken holds the path of a task."""
    return f"task {value or '0'}" if isinstance(value, str) else term(value)


def buffers(heap: Heap, towers: Mapping[str, Tower]) -> list[Buffer]:
    """All buffers in use, by tensor, from the root to the leaf."""
    found: defaultdict[tuple[str, int, ir.Instance, str], dict[int, Cell]] = defaultdict(dict)
    for cell in heap:
        found[cell.tensor, cell.depth, cell.instance, cell.buffer][cell.offset] = cell
    made = []
    for (tensor, depth, instance, name), cells in sorted(found.items(), key=lambda each: each[0]):
        tower = towers[tensor]
        level = tower.numbers[depth], tower.levels[depth].name
        made.append(Buffer(tensor, *level, name, instance, dict(sorted(cells.items()))))
    return made


def environment(state: State) -> list[tuple[str, dict[str, str]]]:
    """For each task under way its own names, innermost first, with what they stand for: σ.

    Cursors and what rules note for themselves are in the configuration only.
    """

    def below(C: Config) -> list[tuple[str, dict[str, str]]]:
        names: dict[str, str] = {}
        for store in stores(C):
            for name, bound in store.items():
                if not isinstance(bound, Cursor) and not isinstance(name, Dirty):
                    names.setdefault(str(name), term(bound))
        spawned = C.s.contexts if isinstance(C.s, ir.Par) else ()
        return [(C.t.path, dict(sorted(names.items()))), *(each for child in spawned for each in below(child))]

    return below(state.root)


def fibertree(state: State, tensor: str, tower: Tower, number_of: Callable[[Cell], int]) -> dict[str, Any] | None:
    """The tensor from its root fiber down; None while its levels are being updated that keep no place for each index.

    A fiber is {level, position, children}, a child {first, last, fiber or value}: the indices that lead to it. A value
    that has a cell is with its number.
    """
    handle = state.root.σ.get(tensor)
    for store in stores(state.root):
        handle = handle or store.get(tensor)
    static = all(tower.levels[tower.depths[number]].lookup for number in range(2, tower.rank + 2))
    if not isinstance(handle, Handle) or handle.mode == "undeclared" or (handle.mode == "update" and not static):
        return None
    if any(level.modifier for level in tower.levels) and handle.mode == "update":
        return None
    values = {cell._replace(tensor=""): value for cell, value in state.heap.items() if cell.tensor == tensor}
    reader = Reader(tower, values, handle.fill)
    leaf = {
        (cell.instance, cell.offset): cell
        for cell in state.heap
        if cell.tensor == tensor and cell.depth == tower.depths[1] and cell.buffer == "val"
    }

    def at_leaf(position: int, instance: ir.Instance) -> dict[str, Any]:
        cell = leaf.get((instance, position))
        about = {} if cell is None else {"cell": number_of(cell)}
        return {"value": term(reader.value(position, instance)), **about}

    def fiber(number: int, position: int, instance: ir.Instance) -> dict[str, Any]:
        found = list(islice(reader.stretches(number, position, instance), MOST + 1))
        children = []
        for first, last, child, inside in found[:MOST]:
            about: dict[str, Any] = {"first": first, "last": last}
            if child == 0:
                about["value"] = None
            elif number == 2:
                about |= at_leaf(child, inside)
            else:
                about["fiber"] = fiber(number - 1, child, inside)
            children.append(about)
        made = {"level": number, "position": position, "children": children}
        return made | ({"more": True} if len(found) > MOST else {})

    if tower.rank == 0:
        return {"level": 1, "position": 1, "children": [], **at_leaf(1, ())}
    return fiber(tower.rank + 1, 1, ())
