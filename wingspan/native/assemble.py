"""Plans as linear code: one table of instructions over a file of registers, which the engine runs.

A *slot* is one of the 8 bytes of the register file: each register has one, each constant, and each part of an
expression. Constants are stored at the start, so every operand is a slot. An instruction is a row of six
numbers, the opcode and r, a, b, c, d; `OPCODES` defines them.

A controlled run stops before the *rests*: the accesses to buffers, `par`, `done` and `halt`. It also stops before the
instructions that *need help* because they are about instances, which the controller of the run keeps: `child`, `fresh`
and `drop`. All other instructions are private to the task.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wingspan.errors import InternalError
from wingspan.lang.ir import REDUCTIONS, WRAPPING, Value
from wingspan.plan.ir import (
    COMPUTES,
    Access,
    Acquire,
    Atomic,
    Buffer,
    Check,
    Child,
    Claim,
    Coincide,
    Compute,
    Const,
    Drop,
    Expr,
    Fresh,
    Load,
    Meet,
    Op,
    Par,
    Plan,
    Prefetch,
    Reg,
    Release,
    Room,
    Set,
    Sort,
    Stmt,
    Store,
    Swap,
    Tile,
    Type,
    Unite,
    Unpack,
    When,
    While,
    walk,
)
from wingspan.plan.passes.coincide import by_runs
from wingspan.plan.passes.tile import row_by_row
from wingspan.plan.passes.unite import by_entries
from wingspan.plan.passes.unpack import by_bits
from wingspan.plan.uses import operands, registers, told
from wingspan.runtime.results import Left, decoded, left

OPCODES = {
    # private: r = a, r = a ? b : c, r = a ∘ b ? c : d, r = a ∘ b
    "move": "wu", "select": "wuuu", "select int ==": "wuuuu", "select int <": "wuuuu",
    "and": "wuu", "or": "wuu", "not": "wu", "to float": "wu",
    **{f"int {op}": "wuu" for op in ("+", "-", "*", "÷", "%", "min", "max", "==", "!=", "<", "<=", ">", ">=")},
    **{f"float {op}": "wuu" for op in ("+", "-", "*", "min", "max")},
    **{f"int {op}": "wuu" for op in ("|", "&", "⊻")},
    "int bit": "wu", "int since": "wuu", "int first": "wu", "int rest": "wu", "int count": "wu",
    "float muladd": "wuuu", "float abs": "wu", "float neg": "wu", "float same": "wuu", "float alike": "wuu",
    "float f32": "wu",
    "float pair": "wuu", "int pair_first": "wu", "int pair_second": "wu", "int maxby": "wuu",
    **{f"float {op}": "wuu" for op in ("==", "!=", "<", "<=", ">", ">=")},
    # private, or a fault
    **{f"try int {op}": "wuu" for op in ("+", "-", "*", "÷", "%", "<<", ">>")},
    "try int muladd": "wuuu", "try int neg": "wu", "try int abs": "wu",
    **{f"try float {op}": "wuu" for op in ("÷", "%", "/")}, "try isqrt": "wu", "try int": "wu",
    "check": ".u",  # a fault unless a
    # control: continue at instruction r; `unless` if a, or a ∘ b, is false; `back` is a jump to an earlier one
    "jump": ".", "unless": ".u", **{f"unless int {op}": ".uu" for op in ("==", "!=", "<", "<=")}, "back": ".",
    # accesses to buffer c of instance a
    "load": "wuu.",  # r = buffer[b]
    "store": "uuu.",  # buffer[b] = r
    "atomic": "uuu..",  # buffer[b] = buffer[b] ⊕ r; ⊕ is number d of REDUCTIONS
    "atomic muladd": "uuu.u",  # buffer[b] = buffer[b] + d·r
    "swap": "wuu.u",  # r was put there before; if buffer[b] is r to the bit, it becomes d; r = what it was
    "claim": "wuu.u",  # r = buffer[1]; buffer[1] = r + d if r ≤ b
    "acquire": ".uu.", "release": ".uu.",  # lock buffer[b]
    "sort": ".uu.",  # buffer[1] to buffer[b]
    # instances
    "child": "wuu.",  # r = the child of a with key b in group c
    "fresh": "w...",  # r = an instance of group c
    "drop": ".u",  # a
    # tasks
    "par": "w.u.",  # b tasks, r = 1, 2, … from the next instruction on to `done`; then a is next; it is par number c
    "done": "",
    "joined": ".",  # next after a par: r is true if it was true at the end of one of the tasks
    "halt": "",
}  # fmt: skip
"""The instructions and the meaning of r, a, b, c, d: a slot written, a slot used, or the number itself. An
instruction's opcode is its place in this list.
"""

NUMBER = {name: number for number, name in enumerate(OPCODES)}

_ACCESSES = ("load", "store", "atomic", "atomic muladd", "swap", "claim", "acquire", "release", "sort")
_RESTS = frozenset(NUMBER[name] for name in (*_ACCESSES, "par", "done", "halt"))
_HELPED = frozenset(NUMBER[name] for name in ("child", "fresh", "drop"))
_BOOLEAN = frozenset({"and", "or", "not"})
_MIRRORED = {">": "<", ">=": "<="}


@dataclass(frozen=True)
class Code:
    """A plan as instructions."""

    plan: Plan
    slots: Mapping[str, int]
    """the slot of each register"""
    types: tuple[Type, ...]
    """the type of each slot; truth values are the integers 0 and 1"""
    initial: bytes
    """the register file at the start"""
    table: NDArray[np.int64]
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
    def written(self) -> frozenset[Buffer]:
        """The buffers that some statement may write."""
        accesses = (s for s in walk(self.plan.body) if isinstance(s, Access) and not isinstance(s, Load))
        return frozenset(s.ref.buffer for s in accesses)

    @cached_property
    def private(self) -> Mapping[Reg, str]:
        """The tensor of each register that holds an instance private to a task."""
        fresh = (s for s in walk(self.plan.body) if isinstance(s, Fresh))
        return {s.reg: self.plan.groups[s.group].tensor for s in fresh}

    @cached_property
    def ends(self) -> frozenset[int]:
        """The instructions at which a task ends."""
        return frozenset(np.flatnonzero(np.isin(self.table[:, 0], [NUMBER["done"], NUMBER["halt"]])).tolist())

    @cached_property
    def _kept(self) -> dict[int, tuple[NDArray[np.int64], int]]:
        return {}

    def kept(self, pc: int) -> tuple[NDArray[np.int64], int]:
        """The slots whose contents matter at an instruction, and the number of bytes before those of instances."""
        if pc not in self._kept:
            bits = self.live[pc]
            live = [slot for slot in range(bits.bit_length()) if bits >> slot & 1]
            live.sort(key=lambda slot: self.types[slot] == "instance")
            plain = sum(self.types[slot] != "instance" for slot in live)
            self._kept[pc] = np.array(live, np.int64), 8 * plain
        return self._kept[pc]

    def rests(self, pc: int) -> bool:
        """Whether a controlled run stops before this instruction, because other tasks can observe it."""
        return int(self.table[pc, 0]) in _RESTS

    def needs_help(self, pc: int) -> bool:
        """Whether the controller of the run must perform this private instruction."""
        return int(self.table[pc, 0]) in _HELPED

    def get(self, registers: bytes, reg: Reg) -> Value:
        """The value of a register in a register file."""
        slot = self.slots[reg.name]
        return decoded(self.types[slot], registers, slot)

    def put(self, registers: bytes, reg: Reg, value: Value) -> bytes:
        """The register file with another value in a register."""
        at = 8 * self.slots[reg.name]
        return registers[:at] + pack(value, reg.type) + registers[at + 8 :]

    def given(self, parameters: Mapping[str, int]) -> Code:
        """The code with values for what its plan leaves open, by the names of the plan's parameters."""
        initial = self.initial
        for name, reg in self.plan.parameters:
            initial = self.put(initial, reg, parameters[name])
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

    def left(self, registers: bytes) -> Left:
        """The results of a run that ends with these registers."""
        return left(self.plan, [self.value(registers, e) for e in self.plan.ends])


def pack(value: Value, type_: Type) -> bytes:
    """The contents of a slot."""
    return struct.pack("<d", value) if type_ == "float" else struct.pack("<q", int(value))


def operate(op: str, args: list[Any]) -> Value:
    """A private operator over values: integers wrap around, and dividing them by 0 gives 0."""
    if op in ("÷", "%") and args[1] == 0:
        return 0
    result: Value = COMPUTES[op](*args)
    return result if isinstance(result, bool | float) else (int(result) + 2**63) % 2**64 - 2**63


def assemble(plan: Plan) -> Code:
    """The instructions of a plan."""
    assembler = _Assembler(plan)
    assembler.block(plan.body)
    assembler.emit("halt", None, uses=(e for _, e in (*plan.variables, *plan.whole, *plan.fills)))
    return Code(
        plan,
        assembler.slots,
        tuple(assembler.types),
        b"".join(assembler.contents),
        np.array(assembler.rows, dtype=np.int64),
        tuple(assembler.statements),
        tuple(assembler.uses),
        frozenset(assembler.constants.values()),
    )


class _Assembler:
    """The instructions emitted so far."""

    def __init__(self, plan: Plan) -> None:
        self.slots: dict[str, int] = {}
        self.types: list[Type] = []
        self.contents: list[bytes] = []
        self.constants: dict[tuple[Type, bytes], int] = {}
        self.parts: dict[tuple[Type, int], int] = {}
        """for each type, its slots for parts of expressions, which all statements reuse"""
        self.taken: dict[Type, int] = {}
        """how many of them the current statement has used"""
        self.rows: list[list[int]] = []
        self.statements: list[Stmt | None] = []
        self.uses: list[frozenset[int]] = []
        self.pars = 0
        for _, reg in (*plan.roots, *plan.parameters):
            self.slot(reg)

    # ------------------------------------------------------------------------------------------------------- slots

    def new(self, type_: Type, contents: bytes = bytes(8)) -> int:
        self.types.append(type_)
        self.contents.append(contents)
        return len(self.types) - 1

    def slot(self, reg: Reg) -> int:
        if reg.name not in self.slots:
            self.slots[reg.name] = self.new(reg.type)
        slot = self.slots[reg.name]
        if self.types[slot] != reg.type:
            raise InternalError(f"the register {reg.name} holds both {self.types[slot]} and {reg.type}")
        return slot

    def constant(self, value: Value, type_: Type) -> int:
        key = type_, pack(value, type_)
        if key not in self.constants:
            self.constants[key] = self.new(*key)
        return self.constants[key]

    def part(self, type_: Type) -> int:
        key = type_, self.taken.get(type_, 0)
        self.taken[type_] = key[1] + 1
        if key not in self.parts:
            self.parts[key] = self.new(type_)
        return self.parts[key]

    # ------------------------------------------------------------------------------------------------- expressions

    def operand(self, e: Expr) -> int:
        """The slot with the value of an expression, once the emitted instructions have run."""
        match e:
            case Const(value=value):
                return self.constant(value, e.type)
            case Reg():
                return self.slot(e)
            case Op():
                return self.operation(e, None, None)

    def operation(self, e: Op, r: int | None, statement: Stmt | None) -> int:
        """The same for an operator, with the value in slot r if given."""
        name, args = _instruction(e)
        operands = [self.operand(a) for a in args]
        if r is None:
            r = self.part(e.type)
        self.emit(name, statement, r, *operands)
        return r

    # -------------------------------------------------------------------------------------------------- statements

    def emit(self, name: str, statement: Stmt | None, *operands: int, uses: Iterable[Expr] = ()) -> int:
        """Append an instruction, which also needs the values of `uses`; its number."""
        self.rows.append([NUMBER[name], *operands, *[0] * (5 - len(operands))])
        self.statements.append(statement)
        self.uses.append(frozenset(self.slot(reg) for e in uses for reg in registers(e)))
        return len(self.rows) - 1

    def block(self, body: tuple[Stmt, ...]) -> None:
        for s in body:
            self.taken.clear()
            self.statement(s)

    def statement(self, s: Stmt) -> None:
        match s:
            case Set(reg=reg, value=Op() as value):
                self.operation(value, self.slot(reg), s)
            case Set(reg=reg, value=value):
                self.emit("move", s, self.slot(reg), self.operand(value))
            case When():
                self.branch(s)
            case While(test=test, condition=condition, body=body):
                start = len(self.rows)
                self.block(test)
                leave = self.unless(condition)
                self.block(body)
                self.emit("back", None, start)
                self.rows[leave][1] = len(self.rows)
            case Meet(plain=plain):
                self.block(plain)
            case Par():
                self.par(s)
            case Compute(reg=reg, op=op, args=args):
                operands = [self.operand(a) for a in args]
                typed = {"isqrt": "isqrt", "int": "int"}.get(op, f"{args[0].type} {op}")
                self.emit(f"try {typed}", s, self.slot(reg), *operands, uses=_used(s))
            case Check(condition=condition):
                self.emit("check", s, 0, self.operand(condition), uses=_used(s))
            case Child(reg=reg, group=group, parent=parent, key=key):
                self.emit("child", s, self.slot(reg), self.slot(parent), self.operand(key), group, uses=_used(s))
            case Fresh(reg=reg, group=group):
                self.emit("fresh", s, self.slot(reg), 0, 0, group)
            case Drop(reg=reg):
                self.emit("drop", s, 0, self.slot(reg))
            case Room():
                pass  # every store checks by itself
            case Unite():
                self.block(by_entries(s))
            case Coincide():
                self.block(by_runs(s))
            case Unpack():
                self.block(by_bits(s))
            case Tile():
                self.block(row_by_row(s))
            case Prefetch():
                pass  # a hint to processors
            case _:
                self.access(s)

    def unless(self, condition: Expr) -> int:
        """Append a jump that is taken unless the condition holds, with its target left open; its number."""
        name, args = _fused("unless", condition)
        return self.emit(name, None, 0, *map(self.operand, args))

    def branch(self, s: When) -> None:
        skip = self.unless(s.condition)
        self.block(s.then)
        if s.otherwise:
            leave = self.emit("jump", None, 0)
            self.rows[skip][1] = len(self.rows)
            self.block(s.otherwise)
            skip = leave
        self.rows[skip][1] = len(self.rows)

    def par(self, s: Par) -> None:
        start = self.emit("par", s, self.slot(s.task), 0, self.operand(s.tasks), self.pars, uses=_used(s))
        self.pars += 1
        self.block(s.body)
        self.emit("done", s, uses=s.joined)
        self.rows[start][2] = len(self.rows)
        for reg in s.joined:
            self.emit("joined", None, self.slot(reg))

    def access(self, s: Access) -> None:
        a, c, uses = self.slot(s.ref.instance), s.ref.buffer.number, _used(s)
        match s:
            case Load(reg=reg, index=index):
                self.emit("load", s, self.slot(reg), a, self.operand(index), c, uses=uses)
            case Store(index=index, value=value):
                b = self.operand(index)
                self.emit("store", s, self.operand(value), a, b, c, uses=uses)
            case Atomic(index=index, op=op, value=value, signed=None):
                b = self.operand(index)
                self.emit("atomic", s, self.operand(value), a, b, c, REDUCTIONS.index(op), uses=uses)
            case Atomic(index=index, value=value, signed=Const() | Reg() | Op() as times):
                b, d = self.operand(index), self.operand(times)
                self.emit("atomic muladd", s, self.operand(value), a, b, c, d, uses=uses)
            case Swap(reg=reg, index=index, old=old, value=value):
                b, d = self.operand(index), self.operand(value)
                self.emit("move", None, self.slot(reg), self.operand(old))
                self.emit("swap", s, self.slot(reg), a, b, c, d, uses=(*uses, reg))
            case Claim(reg=reg, stop=stop, step=step):
                b, d = self.operand(stop), self.operand(step)
                self.emit("claim", s, self.slot(reg), a, b, c, d, uses=uses)
            case Acquire(index=index) | Release(index=index):
                self.emit(
                    "acquire" if isinstance(s, Acquire) else "release", s, 0, a, self.operand(index), c, uses=uses
                )
            case Sort(count=count):
                self.emit("sort", s, 0, a, self.operand(count), c, uses=uses)


def _instruction(e: Op) -> tuple[str, tuple[Expr, ...]]:
    """The instruction of an operator, and its operands."""
    if e.op == "select":
        name, tested = _fused("select", e.args[0])
        return name, (*tested, *e.args[1:])
    if e.op in _BOOLEAN:
        return e.op, e.args
    if e.op == "float":
        return "to float", e.args
    if e.op in WRAPPING:
        return f"int {e.op.removesuffix('%')}", e.args  # which wraps
    return f"{'float' if e.args[0].type == 'float' else 'int'} {e.op}", e.args


def _fused(name: str, condition: Expr) -> tuple[str, tuple[Expr, ...]]:
    """The instruction of this name that tests a condition, and its operands: two integers to compare if possible."""
    match condition:
        case Op(op=op, args=(x, y)) if x.type != "float":
            for fused, args in ((op, (x, y)), (_MIRRORED.get(op), (y, x))):
                if f"{name} int {fused}" in OPCODES:
                    return f"{name} int {fused}", args
    return name, (condition,)


def _used(s: Stmt) -> Iterator[Expr]:
    """The expressions that a statement uses, including those only for reports."""
    yield from operands(s)
    yield from told(s)


def _live(code: Code) -> list[int]:
    """For each instruction, the slots without constants that it or a later one may use before writing them."""
    opcodes = list(OPCODES.items())
    used, written, follows = [], [], []
    for pc, ((number, *row), uses) in enumerate(zip(code.table.tolist(), code.uses, strict=True)):
        name, signature = opcodes[number]
        roles = list(zip(signature, row, strict=False))
        read = uses | {slot for role, slot in roles if role == "u"}
        used.append(sum(1 << slot for slot in read - code.constants))
        written.append(sum(1 << slot for role, slot in roles if role == "w"))
        follows.append(_next(name, row, pc))
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


def _next(name: str, row: list[int], pc: int) -> tuple[int, ...]:
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
