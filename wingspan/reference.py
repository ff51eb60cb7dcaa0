"""The sequential result of a program over dense NumPy arrays: the oracle that everything else is compared with.

It knows neither levels nor tasks nor rules, so that it cannot share their mistakes. Parallel loops run in the order of
their indices. Values are exact: integers of 64 bits that fault on overflow, and fractions for doubles. Inf, -Inf and
NaN follow IEEE 754.

Zero times Inf or NaN is NaN, unless the zero is a literal or an element that is not stored: then it is zero. The
reference is given which elements inputs store. What other tensors store depends on their formats: where that decides
the result, the reference gives up (`Undecided`).

A format may hold only some tensors. At the end of the scope that declares a tensor, the reference asks whether its
format holds what was written, and faults if not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import numpy as np

from wingspan.errors import Fault, InputError, InternalError, Span
from wingspan.lang import ir
from wingspan.lang.ir import Value

Array = np.ndarray[Any, np.dtype[Any]]

INT_MIN, INT_MAX = -(2**63), 2**63 - 1

KINDS = {"int": "a 64-bit integer", "float": "a double", "bool": "a boolean", "pair": "a pair"}

RANGES = {
    f"{letter}{bits}": np.iinfo(f"{name}{bits}")
    for letter, name in (("u", "uint"), ("i", "int"))
    for bits in (8, 16, 32)
}
"""What narrow cells of integers hold."""


UNTOUCHED, PERHAPS, WRITTEN = range(3)
"""Whether an element was written."""

IDLE: dict[str, Value] = {
    "+": 0, "-": 0, "*": 1, "&&": True, "||": False, "+%": 0, "-%": 0, "*%": 1, "&": -1, "|": 0, "⊻": 0,
}  # fmt: skip
"""What leaves an element as it is. An update by such a literal is no write."""

DECIDING: dict[str, Value] = {"*": 0, "*%": 0, "&": 0, "|": -1, "&&": False, "||": True}
"""What makes a literal of an operator's value, whatever its other operands are, if it is one itself."""


class Undecided(InputError):
    """The result depends on what the format of a tensor stores, which the reference does not know."""


@dataclass(frozen=True)
class Formats:
    """What the reference asks about the formats of tensors."""

    kept: Callable[[str], Array] | None = None
    """which elements an input stores; None: all"""
    partial: Collection[str] = ()
    """the tensors that cannot hold every array"""
    refusal: Callable[[str, Array, Array], str | None] = lambda name, array, written: None
    """why one of these cannot hold the elements of the first array where the second one is true; None if it can"""
    implied: Collection[str] = ()
    """those that store only what is true, so that no update may make an element false"""
    ordered: Collection[str] = ()
    """those that may fault if elements are not written in column-major order, each once"""
    once: Collection[str] = ()
    """the tensors no element of which is written twice: an overwrite by the fill value is dropped"""


@dataclass(frozen=True)
class Results:
    """What the root scope holds when the program has ended."""

    tensors: dict[str, Array]
    """the inputs and the tensors declared at the root, as object arrays of exact values"""
    variables: dict[str, Value]


def evaluate(
    body: ir.Statement,
    inputs: Mapping[str, Array],
    shapes: Mapping[str, tuple[int, ...]],
    kinds: Mapping[str, str],
    tick: Callable[[], None] = lambda: None,
    formats: Formats = Formats(),
) -> Results:
    """Run an elaborated program (no definitions, no `_`) on the dense contents of its inputs.

    `shapes` and `kinds` (`int`, `float` or `bool`, or what narrow cells hold: `u8`, `f32`, …) are those of all tensors,
    inputs and declared ones. `tick` is called before each iteration and for each element of an input; what it raises
    ends the evaluation.

    >>> y_i = ir.Access(ir.Fiber("y", 1), (ir.Index("i"),))
    >>> loop = ir.For("i", ir.Range(ir.Literal(1), ir.Literal(2)), ir.Assign(y_i, "+", ir.Index("i")))
    >>> evaluate(loop, {"y": np.array([10, 20])}, {"y": (2,)}, {"y": "int"}).tensors["y"].tolist()
    [11, 22]
    """
    root = _Scope()
    for name, array in inputs.items():
        if np.shape(array) != tuple(shapes[name]):
            raise InputError(f"{name} has the shape {np.shape(array)}, the program needs {tuple(shapes[name])}")
        root.tensors[name] = exact(array, kinds[name], tick)
    nodes = list(body.walk())
    declared = {s.tensor for s in nodes if isinstance(s, ir.Declare)}
    changing = declared | {s.access.fiber.tensor for s in nodes if isinstance(s, ir.Assign)}
    for name in inputs.keys() & changing & set(formats.partial):
        stored = np.True_ if formats.kept is None else formats.kept(name)
        root.written[name] = _Written(np.broadcast_to(stored, shapes[name]))
    _Evaluator(shapes, kinds, tick, formats, frozenset(changing)).scoped(body, root)
    return Results(root.tensors, root.variables)


def exact(array: Array, kind: str, tick: Callable[[], None] = lambda: None) -> Array:
    """The array as an object array of exact values of one kind.

    >>> exact(np.array([0.5, 2.0]), "float").tolist()
    [Fraction(1, 2), Fraction(2, 1)]
    """
    array = np.asarray(array)
    result = np.empty(array.shape, dtype=object)
    for index, item in np.ndenumerate(array):
        tick()
        raw = item.item() if isinstance(item, np.generic) else item
        value = _computed(raw)
        fitting = None if value is None else _converted(value, kind)
        if fitting is None:
            raise InputError(_unfit(show(raw) if value is None else show(value), kind))
        result[index] = fitting
    return result


def show(value: object) -> str:
    """A value as a program would write it; a double that has no short decimal as a fraction."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        try:
            rounded = float(value)
        except OverflowError:
            return str(value)
        return repr(rounded) if rounded == value else str(value)
    return {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}.get(str(value), str(value))


def _computed(raw: object) -> Value | None:
    """A Python number as what programs compute with; None for what is no number."""
    if isinstance(raw, bool | int | Fraction):
        return raw
    return _double(raw) if isinstance(raw, float) else None


def _double(raw: float) -> Value:
    return Fraction(raw) if math.isfinite(raw) else raw if math.isinf(raw) else ir.NAN


def _converted(value: Value, kind: str) -> Value | None:
    """The value as an element of a tensor of that kind, None when it has no place there."""
    if isinstance(value, ir.Pair) or kind == "pair":
        return value if isinstance(value, ir.Pair) and kind == "pair" else None
    if isinstance(value, bool) or kind == "bool":
        return value if isinstance(value, bool) and kind == "bool" else None
    if kind in ("float", "f32"):
        value = value if _beyond(value) else Fraction(value)
        return single(value) if kind == "f32" and isinstance(value, Fraction) else value
    least, most = (RANGES[kind].min, RANGES[kind].max) if kind in RANGES else (INT_MIN, INT_MAX)
    integral = value.denominator == 1 if isinstance(value, Fraction) else isinstance(value, int)
    return int(value) if integral and least <= value <= most else None


def single(value: Fraction) -> Fraction:
    """The nearest number in single precision, of two the even one; what rounds to no finite one stays as it is."""
    if abs(value) >= 2**128:
        return value
    with np.errstate(over="ignore"):
        near = np.float32(float(value))
        around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]

    def worth(x: Any) -> Fraction:
        return Fraction(float(x)) if np.isfinite(x) else Fraction(2) ** 128 * (1 if x > 0 else -1)

    best = min(around, key=lambda x: (abs(worth(x) - value), int(x.view(np.uint32)) % 2))
    return worth(best) if np.isfinite(best) else value


def _unfit(text: str, kind: str) -> str:
    """What is said of a value that has no place in a tensor."""
    return f"{text} is not {KINDS[kind]}" if kind in KINDS else f"{text} does not fit {kind}"


# ------------------------------------------------------------------------------------------------------- arithmetic


def _beyond(value: Value) -> bool:
    """Whether a value is Inf, -Inf or NaN: what was computed is a double for nothing else."""
    return isinstance(value, float)


def _extended(op: str, a: Value, b: Value) -> Value:
    """What a ⊗ b is if one of them is Inf, -Inf or NaN, and no divisor is 0."""
    if a != a or b != b or (op in ("÷", "%") and _beyond(a)):
        return ir.NAN
    if op in ("min", "max"):
        found = a if (a < b) == (op == "min") else b
        return found if _beyond(found) else Fraction(found)
    if op in ("÷", "%"):
        crosses = (a < 0 < b) or (b < 0 < a)
        return Fraction(-1 if crosses else 0) if op == "÷" else b if crosses else Fraction(a)
    x, y = (np.float64(v if _beyond(v) else (v > 0) - (v < 0)) for v in (a, b))
    with np.errstate(invalid="ignore"):
        made = float(x + y if op == "+" else x - y if op == "-" else x * y if op == "*" else x / y)
    return ir.NAN if made != made else made if math.isinf(made) else Fraction(0)


def _alike(a: Value, b: Value) -> bool:
    return a == b or (a != a and b != b)


def _floored(a: Value, b: Value) -> Value:
    quotient = a // b
    return quotient if _both_int(a, b) else Fraction(quotient)


def _least(a: Value, b: Value) -> Value:
    return min(a, b) if _both_int(a, b) else Fraction(min(a, b))


def _greatest(a: Value, b: Value) -> Value:
    return max(a, b) if _both_int(a, b) else Fraction(max(a, b))


def _both_int(a: Value, b: Value) -> bool:
    return isinstance(a, int) and isinstance(b, int)


def _quotient(a: Value, b: Value) -> Value:
    return Fraction(a) / Fraction(b)


NUMERIC: dict[str, Callable[[Value, Value], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "÷": _floored,
    "%": operator.mod,
    "min": _least,
    "max": _greatest,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

BITWISE: dict[str, Callable[[int, int], int]] = {"&": operator.and_, "|": operator.or_, "⊻": operator.xor}

WRAPPING: dict[str, Callable[[int, int], int]] = {"+%": operator.add, "-%": operator.sub, "*%": operator.mul}

EQUALITY: dict[str, Callable[[Value, Value], bool]] = {"==": operator.eq, "!=": operator.ne}

LOGICAL: dict[str, Callable[[Value, Value], bool]] = {"&&": operator.and_, "||": operator.or_}


def _binary(op: str, a: Value, b: Value, span: Span | None) -> Value:
    """What a ⊗ b is, exactly."""
    if op in LOGICAL:
        return LOGICAL[op](_boolean(op, a, span), _boolean(op, b, span))
    if op in EQUALITY:
        if isinstance(a, bool) != isinstance(b, bool):
            raise Fault(f"{op} needs two numbers or two booleans, got {show(a)} and {show(b)}", span)
        return EQUALITY[op](a, b)
    if op in BITWISE:
        return BITWISE[op](_integer(op, a, span), _integer(op, b, span))
    if op in WRAPPING:
        return _wrapped(WRAPPING[op](_integer(op, a, span), _integer(op, b, span)))
    if op == "pair":
        return _pair(_number(op, a, span), _integer(op, b, span), span)
    if op in ir.PAIRING:
        return min(_paired(op, a, span), _paired(op, b, span), key=partial(_rank, op))
    if op in ("<<", ">>"):
        return _bounded(_shifted(op, _integer(op, a, span), _integer(op, b, span), span), span)
    if op not in NUMERIC:
        raise InternalError(f"the reference has no operator {op} of two arguments", span)
    a, b = _number(op, a, span), _number(op, b, span)
    if op in ("/", "÷", "%") and b == 0:
        raise Fault("division by zero", span)
    if (_beyond(a) or _beyond(b)) and op not in ("<", "<=", ">", ">="):
        return _extended(op, a, b)
    return _bounded(NUMERIC[op](a, b), span)


def _unary(op: str, a: Value, span: Span | None) -> Value:
    """What ⊗ a is, exactly."""
    if op == "!":
        return not _boolean(op, a, span)
    if op in ir.PARTS:
        p = _paired(op, a, span)
        return p.second if op == "second" else _double(p.first)
    if op == "~":
        return -1 - _integer(op, a, span)
    a = _number(op, a, span)
    if op == "-":
        return _bounded(-a, span)
    if op == "abs":
        return _bounded(-a if a < 0 else a, span)
    if op == "isqrt":
        if not isinstance(a, int) or a < 0:
            raise Fault(f"isqrt needs an integer of at least 0, got {show(a)}", span)
        return math.isqrt(a)
    if op in ("+", "min", "max"):
        return a
    raise InternalError(f"the reference has no operator {op} of one argument", span)


def _number(op: str, value: Value, span: Span | None) -> Value:
    if isinstance(value, bool):
        raise Fault(f"{op} needs numbers, got {show(value)}", span)
    return value


def _integer(op: str, value: Value, span: Span | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Fault(f"{op} needs integers, got {show(value)}", span)
    return value


def _paired(op: str, value: Value, span: Span | None) -> ir.Pair:
    if not isinstance(value, ir.Pair):
        raise Fault(f"{op} needs pairs, got {show(value)}", span)
    return value


def _pair(x: Value, i: int, span: Span | None) -> ir.Pair:
    """The pair of a number, rounded to single precision, and an integer of 32 bits."""
    if not -(2**31) <= i < 2**31:
        raise Fault(f"the second of a pair has 32 bits, and {i} does not fit", span)
    near: Value = x if _beyond(x) else single(Fraction(x))
    try:
        return ir.Pair.of(float(near), i)
    except OverflowError:
        return ir.Pair.of(math.inf if near > 0 else -math.inf, i)


def _rank(op: str, p: ir.Pair) -> tuple[bool, float, int]:
    """Pairs in the order in which an operator prefers them: NaN, then the least or the greatest, then the first."""
    known = p.first == p.first
    x = p.first if known else 0.0
    return known, x if op == "minby" else -x, p.second


def _shifted(op: str, a: int, places: int, span: Span | None) -> int:
    """a times or divided by a power of two, rounded down. 2**64 is more than any integer."""
    if places < 0:
        raise Fault(f"{op} needs a count of at least 0, got {places}", span)
    power = 1 << min(places, 64)
    return a * power if op == "<<" else a // power


def _wrapped(value: int) -> int:
    """The integer of 64 bits that ends in the same ones."""
    low = value & 2**64 - 1
    return low if low <= INT_MAX else low - 2**64


def _boolean(op: str, value: Value, span: Span | None) -> bool:
    if not isinstance(value, bool):
        raise Fault(f"{op} needs booleans, got {show(value)}", span)
    return value


def _condition(value: Value, span: Span | None) -> bool:
    if not isinstance(value, bool):
        raise Fault(f"a condition is true or false, not {show(value)}", span)
    return value


def _bounded(value: Value, span: Span | None) -> Value:
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        raise Fault(f"overflow: {value} does not fit a 64-bit integer", span)
    return value


# -------------------------------------------------------------------------------------------------------- evaluation


class _Written:
    """The record of writes to a tensor that cannot hold every array."""

    def __init__(self, stored: Array) -> None:
        self.elements: Array = np.where(stored, WRITTEN, UNTOUCHED)
        """`UNTOUCHED`, `PERHAPS` or `WRITTEN`, each"""
        self.last: tuple[int, ...] = ()
        self.in_order = not stored.any()
        """whether the elements were written in column-major order, each once"""

    def note(self, index: tuple[int, ...], how: int) -> None:
        """Note an update of an element."""
        if how != UNTOUCHED:
            self.elements[index] = max(self.elements[index], how)
            at = index[::-1]
            self.in_order, self.last = self.in_order and at > self.last, at


@dataclass
class _Scope:
    """The variables, indices and tensors that one body binds, and the scope around it."""

    parent: _Scope | None = None
    variables: dict[str, Value] = field(default_factory=dict)
    tensors: dict[str, Array] = field(default_factory=dict)
    written: dict[str, _Written] = field(default_factory=dict)

    def binding(self, name: str) -> _Scope | None:
        """The nearest scope that binds the variable."""
        scope: _Scope | None = self
        while scope is not None and name not in scope.variables:
            scope = scope.parent
        return scope

    def owner(self, name: str, span: Span | None) -> _Scope:
        """The nearest scope that has a tensor of that name."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.tensors:
                return scope
            scope = scope.parent
        raise Fault(f"{name} is not declared here", span)

    def tensor(self, name: str, span: Span | None) -> Array:
        """The contents of the nearest tensor of that name."""
        return self.owner(name, span).tensors[name]


@dataclass(frozen=True)
class _Evaluator:
    """A walk over the tree; the scopes are its only state."""

    shapes: Mapping[str, tuple[int, ...]]
    kinds: Mapping[str, str]
    tick: Callable[[], None]
    formats: Formats
    changing: frozenset[str]
    """the tensors that the program declares or updates"""

    def scoped(self, body: ir.Statement, scope: _Scope) -> None:
        """Do the body of a scope. A fault if the format of one of its tensors cannot hold what was written."""
        self.run(body, scope)
        for name, written in scope.written.items():
            self.require_held(name, scope.tensors[name], written)

    def require_held(self, name: str, array: Array, written: _Written) -> None:
        """A Fault if the format of a tensor cannot hold what was written; Undecided if that is not known."""
        sure, all_ = (self.formats.refusal(name, array, written.elements >= least) for least in (WRITTEN, PERHAPS))
        if sure and all_:
            raise Fault(f"{name}: {all_}")
        if sure or all_:
            raise Undecided(f"{name}: {sure or all_}; the reference does not know which fill values are stored")
        if name in self.formats.ordered and not written.in_order:
            raise Undecided(f"{name}: the reference does not know whether its format allows writes in this order")

    def run(self, s: ir.Statement, scope: _Scope) -> None:
        """Do one statement."""
        match s:
            case ir.Block(statements):
                for each in statements:
                    self.run(each, scope)
            case ir.If(condition, body):
                if _condition(self.value(condition, scope), condition.span):
                    self.scoped(body, _Scope(scope))
            case ir.Set(name, value):
                result = self.value(value, scope, typed=True)
                (scope.binding(name) or scope).variables[name] = result
            case ir.Assign():
                self.assign(s, scope)
            case ir.Declare(name, init):
                fill = self.stored(name, self.value(init, scope), init.span or s.span)
                scope.tensors[name] = np.empty(self.shapes[name], dtype=object)
                scope.tensors[name].fill(fill)  # np.full would make integers of pairs
                if name in self.formats.partial:
                    scope.written[name] = _Written(np.zeros(self.shapes[name], dtype=np.bool_))
            case ir.For(index, ir.Parallel(ir.Range() as ends) | (ir.Range() as ends), body, absorbed):
                start, stop = self.integer(ends.start, scope), self.integer(ends.stop, scope)
                for i in range(start, stop + 1):
                    if absorbed and all(self.absorbed(a, scope, s.span) for a in absorbed):
                        break
                    self.tick()
                    self.scoped(body, _Scope(scope, {index: i}))
            case ir.Skip() | ir.Freeze() | ir.Thaw():
                pass
            case _:
                raise InternalError(f"the reference has no meaning for {type(s).__name__}", s.span)

    def absorbed(self, a: ir.Absorbing, scope: _Scope, span: Span | None) -> bool:
        """Whether no update changes a scalar any more."""
        return _alike(scope.tensor(a.tensor, span).item(), a.value.value) != a.others

    def assign(self, s: ir.Assign, scope: _Scope) -> None:
        """T[i…] ⊕= e"""
        value = self.value(s.value, scope)
        array, index = self.cell(s.access, scope)
        name, before = s.access.fiber.tensor, array[index]
        if name in self.formats.implied:
            self.require_kept(s, value, self.writes(s, value, before, scope))
        if name in self.formats.partial:
            scope.owner(name, s.span).written[name].note(index, self.writes(s, value, before, scope))
        if s.op in WRAPPING or s.op in BITWISE:
            value = self.stored(name, value, s.value.span or s.span)
        made = self.updated(s, before, value)
        array[index] = self.stored(name, made, s.value.span or s.span)

    def updated(self, s: ir.Assign, before: Value, value: Value) -> Value:
        """What an element is after an update. ⊕ combines values of the tensor's kind."""
        if s.op == "=":
            return value
        kind = self.kinds[s.access.fiber.tensor]
        kind = "int" if kind in RANGES else "float" if kind == "f32" else kind
        given = _converted(value, kind)
        if given is None:
            raise Fault(_unfit(show(value), kind), s.value.span or s.span)
        if isinstance(s.op, ir.Function):
            return self.called(s.op, (before, given), s.span)
        return _binary(s.op, before, given, s.span)

    def called(self, f: ir.Function, args: Sequence[Value], span: Span | None) -> Value:
        """What a function gives. Undecided if that is not what it is declared to give: Inf and NaN may disobey."""
        made = self.value(f.body, _Scope(None, dict(zip(f.parameters, args, strict=True))), typed=True)
        if any(map(_beyond, args)) and len(args) == 2:
            for e, other in (args, args[::-1]):
                known = f.algebra
                at_once = ((known.identity, other), (known.annihilator, e))
                if any(z is not None and z.value == e and not _alike(made, declared) for z, declared in at_once):
                    message = f"{f} of {show(other)} and {show(e)} is {show(made)}, and declared otherwise"
                    raise Undecided(message, span, fix="use another engine")
        return made

    def require_kept(self, s: ir.Assign, value: Value, how: int) -> None:
        """A Fault if an update would make true false where only true is stored; Undecided if it may be dropped."""
        if self.updated(s, True, value):
            return
        message = f"{s.access.fiber.tensor}: an element that may be true is set to false, which its format cannot"
        if how == WRITTEN:
            raise Fault(message, s.span)
        if how == PERHAPS or not any(isinstance(node, ir.Access) for node in s.value.walk()):
            raise Undecided(f"{message}; the reference does not know whether this is dropped")

    def writes(self, s: ir.Assign, value: Value, before: Value, scope: _Scope) -> int:
        """Whether an update writes the element: one that changes nothing may be dropped."""
        if s.op == "=" and s.access.fiber.tensor not in self.formats.once:
            return WRITTEN
        if isinstance(s.op, ir.Function):
            idle = s.op.algebra.identity.value if s.op.algebra.identity is not None else None
        else:
            idle = before if s.op == "=" else IDLE.get(s.op)
        if value != idle and (value == value or idle == idle):
            return WRITTEN
        return {True: UNTOUCHED, None: PERHAPS, False: WRITTEN}[self.literal(s.value, scope)]

    def value(self, e: ir.Expression, scope: _Scope, typed: bool = False) -> Value:
        """What an expression is worth. Arguments are evaluated from left to right, always all of them.

        `typed`: whether it is the value of a variable, whose type matters.
        """
        match e:
            case ir.Literal(raw):
                known = _computed(raw)
                if known is None:
                    raise Fault(f"{raw} is no number", e.span)
                return _bounded(known, e.span)
            case ir.Variable(name) | ir.Index(name):
                binding = scope.binding(name)
                if binding is None:
                    raise Fault(f"{name} has no value", e.span)
                return binding.variables[name]
            case ir.Call(ir.Function() as f, args):
                return self.called(f, [self.value(arg, scope, typed=True) for arg in args], e.span)
            case ir.Call(str() as op, args):
                typed = typed or op == "isqrt" or op in ir.BITS
                first, *rest = (self.value(arg, scope, typed) for arg in args)
                if not rest:
                    return _unary(op, first, e.span)
                if op == "*" and any(map(_beyond, (first, *rest))):
                    for arg, factor in zip(args, (first, *rest), strict=True):
                        if factor == 0 and self.annihilates(arg, scope, typed):
                            return factor
                return reduce(lambda a, b: _binary(op, a, b, e.span), rest, first)
            case ir.Access():
                array, index = self.cell(e, scope)
                found: Value = array[index]
                return found
            case ir.IsMissing(ir.Access() as access):
                return self.missing(access, scope)
            case ir.Coalesce(ir.Access() as access, otherwise):
                return self.value(otherwise if self.missing(access, scope) else access, scope)
            case ir.Choice(condition, then, otherwise):
                holds = _condition(self.value(condition, scope), condition.span)
                return self.value(then if holds else otherwise, scope, typed=True)
            case _:
                raise InternalError(f"the reference has no meaning for {type(e).__name__}", e.span)

    def annihilates(self, e: ir.Expression, scope: _Scope, typed: bool) -> bool:
        """Whether an expression that is zero makes a product with Inf or NaN zero. InputError if its format decides."""
        found = self.literal(e, scope)
        if found is None:
            message = "zero times Inf or NaN, and the reference does not know whether this zero is stored"
            raise Undecided(message, e.span, fix="use another engine")
        return found and not (typed and isinstance(self.value(e, scope, typed), int))

    def literal(self, e: ir.Expression, scope: _Scope) -> bool | None:
        """Whether algebra makes a literal of an expression; None if the format of a tensor decides."""
        match e:
            case ir.Literal():
                return True
            case ir.Coalesce() | ir.Choice():
                return None
            case ir.Access(fiber=ir.Fiber(tensor=T)):
                _, index = self.cell(e, scope)
                if T in self.changing:
                    return None
                return self.formats.kept is not None and not self.formats.kept(T)[index]
            case ir.Call(op=op, args=args):
                found = [self.literal(arg, scope) for arg in args]
                known = op.algebra.annihilator if isinstance(op, ir.Function) else None
                zero = DECIDING.get(op) if isinstance(op, str) else None if known is None else known.value
                if zero is not None and any(
                    f and self.value(arg, scope) == zero for f, arg in zip(found, args, strict=True)
                ):
                    return True
                return False if False in found else None if None in found else True
        return False

    def cell(self, access: ir.Access, scope: _Scope) -> tuple[Array, tuple[int, ...]]:
        """The array that an access names and the 0-based place in it."""
        name = access.fiber.tensor
        index = tuple(self.subscript(e, scope) for e in access.subscripts)
        array = scope.tensor(name, access.span)
        if len(index) != array.ndim:
            raise InternalError(f"{name} has {array.ndim} axes but {len(index)} subscripts", access.span)
        for axis, (i, extent) in enumerate(zip(index, array.shape, strict=True), start=1):
            if not 1 <= i <= extent:
                span = access.subscripts[axis - 1].span or access.span
                raise Fault(f"{name} has the indices 1:{extent} on axis {axis}, got {i}", span, label="out of bounds")
        return array, tuple(i - 1 for i in index)

    def missing(self, access: ir.Access, scope: _Scope) -> bool:
        """Whether a subscript with ~ lies outside of its axis."""
        index = [self.subscript(e, scope) for e in access.subscripts]
        shape = scope.tensor(access.fiber.tensor, access.span).shape
        found = zip(access.subscripts, index, shape, strict=True)
        return any(isinstance(e, ir.Permissive) and not 1 <= i <= extent for e, i, extent in found)

    def subscript(self, e: ir.Expression, scope: _Scope) -> int:
        """The value of a subscript, with ~ or without."""
        return self.integer(e.subscript if isinstance(e, ir.Permissive) else e, scope)

    def integer(self, e: ir.Expression, scope: _Scope) -> int:
        """The value of a bound or a subscript."""
        value = self.value(e, scope)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Fault(f"an integer is needed here, got {show(value)}", e.span)
        return value

    def stored(self, tensor: str, value: Value, span: Span | None) -> Value:
        """The value as an element of the tensor."""
        kind = self.kinds[tensor]
        fitting = _converted(value, kind)
        if fitting is None:
            raise Fault(_unfit(show(value), kind) if kind in KINDS else f"{tensor}: {_unfit(show(value), kind)}", span)
        return fitting
