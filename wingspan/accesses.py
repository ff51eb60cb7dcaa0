"""Logs of the accesses of any parallel kernel, and the races in them by happens-before.

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
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path

from numpy.lib import format as npy

from wingspan.errors import InputError, Mistakes, Source, Span
from wingspan.explorer.machine import Effect, Touch
from wingspan.explorer.races import OPERATIONS
from wingspan.explorer.verdict import AccessReport, Race
from wingspan.paths import named
from wingspan.reading import STEP, reading

HEADER = Path(__file__).with_name("accesses.h")
"""A C header that records such a log."""
MOST = 8
"""Reading a log stops at so many mistakes: a file that is no log has one in each line."""
ACCESSES = ("read", "write", "look", "atomic")
"""The operations that can race."""
TASK = re.compile(r"0|[1-9][0-9]*(\.[1-9][0-9]*)*")
FIX = "write the path of a log: in each line a task, an operation and a cell"


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


# ---------------------------------------------------------------------------------------------------------------- logs


def read_log(path: str | os.PathLike[str]) -> list[Access]:
    """Read a log from a text or `.npy` file (an array of strings, three columns).

    InputError if the file cannot be read or holds no access; it has the first `MOST` bad lines.
    """
    path = named(path)
    with reading(path, fix=FIX) as file:
        log = parse_log((_table if path.suffix == ".npy" else _text)(file, path), str(path))
    if not log:
        raise InputError(f"{path}: a log without accesses, in which nothing can race", fix=FIX)
    return log


def _text(file: BufferedReader, path: Path) -> str:
    try:
        return b"".join(iter(lambda: file.read(STEP), b"")).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text", fix=FIX) from None


def _table(file: BufferedReader, path: Path) -> str:
    """The rows of an array, as the lines of a text."""
    try:
        table = npy.read_array(file, allow_pickle=False)
    except (OSError, MemoryError):
        raise
    except Exception:  # NumPy evaluates the text of the header, and raises whatever it meets
        raise InputError(f"{path}: not an array that NumPy saved", fix=FIX) from None
    if file.read(1):
        raise InputError(f"{path}: more follows the last element", fix="save one array in one file")
    if table.dtype.kind != "U" or table.ndim != 2 or table.shape[1] != 3:
        raise InputError(f"{path}: not an array of strings with three columns", fix="task, operation and cell")
    return "\n".join(map(" ".join, table.tolist()))


def parse_log(text: str, name: str = "<log>") -> list[Access]:
    """Parse the text of a log, which may have comments after #. InputError has the first `MOST` bad lines.

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
            if len(mistakes.errors) == MOST:
                break
    mistakes.tell()
    return log


def _access(words: Sequence[str], span: Span) -> Access:
    form = "write a task, an operation and a cell: 1 read c[3]"
    operations = (*OPERATIONS, "join")
    if len(words) < 2 or (len(words) == 2) != (words[1] == "join"):
        raise InputError("this is not an access", span, fix=form)
    if words[1] not in operations:
        raise InputError(f"there is no operation {words[1]}", span, fix=f"use {', '.join(operations)}")
    if not TASK.fullmatch(words[0]):
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
        if access.operation in ACCESSES:
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
    return AccessReport(access.task, "", OPERATIONS[_touch(access).effect], None, None, access.span, ())
