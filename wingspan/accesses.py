"""Logs of the accesses of any parallel kernel; `happens_before` finds the races in them.

Each line of a log has a task, an operation and a cell, in the order of execution:

    1 read c[3]
    1.2 acquire lock
    0 join
    1 write c[3] at kernel.c:12

After `at`, a line may name the statement that makes the access, by its source file and line. Races of one pair of
statements then count once.

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
from array import array
from collections.abc import Callable, Iterator, Sequence
from io import BufferedReader
from pathlib import Path

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, Mistakes, Source, Span, abridge
from wingspan.base.libraries import np
from wingspan.base.paths import require_readable_name
from wingspan.base.reading import STEP, no_text, reading
from wingspan.explorer.machine import Effect
from wingspan.explorer.races import OPERATIONS

HEADER = Path(__file__).with_name("accesses.h")
"""A C header that records such a log."""
MOST = 8
"""Reading a log stops at so many mistakes: a file that is no log has one in each line."""
ALL = (*OPERATIONS, "signal", "wait", "join")
"""The operations; columns of a log have their places here."""
ACCESSES = ("read", "write", "look", "atomic")
"""The operations that can race."""
TASK = re.compile(r"0|[1-9][0-9]*(\.[1-9][0-9]*)*")
CELL = re.compile(r"([^\s\[\],⟨⟩]+)(?:⟨([^\[\]⟨⟩]*)⟩)?\s*(?:\[([^\[\]]*)\])?")
"""A name, with the copy of a buffer that the explorer's reports give in ⟨⟩; and what is in the brackets."""
VALUES = re.compile(r"(\.[0-9]+)?\.val$")
"""The name of a buffer of elements, after the name of its tensor."""
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
LOCKING = ("acquire", "release")
CODES = {operation: number for number, operation in enumerate(ALL)}
BATCH = 4096
"""Lines between two calls of `tick`, a few milliseconds."""
Tick = Callable[[int, int], None]
LOCATED = re.compile(rf"(?P<cell>{CELL.pattern})?(?:^|\s+)at\s+(?P<place>\S.*:[1-9][0-9]{{0,8}})")
"""A cell, or nothing for a join, and the source file and line of the statement."""
FIX = "write the path of a log: in each line a task, an operation and a cell"


@dataclass(frozen=True)
class LogAccess:
    """A line of a log. The root task is the empty path; a join has no cell. Each cell has one spelling."""

    task: str
    operation: str
    cell: str
    span: Span
    place: str = ""
    """the source file and line of the statement, `kernel.c:12`; empty if the log does not say"""

    @property
    def tensor(self) -> str:
        """The tensor or variable of the cell: `c` for `c[3]` and for `c.val[3]`."""
        return tensor_of(self.cell)

    @property
    def operation_in_words(self) -> str:
        """The operation as reports have it: `atomic read` for `look`."""
        effect: Effect = self.operation  # type: ignore[assignment]
        return OPERATIONS[effect]

    @property
    def statement(self) -> str:
        """The statement, as far as the log tells it from others: its place, or else the operation."""
        return self.place or self.operation


class Log:
    """The accesses of a log, in columns: the numbers of each one's task, operation, cell and place, and its line.

    >>> log = parse_log("1 read c[3]\\n2 write c[3]")
    >>> list(log.task), [ALL[k] for k in log.operation], list(log.cell), log[1].cell
    ([1, 2], ['read', 'write'], [1, 1], 'c[3]')
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tasks = {"": 0}
        """the number of each task; the root task is 0, whether it accesses anything or not"""
        self.cells = {"": 0}
        """the number of each cell; a join has cell 0"""
        self.places = {"": 0}
        """the number of each place of a statement; 0 if the log does not say"""
        self.task, self.operation, self.cell, self.line = array("i"), array("b"), array("i"), array("i")
        self.place = array("i")
        self._names: tuple[list[str], list[str], list[str]] = ([], [], [])

    def __len__(self) -> int:
        return len(self.task)

    def __iter__(self) -> Iterator[LogAccess]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> LogAccess:
        numbers = self.tasks, self.cells, self.places
        if any(len(names) < len(each) for names, each in zip(self._names, numbers, strict=True)):
            self._names = list(self.tasks), list(self.cells), list(self.places)
        tasks, cells, places = self._names
        task, cell, place = self.task[number], self.cell[number], self.place[number]
        return LogAccess(
            tasks[task], ALL[self.operation[number]], cells[cell], self.span(self.line[number]), places[place]
        )

    def span(self, line: int) -> Span:
        """The whole of a line."""
        return Span(self.source, line, 1, line, len(self.source.line(line)) + 1)

    def add(self, task: int, operation: int, cell: int, place: int, line: int) -> None:
        """Append an access."""
        self.task.append(task)
        self.operation.append(operation)
        self.cell.append(cell)
        self.place.append(place)
        self.line.append(line)


# ---------------------------------------------------------------------------------------------------------------- logs


def read_log(path: str | os.PathLike[str], tick: Tick | None = None) -> Log:
    """Read a log from a text or `.npy` file (an array of strings, three columns, and a fourth one with places).

    InputError if the file cannot be read or holds no access; it has the first `MOST` bad lines. `tick` is called as in
    `parse_log`.
    """
    if isinstance(path, str) and "\n" in path:
        raise InputError(
            "this is the text of a log, not the path of one", fix="read it by wingspan.accesses.parse_log(text)"
        )
    path = require_readable_name(path)
    with reading(path, fix=FIX) as file:
        log = parse_log((_table if path.suffix == ".npy" else _text)(file, path), str(path), tick)
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
        table = np.lib.format.read_array(file, allow_pickle=False)
    except (OSError, MemoryError):
        raise
    except Exception:  # NumPy evaluates the text of the header, and raises whatever it meets
        raise InputError(f"{path}: not an array that NumPy saved", fix=FIX) from None
    if file.read(1):
        raise InputError(f"{path}: more follows the last element", fix="save one array in one file")
    if table.dtype.kind != "U" or table.ndim != 2 or table.shape[1] not in (3, 4):
        message = f"{path}: not an array of strings with three or four columns"
        raise InputError(message, fix="task, operation, cell, and, if you like, file:line of the statement")
    rows = table.tolist()
    lines = [f"{' '.join(row[:3])}{f' at {place}' if (place := ''.join(row[3:])) else ''}" for row in rows]
    text = "\n".join(lines)
    if text.splitlines() == lines and "#" not in text:
        return text
    for number, row in enumerate(rows, start=1):
        for what, text in zip(("task", "operation", "cell", "place"), row, strict=False):
            if text.splitlines() not in ([], [text]) or "#" in text:
                message = f"{path}: the {what} in row {number} is {text!r}, and a log has lines, and comments after #"
                raise InputError(message, fix="write one access in each row, without line ends and #")
    return text


def parse_log(text: str, name: str = "<log>", tick: Tick | None = None) -> Log:
    """Parse the text of a log, which may have comments after #. InputError has the first `MOST` bad lines.

    `tick` is called now and then with the numbers of lines read and left, and may raise what ends the reading.

    >>> [access.cell for access in parse_log("1 read c[3]\\n2 write c[3]")]
    ['c[3]', 'c[3]']
    """
    text = text.removeprefix("\ufeff")
    parser, mistakes = Parser(Log(Source(name, text))), Mistakes()
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if tick is not None and number % BATCH == 0:
            tick(number, len(lines) - number)
        words = (line.partition("#")[0] if "#" in line else line).split(None, 2)
        if words and not parser.add_alike(words, number):
            with mistakes.collecting():
                parser.add(words, number)
            if len(mistakes.errors) == MOST:
                break
    mistakes.raise_all()
    return parser.log


class Parser:
    """Adds lines to a log. What was checked once, tasks and cells as they are spelled, is looked up from then on."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.tasks = {"0": 0}
        self.targets: list[dict[str, tuple[int, int]]] = [{"": (0, 0)} if name == "join" else {} for name in ALL]
        """for each operation, what follows it: its cells, with the places of statements"""
        self.holders: dict[int, int] = {}
        """the task that holds each lock"""
        self.first: dict[str, tuple[str, int]] = {}
        """of the elements of each tensor, the first that is accessed, and its line"""

    def add_alike(self, words: Sequence[str], line: int) -> bool:
        """Add a line whose words are known, and which can have no mistake, or return False."""
        try:
            operation = CODES[words[1]]
            task, (cell, place) = self.tasks[words[0]], self.targets[operation][words[2] if len(words) > 2 else ""]
        except (KeyError, IndexError):
            return False
        if words[1] in LOCKING and not self._hold(task, words[1], cell):
            return False
        self.log.add(task, operation, cell, place, line)
        return True

    def add(self, words: Sequence[str], line: int) -> None:
        """Add a line. InputError if it is no access, or cannot follow the lines before."""
        name, operation, target = (*words, "", "")[:3]
        located = LOCATED.fullmatch(target.rstrip())
        named, place = (located["cell"] or "", located["place"]) if located else (target, "")
        if not operation or bool(named) == (operation == "join"):
            raise self._mistake(line, "this is not an access", "write a task, an operation and a cell: 1 read c[3]")
        if operation not in ALL:
            raise self._mistake(line, f"there is no operation {abridge(operation)}", f"use {', '.join(ALL)}")
        if not TASK.fullmatch(name):
            fix = "use 0 for the root task, and 1, 2, 1.2 for others"
            raise self._mistake(line, f"{abridge(name)} is not a task", fix)
        spelling = _spelling(named) if named else ""
        if spelling is None:
            fix = "write a name and whole numbers, C[1, 2] or c.val[3]; the statement follows as `at kernel.c:12`"
            raise self._mistake(line, f"{abridge(named.strip())} is not a cell", fix)
        task = self.tasks[name] = self.log.tasks.setdefault("" if name == "0" else name, len(self.log.tasks))
        cell = self.log.cells.setdefault(spelling, len(self.log.cells))
        number = self.log.places.setdefault(place, len(self.log.places))
        if operation in LOCKING and not self._hold(task, operation, cell):
            raise self._misuse(line, task, operation, cell)
        if operation in ACCESSES:
            self._name_alike(line, spelling)
        self.targets[CODES[operation]][target] = cell, number
        self.log.add(task, CODES[operation], cell, number, line)

    def _mistake(self, line: int, message: str, fix: str) -> InputError:
        return InputError(message, self.log.span(line), fix=fix)

    def _hold(self, task: int, operation: str, cell: int) -> bool:
        """Record which task holds a lock, or return False if that is impossible."""
        allowed = self.holders.get(cell) == (None if operation == "acquire" else task)
        if allowed and operation == "acquire":
            self.holders[cell] = task
        elif allowed:
            del self.holders[cell]
        return allowed

    def _misuse(self, line: int, task: int, operation: str, cell: int) -> InputError:
        """The error of taking a lock that is held, or releasing one that the task does not hold."""
        tasks, lock = list(self.log.tasks), list(self.log.cells)[cell]
        if operation == "acquire":
            holder = tasks[self.holders[cell]] or "0"
            return self._mistake(line, f"task {holder} holds {lock}", "record a release before it is given back")
        fix = "record an acquisition after it is taken; what is no lock has signal and wait"
        return self._mistake(line, f"task {tasks[task] or 0} does not hold {lock}", fix)

    def _name_alike(self, line: int, cell: str) -> None:
        """InputError if the elements of a tensor have names of two forms, so that one could go by two names."""
        name, subscripts = split_cell(cell)
        other, since = self.first.setdefault(VALUES.sub("", name), (cell, line))
        others_name, others_subscripts = split_cell(other)
        if (name, len(subscripts)) != (others_name, len(others_subscripts)):
            message = f"{cell} is named otherwise than {other} in line {since}"
            raise self._mistake(line, message, "give all elements of a tensor names of one form")


def _spelling(text: str) -> str | None:
    """The usual spelling of a cell, None if it is none."""
    found = CELL.fullmatch(text.strip())
    name, copy, inside = found.groups("") if found else ("", "", "")
    numbers = [number.strip() for number in inside.split(",")] if inside.strip() else []
    if not found or not all(map(WHOLE.fullmatch, numbers)):
        return None
    return spell_cell(f"{name}⟨{' '.join(copy.split())}⟩" if copy else name, *map(int, numbers))


def tensor_of(cell: str) -> str:
    """The tensor or variable of a cell.

    >>> tensor_of("c[3]"), tensor_of("c.val[3]")
    ('c', 'c')
    """
    return cell.partition("[")[0].partition(".")[0]


def spell_cell(name: str, *subscripts: int) -> str:
    """Spell a cell as usual: `name[1, 2]`, without brackets if it has no subscripts."""
    return f"{name}[{', '.join(map(str, subscripts))}]" if subscripts else name


def split_cell(cell: str) -> tuple[str, tuple[int, ...]]:
    """Split the usual spelling of a cell into name and subscripts.

    >>> split_cell("C[1, 2]")
    ('C', (1, 2))
    """
    name, _, inside = cell.partition("[")
    return name, tuple(map(int, inside[:-1].split(","))) if inside else ()
