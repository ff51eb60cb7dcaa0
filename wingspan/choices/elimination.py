"""In which order the indices of a product that is reduced are eliminated, by a rough estimate.

To eliminate an index, the factors that have it are multiplied, and the product is reduced over it: that is another
factor, over the other indices (bucket elimination: Dechter 1999). Its work is taken to be the product of the extents of
the indices, as far as the sparse factors all store something. Up to `DYNAMIC` indices the order of the least work is
found by dynamic programming over the sets of indices that were eliminated (Held and Karp 1962; Bodlaender et al. 2012,
On exact algorithms for treewidth). Of more, the index that is the least work is next, as in opt_einsum's greedy search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from wingspan.base.budget import Budget
from wingspan.choices.decision_diagram import IdleDiagram
from wingspan.choices.operands import Operand, expected_occupied
from wingspan.elaborate.einsum import Einsum
from wingspan.lang import ir

DYNAMIC = 10
"""Of more indices than these the order is chosen greedily."""


class Factor(NamedTuple):
    """The indices of a factor, and the share of its elements without which nothing is done."""

    indices: frozenset[str]
    share: float


class Elimination(NamedTuple):
    """Indices in the order in which they were eliminated, the work that this takes, and the factors that are left."""

    work: float
    order: tuple[str, ...]
    left: tuple[Factor, ...]


def elimination(
    einsum: Einsum, operands: Mapping[str, Operand], factors: Sequence[ir.Expression], budget: Budget
) -> tuple[str, ...]:
    """The reduced indices of a product in the order in which they are eliminated."""
    reduced = [index for index in einsum.loops if index not in einsum.axes]
    diagram = IdleDiagram(einsum, operands, budget)
    begun = Elimination(0.0, (), tuple(_factor(factor, operands, diagram) for factor in factors))
    if len(reduced) <= DYNAMIC and budget.spend(len(reduced) * 2 ** len(reduced) // 2):
        return _best(begun, reduced, einsum.extents).order
    budget.charge(len(reduced) ** 2)
    for _ in reduced:
        longer = (_eliminate(begun, index, einsum.extents) for index in reduced if index not in begun.order)
        begun = min(longer, key=lambda each: each.work)
    return begun.order


def _best(begun: Elimination, reduced: Sequence[str], extents: Mapping[str, int]) -> Elimination:
    """The order of the least work, by the best one of each set of indices."""
    best = {frozenset[str](): begun}
    for _ in reduced:
        longer: dict[frozenset[str], Elimination] = {}
        for done, known in best.items():
            for index in reduced:
                if index not in done:
                    made = _eliminate(known, index, extents)
                    if (key := done | {index}) not in longer or made.work < longer[key].work:
                        longer[key] = made
        best = longer
    (found,) = best.values()
    return found


def _eliminate(known: Elimination, index: str, extents: Mapping[str, int]) -> Elimination:
    """The factors after one more index was eliminated."""
    bucket = [factor for factor in known.left if index in factor.indices]
    inside = frozenset[str]().union(*(factor.indices for factor in bucket))
    work = prod(extents[each] for each in inside) * prod(factor.share for factor in bucket)
    places = prod(extents[each] for each in inside if each != index)
    share = expected_occupied(places, work) / places if places and any(factor.share < 1 for factor in bucket) else 1.0
    left = (*(factor for factor in known.left if index not in factor.indices), Factor(inside - {index}, share))
    return Elimination(known.work + work, (*known.order, index), left)


def _factor(e: ir.Expression, operands: Mapping[str, Operand], diagram: IdleDiagram) -> Factor:
    """A factor as it was written."""
    names = {access.fiber.tensor for access, _ in ir.accesses(e)}
    needed = [operands[name] for name in names if diagram.idle(frozenset([name]))]
    shares = [min(operand.stored / max(prod(operand.shape), 1), 1.0) for operand in needed]
    indices = frozenset(node.name for node in e.walk() if isinstance(node, ir.Index))
    return Factor(indices, prod(sorted(shares)))
