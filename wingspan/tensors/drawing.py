"""A tensor as text: its fibertree, or the rows of a matrix that stores all of its elements."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from wingspan.lang import ir
from wingspan.lang.algebra import exact, show
from wingspan.lang.ir import Instance
from wingspan.lang.words import equal_or_nan
from wingspan.levels import Discipline, Tower
from wingspan.tensors.cells import CellReader

MOST = 12
"""children drawn of one fiber, and rows and columns of a matrix"""
GRID = 76
"""columns of a terminal that the elements of a matrix take"""


def drawing(tower: Tower, fill: ir.Value, reader: CellReader) -> str:
    """The fibertree, a line for each fiber and each stored element."""
    title = str(tower)
    if tower.rank == 0:
        return f"{title}: {show(reader.value(1, ()))}"
    title += "  " + "×".join(map(str, tower.shape))
    if not equal_or_nan(fill, exact(tower.fill)):
        title += f"  fill {show(fill)}"
    dense = tower.rank == 2 and all(tower.levels[tower.depths[number]].lookup for number in (2, 3))
    if dense and all(tower.shape) and not any(level.discipline is Discipline.CLAIM for level in tower.levels):
        return "\n".join([title, *_grid(reader, *tower.shape)])
    return "\n".join([title, *_branches(reader, tower.rank + 1, 1, (), ())])


def _grid(reader: CellReader, rows: int, columns: int) -> list[str]:
    """The elements of a matrix that stores all of them, a line for each row; as many as are read at a glance."""
    table: list[list[str]] = [[] for _ in range(min(rows, MOST))]
    wide = 0
    for fiber in islice(reader.stretches(3, 1, ()), MOST):
        below = islice(reader.stretches(2, fiber[2], fiber[3]), MOST)
        column = [show(reader.value(child, inside)) for _, _, child, inside in below]
        column += ["·"] * (len(table) - len(column))  # a fiber that its level does not hold
        room = max(map(len, column), default=0)
        wide += 2 + room
        if wide > GRID:
            break
        for line, text in zip(table, column, strict=True):
            line.append(f"  {text:>{room}}")
    drawn = len(table[0])
    lines = ["".join(line) + ("  …" if drawn < columns else "") for line in table]
    more = {"row": rows - len(table), "column": columns - drawn}
    left = [f"{n} more {noun}{'s' * (n > 1)}" for noun, n in more.items() if n]
    return [*lines, f"  … {' and '.join(left)}"] if left else lines


def _branches(reader: CellReader, number: int, position: int, instance: Instance, outer: tuple[str, ...]) -> list[str]:
    children = reader.stretches(number, position, instance)
    drawn = list(islice(children, MOST))
    modifiers = (reader.tower.levels[depth] for depth in reader.tower.modifiers(number - 1))
    nothing = "unclaimed" if any(level.discipline is Discipline.CLAIM for level in modifiers) else "empty"
    more = _remaining_children(reader.tower, number, children)
    lines: list[str] = []
    for k, (first, stop, child, inside) in enumerate(drawn):
        last = k == len(drawn) - 1 and not more
        index = f"{first}" if first == stop else f"{first}:{stop}"
        below: list[str] = []
        if number == 2:
            index = index if first == stop else f"[{index}]"
            text = f"{index}: {show(reader.value(child, inside))}" if child else f"{index}: {nothing}"
        else:
            text = "[" + ", ".join([":"] * (number - 2) + [index, *outer]) + "]"
            text += _owner(reader.tower, len(instance), inside) if child else f"  {nothing}"
            below = _branches(reader, number - 1, child, inside, (index, *outer)) if child else []
        lines.append(("└─ " if last else "├─ ") + text)
        lines += [("   " if last else "│  ") + line for line in below]
    return [*lines, f"└─ … {more} more"] if more else lines


def _owner(tower: Tower, outer: int, instance: Instance) -> str:
    """The threads that own the contents of an instance, those of its first `outer` keys apart."""
    keyed = [level for level in tower.levels if level.key]
    keys = [(level, key) for level, (_, key) in zip(keyed, instance, strict=False)]
    return "".join(f"  thread {key}" for level, key in keys[outer:] if level.discipline is Discipline.CLAIM)


def _remaining_children(tower: Tower, number: int, children: Iterator[Any]) -> int:
    """Count the remaining children; a level that computes their positions has as many as its extent says."""
    depth = tower.depths[number]
    if not tower.levels[depth].lookup:
        return sum(1 for _ in children)
    return max(tower.extent(depth) - MOST, 0) if next(children, None) is not None else 0
