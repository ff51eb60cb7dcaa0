"""Small plans, written by hand: statements that come from nowhere, and what they do, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import Any

from wingspan.lang.devices import SERIAL
from wingspan.lang.operators import COMPUTES
from wingspan.lang.registers import INSTANCE, INT
from wingspan.plan.fold import op
from wingspan.plan.ir import (
    Const,
    Expr,
    Group,
    If,
    Load,
    Op,
    Origin,
    Par,
    Place,
    Plan,
    PlanBuffer,
    Ref,
    Reg,
    Set,
    Stmt,
    Store,
    While,
    Width,
)

HERE = Origin(None, "a test")
KINDS = {"ptr": "position", "idx": "index", "val": "value"}


def root(tensor: str) -> Reg:
    """The register of a tensor's own instance."""
    return Reg(f"root {tensor}", INSTANCE)


def ref(tensor: str, name: str, number: int = 0, group: int = 0, width: Width = "i64") -> Ref:
    """A buffer of integers that nobody writes."""
    return Ref(PlanBuffer(tensor, 0, name, KINDS[name], INT, width, number, group), root(tensor), frozen=True)


def put(reg: Reg, value: Expr) -> Set:
    return Set(reg, value, HERE)


def plus(e: Expr, by: int) -> Expr:
    return op("+", e, Const(by))


def step(reg: Reg, by: int = 1) -> Set:
    """A register moves on."""
    return put(reg, plus(reg, by))


def load(reg: Reg, ref: Ref, at: Expr) -> Load:
    return Load(reg, ref, at, Place(), HERE)


def store(ref: Ref, at: Expr, value: Expr) -> Store:
    return Store(replace(ref, frozen=False), at, value, Place(), HERE)


def region(*body: Stmt) -> Par:
    """A parallel region of one task."""
    return Par(SERIAL, Reg("t"), body, (), HERE)


def plan(*body: Stmt, refs: Iterable[Ref], result: Reg | None = None) -> Plan:
    """A plan with these buffers, each in the group that it names, and a register as the variable that it leaves."""
    groups: dict[int, list[Ref]] = {}
    for each in refs:
        groups.setdefault(each.buffer.group, []).append(each)
    made = tuple(
        Group(number, inside[0].buffer.tensor, tuple(each.buffer for each in inside))
        for number, inside in groups.items()
    )
    tensors = tuple(group.tensor for group in made)
    roots = tuple((tensor, root(tensor)) for tensor in tensors)
    return Plan(made, roots, body, tensors, (), () if result is None else ((result.name, result),))


class Tried:
    """Does what statements say, in registers, for at most so many rounds of loops. Subclasses say what accesses do."""

    def __init__(self, registers: Mapping[str, int], rounds: float = inf) -> None:
        self.registers, self.rounds = dict(registers), rounds

    def value(self, e: Expr) -> Any:
        match e:
            case Const(value=value):
                return value
            case Reg(name=name):
                return self.registers[name]
            case Op(op=name, args=args):
                return COMPUTES[name](*map(self.value, args))

    def run(self, body: Iterable[Stmt]) -> None:
        for s in body:
            match s:
                case Set(reg=reg, value=value):
                    self.registers[reg.name] = self.value(value)
                case If(condition=condition, then=then, otherwise=otherwise):
                    self.run(then if self.value(condition) else otherwise)
                case While(test=(), condition=condition, body=inner):
                    while self.value(condition) and self.rounds > 0:
                        self.rounds -= 1
                        self.run(inner)
                case _:
                    self.access(s)

    def access(self, s: Stmt) -> None:
        raise NotImplementedError
