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
from wingspan.plan.fold import constant, op
from wingspan.plan.ir import Check, Compute, Const, Expr, If, Origin, Set, Type
from wingspan.plan.layout import unsupported_error
from wingspan.plan.lowering.build import PlanBuilder
from wingspan.plan.ranges import apply, range_of


def fault(builder: PlanBuilder, message: str, values: dict[str, Expr], origin: Origin, kind: Type) -> Const:
    """Emit a fault; what stands for a value that never comes."""
    builder.emit(Check(Const(False), message, tuple(values.items()), origin))
    return Const(KINDS[kind].zero)


def to_float(e: Expr) -> Expr:
    """A number as a double."""
    return op("float", e) if e.type == "int" else e


def convert(builder: PlanBuilder, e: Expr, kind: Type, origin: Origin) -> Expr:
    """A value as an element of a kind: `algebra.convert`."""
    match e.type, kind:
        case have, wanted if have == wanted:
            return e
        case "int", "float":
            return to_float(e)
        case "float", "int":
            return compute(builder, "int", (e,), "int", origin)
    return fault(builder, f"{{value}} is not a {KINDS[kind].full}", {"value": e}, origin, kind)


def compute(builder: PlanBuilder, name: str, args: tuple[Expr, ...], kind: Type, origin: Origin) -> Expr:
    """An operator that may fault, into a register of its own."""
    reg = builder.fresh(OPERATIONS[name].register, kind)
    if kind == "int":
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
        if a.type not in known.takes.kinds:
            kind: Type = "bool" if known.gives == "bool" else "int"
            return fault(builder, f"{name} needs {known.takes.name}, got {{value}}", {"value": a}, origin, kind)
    if known.expands is not None:
        expanded: Expr = known.expands(_expand, *args)
        return expanded
    if known.takes is BOOLEANS:
        return op(known.operation, *args)
    if known.takes is INTEGERS:
        return _bits(builder, known, args, origin)
    floats = any(a.type == "float" for a in args)
    if known.whole and floats:
        return fault(builder, known.whole.format("{value}"), {"value": args[0]}, origin, "int")
    if floats or known.gives == "float":
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
    if then.type != otherwise.type:
        message = f"{show(e.then)} is a {KINDS[then.type].full}, and {show(e.otherwise)} is none"
        raise unsupported_error(message, e.span, f"give a {KINDS[then.type].full}")
    made = builder.fresh("chosen", then.type)
    builder.emit(If(test, (*yes, Set(made, then, origin)), (*no, Set(made, otherwise, origin))))
    return made


def _arithmetic(
    builder: PlanBuilder, known: BuiltInOperator, args: tuple[Expr, ...], floats: bool, origin: Origin
) -> Expr:
    kind: Type = "float" if floats else "int"
    name = known.operation
    if len(args) == 1 and name == "+":
        return args[0]
    if len(args) == 1 and name == "-":
        name = "neg"
    if kind in known.fails:
        return compute(builder, name, args, kind, origin)
    return reduce(partial(op, name), args) if len(args) > 1 else op(name, *args)


def _bits(builder: PlanBuilder, known: BuiltInOperator, args: tuple[Expr, ...], origin: Origin) -> Expr:
    match known.symbol, args:
        case ">>", (x, Const(value=int(k))) if 0 <= k < 63:
            return op("÷", x, Const(2**k))
    if known.fails:
        return compute(builder, known.operation, args, "int", origin)
    return op(known.operation, *args)


def _pair(builder: PlanBuilder, x: Expr, i: Expr, origin: Origin) -> Expr:
    """(x, i), after a check that i fits; none where that is plain to see."""
    if x.type == "bool":
        return fault(builder, "a pair needs a number, got {value}", {"value": x}, origin, "int")
    if i.type != "int":
        return fault(builder, "a pair needs an integer as its second, got {value}", {"value": i}, origin, "int")
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
    if (x.type == "bool") != (y.type == "bool"):
        return Const(name == "!=")
    if x.type != y.type:
        x, y = to_float(x), to_float(y)
    return op(name, x, y)
