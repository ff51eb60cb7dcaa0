"""The base of the trace oracle: memory that logs who touches what, and the levels' procedures as functions.

A *strand* is the way to a task: the region instance and the thread at each parallel loop. Two accesses of strands that
part in one region instance race if they meet in a cell, one of them writes, not both are atomic, and no lock keeps them
apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from wingspan.base.errors import Fault
from wingspan.buffers import procedures
from wingspan.buffers.frames import LinearCode
from wingspan.lang import algebra
from wingspan.levels import Tower
from wingspan.levels.base import FIBER

Strand = tuple[tuple[int, int], ...]
"""(region instance, thread), outermost first; the root task's is empty."""

Cell = tuple[str, int, str, tuple, int]
"""Tensor, depth, buffer, instance, offset."""

Locks = frozenset[tuple[Cell, Strand]]
"""Locks that are held, and the strands that took them."""

READ, WRITE, ATOMIC = range(3)


class Stopped(Exception):
    """A task that gets no further."""


# ------------------------------------------------------------------------------------------------------------- memory


class Memory:
    """Cells that log who touches them; `strand` is the task that runs, `locks` what it and its ancestors hold."""

    def __init__(self) -> None:
        self.cells: dict[Cell, Any] = {}
        self.touched: dict[Cell, set[tuple[Strand, int, Locks]]] = {}
        self.waits: set[tuple[Strand, Locks, Cell]] = set()
        self.strand: Strand = ()
        self.locks: Locks = frozenset()
        self.deadlock: Cell | None = None

    def touch(self, cell: Cell, effect: int) -> None:
        if self.strand:
            self.touched.setdefault(cell, set()).add((self.strand, effect, self.locks))

    def acquire(self, cell: Cell) -> None:
        holder = self.cells.get(cell, 0)
        if holder != 0:
            if holder == self.strand[: len(holder)]:
                self.deadlock = cell
            raise Stopped
        self.touch(cell, ATOMIC)
        if self.locks:
            self.waits.add((self.strand, self.locks, cell))
        self.cells[cell] = self.strand
        self.locks |= {(cell, self.strand)}

    def release(self, cell: Cell) -> None:
        self.touch(cell, ATOMIC)
        self.locks -= {(cell, self.cells[cell])}
        self.cells[cell] = 0


def concurrent(a: Strand, b: Strand) -> bool:
    """Whether the two part at one region instance: else one comes before the other, or waits for it."""
    for (r, t), (s, u) in zip(a, b, strict=False):
        if (r, t) != (s, u):
            return r == s
    return False


def apart(a: Locks, b: Locks) -> bool:
    """Whether a lock keeps the two apart. One that a common ancestor holds does not."""
    return any(cell == other and p != q for cell, p in a for other, q in b)


def race_in(memory: Memory) -> Cell | None:
    """A cell that logged accesses race for."""
    for cell, accesses in memory.touched.items():
        if len(accesses) > 1:
            for (s, e, a), (t, f, b) in combinations(accesses, 2):
                if (e or f) and not e == f == ATOMIC and concurrent(s, t) and not apart(a, b):
                    return cell
    return None


def deadlock_in(memory: Memory) -> Cell | None:
    """A lock in a circle of concurrent tasks each of which waits for a lock that the next one holds."""
    waits = sorted(memory.waits, key=repr)

    def circle(chain: list[tuple[Strand, Locks, Cell]]) -> bool:
        wanted = chain[-1][2]
        if len(chain) > 1 and any(cell == wanted for cell, _ in chain[0][1]):
            return True
        return any(
            circle([*chain, (strand, held, cell)])
            for strand, held, cell in waits
            if any(lock == wanted for lock, _ in held)
            and all(concurrent(strand, other) and not apart(held, locks) for other, locks, _ in chain)
        )

    return next((wait[2] for wait in waits if circle([wait])), None)


# --------------------------------------------------------------------------------------------------------- procedures

Run = Callable[[Memory, tuple, Sequence[Any]], tuple[tuple, tuple]]
"""Memory, instance, inputs after z → results in their order, and the instance that the procedure descends to."""

KINDS = {"set": 0, "branch": 1, "jump": 2, "check": 3, "end": 4}
KINDS |= {"load": 5, "store": 6, "atomic": 7, "acquire": 8, "release": 9, "sort": 10}


def runner(code: LinearCode, tensor: str, z: Any) -> Run:
    """A procedure of a tensor as one function."""
    steps: list[Any] = [
        (KINDS[s.kind], s.compute, s.writes, s.target, s.ref and (tensor, s.ref.depth, s.ref.buffer), s.keys, s.at, s)
        for s in code.instructions
    ]
    slots = [slot for _, slot in code.inputs]
    size, results, keys = code.size, [made for _, made in code.results], code.keys

    def run(memory: Memory, instance: tuple, inputs: Sequence[Any]) -> tuple[tuple, tuple]:
        r: list[Any] = [None] * size
        for slot, value in zip(slots, (z, *inputs), strict=True):
            r[slot] = value
        pc = 0
        while True:
            kind, compute, writes, target, place, inner, at, step = steps[pc]
            pc += 1
            if kind == 0:
                r[writes] = compute(r)
            elif kind == 1:
                if not compute(r):
                    pc = target
            elif kind == 2:
                pc = target
            elif kind == 3:
                violated = compute(r)
                if violated is not None:
                    raise Fault(step.message.format(tensor=tensor, **violated))
            elif kind == 4:
                break
            else:
                where = (*instance, *((tag, key(r)) for tag, key in inner)) if inner else instance
                cell = (*place, where, at(r))
                if kind == 5:
                    memory.touch(cell, READ)
                    r[writes] = memory.cells.get(cell, 0)
                else:
                    access(memory, kind, cell, step.op, compute(r) if compute else None)
        found = (*instance, *((tag, key(r)) for tag, key in keys)) if keys else instance
        return tuple([made(r) for made in results]), found

    return run


def access(memory: Memory, kind: int, cell: Cell, op: str, value: Any) -> None:
    """Perform an access that is no load."""
    if kind == 6:
        memory.touch(cell, WRITE)
        memory.cells[cell] = value
    elif kind == 7:
        memory.touch(cell, ATOMIC)
        memory.cells[cell] = algebra.apply(op, memory.cells.get(cell, 0), value)
    elif kind == 8:
        memory.acquire(cell)
    elif kind == 9:
        memory.release(cell)
    else:
        cells = [(*cell[:4], k) for k in range(1, cell[4] + 1)]
        for each in cells:
            memory.touch(each, READ)
            memory.touch(each, WRITE)
        memory.cells.update(zip(cells, sorted(memory.cells.get(each, 0) for each in cells), strict=True))


class Kit:
    """The procedures of a tensor in a phase of ⊕, each made when it is first needed."""

    def __init__(self, tower: Tower, op: str = "+", tensor: str = "T") -> None:
        self.tower, self.op, self.tensor = tower, op, tensor
        self.z = algebra.exact(tower.fill)
        self.made: dict[tuple, Run] = {}
        self.fields = {number: len(procedures.cursor(tower, number)) for number in range(2, tower.rank + 2)}
        self.written_below = {number: tower.tracks_writes(number) for number in range(1, tower.rank + 2)}
        self.leaves = {
            number: tower.tracks_writes(number - 1) or procedures.unbinds(tower, tower.entry_modifiers(number - 1))
            for number in self.fields
        }
        """whether something is to be done when an index of a fiber of that level is left"""
        levels = {number: tower.levels[tower.depths[number]] for number in self.fields}
        self.closes = {
            number: not level.lookup or procedures.unbinds(tower, tower.use_modifiers(number))
            for number, level in levels.items()
        }
        self.once = {
            number: level.once and not any(tower.levels[depth].key == FIBER for depth in tower.use_modifiers(number))
            for number, level in levels.items()
        }

    def __getitem__(self, wanted: tuple) -> Run:
        run = self.made.get(wanted)
        if run is None:
            run = self.made[wanted] = runner(self._code(*wanted), self.tensor, self.z)
        return run

    def _code(self, name: str, *args: Any) -> LinearCode:
        match name:
            case "open":
                return procedures.open_(self.tower, *args, self.op)
            case "enter":
                return procedures.enter(self.tower, *args, self.op)
            case "leave":
                return procedures.leave(self.tower, *args, self.op)
            case "close":
                return procedures.close(self.tower, *args, self.op)
            case "increment":
                return procedures.increment(self.tower, self.op)
            case "declare" | "freeze":
                return procedures.whole_tensor_code(self.tower, name, self.op)
        return procedures.transfer(self.tower, *args, name, self.op)
