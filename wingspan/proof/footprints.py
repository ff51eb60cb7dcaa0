"""Footprints: the accesses of each operation of a level, by its own staged text around a probe.

The probe stands for whatever is below. Its text notes which of its operations are asked for, by accesses to buffers of
its own: `at[p]` for what is done to the child at p alone (assemble: a write; equal: reads), `whole` for what concerns
all of an instance (declare, freeze, thaw), `moved` for checkout and commit, and `visit[p]` for an update of the child.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Literal

import z3

from wingspan.base.dataclass import dataclass
from wingspan.buffers import procedures
from wingspan.buffers.ops import Procedure, Reg
from wingspan.buffers.staging import Stager, definitions
from wingspan.lang.devices import OPEN, Device
from wingspan.levels import Tower, base
from wingspan.levels.base import EVERY, Dependence, Leaf, Level, Modifier, Storage
from wingspan.levels.merge import Merge
from wingspan.proof.abstract import AbstractCell, AbstractRun, BufferAccess, Z3Term

Operation = Literal["visit", "assemble", "equal", "moved"]
Context = Literal["level", "leaf", "early", "late"]
"""The context of a level: a storage level; a leaf; a modifier that is entered with its parent's index; one that takes
effect with the storage level or leaf that it wraps.
"""

DEVICE = Device("d", OPEN)
"""The device of the parallel loop, with any number of threads."""

PROBE = """
    def declare():
        whole[1] = 0
    def assemble(p):
        at[p] = 0
    def freeze(P):
        whole[1] = 0
    def thaw(P):
        whole[1] = 0
    def checkout():
        moved[1] = 0
    def commit():
        moved[1] = 0
    def equal(p, q):
        x = at[p]
        y = at[q]
        return x == y
    def copy(p, q):
        x = at[p]
        at[q] = x
    def coalesce(local, global_, task, m, P):
        whole[1] = 0
"""
BUFFERS = tuple(base.Buffer(name, "flag", "", "") for name in ("at", "whole", "moved", "visit"))
PROBE_BUFFERS = frozenset(buffer.name for buffer in BUFFERS)


@dataclass(frozen=True)
class Probe(Leaf):
    """A leaf that stands for any."""

    buffers = BUFFERS
    operations = f"""{PROBE}
    def increment(p, v):
        visit[p] = 0
    """


@dataclass(frozen=True)
class ProbeLevel(Storage):
    """A storage level that stands for any."""

    buffers = BUFFERS
    operations = f"""{PROBE}
    def open(c):
        visit[c.p] = 0
    def enter(c, i):
        visit[c.p] = 0
        return c.p
    def exit(c, i):
        visit[c.p] = 0
    def close(c):
        visit[c.p] = 0
    """


@dataclass(frozen=True)
class TransparentLevel(Storage):
    """A storage level whose children are its fibers."""

    operations = f"""{PROBE.replace("at[p] = 0", "child.assemble(p)")}
    def open(c):
        pass
    def enter(c, i):
        return c.p
    def exit(c, i):
        pass
    def close(c):
        pass
    """

    def stability(self) -> frozenset[Dependence]:
        return EVERY


@dataclass(frozen=True)
class TaskSide:
    """One of two tasks: its name, and its instance, position, index and thread."""

    name: str

    def __getattr__(self, what: str) -> Z3Term:
        return z3.Int(f"{self.name}.{what}")


X, Y = TaskSide("x"), TaskSide("y")
EXTENT, THREADS = z3.Int("n"), z3.Int("threads")
ROWS = [z3.Implies(a.p < b.p, a.p * EXTENT <= (b.p - 1) * EXTENT) for a, b in ((X, Y), (Y, X))]
"""Condition: the cells of two positions, as many for each as the extent, do not overlap (L0)."""

FACTS: dict[str, dict[str, Callable[[Z3Term], Z3Term]]] = {
    "Merge": {"now": lambda now: z3.Or(now == 0, now == THREADS + 1)},
}
"""L1, by level and buffer: what holds of cells while a tensor is updated. `lemmas` proves it of the levels' text."""


@dataclass(frozen=True)
class Footprint:
    """The accesses of one operation, depths counted from the level on."""

    accesses: tuple[BufferAccess, ...]
    below: int
    """the depth from which on they are the probe's"""
    keeps: bool
    """whether positions and bound keys survive an iteration (L4)"""


@dataclass(frozen=True)
class Subject:
    """A level in a place, whatever is below it."""

    level: Level
    context: Context

    @property
    def name(self) -> str:
        """The level, and where it stands if that matters."""
        return f"{self.level.name} ({self.context})" if self.level.modifier else self.level.name

    def supports(self, operation: Operation) -> bool:
        """Whether the level has an operation."""
        return operation != "equal" or "equal" in definitions(self.level.operations)

    def footprint(self, operation: Operation, side: TaskSide, held: tuple[AbstractCell, ...]) -> Footprint:
        """The accesses that a task may make by it, in a phase of + or of =; `held`: the locks that it has."""
        runs = [
            OperationRun(self, tower, op, TaskSide(side.name), f"{side.name}.{k}{op}", held)
            for op in (("+", "=") if self.context == "leaf" else ("+",))  # no other text depends on it
            for k, tower in enumerate(self.towers())
        ]
        for run in runs:
            run.operate(operation)
        accesses = tuple(access for run in runs for access in run.accesses())
        return Footprint(accesses, runs[0].below - runs[0].depth, all(run.keeps for run in runs))

    def towers(self) -> Iterator[Tower]:
        """The level around each kind of probe that there may be."""
        match self.level:
            case Leaf():
                yield tower_of(TransparentLevel(self.level))
                yield tower_of(TransparentLevel(Merge(self.level, DEVICE)))  # copies: see `base.WRITTEN`
            case Modifier() if self.context == "late":
                yield tower_of(_around(self.level, Probe(0)))
                yield tower_of(_around(self.level, ProbeLevel(Probe(0))))
            case Modifier():
                yield tower_of(TransparentLevel(_around(self.level, Probe(0))))
            case _:
                yield tower_of(self.level)


class OperationRun:
    """One task's run of an operation of a subject in a tower.

    With exact `memory`, by buffer of the level, a visit is one of a single index.
    """

    def __init__(
        self,
        subject: Subject,
        tower: Tower,
        op: str,
        side: TaskSide,
        name: str,
        held: tuple[AbstractCell, ...] = (),
        memory: Mapping[str, Z3Term] | None = None,
    ) -> None:
        self.context, self.tower, self.op, self.side = subject.context, tower, op, side
        self.depth = next(d for d, level in enumerate(tower.levels) if type(level) is type(subject.level))
        probes = (d for d, level in enumerate(tower.levels) if isinstance(level, Probe | ProbeLevel))
        self.below, self.keeps = next(probes, len(tower.levels)), True
        shared = dict.fromkeys(procedures.open_extents(tower), EXTENT)
        shared |= dict.fromkeys(procedures.open_threads(tower), THREADS)
        facts = {
            (d, buffer): fact
            for d, level in enumerate(tower.levels)
            for buffer, fact in FACTS.get(level.name, {}).items()
        }
        exact = {(self.depth, buffer): cells for buffer, cells in (memory or {}).items()}
        self.exact = memory is not None
        self.run = AbstractRun(name, shared, {DEVICE.id: side.t}, facts, exact)
        self.run.held = list(held)

    def accesses(self) -> Iterator[BufferAccess]:
        for access in self.run.accesses:
            if access.cell.depth >= self.depth:
                yield replace(access, cell=self._relative(access.cell), held=tuple(map(self._relative, access.held)))

    def _relative(self, cell: AbstractCell) -> AbstractCell:
        return cell if cell.depth < 0 else replace(cell, depth=cell.depth - self.depth)

    def operate(self, operation: Operation) -> None:
        at = Reg("position")
        if operation == "visit":
            self._visit()
        elif operation == "assemble":
            self._ask("assemble", at)
        elif operation == "equal":
            self._ask("equal", at, at)
        else:
            self._ask("checkout")
            self._ask("commit")

    def _ask(self, name: str, *given: Reg) -> None:
        stager = Stager(self.tower, self.op)
        stager.call(self.depth, name, given, ())
        self.run.run(Procedure(name, ("position",), tuple(stager.out)), position=self.side.p)

    def _visit(self) -> None:
        number = self.tower.numbers[self.depth]
        if self.context == "early":
            self._fiber(number + 1, self.side.p, self.side.i)
        elif number == 1:
            code = procedures.increment(self.tower, self.op)
            self.run.run(code.procedure, position=self.side.p, value=self.run.unknown("value"))
        else:
            self._fiber(number, self.side.p, self.side.i)

    def _fiber(self, number: int, position: Z3Term, index: Z3Term) -> None:
        """A visit of a fiber, by the procedures that the rules run and in their order; one index stands for all."""
        visit, run, tower, op = procedures.VISIT, self.run, self.tower, self.op
        opened = run.run(visit.open(tower, number, op).procedure, position=position, start=run.unknown("start"))
        kept = self._between(number, opened)
        run.path += [index >= 1, index <= EXTENT]
        entered = run.run(visit.enter(tower, number, op).procedure, **kept, index=index)
        child, keys = entered.pop("position"), run.keys
        below = tower.levels[tower.depths[number - 1]]
        if below.continues:
            self._fiber(number - 1, child, run.unknown("index"))
        elif self.context != "late":
            visited = AbstractCell(self.below, "visit", keys, child)
            run.accesses.append(BufferAccess(visited, "write", run.guard, tuple(run.held), "enter"))
        left = run.run(visit.leave(tower, number, True, op).procedure, **entered, index=index)
        left = {**entered, **left}
        run.run(visit.close(tower, number, op).procedure, **self._between(number, left))
        lasting = [name for name in procedures.cursor(tower, number) if not name.startswith("c.") or name == "c.p"]
        self.keeps &= all(z3.eq(left[name], kept[name]) for name in lasting)

    def _between(self, number: int, cursor: Mapping[str, Z3Term]) -> dict[str, Z3Term]:
        """The cursor in some iteration: of its fields, only the position is what it was."""
        if self.exact:
            return dict(cursor)
        fields = procedures.cursor(self.tower, number)
        return {
            name: self.run.unknown(name) if name.startswith("c.") and name != "c.p" else cursor[name] for name in fields
        }


def _around(level: Level, child: Level) -> Level:
    return replace(level, child=child)  # type: ignore[call-arg]


def tower_of(root: Level) -> Tower:
    """The tower under a level, with open extents."""
    rank = Tower.of(root, ()).rank
    return Tower.of(root, (OPEN,) * rank)
