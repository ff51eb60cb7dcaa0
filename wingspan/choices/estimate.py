"""Running time of a bound program with its threads, estimated from its formats, its extents and its inputs.

The unit is one update of an element of dense levels in compiled C, about a nanosecond. A parallel loop takes as long as
its busiest thread, which follows from how many elements its inputs store at each index of the loop, and never less than
the work under one lock. What else parallelism costs, by the tables below, is what `bench/parallelize.py --costs`
measures, rounded. Only ratios of estimates mean anything, and only for programs with the same inputs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field
from itertools import pairwise
from math import prod

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Span
from wingspan.base.libraries import np
from wingspan.choices.counts import ExecutionCounts
from wingspan.elaborate import Elaborated
from wingspan.lang import ir
from wingspan.lang.devices import Device, Schedule
from wingspan.levels.base import Discipline, Gated, Level

COSTS = {
    "iteration": 1.0,
    "update": 1.0,
    "start": 5_000.0,
    "chunk": 20.0,
}
"""The cost of each event, in updates of a dense element.

- `iteration` of a loop; `update` of an element;
- `start`: the threads of a device start and end; `chunk`: a thread takes the next iterations of a dynamic loop;

What levels and modifiers add is theirs to say (`Level.cost`): levels that store all indices add nothing to a visit.
"""

THREADS = 2
"""The stand-in for a number of threads that is left open."""


@dataclass(frozen=True)
class TimeEstimate:
    """The work of a program, by all its threads together, and the time until the last one ends."""

    work: float
    time: float

    def __add__(self, other: TimeEstimate) -> TimeEstimate:
        return TimeEstimate(self.work + other.work, self.time + other.time)


def profitable_loops(bound: Elaborated, threads: int) -> set[Span]:
    """The loops of a serial program for which it may pay to start threads, by their places.

    At best they share the work of a loop evenly, and each time they start costs `start`.
    """
    clock = _Clock(bound)
    clock.estimate_node(bound.body, {}, 1.0)
    return {
        span for span, (entered, time) in clock.loops.items() if time * (1 - 1 / threads) > COSTS["start"] * entered
    }


def estimate(bound: Elaborated) -> TimeEstimate:
    """Estimate the time of a program, serial or parallel. It may be bound symbolically, with inputs or without them."""
    return _Clock(bound).estimate_node(bound.body, {}, 1.0)


@dataclass
class _SharedWork:
    """The work common to the threads of the parallel loop around a statement, as far as it was visited."""

    index: str
    length: int
    whole: bool
    threads: int
    spread: np.ndarray
    """the executions of updates, by the iteration of the loop"""
    locked: list[float] = field(default_factory=list)
    """the work under the busiest lock of each Mutex"""
    inner: list[np.ndarray] = field(default_factory=list)
    """the lengths of the loops around a statement, by the iteration of this one"""


class _Clock(ExecutionCounts):
    def __init__(self, bound: Elaborated) -> None:
        super().__init__(bound)
        self.updates: defaultdict[str, float] = defaultdict(float)
        """the updates of a tensor since it was declared"""
        self.around: list[_SharedWork] = []
        self.loops: defaultdict[Span, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
        """the number of times that a loop is entered, by its place, and the time that it takes in all"""
        self._counted: dict[tuple[str, int], np.ndarray] = {}

    def estimate_node(self, s: ir.Node, around: dict[str, int], reached: float) -> TimeEstimate:
        """Estimate a statement, given the extents of the loops around it, and the number of times it is reached."""
        match s:
            case ir.Block(statements=statements):
                return sum((self.estimate_node(each, around, reached) for each in statements), TimeEstimate(0, 0))
            case ir.If(body=body):
                return _alone(reached) + self.estimate_node(body, around, reached)
            case ir.For(range=ir.Parallel()):
                return self.parallel(s, around)
            case ir.For():
                return self.loop(s, around)
            case ir.Assign():
                return self.assign(s, around)
            case ir.Set():
                return _alone(self.execution_count(s, around) * COSTS["update"])
            case ir.Declare(tensor=T):
                self.updates[T] = 0.0
                return _alone(reached)
            case ir.Freeze(tensor=T):
                return self.freeze(T, reached)
        return TimeEstimate(0, 0)

    # ---------------------------------------------------------------------------------------------------------- loops

    def loop(self, s: ir.For, around: dict[str, int], threads: int = 1) -> TimeEstimate:
        """A serial loop, or the iterations of a parallel one."""
        n = self.length(s.range, around)
        inner = {**around, s.index: n}
        entered = self.execution_count(s, around)
        iterations = self.execution_count(s.body, inner)
        steps = _alone(self.visited_indices(s, around, n, entered) * COSTS["iteration"])
        uneven = [shared for shared in self.around if shared.whole and shared.index in around]
        for shared in uneven:
            shared.inner.append(self.lengths(s.range, around, shared.index))
        done = steps + self.estimate_node(s.body, inner, iterations)
        for shared in uneven:
            shared.inner.pop()
        for T, (level, modifiers, positions) in self.updated_levels(s):
            own = 0.0 if level.lookup else level.cost.visit
            done += _alone(own * iterations)
            done += self.modifier_costs(T, modifiers, positions, entered * threads, done.time)
        if s.span is not None:
            before = self.loops[s.span]
            self.loops[s.span] = before[0] + entered, before[1] + done.time
        return done

    def visited_indices(self, s: ir.For, around: dict[str, int], n: int, entered: float) -> float:
        """The indices at which a loop stops: all, or if it would do nothing at others those that its inputs store."""
        drivers: dict[str, float] = {}
        for access, updates in ir.accesses(s.body):
            if not updates and any(i == ir.Index(s.index) for i in access.subscripts):
                share, outside = self.share(access, {**around, s.index: n}), self.share(access, around)
                if share < outside:
                    drivers[access.fiber.tensor] = n * share / outside
        if not drivers or not self.falls_away(s.body, drivers):
            return entered * n
        return entered * min(sum(drivers.values()), n)

    def parallel(self, s: ir.For, around: dict[str, int]) -> TimeEstimate:
        """A parallel loop: its threads start, the busiest one works, and all end."""
        r = s.range
        assert isinstance(r, ir.Parallel)
        assert isinstance(r.device, Device)
        assert isinstance(r.schedule, Schedule)
        n = self.length(r, around)
        threads = THREADS if r.device.open else r.device.nthreads
        whole = isinstance(r.range, ir.Range) and r.range.start == ir.Literal(1)
        self.around.append(_SharedWork(s.index, n, whole, threads, np.zeros(n)))
        done = self.loop(s, around, threads)
        shared = self.around.pop()
        entered = self.execution_count(s, around)
        busiest, chunks = _busiest(shared.spread, threads, r.schedule)
        path = float(max([done.time * busiest, *shared.locked]))
        extra = entered * (COSTS["start"] * (threads > 1) + COSTS["chunk"] * chunks / threads)
        return TimeEstimate(done.work + extra, path + extra)

    # -------------------------------------------------------------------------------------------------------- updates

    def assign(self, s: ir.Assign, around: dict[str, int]) -> TimeEstimate:
        """The executions of an assignment that do not fall away."""
        times, T = self.execution_count(s, around), s.access.fiber.tensor
        self.updates[T] += times
        for shared in self.around:
            shared.spread += times * self.profile(s, around, shared)
        done = _alone(times * COSTS["update"])
        outside = prod(self.extents(T))
        tower = self.bound.towers[T].levels
        leaf = [level for level in tower if level.leaf]
        done += self.modifier_costs(T, [*_around(tower, leaf[0]), *leaf], outside, times, times * COSTS["update"])
        for subscript, (level, modifiers, positions) in self.storage(s.access):
            if not (isinstance(subscript, ir.Index) and subscript.name in around):
                own = 0.0 if level.lookup else level.cost.visit
                done += _alone(times * own) + self.modifier_costs(T, modifiers, positions, times, done.time)
        return done

    def storage(self, access: ir.Access) -> Iterator[tuple[ir.Expression, tuple[Level, list[Level], int]]]:
        """The storage levels of an access from the root: the subscript, the modifiers around, the number of fibers."""
        tower = self.bound.towers[access.fiber.tensor]
        extents, positions = self.extents(access.fiber.tensor), 1
        for subscript, level, n in zip(reversed(access.subscripts), tower.storage, extents, strict=False):
            yield subscript, (level, _around(tower.levels, level), positions)
            positions *= n

    def updated_levels(self, s: ir.For) -> Iterator[tuple[str, tuple[Level, list[Level], int]]]:
        """The levels whose children a loop updates: tensor, level, the modifiers around it, its number of fibers."""
        seen: set[tuple[str, int]] = set()
        for access, updates in ir.accesses(s.body):
            for depth, (subscript, found) in enumerate(self.storage(access)) if updates else ():
                if subscript == ir.Index(s.index) and (access.fiber.tensor, depth) not in seen:
                    seen.add((access.fiber.tensor, depth))
                    yield access.fiber.tensor, found

    def modifier_costs(self, T: str, modifiers: list[Level], fibers: int, visits: float, inside: float) -> TimeEstimate:
        """The cost that modifiers add to so many visits of a tensor's fibers, with the work inside."""
        added = sum(level.cost.visit for level in modifiers) * visits
        if any(level.discipline is Discipline.INSTANCE for level in modifiers):
            held = min(self.updates[T], prod(self.extents(T))) / max(fibers, 1)
            added += visits * held * sum(level.cost.sorted for level in self.bound.towers[T].levels)
        for level in modifiers:
            if level.cost.met and self.around:
                shared = self.around[-1]
                added += visits * level.cost.met * min((shared.threads - 1) / max(fibers, 1), 1.0)
                if level.discipline and level.discipline.locks:
                    shared.locked.append((inside + added) / max(fibers, 1))
        return _alone(added)

    def profile(self, s: ir.Assign, around: dict[str, int], shared: _SharedWork) -> np.ndarray:
        """The distribution of an assignment's executions over the iterations of a parallel loop around it."""
        found = np.prod([np.ones(shared.length), *shared.inner], axis=0)
        for names, _ in self.required_tensors(s, around):
            counts = [
                self.elements_per_index(access.fiber.tensor, axis)
                for access, updates in ir.accesses(s)
                if not updates and access.fiber.tensor in names and access.fiber.tensor in self.inputs
                for axis, subscript in enumerate(access.subscripts)
                if subscript == ir.Index(shared.index)
            ]
            fitting = [each for each in counts if shared.whole and len(each) == shared.length]
            if fitting:
                found = found * np.sum(fitting, axis=0)
        total = found.sum()
        return found / total if total else np.full(shared.length, 1 / max(shared.length, 1))

    def elements_per_index(self, name: str, axis: int) -> np.ndarray:
        """The number of elements that an input stores at each index of an axis."""
        if (name, axis) not in self._counted:
            tensor = self.inputs[name]
            at, _ = tensor.coordinates()
            self._counted[name, axis] = np.bincount(np.asarray(at[axis]), minlength=tensor.shape[axis])
        return self._counted[name, axis]

    def freeze(self, T: str, reached: float) -> TimeEstimate:
        """The end of a phase of updates: copies are brought together, and it is known how full the tensor is."""
        updates, cells = self.updates[T] / max(reached, 1.0), prod(self.extents(T))
        tower = self.bound.towers[T]
        full = all(level.lookup for level in tower.storage)
        if not full:
            self.filled[T] = _hit(updates, cells)
        done = _alone(reached)
        for level in tower.levels:
            if isinstance(level, Gated) and level.discipline is Discipline.COPY:
                threads = THREADS if level.on.open else level.on.nthreads
                entries = cells if full else cells * _hit(updates / threads, cells)
                inner = (tower.leaf, *tower.storage)[-1]
                done += _alone(reached * threads * entries * inner.cost.merged)
        return done


def _alone(work: float) -> TimeEstimate:
    """Work that one thread does."""
    return TimeEstimate(work, work)


def _hit(updates: float, cells: int) -> float:
    """The share of so many cells that so many updates reach, if each goes anywhere."""
    return -float(np.expm1(-updates / cells)) if cells else 0.0


def _around(tower: tuple[Level, ...], inner: Level) -> list[Level]:
    """The modifiers directly around a level."""
    found: list[Level] = []
    for level in tower:
        if level is inner:
            return found
        found = [*found, level] if level.modifier else []
    return found


def _busiest(spread: np.ndarray, threads: int, schedule: Schedule) -> tuple[float, float]:
    """The share of the work that the busiest thread has, and the number of chunks that are taken."""
    total = spread.sum()
    if schedule.kind == "static":
        ends = [q * len(spread) // threads for q in range(threads + 1)]
        largest = max(float(spread[a:b].sum()) for a, b in pairwise(ends))
        return (largest / total if total else 1 / threads), 0.0
    step = max(schedule.step, 1)
    parts = np.add.reduceat(spread, np.arange(0, len(spread), step)) if len(spread) else spread
    largest = float(parts.max() / total) if total and len(parts) else 1 / threads
    return min((1 + (threads - 1) * largest) / threads, 1.0), len(parts)
