"""Staged operations, suspended at each memory access.

A `Frame` is a run of `LinearCode` that rests just before its next access. Private instructions have already run, and
registers that no later instruction reads are blank, so two runs that differ only in their past are equal.
`advance` performs one access, on any `Memory`, or raises `LockHeld` if that is a lock which is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from wingspan.base.errors import Fault, InternalError
from wingspan.buffers.linear import Instruction, LinearCode, Registers, fitting
from wingspan.lang import algebra
from wingspan.lang.ir import Instance, Term, node
from wingspan.lang.printer import term

__all__ = ["Cell", "Frame", "LinearCode", "LockHeld", "Memory", "Rmw", "advance", "start"]


class Cell(NamedTuple):
    """One cell of memory; the instance distinguishes the copies of a level's buffer."""

    tensor: str
    depth: int
    buffer: str
    instance: Instance
    offset: int

    def __str__(self) -> str:
        keys = " ".join(f"{tag} {key}" for tag, key in self.instance)
        return f"{self.tensor}.{self.buffer}{f'⟨{keys}⟩' if keys else ''}[{self.offset}]"


Rmw = Literal["atomic", "acquire", "release"]
"""The accesses that read and write in one."""


class Memory(Protocol):
    """The memory that a frame runs on. Position and index say what the access is for."""

    def load(self, cell: Cell, position: int | None, index: int | None) -> Any:
        """Read the cell."""

    def look(self, cell: Cell, position: int | None, index: int | None) -> Any:
        """Read the cell by an access that is atomic."""

    def store(self, cell: Cell, value: Any, position: int | None, index: int | None) -> None:
        """Write the cell."""

    def update(
        self, cell: Cell, change: Callable[[Any], Any], position: int | None, index: int | None, effect: Rmw
    ) -> None:
        """Read and write the cell in one step."""


class LockHeld(Exception):
    """A lock cannot be taken; its holder."""

    def __init__(self, cell: Cell, position: int | None, holder: str) -> None:
        super().__init__(f"{cell} is held by {holder}")
        self.cell, self.position, self.holder = cell, position, holder


@node
class Frame(Term):
    """A run of a code on the buffers of one tensor, resting before its next access or at its end."""

    code: LinearCode
    pc: int
    registers: tuple[Any, ...]
    tensor: str
    instance: Instance

    def __str__(self) -> str:
        """`@2 {value ↦ 1, r4 ↦ 0}`: the instruction before which it rests, and the registers still needed."""
        names = {slot: name for name, slot in self.code.inputs}
        held = ((names.get(slot, f"r{slot}"), self.registers[slot]) for slot in self.code.live[self.pc])
        return f"@{self.pc} {{{', '.join(f'{name} ↦ {term(bound)}' for name, bound in held)}}}"

    @property
    def has_ended(self) -> bool:
        """Whether no access is left."""
        return self.code.instructions[self.pc].kind == "end"

    def result(self) -> dict[str, Any]:
        """The named values that a finished run ends with."""
        registers = list(self.registers)
        return {name: compute(registers) for name, compute in self.code.results}

    def final_instance(self) -> Instance:
        """The instance that a finished run has descended to."""
        registers = list(self.registers)
        return (*self.instance, *((tag, key(registers)) for tag, key in self.code.keys))


def start(code: LinearCode, tensor: str, instance: Instance, inputs: Mapping[str, Any]) -> Frame:
    """A frame of `code`, resting before its first access. Its inputs are given by name."""
    if len(inputs) != len(code.inputs):
        raise InternalError(f"{code.name} takes {[name for name, _ in code.inputs]}, got {list(inputs)}")
    registers: Registers = [None] * code.size
    for name, slot in code.inputs:
        registers[slot] = inputs[name]
    return _suspend(code, _settle(code, 0, registers, tensor), registers, tensor, instance)


def advance(frame: Frame, memory: Memory) -> Frame:
    """Perform the access before which the frame rests, and continue to the next."""
    code, registers = frame.code, list(frame.registers)
    _perform(code.instructions[frame.pc], registers, frame.tensor, frame.instance, memory)
    pc = _settle(code, frame.pc + 1, registers, frame.tensor)
    return _suspend(code, pc, registers, frame.tensor, frame.instance)


def _perform(step: Instruction, registers: Registers, tensor: str, instance: Instance, memory: Memory) -> None:
    """Perform the access of an instruction."""
    assert step.ref is not None and step.at is not None
    if step.keys:
        instance = (*instance, *((tag, key(registers)) for tag, key in step.keys))
    cell = Cell(tensor, step.ref.depth, step.ref.buffer, instance, step.at(registers))
    position = step.position(registers) if step.position else None
    index = step.index(registers) if step.index else None
    if step.kind in ("load", "look"):
        assert step.writes is not None
        read = memory.load if step.kind == "load" else memory.look
        registers[step.writes] = read(cell, position, index)
        return
    if step.kind == "sort":
        cells = [cell._replace(offset=k) for k in range(1, cell.offset + 1)]
        ordered = sorted(memory.load(c, position, index) for c in cells)
        for c, value in zip(cells, ordered, strict=True):
            memory.store(c, value, position, index)
        return
    assert step.compute is not None
    value = step.compute(registers)
    match step.kind:
        case "store":
            memory.store(cell, value, position, index)
        case "atomic":

            def combine(old: Any) -> Any:
                return fitting(algebra.apply(step.op, old, value), step.width, step.message, tensor)

            memory.update(cell, combine, position, index, "atomic")
        case "acquire":
            memory.update(cell, lambda old: _acquire(cell, position, old, value.path), position, index, "acquire")
        case "release":
            memory.update(cell, lambda old: value, position, index, "release")


def _acquire(cell: Cell, position: int | None, holder: Any, path: str) -> str:
    """The content of a free lock, 0, once it is taken: the path of the task."""
    if holder != 0:
        raise LockHeld(cell, position, holder)
    return path


def _settle(code: LinearCode, pc: int, registers: Registers, tensor: str) -> int:
    """Run private instructions; the place of the next rest."""
    while True:
        step = code.instructions[pc]
        if step.rests:
            return pc
        pc += 1
        if step.kind == "jump":
            pc = step.target
            continue
        assert step.compute is not None
        value = step.compute(registers)
        if step.kind == "set":
            assert step.writes is not None
            registers[step.writes] = value
        elif step.kind == "branch":
            if not value:
                pc = step.target
        elif value is not None:
            raise Fault(step.message.format(tensor=tensor, **value))


def _suspend(code: LinearCode, pc: int, registers: Registers, tensor: str, instance: Instance) -> Frame:
    """A frame that rests here, with dead registers blanked."""
    kept: Registers = [None] * code.size
    for slot in code.live[pc]:
        kept[slot] = registers[slot]
    return Frame(code, pc, tuple(kept), tensor, instance)
