"""Tiny programs over cells and locks, for testing explorers: their outcomes can be found by hand.

Tasks run in parallel, each with one register. A task may spawn others, and continues when they have ended:

>>> from wingspan.explorer import Search, explore
>>> add = Load("x"), Private(1), Store("x", relative=True)
>>> verdict = explore(Litmus(add, add), Search("graph"))
>>> verdict.interleavings, [(result.outcome, result.interleavings) for result in verdict.results]
(6, [((('x', 2),), 2), ((('x', 1),), 4)])

`PROGRAMS` has programs for comparing explorers, with their known numbers of traces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, cast

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, InternalError, Source, Span
from wingspan.explorer.local import CellLog, Tree
from wingspan.explorer.machine import AnonymousState, Blocked, CellAccess, Effect, Step


@dataclass(frozen=True)
class Load:
    """register = cell"""

    cell: str


@dataclass(frozen=True)
class Store:
    """cell = value, or register + value"""

    cell: str
    value: int = 0
    relative: bool = False


@dataclass(frozen=True)
class Add:
    """cell += value, in one atomic step; the register gets the old value"""

    cell: str
    value: int = 1


@dataclass(frozen=True)
class Claim:
    """cell += 1 in one atomic step if the cell has this value; otherwise no more than a read of it"""

    cell: str
    value: int


@dataclass(frozen=True)
class Take:
    """cell += 1 in one atomic step if it is below the bound, otherwise a look at it; the register gets the old value"""

    cell: str
    bound: int


@dataclass(frozen=True)
class Swap:
    """cell = new in one atomic step if it is old, otherwise a look at it; the register gets what it was"""

    cell: str
    old: int
    new: int


@dataclass(frozen=True)
class Private:
    """register += value; no other task sees it"""

    value: int = 1


@dataclass(frozen=True)
class Jump:
    """go so many instructions on (2 skips one), at most to the end, if the register has this value or none is given"""

    by: int
    value: int | None = None


@dataclass(frozen=True)
class Assert:
    """fault unless the register has this value, without a place of its own; no other task sees it pass"""

    value: int


@dataclass(frozen=True)
class Check:
    """fault unless the cell has this value"""

    cell: str
    value: int


@dataclass(frozen=True)
class Lock:
    """take a lock, once nobody has it"""

    name: str


@dataclass(frozen=True)
class Unlock:
    """give the lock back; a fault unless this task holds it"""

    name: str


@dataclass(frozen=True)
class Spawn:
    """run programs side by side as tasks p.1, p.2, … of task p, and go on when all have ended; no other task sees it"""

    tasks: tuple[Program, ...]


Instruction = Load | Store | Add | Claim | Take | Swap | Private | Jump | Assert | Check | Lock | Unlock | Spawn
Program = tuple[Instruction, ...]

ON_CELLS = Load, Store, Add, Claim, Take, Swap, Check


class LitmusState(NamedTuple):
    """A state of a run; tasks, cells and locks are in the order in which the machine names them."""

    cells: tuple[int, ...]
    holders: tuple[int, ...]
    """of each lock, as the number of a task; -1 if nobody has it"""
    threads: tuple[tuple[int, int], ...]
    """the place of each task in the code, and its register; also of an ended task, until another one replaces it"""


class Litmus:
    """Tasks 1, 2, … side by side; when all have ended the root runs `after`. Cells start at 0."""

    name = "litmus"
    asymmetry = ""

    def __init__(self, *tasks: Program, after: Program = ()) -> None:
        self.programs = after, *tasks
        self.code: list[Instruction | None] = []
        """all programs one after the other, each with None at its end; equal ones are one"""
        self.targets: dict[int, int] = {}
        """the targets of jumps"""
        self.starts: dict[int, list[int]] = {}
        """the first instructions of the tasks that are run from a place"""
        rows: dict[Program, int] = {}
        self._add(after, rows)
        self.first = [self._add(task, rows) for task in tasks]
        source = Source("litmus", "\n".join(" ; ".join(map(repr, program)) for program in rows))
        self.spans = [
            Span(source, row, column, row, column + 1)
            for row, program in enumerate(rows, start=1)
            for column in range(1, len(program) + 2)
        ]
        self.paths, self.up = [""], [-1]
        self._name(0, [(Spawn(tasks), *after)])
        self.below = [[t for t, up in enumerate(self.up) if up == task] for task in range(len(self.up))]
        self.cells = sorted({each.cell for each in self.code if isinstance(each, ON_CELLS)})
        self.locks = sorted({each.name for each in self.code if isinstance(each, Lock | Unlock)})
        self.ended = len(self.code) - 1, 0
        """the place and the register of a task that has not begun"""

    def __repr__(self) -> str:
        after, *tasks = self.programs
        return f"Litmus({''.join(f'{task}, ' for task in tasks)}after={after})"

    def _add(self, program: Program, rows: dict[Program, int]) -> int:
        """Put a program behind the code, and those that it runs, unless they are there; where it begins."""
        if program in rows:
            return rows[program]
        start, end = len(self.code), len(self.code) + len(program)
        self.code += [*program, None]
        rows[program] = start
        for pc, instruction in enumerate(program, start):
            if isinstance(instruction, Jump):
                self.targets[pc] = min(pc + instruction.by, end)
            elif isinstance(instruction, Spawn):
                self.starts[pc] = [self._add(task, rows) for task in instruction.tasks]
        return start

    def _name(self, task: int, programs: list[Program]) -> None:
        """Name the tasks that there ever are below one that runs one of these programs."""
        groups = [each.tasks for program in programs for each in program if isinstance(each, Spawn)]
        for number, alternatives in enumerate(zip_longest(*groups, fillvalue=()), start=1):
            self.paths.append(f"{self.paths[task]}.{number}".lstrip("."))
            self.up.append(task)
            self._name(len(self.up) - 1, list(alternatives))

    def initial(self) -> LitmusState:
        return self._with_tasks(*self.local_initial())

    def lives(self, state: LitmusState, task: int) -> bool:
        """Whether a task has not ended."""
        return self.code[state.threads[task][0]] is not None or self.waits(state, task)

    def waits(self, state: LitmusState, task: int) -> bool:
        """Whether a task waits for its children."""
        return any(self.lives(state, child) for child in self.below[task])

    def tasks(self, state: LitmusState) -> tuple[str, ...]:
        rows = enumerate(zip(self.paths, state.threads, strict=True))
        return tuple(path for n, (path, (pc, _)) in rows if self.code[pc] is not None and not self.waits(state, n))

    def fingerprint(self, state: LitmusState) -> Hashable:
        return state

    def anonymize(self, state: LitmusState) -> tuple[Hashable, AnonymousState]:
        def task(n: int) -> AnonymousState:
            held = tuple(lock for lock, holder in zip(self.locks, state.holders, strict=True) if holder == n)
            return AnonymousState((state.threads[n], held), tuple(map(task, self.below[n])))

        return state.cells, task(0)

    def outcome(self, state: LitmusState) -> Hashable:
        return tuple((cell, value) for cell, value in zip(self.cells, state.cells, strict=True) if value)

    def step(self, state: LitmusState, task: str) -> Step[LitmusState] | Blocked:
        me = self.paths.index(task)
        log = CellLog(self._cells_of(state))
        choice = self.local_step((me, *state.threads[me]), log)
        if isinstance(choice, Blocked):
            return choice
        cells = {**log.cells, **log.written}
        after = choice.next if isinstance(choice.next, Fault) else self._with_tasks(choice.next, cells)
        return Step(task, choice.rule, choice.footprint, choice.visible, after, choice.span)

    def local_initial(self) -> tuple[Tree, Mapping[Any, Any]]:
        nobody = LitmusState((0,) * len(self.cells), (-1,) * len(self.locks), (self.ended,) * len(self.paths))
        cells = CellLog(self._cells_of(nobody))
        return self._spawn((0, 0, 0), self.first, cells), {**cells.cells, **cells.written}

    def local_join(self, local: Hashable, ended: Sequence[Hashable]) -> Tree:
        return self._task(local)

    def global_state(self, tree: Tree, cells: Mapping[Any, Any]) -> LitmusState:
        return self._with_tasks(tree, cells)

    def local_step(self, local: Hashable, cells: CellLog) -> Step[Tree] | Blocked:
        """Run one instruction. A task that is at its end then leaves its place and its register in a cell."""
        me, pc, register = cast(tuple[int, int, int], local)
        instruction, span, task = self.code[pc], self.spans[pc], self.paths[me]

        def to(register: int = register, cell: str = "", value: int = 0, pc: int = pc + 1) -> Tree:
            if cell:
                cells.set(("cell", cell), value)
            return self._task((me, pc, register), cells)

        def step(after: Tree | Fault, effect: Effect | None = None, cell: str = "") -> Step[Tree]:
            footprint = () if effect is None else (CellAccess(cell, effect, cell),)
            visible = effect is not None or isinstance(after, Fault)
            return Step(task, type(instruction).__name__, footprint, visible, after, span)

        old = cells.get(("cell", instruction.cell)) if isinstance(instruction, ON_CELLS) else 0
        match instruction:
            case Load(cell):
                return step(to(old), "read", cell)
            case Store(cell, value, relative):
                return step(to(register, cell, value + register * relative), "write", cell)
            case Add(cell, value):
                return step(to(old, cell, old + value), "atomic", cell)
            case Claim(cell, value):
                return step(to(register, cell, old + 1), "atomic", cell) if old == value else step(to(), "read", cell)
            case Take(cell, bound):
                return step(to(old, cell, old + 1), "atomic", cell) if old < bound else step(to(old), "look", cell)
            case Swap(cell, expected, new):
                return step(to(old, cell, new), "atomic", cell) if old == expected else step(to(old), "look", cell)
            case Private(value):
                return step(to(register + value))
            case Jump(_, value):
                return step(to(pc=self.targets[pc] if value in (None, register) else pc + 1))
            case Spawn():
                for n in range(me + 1, len(self.up)):
                    if self._descends(n, me):
                        cells.set(("thread", n), self.ended)
                return step(self._spawn((me, pc + 1, register), self.starts[pc], cells))
            case Assert(value):
                return step(to() if register == value else Fault(f"the register is not {value}"))
            case Check(cell, value):
                return step(to() if old == value else Fault(f"{cell} is not {value}", span), "read", cell)
            case Lock(name):
                if (holder := cells.get(("lock", name))) >= 0:
                    return Blocked(task, f"lock {name}", self.paths[holder], span, f"lock {name}")
                cells.set(("lock", name), me)
                return step(to(), "acquire", f"lock {name}")
            case Unlock(name):
                if cells.get(("lock", name)) != me:
                    return step(Fault(f"lock {name} is not held", span), "look", f"lock {name}")
                cells.set(("lock", name), -1)
                return step(to(), "release", f"lock {name}")
            case None:
                raise InternalError(f"task {task or '0'} has ended")

    def _task(self, local: Hashable, cells: CellLog | None = None) -> Tree:
        """A task without others below it. If it is at its end, its place and its register go to a cell."""
        me, pc, register = cast(tuple[int, int, int], local)
        has_ended = self.code[pc] is None
        if has_ended and cells is not None:
            cells.set(("thread", me), (pc, register))
        return Tree(local, ended=has_ended)

    def _spawn(self, local: tuple[int, int, int], starts: list[int], cells: CellLog | None = None) -> Tree:
        """A task with others below it that begin; alone if these are all empty."""
        task = self._task(local, cells)
        below = [self._task((n, start, 0), cells) for n, start in zip(self.below[local[0]], starts, strict=False)]
        return task if all(each.ended for each in below) else Tree(local, tuple(below))

    def _cells_of(self, state: LitmusState) -> dict[Hashable, Any]:
        """The cells of a state: those of the program, the holders of locks, and what tasks that have ended left."""
        cells: dict[Hashable, Any] = {("thread", n): thread for n, thread in enumerate(state.threads)}
        cells.update((("cell", cell), value) for cell, value in zip(self.cells, state.cells, strict=True))
        cells.update((("lock", lock), holder) for lock, holder in zip(self.locks, state.holders, strict=True))
        return cells

    def _with_tasks(self, tree: Tree, cells: Mapping[Any, Any]) -> LitmusState:
        """The state of cells and tasks."""
        threads = [cells["thread", n] for n in range(len(self.paths))]
        waiting = [tree]
        for each in waiting:
            me, pc, register = cast(tuple[int, int, int], each.local)
            threads[me] = pc, register
            waiting += each.below
        return LitmusState(
            tuple(cells["cell", cell] for cell in self.cells),
            tuple(cells["lock", lock] for lock in self.locks),
            tuple(threads),
        )

    def _descends(self, task: int, ancestor: int) -> bool:
        return task > ancestor and (self.up[task] == ancestor or self._descends(self.up[task], ancestor))


# ------------------------------------------------------------------------------------------------------ known programs


def ninc(n: int) -> Litmus:
    """n tasks increment one cell by load and store."""
    return Litmus(*[increment("x")] * n)


def increment(cell: str) -> Program:
    """Add one to a cell by load and store."""
    return Load(cell), Private(), Store(cell, relative=True)


def scatter(n: int, k: int) -> Litmus:
    """n tasks increment k cells by load and store, each one cell, in turn."""
    return Litmus(*[increment(f"c{t % k}") for t in range(n)])


def distinct(n: int) -> Litmus:
    """n tasks write a cell each."""
    return Litmus(*[(Store(f"c{t}", 1),) for t in range(n)])


def lockinc(n: int) -> Litmus:
    """n tasks increment one cell by load and store under a lock."""
    return Litmus(*[(Lock("m"), Load("x"), Store("x", 1, relative=True), Unlock("m"))] * n)


def readers(n: int) -> Litmus:
    """A task writes a cell, and n read it."""
    return Litmus((Store("c", 1),), *[(Load("c"),)] * n)


def lastzero(n: int) -> Litmus:
    """Task j writes cell j − 1 plus one to cell j, and one looks for the last zero (Abdulla et al., POPL 2014)."""
    scan = [each for j in range(n, 0, -1) for each in (Load(f"c{j}"), Jump(2 * n + 1, 0))]
    return Litmus((*scan, Load("c0")), *[(Load(f"c{j - 1}"), Store(f"c{j}", 1, True)) for j in range(1, n + 1)])


def chunk(n: int, b: int) -> Litmus:
    """n tasks take the next of b chunks until there is none, and write a cell for each; taking none is a look."""
    return Litmus(*[_chunks(Take("next", b), b)] * n)


def chunk_add(n: int, b: int) -> Litmus:
    """The same, if the attempt that fails adds to the counter, too."""
    return Litmus(*[_chunks(Add("next"), b)] * n)


def _chunks(take: Instruction, b: int) -> Program:
    """Take a chunk; jump to the store for it, and from there back; to the end if there is none."""
    away = [Jump(b - j + 1 + 2 * j, j) for j in range(b)]
    work = [each for j in range(b) for each in (Store(f"c{j}", 1), Jump(-(b + 2 * j + 3)))]
    return (take, *away, Jump(2 * b + 1), *work)


def indexer(n: int) -> Litmus:
    """n ≤ 22 tasks put four keys each into a table of 128 slots, by compare-and-swap (Flanagan, Godefroid, POPL 2005).

    So few keys have their own slot or share one with one other key, and the next slot is free.
    """

    def put(key: int) -> Program:
        slot = key * 7 % 128
        return Swap(f"t{slot}", 0, key), Jump(2, 0), Swap(f"t{(slot + 1) % 128}", 0, key)

    return Litmus(*[tuple(each for m in range(1, 5) for each in put(11 * m + t)) for t in range(n)])


@dataclass(frozen=True)
class KnownTraces:
    """A program for each size, and how many traces it has: ways in which its runs really differ."""

    program: Callable[..., Litmus]
    traces: Callable[..., int]


PROGRAMS = {
    "ninc": KnownTraces(ninc, lambda n: math.factorial(n) ** 2),
    "scatter": KnownTraces(scatter, lambda n, k: math.prod(math.factorial(len(range(c, n, k))) ** 2 for c in range(k))),
    "distinct": KnownTraces(distinct, lambda n: 1),
    "lockinc": KnownTraces(lockinc, math.factorial),
    "readers": KnownTraces(readers, lambda n: 2**n),
    "lastzero": KnownTraces(lastzero, lambda n: (n + 3) * 2**n // 4),
    "chunk": KnownTraces(chunk, lambda n, b: n**b),
    "chunk_add": KnownTraces(chunk_add, lambda n, b: n**b * math.factorial(n)),
    "indexer": KnownTraces(indexer, lambda n: 8 ** max(0, n - 11)),
}
