"""A walk over an elaborated program that keeps dense arrays and variables, scope by scope."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from functools import cached_property, reduce
from math import prod

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import AssertionFault, Fault, InputError, InternalError, Span
from wingspan.base.libraries import np
from wingspan.lang import ir
from wingspan.lang.ir import Value
from wingspan.reference import arithmetic
from wingspan.reference.arithmetic import BITWISE, OF_INTEGERS, WRAPPING, binary, equal_or_nan, holds, require_64_bits
from wingspan.reference.values import (
    KINDS,
    RANGES,
    Array,
    Elements,
    beyond,
    convert_to_kind,
    exact,
    show,
    to_exact,
    unfit_message,
)

UNTOUCHED, PERHAPS, WRITTEN = range(3)
"""Whether an element was written."""

IDLE: dict[str, Value] = {
    "+": 0, "-": 0, "*": 1, "&&": True, "||": False, "+%": 0, "-%": 0, "*%": 1, "&": -1, "|": 0, "⊻": 0,
}  # fmt: skip
"""The identity of each operator. An update by such a literal is no write."""

DECIDING: dict[str, Value] = {"*": 0, "*%": 0, "&": 0, "|": -1, "&&": False, "||": True}
"""The annihilator of each operator: one such literal operand makes the value that literal."""


class Undecided(InputError):
    """The result depends on what the format of a tensor stores, which the reference does not know."""


@dataclass(frozen=True)
class Formats:
    """Properties of the formats of tensors that the reference depends on."""

    kept: Callable[[str], Array] | None = None
    """the mask of the elements that an input stores; None: all"""
    partial: Collection[str] = ()
    """the tensors that cannot hold every array"""
    refusal: Callable[[str, Array, Array], str | None] = lambda name, array, written: None
    """the reason that one cannot hold the first array's elements where the second is true; None if it can"""
    implied: Collection[str] = ()
    """the tensors that store only true elements, so that no update may make an element false"""
    ordered: Collection[str] = ()
    """the tensors that may fault if elements are not written in column-major order, each once"""
    once: Collection[str] = ()
    """the tensors no element of which is written twice: an overwrite by the fill value is dropped"""


@dataclass(frozen=True)
class ReferenceResults:
    """The contents of the root scope when the program has ended."""

    elements: dict[str, Elements]
    """the inputs and the tensors declared at the root"""
    variables: dict[str, Value]

    @cached_property
    def tensors(self) -> dict[str, Array]:
        """The same as object arrays of exact values."""
        return {name: elements.to_numpy() for name, elements in self.elements.items()}


def evaluate(
    body: ir.Statement,
    inputs: Mapping[str, Array],
    shapes: Mapping[str, tuple[int, ...]],
    kinds: Mapping[str, str],
    tick: Callable[[], None] = lambda: None,
    formats: Formats = Formats(),  # noqa: B008  (it is frozen)
) -> ReferenceResults:
    """Run an elaborated program (no definitions, no `_`) on the dense contents of its inputs.

    `shapes` and `kinds` (`int`, `float` or `bool`, or what narrow cells hold: `u8`, `f32`, …) are those of all tensors,
    inputs and declared ones. `tick` is called before each iteration and for each element of an input; what it raises
    ends the evaluation.

    >>> y_i = ir.Access(ir.Fiber("y", 1), (ir.Index("i"),))
    >>> loop = ir.For("i", ir.Range(ir.Literal(1), ir.Literal(2)), ir.Assign(y_i, "+", ir.Index("i")))
    >>> evaluate(loop, {"y": np.array([10, 20])}, {"y": (2,)}, {"y": "int"}).tensors["y"].tolist()
    [11, 22]
    """
    root = _ReferenceScope()
    for name, array in inputs.items():
        if np.shape(array) != tuple(shapes[name]):
            raise InputError(f"{name} has the shape {np.shape(array)}, the program needs {tuple(shapes[name])}")
        root.tensors[name] = Elements(shapes[name], exact(array, kinds[name], tick).ravel().tolist())
    nodes = list(body.walk())
    declared = {s.tensor for s in nodes if isinstance(s, ir.Declare)}
    changing = declared | {s.access.fiber.tensor for s in nodes if isinstance(s, ir.Assign)}
    for name in inputs.keys() & changing & set(formats.partial):
        stored = np.True_ if formats.kept is None else formats.kept(name)
        root.written[name] = _WriteLog(np.broadcast_to(stored, shapes[name]))
    _Evaluator(shapes, kinds, tick, formats, frozenset(changing)).run_scope(body, root)
    return ReferenceResults(root.tensors, root.variables)


class _WriteLog:
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
class _ReferenceScope:
    """The variables, indices and tensors that one body binds, and the scope around it."""

    parent: _ReferenceScope | None = None
    variables: dict[str, Value] = field(default_factory=dict)
    tensors: dict[str, Elements] = field(default_factory=dict)
    written: dict[str, _WriteLog] = field(default_factory=dict)

    def binding(self, name: str) -> _ReferenceScope | None:
        """The nearest scope that binds the variable."""
        scope: _ReferenceScope | None = self
        while scope is not None and name not in scope.variables:
            scope = scope.parent
        return scope

    def owner(self, name: str, span: Span | None) -> _ReferenceScope:
        """The nearest scope that has a tensor of that name."""
        scope: _ReferenceScope | None = self
        while scope is not None:
            if name in scope.tensors:
                return scope
            scope = scope.parent
        raise Fault(f"{name} is not declared here", span)

    def tensor(self, name: str, span: Span | None) -> Elements:
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

    def run_scope(self, body: ir.Statement, scope: _ReferenceScope) -> None:
        """Run the body of a scope. A fault if the format of one of its tensors cannot hold what was written."""
        self.run(body, scope)
        for name, written in scope.written.items():
            self.require_held(name, scope.tensors[name].to_numpy(), written)

    def require_held(self, name: str, array: Array, written: _WriteLog) -> None:
        """A Fault if the format of a tensor cannot hold what was written; Undecided if that is not known."""
        sure, all_ = (self.formats.refusal(name, array, written.elements >= least) for least in (WRITTEN, PERHAPS))
        if sure and all_:
            raise Fault(f"{name}: {all_}")
        if sure or all_:
            raise Undecided(f"{name}: {sure or all_}; the reference does not know which fill values are stored")
        if name in self.formats.ordered and not written.in_order:
            raise Undecided(f"{name}: the reference does not know whether its format allows writes in this order")

    def run(self, s: ir.Statement, scope: _ReferenceScope) -> None:
        """Do one statement."""
        match s:
            case ir.Block(statements):
                for each in statements:
                    self.run(each, scope)
            case ir.If(condition, body):
                if holds(self.value(condition, scope), condition.span):
                    self.run_scope(body, _ReferenceScope(scope))
            case ir.Assert():
                self.require_true(s, scope)
            case ir.Set(name, value):
                result = self.value(value, scope, typed=True)
                (scope.binding(name) or scope).variables[name] = result
            case ir.Assign():
                self.assign(s, scope)
            case ir.Declare(name, init):
                fill = self.to_element(name, self.value(init, scope), init.span or s.span)
                shape = self.shapes[name]
                scope.tensors[name] = Elements(shape, [fill] * prod(shape))
                if name in self.formats.partial:
                    scope.written[name] = _WriteLog(np.zeros(shape, dtype=np.bool_))
            case ir.For(index, ir.Parallel(ir.Range() as ends) | (ir.Range() as ends), body, absorbed):
                start, stop = self.integer(ends.start, scope), self.integer(ends.stop, scope)
                for i in range(start, stop + 1):
                    if absorbed and all(self.is_absorbed(a, scope, s.span) for a in absorbed):
                        break
                    self.tick()
                    self.run_scope(body, _ReferenceScope(scope, {index: i}))
            case ir.Skip() | ir.Freeze() | ir.Thaw():
                pass
            case _:
                raise InternalError(f"the reference has no meaning for {type(s).__name__}", s.span)

    def require_true(self, s: ir.Assert, scope: _ReferenceScope) -> None:
        """A Fault with the values of its operands if an assertion is false."""
        e = s.condition
        value = self.value(e, scope)
        if not isinstance(value, bool):
            raise Fault(f"an assertion is true or false, not {show(value)}", s.span)
        if not value:
            values = [show(self.value(operand, scope)) for operand in s.operands]
            raise AssertionFault(f"the assertion does not hold: {show_call(e, values)}", s.span)

    def is_absorbed(self, a: ir.Absorbing, scope: _ReferenceScope, span: Span | None) -> bool:
        """Whether no update changes a scalar any more."""
        return equal_or_nan(scope.tensor(a.tensor, span)[()], a.value.value) != a.others

    def assign(self, s: ir.Assign, scope: _ReferenceScope) -> None:
        """T[i…] ⊕= e; nothing where a subscript with ~ leaves its axis."""
        if self.missing(s.access, scope):
            return
        value = self.value(s.value, scope)
        array, index = self.cell(s.access, scope)
        name, before = s.access.fiber.tensor, array[index]
        if name in self.formats.implied:
            self.require_kept(s, value, self.writes(s, value, before, scope))
        if name in self.formats.partial:
            scope.owner(name, s.span).written[name].note(index, self.writes(s, value, before, scope))
        if s.op in WRAPPING or s.op in BITWISE:
            value = self.to_element(name, value, s.value.span or s.span)
        made = self.combine_element(s, before, value)
        array[index] = self.to_element(name, made, s.value.span or s.span)

    def combine_element(self, s: ir.Assign, before: Value, value: Value) -> Value:
        """The element after an update. ⊕ combines values of the tensor's kind."""
        if s.op == "=":
            return value
        kind = self.kinds[s.access.fiber.tensor]
        kind = "int" if kind in RANGES else "float" if kind == "f32" else kind
        given = convert_to_kind(value, kind)
        if given is None:
            raise Fault(unfit_message(show(value), kind), s.value.span or s.span)
        if isinstance(s.op, ir.Function):
            return self.apply_function(s.op, (before, given), s.span)
        return binary(s.op, before, given, s.span)

    def apply_function(self, f: ir.Function, args: Sequence[Value], span: Span | None) -> Value:
        """The value of a call. Undecided if it contradicts the function's declarations: Inf and NaN may disobey."""
        made = self.value(f.body, _ReferenceScope(None, dict(zip(f.parameters, args, strict=True))), typed=True)
        if any(map(beyond, args)) and len(args) == 2:
            for e, other in (args, args[::-1]):
                known = f.algebra
                at_once = ((known.identity, other), (known.annihilator, e))
                if any(z is not None and z.value == e and not equal_or_nan(made, declared) for z, declared in at_once):
                    message = f"{f} of {show(other)} and {show(e)} is {show(made)}, and declared otherwise"
                    raise Undecided(message, span, fix="use another engine")
        return made

    def require_kept(self, s: ir.Assign, value: Value, how: int) -> None:
        """A Fault if an update would make true false where only true is stored; Undecided if it may be dropped."""
        if self.combine_element(s, True, value):
            return
        message = f"{s.access.fiber.tensor}: an element that may be true is set to false, which its format cannot"
        if how == WRITTEN:
            raise Fault(message, s.span)
        if how == PERHAPS or not any(isinstance(node, ir.Access) for node in s.value.walk()):
            raise Undecided(f"{message}; the reference does not know whether this is dropped")

    def writes(self, s: ir.Assign, value: Value, before: Value, scope: _ReferenceScope) -> int:
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

    def value(self, e: ir.Expression, scope: _ReferenceScope, typed: bool = False) -> Value:
        """The value of an expression. Arguments are evaluated from left to right, always all of them.

        `typed`: whether it is the value of a variable, whose type matters.
        """
        match e:
            case ir.Literal(raw):
                known = to_exact(raw)
                if known is None:
                    raise Fault(f"{raw} is no number", e.span)
                return require_64_bits(known, e.span)
            case ir.Variable(name) | ir.Index(name):
                binding = scope.binding(name)
                if binding is None:
                    raise Fault(f"{name} has no value", e.span)
                return binding.variables[name]
            case ir.Call(ir.Function() as f, args):
                return self.apply_function(f, [self.value(arg, scope, typed=True) for arg in args], e.span)
            case ir.Call(str() as op, args):
                typed = typed or op == "isqrt" or op in OF_INTEGERS
                first, *rest = (self.value(arg, scope, typed) for arg in args)
                if not rest:
                    return arithmetic.unary(op, first, e.span)
                if op == "*" and any(map(beyond, (first, *rest))):
                    for arg, factor in zip(args, (first, *rest), strict=True):
                        if factor == 0 and self.annihilates(arg, scope, typed):
                            return factor
                return reduce(lambda a, b: binary(op, a, b, e.span), rest, first)
            case ir.Access():
                array, index = self.cell(e, scope)
                return array[index]
            case ir.IsMissing(ir.Access() as access):
                return self.missing(access, scope)
            case ir.Coalesce(ir.Access() as access, otherwise):
                return self.value(otherwise if self.missing(access, scope) else access, scope)
            case ir.Choice(condition, then, otherwise):
                chosen = then if holds(self.value(condition, scope), condition.span) else otherwise
                return self.value(chosen, scope, typed=True)
            case _:
                raise InternalError(f"the reference has no meaning for {type(e).__name__}", e.span)

    def annihilates(self, e: ir.Expression, scope: _ReferenceScope, typed: bool) -> bool:
        """Whether an expression that is zero makes a product with Inf or NaN zero. InputError if its format decides."""
        found = self.literal(e, scope)
        if found is None:
            message = "zero times Inf or NaN, and the reference does not know whether this zero is stored"
            raise Undecided(message, e.span, fix="use another engine")
        return found and not (typed and isinstance(self.value(e, scope, typed), int))

    def literal(self, e: ir.Expression, scope: _ReferenceScope) -> bool | None:
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

    def cell(self, access: ir.Access, scope: _ReferenceScope) -> tuple[Elements, tuple[int, ...]]:
        """The array that an access names and the 0-based place in it."""
        name = access.fiber.tensor
        index = tuple(self.subscript(e, scope) for e in access.subscripts)
        array = scope.tensor(name, access.span)
        if len(index) != len(array.shape):
            raise InternalError(f"{name} has {len(array.shape)} axes but {len(index)} subscripts", access.span)
        for axis, (i, extent) in enumerate(zip(index, array.shape, strict=True), start=1):
            if not 1 <= i <= extent:
                span = access.subscripts[axis - 1].span or access.span
                raise Fault(f"{name} has the indices 1:{extent} on axis {axis}, got {i}", span, label="out of bounds")
        return array, tuple(i - 1 for i in index)

    def missing(self, access: ir.Access, scope: _ReferenceScope) -> bool:
        """Whether a subscript with ~ lies outside of its axis."""
        index = [self.subscript(e, scope) for e in access.subscripts]
        shape = scope.tensor(access.fiber.tensor, access.span).shape
        found = zip(access.subscripts, index, shape, strict=True)
        return any(isinstance(e, ir.Permissive) and not 1 <= i <= extent for e, i, extent in found)

    def subscript(self, e: ir.Expression, scope: _ReferenceScope) -> int:
        """The value of a subscript, with ~ or without."""
        return self.integer(e.subscript if isinstance(e, ir.Permissive) else e, scope)

    def integer(self, e: ir.Expression, scope: _ReferenceScope) -> int:
        """The value of a bound or a subscript."""
        value = self.value(e, scope)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Fault(f"an integer is needed here, got {show(value)}", e.span)
        return value

    def to_element(self, tensor: str, value: Value, span: Span | None) -> Value:
        """The value as an element of the tensor."""
        kind = self.kinds[tensor]
        fitting = convert_to_kind(value, kind)
        if fitting is None:
            raise Fault(
                unfit_message(show(value), kind) if kind in KINDS else f"{tensor}: {unfit_message(show(value), kind)}",
                span,
            )
        return fitting


def show_call(e: ir.Expression, values: Sequence[str]) -> str:
    """An operator over values, as programs write it; the value alone if there is no operator."""
    if not isinstance(e, ir.Call):
        return values[0]
    if str(e.op).isidentifier():
        return f"{e.op}({', '.join(values)})"
    return f"{e.op}{values[0]}" if len(values) == 1 else f" {e.op} ".join(values)
