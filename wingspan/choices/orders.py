"""Loop orders of an einsum, by estimated work: how many iterations the loops of a plan make, and what updates cost.

A loop over an index visits what is left of its axis once fibers without elements are passed over, as `looplets` says:
the shortest of the fibers without which nothing is done, else the union of all if nothing is done without them, else
every index. Elements are taken to be at random places, and inputs to be independent of each other. The unit is an
iteration of an inner loop, about a nanosecond.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import inf, log2, prod

from wingspan.choices.operands import HYPERSPARSE, Operand, occupied
from wingspan.choices.reading import filled, indices, update
from wingspan.choices.transposed import Order
from wingspan.elaborate.einsum import Einsum
from wingspan.lang import algebra, ir

WIDTH = 120
"""So many beginnings of orders are pursued, those of the least work: all of up to five indices."""

MEET = 2.0
"""What an element of a fiber costs that is compared with those of another one."""
FEW = 0.5
"""The last level of the result is dense if at least so many of its indices are expected to have an element."""
VECTOR = 0.5
"""An iteration of an innermost loop over every index, where each updates another element: sums are not reordered."""

SHARED = 1.25
"""So many times the work if the outermost loop, which is to be parallel, updates elements of the result repeatedly."""


@dataclass(frozen=True)
class Read:
    """An access with its operand as the loops of an order enter it."""

    operand: Operand
    order: Order
    axes: tuple[str, ...]
    """the index of each level, root first"""

    @cached_property
    def dense(self) -> tuple[bool, ...]:
        """Whether each level has a child for every index."""
        return self.operand.dense(self.order)

    @cached_property
    def counts(self) -> tuple[float, ...]:
        """How many fibers there are at each level, and elements at the end."""
        return self.operand.counts(self.order)

    def entered(self, around: frozenset[str]) -> int:
        """How many levels the loops over these indices have entered."""
        return next((depth for depth, index in enumerate(self.axes) if index not in around), len(self.axes))

    def present(self, around: frozenset[str]) -> float:
        """How likely the fiber is there that the loops over these indices have entered."""
        depth = self.entered(around)
        places = prod(self.operand.shape[axis] for axis in self.order[:depth])
        return self.counts[depth] / places if places else 0.0

    def length(self, around: frozenset[str]) -> float:
        """How many children a fiber has that these loops have entered."""
        depth = self.entered(around)
        return self.counts[depth + 1] / self.counts[depth] if self.counts[depth] else 0.0


@dataclass(frozen=True)
class Axis:
    """An axis of the output, in the loops of an order."""

    index: str
    sparse: bool
    """whether the loop passes over fibers without elements"""
    few: bool
    """whether few of its indices are expected to get elements"""


@dataclass(frozen=True)
class Ordered:
    """An einsum with an order of its loops, and the work that is expected.

    Attributes:
        loops: the indices, outermost first.
        reads: its accesses, in reading order.
        work: of all, in iterations.
        updates: how often the output is updated.
        outputs: the axes of the output, in the order of the loops.
    """

    loops: tuple[str, ...]
    reads: tuple[Read, ...]
    work: float
    updates: float
    outputs: tuple[Axis, ...]


def orders(einsum: Einsum, operands: Mapping[str, Operand]) -> list[Ordered]:
    """The orders of the loops, that of the least work first. None reads an intermediate result in another order."""
    estimate = Estimate(einsum, operands)
    begun: list[tuple[float, tuple[str, ...]]] = [(0.0, ())]
    for _ in einsum.loops:
        longer = [
            (work + estimate.loop(before, index), (*before, index))
            for work, before in begun
            for index in einsum.loops
            if index not in before
        ]
        begun = sorted(longer, key=lambda each: each[0])[:WIDTH]
    found = (estimate.ordered(work, loops) for work, loops in begun)
    return sorted((each for each in found if each.work < inf), key=lambda each: each.work)


class Estimate:
    """What loops cost, for all orders of one einsum."""

    def __init__(self, einsum: Einsum, operands: Mapping[str, Operand]) -> None:
        self.einsum, self.operands = einsum, operands
        self.sparse = tuple(sorted({a.fiber.tensor for a in einsum.accesses if operands[a.fiber.tensor].sparse}))
        self._idle: dict[frozenset[str], bool] = {}

    def idle(self, missing: frozenset[str]) -> bool:
        """Whether nothing is done where these inputs store nothing."""
        if missing not in self._idle:
            output = ir.Access(ir.Fiber(self.einsum.output, 1), ())
            done = update(self.einsum, output, self.einsum.expression)
            left = algebra.simplify(filled(done, self.operands, missing), self._unchanged)
            self._idle[missing] = isinstance(left, ir.Skip)
        return self._idle[missing]

    def _unchanged(self, assign: ir.Assign) -> bool:
        """Whether an element that is set to a literal begins as that."""
        return algebra.is_literal(assign.value, algebra.exact(self.einsum.init.value))

    def reads(self, loops: tuple[str, ...]) -> tuple[Read, ...]:
        """The accesses with their axes in the order of the loops; indices that are not in it come last."""
        place = {index: depth for depth, index in enumerate(loops)}
        found = []
        for access in self.einsum.accesses:
            axes = tuple(indices(access))
            operand = self.operands[access.fiber.tensor]
            natural = operand.native or range(len(axes))[::-1]
            order = tuple(sorted(natural, key=lambda k: place.get(axes[k], len(place))))
            found.append(Read(operand, order, tuple(axes[k] for k in order)))
        return tuple(found)

    def iterations(self, around: tuple[str, ...], reads: tuple[Read, ...]) -> float:
        """How often loops over these indices are inside of each other where something is to be done."""
        inside = frozenset(around)
        there = {name: 1.0 for name in self.sparse}
        for read in reads:
            if read.operand.name in there:
                there[read.operand.name] = min(there[read.operand.name], read.present(inside))
        unsure = [name for name in self.sparse if there[name] < 1]
        busy = 0.0
        for number in range(len(unsure) + 1):
            for missing in combinations(unsure, number):
                if not self.idle(frozenset(missing)):
                    busy += prod(1 - there[name] if name in missing else there[name] for name in unsure)
        return busy * prod(self.einsum.extents[index] for index in around)

    def loop(self, around: tuple[str, ...], index: str) -> float:
        """The work of a loop over an index inside of others, without what is in it."""
        reads = self.reads((*around, index))
        inside = frozenset(around)
        times = self.iterations(around, reads)
        entering = list(self._sparsely(reads, inside, index))
        lengths = [read.length(inside) for read in entering]
        jumpers = [read.length(inside) for read in entering if self.idle(frozenset({read.operand.name}))]
        if jumpers:
            steps = min(jumpers)
            steps *= 1.0 if len(lengths) == 1 else MEET * (1 + log2(max(max(lengths) / max(steps, 1e-9), 1.0)))
        elif entering and self.idle(frozenset(read.operand.name for read in entering)):
            steps = MEET * sum(lengths)
        elif entering and self._gaps_at_once(entering, reads, index):
            steps = 2 * MEET * sum(lengths)
        else:
            across = not entering and len(around) + 1 == len(self.einsum.loops) and index in self.einsum.axes
            steps = self.einsum.extents[index] * (VECTOR if across else 1.0) + MEET * sum(lengths)
        return times * (1 + steps)

    def _gaps_at_once(self, entering: list[Read], reads: tuple[Read, ...], index: str) -> bool:
        """Whether the indices between elements are one update: all differ only in elements that are not stored."""
        reading = sum(index in read.axes for read in reads)
        value = any(isinstance(node, ir.Index) and node.name == index for node in self._values())
        return index not in self.einsum.axes and len(entering) == reading and not value

    def _values(self) -> Iterator[ir.Node]:
        """The nodes of the expression outside of subscripts."""
        stack: list[ir.Node] = [self.einsum.expression]
        while stack:
            yield (top := stack.pop())
            stack += () if isinstance(top, ir.Access) else top.children()

    def _sparsely(self, reads: tuple[Read, ...], inside: frozenset[str], index: str) -> Iterator[Read]:
        """The accesses of which the loop over an index enters a level that need not have all children."""
        for read in reads:
            depth = read.entered(inside)
            if depth < len(read.axes) and read.axes[depth] == index and not read.dense[depth]:
                yield read

    def ordered(self, work: float, loops: tuple[str, ...]) -> Ordered:
        """A complete order, whose loops have been counted, with the work of updates and of inputs in other orders."""
        reads = self.reads(loops)
        updates = self.iterations(loops, reads)
        moved = {(r.operand.name, r.order): r.operand for r in reads if r.order != r.operand.native}
        if self.einsum.axes and loops[0] not in self.einsum.axes:
            work *= SHARED
        work += sum(operand.moving for operand in moved.values())
        return Ordered(loops, reads, work, updates, tuple(self._outputs(loops, reads, updates)))

    def _outputs(self, loops: tuple[str, ...], reads: tuple[Read, ...], updates: float) -> Iterator[Axis]:
        """The axes of the output, in the order of the loops."""
        before, places = 1.0, 1
        for depth, index in enumerate(loops):
            if index in self.einsum.axes:
                entering = self._sparsely(reads, frozenset(loops[:depth]), index)
                sparse = self.idle(frozenset(read.operand.name for read in entering))
                places *= self.einsum.extents[index]
                made = occupied(places, updates) if updates < self._all(loops) else places
                last = not any(inner in self.einsum.axes for inner in loops[depth + 1 :])
                enough = FEW if last else 1 / HYPERSPARSE
                yield Axis(index, sparse, made < enough * before * self.einsum.extents[index])
                before = made

    def _all(self, loops: tuple[str, ...]) -> float:
        """The iterations if nothing is passed over."""
        return prod(self.einsum.extents[index] for index in loops)
