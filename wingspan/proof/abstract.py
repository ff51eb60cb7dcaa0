"""Abstract execution over z3's terms: all that a staged procedure may access, whatever memory holds.

A load gives an unknown value, both branches are taken, and what a loop assigns to is unknown in it and after it, but
for a register that only grows or only falls: that is bounded by its value before. So every access that some execution
makes is among those found, under a condition (`guard`) that holds then. A failing check ends a procedure, so what comes
after may rely on it. Where arrays are given for buffers, loads and stores are exact instead; no loop may change these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import z3

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InternalError
from wingspan.buffers.ops import (
    Acquire,
    AtomicLoad,
    AtomicUpdate,
    Check,
    Const,
    Each,
    Expr,
    Load,
    Op,
    Procedure,
    Ref,
    Reg,
    Release,
    SetReg,
    Sort,
    Stmt,
    Store,
    When,
    While,
)  # fmt: skip

Z3Term = Any
"""A term of z3, an integer or a truth value; the library has no types."""

AccessEffect = Literal["read", "look", "write", "atomic", "acquire", "release"]
TRUTHS = frozenset({"same", "alike"})
"""The functions of which nothing is known but that they say yes or no."""


@dataclass(frozen=True)
class AbstractCell:
    """A cell: the depth of its level, its buffer, the keys of its instance from that of the run on, and its index."""

    depth: int
    buffer: str
    keys: tuple[tuple[str, Z3Term], ...]
    index: Z3Term

    def equals(self, other: AbstractCell) -> Z3Term:
        """Condition: two cells are one, in one instance to begin with."""
        if (self.depth, self.buffer) != (other.depth, other.buffer):
            return z3.BoolVal(False)
        return z3.And(equal_keys(self.keys, other.keys), self.index == other.index)


def equal_keys(one: tuple[tuple[str, Z3Term], ...], other: tuple[tuple[str, Z3Term], ...]) -> Z3Term:
    """Condition: two instances are one."""
    if [tag for tag, _ in one] != [tag for tag, _ in other]:
        return z3.BoolVal(False)
    return z3.And(*(a == b for (_, a), (_, b) in zip(one, other, strict=True)))


@dataclass(frozen=True)
class BufferAccess:
    """An access: what is done to a cell, when, and with which locks in hand."""

    cell: AbstractCell
    effect: AccessEffect
    guard: Z3Term
    held: tuple[AbstractCell, ...]
    procedure: str


class AbstractRun:
    """One task's run of procedures, one after the other; its unknowns have the side's name in theirs."""

    def __init__(
        self,
        side: str,
        shared: Mapping[str, Z3Term],
        threads: Mapping[str, Z3Term],
        facts: Mapping[tuple[int, str], Callable[[Z3Term], Z3Term]] | None = None,
        memory: dict[tuple[int, str], Z3Term] | None = None,
    ) -> None:
        self.side, self.shared, self.threads, self.memory = (
            side,
            dict(shared),
            threads,
            {} if memory is None else memory,
        )
        self.facts = facts or {}
        """the facts on the cells of some buffers, by depth and name"""
        self.accesses: list[BufferAccess] = []
        self.checks: list[tuple[Z3Term, Z3Term, str]] = []
        """the path condition of each check, its condition, and its message"""
        self.path: list[Z3Term] = []
        self.held: list[AbstractCell] = []
        self.registers: dict[str, Z3Term] = {}
        self.count = 0
        self.name = ""

    # -------------------------------------------------------------------------------------------------- procedures

    def run(self, procedure: Procedure, **given: Z3Term) -> dict[str, Z3Term]:
        """Run a procedure on these inputs; the values of its results, and of the keys of their instance."""
        self.name = procedure.name
        self.registers = {**self.shared, "z": self.unknown("z"), **given}
        self.block(procedure.body)
        results = {name: self.value(e) for name, e in procedure.results}
        self.keys = tuple((tag, self.value(e)) for tag, e in procedure.keys)
        return results

    def unknown(self, hint: str, truth: bool = False) -> Z3Term:
        """A term of which nothing is known."""
        self.count += 1
        name = f"{self.side}.{hint}.{self.count}"
        return z3.Bool(name) if truth else z3.Int(name)

    @property
    def guard(self) -> Z3Term:
        """Condition: the run reaches its current statement."""
        return z3.And(*self.path)

    # -------------------------------------------------------------------------------------------------- statements

    def block(self, body: Iterable[Stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, s: Stmt) -> None:
        match s:
            case SetReg(reg=reg, value=value):
                self.registers[reg] = self.value(value)
            case Load(reg=reg, ref=ref, index=index):
                self.registers[reg] = self.load(self.note_access("read", ref, index), reg)
            case AtomicLoad(reg=reg, ref=ref, index=index):
                self.registers[reg] = self.load(self.note_access("look", ref, index), reg)
            case Store(ref=ref, index=index, value=value):
                given = self.value(value)
                self.store(self.note_access("write", ref, index), given)
            case AtomicUpdate(ref=ref, index=index):
                self.store(self.note_access("atomic", ref, index), self.unknown("atomic"))
            case Acquire(ref=ref, index=index):
                self.held.append(self.note_access("acquire", ref, index))
            case Release(ref=ref, index=index):
                released = self.note_access("release", ref, index)
                held = [
                    k for k, cell in enumerate(self.held) if z3.eq(z3.simplify(cell.equals(released)), z3.BoolVal(True))
                ]
                if not held:
                    raise InternalError(f"{self.name} releases a lock that it has not taken")
                del self.held[held[-1]]
            case Sort(ref=ref):
                self.note_write_anywhere(ref)
            case Check(condition=condition, message=message):
                wanted = truth(self.value(condition))
                self.checks.append((self.guard, wanted, message))
                self.path.append(wanted)
            case When(condition=condition, then=then, otherwise=otherwise):
                self.branches(truth(self.value(condition)), then, otherwise)
            case While():
                self.loop(s)
            case Each():
                for each in s.in_order():
                    self.statement(each)

    def branches(self, condition: Z3Term, then: tuple[Stmt, ...], otherwise: tuple[Stmt, ...]) -> None:
        """Both branches, each under its condition; a register that they leave apart has the value of the one taken."""
        before, depth, held = dict(self.registers), len(self.path), list(self.held)
        ends = []
        for test, body in ((condition, then), (z3.Not(condition), otherwise)):
            self.registers = dict(before)
            self.path.append(test)
            self.block(body)
            ends.append((self.registers, self.path[depth:]))
            del self.path[depth:]
        if held != self.held:
            raise InternalError(f"{self.name} takes a lock in one case only")
        (yes, when), (no, unless) = ends
        self.path.append(z3.Or(z3.And(*when), z3.And(*unless)))
        self.registers = {
            name: yes[name] if yes[name] is no[name] else choice(condition, yes[name], no[name])
            for name in yes.keys() & no.keys()
        }

    def loop(self, s: While) -> None:
        """Some iteration of a loop, and what comes after it."""
        before, depth, held, memory = dict(self.registers), len(self.path), list(self.held), dict(self.memory)
        self.forget(s, before)
        self.block(s.test)
        self.path.append(truth(self.value(s.condition)))
        self.block(s.body)
        del self.path[depth:]
        if held != self.held:
            raise InternalError(f"{self.name} takes a lock in a loop")
        if any(memory[at] is not known for at, known in self.memory.items()):
            raise InternalError(f"{self.name} changes memory in a loop that is to be known exactly")
        self.registers = dict(before)
        self.forget(s, before)
        self.block(s.test)
        self.path.append(z3.Not(truth(self.value(s.condition))))

    def forget(self, s: While, before: Mapping[str, Z3Term]) -> None:
        """Make unknown what a loop assigns to."""
        for reg, steps in assigned_registers((*s.test, *s.body)).items():
            value = before.get(reg)
            self.registers[reg] = self.unknown(reg, truth=value is not None and z3.is_bool(value))
            if value is not None and z3.is_int(value) and None not in steps:
                if all(step >= 0 for step in steps if step is not None):
                    self.path.append(self.registers[reg] >= value)
                elif all(step <= 0 for step in steps if step is not None):
                    self.path.append(self.registers[reg] <= value)

    # ------------------------------------------------------------------------------------------------------ memory

    def note_access(self, effect: AccessEffect, ref: Ref, index: Expr) -> AbstractCell:
        """Note an access."""
        cell = AbstractCell(
            ref.depth, ref.buffer, tuple((tag, self.value(e)) for tag, e in ref.keys), self.value(index)
        )
        self.accesses.append(BufferAccess(cell, effect, self.guard, tuple(self.held), self.name))
        return cell

    def note_write_anywhere(self, ref: Ref) -> None:
        """Note a write to cells of which nothing is known."""
        cell = AbstractCell(
            ref.depth, ref.buffer, tuple((tag, self.value(e)) for tag, e in ref.keys), self.unknown("any")
        )
        self.accesses.append(BufferAccess(cell, "write", self.guard, tuple(self.held), self.name))

    def load(self, cell: AbstractCell, hint: str) -> Z3Term:
        known = self._exact_array(cell)
        if known is not None:
            return z3.Select(known, cell.index)
        value = self.unknown(hint)
        if (cell.depth, cell.buffer) in self.facts:
            self.path.append(self.facts[cell.depth, cell.buffer](value))
        return value

    def _exact_array(self, cell: AbstractCell) -> Z3Term | None:
        """The array that a cell is in, if memory is exact there: in the instance that the run began in."""
        return None if cell.keys else self.memory.get((cell.depth, cell.buffer))

    def store(self, cell: AbstractCell, value: Z3Term) -> None:
        before = self._exact_array(cell)
        if before is not None:
            number = z3.If(value, 1, 0) if z3.is_bool(value) else value
            self.memory[cell.depth, cell.buffer] = z3.If(self.guard, z3.Store(before, cell.index, number), before)

    # ------------------------------------------------------------------------------------------------- expressions

    def value(self, e: Expr) -> Z3Term:
        match e:
            case Const(value=bool() as value):
                return z3.BoolVal(value)
            case Const(value=int() as value):
                return z3.IntVal(value)
            case Reg(name=name):
                return self.registers[name] if name in self.registers else self.unknown(name)
            case Op(op="thread", args=(Const(value=device), _)):
                return self.threads[device.id]
            case Op(op="select", args=(condition, yes, no)):
                return choice(truth(self.value(condition)), self.value(yes), self.value(no))
            case Op(op=op, args=args):
                return self.operator(op, [self.value(a) for a in args])
        return self.unknown("constant")

    def operator(self, op: str, values: list[Z3Term]) -> Z3Term:
        match op, values:
            case "and", _:
                return z3.And(*map(truth, values))
            case "or", _:
                return z3.Or(*map(truth, values))
            case "not", [a]:
                return z3.Not(truth(a))
            case (("==" | "!="), [a, b]) if z3.is_bool(a) != z3.is_bool(b):
                a, b = truth(a), truth(b)
                return a == b if op == "==" else a != b
            case (("//" | "%"), [a, b]) if z3.is_int_value(b):
                return a / b if op == "//" else a % b
            case "+", [a, b]:
                return a + b
            case "-", [a, b]:
                return a - b
            case "*", [a, b]:
                return a * b
            case "==", [a, b]:
                return a == b
            case "!=", [a, b]:
                return a != b
            case "<", [a, b]:
                return a < b
            case "<=", [a, b]:
                return a <= b
            case ">", [a, b]:
                return a > b
            case ">=", [a, b]:
                return a >= b
        return self.unknown(op, truth=op in TRUTHS)


def truth(value: Z3Term) -> Z3Term:
    """A value as a condition."""
    return value if z3.is_bool(value) else value != 0


def choice(condition: Z3Term, yes: Z3Term, no: Z3Term) -> Z3Term:
    """One of two values, as a number unless both are truth values."""
    if z3.is_bool(yes) != z3.is_bool(no):
        yes, no = (z3.If(v, 1, 0) if z3.is_bool(v) else v for v in (yes, no))
    return z3.If(condition, yes, no)


def assigned_registers(body: Iterable[Stmt]) -> dict[str, set[int | None]]:
    """The registers that statements assign to, and by how much each assignment changes one; None if that is unknown."""
    found: dict[str, set[int | None]] = {}

    def note(reg: str, step: int | None) -> None:
        found.setdefault(reg, set()).add(step)

    for s in body:
        match s:
            case SetReg(reg=reg, value=Op(op="+" | "-" as op, args=(Reg(name=name), Const(value=int() as step)))) if (
                name == reg
            ):
                note(reg, step if op == "+" else -step)
            case SetReg(reg=reg) | Load(reg=reg) | AtomicLoad(reg=reg):
                note(reg, None)
            case When(then=then, otherwise=otherwise):
                for reg, steps in (*assigned_registers(then).items(), *assigned_registers(otherwise).items()):
                    found.setdefault(reg, set()).update(steps)
            case While(test=test, body=inner):
                for reg, steps in assigned_registers((*test, *inner)).items():
                    found.setdefault(reg, set()).update(steps)
            case Each(reg=reg, body=inner):
                note(reg, None)
                for name, steps in assigned_registers(inner).items():
                    found.setdefault(name, set()).update(steps)
    return found
