"""The extents of the indices of an einsum: of the axes that they run over, or as far as subscripts stay inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import index as whole
from typing import NamedTuple, SupportsIndex

from wingspan.base.errors import InputError, Span
from wingspan.choices.operands import Operand
from wingspan.lang import ir
from wingspan.lang.affine import Affine, affine, substitute
from wingspan.lang.printer import show


class SubscriptUse(NamedTuple):
    """A subscript of an input: the indices that it may have are 1 to `extent`."""

    subscript: Affine
    text: str
    where: str
    """the name of the axis in messages"""
    tensor: str
    extent: int
    span: Span | None

    @property
    def bare(self) -> str | None:
        """The index that the subscript is, if it is one alone."""
        (index, *more) = self.subscript.factors or ("",)
        return None if more or self.subscript != Affine({index: 1}) else index


def infer_extents(
    update: ir.Assign, operands: Mapping[str, Operand], given: Mapping[str, int] | None = None
) -> tuple[ir.Assign, dict[str, int]]:
    """The extent of each index, in reading order of the expression; and the update with indices that count from 1.

    An index runs over an axis that it is the subscript of. Any other one runs as far as all subscripts lie in their
    axes: from 1 if the output has it, else perhaps from another number, of which the update is then written anew.
    Subscripts with ~ bound nothing.

    Raises:
        InputError: axes do not agree, a subscript is not affine or leaves its axis, or an index is bounded by nothing.
    """
    uses = list(_uses(update.value, operands))
    output = [require_affine(update.access, axis) for axis in range(len(update.access.subscripts))]
    of_output = list(dict.fromkeys(index for each in output for index in each.factors))
    every = list(dict.fromkeys([*_indices_in(update.value), *of_output]))
    found = _given_extents(given or {}, every)
    for use in uses:
        if use.bare is None or use.bare in (given or {}):
            continue
        if (known := found.setdefault(use.bare, use.extent)) != use.extent:
            one = next(each.where for each in uses if each.bare == use.bare)
            message = f"{use.where} has extent {use.extent}, and {one} has {known}: {use.bare} runs over both"
            raise InputError(message, use.span, fix="give inputs whose extents agree")
    while left := [index for index in every if index not in found]:
        ready = [(index, here) for index in left if (here := _bounding(index, uses, found))]
        if not ready:
            raise _unbounded_error(left, update, output)
        index, here = ready[0]
        first, last = _range(index, here, found)
        begin = 1 if index in of_output else first
        found[index] = max(last - begin + 1, 0)
        if begin != 1:
            moved = Affine({index: 1}, begin - 1)
            update, uses = substitute(update, index, moved), [_move(use, index, moved) for use in uses]
    if all(found.values()):
        for use in uses:
            _require_inside(use, found)
        for axis, each in enumerate(output):
            if (least := each.ends(found)[0]) < 1:
                text, name = show(update.access.subscripts[axis]), update.access.fiber.tensor
                message = f"{name} has indices from 1 on axis {axis + 1}, and {text} can be {least}"
                fix = f"write {show(replace(each, constant=each.constant + 1 - least).expression())}"
                raise InputError(message, _span(update.access, axis), fix=fix)
    return update, {index: found[index] for index in every}


def require_affine(access: ir.Access, axis: int) -> Affine:
    """A subscript, without its ~. InputError if it is not affine."""
    subscript = access.subscripts[axis]
    found = affine(subscript.subscript if isinstance(subscript, ir.Permissive) else subscript)
    if found is None:
        message = f"the subscript {show(subscript)} is no sum of multiples of indices and a whole number"
        raise InputError(message, _span(access, axis), fix="write a program for this: wingspan.compile")
    return found


def _uses(e: ir.Expression, operands: Mapping[str, Operand]) -> Iterator[SubscriptUse]:
    """The subscripts that have to lie in their axes. InputError if one with ~ is outside of `coalesce`."""
    may_leave = {id(node) for each in e.walk() if isinstance(each, ir.Coalesce) for node in each.first.walk()}
    for access, _ in ir.accesses(e):
        operand = operands[access.fiber.tensor]
        for axis, (subscript, n) in enumerate(zip(access.subscripts, operand.shape, strict=True)):
            found, span = require_affine(access, axis), _span(access, axis)
            if not isinstance(subscript, ir.Permissive):
                yield SubscriptUse(found, show(subscript), f"axis {axis + 1} of {operand.name}", operand.name, n, span)
            elif id(access) not in may_leave:
                message = f"{show(access)} has no value where {show(subscript.subscript)} leaves the axis"
                raise InputError(message, span, fix=f"say what to take there: coalesce({show(access)}, 0)")


def _indices_in(e: ir.Expression) -> Iterator[str]:
    """The indices in subscripts, in reading order."""
    for access, _ in ir.accesses(e):
        for subscript in access.subscripts:
            yield from (node.name for node in subscript.walk() if isinstance(node, ir.Index))


def _given_extents(given: Mapping[str, int], every: Sequence[str]) -> dict[str, int]:
    """The caller's extents. InputError if one is of no index, or no whole number."""
    for index, n in given.items():
        if index not in every:
            raise InputError(f"no subscript has the index {index}", fix=f"give extents of {', '.join(every) or 'none'}")
        if isinstance(n, bool) or not isinstance(n, SupportsIndex) or whole(n) < 0:
            raise InputError(f"{index} cannot have the extent {n!r}", fix="give a whole number, 0 or greater")
    return {index: whole(n) for index, n in given.items()}


def _bounding(index: str, uses: Iterable[SubscriptUse], found: Mapping[str, int]) -> list[SubscriptUse]:
    """The subscripts that an index is in, if all of their other indices have extents; else none."""
    here = [use for use in uses if index in use.subscript.factors]
    others = {other for use in here for other in use.subscript.factors if other != index}
    return here if others <= found.keys() else []


def _range(index: str, here: Iterable[SubscriptUse], found: Mapping[str, int]) -> tuple[int, int]:
    """The first and the last value of an index with which all of these subscripts lie in their axes."""
    first, last = -(2**62), 2**62
    for use in here:
        by = use.subscript.factors[index]
        rest = Affine({name: n for name, n in use.subscript.factors.items() if name != index}, use.subscript.constant)
        low, high = rest.ends(found)
        least, most = (1 - low, use.extent - high) if by > 0 else (high - use.extent, low - 1)
        first, last = max(first, -(-least // abs(by))), min(last, most // abs(by))
    return first, last


def _move(use: SubscriptUse, index: str, moved: Affine) -> SubscriptUse:
    return use._replace(subscript=use.subscript.replace(index, moved)) if index in use.subscript.factors else use


def _require_inside(use: SubscriptUse, extents: Mapping[str, int]) -> None:
    """InputError if a subscript leaves its axis."""
    low, high = use.subscript.ends(extents)
    if low >= 1 and high <= use.extent:
        return
    if not use.subscript.factors:
        fix = f"use an index from 1 to {use.extent}"
        raise InputError(f"{use.where} has extent {use.extent}, and here the index {low}", use.span, fix=fix)
    runs = " and ".join(f"{index} from 1 to {extents[index]}" for index in use.subscript.factors)
    reach = f"{use.text} is {low}" if low == high else f"{use.text} runs from {low} to {high}"
    fix = f"say what to take outside of it, coalesce({use.tensor}[~({use.text})], 0)"
    if low >= 1:
        less = next(index for index, by in use.subscript.factors.items() if by > 0)
        fix += f", or give an extent: extents={{'{less}': …}}"
    raise InputError(f"{use.where} has extent {use.extent}, and {reach}, with {runs}", use.span, fix=fix)


def _unbounded_error(left: Sequence[str], update: ir.Assign, output: Sequence[Affine]) -> InputError:
    index = left[0]
    example = f"give it: extents={{'{index}': …}}"
    for axis, each in enumerate(output):
        if index in each.factors and index not in _indices_in(update.value):
            name = update.access.fiber.tensor
            return InputError(
                f"no input has an axis {index}, which {name} has", _span(update.access, axis), fix=example
            )
    together = f"subscripts bound {' and '.join(left)} only together" if len(left) > 1 else f"no axis bounds {index}"
    return InputError(f"the extent of {index} cannot be inferred: {together}", update.span, fix=example)


def _span(access: ir.Access, axis: int) -> Span | None:
    return access.subscripts[axis].span or access.span
