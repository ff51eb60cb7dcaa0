"""Logs of the accesses of any parallel kernel, and the races in them by happens-before.

Each line of a log has a task, an operation and a cell, in the order of execution:

    1 read c[3]
    1.2 acquire lock
    0 join

Tasks are named by paths, as in interleavings, and `0` is the root task. An access of a task happens after all earlier
accesses of its ancestors and descendants. `0 join`, which names no cell, separates two parallel regions if the root
task accesses nothing between them. A release happens before the next acquisition of the same lock, and a signal before
every later wait of the same cell. Nothing else orders tasks, as in `explore`: atomic accesses do not race with each
other, and order nothing.

The operations are those of the explorer, `read`, `write`, `look` (an atomic read), `atomic` (an atomic update),
`acquire` and `release`; and `signal` and `wait`, for what orders tasks without excluding them: flags, barriers,
condition variables, atomic stores with release and loads with acquire order. Any number of tasks may signal a cell, and
any number wait for it. A cell stands for one event: a barrier that is used again is another cell, `b[2]`.

A cell is a name, with whole numbers as subscripts or without: `x`, `c.val[3]`, `C[1, 2]`. Spaces do not count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path

from numpy.lib import format as npy

from wingspan.errors import InputError, Mistakes, Source, Span, abridge
from wingspan.explorer.machine import Effect, Touch
from wingspan.explorer.races import OPERATIONS
from wingspan.explorer.verdict import AccessReport, Race
from wingspan.paths import named
from wingspan.reading import STEP, no_text, reading

HEADER = Path(__file__).with_name("accesses.h")
"""A C header that records such a log."""
MOST = 8
"""Reading a log stops at so many mistakes: a file that is no log has one in each line."""
ACCESSES = ("read", "write", "look", "atomic")
"""The operations that can race."""
TASK = re.compile(r"0|[1-9][0-9]*(\.[1-9][0-9]*)*")
CELL = re.compile(r"([^\s\[\],⟨⟩]+)(?:⟨([^\[\]⟨⟩]*)⟩)?\s*(?:\[([^\[\]]*)\])?")
"""A name, with the copy of a buffer that the explorer's reports give in ⟨⟩; and what is in the brackets."""
VALUES = re.compile(r"(\.[0-9]+)?\.val$")
"""What the name of the buffer of elements has after that of the tensor."""
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
ORDERING = {"acquire": "release", "wait": "signal"}
"""The operations that come after earlier ones on the same cell, and these."""
FIX = "write the path of a log: in each line a task, an operation and a cell"


@dataclass(frozen=True)
class Access:
    """A line of a log. The root task is the empty path; a join has no cell. Each cell has one spelling."""

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
    if isinstance(path, str) and "\n" in path:
        raise InputError(
            "this is the text of a log, not the path of one", fix="read it by wingspan.accesses.parse_log(text)"
        )
    path = named(path)
    with reading(path, fix=FIX) as file:
        log = parse_log((_table if path.suffix == ".npy" else _text)(file, path), str(path))
    if not log:
        raise InputError(f"{path}: a log without accesses, in which nothing can race", fix=FIX)
    return log


def _text(file: BufferedReader, path: Path) -> str:
    contents = b"".join(iter(lambda: file.read(STEP), b""))
    if kind := no_text(contents):
        raise InputError(f"{path}: {kind[0]}, not UTF-8 text", fix=kind[1])
    try:
        return contents.decode("utf-8")
    except UnicodeDecodeError as error:
        line = contents.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}: line {line} is not UTF-8 text", fix="save the log as UTF-8") from None


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
    rows = table.tolist()
    for number, row in enumerate(rows, start=1):
        for what, text in zip(("task", "operation", "cell"), row, strict=True):
            if text.splitlines() not in ([], [text]) or "#" in text:
                message = f"{path}: the {what} in row {number} is {text!r}, and a log has lines, and comments after #"
                raise InputError(message, fix="write one access in each row, without line ends and #")
    return "\n".join(map(" ".join, rows))


def parse_log(text: str, name: str = "<log>") -> list[Access]:
    """Parse the text of a log, which may have comments after #. InputError has the first `MOST` bad lines.

    >>> [access.cell for access in parse_log("1 read c[3]\\n2 write c[3]")]
    ['c[3]', 'c[3]']
    """
    text = text.removeprefix("\ufeff")
    source, mistakes = Source(name, text), Mistakes()
    log: list[Access] = []
    holders: dict[str, str] = {}
    first: dict[str, Access] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split(maxsplit=2)
        if words:
            span = Span(source, number, 1, number, len(line) + 1)
            with mistakes.noted():
                access = _access(words, span)
                _hold(access, holders)
                _name_alike(access, first)
                log.append(access)
            if len(mistakes.errors) == MOST:
                break
    mistakes.tell()
    return log


def _access(words: Sequence[str], span: Span) -> Access:
    form = "write a task, an operation and a cell: 1 read c[3]"
    operations = (*OPERATIONS, "signal", "wait", "join")
    if len(words) < 2 or (len(words) == 2) != (words[1] == "join"):
        raise InputError("this is not an access", span, fix=form)
    if words[1] not in operations:
        raise InputError(f"there is no operation {abridge(words[1])}", span, fix=f"use {', '.join(operations)}")
    if not TASK.fullmatch(words[0]):
        raise InputError(
            f"{abridge(words[0])} is not a task", span, fix="use 0 for the root task, and 1, 2, 1.2 for others"
        )
    cell = _spelled(words[2], span) if len(words) > 2 else ""
    return Access("" if words[0] == "0" else words[0], words[1], cell, span)


def _spelled(text: str, span: Span) -> str:
    """A cell in its usual spelling. InputError if it is none."""
    found = CELL.fullmatch(text.strip())
    name, copy, inside = found.groups("") if found else ("", "", "")
    numbers = [number.strip() for number in inside.split(",")] if inside.strip() else []
    if not found or not all(map(WHOLE.fullmatch, numbers)):
        raise InputError(
            f"{abridge(text.strip())} is not a cell", span, fix="write a name and whole numbers: C[1, 2], c.val[3]"
        )
    return spelled(f"{name}⟨{' '.join(copy.split())}⟩" if copy else name, *map(int, numbers))


def spelled(name: str, *subscripts: int) -> str:
    """The usual spelling of a cell; what is without subscripts has no brackets."""
    return f"{name}[{', '.join(map(str, subscripts))}]" if subscripts else name


def parts(cell: str) -> tuple[str, tuple[int, ...]]:
    """The name and the subscripts of a cell in its usual spelling.

    >>> parts("C[1, 2]")
    ('C', (1, 2))
    """
    name, _, inside = cell.partition("[")
    return name, tuple(map(int, inside[:-1].split(","))) if inside else ()


def _hold(access: Access, holders: dict[str, str]) -> None:
    """Record which task holds a lock. InputError if that is impossible."""
    task, holder = f"task {access.task or 0}", holders.get(access.cell)
    if access.operation == "acquire":
        if holder:
            fix = "record a release before it is given back"
            raise InputError(f"{holder} holds {access.cell}", access.span, fix=fix)
        holders[access.cell] = task
    if access.operation == "release":
        if holder != task:
            fix = "record an acquisition after it is taken; what is no lock has signal and wait"
            raise InputError(f"{task} does not hold {access.cell}", access.span, fix=fix)
        del holders[access.cell]


def _name_alike(access: Access, first: dict[str, Access]) -> None:
    """InputError if the elements of a tensor have names of two forms, so that one could go by two names."""
    if access.operation not in ACCESSES:
        return
    name, subscripts = parts(access.cell)
    other = first.setdefault(VALUES.sub("", name), access)
    others_name, others_subscripts = parts(other.cell)
    if (name, len(subscripts)) != (others_name, len(others_subscripts)):
        message = f"{access.cell} is named otherwise than {other.cell} in line {other.span.line}"
        raise InputError(message, access.span, fix="give all elements of a tensor names of one form")


# ------------------------------------------------------------------------------------------------------ happens-before

Clock = dict[str, int]
"""A vector clock: the number of earlier accesses of each task."""


@dataclass
class History:
    """The log so far: the clock of each task and of each cell that orders tasks; the last accesses to each cell."""

    clocks: dict[str, Clock] = field(default_factory=dict)
    passed: dict[str, Clock] = field(default_factory=dict)
    """what comes before the next acquisition or wait"""
    last: dict[str, dict[tuple[str, str], tuple[int, Access]]] = field(default_factory=dict)

    def add(self, access: Access) -> Iterator[tuple[Access, Access]]:
        """The earlier accesses with which this one races, each with this one."""
        task, clock = access.task, self.clocks.setdefault(access.task, {})
        for other, theirs in self.clocks.items():
            if _descends(task, other) or _descends(other, task):
                _merge(clock, theirs)
        if access.operation in ORDERING:
            _merge(clock, self.passed.get(access.cell, {}))
        clock[task] = clock.get(task, 0) + 1
        if access.operation in ORDERING.values():
            _merge(self.passed.setdefault(access.cell, {}), clock)
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
