"""The levels' own procedures written into a plan: the same text that the semantics runs one access at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InternalError
from wingspan.buffers import ops
from wingspan.buffers.linear import LinearCode
from wingspan.lang.devices import Device
from wingspan.lang.ir import Function, Operator
from wingspan.lang.operators import OPERATORS
from wingspan.lang.registers import RegisterType
from wingspan.lang.widths import Width
from wingspan.plan import ir as plan
from wingspan.plan.fold import op
from wingspan.plan.ir import Compute, Const, Expr, Origin, Place, Ref, Reg
from wingspan.plan.layout import TensorLayout
from wingspan.plan.lowering.build import PlanBuilder
from wingspan.plan.lowering.expressions import call, to_float

ADDING = frozenset({"+", "-"})
SUMMING = frozenset({"+%", "-%"})
"""The additions that wrap around."""
OVERFLOWS = frozenset({"muladd", *(symbol for symbol, each in OPERATORS.items() if each.update and each.fails)})
"""The updates of which some overflow, of integers."""


@dataclass(frozen=True)
class Instance:
    """An instance of a group of a tensor, and where in the program its registers are valid."""

    layout: TensorLayout
    group: int
    reg: Reg


@dataclass(frozen=True)
class CallSite:
    """The call site of a procedure: the origin, the thread of each device (a register), if the tensor is read.

    `device` is the one that a task of is at work here; None if independent iterations are not to be dealt to tasks.
    What is combined by + or - is combined so many `times`, if that is given.
    """

    origin: Origin
    threads: Mapping[Device, Reg]
    frozen: bool
    device: Device | None
    times: Expr | None = None

    def team(self, device: Device | None) -> Device | None:
        """The device whose threads are free to share the iterations of a loop that one of its levels runs."""
        if device is None or device.nthreads == 1 or self.device is None:
            return None
        above: Device | None = self.device
        while above is not None and above != device:
            above = above.parent
        return device if above is None else None


def inline(
    builder: PlanBuilder,
    code: LinearCode,
    start: Instance,
    here: CallSite,
    given: Mapping[str, Expr],
    into: Mapping[str, Reg],
) -> tuple[dict[str, Expr], Callable[[], Instance]]:
    """Write a procedure; its results by name, and what writes the way to the instance that it descends to.

    `given` are its inputs by name. The registers `into` are inputs and results in one: what the procedure sets under
    these names stays there.
    """
    return _Inliner(builder, code, start, here, given, into).run()


class _Inliner:
    def __init__(
        self,
        builder: PlanBuilder,
        code: LinearCode,
        start: Instance,
        here: CallSite,
        given: Mapping[str, Expr],
        into: Mapping[str, Reg],
    ) -> None:
        self.builder, self.start, self.here = builder, start, here
        self.procedure = code.procedure
        self.sets = Counter(_definitions(self.procedure.body))
        self.names: dict[str, Expr] = dict(into)
        for name in self.procedure.inputs:
            if name in ("task", *into):
                continue
            value = given[name]
            if self.sets[name]:
                reg = builder.fresh(name, value.type)
                builder.set(reg, value, here.origin)
                value = reg
            elif isinstance(value, plan.Op):
                value = builder.keep(name, value, here.origin)
            self.names[name] = value

    def run(self) -> tuple[dict[str, Expr], Callable[[], Instance]]:
        self.block(self.procedure.body)
        results = {name: self.expression(value) for name, value in self.procedure.results}
        return results, lambda: self.instance(self.procedure.keys)

    def block(self, body: tuple[ops.Stmt, ...]) -> None:
        for s in body:
            self.statement(s)

    def statement(self, s: ops.Stmt) -> None:
        emit, origin = self.builder.emit, self.here.origin
        match s:
            case ops.SetReg(reg=name, value=value):
                made = self.expression(value)
                if self.stays(name, value):
                    self.names[name] = made
                else:
                    reg = self.target(name, made.type)
                    self.builder.set(reg, self.convert(made, reg.type), origin)
            case ops.Load(reg=name, ref=ref, index=index, place=place):
                found, at = self.ref(ref), self.expression(index)
                emit(plan.Load(self.target(name, found.buffer.type), found, at, self.place(place), origin))
            case ops.AtomicLoad(reg=name, ref=ref, index=index, place=place):
                found, at = self.ref(ref), self.expression(index)
                emit(plan.AtomicLoad(self.target(name, found.buffer.type), found, at, self.place(place), origin))
            case ops.Store(ref=ref, index=index, value=value, place=place):
                at, stored = self.expression(index), self.expression(value)
                into = self.ref(ref)
                emit(plan.Store(into, at, self.convert(stored, into.buffer.type), self.place(place), origin))
            case ops.AtomicUpdate(op=symbol) if not _atomic(symbol):
                self.swap(s)
            case ops.AtomicUpdate(ref=ref, index=index, op=str() as symbol, value=value, place=place):
                at, given = self.expression(index), self.expression(value)
                into = self.ref(ref)
                stored = self.convert(given, into.buffer.type)
                times = self.here.times if symbol in ADDING else None
                stored = _repeat_term(symbol, stored, self.here)
                emit(plan.AtomicUpdate(into, at, _atomic(symbol), stored, self.place(place), origin, times))
            case ops.Acquire(ref=ref, index=index, place=place):
                emit(plan.Acquire(self.ref(ref), self.expression(index), self.place(place), origin))
            case ops.Release(ref=ref, index=index, place=place):
                emit(plan.Release(self.ref(ref), self.expression(index), self.place(place), origin))
            case ops.Sort(ref=ref, count=count, place=place):
                emit(plan.Sort(self.ref(ref), self.expression(count), self.place(place), origin))
            case ops.Check():
                self.check(s)
            case ops.When(condition=condition, then=then, otherwise=otherwise):
                test = self.expression(condition)
                self.builder.when(test, lambda: self.block(then), lambda: self.block(otherwise))
            case ops.While(test=before, condition=condition, body=body):
                for name in _definitions(body):
                    if isinstance(known := self.names.get(name), Reg):
                        self.builder.forget(known)
                test, first = self.builder.capture(partial(self.test, before, condition))
                emit(plan.While(first, test, self.builder.block(partial(self.block, body))))

            case ops.Each():
                self.each(s)

    def swap(self, s: ops.AtomicUpdate) -> None:
        """An update by a function in one step: if the cell is not what the new value was made of, that is made anew."""
        builder, origin, ref = self.builder, self.here.origin, self.ref(s.ref)
        at, given = builder.keep("at", self.expression(s.index), origin), self.expression(s.value)
        value, place = builder.keep("value", self.convert(given, ref.buffer.type), origin), self.place(s.place)
        found, old = builder.fresh("found", ref.buffer.type), builder.fresh("old", ref.buffer.type)
        zero = Const(old.type.zero)
        builder.emit(plan.Swap(found, ref, at, zero, zero, place, origin))

        def attempt() -> None:
            builder.set(old, found, origin)
            made = combine(builder, s.op, old, value, self.here)
            if s.width is not None:
                made = self.fitting(made, s.width, ref.buffer.place)
            builder.emit(plan.Swap(found, ref, at, old, made, place, origin))

        again = op("not", op(old.type.bit_equality, found, old))
        builder.emit(plan.While(builder.block(attempt), again, ()))

    def fitting(self, made: Expr, width: Width, place: str) -> Expr:
        """A value as a narrow cell stores it, after a check that it fits."""
        if width.rounds:
            return op("f32", made)
        made = self.builder.keep("made", made, self.here.origin)
        least, most = Const(width.range[0]), Const(width.range[-1])
        fits = op("and", op("<=", least, made), op("<=", made, most))
        message = f"{place}{{value}} does not fit {width}"
        self.builder.emit(plan.Check(fits, message, (("value", made),), self.here.origin))
        return made

    def each(self, s: ops.Each) -> None:
        """A loop whose iterations are independent: where it pays, each thread of the device takes an equal share."""
        team = self.here.team(s.device)
        start, stop, pays = self.expression(s.start), self.expression(s.stop), self.expression(s.pays)
        if team is None or pays == Const(False):
            self.block(s.in_order())
            return
        origin, task = self.here.origin, self.builder.fresh("thread")
        size = op("+", op("-", stop, start), Const(1))
        most = op("min", size, self.builder.threads(team))
        tasks = self.builder.keep("tasks", op("select", pays, most, Const(1)), origin)

        def share() -> None:
            first = op("+", start, op("÷", op("*", op("-", task, Const(1)), size), tasks))
            past = op("+", start, op("÷", op("*", task, size), tasks))
            self.names["first"] = self.builder.keep("first", first, origin)
            self.names["last"] = self.builder.keep("last", op("-", past, Const(1)), origin)
            self.block(replace(s, start=ops.Reg("first"), stop=ops.Reg("last")).in_order())

        self.builder.emit(plan.Par(team, task, self.builder.block(share), (), origin, tasks))

    def test(self, before: tuple[ops.Stmt, ...], condition: ops.Expr) -> Expr:
        self.block(before)
        return self.expression(condition)

    def stays(self, name: str, value: ops.Expr) -> bool:
        """Whether a register is another name for what the procedure does not change."""
        same = isinstance(value, ops.Const) or (isinstance(value, ops.Reg) and not self.sets[value.name])
        return same and self.sets[name] == 1 and name not in self.names

    def check(self, s: ops.Check) -> None:
        tower = self.start.layout.tower
        level = tower.levels[s.depth]
        message = f"{self.start.layout.tensor}, level {tower.numbers[s.depth]} {level.name}: {s.message}"
        values: list[tuple[str, Expr]] = []
        for name, value in s.values:
            if isinstance(value, ops.Const) and isinstance(value.value, Device):
                message = message.replace(f"{{{name}}}", str(value.value))
            else:
                values.append((name, self.expression(value)))
        condition = self.expression(s.condition)
        if condition != Const(True):
            self.builder.emit(plan.Check(condition, message, tuple(values), self.here.origin))

    # -- expressions, registers and instances

    def expression(self, e: ops.Expr) -> Expr:
        match e:
            case ops.Const(value=value):
                return Const(value)
            case ops.Reg(name=name):
                return self.names[name]
            case ops.Op(op="thread", args=(ops.Const(value=device), _)):
                return self.here.threads.get(device, Const(0))
            case ops.Op(op="combine", args=(ops.Const(value=symbol), x, v)):
                return combine(self.builder, symbol, self.expression(x), self.expression(v), self.here)
            case ops.Op(op=symbol, args=args):
                values = tuple(self.expression(a) for a in args)
                folded = values[0]
                if symbol in ("and", "or"):
                    for value in values[1:]:
                        folded = self.builder.op(symbol, folded, value)
                    return folded
                if any(a.type.is_double for a in values):
                    values = tuple(to_float(a) for a in values)
                elif symbol in ("same", "alike"):
                    symbol = "=="
                return self.builder.op("÷" if symbol == "//" else symbol, *values)
        raise InternalError(f"not an expression: {e}")

    def convert(self, e: Expr, type_: RegisterType) -> Expr:
        """A value as one of this type, for a cell or a register that holds no other."""
        if e.type is type_:
            return e
        if e.type.is_integer and type_.is_double:
            return to_float(e)
        message = f"{self.start.layout.tower}: {self.procedure.name} puts an {e.type} in the place of a {type_}"
        raise InternalError(message)

    def target(self, name: str, type_: RegisterType) -> Reg:
        """The register that a name stands for from here on."""
        known = self.names.get(name)
        if isinstance(known, Reg) and (name not in self.procedure.inputs or self.sets[name]):
            self.builder.forget(known)
            return known
        reg = self.builder.fresh(name.split(".")[0] if name[0].isalpha() else name, type_)
        self.names[name] = reg
        return reg

    def place(self, place: ops.Place) -> Place:
        position = None if place.position is None else self.expression(place.position)
        return Place(position, None if place.index is None else self.expression(place.index))

    def ref(self, ref: ops.Ref) -> Ref:
        return Ref(self.start.layout.buffer(ref.depth, ref.buffer), self.instance(ref.keys).reg, self.here.frozen)

    def instance(self, keys: ops.Keys) -> Instance:
        """The instance that keys lead to from where the procedure starts."""
        layout, group, reg = self.start.layout, self.start.group, self.start.reg
        for _, key in keys:
            below = layout.below(group)
            settled = all(self.sets[name] <= 1 for name in _registers(key))
            reg = self.builder.child(below, reg, self.expression(key), self.here.origin, settled=settled)
            group = below.id
        return Instance(layout, group, reg)


def combine(builder: PlanBuilder, symbol: Operator, x: Expr, v: Expr, here: CallSite) -> Expr:
    """x ⊕ v, or that many times; of integers it may overflow."""
    if isinstance(symbol, Function):
        return call(builder, symbol, (x, v), here.origin)
    if symbol == "=":
        return v
    args: tuple[Expr, ...] = (x, _repeat_term(symbol, v, here))
    if symbol in ADDING and here.times is not None:
        often = here.times if symbol == "+" else op("-", Const(0), here.times)
        symbol, args = "muladd", (x, to_float(often) if x.type.is_double else often, v)
    if symbol in OVERFLOWS and x.type.is_integer:
        reg = builder.fresh("sum" if symbol in ("+", "muladd") else "combined")
        builder.emit(Compute(reg, symbol, args, here.origin))
        return reg
    if symbol == "muladd":
        return op(symbol, *args)
    return op(OPERATORS[symbol].operation, *args)


def _atomic(symbol: Operator) -> str:
    """The operator by which machines update a cell in one step as ⊕ does; empty if there is none."""
    if isinstance(symbol, Function):
        return ""
    return symbol if OPERATORS[symbol].atomic else OPERATORS[symbol].plan


def _repeat_term(symbol: str, v: Expr, here: CallSite) -> Expr:
    """The term that adds v, modulo 2⁶⁴, as often as the update is repeated."""
    return v if here.times is None or symbol not in SUMMING else op("*%", here.times, v)


def _definitions(body: tuple[ops.Stmt, ...]) -> list[str]:
    """The registers that statements set, as often as they do."""
    found: list[str] = []
    for s in body:
        match s:
            case ops.SetReg(reg=name) | ops.Load(reg=name) | ops.AtomicLoad(reg=name):
                found.append(name)
            case ops.When(then=then, otherwise=otherwise):
                found += _definitions(then) + _definitions(otherwise)
            case ops.While(test=test, body=inner):
                found += _definitions(test) + _definitions(inner)
            case ops.Each():
                found += _definitions(s.in_order())
    return found


def _registers(e: ops.Expr) -> list[str]:
    match e:
        case ops.Reg(name=name):
            return [name]
        case ops.Op(args=args):
            return [name for a in args for name in _registers(a)]
    return []
