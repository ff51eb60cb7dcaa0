"""From a plan to the instructions that the engine runs."""

from __future__ import annotations

from collections.abc import Iterable

from wingspan.base.errors import InternalError
from wingspan.base.libraries import np
from wingspan.lang.ir import Value
from wingspan.lang.operators import ATOMIC, COMPARISONS, WRAPPING, mirror
from wingspan.lang.registers import RegisterType
from wingspan.native.code import NUMBER, RegisterCode
from wingspan.plan import ir as plan
from wingspan.plan.ir import Access, Const, Expr, Op, Plan, Reg, Stmt
from wingspan.plan.uses import registers, report_operands, uses

_BOOLEAN = frozenset({"and", "or", "not"})


def assemble(made: Plan) -> RegisterCode:
    """The instructions of a plan."""
    assembler = _Assembler(made)
    assembler.block(made.body)
    assembler.emit("halt", None, uses=(e for _, e in (*made.variables, *made.whole, *made.fills)))
    return RegisterCode(
        made,
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

    def __init__(self, made: Plan) -> None:
        self.slots: dict[str, int] = {}
        self.types: list[RegisterType] = []
        self.contents: list[bytes] = []
        self.constants: dict[tuple[RegisterType, bytes], int] = {}
        self.parts: dict[tuple[RegisterType, int], int] = {}
        """for each type, its slots for parts of expressions, which all statements reuse"""
        self.taken: dict[RegisterType, int] = {}
        """for each type, the number of slots that the current statement uses"""
        self.rows: list[list[int]] = []
        self.statements: list[Stmt | None] = []
        self.uses: list[frozenset[int]] = []
        self.pars = 0
        for _, reg in (*made.roots, *made.parameters):
            self.slot(reg)

    # ------------------------------------------------------------------------------------------------------- slots

    def new(self, type_: RegisterType, contents: bytes = bytes(8)) -> int:
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

    def constant(self, value: Value, type_: RegisterType) -> int:
        key = type_, type_.pack(value)
        if key not in self.constants:
            self.constants[key] = self.new(*key)
        return self.constants[key]

    def part(self, type_: RegisterType) -> int:
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

    def emit_using(self, name: str, s: Stmt, *operands: int) -> int:
        """The same for a statement whose expressions are needed, including those only for reports."""
        return self.emit(name, s, *operands, uses=(*uses(s), *report_operands(s)))

    def block(self, body: tuple[Stmt, ...]) -> None:
        for s in body:
            self.taken.clear()
            self.statement(s)

    def statement(self, s: Stmt) -> None:
        match s:
            case plan.Set(reg=reg, value=Op() as value):
                self.operation(value, self.slot(reg), s)
            case plan.Set(reg=reg, value=value):
                self.emit("move", s, self.slot(reg), self.operand(value))
            case plan.If():
                self.branch(s)
            case plan.While(test=test, condition=condition, body=body):
                start = len(self.rows)
                self.block(test)
                leave = self.unless(condition)
                self.block(body)
                self.emit("back", None, start)
                self.rows[leave][1] = len(self.rows)
            case plan.Par():
                self.par(s)
            case plan.Compute(reg=reg, op=op, args=args):
                operands = [self.operand(a) for a in args]
                self.emit_using(f"try {args[0].type.arithmetic} {op}", s, self.slot(reg), *operands)
            case plan.Check(condition=condition):
                self.emit_using("check", s, 0, self.operand(condition))
            case plan.Child(reg=reg, group=group, parent=parent, key=key):
                self.emit_using("child", s, self.slot(reg), self.slot(parent), self.operand(key), group)
            case plan.AllocateInstance(reg=reg, group=group):
                self.emit("fresh", s, self.slot(reg), 0, 0, group)
            case plan.ReleaseInstance(reg=reg):
                self.emit("drop", s, 0, self.slot(reg))
            case plan.Expandable():
                self.block(s.expand())
            case _:
                self.access(s)

    def unless(self, condition: Expr) -> int:
        """Append a jump that is taken unless the condition holds, with its target left open; its number."""
        name, args = _test_instruction("unless", condition)
        return self.emit(name, None, 0, *map(self.operand, args))

    def branch(self, s: plan.If) -> None:
        skip = self.unless(s.condition)
        self.block(s.then)
        if s.otherwise:
            leave = self.emit("jump", None, 0)
            self.rows[skip][1] = len(self.rows)
            self.block(s.otherwise)
            skip = leave
        self.rows[skip][1] = len(self.rows)

    def par(self, s: plan.Par) -> None:
        start = self.emit_using("par", s, self.slot(s.task), 0, self.operand(s.tasks), self.pars)
        self.pars += 1
        self.block(s.body)
        self.emit("done", s, uses=s.joined)
        self.rows[start][2] = len(self.rows)
        for reg in s.joined:
            self.emit("joined", None, self.slot(reg))

    def access(self, s: Access) -> None:
        a, c = self.slot(s.ref.instance), s.ref.buffer.number
        match s:
            case plan.Load(reg=reg, index=index):
                self.emit_using("load", s, self.slot(reg), a, self.operand(index), c)
            case plan.AtomicLoad(reg=reg, index=index):
                self.emit_using("look", s, self.slot(reg), a, self.operand(index), c)
            case plan.Store(index=index, value=value):
                b = self.operand(index)
                self.emit_using("store", s, self.operand(value), a, b, c)
            case plan.AtomicUpdate(index=index, op=op, value=value, signed_times=None):
                b = self.operand(index)
                self.emit_using("atomic", s, self.operand(value), a, b, c, ATOMIC.index(op))
            case plan.AtomicUpdate(index=index, value=value, signed_times=Const() | Reg() | Op() as times):
                b, d = self.operand(index), self.operand(times)
                self.emit_using("atomic muladd", s, self.operand(value), a, b, c, d)
            case plan.Swap(reg=reg, index=index, old=old, value=value):
                b, d = self.operand(index), self.operand(value)
                self.emit("move", None, self.slot(reg), self.operand(old))
                self.emit("swap", s, self.slot(reg), a, b, c, d, uses=(*uses(s), *report_operands(s), reg))
            case plan.FetchChunk(reg=reg, stop=stop, step=step):
                b, d = self.operand(stop), self.operand(step)
                self.emit_using("claim", s, self.slot(reg), a, b, c, d)
            case plan.Acquire(index=e) | plan.Release(index=e) | plan.Sort(count=e):
                self.emit_using(type(s).__name__.lower(), s, 0, a, self.operand(e), c)


def _instruction(e: Op) -> tuple[str, tuple[Expr, ...]]:
    """The instruction of an operator, and its operands."""
    if e.op == "select":
        name, tested = _test_instruction("select", e.args[0])
        return name, (*tested, *e.args[1:])
    if e.op in _BOOLEAN:
        return e.op, e.args
    if e.op == "float":
        return "to float", e.args
    if e.op in WRAPPING:
        return f"int {e.op.removesuffix('%')}", e.args  # which wraps
    return f"{e.args[0].type.arithmetic} {e.op}", e.args


def _test_instruction(name: str, condition: Expr) -> tuple[str, tuple[Expr, ...]]:
    """The instruction of this name that tests a condition, and its operands: two integers to compare if possible."""
    match condition:
        case Op(op=op, args=(x, y)) if op in COMPARISONS and not x.type.has_nan:
            for fused, args in ((op, (x, y)), (mirror(op), (y, x))):
                if f"{name} int {fused}" in NUMBER:
                    return f"{name} int {fused}", args
    return name, (condition,)
