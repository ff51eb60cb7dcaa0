"""Procedures of the buffer language as linear instructions, with the registers that are still needed at each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, InternalError
from wingspan.buffers import ops
from wingspan.buffers.ops import Const, Expr, Op, Place, Procedure, Ref, Reg, Stmt
from wingspan.buffers.tower import Tower
from wingspan.lang import algebra
from wingspan.lang.ir import Operator
from wingspan.lang.widths import Width, f32
from wingspan.lang.words import FUNCTIONS

Registers = list[Any]
Compute = Callable[[Registers], Any]


ACCESSES = frozenset({"load", "look", "store", "atomic", "acquire", "release", "sort"})


@dataclass(frozen=True)
class Instruction:
    """`kind`: set, check, branch, jump, end, or one of the accesses, before which a frame rests."""

    kind: str
    reads: frozenset[int] = frozenset()
    writes: int | None = None
    compute: Compute | None = None
    at: Compute | None = None
    ref: Ref | None = None
    keys: tuple[tuple[str, Compute], ...] = ()
    position: Compute | None = None
    index: Compute | None = None
    target: int = 0
    message: str = ""
    op: Operator = ""
    width: Width | None = None
    rests: bool = field(init=False)
    """whether a frame stops before this instruction"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rests", self.kind in ACCESSES or self.kind == "end")


@dataclass(frozen=True, eq=False)
class LinearCode:
    """A procedure of a tower and its linear form. Codes are compared by identity."""

    procedure: Procedure
    tower: Tower
    inputs: tuple[tuple[str, int], ...]
    size: int
    instructions: tuple[Instruction, ...]
    results: tuple[tuple[str, Compute], ...]
    keys: tuple[tuple[str, Compute], ...]
    live: tuple[tuple[int, ...], ...] = field(repr=False)
    """for each instruction, the registers that it or a later one needs"""
    made: tuple[Callable[..., LinearCode], tuple[Any, ...]] | None = field(default=None, repr=False)
    """its maker and the arguments; another process receives these, and uses the code that is made there"""

    def __reduce__(self) -> tuple[Callable[..., LinearCode], tuple[Any, ...]]:
        assert self.made is not None
        return self.made

    @property
    def name(self) -> str:
        """The operation."""
        return self.procedure.name


def linear(procedure: Procedure, tower: Tower) -> LinearCode:
    """The linear form of a procedure."""
    return _Linearizer(procedure, tower).code


def python_of(value: Expr, register: Callable[[str], str], constants: dict[str, Any]) -> str:
    """The Python text of an expression; values without a literal get names among the constants."""
    constants["apply"] = algebra.apply
    match value:
        case Const(value=bool() | int() as constant):
            return repr(constant)
        case Const(value=constant):
            name = f"k{len(constants)}"
            constants[name] = constant
            return name
        case Reg(name=name):
            return register(name)
        case Op(op=op, args=args):
            parts = [python_of(a, register, constants) for a in args]
            match op.split(), parts:
                case ["thread"], [device, task]:
                    return f"{task}.thread({device})"
                case ["combine"], [symbol, x, v]:
                    return f"apply({symbol}, {x}, {v})"
                case ["f32"], [x]:
                    constants["f32"] = f32
                    return f"f32({x})"
                case ["select"], [condition, x, y]:
                    return f"({x} if {condition} else {y})"
                case ["not"], [x]:
                    return f"(not {x})"
                case [name], _ if name in FUNCTIONS:
                    constants[name] = FUNCTIONS[name]
                    return f"{name}({', '.join(parts)})"
                case [symbol], _:
                    return f"({f' {symbol} '.join(parts)})"
    raise InternalError(f"not an expression: {value}")


def place_of(tower: Tower, depth: int) -> str:
    """The beginning of the message of a fault at a level, with the name of the tensor left open."""
    return f"{{tensor}}, level {tower.numbers[depth]} {tower.levels[depth].name}: "


def fitting(value: Any, width: Width | None, place: str, tensor: str) -> Any:
    """The content of a cell once the value is stored there; a Fault, at a place, if its width cannot hold it."""
    if width is None:
        return value
    if not width.holds(value):
        raise Fault(f"{place.format(tensor=tensor)}{value} does not fit {width}")
    return width.round_to_width(value)


@lru_cache(maxsize=1 << 14)
def function(text: str, constants: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    """The function `run` of a text, with values for its names. Procedures of similar towers have the same texts."""
    names = dict(constants)
    exec(text, names)
    made: Callable[..., Any] = names["run"]
    return made


@lru_cache(maxsize=1 << 14)
def _with_slots(made: Callable[..., Compute], slots: tuple[int, ...]) -> Compute:
    """The function of the registers, one for equal expressions of equal registers."""
    return made(*slots)


class _Linearizer:
    """Turns structured statements into instructions, with one slot per register."""

    def __init__(self, procedure: Procedure, tower: Tower) -> None:
        self.tower = tower
        self.slots: dict[str, int] = {}
        self.instructions: list[Instruction] = []
        inputs = tuple((name, self.slot(name)) for name in procedure.inputs)
        self.block(procedure.body)
        results = tuple((name, self.compute(value)) for name, value in procedure.results)
        keys = tuple((tag, self.compute(key)) for tag, key in procedure.keys)
        needed = self.reads(*(value for _, value in (*procedure.results, *procedure.keys)))
        self.instructions.append(Instruction("end", reads=needed))
        live = tuple(tuple(sorted(slots)) for slots in liveness(self.instructions))
        size, instructions = len(self.slots), tuple(self.instructions)
        self.code = LinearCode(procedure, tower, inputs, size, instructions, results, keys, live)

    def slot(self, name: str) -> int:
        return self.slots.setdefault(name, len(self.slots))

    def reads(self, *values: Expr | None) -> frozenset[int]:
        found: set[int] = set()
        for value in values:
            if isinstance(value, Reg):
                found.add(self.slot(value.name))
            elif isinstance(value, Op):
                found |= self.reads(*value.args)
        return frozenset(found)

    def compute(self, value: Expr) -> Compute:
        """The expression as a function of the registers, made from its text: private work costs one call.

        Slots have names in the text, so that it is compiled once for all procedures that compute alike.
        """
        constants: dict[str, Any] = {}
        names: dict[int, str] = {}
        text = python_of(value, lambda name: f"r[{names.setdefault(self.slot(name), f's{len(names)}')}]", constants)
        made = function(f"run = lambda {', '.join(names.values())}: lambda r: {text}", tuple(constants.items()))
        return _with_slots(made, tuple(names))

    def block(self, body: tuple[Stmt, ...]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, s: Stmt) -> None:
        match s:
            case ops.SetReg(reg=reg, value=value):
                made = Instruction("set", self.reads(value), self.slot(reg), self.compute(value))
                self.instructions.append(made)
            case ops.Load(reg=reg, ref=ref, index=index, place=place):
                self.access("load", ref, index, place, None, writes=self.slot(reg))
            case ops.AtomicLoad(reg=reg, ref=ref, index=index, place=place):
                self.access("look", ref, index, place, None, writes=self.slot(reg))
            case ops.Store(ref=ref, index=index, value=value, place=place):
                self.access("store", ref, index, place, value)
            case ops.AtomicUpdate(ref=ref, index=index, op=op, value=value, place=place, width=width):
                self.access("atomic", ref, index, place, value, op=op, width=width)
            case ops.Acquire(ref=ref, index=index, place=place):
                self.access("acquire", ref, index, place, Reg("task"))
            case ops.Release(ref=ref, index=index, place=place):
                self.access("release", ref, index, place, Const(0))
            case ops.Sort(ref=ref, count=count, place=place):
                self.access("sort", ref, count, place, None)
            case ops.Check():
                self.check(s)
            case ops.When(condition=condition, then=then, otherwise=otherwise):
                self.emit_branch(condition, then, otherwise)
            case ops.While(test=test, condition=condition, body=body):
                top = len(self.instructions)
                self.block(test)
                exit_at = self.hole("branch", condition)
                self.block(body)
                self.instructions.append(Instruction("jump", target=top))
                self.fill(exit_at)
            case ops.Each():
                self.block(s.in_order())

    def access(
        self,
        kind: str,
        ref: Ref,
        index: Expr,
        place: Place,
        value: Expr | None,
        *,
        writes: int | None = None,
        op: Operator = "",
        width: Width | None = None,
    ) -> None:
        keys = tuple((tag, self.compute(key)) for tag, key in ref.keys)
        made = Instruction(
            kind,
            self.reads(index, value, place.position, place.index, *(key for _, key in ref.keys)),
            writes,
            self.compute(value) if value is not None else None,
            self.compute(index),
            ref,
            keys,
            self.compute(place.position) if place.position is not None else None,
            self.compute(place.index) if place.index is not None else None,
            message=place_of(self.tower, ref.depth),
            op=op,
            width=width,
        )
        self.instructions.append(made)

    def check(self, s: ops.Check) -> None:
        condition = self.compute(s.condition)
        shown = [(name, self.compute(value)) for name, value in s.values]

        def violation(registers: Registers) -> dict[str, Any] | None:
            return None if condition(registers) else {name: value(registers) for name, value in shown}

        reads = self.reads(s.condition, *(value for _, value in s.values))
        message = place_of(self.tower, s.depth) + s.message
        self.instructions.append(Instruction("check", reads, compute=violation, message=message))

    def emit_branch(self, condition: Expr, then: tuple[Stmt, ...], otherwise: tuple[Stmt, ...]) -> None:
        else_at = self.hole("branch", condition)
        self.block(then)
        if otherwise:
            end_at = self.hole("jump")
            self.fill(else_at)
            self.block(otherwise)
            self.fill(end_at)
        else:
            self.fill(else_at)

    def hole(self, kind: str, condition: Expr | None = None) -> int:
        """A branch or a jump whose target is filled in later."""
        compute = None if condition is None else self.compute(condition)
        self.instructions.append(Instruction(kind, self.reads(condition), compute=compute))
        return len(self.instructions) - 1

    def fill(self, at: int) -> None:
        self.instructions[at] = replace(self.instructions[at], target=len(self.instructions))


def liveness(instructions: Sequence[Instruction]) -> list[frozenset[int]]:
    """For each instruction, the registers that it or a later one reads before they are written again."""
    live: list[frozenset[int]] = [frozenset()] * (len(instructions) + 1)
    changed = True
    while changed:
        changed = False
        for k in reversed(range(len(instructions))):
            step = instructions[k]
            after = frozenset() if step.kind == "end" else live[step.target if step.kind == "jump" else k + 1]
            if step.kind == "branch":
                after |= live[step.target]
            now = (after - {step.writes}) | step.reads
            if now != live[k]:
                live[k] = now
                changed = True
    return live[:-1]
