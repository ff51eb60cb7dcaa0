"""The contents of memory: the buffers of each level, and the values of names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.buffers.frames import Cell
from wingspan.buffers.heap import Heap
from wingspan.lang import ir
from wingspan.lang.printer import copy, term
from wingspan.levels import Tower
from wingspan.semantics.config import Config, Cursor, Dirty, ProgramState
from wingspan.semantics.memory import stores


@dataclass(frozen=True)
class BufferContents:
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


def show_contents(value: Any) -> str:
    """The contents of a cell, as text. A lock that is taken holds the path of a task."""
    return f"task {value or '0'}" if isinstance(value, str) else term(value)


def buffers(heap: Heap, towers: Mapping[str, Tower]) -> list[BufferContents]:
    """All buffers in use, by tensor, from the root to the leaf."""
    found: defaultdict[tuple[str, int, ir.Instance, str], dict[int, Cell]] = defaultdict(dict)
    for cell in heap:
        found[cell.tensor, cell.depth, cell.instance, cell.buffer][cell.offset] = cell
    made = []
    for (tensor, depth, instance, name), cells in sorted(found.items(), key=lambda each: each[0]):
        tower = towers[tensor]
        level = tower.numbers[depth], tower.levels[depth].name
        made.append(BufferContents(tensor, *level, name, instance, dict(sorted(cells.items()))))
    return made


def environment(state: ProgramState) -> list[tuple[str, dict[str, str]]]:
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
