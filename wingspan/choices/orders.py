"""Loop orders of an einsum, by estimated work: how many iterations the loops of a plan make, and what updates cost.

A loop over an index visits what is left of its axis once fibers without elements are passed over, as `looplets` says:
the shortest of the fibers without which nothing is done, else the union of all if nothing is done without them, else
every index. Elements are taken to be at random places, and inputs to be independent of each other. The unit is an
iteration of an inner loop, about a nanosecond.

Orders are extended by one loop after the other, and only the best beginnings are pursued (a beam search).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf, log2, prod
from typing import NamedTuple

from wingspan.base.budget import Budget
from wingspan.base.dataclass import dataclass
from wingspan.choices.decision_diagram import IdleDiagram
from wingspan.choices.operands import HYPERSPARSE, Operand, expected_occupied
from wingspan.choices.reading import indices
from wingspan.choices.transposed import Order
from wingspan.elaborate.einsum import Einsum
from wingspan.lang import ir
from wingspan.lang.affine import affine

WIDTH = 120
"""So many beginnings of orders are pursued, those of the least work: all of up to five indices."""

MOST = 10_000
"""The steps that the orders of one nest take at most: of more than ten indices fewer beginnings are pursued."""

SHARE = 4
"""The search for orders may take 1/`SHARE` of the remaining budget."""

QUICK = 4
"""So many accesses are looked up in one step."""

MEET = 2.0
"""The cost of an element of a fiber that is merged with other fibers."""
FEW = 0.5
"""The last level of the result is dense if at least so many of its indices are expected to have an element."""
VECTOR = 0.5
"""An iteration of an innermost loop over every index, where each updates another element: sums are not reordered."""

SHARED = 1.25
"""So many times the work if the outermost loop, which is to be parallel, updates elements of the result repeatedly."""


@dataclass(frozen=True)
class OrderedRead:
    """An access with its operand as the loops of an order enter it."""

    operand: Operand
    order: Order
    axes: tuple[frozenset[str], ...]
    """the indices in the subscript of each level, root first"""
    subscripts: tuple[ir.Expression, ...]
    """these subscripts"""

    @cached_property
    def dense(self) -> tuple[bool, ...]:
        """Whether each level has a child for every index."""
        return self.operand.dense(self.order)

    @cached_property
    def expected_fibers(self) -> tuple[float, ...]:
        """The expected number of fibers at each level, and of elements at the end."""
        return self.operand.expected_fibers(self.order)

    def entered_levels(self, around: frozenset[str]) -> int:
        """The number of levels that the loops over these indices have entered."""
        for depth, indices_in in enumerate(self.axes):
            if not indices_in <= around:
                return depth
        return len(self.axes)

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The probability that a fiber of each level is there, and an element at the end."""
        places = [
            prod(self.operand.shape[axis] for axis in self.order[:depth]) for depth in range(len(self.expected_fibers))
        ]
        return tuple(count / n if n else 0.0 for count, n in zip(self.expected_fibers, places, strict=True))

    def present(self, around: frozenset[str]) -> float:
        """The probability that the fiber is there that the loops over these indices have entered."""
        return self.shares[self.entered_levels(around)]

    def length(self, around: frozenset[str]) -> float:
        """The number of children of a fiber that these loops have entered."""
        depth = self.entered_levels(around)
        return self.expected_fibers[depth + 1] / self.expected_fibers[depth] if self.expected_fibers[depth] else 0.0


@dataclass(frozen=True)
class Axis:
    """An axis of the output, in the loops of an order."""

    index: str
    sparse: bool
    """whether the loop passes over fibers without elements"""
    few: bool
    """whether few of its indices are expected to get elements"""


@dataclass(frozen=True)
class OrderedEinsum:
    """An einsum with an order of its loops, and the work that is expected.

    Attributes:
        loops: the indices, outermost first.
        reads: its accesses, in reading order.
        work: of all, in iterations, but for intermediate results.
        before: that of the intermediate results that it reads.
        updates: how often the output is updated.
        outputs: the axes of the output, in the order of the loops.
    """

    loops: tuple[str, ...]
    reads: tuple[OrderedRead, ...]
    work: float
    before: float
    updates: float
    outputs: tuple[Axis, ...]


class Beginning(NamedTuple):
    """The outermost loops of an order, with their work, and the accesses as these enter them."""

    work: float
    loops: tuple[str, ...]
    reads: tuple[OrderedRead, ...]


def orders(
    einsum: Einsum, operands: Mapping[str, Operand], budget: Budget | None = None, below: float = inf
) -> list[OrderedEinsum]:
    """The orders of the loops, that of the least work first, with intermediate results in the orders that they have.

    Orders of more work than `below` are left out.
    """
    budget = budget or Budget()
    estimate = LoopCosts(einsum, operands, budget)
    width = _width(len(einsum.loops), len(einsum.accesses), budget)
    begun = [Beginning(0.0, (), estimate.reads(()))]
    for _ in einsum.loops:
        longer = (each for beginning in begun for each in estimate.extensions(beginning))
        begun = sorted((each for each in longer if each.work + estimate.least <= below), key=lambda each: each.work)
        del begun[width:]
    found = (estimate.order_loops(each.loops, each.reads) for each in begun)
    return sorted((each for each in found if each.before < inf), key=lambda each: each.work + each.before)


def _width(loops: int, accesses: int, budget: Budget) -> int:
    """The number of prefixes of orders that can be pursued, whose steps are taken from the budget."""

    def steps(width: int) -> int:
        begun, taken = 1, 0
        for left in range(loops, 0, -1):
            taken += begun * (left + accesses // QUICK)
            begun = min(begun * left, width)
        return taken

    widths = [n for n in (WIDTH, WIDTH // 4, WIDTH // 20, 1) if n == 1 or steps(n) <= MOST]
    width = next(n for n in widths if n == 1 or steps(n) <= budget.left // SHARE)
    budget.exceeded |= width < widths[0]
    budget.charge(steps(width))
    return width


def innermost(inside: frozenset[str], loops: Sequence[str]) -> int:
    """The depth of the innermost loop over one of these indices: -1 of none, and beyond all loops if one is missing."""
    return max((loops.index(index) if index in loops else len(loops) for index in inside), default=-1)


def _is_stepped_through(subscript: ir.Expression, index: str) -> bool:
    """Whether the loop over an index steps through a fiber, as through a view of it, instead of searching in it."""
    found = affine(subscript.subscript if isinstance(subscript, ir.Permissive) else subscript)
    return found is not None and found.factors.get(index) == 1


class LoopCosts:
    """The costs of loops, for all orders of one einsum."""

    def __init__(self, einsum: Einsum, operands: Mapping[str, Operand], budget: Budget) -> None:
        self.einsum, self.operands = einsum, operands
        self.diagram = IdleDiagram(einsum, operands, budget)
        self.accesses = [(operands[access.fiber.tensor], indices(access), access) for access in einsum.accesses]
        self.having = {
            i: [n for n, (_, axes, _) in enumerate(self.accesses) if any(i in inside for inside in axes)]
            for i in einsum.loops
        }
        """the numbers of the accesses that have an index"""
        self.least = sum(operands[name].least_work for name in {operand.name for operand, *_ in self.accesses})
        self._reads: dict[tuple[int, Order], OrderedRead] = {}

    def reads(self, loops: tuple[str, ...]) -> tuple[OrderedRead, ...]:
        """The accesses with their axes in the order of the loops; indices that are not in it come last."""
        return tuple(self._ordered_read(number, loops) for number in range(len(self.accesses)))

    def _ordered_read(self, number: int, loops: tuple[str, ...]) -> OrderedRead:
        """One of the accesses, in the order of the loops."""
        operand, axes, access = self.accesses[number]
        natural = operand.native or range(len(axes))[::-1]
        order = tuple(sorted(natural, key=lambda k: innermost(axes[k], loops)))
        if (number, order) not in self._reads:
            subscripts = tuple(access.subscripts[k] for k in order)
            self._reads[number, order] = OrderedRead(operand, order, tuple(axes[k] for k in order), subscripts)
        return self._reads[number, order]

    def extensions(self, begun: Beginning) -> Iterator[Beginning]:
        """A beginning with each of the other loops inside."""
        times = self.iterations(begun.loops, begun.reads)
        inside = frozenset(begun.loops)
        for index in self.einsum.loops:
            if index in inside:
                continue
            loops, reads = (*begun.loops, index), [*begun.reads]
            for number in self.having[index]:
                reads[number] = self._ordered_read(number, loops)
            entered = inside | {index}
            if all(
                [
                    reads[n].operand.can_begin(reads[n].order, reads[n].entered_levels(entered))
                    for n in self.having[index]
                ]
            ):
                yield Beginning(begun.work + self.loop(inside, index, reads, times), loops, tuple(reads))

    def iterations(self, around: tuple[str, ...], reads: tuple[OrderedRead, ...]) -> float:
        """The number of iterations of these nested loops that do any work."""
        inside = frozenset(around)
        there: dict[str, float] = {}
        for read in reads:
            there[read.operand.name] = min(there.get(read.operand.name, 1.0), read.present(inside))
        return self.diagram.busy(there) * prod(self.einsum.extents[index] for index in around)

    def loop(self, inside: frozenset[str], index: str, reads: Sequence[OrderedRead], times: float) -> float:
        """The work of a loop over an index inside of others, which are entered so often, without what is in it."""
        entering = list(self._sparsely(reads, inside, index))
        lengths = [read.length(inside) for read in entering]
        jumpers = [read.length(inside) for read in entering if self.idle({read.operand.name})]
        if jumpers:
            steps = min(jumpers)
            steps *= 1.0 if len(lengths) == 1 else MEET * (1 + log2(max(max(lengths) / max(steps, 1e-9), 1.0)))
        elif entering and self.idle({read.operand.name for read in entering}):
            steps = MEET * sum(lengths)
        elif entering and self._gaps_at_once(entering, index):
            steps = 2 * MEET * sum(lengths)
        else:
            across = not entering and len(inside) + 1 == len(self.einsum.loops) and index in self.einsum.axes
            steps = self.einsum.extents[index] * (VECTOR if across else 1.0) + MEET * sum(lengths)
        return times * (1 + steps)

    def idle(self, missing: Iterable[str]) -> bool:
        """Whether nothing is done where these inputs store nothing."""
        return self.diagram.idle(frozenset(missing))

    def _gaps_at_once(self, entering: list[OrderedRead], index: str) -> bool:
        """Whether the indices between elements are one update: all differ only in elements that are not stored."""
        reading = len(self.having[index])
        value = any(isinstance(node, ir.Index) and node.name == index for node in self._values())
        return index not in self.einsum.axes and len(entering) == reading and not value

    def _values(self) -> Iterator[ir.Node]:
        """The nodes of the expression outside of subscripts."""
        stack: list[ir.Node] = [self.einsum.expression]
        while stack:
            yield (top := stack.pop())
            stack += () if isinstance(top, ir.Access) else top.children()

    def _sparsely(self, reads: Sequence[OrderedRead], inside: frozenset[str], index: str) -> Iterator[OrderedRead]:
        """The accesses of which the loop over an index enters a level that need not have all children."""
        for number in self.having[index]:
            read = reads[number]
            depth = read.entered_levels(inside)
            if depth == len(read.axes) or read.axes[depth] - inside != {index} or read.dense[depth]:
                continue
            if _is_stepped_through(read.subscripts[depth], index):
                yield read

    def order_loops(self, loops: tuple[str, ...], reads: tuple[OrderedRead, ...]) -> OrderedEinsum:
        """A complete order, with the work of its loops, of updates and of inputs in other orders."""
        work = 0.0
        for depth, index in enumerate(loops):
            around = loops[:depth]
            work += self.loop(frozenset(around), index, reads, self.iterations(around, reads))
        updates = self.iterations(loops, reads)
        if self.einsum.axes and loops[0] not in self.einsum.axes:
            work *= SHARED
        read = {(r.operand.name, r.order): r for r in reads}.values()
        work += sum(r.operand.moving(r.order) for r in read)
        before = sum(r.operand.preparation_work(r.order) for r in read)
        return OrderedEinsum(loops, reads, work, before, updates, tuple(self._outputs(loops, reads, updates)))

    def _outputs(self, loops: tuple[str, ...], reads: tuple[OrderedRead, ...], updates: float) -> Iterator[Axis]:
        """The axes of the output, in the order of the loops."""
        before, places = 1.0, 1
        for depth, index in enumerate(loops):
            if index in self.einsum.axes:
                entering = self._sparsely(reads, frozenset(loops[:depth]), index)
                sparse = self.idle({read.operand.name for read in entering})
                places *= self.einsum.extents[index]
                made = expected_occupied(places, updates) if updates < self._all_iterations(loops) else places
                last = not any(inner in self.einsum.axes for inner in loops[depth + 1 :])
                enough = FEW if last else 1 / HYPERSPARSE
                yield Axis(index, sparse, made < enough * before * self.einsum.extents[index])
                before = made

    def _all_iterations(self, loops: tuple[str, ...]) -> float:
        """The number of iterations if none is skipped."""
        return prod(self.einsum.extents[index] for index in loops)
