"""The bindings of a program's scopes while it is lowered."""

from __future__ import annotations

from dataclasses import field

from wingspan.base.dataclass import dataclass
from wingspan.lang import ir
from wingspan.lang.ir import Operator
from wingspan.plan.ir import Expr, Group, Reg
from wingspan.plan.lowering.inline import Instance


@dataclass(frozen=True)
class TensorBinding:
    """A tensor in a scope: its mode, the operator of its phase, its fill value (in program and plan), its root."""

    mode: str
    op: Operator
    fill: ir.Expression
    z: Expr
    root: Instance


@dataclass(frozen=True)
class ReachedFiber:
    """A fiber that the program has reached. `dirty` says whether something below it was written, if that matters."""

    level: int
    position: Expr
    instance: Instance
    dirty: Reg | None = None


@dataclass(frozen=True)
class SharedBinding:
    """A variable that other tasks write: its buffer and the instance with it."""

    group: Group
    reg: Reg


@dataclass
class LoweringScope:
    """The bindings of a scope. `region` counts the parallel loops around it."""

    region: int
    variables: dict[str, Reg | SharedBinding] = field(default_factory=dict)
    handles: dict[str, TensorBinding] = field(default_factory=dict)


@dataclass(frozen=True)
class Repetition:
    """A body that is run once for `times` indices, and what it updates that often."""

    times: Expr
    most: int
    """it is no more than that"""
    scopes: int
    """the number of scopes around it: their tensors are updated that often, but for"""
    apart: frozenset[str]
    """the tensors that have children of their own at each of the indices"""
