"""Judges a log of the accesses of any parallel kernel: its races, and whether exploring a program predicts them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

from wingspan.accesses import ACCESSES, Log, LogAccess, Tick, read_log, spell_cell, split_cell
from wingspan.api.binding import Runnable, bind
from wingspan.api.exploring import explore
from wingspan.base.activity import activity
from wingspan.base.dataclass import dataclass
from wingspan.base.display import Reportable, Shown
from wingspan.base.errors import InputError
from wingspan.base.libraries import np
from wingspan.base.signals import Terminated
from wingspan.explorer.bounds import Bounds, Stopped
from wingspan.explorer.interrupts import Interrupts
from wingspan.explorer.machine import CellAccess
from wingspan.explorer.states import Status
from wingspan.explorer.verdict import StateGraph, Verdict
from wingspan.happens_before import Detector, LogRace
from wingspan.levels import Tower

DRAWN = 1_000
"""For programs with at most this many states, races are predicted cell by cell."""

Judging = Callable[[str, int, int], None]
"""The progress of `judge`: `reading` (lines), `judging` (accesses) or `exploring` (states), how many, and how many are
left or planned.
"""


@dataclass(frozen=True)
class Sighted:
    """A pair of statements whose accesses to a tensor race in a log, and whether that is predicted.

    If the log does not name places in the source, an operation stands for a statement. A pair of which some races are
    predicted and others are not is two.
    """

    race: LogRace
    """the first one, in the order of the log"""
    predicted: bool | None
    """None without a program, or if its search was cut short"""
    outside: bool = False
    """whether the tensor of the program has no such cell"""
    cells: tuple[str, ...] = ()
    """all cells on which the two race, that of `race` first"""


@dataclass(frozen=True)
class Beyond:
    """A cell in a log that the program's tensor does not have."""

    cell: str
    line: int
    """the line of the log that first names it"""
    extents: str
    """the tensor's extents"""


@dataclass(frozen=True, repr=False)
class Judged(Shown, Reportable):
    """The races of a log, beside those that exploring a program predicts."""

    accesses: int
    """the number of accesses in the log; 0 if a bound was reached while it was read"""
    tasks: int
    races: tuple[Sighted, ...]
    unseen: tuple[str, ...]
    """tensors and variables with predicted races, of which the log shows none"""
    verdict: Verdict | None
    """the verdict of exploring the program, if there is one, and if the log was examined to its end"""
    examined: int
    """the number of accesses that were examined: `accesses`, unless a bound or a signal ended that"""
    stopped_by: str | None = None
    """the bound or signal that ended the examination of the log"""
    beyond: tuple[Beyond, ...] = ()
    """the cells in the log that the tensors of the program do not have, each once"""
    log: str = "<log>"
    """the name of the log"""


def judge(
    log: Log | str | os.PathLike[str],
    program: Runnable | None = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    small: int | str | None = None,
    max_states: int = 100_000,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    progress: Judging | None = None,
    began: float | None = None,
) -> Judged:
    """Find the races of a log by happens-before, and compare them with those that exploring a program predicts.

    A cell may have its name in the explorer's reports (`c.val[3]`), with the number of the level if several levels of
    the tensor have such a buffer (`C.2.ptr[1]`), and an element of a tensor also that of its subscripts, `C[2, 1]`.
    Which cells race is known for cells named as in the reports, and for elements in dense levels. A race on another
    cell (`C[2, 1]` in a sparse level, or a buffer that the program does not have) is predicted if there is one anywhere
    in the tensor; so is every race if the program has more than `DRAWN` states. On a cell that its tensor cannot have,
    no race is predicted: subscripts and positions count from 1, up to the extents or the product of these.

    Args:
        log: the path of a log, or what `wingspan.accesses.parse_log` makes of its text.
        program, inputs, params, threads, small: as for `wingspan.api.bind`; what the logged kernel computes.
        max_states: bound of the search.
        max_seconds: bound of all that is done, in seconds from `began`, which is now by default.
        max_memory: bound of the memory of the process, in bytes.
        progress: called now and then with what is being done, how much is done, and how much is left.

    Returns:
        The races. If `stopped_by` names a bound, `interrupt` (Ctrl-C) or `signal`, they are those of the accesses
        examined so far, and are not compared with the program.

    Raises:
        InputError: the log cannot be read, has an element with more or fewer subscripts than its tensor has axes, or a
            buffer that could be that of several levels; or there are inputs, but no program.
    """
    if program is None and (inputs or params or threads is not None or small is not None):
        raise InputError("inputs, parameters and threads are those of a program", fix="give the program, too")
    bounds = Bounds(max_seconds, max_memory, began)
    bounds.finish()
    with activity("reading the log") as change:
        try:
            accesses = log if isinstance(log, Log) else read_log(log, _ticking("reading", bounds, progress))
        except Stopped as stopped:
            return Judged(0, 0, (), (), None, 0, stopped.bound, log=str(log))
        change("looking for races in the log")
        detector = Detector(accesses)
        stopped_by = _examine(detector, bounds, progress)
    found = tuple(detector.found.values())
    tasks = len(set(accesses.task))
    races = _by_statements(Sighted(race, None) for race in found)
    name = accesses.source.name
    made = Judged(len(accesses), tasks, races, (), None, detector.examined, stopped_by, log=name)
    if program is None or stopped_by:
        return made
    bound = bind(program, inputs=inputs, params=params, threads=threads, small=small)
    firsts = _first_accesses(accesses)
    for access in firsts:
        _require_level(access, bound.towers)
        _require_rank(access, bound.towers)
    search = partial(
        explore, bound, strategy="graph", max_seconds=max_seconds, max_memory=max_memory, began=bounds.began,
        progress=None if progress is None else partial(_show_status, progress),
    )  # fmt: skip
    verdict = search(graph=True, max_states=min(max_states, DRAWN)).verdict
    cells = _cells(bound.towers, verdict.graph) if verdict.complete else None
    if verdict.stopped_by == "max-states" and max_states > DRAWN:
        verdict = search(max_states=max_states).verdict
    beyond = {
        access.cell: Beyond(access.cell, access.span.line, extents)
        for access in firsts
        if (extents := _extents_without(access.cell, bound.towers)) and not (cells and access.cell in cells.accessed)
    }
    tensors = {race.tensor for race in verdict.races}

    def log_race(race: LogRace) -> Sighted:
        if race.cell in beyond:
            return Sighted(race, False, outside=True)
        sure = race.cell in cells.racing if cells and cells.has_one_name(race.cell) else race.tensor in tensors
        return Sighted(race, sure or (False if verdict.complete else None))

    unseen = tuple(sorted(tensors - {race.tensor for race in found}))
    races = _by_statements(map(log_race, found))
    return replace(made, races=races, unseen=unseen, verdict=verdict, beyond=tuple(beyond.values()))


def _by_statements(races: Iterable[Sighted]) -> tuple[Sighted, ...]:
    """Races on single cells, joined where the statements, the tensor and the prediction are the same."""
    groups: dict[tuple[str, frozenset[str], bool | None, bool], list[Sighted]] = {}
    for one in races:
        statements = frozenset((one.race.first.statement, one.race.second.statement))
        groups.setdefault((one.race.tensor, statements, one.predicted, one.outside), []).append(one)
    return tuple(
        replace(group[0], cells=tuple(dict.fromkeys(one.race.cell for one in group))) for group in groups.values()
    )


def _examine(detector: Detector, bounds: Bounds, progress: Judging | None) -> str | None:
    """Find races until the end of the log, a bound or a signal, which is returned by name. Ctrl-C is one."""
    interrupts, within = Interrupts(), _ticking("judging", bounds, progress)

    def tick(done: int, left: int) -> None:
        if interrupts.count:
            raise interrupts.error()
        within(done, left)

    try:
        with interrupts.counting():
            detector.run(tick)
    except Stopped as stopped:
        return stopped.bound
    except KeyboardInterrupt as interrupt:
        return "signal" if isinstance(interrupt, Terminated) else "interrupt"
    return None


def _ticking(doing: str, bounds: Bounds, progress: Judging | None) -> Tick:
    def tick(done: int, left: int) -> None:
        bounds.tick()
        if progress is not None:
            progress(doing, done, left)

    return tick


def _show_status(progress: Judging, status: Status) -> None:
    progress("exploring", status.explored, status.planned)


def _first_accesses(log: Log) -> list[LogAccess]:
    """The first access to each cell and the first of each operation to it, in the order of the log."""
    firsts: dict[tuple[int, int], int] = {}
    for number, key in enumerate(zip(log.cell, log.operation, strict=True)):
        firsts.setdefault(key, number)
    return [log[number] for number in firsts.values()]


@dataclass(frozen=True)
class PredictedCells:
    """The cells of a program by the names that a log may use: those that are accessed, and those with a race."""

    towers: Mapping[str, Tower]
    accessed: set[str]
    racing: set[str]

    def has_one_name(self, cell: str) -> bool:
        """Whether an access to the cell would have been found under this name: if not, it may have another one."""
        name, subscripts = split_cell(cell)
        if cell in self.accessed or (name in self.towers and _dense(self.towers[name], len(subscripts))):
            return True
        return bool(subscripts) and _is_buffer(name, self.towers)


def _cells(towers: Mapping[str, Tower], graph: StateGraph | None) -> PredictedCells:
    found = PredictedCells(towers, set(), set())
    touches: dict[tuple[int, str], tuple[CellAccess, ...]] = {}
    for edge in graph.edges if graph is not None else ():
        touches[edge.source, edge.task] = edge.touches
        found.accessed.update(name for touch in edge.touches for name in names(touch, towers))
    for number, node in enumerate(graph.nodes if graph is not None else ()):
        for one, other in node.races:
            pairs = ((x, y) for x in touches[number, one] for y in touches[number, other])
            for x in (x for x, y in pairs if x.races(y)):
                found.racing.update(names(x, towers))
    return found


def names(touch: CellAccess, towers: Mapping[str, Tower]) -> Iterator[str]:
    """The names that a log may use for a cell."""
    several = len(_buffers(f"{touch.tensor}.{touch.buffer}", towers)) > 1
    cell = str(touch.cell)
    yield cell.replace(".", f".{touch.level}.", 1) if several else cell
    tower = towers.get(touch.tensor)
    if tower is None or touch.level != 1 or touch.position is None or not _dense(tower, tower.rank):
        return
    at = np.unravel_index(touch.position - 1, tower.shape, order="F") if tower.rank else ()
    yield spell_cell(touch.tensor, *(int(i) + 1 for i in at))


def _dense(tower: Tower, subscripts: int) -> bool:
    """Whether subscripts name an element at a position that is known without running the program."""
    return subscripts == tower.rank and all(level.layout == "all" for level in tower.levels[:-1])


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


def _require_level(access: LogAccess, towers: Mapping[str, Tower]) -> None:
    """InputError if a cell has not the name of the one level whose buffer it is in."""
    name, _ = split_cell(access.cell)
    wanted = _buffers(name, towers)
    if wanted and not _is_buffer(name, towers):
        if len(wanted) > 1:
            fix = f"write {' or '.join(wanted)}, with the number of the level"
            no = "has the number of no such level" if name.count(".") > 1 else "may be a cell of several levels"
            raise InputError(f"{access.cell} {no} of {access.tensor}", access.span, fix=fix)
        message = f"{access.cell} has the number of a level, and only one level of {access.tensor} has such a buffer"
        raise InputError(message, access.span, fix=f"write {wanted[0]}")


def _require_rank(access: LogAccess, towers: Mapping[str, Tower]) -> None:
    if access.operation not in ACCESSES:
        return
    name, subscripts = split_cell(access.cell)
    if _is_buffer(name, towers) and len(subscripts) > 1:
        message = f"{name} is a buffer in the program, and has no cell {access.cell}"
        raise InputError(message, access.span, fix=f"write one subscript, {name}[1], or name an element")
    if name in towers and subscripts and len(subscripts) != towers[name].rank:
        message = f"{name} has rank {towers[name].rank} in the program, and no element {access.cell}"
        raise InputError(message, access.span, fix="write a subscript for each axis")


ROOM: dict[str, tuple[int, int]] = {
    "1": (0, 1), "positions": (1, 0), "positions + 1": (1, 1), "entries": (1, 0), "children": (1, 0),
}  # fmt: skip
"""The most cells of buffers of such lengths, whatever is stored: so many for each element, and some more."""


def _extents_without(cell: str, towers: Mapping[str, Tower]) -> str:
    """The extents of a cell's tensor, or the cells that its buffer can have, if these exclude it; else nothing."""
    name, subscripts = split_cell(cell)
    if name in towers:
        shape: tuple[int, ...] = towers[name].shape
        if len(subscripts) != len(shape) or all(1 <= i <= n for i, n in zip(subscripts, shape, strict=True)):
            return ""
        return f"{name} has extents {'×'.join(map(str, shape))}"
    if len(subscripts) != 1 or not _is_buffer(name, towers):
        return ""
    if subscripts[0] < 1:
        return f"{name} begins at position 1"
    tensor, *_, buffer = name.partition("⟨")[0].split(".")
    lengths = {each.length for level in towers[tensor].levels for each in level.buffers if each.name == buffer}
    if not lengths <= ROOM.keys():
        return ""
    elements = prod(max(n, 1) for n in towers[tensor].shape)
    most = max(each * elements + more for each, more in map(ROOM.__getitem__, lengths))
    return f"{name} has at most {most} cell{'' if most == 1 else 's'}" if subscripts[0] > most else ""
