"""Expressions of the language in a plan: typed, with the faults of `lang.algebra`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce

from wingspan.base.errors import InternalError
from wingspan.lang import ir
from wingspan.lang.ir import Operator
from wingspan.lang.kinds import KINDS
from wingspan.lang.operators import BOOLEANS, EQUALITIES, INTEGERS, OPERATIONS, OPERATORS, PAIRS, BuiltInOperator
from wingspan.lang.pairs import SECONDS
from wingspan.lang.printer import show
from wingspan.lang.registers import FLOAT, INT, RegisterType
from wingspan.plan.fold import constant, op
from wingspan.plan.ir import Check, Compute, Const, Expr, If, Origin, Set
from wingspan.plan.layout import unsupported_error
from wingspan.plan.lowering.build import PlanBuilder
from wingspan.plan.ranges import apply, range_of


def fault(builder: PlanBuilder, message: str, values: dict[str, Expr], origin: Origin, type_: RegisterType) -> Const:
    """Emit a fault; what stands for a value that never comes."""
    builder.emit(Check(Const(False), message, tuple(values.items()), origin))
    return Const(type_.zero)


def to_float(e: Expr) -> Expr:
    """A number as a double."""
    return op("float", e) if e.type.is_integer else e


def describe(type_: RegisterType) -> str:
    """The name of a type in messages."""
    return KINDS[type_.name].full


def convert(builder: PlanBuilder, e: Expr, type_: RegisterType, origin: Origin) -> Expr:
    """A value as an element of a type: `algebra.convert`."""
    if e.type is type_:
        return e
    if e.type.is_integer and type_.is_double:
        return to_float(e)
    if e.type.is_double and type_.is_integer:
        return compute(builder, "int", (e,), type_, origin)
    return fault(builder, f"{{value}} is not a {describe(type_)}", {"value": e}, origin, type_)


def compute(builder: PlanBuilder, name: str, args: tuple[Expr, ...], type_: RegisterType, origin: Origin) -> Expr:
    """An operator that may fault, into a register of its own."""
    reg = builder.fresh(OPERATIONS[name].register, type_)
    if type_.is_integer:
        builder.ranges[reg.name] = apply(name, *(range_of(a, builder.ranges) for a in args))
    builder.emit(Compute(reg, name, args, origin))
    return reg


def call(builder: PlanBuilder, name: Operator, args: tuple[Expr, ...], origin: Origin) -> Expr:
    """⊗ applied to evaluated arguments: `algebra.apply`."""
    if isinstance(name, ir.Function):
        given = {x: builder.keep(x, a, origin) for x, a in zip(name.parameters, args, strict=True)}
        return _inside(builder, name.body, given, origin)
    if name in EQUALITIES:
        return _equality(name, args)
    if name == "pair":
        return _pair(builder, args[0], args[1], origin)
    known = OPERATORS[name]
    if known.takes is PAIRS:
        return op(known.operation, *args)
    for a in args:
        if a.type.name not in known.takes.kinds:
            type_ = KINDS[known.gives].register if known.gives else INT
            return fault(builder, f"{name} needs {known.takes.name}, got {{value}}", {"value": a}, origin, type_)
    if known.expands is not None:
        expanded: Expr = known.expands(_expand, *args)
        return expanded
    if known.takes is BOOLEANS:
        return op(known.operation, *args)
    if known.takes is INTEGERS:
        return _bits(builder, known, args, origin)
    floats = any(a.type.is_double for a in args)
    if known.whole and floats:
        return fault(builder, known.whole.format("{value}"), {"value": args[0]}, origin, INT)
    if floats or (known.gives and KINDS[known.gives].is_double):
        args = tuple(to_float(a) for a in args)
        floats = True
    if known.sides:
        return op(name, *args)
    return _arithmetic(builder, known, args, floats, origin)


def _expand(name: str, *args: Expr | int) -> Expr:
    return op(name, *(Const(a) if isinstance(a, int) else a for a in args))


def _inside(builder: PlanBuilder, e: ir.Expression, given: Mapping[str, Expr], origin: Origin) -> Expr:
    """The body of a function, or a part of it, for these arguments."""
    match e:
        case ir.Literal(value=value):
            return constant(value)
        case ir.Variable(name=name):
            return given[name]
        case ir.Call(op=name, args=args):
            return call(builder, name, tuple(_inside(builder, a, given, origin) for a in args), origin)
        case ir.Choice():
            return choice(builder, e, lambda part: _inside(builder, part, given, origin), origin)
    raise InternalError(f"a function is made of {type(e).__name__}")


def choice(builder: PlanBuilder, e: ir.Choice, value: Callable[[ir.Expression], Expr], origin: Origin) -> Expr:
    """The value of one of two expressions, of which the other one is not evaluated; `value` writes an expression."""
    test = value(e.condition)
    if isinstance(test, Const):
        return value(e.then if test.value else e.otherwise)
    (then, yes), (otherwise, no) = (builder.capture(partial(value, s)) for s in (e.then, e.otherwise))
    if then.type is not otherwise.type:
        message = f"{show(e.then)} is a {describe(then.type)}, and {show(e.otherwise)} is none"
        raise unsupported_error(message, e.span, f"give a {describe(then.type)}")
    made = builder.fresh("chosen", then.type)
    builder.emit(If(test, (*yes, Set(made, then, origin)), (*no, Set(made, otherwise, origin))))
    return made


def _arithmetic(
    builder: PlanBuilder, known: BuiltInOperator, args: tuple[Expr, ...], floats: bool, origin: Origin
) -> Expr:
    type_ = FLOAT if floats else INT
    name = known.operation
    if len(args) == 1 and name == "+":
        return args[0]
    if len(args) == 1 and name == "-":
        name = "neg"
    if type_.name in known.fails:
        return compute(builder, name, args, type_, origin)
    return reduce(partial(op, name), args) if len(args) > 1 else op(name, *args)


def _bits(builder: PlanBuilder, known: BuiltInOperator, args: tuple[Expr, ...], origin: Origin) -> Expr:
    match known.symbol, args:
        case ">>", (x, Const(value=int(k))) if 0 <= k < 63:
            return op("÷", x, Const(2**k))
    if known.fails:
        return compute(builder, known.operation, args, INT, origin)
    return op(known.operation, *args)


def _pair(builder: PlanBuilder, x: Expr, i: Expr, origin: Origin) -> Expr:
    """(x, i), after a check that i fits; none where that is plain to see."""
    if x.type.is_boolean:
        return fault(builder, "a pair needs a number, got {value}", {"value": x}, origin, INT)
    if not i.type.is_integer:
        return fault(builder, "a pair needs an integer as its second, got {value}", {"value": i}, origin, INT)
    x, i = to_float(x), builder.keep("second", i, origin)
    least, most = range_of(i, builder.ranges)
    if not (least in SECONDS and most in SECONDS):
        fits = op("and", op("<=", Const(SECONDS[0]), i), op("<=", i, Const(SECONDS[-1])))
        message = "the second of a pair has 32 bits, and {value} does not fit"
        builder.emit(Check(fits, message, (("value", i),), origin))
    return op("pair", x, i)


def _equality(name: str, args: tuple[Expr, ...]) -> Expr:
    """Numbers are compared whatever their kind; a truth value equals no number."""
    x, y = args
    if x.type.is_boolean != y.type.is_boolean:
        return Const(name == "!=")
    if x.type is not y.type:
        x, y = to_float(x), to_float(y)
    return op(name, x, y)
