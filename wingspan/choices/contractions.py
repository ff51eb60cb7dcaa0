"""Products that are taken apart: which factors are joined and reduced before the others, by estimated work.

Where ⊗ distributes over ⊕, factors that do not have an index need not be inside of the reduction over it, as in
Σₖ Σⱼ aᵢₖ · bₖⱼ · xⱼ = Σₖ aᵢₖ · (Σⱼ bₖⱼ · xⱼ). So some of the factors can be an einsum of their own, whose result, over
the indices that others have, is a factor in their place. All ways to divide the factors are estimated, except those
with intermediate results that reduce no index, or whose factors have no index in common.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import chain, combinations, product
from math import inf, isfinite, prod

from wingspan.choices.nests import Nest, Writer, nests
from wingspan.choices.operands import Input, Intermediate, Operand
from wingspan.choices.reading import indices, neutral, width_of
from wingspan.choices.transposed import Order
from wingspan.elaborate.einsum import Einsum
from wingspan.elaborate.kinds import COMPARISONS, FLOAT, LOGIC, kinds_of
from wingspan.lang import algebra, ir
from wingspan.lang.widths import Width

FACTORS = 6
"""Products of more factors are not taken apart."""

LARGEST = 2**27
"""Intermediate results are expected to have at most so many elements, of 8 bytes and more."""

WHOLE = 2.0**62
"""Integers of half the greatest magnitude that fits, which leaves room for how doubles count them."""

TINY = sys.float_info.min / sys.float_info.epsilon**2
"""Products of factors that are no smaller are no denormal doubles, not even if sums of them have almost cancelled."""


@dataclass(frozen=True)
class Steps:
    """One way to compute an einsum: nests, of which the last one computes it. Others compute what later ones read."""

    nests: tuple[Nest, ...]

    @property
    def work(self) -> float:
        """Of all, in iterations."""
        return sum(nest.work for nest in self.nests)

    def program(self) -> tuple[str, dict[str, tuple[Input, Order]]]:
        """The text of the program, and its inputs: for each name, the operand and the order of its axes."""
        writer = Writer(self.nests)
        return writer.text(), writer.inputs

    def __str__(self) -> str:
        """The choice, on one line."""
        return "; then ".join(map(str, self.nests))


def ways(einsum: Einsum, operands: Mapping[str, Operand], form: str | None = None, apart: bool = True) -> list[Steps]:
    """The ways to compute an einsum, that of the least work first: every one by a single nest, and if its product may
    be taken `apart`, the best by several nests for each division of its factors.

    Raises:
        InputError: the format does not fit.
        ProgramError: the format is none.
    """
    found = [Steps((nest,)) for nest in nests(einsum, operands, form)]
    if apart and (taken := factors(einsum)):
        found += _Search(einsum, operands, taken).ways(form)
    return sorted(found, key=lambda each: each.work)


# ------------------------------------------------------------------------------------------------------------- factors


def factors(einsum: Einsum) -> tuple[ir.Expression, ...]:
    """The factors of a product over which the reduction is distributed; none if it is not, or nothing is won by that.

    What has no axis, such as a number, is part of a factor. Every index of a factor is one of its axes.
    """
    e = einsum.expression
    over = algebra.DISTRIBUTES.get(e.op, ()) if isinstance(e, ir.Call) else ()
    if algebra.merging(einsum.op) not in over or 0 in einsum.extents.values():
        return ()
    assert isinstance(e, ir.Call)
    found: list[ir.Expression] = []
    others: list[ir.Expression] = []
    for factor in _flat(e, e.op):
        (found if any(ir.accesses(factor)) else others).append(factor)
    for other in others:
        fitting = [k for k, factor in enumerate(found) if _indices(other) <= _indices(factor)]
        if not fitting:
            return ()
        found[fitting[0]] = ir.Call(e.op, (found[fitting[0]], other))
    whole = all(_indices(factor) == _axes(factor) for factor in found)
    return tuple(found) if whole and len(found) <= FACTORS else ()


def _flat(e: ir.Expression, op: ir.Operator) -> Iterator[ir.Expression]:
    """The operands of nested calls of an operator."""
    if isinstance(e, ir.Call) and e.op == op:
        for each in e.args:
            yield from _flat(each, op)
    else:
        yield e


def _indices(e: ir.Expression) -> frozenset[str]:
    return frozenset(node.name for node in e.walk() if isinstance(node, ir.Index))


def _axes(e: ir.Expression) -> frozenset[str]:
    return frozenset(index for access, _ in ir.accesses(e) for index in indices(access))


def bounded(einsum: Einsum, operands: Mapping[str, Input]) -> bool:
    """Whether its factors may be joined and reduced in any order: nothing is a fault, Inf, NaN or too small."""
    taken = factors(einsum)
    largest = [_largest(factor, operands, einsum.extents) for factor in taken]
    whole = [n for n, factor in zip(largest, taken, strict=True) if kinds_of(factor, operands) != FLOAT]
    assert isinstance(einsum.expression, ir.Call)
    op = einsum.expression.op
    added = algebra.merging(einsum.op) == "+"
    times = prod(float(n) for index, n in einsum.extents.items() if added and index not in einsum.axes)
    if op == "*" and prod(min(_least(factor, operands), 1.0) for factor in taken) < TINY:
        return False
    return _joined(op, largest) * times < sys.float_info.max and _joined(op, whole) * times < WHOLE


def _least(e: ir.Expression, operands: Mapping[str, Input]) -> float:
    """No value of a factor other than zeros is of a smaller magnitude; 0 if that is not known."""
    match e:
        case ir.Access(fiber=ir.Fiber(tensor=name)):
            return operands[name].least
        case ir.Literal(value=value):
            return abs(float(value)) or inf
    if kinds_of(e, operands) != FLOAT:
        return 1.0
    parts = [_least(part, operands) for part in e.children() if isinstance(part, ir.Expression)]
    match e:
        case ir.Call(op="+" | "-"):
            return min(parts) * sys.float_info.epsilon / 2
        case ir.Call(op="*"):
            return prod(min(n, 1.0) for n in parts)
        case ir.Call(op="min" | "max" | "abs") | ir.Choice():
            return min(parts)
    return 0.0


def _largest(e: ir.Expression, operands: Mapping[str, Input], extents: Mapping[str, int]) -> float:
    """No value of an expression is of a greater magnitude; infinite if that is not known, or it may be a fault."""
    match e:
        case ir.Access(fiber=ir.Fiber(tensor=name)):
            return operands[name].largest
        case ir.Literal(value=value):
            return abs(float(value)) if value == value else inf
        case ir.Index(name=name):
            return float(extents[name])
    parts = [_largest(part, operands, extents) for part in e.children() if isinstance(part, ir.Expression)]
    if not all(map(isfinite, parts)):
        return inf
    match e:
        case ir.Call(op=op) if op in COMPARISONS or op in LOGIC:
            return 1.0
        case ir.Call(op="+" | "-" | "*" | "min" | "max" | "abs" as op):
            return _joined("+" if op == "-" else op, parts)
        case ir.Choice():
            return max(parts)
    return inf


def _joined(op: ir.Operator, largest: Sequence[float]) -> float:
    """The greatest magnitude of values of these magnitudes, or some of them, that are joined by an operator."""
    if op == "*":
        return prod(max(n, 1.0) for n in largest)
    return sum(largest) if op == "+" else max(largest, default=0.0)


# -------------------------------------------------------------------------------------------------------------- search


@dataclass(frozen=True)
class _Part:
    """A factor of a nest: as it was written, or an intermediate result."""

    expression: ir.Expression
    operand: Intermediate | None = None
    nests: tuple[Nest, ...] = ()
    """by which it is computed before"""


class _Search:
    def __init__(self, einsum: Einsum, operands: Mapping[str, Operand], taken: Sequence[ir.Expression]) -> None:
        assert isinstance(einsum.expression, ir.Call)
        self.einsum, self.operands, self.op, self.factors = einsum, operands, einsum.expression.op, taken
        self.axes = [_axes(factor) for factor in taken]
        self.parts = cache(self._parts)

    def ways(self, form: str | None) -> Iterator[Steps]:
        """The best for each division of the factors, and each order of the axes of intermediate results."""
        numbers = tuple(range(len(self.factors)))
        for chosen in self.divided(numbers, len(numbers)):
            if any(part.nests for part in chosen):
                made = nests(self.product(self.einsum, chosen), self.known(chosen), form)
                yield from (_steps(chosen, nest) for nest in made[:1])

    def divided(self, some: tuple[int, ...], below: int) -> Iterator[tuple[_Part, ...]]:
        """The ways to divide factors, by their numbers, into parts of fewer than so many."""
        if not some:
            yield ()
            return
        first, *others = some
        for more in chain.from_iterable(combinations(others, n) for n in range(min(len(some), below - 1))):
            rest = tuple(k for k in others if k not in more)
            for part, parts in product(self.parts((first, *more)), self.divided(rest, below)):
                yield part, *parts

    def _parts(self, some: tuple[int, ...]) -> list[_Part]:
        """What factors can be: one of them as it is; and the intermediate result, in each order of its axes."""
        alone = [_Part(self.factors[some[0]])] if len(some) == 1 else []
        inside = frozenset[str]().union(*(self.axes[k] for k in some))
        outside = frozenset(self.einsum.axes).union(*(axes for k, axes in enumerate(self.axes) if k not in some))
        if inside <= outside or not self.connected(some):
            return [*alone]
        name, axes = f"t{some}", tuple(index for index in self.einsum.loops if index in inside & outside)
        op = algebra.merging(self.einsum.op)
        best: dict[tuple[str, ...], tuple[Steps, _Part]] = {}
        for chosen in [tuple(alone)] if alone else self.divided(some, len(some)):
            known = self.known(chosen)
            einsum = self.product(replace(self.einsum, output=name, axes=axes, op=op), chosen)
            einsum = replace(einsum, init=ir.Literal(neutral(op, einsum.expression, known)))
            for nest in nests(einsum, known, zeros=True):
                steps = _steps(chosen, nest)
                if nest.elements <= LARGEST and (nest.axes not in best or steps.work < best[nest.axes][0].work):
                    best[nest.axes] = steps, _intermediate(steps, width_of(einsum, known))
        return [*alone, *(part for _, part in best.values())]

    def connected(self, some: tuple[int, ...]) -> bool:
        """Whether factors have indices in common, each with another one, and so all of them."""
        reached, rest = self.axes[some[0]], set(some[1:])
        while near := [k for k in rest if self.axes[k] & reached]:
            reached = reached.union(*(self.axes[k] for k in near))
            rest.difference_update(near)
        return not rest

    def product(self, einsum: Einsum, chosen: Sequence[_Part]) -> Einsum:
        """The einsum of parts in place of its factors."""
        expression = reduce(lambda x, y: ir.Call(self.op, (x, y)), (part.expression for part in chosen))
        there = _indices(expression)
        extents = {index: n for index, n in self.einsum.extents.items() if index in there}
        return replace(einsum, expression=expression, loops=tuple(extents), extents=extents)

    def known(self, chosen: Sequence[_Part]) -> Mapping[str, Operand]:
        """The operands, and those of parts."""
        return {**self.operands, **{part.operand.name: part.operand for part in chosen if part.operand}}


def _steps(chosen: Sequence[_Part], last: Nest) -> Steps:
    return Steps((*chain.from_iterable(part.nests for part in chosen), last))


def _intermediate(steps: Steps, width: Width) -> _Part:
    """The result of the last nest as a factor."""
    nest = steps.nests[-1]
    einsum = nest.einsum
    shape = tuple(einsum.extents[index] for index in einsum.axes)
    levels = {einsum.axes.index(index): dense for index, dense in zip(nest.axes, nest.dense, strict=True)}
    operand = Intermediate(einsum.output, shape, einsum.init.value, nest.elements, width, levels)
    access = ir.Access(ir.Fiber(einsum.output, len(shape) + 1), tuple(map(ir.Index, einsum.axes)))
    return _Part(access, operand, steps.nests)
