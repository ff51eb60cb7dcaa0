"""Affine subscripts, such as `2 * i + k - 1`: a number, and multiples of indices, or also of symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.lang import ir


@dataclass(frozen=True)
class Affine:
    """A number plus multiples of indices, none of them by 0, in the order in which they are written."""

    factors: Mapping[str, int]
    constant: int = 0

    def expression(self) -> ir.Expression:
        """The subscript in its shortest form: `i + 1`, `9 - 2 * i`."""
        terms = sorted(self.factors.items(), key=lambda term: term[1] < 0)
        first = [_multiple(index, by) for index, by in terms if by > 0]
        first += [ir.Literal(self.constant)] * (self.constant > 0 or not first)
        positive = reduce(lambda e, term: ir.Call("+", (e, term)), first)
        less = [_multiple(index, -by) for index, by in terms if by < 0]
        less += [ir.Literal(-self.constant)] * (self.constant < 0 and any(by > 0 for by in self.factors.values()))
        return reduce(lambda e, term: ir.Call("-", (e, term)), less, positive)

    def ends(self, extents: Mapping[str, int]) -> tuple[int, int]:
        """The least and the greatest value, if each index runs from 1 to its extent, which is not 0."""
        low = high = self.constant
        for index, by in self.factors.items():
            one, other = by, by * extents[index]
            low, high = low + min(one, other), high + max(one, other)
        return low, high

    def replace(self, index: str, other: Affine) -> Affine:
        """The subscript with another one in place of an index."""
        by = self.factors[index]
        rest = Affine({name: n for name, n in self.factors.items() if name != index}, self.constant)
        return _sum(Affine({name: n * by for name, n in other.factors.items()}, other.constant * by), rest)


def affine(e: ir.Expression, symbols: bool = False) -> Affine | None:
    """A subscript as a number and multiples of indices; None if it is anything else.

    With `symbols`, variables count as indices do, and numbers may be divided.
    """
    match e:
        case ir.Literal(value=int(value)) if e.kind == "int":
            return Affine({}, int(value))
        case ir.Index(name=name):
            return Affine({name: 1})
        case ir.Variable(name=name) if symbols:
            return Affine({name: 1})
        case ir.Call(op=str() as op, args=args) if op in ("+", "-", "*") or (symbols and op in ("÷", "%")):
            parts = [affine(each, symbols) for each in args]
            known = [part for part in parts if part is not None]
            return _combine(op, known) if len(known) == len(parts) else None
    return None


def substitute(e: Any, index: str, other: Affine) -> Any:
    """An expression or update with an affine expression in place of an index; subscripts are in their shortest form."""

    def change(node: Any) -> Any:
        match node:
            case ir.Index(name=name) if name == index:
                return other.expression()
            case ir.Access():
                return replace(node, subscripts=tuple(map(_shortest, node.subscripts)))
        return node

    return e.map(change)


def _shortest(subscript: ir.Expression) -> ir.Expression:
    if isinstance(subscript, ir.Permissive):
        return replace(subscript, subscript=_shortest(subscript.subscript))
    found = affine(subscript)
    return subscript if found is None else replace(found.expression(), span=subscript.span)


def _combine(op: str, parts: list[Affine]) -> Affine | None:
    """The result of an operation on subscripts; None if it is a product with two indices, or no quotient of numbers."""
    if op == "+":
        return reduce(_sum, parts)
    if op == "-":
        *first, last = parts
        return reduce(_sum, [*first, _times(last, -1)])
    if op != "*":
        x, y = parts
        if x.factors or y.factors or y.constant == 0:
            return None
        return Affine({}, x.constant // y.constant if op == "÷" else x.constant % y.constant)
    numbers = [part.constant for part in parts if not part.factors]
    rest = [part for part in parts if part.factors]
    if len(rest) > 1:
        return None
    return reduce(_times, numbers, rest[0] if rest else Affine({}, 1))


def _sum(a: Affine, b: Affine) -> Affine:
    factors = {name: a.factors.get(name, 0) + b.factors.get(name, 0) for name in (*a.factors, *b.factors)}
    return Affine({name: by for name, by in factors.items() if by}, a.constant + b.constant)


def _times(a: Affine, by: int) -> Affine:
    return Affine({name: n * by for name, n in a.factors.items()} if by else {}, a.constant * by)


def _multiple(index: str, by: int) -> ir.Expression:
    return ir.Index(index) if by == 1 else ir.Call("*", (ir.Literal(by), ir.Index(index)))


def is_injective(subscripts: Iterable[Affine], extents: Mapping[str, int]) -> bool:
    """Whether subscripts together show every index in them, so that no two iterations have the same ones.

    A subscript shows its indices if they count in it as digits do, each more than all smaller ones together. Indices
    that others show do not matter. Where that is not plain to see, the answer is no.
    """
    left = [dict(each.factors) for each in subscripts]
    every = {index for factors in left for index in factors}
    seen: set[str] = set()
    while True:
        shown = {index for factors in left for index in _digits(factors, seen, extents)}
        if shown <= seen:
            return seen == every
        seen |= shown


def _digits(factors: Mapping[str, int], seen: set[str], extents: Mapping[str, int]) -> list[str]:
    """The indices that a subscript shows, given those that are known already; none if they are no digits."""
    below, found = 0, []
    for index, by in sorted(factors.items(), key=lambda term: abs(term[1])):
        if index not in seen and extents[index] > 1:
            if abs(by) <= below:
                return []
            below += abs(by) * (extents[index] - 1)
        found.append(index)
    return found
