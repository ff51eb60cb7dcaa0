"""The buffers of a plan as one value, the heap, and the accesses of a plan performed on it.

Cells have the same names as under the rules (`levels.frames.Cell`), so reports on the two machines read alike.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

from wingspan.buffers.frames import Cell, LockHeld
from wingspan.buffers.heap import alone, without
from wingspan.explorer.machine import CellAccess, Effect
from wingspan.lang import algebra
from wingspan.lang.ir import NAN, Instance, Value
from wingspan.lang.operators import COMPUTES, muladd
from wingspan.lang.pairs import Pair
from wingspan.lang.widths import WIDTHS
from wingspan.lang.words import same
from wingspan.levels import Tower
from wingspan.native.code import RegisterCode
from wingspan.plan import ir as plan
from wingspan.plan.ir import Access, Place, PlanBuffer, Ref
from wingspan.runtime.faults import overflow_fault, unfit_fault


class SharedVariable(Cell):
    """The cell of a variable or a chunk counter."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.tensor


class Instances:
    """The numbers by which registers hold instances. The root instances have 0, as registers do at the start."""

    def __init__(self) -> None:
        self._paths: list[Instance] = [()]
        self._numbers: dict[Instance, int] = {(): 0}
        self._named: dict[bytes, tuple[Instance, ...]] = {}
        self._numbered: dict[tuple[Instance, ...], bytes] = {}
        self._lock = Lock()

    def number(self, path: Instance) -> int:
        """The number of an instance."""
        found = self._numbers.get(path)
        if found is None:
            with self._lock:  # several threads may search one machine
                if path not in self._numbers:
                    self._paths.append(path)
                    self._numbers[path] = len(self._paths) - 1
                found = self._numbers[path]
        return found

    def instances_of(self, numbers: bytes) -> tuple[Instance, ...]:
        """The instances with these numbers, as registers hold them."""
        found = self._named.get(numbers)
        if found is None:
            found = tuple(map(self.path, struct.unpack(f"={len(numbers) // 8}q", numbers)))
            self._named[numbers] = found
        return found

    def numbers_of(self, instances: tuple[Instance, ...]) -> bytes:
        """The numbers of these instances, as registers hold them."""
        found = self._numbered.get(instances)
        if found is None:
            found = self._numbered[instances] = struct.pack(f"={len(instances)}q", *map(self.number, instances))
        return found

    def path(self, number: Value) -> Instance:
        """The keys that lead to the instance with this number."""
        return self._paths[int(number)]


class NativeMemory:
    """The heap during one step of one task. It records the step's accesses, and whether others could observe it.

    `heap` is a `Heap`, or an `explorer.local.CellLog`.
    """

    def __init__(
        self,
        heap: Any,
        code: RegisterCode,
        instances: Instances,
        towers: Mapping[str, Tower],
        task: str,
        chain: Instance,
    ) -> None:
        self.heap, self.code, self.instances, self.towers, self.task, self.chain = (
            heap, code, instances, towers, task, chain,
        )  # fmt: skip
        self.touches: list[CellAccess] = []
        self.visible = False

    def perform(self, s: Access, registers: bytes) -> bytes:
        """Perform an access; the registers after it. A Fault if ⊕ is not defined, `LockHeld` if a lock is taken."""

        def value(e: Any) -> Any:
            return None if e is None else self.code.value(registers, e)

        place = Place() if isinstance(s, plan.FetchChunk) else s.place
        at = value(place.position), value(place.index)
        match s:
            case plan.Load(reg=reg, index=index) | plan.AtomicLoad(reg=reg, index=index):
                cell = self._cell(s.ref, value(index), registers)
                found = self.heap.get(cell, s.ref.buffer.type.zero)
                self._touch(cell, s.ref, "read" if isinstance(s, plan.Load) else "look", found, *at)
                return self.code.with_register(registers, reg, found)
            case plan.Store(index=index, value=stored):
                self._write(self._cell(s.ref, value(index), registers), s.ref, "write", value(stored), *at)
            case plan.AtomicUpdate(index=index, op=op, value=operand, signed_times=times):
                cell = self._cell(s.ref, value(index), registers)
                old = self.heap.get(cell, s.ref.buffer.type.zero)
                self._write(cell, s.ref, "atomic", _combine(s.ref.buffer, op, old, value(operand), value(times)), *at)
            case plan.Swap(reg=reg, index=index, old=old, value=new):
                cell = self._cell(s.ref, value(index), registers)
                found = self.heap.get(cell, s.ref.buffer.type.zero)
                if same(found, value(old)):
                    self._write(cell, s.ref, "atomic", value(new), *at)
                else:
                    self._touch(cell, s.ref, "look", found, *at)
                return self.code.with_register(registers, reg, found)
            case plan.FetchChunk(reg=reg, stop=stop, step=step):
                cell = self._cell(s.ref, 1, registers)
                claimed = self.heap.get(cell, 0)
                if claimed <= value(stop):
                    self._write(cell, s.ref, "atomic", min(claimed + value(step), algebra.INT64[-1]))
                else:
                    self._touch(cell, s.ref, "look", claimed, None, None)
                return self.code.with_register(registers, reg, claimed)
            case plan.Acquire(index=index):
                cell = self._cell(s.ref, value(index), registers)
                if (holder := self.heap.get(cell, 0)) != 0:
                    raise LockHeld(cell, at[0], holder)
                self._write(cell, s.ref, "acquire", self.task, *at)
            case plan.Release(index=index):
                self._write(self._cell(s.ref, value(index), registers), s.ref, "release", 0, *at)
            case plan.Sort(count=count):
                cells = [self._cell(s.ref, k, registers) for k in range(1, value(count) + 1)]
                for cell, least in zip(cells, sorted(self._load(cells, s.ref, *at)), strict=True):
                    self._write(cell, s.ref, "write", least, *at)
        return registers

    def drop(self, tensor: str, instance: Instance) -> None:
        """Forget a private copy."""
        self.heap = without(self.heap, tensor, instance)

    def _cell(self, ref: Ref, offset: int, registers: bytes) -> Cell:
        kind = SharedVariable if ref.buffer.depth < 0 else Cell
        instance = self.instances.path(self.code.get(registers, ref.instance))
        return kind(ref.buffer.tensor, ref.buffer.depth, ref.buffer.name, instance, offset)

    def _load(self, cells: list[Cell], ref: Ref, position: int | None, index: int | None) -> Iterator[Any]:
        for cell in cells:
            found = self.heap.get(cell, ref.buffer.type.zero)
            self._touch(cell, ref, "read", found, position, index)
            yield found

    def _write(
        self, cell: Cell, ref: Ref, effect: Effect, value: Any, position: int | None = None, index: int | None = None
    ) -> None:
        if ref.buffer.type.is_double:
            value = float(value) if value == value else NAN
        self._touch(cell, ref, effect, value, position, index)
        self.heap = self.heap.set(cell, value)

    def _touch(self, cell: Cell, ref: Ref, effect: Effect, value: Any, position: int | None, index: int | None) -> None:
        buffer = ref.buffer
        level = None if buffer.depth < 0 else buffer.level
        if level is not None and buffer.cell == "value" and self.towers[cell.tensor].elements.is_packed:
            value = Pair(value)  # reports show its parts
        self.touches.append(
            CellAccess(cell, effect, buffer.tensor, level, buffer.level_name, buffer.name, position, index, value)
        )
        self.visible = self.visible or not self._private(cell, ref)

    def _private(self, cell: Cell, ref: Ref) -> bool:
        """Whether no other running task could access the cell, or none could write it."""
        owner = self.towers[cell.tensor].levels[cell.depth].key if ref.buffer.own else ""
        return ref.frozen or alone(cell, self.chain, owner)


def _combine(buffer: PlanBuffer, op: str, old: Any, new: Any, times: int | None) -> Value:
    """old ⊕ new, or old plus `times`·new, as a cell of the buffer stores it. A Fault if an integer overflows."""
    made: Value
    width = WIDTHS[buffer.width]
    if buffer.type.is_double:
        made = muladd(old, times, new) if times is not None else new if op == "=" else COMPUTES[op](old, new)
        return width.round_to_width(made)  # type: ignore[no-any-return]
    if buffer.type.is_boolean:
        return algebra.apply(op, old, new)
    made = algebra.apply(op, old, new) if times is None else muladd(old, times, new)
    if not width.holds(made):
        raise unfit_fault(buffer, op, old, new) if times is None else overflow_fault(op, old, new, buffer)
    return made
