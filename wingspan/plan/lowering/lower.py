"""From a bound program to a plan: statements, variables and tensors. `loops` and `tasks` lower the loops.

The lowering follows the rules with all that is known before the run worked out: the scope of each name, the mode of
each tensor, which fibers a loop unfurls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from wingspan.base.errors import InternalError, Span
from wingspan.buffers import procedures
from wingspan.elaborate import Elaborated
from wingspan.lang import algebra, ir
from wingspan.lang.operators import COMPARISONS
from wingspan.lang.printer import show
from wingspan.lang.registers import BOOL, INT, RegisterType
from wingspan.lang.terms import tensors, unfurled_fibers, updated_by_several
from wingspan.plan import ir as plan
from wingspan.plan import layout
from wingspan.plan.fold import constant, op
from wingspan.plan.ir import Check, Const, Expr, Origin, Place, Plan, Ref, Reg
from wingspan.plan.lowering import expressions, repeat
from wingspan.plan.lowering.effects import Effects
from wingspan.plan.lowering.inline import Instance
from wingspan.plan.lowering.loops import Loops, changes_control_flow
from wingspan.plan.lowering.scope import SharedBinding, TensorBinding
from wingspan.plan.lowering.state import LoweringState
from wingspan.plan.lowering.tasks import Tasks
from wingspan.plan.lowering.variables import variables
from wingspan.tensors.pack import EXACT


def draft(bound: Elaborated, dealt: bool = True) -> Plan:
    """The plan of a bound program before any pass. InputError if a tensor is too large, or for what a plan cannot say.

    `dealt`: whether the operations of levels deal independent iterations to tasks of their own.
    """
    try:
        return Lowering(bound, dealt).plan()
    except RecursionError:
        raise layout.unsupported_error(
            "loops are nested too deeply, or one loop updates too many tensors",
            None,
            "use fewer loops inside each other, and fewer tensors in one loop",
        ) from None


class Lowering(LoweringState):
    """A walk over a program that writes its plan."""

    def __init__(self, bound: Elaborated, dealt: bool = True) -> None:
        thawed = {node.tensor for node in bound.body.walk() if isinstance(node, ir.Thaw)}
        self.inputs = (*bound.inputs, *bound.open)
        constant = frozenset(self.inputs) - thawed
        self.variables = variables(bound.body, bound.towers)
        effects = Effects(bound, self.variables)
        super().__init__(dealt, effects.once, constant, updated_by_several(bound.body), effects)
        self.bound = bound
        self.whole: dict[Reg, Reg] = {}
        """for variables that hold integers and doubles: whether it is an integer now"""
        self.loops = Loops(self, self.statement)
        self.tasks = Tasks(self, self.bound_of, self.loops.serial)

    def plan(self) -> Plan:
        """The plan of the whole program."""
        self.leave_open()
        parameters = tuple(self.builder.parameters.items())
        for name, tower in self.bound.towers.items():
            extents = tuple(map(self.extent, self.bound.extents[name]))
            made = layout.layout(name, tower, extents, len(self.builder.groups), self.builder.parameters)
            self.builder.groups += made.groups
            self.layouts[name] = made
            self.roots.append((name, made.root))
            root = Instance(made, made.groups[0].id, made.root)
            fill = self.bound.inputs[name].fill if name in self.bound.inputs else tower.fill
            mode = "read" if name in self.inputs else "undeclared"
            self.scopes[0].handles[name] = TensorBinding(mode, "", ir.Literal(fill), constant(fill), root)
        self.statement(self.bound.body)
        assigned = {node.name for node in self.bound.body.walk() if isinstance(node, ir.Set)}
        variables = tuple(
            (name, found if isinstance(found, Reg) else self._load(name, found, Origin(None, "ReadLocal")))
            for name, found in self.scopes[0].variables.items()
            if name in assigned
        )
        whole = tuple((name, self.whole[reg]) for name, reg in variables if reg in self.whole)
        fills = tuple((name, self.handle(name).z) for name in self.bound.outputs)
        return Plan(
            tuple(self.builder.groups), tuple(self.roots), tuple(self.builder.out), self.inputs,
            self.bound.outputs, variables, whole, fills, parameters,
        )  # fmt: skip

    def leave_open(self) -> None:
        """Make a parameter of each extent that the inputs have, and of the numbers of threads and chunk sizes."""
        shapes = (self.bound.extents[T] for T in self.inputs)
        given = dict.fromkeys(e.name for shape in shapes for e in shape if isinstance(e, ir.Variable))
        if others := set(self.bound.symbols) - given.keys() - self.bound.towers.keys():
            raise layout.NeedsExtents(f"no input has the {min(others)}", fix="give the extents")
        for name in given:
            self.scopes[0].variables[name] = self.builder.parameter(name, (0, layout.SMALL - 1))
        for name in self.bound.numbers:
            self.builder.parameter(name, (1, algebra.INT64[-1]))

    def extent(self, e: ir.Expression) -> Reg | Const:
        """The extent of an axis."""
        match e:
            case ir.Literal(value=value):
                return Const(int(value))
            case ir.Variable(name=name) if isinstance(found := self.find(name), Reg):
                return found
        raise layout.NeedsExtents(f"an extent is {show(e)}, which depends on others", fix="give the extents")

    # ------------------------------------------------------------------------------------------------------- statements

    def statement(self, s: ir.Statement) -> None:
        """Write one statement; twice, if it matters whether a fiber that it reads is there."""
        unsure = [] if isinstance(s, ir.Block) else self.unsure(s)
        for fibers in (*([F] for F in unsure), unsure):
            if fibers and changes_control_flow(s, self.without(s, fibers), fibers, self.is_updating):
                self.either(fibers[0], s, self.statement)
                return
        self.certain(s)

    def certain(self, s: ir.Statement) -> None:
        match s:
            case ir.Block(statements=statements):
                for k, each in enumerate(statements):
                    self.last = frozenset(self.read_last(each, statements[:k], statements[k + 1 :]))
                    self.statement(each)
                    self.last = frozenset()
            case ir.Skip():
                pass
            case ir.Set():
                self.assign_variable(s)
            case ir.Assign():
                self.assign(s)
            case ir.Assert():
                self.assertion(s)
            case ir.If(condition=condition, body=body):
                origin = self.builder.origin(s.span, "IfTrue")
                test = self.expression(condition)
                if not test.type.is_boolean:
                    message = "a condition is true or false, not {value}"
                    test = expressions.fault(self.builder, message, {"value": test}, origin, BOOL)
                self.builder.when(test, lambda: self.in_scope(lambda: self.statement(body)))
            case ir.For(range=ir.Parallel()):
                self.tasks.parallel(s)
            case ir.For(index=index, range=ir.Range(start=a, stop=b), body=body, absorbed=absorbed):
                lo = self.bound_of(a, s.span)
                hi = lo if a == b else self.bound_of(b, s.span)
                self.loops.serial(index, lo, hi, body, absorbed=absorbed)
            case ir.Declare():
                self.declare(s)
            case ir.Freeze(tensor=T):
                self.change_mode(s, T, "Freeze", "freeze", "read")
            case ir.Thaw(tensor=T):
                self.change_mode(s, T, "Thaw", "thaw", "update")
            case _:
                raise InternalError(f"not a statement of a bound program: {s}", s.span)

    def read_last(
        self, s: ir.Statement, before: Sequence[ir.Statement], after: Sequence[ir.Statement]
    ) -> Iterator[str]:
        """The tensors that a loop reads once and nobody after it: vectors declared in this very block, no outputs."""
        if not isinstance(s, ir.For) or isinstance(s.range, ir.Parallel):
            return
        for F, updating in unfurled_fibers(s.body, s.index).items():
            T, tower = F.tensor, self.tower(F)
            here = any(isinstance(each, ir.Declare) and each.tensor == T for each in before)
            once = sum(access.fiber.tensor == T for access, _ in ir.accesses(s)) == 1
            plain = tower.rank == 1 and tower.depths[2] == 0 and procedures.drains(tower, 2)
            over = T not in self.bound.outputs and not any(T in tensors(each) for each in after)
            if here and once and plain and over and not updating and self.is_undisturbed(T):
                yield T

    def bound_of(self, e: ir.Expression, span: Span | None) -> Reg | Const:
        """An end of a range: an integer."""
        value = self.expression(e)
        origin = self.builder.origin(span, "ForEmpty")
        self.require_decided(e)
        if not value.type.is_integer:
            return expressions.fault(
                self.builder, "an integer is needed here, got {value}", {"value": value}, origin, INT
            )
        return self.builder.keep("end", value, origin)

    def kind_depends_on_run(self, e: ir.Expression) -> bool:
        """Whether only a run shows if an expression is an integer or a double."""
        return isinstance(e, ir.Variable) and self.find(e.name) in self.whole

    def require_decided(self, e: ir.Expression) -> None:
        """Refuse an expression that is undecided, where that matters."""
        if not self.kind_depends_on_run(e):
            return
        assert isinstance(e, ir.Variable)
        message = f"{e.name} is now an integer and now a double, and here it matters which"
        raise layout.unsupported_error(message, e.span, "give it doubles only: 0.0, not 0")

    # ------------------------------------------------------------------------------------------------------ expressions

    def expression(self, e: ir.Expression) -> Expr:
        """Write what an expression needs; its value, which later statements do not change."""
        match e:
            case ir.Literal(value=value):
                return constant(value)
            case ir.Index(name=name):
                return self.builder.indices[name]
            case ir.Variable(name=name):
                return self.variable(name, e.span)
            case ir.Call(args=args):
                return self.call(e, tuple(self.expression(a) for a in args))
            case ir.Access():
                return self.access(e)
            case ir.Choice():
                return self.choice(e)
        raise InternalError(f"not an expression of a bound program: {e}")

    def call(self, e: ir.Call, values: tuple[Expr, ...]) -> Expr:
        """The value of a call whose arguments have these values."""
        name, args = e.op, e.args
        is_double = any(v.type.is_double and not self.kind_depends_on_run(a) for a, v in zip(args, values, strict=True))
        if isinstance(name, ir.Function) or (not is_double and name not in (*COMPARISONS, "/")):
            for a in args:
                self.require_decided(a)
        elif name == "pair":
            self.require_decided(args[1])
        return expressions.call(self.builder, name, values, self.builder.origin(e.span, "Call"))

    def assertion(self, s: ir.Assert) -> None:
        """A check, which reports the values of the operands."""
        origin, e = self.builder.origin(s.span, "Assert"), s.condition
        values = tuple(self.builder.keep("operand", self.expression(operand), origin) for operand in s.operands)
        test = self.call(e, values) if isinstance(e, ir.Call) else values[0]
        if not test.type.is_boolean:
            message = "an assertion is true or false, not {value}"
            expressions.fault(self.builder, message, {"value": test}, self.builder.origin(s.span, "Call"), BOOL)
            return
        named = {f"x{k}": value for k, value in enumerate(values, start=1)}
        shown = s
        for k, name in enumerate(named):
            shown = shown.with_operand(k, ir.Variable(f"{{{name}}}"))
        message = f"the assertion does not hold: {show(shown.condition)}"
        self.builder.emit(Check(test, message, tuple(named.items()), origin))

    def choice(self, e: ir.Choice) -> Expr:
        """The value of one of two expressions, of which the other one is not evaluated."""
        return expressions.choice(self.builder, e, self.expression, self.builder.origin(e.span, "Choose"))

    def access(self, a: ir.Access) -> Expr:
        """The element that an access reads."""
        T = a.fiber.tensor
        if a.subscripts:
            return self.missing(a, "Access")
        F = self.fiber(a.fiber)
        handle, tower = self.handle(T), self.layouts[T].tower
        value = self.builder.fresh(T, layout.element_type(tower))
        updating = handle.mode == "update"
        code = procedures.unwrap_updated(tower, handle.op) if updating else procedures.unwrap(tower)
        rule = "AccessUpdated" if updating else "Access"
        found, _ = self.run(a.fiber, a.span, rule, code, {"position": F.position})
        self.builder.set(value, found["value"], self.builder.origin(a.span, rule))
        return value

    def missing(self, a: ir.Access, rule: str) -> Expr:
        """An access that no loop has entered: its next index is out of bounds."""
        T, last = a.fiber.tensor, a.subscripts[-1]
        tower = self.layouts[T].tower
        if not isinstance(last, ir.Index):
            raise InternalError(f"{T} is not accessed concordantly", a.span)
        extent = self.extent_of(a.fiber)
        known = extent.value if isinstance(extent, Const) else "{extent}"
        message = f"{T} has the indices 1:{known} on axis {a.fiber.level - 1}, got {{index}}"
        index = self.own(a.fiber, self.builder.indices[last.name])
        values = {"index": index, **({"extent": extent} if isinstance(extent, Reg) else {})}
        return expressions.fault(
            self.builder, message, values, self.builder.origin(a.span, rule), layout.element_type(tower)
        )

    # -------------------------------------------------------------------------------------------------------- variables

    def variable(self, name: str, span: Span | None) -> Expr:
        """The value of a variable."""
        found = self.find(name)
        origin = self.builder.origin(span, "ReadGlobal")
        match found:
            case None:
                return expressions.fault(self.builder, f"{name} has no value", {}, origin, INT)
            case Reg():
                return found
        return self._load(name, found, origin)

    def _load(self, name: str, found: SharedBinding, origin: Origin) -> Reg:
        (buffer,) = found.group.buffers
        reg = self.builder.fresh(name, buffer.type)
        self.builder.emit(plan.Load(reg, Ref(buffer, found.reg), Const(1), Place(), origin))
        return reg

    def assign_variable(self, s: ir.Set) -> None:
        """x = e, where the nearest scope binds x, or in this one."""
        value = self.expression(s.value)
        origin = self.builder.origin(s.span, "WriteLocal")
        found = self.find(s.name) or self.bind(s, origin)
        whole: Expr = Const(value.type.is_integer)
        if isinstance(s.value, ir.Variable) and isinstance(copied := self.find(s.value.name), Reg):
            whole = self.whole.get(copied, whole)
        if isinstance(found, SharedBinding):
            value = self._as(s, value, found.group.buffers[0].type)
            ref = Ref(found.group.buffers[0], found.reg)
            self.builder.emit(plan.Store(ref, Const(1), value, Place(), replace(origin, operation="WriteGlobal")))
            return
        if found in self.whole and value.type.is_integer:
            fits = op("and", op("<=", Const(-EXACT), value), op("<=", value, Const(EXACT)))
            message = f"the native engine holds {s.name} as a double, as it is at times, and {{value}} is none"
            self.builder.emit(plan.Check(fits, message, (("value", value),), origin))
        self.builder.set(found, self._as(s, value, found.type), origin)
        if found in self.whole:
            self.builder.set(self.whole[found], whole, origin)

    def _as(self, s: ir.Set, value: Expr, type_: RegisterType) -> Expr:
        """The value as one of the variable's type."""
        if value.type.is_integer and type_.is_double:
            return expressions.to_float(value)
        if value == Const(0) and type_.is_boolean:  # what concordization binds a variable to before its loops
            return Const(False)
        if value.type is not type_:
            message = (
                f"{s.name} is a {expressions.describe(type_)} elsewhere and a {expressions.describe(value.type)} here"
            )
            raise layout.unsupported_error(message, s.span, "use two variables")
        return value

    def bind(self, s: ir.Set, origin: Origin) -> Reg | SharedBinding:
        """A variable that is new in this scope."""
        binder = (s.name, s.span)
        type_, mixed = self.variables.kind(binder).register, self.variables.has_mixed_kinds(binder)
        made: Reg | SharedBinding
        if binder in self.variables.shared:
            if mixed:
                message = f"tasks share {s.name}, which is now an integer and now a double"
                raise layout.unsupported_error(message, s.span, "make all its values of one type")
            group = self.builder.group(lambda id: layout.variable(s.name, type_, id))
            made = SharedBinding(group, self.cell(group, s.name, origin))
        else:
            made = self.builder.fresh(s.name, type_)
            if mixed:
                self.whole[made] = self.builder.fresh(f"{s.name} is whole", BOOL)
        self.scopes[-1].variables[s.name] = made
        return made

    # ---------------------------------------------------------------------------------------------------------- tensors

    def assign(self, s: ir.Assign) -> None:
        """assign(A, ⊕, e)"""
        F = s.access.fiber
        value = self.expression(s.value)
        if s.access.subscripts:
            self.missing(s.access, "Assign")
            return
        handle, tower = self.handle(F.tensor), self.tower(F)
        if handle.mode != "update" or handle.op != s.op:
            raise InternalError(f"{F.tensor} is updated with {s.op} in {handle.mode} mode", s.span)
        value = expressions.convert(
            self.builder, value, layout.element_type(tower), self.builder.origin(s.span, "Assign")
        )
        leaf = self.fiber(F)
        code, given = procedures.increment(tower, s.op), {"position": leaf.position, "value": value}

        def write(times: Expr | None) -> None:
            results, _ = self.run(F, s.span, "Assign", code, given, times=times)
            if leaf.dirty is not None:
                written, dirty = results.get("written", Const(True)), leaf.dirty
                origin = self.builder.origin(s.span, "Assign")
                self.builder.when(written, lambda: self.builder.set(dirty, Const(True), origin))

        repeat.update(self, F, s.op, write)

    def declare(self, s: ir.Declare) -> None:
        """declare(T, z, ⊕, n…)"""
        T = s.tensor
        handle, tower = self.handle(T), self.layouts[T].tower
        origin = self.builder.origin(s.span, "Declare")
        z = expressions.convert(self.builder, self.expression(s.init), layout.element_type(tower), origin)
        z = op("f32", z) if tower.width.rounds else z
        fill: ir.Expression
        if isinstance(z, Const):
            fill = ir.Literal(algebra.element(z.value, tower.kind))
        else:
            name = f"fill of {T}"
            reg = self.builder.fresh(name, z.type)
            self.builder.set(reg, z, origin)
            self.scopes[-1].variables[name] = z = reg
            fill = ir.Variable(name)
        F = ir.Fiber(T, tower.rank + 1)
        self.run(F, s.span, "Declare", procedures.whole_tensor_code(tower, "declare", s.op), {}, z=z, reading=False)
        self.scopes[-1].handles[T] = replace(handle, mode="update", op=s.op, fill=fill, z=z)

    def change_mode(self, s: ir.Freeze | ir.Thaw, T: str, rule: str, operation: str, after: str) -> None:
        """freeze(T, ⊕) and thaw(T, ⊕)"""
        handle, tower = self.handle(T), self.layouts[T].tower
        code = procedures.whole_tensor_code(tower, operation, handle.op or s.op)
        F = ir.Fiber(T, tower.rank + 1)
        self.run(F, s.span, rule, code, {}, prefix=f"{operation}({T}): ", reading=False)
        changed = replace(handle, mode=after, op=s.op if after == "update" else "")
        self.scopes[-1].handles[T] = changed
