"""A fast ground truth for programs that only update: what tasks do that run one after the other, access by access.

The procedures of the levels are run in the order in which the rules would run them, but neither the rules nor the
explorer nor the dependence test take part. Which accesses race is told from the locks that are held (`trace_memory`),
so one run predicts what no other order shows. What tasks find in memory still depends on who came first: every program
runs with its tasks in ascending and in descending order, and dynamic chunks are dealt in several ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from proofs_tests.trace_memory import Cell, Kit, Memory, Stopped, deadlock_in, race_in
from wingspan.base.errors import Fault
from wingspan.buffers import frames
from wingspan.lang import algebra, ir
from wingspan.lang.devices import ROOT, Task
from wingspan.tensors.cells import Cells
from wingspan.tensors.tensor import Tensor


@dataclass(frozen=True)
class Truth:
    """The defects in some interleaving, as far as the runs show them."""

    race: Cell | None = None
    fault: str = ""
    deadlock: Cell | None = None
    """a lock of the circle"""
    wrong: bool = False
    """a run without any of these ends with another value than the program means"""

    @property
    def bad(self) -> bool:
        return bool(self.race or self.fault or self.deadlock or self.wrong)


# ----------------------------------------------------------------------------------------------------------- programs

Names = tuple[str, ...]


@dataclass(frozen=True)
class Way:
    """A fiber as the text knows it: the tensor, and the indices of the loops that lead to it, root first."""

    tensor: str
    names: Names

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.tensor, self.names))


@dataclass(frozen=True)
class Update:
    way: Way
    value: ir.Expression


@dataclass(frozen=True)
class Loop:
    """A loop, the fibers that it unfurls in the order of the text, and, if it is parallel, those that tasks reach."""

    node: ir.For
    unfurls: tuple[Way, ...]
    reaches: tuple[Way, ...]
    body: tuple[Item, ...]


@dataclass(frozen=True)
class Declaration:
    tensor: str


Item = Update | Loop | Declaration


def plan(s: ir.Statement, around: Names = ()) -> tuple[Item, ...]:
    """A concordant program as the oracle walks it; freezing is left out, since the root task does that alone."""
    match s:
        case ir.Block(statements=statements):
            return tuple(item for each in statements for item in plan(each, around))
        case ir.Declare(tensor=T) if not around:
            return (Declaration(T),)
        case ir.Freeze():
            return ()
        case ir.Assign(access=a, value=value):
            return (Update(Way(a.fiber.tensor, _root_first(a)), value),)
        case ir.For(index=index, body=body):
            written = [a for a, updated in ir.accesses(s) if updated]
            unfurls = {
                Way(a.fiber.tensor, names[: names.index(index)]): None
                for a in written
                if index in (names := _root_first(a))
            }
            reaches = {Way(a.fiber.tensor, tuple(n for n in _root_first(a) if n in around)): None for a in written}
            return (Loop(s, tuple(unfurls), tuple(reaches), plan(body, (*around, index))),)
    raise ValueError(f"no part of an enumerated program: {s}")


def _root_first(a: ir.Access) -> Names:
    return tuple(e.name for e in reversed(a.subscripts) if isinstance(e, ir.Index))


def value_of(e: ir.Expression, indices: Mapping[str, int]) -> Any:
    """The value of an expression over loop indices."""
    match e:
        case ir.Literal(value=value):
            return algebra.exact(value)
        case ir.Index(name=name):
            return indices[name]
        case ir.Call(op=op, args=args):
            return algebra.apply(op, *(value_of(a, indices) for a in args))
    raise ValueError(f"no function of the indices: {e}")


# ---------------------------------------------------------------------------------------------------------------- runs

Fiber = tuple[str, int, int, tuple]
"""Tensor, level number, position, instance."""


@dataclass(frozen=True)
class Around:
    """A task's context; flags and open fibers include those of the tasks that it descends from."""

    task: Task
    indices: Mapping[str, int] = field(default_factory=dict)
    fibers: Mapping[Way, Fiber] = field(default_factory=dict)
    flags: tuple[dict[Fiber, bool], ...] = ()
    """for each iteration under way, innermost first: whether something below its fibers was written"""
    open: tuple[tuple[str, int, tuple], ...] = ()


Deal = Callable[[int, int, int], Sequence[Sequence[int]]]
"""Region number, number of chunks, number of threads → the chunks of each thread."""


class Execution:
    """One run: `order` says in which order the tasks of a region run, `deal` who takes which dynamic chunks."""

    def __init__(self, kits: Mapping[str, Kit], order: int, deal: Deal) -> None:
        self.kits, self.order, self.deal = kits, order, deal
        self.memory = Memory()
        self.regions = 0
        self.fault = ""

    def items(self, items: Sequence[Item], here: Around) -> None:
        for item in items:
            if isinstance(item, Loop):
                r = item.node.range
                if isinstance(r, ir.Parallel):
                    self.parallel(item, r, here)
                else:
                    self.serial(item, *self._ends(r, here), here)
            elif isinstance(item, Update):
                self.update(item, here)
            else:
                self.kits[item.tensor]["declare",](self.memory, (), (here.task,))

    def _ends(self, r: Any, here: Around) -> tuple[int, int]:
        return value_of(r.start, here.indices), value_of(r.stop, here.indices)

    def fiber(self, way: Way, here: Around) -> Fiber:
        return here.fibers.get(way) or (way.tensor, self.kits[way.tensor].tower.rank + 1, 1, ())

    def update(self, item: Update, here: Around) -> None:
        T, _, position, instance = fiber = self.fiber(item.way, here)
        kit = self.kits[T]
        kit["increment",](self.memory, instance, (here.task, position, value_of(item.value, here.indices)))
        if kit.written_below[1]:
            self._mark(fiber, here)

    def _mark(self, fiber: Fiber, here: Around) -> None:
        next(flags for flags in here.flags if fiber in flags)[fiber] = True

    # ------------------------------------------------------------------------------------------------- serial loops

    def serial(self, loop: Loop, a: int, b: int, here: Around) -> None:
        """Unfurl, iterate, finish."""
        if a > b:
            return
        fibers = dict.fromkeys(self.fiber(way, here) for way in loop.unfurls)
        cursors: dict[Fiber, tuple] = {}
        for fiber in fibers:
            T, number, position, instance = fiber
            if self.kits[T].once[number] and (T, number, instance) in here.open:
                raise Fault(f"{T}, level {number}: fiber {position} is visited while a visit goes on")
            inputs = (here.task, position, a)
            cursors[fiber], _ = self.kits[T]["open", number](self.memory, instance, inputs)
            here = Around(here.task, here.indices, here.fibers, here.flags, ((T, number, instance), *here.open))
        for index in range(a, b + 1):
            self._iteration(loop, index, cursors, here)
        for (T, number, _, instance), cursor in reversed(cursors.items()):
            if self.kits[T].closes[number]:
                self.kits[T]["close", number](self.memory, instance, (here.task, *cursor))

    def _iteration(self, loop: Loop, index: int, cursors: dict[Fiber, tuple], here: Around) -> None:
        flags: dict[Fiber, bool] = {}
        left: list[tuple[Fiber, Fiber, tuple]] = []
        children: dict[Fiber, Fiber] = {}
        for fiber, cursor in cursors.items():
            T, number, _, instance = fiber
            kit = self.kits[T]
            (q, *rest), inner = kit["enter", number](self.memory, instance, (here.task, *cursor, index))
            child = children[fiber] = (T, number - 1, q, inner)
            fields = kit.fields[number]
            cursors[fiber] = tuple(rest[:fields])
            if kit.leaves[number]:
                left.append((fiber, child, tuple(rest[fields:])))
            if kit.written_below[number - 1]:
                flags[child] = False
        name = loop.node.index
        found = {Way(way.tensor, (*way.names, name)): children[self.fiber(way, here)] for way in loop.unfurls}
        indices, fibers = {**here.indices, name: index}, {**here.fibers, **found}
        inside = Around(here.task, indices, fibers, (flags, *here.flags), here.open)
        self.items(loop.body, inside)
        for fiber, child, bound in reversed(left):
            self._leave(fiber, child, bound, index, cursors, inside)

    def _leave(
        self, fiber: Fiber, child: Fiber, bound: tuple, index: int, cursors: dict[Fiber, tuple], inside: Around
    ) -> None:
        T, number, _, instance = fiber
        kit = self.kits[T]
        written = kit.written_below[number - 1] and inside.flags[0][child]
        inputs = (inside.task, *cursors[fiber], index, *bound)
        cursors[fiber], _ = kit["leave", number, written](self.memory, instance, inputs)
        if written and kit.written_below[number]:
            self._mark(fiber, inside)

    # ----------------------------------------------------------------------------------------------- parallel loops

    def parallel(self, loop: Loop, r: Any, here: Around) -> None:
        """The tasks of a region, one after the other; one that gets no further leaves the others their turns."""
        D, schedule = r.device, r.schedule
        if D.parent != here.task.device:
            raise Fault(f"{D} is spawned from {D.parent}, and this loop runs on {here.task.device}")
        self.regions += 1
        region = self.regions
        shares = self._shares(*self._ends(r.range, here), D.nthreads, schedule, region)
        memory = self.memory
        strand, locks, stopped = memory.strand, memory.locks, False
        for q in range(1, D.nthreads + 1)[:: self.order]:
            memory.strand, memory.locks = (*strand, (region, q)), locks
            inside = Around(Task(D, q, here.task), here.indices, here.fibers, here.flags, here.open)
            try:
                self._task(loop, shares[q - 1], inside)
            except Fault as fault:
                self.fault = self.fault or fault.message
                stopped = True
            except Stopped:
                stopped = True
        memory.strand, memory.locks = strand, locks
        if stopped:
            raise Stopped

    def _task(self, loop: Loop, chunks: Sequence[tuple[int, int]], here: Around) -> None:
        tops: dict[tuple[str, tuple], int] = {}
        for way in loop.reaches:
            T, number, _, instance = self.fiber(way, here)
            tops[T, instance] = max(number, tops.get((T, instance), 0))
        for (T, instance), number in tops.items():
            self.kits[T]["checkout", number](self.memory, instance, (here.task,))
        for a, b in chunks:
            self.serial(loop, a, b, here)
        for (T, instance), number in tops.items():
            self.kits[T]["commit", number](self.memory, instance, (here.task,))

    def _shares(self, a: int, b: int, n: int, schedule: Any, region: int) -> list[list[tuple[int, int]]]:
        """The iterations of each thread: its static share, or the dynamic chunks that it is dealt."""
        size = max(b - a + 1, 0)
        if schedule.kind == "static":
            return [[(a + q * size // n, a + (q + 1) * size // n - 1)] for q in range(n)]
        chunks = [(j, min(j + schedule.step - 1, b)) for j in range(a, b + 1, schedule.step)]
        return [[chunks[k] for k in share] for share in self.deal(region, len(chunks), n)]


# ------------------------------------------------------------------------------------------------------------ the truth


def dealt(stride: int, bit: int | None = None) -> Deal:
    """Chunk k goes to thread stride·k, or to the next one in regions whose number, counted from 0, has that bit set."""

    def deal(region: int, chunks: int, threads: int) -> Sequence[Sequence[int]]:
        taken: list[list[int]] = [[] for _ in range(threads)]
        turned = 0 if bit is None else (region - 1) >> bit & 1
        for k in range(chunks):
            taken[(stride * k + turned) % threads].append(k)
        return taken

    return deal


IN_TURN, TO_ONE = dealt(1), dealt(0)


def turned(region: int, chunks: int, threads: int) -> Sequence[Sequence[int]]:
    """One chunk a thread, from the last thread on: copies that are merged by = are merged in the order of threads."""
    return IN_TURN(region, chunks, threads)[::-1]


def mixed(bit: int, spread: int, last: int) -> Deal:
    """One chunk a thread in regions whose number has that bit equal to `spread`, from the last thread on if `last`;
    in the others all to one.
    """

    def deal(region: int, chunks: int, threads: int) -> Sequence[Sequence[int]]:
        if (region - 1) >> bit & 1 != spread:
            return TO_ONE(region, chunks, threads)
        return turned(region, chunks, threads) if last else IN_TURN(region, chunks, threads)

    return deal


def further_deals(regions: int) -> Iterator[Deal]:
    """Beside one chunk a thread: all to one, and others so that any two regions are once dealt differently."""
    yield TO_ONE
    for bit in range((regions - 1).bit_length()):
        yield dealt(1, bit)
        yield dealt(0, bit)
        for spread, last in product((0, 1), repeat=2):
            yield mixed(bit, spread, last)


def _loops(items: Sequence[Item]) -> Iterator[Loop]:
    for item in items:
        if isinstance(item, Loop):
            yield item
            yield from _loops(item.body)


def _dynamic(items: Sequence[Item]) -> bool:
    ranges = (loop.node.range for loop in _loops(items))
    calls = (r.schedule for r in ranges if isinstance(r, ir.Parallel))
    return any(not isinstance(call, ir.Variable) and call.kind == "dynamic" for call in calls)


def executions(items: Sequence[Item], kits: Mapping[str, Kit], values: bool = False) -> Iterator[Execution]:
    """The runs that a program gets, each when it has ended; one more if it is told by its `values`."""

    def both(deal: Deal) -> Iterator[Execution]:
        for order in (1, -1):
            run = Execution(kits, order, deal)
            try:
                run.items(items, Around(ROOT))
            except Fault as found:
                run.fault = run.fault or found.message
            except Stopped:
                pass
            yield run
            if not run.regions:
                return

    regions = 0
    for run in both(IN_TURN):
        regions = max(regions, run.regions)
        yield run
    if regions and _dynamic(items):
        for deal in (*further_deals(regions), *([turned] if values else [])):
            yield from both(deal)


def judge(items: Sequence[Item], kits: Mapping[str, Kit], values: bool = False) -> Truth:
    """Judge a planned program over towers; once a race is found, the rest does not matter.

    If `values`, runs that go well are read, and compared with the sequential result.
    """
    fault, deadlock, wrong = "", None, False
    for run in executions(items, kits, values):
        fault = fault or run.fault
        deadlock = deadlock or run.memory.deadlock or deadlock_in(run.memory)
        race = race_in(run.memory)
        if race:
            return Truth(race, fault, deadlock)
        if values and not (fault or deadlock):
            wrong = wrong or elements(run.memory, kits) != meaning(items, kits)
    return Truth(None, fault, deadlock, wrong)


Elements = dict[tuple[str, tuple[int, ...]], Any]
"""The elements of tensors, by tensor and subscripts, that differ from the fill value."""


def elements(memory: Memory, kits: Mapping[str, Kit]) -> Elements:
    """The elements after a run, frozen and read."""
    found: Elements = {}
    for T, kit in kits.items():
        kit["freeze",](memory, (), (ROOT,))
        cells = {frames.Cell("", *cell[1:]): value for cell, value in memory.cells.items() if cell[0] == T}
        entries = Tensor(kit.tower, Cells(cells), kit.z).entries()
        found.update(((T, at), value) for at, value in entries if value != kit.z)
    return found


def meaning(items: Sequence[Item], kits: Mapping[str, Kit]) -> Elements:
    """The sequential result of the program: its loops one iteration after the other, on dense arrays."""
    found: Elements = {}

    def walk(items: Sequence[Item], indices: Mapping[str, int]) -> None:
        for item in items:
            if isinstance(item, Loop):
                r = item.node.range
                ends = r.range if isinstance(r, ir.Parallel) else r
                assert isinstance(ends, ir.Range)
                for index in range(value_of(ends.start, indices), value_of(ends.stop, indices) + 1):
                    walk(item.body, {**indices, item.node.index: index})
            elif isinstance(item, Update):
                kit, at = kits[item.way.tensor], tuple(indices[name] for name in reversed(item.way.names))
                key = item.way.tensor, at
                value = value_of(item.value, indices)
                found[key] = value if kit.op == "=" else algebra.apply(kit.op, found.get(key, kit.z), value)

    walk(items, {})
    return {key: value for key, value in found.items() if value != kits[key[0]].z}
