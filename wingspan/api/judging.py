"""Judges a log of the accesses of any parallel kernel: its races, and whether exploring a program predicts them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from wingspan.accesses import ACCESSES, Access, parts, races, read_log, spelled
from wingspan.api.binding import Runnable, bind
from wingspan.api.exploring import explore
from wingspan.errors import InputError
from wingspan.explorer.machine import Touch
from wingspan.explorer.verdict import Race, StateGraph, Verdict
from wingspan.levels import Tower
from wingspan.shown import Shown

DRAWN = 1_000
"""For programs with at most this many states, races are predicted cell by cell."""


@dataclass(frozen=True)
class Sighted:
    """Two operations on a cell that race in a log, and whether that is predicted."""

    race: Race
    predicted: bool | None
    """None without a program, or if its search was cut short"""
    outside: bool = False
    """whether the cell lies outside of the extents of its tensor in the program"""


@dataclass(frozen=True, repr=False)
class Judged(Shown):
    """The races of a log, beside those that exploring a program predicts."""

    accesses: int
    tasks: int
    races: tuple[Sighted, ...]
    unseen: tuple[str, ...]
    """tensors and variables with predicted races, of which the log shows none"""
    verdict: Verdict | None
    """what exploring the program finds, if there is one"""


def judge(
    log: Sequence[Access] | str | os.PathLike[str],
    program: Runnable | None = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    max_states: int = 100_000,
) -> Judged:
    """Find the races of a log by happens-before, and compare them with those that exploring a program predicts.

    A cell may have its name in the explorer's reports (`c.val[3]`), with the number of the level if several levels of
    the tensor have such a buffer (`C.2.ptr[1]`), and an element of a tensor also that of its subscripts, `C[2, 1]`.
    Which cells race is known for cells named as in the reports, and for elements in dense levels. A race on another
    cell (`C[2, 1]` in a sparse level, or a buffer that the program does not have) is predicted if there is one anywhere
    in the tensor; so is every race if the program has more than `DRAWN` states. Outside of the extents of a tensor, no
    race is predicted.

    Args:
        log: the path of a log, or what `wingspan.accesses.parse_log` makes of its text.
        program, inputs, params, threads: as for `wingspan.api.bind`; what the logged kernel computes.
        max_states: bound of the search.

    Raises:
        InputError: the log cannot be read, has an element with more or fewer subscripts than its tensor has axes, or a
            buffer that could be that of several levels; or there are inputs, but no program.
    """
    accesses = read_log(log) if isinstance(log, str | os.PathLike) else log
    found = races(accesses)
    tasks = len({access.task for access in accesses})
    if program is None:
        if inputs or params or threads is not None:
            raise InputError("inputs, parameters and threads are those of a program", fix="give the program, too")
        return Judged(len(accesses), tasks, tuple(Sighted(race, None) for race in found), (), None)
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    for access in accesses:
        _require_level(access, bound.towers)
        _require_rank(access, bound.towers)
    verdict = explore(bound, strategy="graph", graph=True, max_states=min(max_states, DRAWN)).verdict
    cells = _cells(bound.towers, verdict.graph) if verdict.complete else None
    if not verdict.complete and max_states > DRAWN:
        verdict = explore(bound, strategy="graph", max_states=max_states).verdict
    tensors = {race.tensor for race in verdict.races}

    def sighted(race: Race) -> Sighted:
        if _outside(race.cell, bound.towers):
            return Sighted(race, False, outside=True)
        sure = race.cell in cells.racing if cells and cells.named(race.cell) else race.tensor in tensors
        return Sighted(race, sure or (False if verdict.complete else None))

    unseen = sorted(tensors - {race.tensor for race in found})
    return Judged(len(accesses), tasks, tuple(map(sighted, found)), tuple(unseen), verdict)


@dataclass(frozen=True)
class Cells:
    """The cells of a program by the names that a log may use: those that are accessed, and those with a race."""

    towers: Mapping[str, Tower]
    accessed: set[str]
    racing: set[str]

    def named(self, cell: str) -> bool:
        """Whether an access to the cell would have been found under this name: if not, it may have another one."""
        name, subscripts = parts(cell)
        if cell in self.accessed or (name in self.towers and _dense(self.towers[name], len(subscripts))):
            return True
        return bool(subscripts) and _is_buffer(name, self.towers)


def _cells(towers: Mapping[str, Tower], graph: StateGraph | None) -> Cells:
    found = Cells(towers, set(), set())
    touches: dict[tuple[int, str], tuple[Touch, ...]] = {}
    for edge in graph.edges if graph is not None else ():
        touches[edge.source, edge.task] = edge.touches
        found.accessed.update(name for touch in edge.touches for name in names(touch, towers))
    for number, node in enumerate(graph.nodes if graph is not None else ()):
        for one, other in node.races:
            pairs = ((x, y) for x in touches[number, one] for y in touches[number, other])
            for x in (x for x, y in pairs if x.races(y)):
                found.racing.update(names(x, towers))
    return found


def names(touch: Touch, towers: Mapping[str, Tower]) -> Iterator[str]:
    """The names that a log may use for a cell."""
    several = len(_buffers(f"{touch.tensor}.{touch.buffer}", towers)) > 1
    cell = str(touch.cell)
    yield cell.replace(".", f".{touch.level}.", 1) if several else cell
    tower = towers.get(touch.tensor)
    if tower is None or touch.level != 1 or touch.position is None or not _dense(tower, tower.rank):
        return
    at = np.unravel_index(touch.position - 1, tower.shape, order="F") if tower.rank else ()
    yield spelled(touch.tensor, *(int(i) + 1 for i in at))


def _dense(tower: Tower, subscripts: int) -> bool:
    """Whether subscripts name an element at a position that is known without running the program."""
    return subscripts == tower.rank and all(level.name == "Dense" for level in tower.levels[:-1])


def _is_buffer(name: str, towers: Mapping[str, Tower]) -> bool:
    """Whether a cell's name is that of a buffer of the program."""
    return name.partition("⟨")[0] in _buffers(name, towers)


def _buffers(name: str, towers: Mapping[str, Tower]) -> list[str]:
    """The buffers of a program that a name could mean: if several levels have such a one, with the number of each."""
    tensor, *_, buffer = name.partition("⟨")[0].split(".") if "." in name else (name, "")
    tower = towers.get(tensor)
    if tower is None:
        return []
    levels = zip(tower.numbers, tower.levels, strict=True)
    holders = {number for number, level in levels if any(buffer == each.name for each in level.buffers)}
    found = [f"{tensor}.{number}.{buffer}" for number in sorted(holders)]
    return found if len(found) > 1 else [f"{tensor}.{buffer}" for _ in found]


def _require_level(access: Access, towers: Mapping[str, Tower]) -> None:
    """InputError if a cell has not the name of the one level whose buffer it is in."""
    name, _ = parts(access.cell)
    wanted = _buffers(name, towers)
    if wanted and not _is_buffer(name, towers):
        if len(wanted) > 1:
            fix = f"write {' or '.join(wanted)}, with the number of the level"
            no = "has the number of no such level" if name.count(".") > 1 else "may be a cell of several levels"
            raise InputError(f"{access.cell} {no} of {access.tensor}", access.span, fix=fix)
        message = f"{access.cell} has the number of a level, and only one level of {access.tensor} has such a buffer"
        raise InputError(message, access.span, fix=f"write {wanted[0]}")


def _require_rank(access: Access, towers: Mapping[str, Tower]) -> None:
    if access.operation not in ACCESSES:
        return
    name, subscripts = parts(access.cell)
    if _is_buffer(name, towers) and len(subscripts) > 1:
        message = f"{name} is a buffer in the program, and has no cell {access.cell}"
        raise InputError(message, access.span, fix=f"write one subscript, {name}[1], or name an element")
    if name in towers and subscripts and len(subscripts) != towers[name].rank:
        message = f"{name} has rank {towers[name].rank} in the program, and no element {access.cell}"
        raise InputError(message, access.span, fix="write a subscript for each axis")


def _outside(cell: str, towers: Mapping[str, Tower]) -> bool:
    """Whether the subscripts of an element, or its position in dense levels, exceed the extents of the tensor."""
    name, subscripts = parts(cell)
    shape: Sequence[int] = towers[name].shape if name in towers else ()
    tower = towers.get(name.removesuffix(".val"))
    if name not in towers and tower is not None and _dense(tower, tower.rank):
        shape = (prod(tower.shape),)
    return len(subscripts) == len(shape) and not all(1 <= i <= n for i, n in zip(subscripts, shape, strict=True))
