"""Operators applied to values, exactly, and the identities by which programs simplify.

Integers have 64 bits and overflow is a fault; doubles are rationals, so that no result depends on rounding, or `Inf`,
`-Inf` and `NaN`, with which IEEE 754 computes: `Inf - Inf`, `0 * Inf` and whatever has an operand NaN are NaN, min and
max included.

Identities act on literals that stand in the program: those written, and the fill values that `Payload` puts there.
A value computed at run time never counts as one, so a stored zero is data, in every engine: times Inf it is NaN, and a
literal 0 times Inf is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from decimal import MAX_EMAX, MIN_EMIN, ROUND_DOWN, Context, Decimal, Inexact
from fractions import Fraction
from typing import Any

from wingspan.base.errors import Fault, InternalError
from wingspan.lang.ir import (
    NAN,
    SKIP,
    Absorbing,
    Algebra,
    Assert,
    Assign,
    Block,
    Call,
    Choice,
    Expression,
    For,
    Function,
    If,
    Literal,
    Operator,
    Set,
    Skip,
    Statement,
    Value,
    Variable,
    kind_of,
    seq,
)  # fmt: skip
from wingspan.lang.kinds import KINDS
from wingspan.lang.operators import BITS, NUMBERS, OPERATORS, BuiltInOperator
from wingspan.lang.pairs import Pair
from wingspan.lang.widths import USUAL
from wingspan.lang.words import equal_or_nan

INT64 = USUAL["int"].range


def exact(value: Value) -> Value:
    """A double as the rational that it is, or as infinity or `NAN`."""
    if not isinstance(value, float):
        return value
    return Fraction(value) if math.isfinite(value) else one_nan(value)


def machine_value(value: Value) -> Value:
    """A value as machines hold it: a rational as the nearest double, a pair as its word."""
    return int(value) if isinstance(value, Pair) else double(value)


def element(value: Value, kind: str) -> Value:
    """The value of a kind that a machine's value stands for: a double as `exact` has it, a word as the pair."""
    return Pair(value) if KINDS[kind].is_packed else exact(value)


def one_nan(value: Value) -> Value:
    """The value; of all NaNs the one that containers find equal."""
    return value if value == value else NAN


def _infinite(value: Value) -> bool:
    """Whether a value is no rational: infinite or NaN."""
    return isinstance(value, float) and not math.isfinite(value)


def double(value: Value) -> Value:
    """A rational as the nearest double, infinite beyond the largest; other values as they are."""
    if not isinstance(value, Fraction):
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def literal(value: Value) -> str:
    """A value as a program writes it: a rational as a double where that is exact, else as a quotient."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if _infinite(value):
        return "NaN" if value != value else "Inf" if value > 0 else "-Inf"
    if not isinstance(value, Fraction):
        return repr(value)
    return repr(double(value)) if _is_double(value) else f"{value.numerator}/{value.denominator}"


def _is_double(value: Fraction) -> bool:
    near = double(value)
    return math.isfinite(near) and Fraction(near) == value


DIGITS = Context(prec=20, rounding=ROUND_DOWN, Emin=MIN_EMIN, Emax=MAX_EMAX)
_EXACTLY = ContextVar("exactly", default=False)


@contextmanager
def exactly(wanted: bool = True) -> Iterator[None]:
    """Within, `show` prints rationals as such, also where they are not doubles."""
    token = _EXACTLY.set(wanted)
    try:
        yield
    finally:
        _EXACTLY.reset(token)


def show(value: Value) -> str:
    """A value as people read it: a rational as the nearest double, if there is one.

    Within `exactly`, as a `literal`; of a long quotient the first digits, and … for those that are left out.

    >>> show(Fraction(1, 3)), show(Fraction(0.1) + Fraction(0.2)), show(Fraction(10) ** 400 / -3)
    ('0.3333333333333333', '0.30000000000000004', '-3.3333333333333333333e+399…')
    >>> with exactly():
    ...     show(Fraction(1, 3)), show(Fraction(0.1) + Fraction(0.2))
    ('1/3', '0.30000000000000001665…')
    """
    if not isinstance(value, Fraction) or _is_double(value):
        return literal(value)
    near = double(value)
    if not _EXACTLY.get() and math.isfinite(near) and near != 0:
        return repr(near)
    n, d = value.numerator, value.denominator
    if n.bit_length() + d.bit_length() <= 64:
        return literal(value)
    digits = DIGITS.copy()
    found = digits.divide(Decimal(n), Decimal(d))
    return f"{found}…".lower() if digits.flags[Inexact] else str(found.normalize()).lower()


def convert(value: Value, kind: str) -> Value:
    """`value` as an element of the given kind; a Fault if it is none."""
    have = kind_of(value)
    if have == kind:
        return _int64(value) if have == "int" else exact(value)  # type: ignore[arg-type]
    if kind == "float" and have == "int":
        return Fraction(value)
    if kind == "int" and have == "float" and not _infinite(value) and value == int(value):
        return _int64(int(value))
    raise Fault(f"{show(value)} is not a {KINDS[kind].full}")


def _int64(value: int) -> int:
    if value not in INT64:
        raise Fault(f"overflow: {value} does not fit a 64-bit integer")
    return value


def apply(op: Operator, *args: Value) -> Value:
    """⊗ applied to values; also ⊕, of which `=` gives its second argument. A Fault where ⊗ is not defined."""
    if isinstance(op, Function):
        return _worth(op.body, dict(zip(op.parameters, args, strict=True)))
    if op == "=":
        return args[1]
    known = OPERATORS[op]
    for a in args:
        if not known.takes.has(a):
            raise Fault(f"{op} needs {known.takes.name}, got {show(a)}")
    if known.fault is not None and (message := known.fault(*args)):
        raise Fault(message.format(*map(show, args)))
    if known.takes is NUMBERS and not known.sides:
        return _arithmetic(known, args)
    return _fitting(known.value(*args))


def _arithmetic(known: BuiltInOperator, args: tuple[Value, ...]) -> Value:
    if any(map(_infinite, args)):
        return one_nan(_beyond(known, args))
    if any(isinstance(a, Fraction | float) for a in args):
        return Fraction(known.value(*map(exact, args)))
    return _fitting(known.value(*args))


def _fitting(value: Any) -> Value:
    """The computed value, exactly; a Fault if it is an integer that 64 bits do not hold."""
    return _int64(value) if type(value) is int else exact(value)


def _worth(e: Expression, values: Mapping[str, Value]) -> Value:
    """The value of a function's body, or a part of it, for these arguments."""
    match e:
        case Literal(value=value):
            return exact(value)
        case Variable(name=name):
            return values[name]
        case Call(op=op, args=args):
            return apply(op, *(_worth(a, values) for a in args))
        case Choice(condition=condition, then=then, otherwise=otherwise):
            test = _worth(condition, values)
            if not isinstance(test, bool):
                raise Fault(f"ifelse needs a boolean, got {show(test)}")
            return _worth(then if test else otherwise, values)
    raise InternalError(f"a function is made of {type(e).__name__}")


def _beyond(known: BuiltInOperator, args: tuple[Value, ...]) -> Value:
    """The result of arithmetic with an infinite or NaN operand."""
    if known.infinite is not None:
        return exact(known.infinite(*args))
    return exact(known.value(*(a if _infinite(a) else float((a > 0) - (a < 0)) for a in args)))


# ---------------------------------------------------------------------------------------------------- simplification


def algebra_of(op: Operator) -> Algebra:
    """The algebra of an operator; of a function, the declared one. All questions about ⊕ are answered by this."""
    return op.algebra if isinstance(op, Function) else OPERATORS[op].algebra


def is_identity(e: Expression, op: Operator) -> bool:
    """Whether `e` is a literal that leaves what is updated by it with ⊕ as it is."""
    e0 = algebra_of(op).identity
    return e0 is not None and is_literal(e, e0.value)


def any_order(op: Operator) -> bool:
    """Whether updates may be exchanged, (x ⊕ v) ⊕ w = (x ⊕ w) ⊕ v: ⊕ is associative and commutative, or takes away."""
    known = algebra_of(op)
    return takes_away(op) or (known.associative and known.commutative)


def repeatable(op: Operator) -> bool:
    """Whether an update has the effect of two, (x ⊕ v) ⊕ v = x ⊕ v: ⊕ is associative and idempotent."""
    known = algebra_of(op)
    return known.associative and known.idempotent


def absorbing(tensor: str, op: Operator, kind: str) -> Absorbing | None:
    """The absorbing value of ⊕ for elements of this kind; None if none is known.

    The annihilator 0 of `*` is one of integers only: 0 * Inf is NaN.

    >>> absorbing("found", "||", "bool").value.value, absorbing("product", "*", "float")
    (True, None)
    """
    known = algebra_of(op)
    if KINDS[kind].has_nan and not isinstance(op, Function):
        return None
    extreme = OPERATORS[op].extreme if isinstance(op, str) else None
    value = known.identity if known.first else known.annihilator if extreme is None else Literal(extreme)
    if value is None:
        return None
    try:
        return Absorbing(tensor, Literal(convert(exact(value.value), kind)), known.first)
    except Fault:
        return None


def is_absorbing(a: Absorbing, value: Value) -> bool:
    """Whether an element with this value is not changed by updates any more."""
    return equal_or_nan(value, a.value.value) != a.others


def merging(op: Operator) -> Operator:
    """The operator that joins what was updated by ⊕ apart."""
    return OPERATORS[op].merges or op if isinstance(op, str) else op


def takes_away(op: Operator) -> bool:
    """Whether ⊕ takes away, so that another operator joins what was updated by it apart."""
    return merging(op) != op


def distributes(op: Operator, over: Operator) -> bool:
    """Whether op distributes over another operator, as far as `BuiltInOperator.over` says."""
    return isinstance(op, str) and over in OPERATORS[op].over


def is_literal(e: Expression, value: Value) -> bool:
    """Whether `e` is a literal equal to `value`, NaN to NaN; 0 and 0.0 are, 0 and false are not."""
    return (
        isinstance(e, Literal) and equal_or_nan(e.value, value) and isinstance(e.value, bool) == isinstance(value, bool)
    )


def simplify(s: Statement, droppable: Callable[[Assign], bool] = lambda a: False) -> Statement:
    """`s` with identities and annihilators applied and without the updates that change nothing.

    An update by ⊕'s identity goes (rule NullWrite); an overwrite by a literal goes if `droppable` says so.
    """
    match s:
        case Assign(access=access, op=op, value=value):
            reduced = simplify_expression(value)
            if is_identity(reduced, op):
                return SKIP
            changed = s if reduced is value else Assign(access, op, reduced, span=s.span)
            return SKIP if op == "=" and isinstance(reduced, Literal) and droppable(changed) else changed
        case Set(name=name, value=value):
            reduced = simplify_expression(value, typed=True)
            return s if reduced is value else Set(name, reduced, span=s.span)
        case Assert(condition=condition):
            return SKIP if is_literal(simplify_expression(condition), True) else s  # a fault reports all operands
        case Block(statements=statements):
            return seq(*(simplify(each, droppable) for each in statements))
        case If(condition=condition, body=then):
            test = simplify_expression(condition)
            inner = simplify(then, droppable)
            if is_literal(test, False) or (isinstance(inner, Skip) and isinstance(test, Literal)):
                return SKIP
            return If(test, inner, span=s.span)
        case For(index=i, range=r, body=loop, absorbed=absorbed):
            inner = simplify(loop, droppable)
            return SKIP if isinstance(inner, Skip) else For(i, r, inner, absorbed, span=s.span)
    return s


def simplify_expression(e: Expression, typed: bool = False, nested: bool = False) -> Expression:
    """`e` with identities, annihilators and operators over literals worked out; the same object if nothing changed.

    An integer times 1.0 is a double, and 0 times a double is 0.0: where the type of the result matters and not only its
    value (`typed`), no identity that could change it is used. Inside of another call (`nested`) no double is dropped:
    what is left could be an integer, and overflow. What a function gives may have another type than its arguments.
    """
    if isinstance(e, Choice):
        return _simpler_choice(e)
    if not isinstance(e, Call):
        return e
    called = isinstance(e.op, Function)
    strict = typed or isinstance(e.op, Function) or OPERATORS[e.op].of_integers
    args = tuple(simplify_expression(a, strict, nested=True) for a in e.args)
    literals = [a for a in args if isinstance(a, Literal)]
    if len(literals) == len(args) and not (e.op == "*" and any(_infinite(a.value) for a in literals)):
        return _fold(e, literals)
    zero, whole = algebra_of(e.op).annihilator, e.op in BITS
    for known in literals:
        kept = typed and (called or (known.kind == "int" and not whole))
        if zero is not None and is_literal(known, zero.value) and not kept:
            return Literal(known.value, span=e.span)
    if len(literals) == len(args):
        return _fold(e, literals)
    if len(args) == 2:
        for a, other in ((args[1], args[0]), (args[0], args[1])):
            drops = is_identity(a, e.op) and (a is args[1] or not takes_away(e.op))
            if drops and not ((typed or nested) and isinstance(a, Literal) and (called or a.kind == "float")):
                return other
    return e if all(a is b for a, b in zip(args, e.args, strict=True)) else Call(e.op, args, span=e.span)


def _fold(e: Call, literals: list[Literal]) -> Expression:
    """An operator over literals, worked out unless that is a fault."""
    try:
        return Literal(apply(e.op, *(exact(a.value) for a in literals)), span=e.span)
    except Fault:
        return e


def _simpler_choice(e: Choice) -> Expression:
    """A choice between simpler values, or a literal that both are.

    Both values have the type of the choice, which must not change. What is never chosen stays: which updates change
    nothing, and so which elements a sparse result stores, does not depend on how much is known of the condition.
    """
    test = simplify_expression(e.condition)
    then, otherwise = (simplify_expression(value, typed=not e.whole, nested=True) for value in (e.then, e.otherwise))
    match then, otherwise:
        case Literal(value=value, kind=kind), Literal(kind=other) if kind == other and is_literal(otherwise, value):
            return then
    same = test is e.condition and then is e.then and otherwise is e.otherwise
    return e if same else replace(e, condition=test, then=then, otherwise=otherwise)
