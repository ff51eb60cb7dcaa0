"""Products that are taken apart: which factors are joined and reduced before the others, by estimated work.

Where ⊗ distributes over ⊕, factors that do not have an index need not be inside of the reduction over it, as in
Σₖ Σⱼ aᵢₖ · bₖⱼ · xⱼ = Σₖ aᵢₖ · (Σⱼ bₖⱼ · xⱼ). So some of the factors can be an einsum of their own, whose result, over
the indices that others have, is a factor in their place. Intermediate results that reduce no index, or whose factors
have no index in common, are left out.

First the indices are eliminated one after the other, in an order that `elimination` chooses: the factors that have an
index become an intermediate result, or stay factors of what is computed next. Of up to `FACTORS` factors all ways to
divide them are estimated then, as far as they may be less work than the best way so far, and the budget lasts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from itertools import chain, combinations, product
from math import inf, isfinite, prod

from wingspan.base.budget import Budget
from wingspan.base.dataclass import dataclass
from wingspan.choices.elimination import elimination
from wingspan.choices.nests import Nest, NestWriter, nests
from wingspan.choices.operands import Input, Intermediate, Operand, OperandLayout
from wingspan.choices.reading import indices, neutral, width_of
from wingspan.choices.transposed import Order
from wingspan.elaborate.einsum import Einsum
from wingspan.elaborate.kinds import FLOAT, kinds_of
from wingspan.lang import algebra, ir
from wingspan.lang.operators import OPERATORS
from wingspan.lang.widths import Width

FACTORS = 6
"""Products of more factors are not divided in all ways."""

LARGEST = 2**27
"""Intermediate results are expected to have at most so many elements, of 8 bytes and more."""

WHOLE = 2.0**62
"""Integers of half the greatest magnitude that fits, which leaves room for how doubles count them."""

TINY = sys.float_info.min / sys.float_info.epsilon**2
"""Products of factors that are no smaller are no denormal doubles, not even if sums of them have almost cancelled."""


@dataclass(frozen=True)
class StepBudget:
    """One way to compute an einsum: nests, of which the last one computes it. Others compute what later ones read."""

    nests: tuple[Nest, ...]

    @property
    def work(self) -> float:
        """Of all, in iterations."""
        return sum(nest.work for nest in self.nests)

    def program(self) -> tuple[str, dict[str, tuple[Input, Order]]]:
        """The text of the program, and its inputs: for each name, the operand and the order of its axes."""
        writer = NestWriter(self.nests)
        return writer.text(), writer.inputs

    def __str__(self) -> str:
        """The choice, on one line."""
        return "; then ".join(map(str, self.nests))


def enumerate_contractions(
    einsum: Einsum,
    operands: Mapping[str, Operand],
    form: str | None = None,
    apart: bool = True,
    budget: Budget | None = None,
) -> list[StepBudget]:
    """The ways to compute an einsum, that of the least work first: every one by a single nest, and if its product may
    be taken `apart`, the best by several nests for each division of its factors that may be less work than others.

    Raises:
        InputError: the format does not fit.
        ProgramError: the format is none.
    """
    budget = budget or Budget()
    found = [StepBudget((nest,)) for nest in nests(einsum, operands, form, budget=budget)]
    if apart and (taken := factors(einsum)):
        found += _ContractionSearch(einsum, operands, taken, form, budget, found[0].work).best_divisions()
    return sorted(found, key=lambda each: each.work)


# ------------------------------------------------------------------------------------------------------------- factors


def factors(einsum: Einsum) -> tuple[ir.Expression, ...]:
    """The factors of a product over which the reduction is distributed; none if it is not, or nothing is won by that.

    What has no axis, such as a number, is part of a factor. Every index of a factor is one of its axes.
    """
    e = einsum.expression
    if not isinstance(e, ir.Call) or 0 in einsum.extents.values():
        return ()
    if not algebra.distributes(e.op, over=algebra.merging(einsum.op)):
        return ()
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
    return tuple(found) if whole else ()


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
    return frozenset(index for access, _ in ir.accesses(e) for inside in indices(access) for index in inside)


def is_reassociable(einsum: Einsum, operands: Mapping[str, Input]) -> bool:
    """Whether its factors may be joined and reduced in any order: nothing is a fault, Inf, NaN or too small."""
    taken = factors(einsum)
    largest = [_largest(factor, operands, einsum.extents) for factor in taken]
    whole = [n for n, factor in zip(largest, taken, strict=True) if kinds_of(factor, operands) != FLOAT]
    assert isinstance(einsum.expression, ir.Call)
    op = einsum.expression.op
    added = algebra.merging(einsum.op) == "+"
    times = prod(float(n) for index, n in einsum.extents.items() if added and index not in einsum.axes)
    if op == "*" and prod(min(_least_magnitude(factor, operands), 1.0) for factor in taken) < TINY:
        return False
    fits = not whole or _combined_magnitude(op, whole) * times < WHOLE
    return fits and _combined_magnitude(op, largest) * times < sys.float_info.max


def _least_magnitude(e: ir.Expression, operands: Mapping[str, Input]) -> float:
    """No value of a factor other than zeros is of a smaller magnitude; 0 if that is not known."""
    match e:
        case ir.Access(fiber=ir.Fiber(tensor=name)):
            return operands[name].least_magnitude
        case ir.Literal(value=value):
            return abs(float(value)) or inf
    if kinds_of(e, operands) != FLOAT:
        return 1.0
    parts = [_least_magnitude(part, operands) for part in e.children() if isinstance(part, ir.Expression)]
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
        case ir.Call(op=str(op)) if OPERATORS[op].gives == "bool":
            return 1.0
        case ir.Call(op="+" | "-" | "*" | "min" | "max" | "abs" as op):
            return _combined_magnitude("+" if op == "-" else op, parts)
        case ir.Choice():
            return max(parts)
    return inf


def _combined_magnitude(op: ir.Operator, largest: Sequence[float]) -> float:
    """The greatest magnitude of values of these magnitudes, or some of them, that are joined by an operator."""
    if op == "*":
        return prod(max(n, 1.0) for n in largest)
    return sum(largest) if op == "+" else max(largest, default=0.0)


# -------------------------------------------------------------------------------------------------------------- search


@dataclass(frozen=True, eq=False)
class _Part:
    """A factor of a nest: as it was written, or an intermediate result."""

    factors: frozenset[int]
    """of the product, by their numbers"""
    expression: ir.Expression
    operand: Intermediate | None = None
    parts: tuple[_Part, ...] = ()
    """of the intermediate result"""

    @property
    def axes(self) -> frozenset[str]:
        return _axes(self.expression)


class _ContractionSearch:
    """The ways to take a product apart. None is of more work than the best one when it was found."""

    def __init__(
        self,
        einsum: Einsum,
        operands: Mapping[str, Operand],
        taken: Sequence[ir.Expression],
        form: str | None,
        budget: Budget,
        best: float,
    ) -> None:
        assert isinstance(einsum.expression, ir.Call)
        self.einsum, self.operands, self.op, self.form = einsum, operands, einsum.expression.op, form
        self.budget, self.best = budget, best
        self.written = [_Part(frozenset([k]), factor) for k, factor in enumerate(taken)]
        self.parts = cache(self._candidate_parts)
        self.steps: dict[str, dict[Order, StepBudget]] = {}
        """for each intermediate result how it is computed, by the order of its axes"""

    def best_divisions(self) -> list[StepBudget]:
        """The best for each division of the factors."""
        eliminated = [*self.best_steps(self.fusions(self.eliminate()))]
        divided: list[StepBudget] = []
        if len(self.written) <= FACTORS:
            divided += self.best_steps(self.divisions(tuple(self.written), len(self.written)))
        return [*divided, *eliminated]

    def best_steps(self, divisions: Iterable[tuple[_Part, ...]]) -> Iterator[StepBudget]:
        """The best way to compute the product of parts, for each of several divisions."""
        for chosen in divisions:
            if any(part.parts for part in chosen):
                made = self.nests(self.einsum, chosen, self.form)
                for nest in made[:1]:
                    self.best = min(self.best, nest.total)
                    yield self.steps_of(nest)

    # Two ways to divide

    def eliminate(self) -> tuple[_Part, ...]:
        """The rest after eliminating each reduced index, if that can be done."""
        left = self.written
        for index in elimination(self.einsum, self.operands, [part.expression for part in left], self.budget):
            bucket = [part for part in left if index in part.axes]
            made = self.intermediate(self.fusions(tuple(bucket))) if 0 < len(bucket) < len(left) else None
            if made is not None:
                left = sorted(
                    [*(part for part in left if part not in bucket), made], key=lambda part: min(part.factors)
                )
        return tuple(left)

    def fusions(self, chosen: tuple[_Part, ...]) -> Iterator[tuple[_Part, ...]]:
        """Parts; and with the parts of each intermediate result in its place, as long as the budget lasts."""
        yield chosen
        for part in chosen:
            if part.parts and self.budget.spend(len(chosen)):
                inside = [other for other in chosen if other is not part]
                yield tuple(sorted([*inside, *part.parts], key=lambda part: min(part.factors)))

    def divisions(self, factors: tuple[_Part, ...], below: int) -> Iterator[tuple[_Part, ...]]:
        """The ways to divide factors into parts of fewer than so many, as long as the budget lasts."""
        if not factors:
            yield ()
            return
        first, *others = factors
        for more in chain.from_iterable(combinations(others, n) for n in range(min(len(factors), below - 1))):
            rest = tuple(other for other in others if other not in more)
            for part, parts in product(self.parts((first, *more)), self.divisions(rest, below)):
                if not self.budget.spend(len(factors)):
                    return
                yield part, *parts

    def _candidate_parts(self, factors: tuple[_Part, ...]) -> list[_Part]:
        """The candidates for each factor: itself, and the intermediate result."""
        intermediate = self.intermediate([factors] if len(factors) == 1 else self.divisions(factors, len(factors)))
        return [*(factors if len(factors) == 1 else ()), *([intermediate] if intermediate else ())]

    # Nests

    def intermediate(self, divisions: Iterable[tuple[_Part, ...]]) -> _Part | None:
        """The intermediate result of factors that are divided in one of several ways; None if it is of no use."""
        divisions = iter(divisions)
        first = next(divisions, ())
        some = frozenset[int]().union(*(part.factors for part in first))
        inside = frozenset[str]().union(*(self.written[k].axes for k in some))
        others = (part.axes for k, part in enumerate(self.written) if k not in some)
        outside = frozenset(self.einsum.axes).union(*others)
        if inside <= outside or not self.is_connected(some):
            return None
        name = f"t({len(self.steps)})"  # no input has such a name
        axes = tuple(index for index in self.einsum.loops if index in inside & outside)
        einsum = replace(self.einsum, output=name, axes=axes, op=algebra.merging(self.einsum.op), scattered=None)
        best: dict[Order, Nest] = {}
        for chosen in chain([first], divisions):
            for nest in self.nests(einsum, chosen, zeros=True):
                if nest.elements <= LARGEST and (nest.order not in best or nest.total < best[nest.order].total):
                    best[nest.order] = nest
        if not best:
            return None
        self.steps[name] = {order: self.steps_of(nest) for order, nest in best.items()}
        nest = next(iter(best.values()))
        shape = tuple(self.einsum.extents[index] for index in axes)
        layouts = {order: OperandLayout(nest.dense, nest.elements, nest.total) for order, nest in best.items()}
        operand = Intermediate(name, shape, nest.einsum.init.value, self.width(nest.einsum, first), layouts)
        access = ir.Access(ir.Fiber(name, len(shape) + 1), tuple(map(ir.Index, axes)))
        return _Part(some, access, operand, first)

    def is_connected(self, factors: frozenset[int]) -> bool:
        """Whether factors have indices in common, each with another one, and so all of them."""
        first, *others = factors
        reached, rest = self.written[first].axes, set(others)
        while near := [k for k in rest if self.written[k].axes & reached]:
            reached = reached.union(*(self.written[k].axes for k in near))
            rest.difference_update(near)
        return not rest

    def nests(
        self, einsum: Einsum, chosen: Sequence[_Part], form: str | None = None, *, zeros: bool = False
    ) -> list[Nest]:
        """The nests that compute the einsum of parts in place of its factors."""
        expression = reduce(lambda x, y: ir.Call(self.op, (x, y)), (part.expression for part in chosen))
        there = {*_indices(expression), *einsum.axes}
        extents = {index: n for index, n in self.einsum.extents.items() if index in there}
        einsum = replace(einsum, expression=expression, loops=tuple(extents), extents=extents)
        known = self.operands_with_parts(chosen)
        if zeros:
            einsum = replace(einsum, init=ir.Literal(neutral(einsum.op, expression, known)))
        return nests(einsum, known, form, zeros=zeros, budget=self.budget, below=self.best)

    def operands_with_parts(self, chosen: Sequence[_Part]) -> Mapping[str, Operand]:
        """The operands, and those of parts."""
        return {**self.operands, **{part.operand.name: part.operand for part in chosen if part.operand}}

    def width(self, einsum: Einsum, chosen: Sequence[_Part]) -> Width:
        return width_of(einsum, self.operands_with_parts(chosen))

    def steps_of(self, last: Nest) -> StepBudget:
        """A nest after those that compute what it reads."""
        read = {read.operand.name: read.order for read in last.ordered.reads if read.operand.name in self.steps}
        return StepBudget((*chain.from_iterable(self.steps[name][order].nests for name, order in read.items()), last))
