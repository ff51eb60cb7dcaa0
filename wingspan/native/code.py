"""Plans as linear code: one table of instructions over a file of registers, which the engine runs.

A *slot* is one of the 8 bytes of the register file: each register has one, each constant, and each part of an
expression. Constants are stored at the start, so every operand is a slot. An instruction is a row of six
numbers, the opcode and r, a, b, c, d; instructions.h defines them.

A controlled run stops before the *rests*: the accesses to buffers, `par`, `done` and `halt`. It also stops before the
instructions that *need help* because they are about instances, which the controller of the run keeps: `child`, `fresh`
and `drop`. All other instructions are private to the task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.lang.ir import Value
from wingspan.lang.operators import COMPUTES
from wingspan.lang.registers import RegisterType
from wingspan.native._engine import OPCODES
from wingspan.plan.ir import AllocateInstance, Const, Expr, Op, Plan, PlanBuffer, Reg, Stmt, walk
from wingspan.plan.uses import written_refs
from wingspan.runtime.results import ScalarResults, scalar_results

NUMBER = {name: number for number, name in enumerate(OPCODES)}

_ACCESSES = ("load", "look", "store", "atomic", "atomic muladd", "swap", "claim", "acquire", "release", "sort")
_RESTS = frozenset(NUMBER[name] for name in (*_ACCESSES, "par", "done", "halt"))


@dataclass(frozen=True)
class RegisterCode:
    """A plan as instructions."""

    plan: Plan
    slots: Mapping[str, int]
    """the slot of each register"""
    types: tuple[RegisterType, ...]
    """the type of each slot; truth values are the integers 0 and 1"""
    initial: bytes
    """the register file at the start"""
    table: np.ndarray
    """a row for each instruction: opcode, r, a, b, c, d"""
    statements: tuple[Stmt | None, ...]
    """the statement that each instruction performs; None if it only helps to perform one"""
    uses: tuple[frozenset[int], ...]
    """the slots whose values each instruction needs, besides those that it reads"""
    constants: frozenset[int]

    @cached_property
    def live(self) -> tuple[int, ...]:
        """The slots whose contents matter at each instruction, bit k for slot k; without those of constants."""
        return tuple(_live(self))

    @cached_property
    def written_buffers(self) -> frozenset[PlanBuffer]:
        """The buffers that some statement may write."""
        return frozenset(ref.buffer for s in walk(self.plan.body) for ref in written_refs(s))

    @cached_property
    def private(self) -> Mapping[Reg, str]:
        """The tensor of each register that holds an instance private to a task."""
        fresh = (s for s in walk(self.plan.body) if isinstance(s, AllocateInstance))
        return {s.reg: self.plan.groups[s.group].tensor for s in fresh}

    @cached_property
    def ends(self) -> frozenset[int]:
        """The instructions at which a task ends."""
        return frozenset(np.flatnonzero(np.isin(self.table[:, 0], [NUMBER["done"], NUMBER["halt"]])).tolist())

    @cached_property
    def _live_slots(self) -> dict[int, tuple[np.ndarray, int]]:
        return {}

    def live_slots(self, pc: int) -> tuple[np.ndarray, int]:
        """The slots whose contents matter at an instruction, and the number of bytes before those of instances."""
        if pc not in self._live_slots:
            bits = self.live[pc]
            live = [slot for slot in range(bits.bit_length()) if bits >> slot & 1]
            live.sort(key=lambda slot: self.types[slot].is_instance)
            plain = sum(not self.types[slot].is_instance for slot in live)
            self._live_slots[pc] = np.array(live, np.int64), 8 * plain
        return self._live_slots[pc]

    def rests(self, pc: int) -> bool:
        """Whether a controlled run stops before this instruction, because other tasks can observe it."""
        return int(self.table[pc, 0]) in _RESTS

    def get(self, registers: bytes, reg: Reg) -> Value:
        """The value of a register in a register file."""
        slot = self.slots[reg.name]
        return self.types[slot].unpack(registers, slot)

    def with_register(self, registers: bytes, reg: Reg, value: Value) -> bytes:
        """The register file with another value in a register."""
        at = 8 * self.slots[reg.name]
        return registers[:at] + reg.type.pack(value) + registers[at + 8 :]

    def with_parameters(self, parameters: Mapping[str, int]) -> RegisterCode:
        """The code with values for what its plan leaves open, by the names of the plan's parameters."""
        initial = self.initial
        for name, reg in self.plan.parameters:
            initial = self.with_register(initial, reg, parameters[name])
        return replace(self, initial=initial)

    def value(self, registers: bytes, e: Expr) -> Value:
        """The value of an expression of the plan; doubles are Python's."""
        match e:
            case Const(value=value):
                return value
            case Reg():
                return self.get(registers, e)
            case Op(op=op, args=args):
                return operate(op, [self.value(registers, a) for a in args])

    def scalar_results(self, registers: bytes) -> ScalarResults:
        """The results of a run that ends with these registers."""
        return scalar_results(self.plan, [self.value(registers, e) for e in self.plan.ends])


def operate(op: str, args: list[Any]) -> Value:
    """A private operator over values: integers wrap around, and dividing them by 0 gives 0."""
    if op in ("÷", "%") and args[1] == 0:
        return 0
    result: Value = COMPUTES[op](*args)
    return result if isinstance(result, bool | float) else (int(result) + 2**63) % 2**64 - 2**63


def _live(code: RegisterCode) -> list[int]:
    """For each instruction, the slots without constants that it or a later one may use before writing them."""
    opcodes = list(OPCODES.items())
    used, written, follows = [], [], []
    for pc, ((number, *row), uses) in enumerate(zip(code.table.tolist(), code.uses, strict=True)):
        name, signature = opcodes[number]
        roles = list(zip(signature, row, strict=False))
        read = uses | {slot for role, slot in roles if role == "u"}
        used.append(sum(1 << slot for slot in read - code.constants))
        written.append(sum(1 << slot for role, slot in roles if role == "w"))
        follows.append(_successors(name, row, pc))
    live = [0] * len(follows)
    changed = True
    while changed:
        changed = False
        for pc in reversed(range(len(live))):
            after = 0
            for n in follows[pc]:
                after |= live[n]
            now = live[pc] | used[pc] | (after & ~written[pc])
            if now != live[pc]:
                live[pc], changed = now, True
    return live


def _successors(name: str, row: list[int], pc: int) -> tuple[int, ...]:
    """The instructions that may come after this one; `row` is its row without the opcode."""
    r, a = row[:2]
    match name:
        case "jump" | "back":
            return (r,)
        case _ if name.startswith("unless"):
            return r, pc + 1
        case "par":
            return pc + 1, a
        case "done" | "halt":
            return ()
    return (pc + 1,)
