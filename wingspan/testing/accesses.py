"""Finds races in any parallel kernel, from a log of its accesses, by happens-before.

Each line of a log has a task, an operation and a cell, in the order of execution:

    1 read c[3]
    1.2 acquire lock
    0 join

Tasks are named by paths, as in interleavings, and `0` is the root task. An access of a task happens after all earlier
accesses of its ancestors and descendants. `0 join`, which names no cell, separates two parallel regions if the root
task accesses nothing between them. A release happens before the next acquisition of the same lock. Nothing else orders
tasks, as in `explore`: atomic accesses do not race with each other, and order nothing.

The operations are those of the explorer: `read`, `write`, `look` (an atomic read), `atomic` (an atomic update),
`acquire` and `release`. Log a flag that one task sets and another one waits for as a release and an acquisition.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wingspan import api
from wingspan.elaborate import Elaborated
from wingspan.errors import InputError, Mistakes, Source, Span
from wingspan.explorer.machine import Effect, Touch
from wingspan.explorer.races import OPERATIONS
from wingspan.explorer.verdict import AccessReport, Race, StateGraph, Verdict
from wingspan.levels import Tower
from wingspan.paths import named
from wingspan.reading import reading

HEADER = Path(__file__).with_name("accesses.h")
"""A C header that records such a log."""

DRAWN = 1_000
"""For programs with at most this many states, races are predicted cell by cell."""
VERBS = {"read": "reads", "write": "writes", "look": "atomically reads", "atomic": "atomically updates"}


@dataclass(frozen=True)
class Access:
    """A line of a log. The root task is the empty path; a join has no cell."""

    task: str
    operation: str
    cell: str
    span: Span

    @property
    def tensor(self) -> str:
        """The tensor or variable of the cell: `c` for `c[3]` and for `c.val[3]`."""
        return self.cell.partition("[")[0].partition(".")[0]


@dataclass(frozen=True)
class Judged:
    """The races of a log, and the races that exploring the same program predicts."""

    accesses: int
    tasks: int
    races: tuple[tuple[Race, bool | None], ...]
    """each pair of operations on a cell, and whether it is predicted; None if the search was cut short"""
    unseen: tuple[str, ...]
    """tensors and variables with predicted races, of which the log shows none"""
    verdict: Verdict

    def __str__(self) -> str:
        count = f"{len(self.races)} race{'s' * (len(self.races) != 1)}"
        lines = [f"{'race' if self.races else 'no race'}: {count} in {self.accesses} accesses of {self.tasks} tasks"]
        for race, predicted in self.races:
            told = {True: "predicted", False: "not predicted", None: "not known: the search was cut short"}[predicted]
            first, second = race.first, race.second
            said = f"{_side(first)} {VERBS[first.operation]} {race.cell} while {_side(second)} may {_bare(second)} it"
            lines.append(f"  {said}  {told}")
        lines += [f"  exploring predicts a race on {name}, which the log does not show" for name in self.unseen]
        return "\n".join(lines)


def _side(access: AccessReport) -> str:
    assert access.span is not None
    return f"{f'task {access.task}' if access.task else 'the root task'} (line {access.span.line})"


def _bare(access: AccessReport) -> str:
    return {"atomic": "atomically update", "look": "atomically read"}.get(access.operation, access.operation)


# ---------------------------------------------------------------------------------------------------------------- logs


def read_log(path: str | os.PathLike[str]) -> list[Access]:
    """Read a log from a text or `.npy` file (an array of strings, three columns). InputError lists all bad lines."""
    path = named(path)
    if path.suffix == ".npy":
        try:
            table = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: {error}", fix="write the path of a log") from None
        if table.dtype.kind != "U" or table.ndim != 2 or table.shape[1] != 3:
            raise InputError(f"{path}: not an array of strings with three columns", fix="task, operation and cell")
        return parse_log("\n".join(map(" ".join, table.tolist())), str(path))
    with reading(path, fix="write the path of a log") as file:
        return parse_log(file.read().decode("utf-8", "replace"), str(path))


def parse_log(text: str, name: str = "<log>") -> list[Access]:
    """Parse the text of a log, which may have comments after #. InputError has one message per bad line.

    >>> [access.cell for access in parse_log("1 read c[3]\\n2 write c[3]")]
    ['c[3]', 'c[3]']
    """
    source, mistakes = Source(name, text), Mistakes()
    log: list[Access] = []
    holders: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split(maxsplit=2)
        if words:
            span = Span(source, number, 1, number, len(line) + 1)
            with mistakes.noted():
                access = _access(words, span)
                _hold(access, holders)
                log.append(access)
    mistakes.tell()
    return log


def _access(words: Sequence[str], span: Span) -> Access:
    form = "write a task, an operation and a cell: 1 read c[3]"
    operations = (*OPERATIONS, "join")
    if len(words) < 2 or (len(words) == 2) != (words[1] == "join"):
        raise InputError("this is not an access", span, fix=form)
    if words[1] not in operations:
        raise InputError(f"there is no operation {words[1]}", span, fix=f"use {', '.join(operations)}")
    path = words[0].split(".")
    if words[0] != "0" and not all(part.isascii() and part.isdigit() and int(part) for part in path):
        raise InputError(f"{words[0]} is not a task", span, fix="use 0 for the root task, and 1, 2, 1.2 for others")
    return Access("" if words[0] == "0" else words[0], words[1], words[2].strip() if len(words) > 2 else "", span)


def _hold(access: Access, holders: dict[str, str]) -> None:
    """Record which task holds a lock. InputError if that is impossible."""
    holder = holders.get(access.cell)
    if access.operation == "acquire" and holder:
        raise InputError(f"{holder} holds {access.cell}", access.span, fix="record a release before it is given back")
    if access.operation == "release" and holder is not None and not holder:
        raise InputError(f"nobody holds {access.cell}", access.span, fix="record an acquisition after it is taken")
    if access.operation in ("acquire", "release"):
        holders[access.cell] = f"task {access.task or 0}" if access.operation == "acquire" else ""


# ------------------------------------------------------------------------------------------------------ happens-before

Clock = dict[str, int]
"""A vector clock: the number of earlier accesses of each task."""


@dataclass
class History:
    """The log so far: the clock of each task and of each lock, and the last access of each kind to each cell."""

    clocks: dict[str, Clock] = field(default_factory=dict)
    released: dict[str, Clock] = field(default_factory=dict)
    last: dict[str, dict[tuple[str, str], tuple[int, Access]]] = field(default_factory=dict)

    def add(self, access: Access) -> Iterator[tuple[Access, Access]]:
        """The earlier accesses with which this one races, each with this one."""
        task, clock = access.task, self.clocks.setdefault(access.task, {})
        for other, theirs in self.clocks.items():
            if _descends(task, other) or _descends(other, task):
                _merge(clock, theirs)
        if access.operation == "acquire":
            _merge(clock, self.released.get(access.cell, {}))
        clock[task] = clock.get(task, 0) + 1
        if access.operation == "release":
            self.released[access.cell] = dict(clock)
        if access.operation in VERBS:
            seen = self.last.setdefault(access.cell, {})
            for (other, _), (time, earlier) in seen.items():
                if other != task and clock.get(other, 0) < time and _touch(earlier).races(_touch(access)):
                    yield earlier, access
            seen[task, access.operation] = clock[task], access


def _touch(access: Access) -> Touch:
    effect: Effect = access.operation  # type: ignore[assignment]
    return Touch(access.cell, effect, access.tensor)


def _descends(task: str, other: str) -> bool:
    return task != other and (not other or task.startswith(f"{other}."))


def _merge(clock: Clock, other: Clock) -> None:
    for task, time in other.items():
        clock[task] = max(time, clock.get(task, 0))


def races(log: Sequence[Access]) -> tuple[Race, ...]:
    """The races of a log: two accesses to one cell, at least one of them a write and one not atomic, in no order.

    Each cell and pair of operations counts once, with the first two accesses.
    """
    history, found = History(), dict[tuple[str, frozenset[str]], Race]()
    for access in log:
        for earlier, later in history.add(access):
            key = later.cell, frozenset((earlier.operation, later.operation))
            if key not in found:
                sides = (_report(earlier), _report(later))
                found[key] = Race(later.tensor, None, "", "", "", later.cell, *sides, interleaving="")
    return tuple(found.values())


def _report(access: Access) -> AccessReport:
    return AccessReport(access.task, "", access.operation, None, None, access.span, ())


# ---------------------------------------------------------------------------------------------------------- prediction


def judge(
    program: api.Program,
    log: Sequence[Access] | str | os.PathLike[str],
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    max_states: int = 100_000,
) -> Judged:
    """Compare the races of a log, or of a file with a log, with those that exploring the program finds.

    A cell may have its name in the explorer's reports (`c.val[3]`), and in a tensor of dense levels also that of its
    element (`C[2, 1]`). A race on another cell (`c.ptr`) is predicted if there is one anywhere in the tensor; so is
    every race if the program has more than `DRAWN` states.
    """
    accesses = read_log(log) if isinstance(log, str | os.PathLike) else log
    bound = api.bind(program, inputs=inputs, params=params, threads=threads)
    verdict = api.explore(bound, strategy="graph", graph=True, max_states=min(max_states, DRAWN)).verdict
    known, racing = _cells(bound, verdict.graph) if verdict.complete else (set(), set())
    if not verdict.complete and max_states > DRAWN:
        verdict = api.explore(bound, strategy="graph", max_states=max_states).verdict
    tensors = {race.tensor for race in verdict.races}
    found = races(accesses)

    def predicted(race: Race) -> bool | None:
        sure = race.cell in racing if race.cell in known else race.tensor in tensors
        return sure or (False if verdict.complete else None)

    unseen = sorted(tensors - {race.tensor for race in found})
    tasks = len({access.task for access in accesses})
    return Judged(len(accesses), tasks, tuple((race, predicted(race)) for race in found), tuple(unseen), verdict)


def _cells(bound: Elaborated, graph: StateGraph | None) -> tuple[set[str], set[str]]:
    """The names of all cells that are accessed, and of those with a race."""
    known, racing = set[str](), set[str]()
    touches: dict[tuple[int, str], tuple[Touch, ...]] = {}
    for edge in graph.edges if graph is not None else ():
        touches[edge.source, edge.task] = edge.touches
        known.update(name for touch in edge.touches for name in _names(touch, bound.towers))
    for number, node in enumerate(graph.nodes if graph is not None else ()):
        for one, other in node.races:
            pairs = ((x, y) for x in touches[number, one] for y in touches[number, other])
            for x in (x for x, y in pairs if x.races(y)):
                racing.update(_names(x, bound.towers))
    return known, racing


def _names(touch: Touch, towers: Mapping[str, Tower]) -> Iterator[str]:
    """The names that a log may use for a cell."""
    yield str(touch.cell)
    tower = towers.get(touch.tensor)
    if tower is None or touch.level != 1 or touch.position is None:
        return
    if any(level.name != "Dense" for level in tower.levels[:-1]):
        return
    at = np.unravel_index(touch.position - 1, tower.shape, order="F") if tower.rank else ()
    yield f"{touch.tensor}[{', '.join(str(int(i) + 1) for i in at)}]"
