"""From a whole expression, `C[i, j] += A[i, k] * B[k, j]`, and its inputs to the einsum that it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

from wingspan.base.errors import Fault, InputError, Mistakes, Span
from wingspan.base.libraries import np
from wingspan.choices.extents import infer_extents, require_affine
from wingspan.choices.operands import Input, Operand
from wingspan.elaborate.einsum import Einsum, require_plain
from wingspan.elaborate.kinds import BOOL, kinds_of, settle_kinds
from wingspan.elaborate.parameters import did_you_mean
from wingspan.lang import algebra, ir
from wingspan.lang.affine import Affine, is_injective
from wingspan.lang.functions import choose
from wingspan.lang.kinds import KINDS
from wingspan.lang.numbers import axes as number_of_axes
from wingspan.lang.numbers import subscripts
from wingspan.lang.printer import show
from wingspan.lang.widths import USUAL, Width
from wingspan.lang.words import equal_or_nan

EXAMPLE = "write one update, such as C[i, j] += A[i, k] * B[k, j]"

UNKNOWN = ir.Access(ir.Fiber("?", 1), ())
"""A value of which nothing is known, and that depends on no input that is still to be asked for."""

EXTREMES: dict[tuple[str, str], ir.Value] = {
    ("min", "float"): float("inf"), ("max", "float"): float("-inf"),
    ("min", "int"): algebra.INT64[-1], ("max", "int"): algebra.INT64[0],
}  # fmt: skip
"""The identities of min and max, by the kind of the values."""


def read_einsum(
    tree: ir.Program, inputs: Mapping[str, Any], init: ir.Value | None = None, given: Mapping[str, int] | None = None
) -> tuple[Einsum, dict[str, Input]]:
    """The einsum that an expression, as parsed, is for what is given for its names; and its operands by name.

    A name without subscripts is a number: it becomes a tensor without axes. Without `init`, elements begin as the
    value that ⊕ leaves others unchanged with; those of `=`, as what the expression is where no input stores anything,
    or as a zero if some elements are not written. `infer_extents` says how far indices run whose extents are not given.

    Raises:
        InputError: the expression is not one update, or what is given does not fit.
        ProgramError: an operator needs values of another kind.
    """
    update = _with_indices(_update(tree))
    output = update.access.fiber.tensor
    require_plain(within_axes(update))
    operands = _operands(update, inputs)
    update, extents = infer_extents(update, operands, given)
    written = [require_affine(update.access, axis) for axis in range(len(update.access.subscripts))]
    axes = tuple(dict.fromkeys(index for each in written for index in each.factors))
    plain = len(axes) == len(written) and all(each == Affine({i: 1}) for i, each in zip(axes, written, strict=True))
    loops = tuple(extents)
    einsum = Einsum(
        output, axes, update.op, update.value, ir.Literal(0), loops, extents, None if plain else (*written,)
    )
    if update.op == "=":
        _require_written_once(einsum, written, update.access)
    start = ir.Literal(_init(einsum, update, operands) if init is None else _checked_init(init, update, operands))
    scattered = not (plain or is_injective(written, extents))
    if (scattered or len(loops) > len(axes) + 1) and not algebra.any_order(update.op):
        lost = ", ".join(index for index in loops if scattered or index not in axes)
        message = f"the order of the loops over {lost} matters to {update.op}, and einsum chooses it"
        raise InputError(message, update.span, fix="write a program for this: wingspan.compile")
    _require_kinds(update, operands)
    if update.op == "=" and not plain and any(operand.sparse for operand in operands.values()):
        einsum = replace(einsum, op=choose(start))  # as each element is written once, values as at the start are no-ops
    return replace(einsum, init=start), operands


def _require_written_once(einsum: Einsum, written: Sequence[Affine], access: ir.Access) -> None:
    """InputError if a program would overwrite an element of the output by another value."""
    fix = "reduce: write +=, or <<max>>="
    if lost := [index for index in einsum.loops if index not in einsum.axes]:
        message = f"{einsum.output} has no axis {lost[0]}, so its elements would be overwritten"
        raise InputError(message, access.span, fix=fix)
    if not is_injective(written, einsum.extents):
        message = f"{show(access)} may be one element for several {' and '.join(einsum.axes)}, which would overwrite it"
        raise InputError(message, access.span, fix=fix)


def _update(tree: ir.Program) -> ir.Assign:
    """The one statement of an expression, besides functions that it declares."""
    functions = [s for s in tree.body.statements if isinstance(s, ir.Define) and isinstance(s.value, ir.Function)]
    match tuple(s for s in tree.body.statements if s not in functions):
        case (ir.Assign() as update,) if not tree.returns:
            return update
        case (first, *_):
            raise InputError("an einsum is one update of a tensor", first.span, fix=EXAMPLE)
    raise InputError("an einsum is one update of a tensor", fix=EXAMPLE)


def _with_indices(update: ir.Assign) -> ir.Assign:
    """The update with its names in their roles: those in subscripts are indices, others are tensors without axes."""
    names = {
        node.name
        for access, _ in ir.accesses(update)
        for subscript in access.subscripts
        for node in subscript.walk()
        if isinstance(node, ir.Variable)
    }

    def role(node: Any) -> Any:
        if not isinstance(node, ir.Variable):
            return node
        if node.name in names:
            return ir.Index(node.name, span=node.span)
        return ir.Access(ir.Fiber(node.name, 1), (), span=node.span)

    changed: ir.Assign = update.map(role)
    return changed


def indices(access: ir.Access) -> tuple[frozenset[str], ...]:
    """The indices in each subscript of an access."""
    return tuple(
        frozenset(node.name for node in subscript.walk() if isinstance(node, ir.Index))
        for subscript in access.subscripts
    )


def within_axes(e: Any) -> Any:
    """An expression or update with choices in place of `coalesce`, as far as it is not known which value is taken."""

    def change(node: Any) -> Any:
        match node:
            case ir.Coalesce(first=first, otherwise=otherwise):
                return ir.Choice(UNKNOWN, first, otherwise, span=node.span)
            case ir.Permissive(subscript=subscript):
                return subscript
        return node

    return e.map(change)


def _operands(update: ir.Assign, inputs: Mapping[str, Any]) -> dict[str, Input]:
    """The inputs by name, in reading order."""
    uses: dict[str, ir.Access] = {}
    for access, _ in ir.accesses(update.value):
        first = uses.setdefault(access.fiber.tensor, access)
        if len(first.subscripts) != len(access.subscripts):
            message = f"{access.fiber.tensor} is read with different numbers of subscripts"
            raise InputError(message, access.span, fix="write one subscript for each axis, everywhere")
    for name, use in uses.items():
        if name not in inputs:
            raise InputError(f"{name} is not given", use.span, fix=did_you_mean(name, inputs) or f"pass {name}=…")
    for name in inputs:
        if name not in uses:
            fix = did_you_mean(name, uses) or f"it reads {', '.join(uses) or 'nothing'}"
            raise InputError(f"the expression does not read {name}", fix=fix)
    found = {name: Input(name, inputs[name], len(use.subscripts)) for name, use in uses.items()}
    for name, use in uses.items():
        written, have = len(use.subscripts), len(found[name].shape)
        if written != have:
            has = f"{number_of_axes(have)}, and here {subscripts(written)}"
            raise InputError(f"{name} has {has}", use.span, fix="write one subscript for each axis")
    return found


# ------------------------------------------------------------------------------------------- kinds and initial values


def width_of(einsum: Einsum, operands: Mapping[str, Operand]) -> Width:
    """The width of the result's elements: of 64 bits, and doubles if any value may be one."""
    kind = _kind(einsum.op, einsum.expression, operands)
    return USUAL["float" if kind == "int" and einsum.init.kind == "float" else kind]


def _kind(op: ir.Operator, e: ir.Expression, operands: Mapping[str, Operand]) -> str:
    """The kind of elements that are updated by ⊕ with the values of an expression."""
    kinds = kinds_of(e, operands)
    if op in ("&&", "||") or ((op == "=" or isinstance(op, ir.Function)) and kinds == BOOL):
        return "bool"
    return "float" if "float" in kinds else "int"


def _require_kinds(update: ir.Assign, operands: Mapping[str, Operand]) -> None:
    """ProgramError at what is of no use. The program has other names and places than the expression."""
    output, mistakes = USUAL[_kind(update.op, update.value, operands)], Mistakes()
    settle_kinds(update, {**operands, update.access.fiber.tensor: output}, mistakes)
    mistakes.raise_all()


def _checked_init(init: Any, update: ir.Assign, operands: Mapping[str, Operand]) -> ir.Value:
    """The user's initial value of elements. InputError if it is no value, or ⊕ cannot update it."""
    init = init.item() if isinstance(init, np.generic) else init
    if not isinstance(init, bool | int | float | Fraction):
        raise InputError(f"elements cannot begin as {init!r}", fix="give a number or a boolean: init=0")
    kind = _kind(update.op, update.value, operands)
    logic = update.op in ("&&", "||")
    if isinstance(init, bool) != (kind == "bool") and (logic or isinstance(init, bool)):
        wanted = "booleans" if logic else "numbers"
        message = f"{update.access.fiber.tensor} holds {wanted}, and begins as {algebra.show(init)}"
        raise InputError(message, fix="give a boolean: init=False" if logic else "give a number: init=0")
    return init


def _init(einsum: Einsum, update: ir.Assign, operands: Mapping[str, Operand]) -> ir.Value:
    """The initial value of elements."""
    if update.op == "=" and prod(einsum.shape) != prod(einsum.extents.values()):  # written once, but not all
        return KINDS[_kind(update.op, update.value, operands)].zero
    if update.op == "=":
        return _elsewhere(update.value, operands, _kind(update.op, update.value, operands))
    return neutral(update.op, update.value, operands, update.span)


def neutral(op: ir.Operator, e: ir.Expression, operands: Mapping[str, Operand], at: Span | None = None) -> ir.Value:
    """The neutral element of ⊕ for the values of an expression. InputError if it is not known."""
    kind = _kind(op, e, operands)
    if op in ("min", "max"):
        return EXTREMES[op, kind]
    identity = algebra.algebra_of(op).identity
    if identity is None:
        raise InputError(f"{op} has no identity to begin from", at, fix="give the first value: init=0")
    return float(identity.value) if kind == "float" else identity.value


def _elsewhere(e: ir.Expression, operands: Mapping[str, Operand], kind: str) -> ir.Value:
    """The value of an expression where no input stores anything, or a zero if there is not one value."""
    made = algebra.simplify_expression(fill_missing(within_axes(e), operands, list(operands)))
    value = made.value if isinstance(made, ir.Literal) else False
    try:
        return algebra.double(algebra.convert(algebra.exact(value), kind))
    except Fault:
        return KINDS[kind].zero


def update(einsum: Einsum, output: ir.Access, value: ir.Expression) -> ir.Statement:
    """The update of an element of the output by a value; none where `ifelse` gives what leaves it unchanged.

    A loop passes over indices at which a condition is false, and not over those at which it chooses a value.
    """
    known = algebra.algebra_of(einsum.op).identity
    idle = einsum.init.value if einsum.op == "=" else known and known.value
    match value:
        case ir.Choice(condition=condition, then=then, otherwise=ir.Literal(value=z)) if equal_or_nan(z, idle):
            return ir.If(condition, update(einsum, output, then))
    return ir.Assign(output, einsum.op, value)


def fill_missing(e: Any, operands: Mapping[str, Operand], missing: Any) -> Any:
    """An expression or update with the fill value in place of what it reads of tensors that may lack elements."""

    def fill(node: Any) -> Any:
        if isinstance(node, ir.Access) and node.fiber.tensor in missing and operands[node.fiber.tensor].sparse:
            return ir.Literal(algebra.exact(operands[node.fiber.tensor].fill), span=node.span)
        return node

    return e.map(fill)
