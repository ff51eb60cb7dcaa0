"""Loops and the accesses in them; which axes give a loop over `_` its range.

An access under a condition on the index of such a loop gives it no range, unless all are under some: so its axis may be
shorter than the loop, and the condition says how far it goes. That is ours, not the paper's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from wingspan.base.dataclass import dataclass
from wingspan.elaborate.inputs import TensorSource
from wingspan.lang import ir


@dataclass(frozen=True)
class AxisUse:
    """An access with the loops around it, by index."""

    access: ir.Access
    updated: bool
    loops: Mapping[str, LoopUse]
    guards: frozenset[str] = frozenset()
    """the indices that conditions around it speak of"""

    @property
    def tensor(self) -> str:
        """The tensor that is accessed."""
        return self.access.fiber.tensor


@dataclass
class LoopUse:
    """A loop with its surroundings; `range` is None while unknown."""

    node: ir.For
    around: Mapping[str, LoopUse]
    range: ir.Range | None
    axes: list[tuple[AxisUse, int]] = field(default_factory=list)
    """the bare uses of its index, each with its axis"""
    ruling: list[tuple[AxisUse, int]] = field(default_factory=list)
    """the bare uses that give it its range over `_`, and must agree"""
    following: list[tuple[AxisUse, int]] = field(default_factory=list)
    """the bare uses that it gives their extent"""

    @property
    def key(self) -> str:
        """The subject that is spoiled when its range cannot be inferred."""
        return f"the range of loop {id(self)}"

    @property
    def is_implicit(self) -> bool:
        """Whether it is written over `_`."""
        r = self.node.range
        return isinstance(r.range if isinstance(r, ir.Parallel) else r, ir.Whole)


def loops_and_uses(body: ir.Statement, sources: Mapping[str, TensorSource]) -> tuple[list[LoopUse], list[AxisUse]]:
    """The loops of a program, with the axes that rule over them, and the accesses, in the order of the text."""
    loops: list[LoopUse] = []
    uses: list[AxisUse] = []
    _collect(body, {}, loops, uses)
    for loop in loops:
        _rule(loop, sources)
    return loops, uses


def _collect(
    s: ir.Node,
    around: Mapping[str, LoopUse],
    loops: list[LoopUse],
    uses: list[AxisUse],
    guards: frozenset[str] = frozenset(),
) -> None:
    def below(*nodes: ir.Node, guards: frozenset[str] = guards) -> None:
        for node in nodes:
            _collect(node, around, loops, uses, guards)

    match s:
        case ir.For(index=index, range=r, body=body):
            inner = r.range if isinstance(r, ir.Parallel) else r
            loop = LoopUse(s, around, inner if isinstance(inner, ir.Range) else None)
            loops.append(loop)
            below(inner)
            _collect(body, {**around, index: loop}, loops, uses, guards)
        case ir.If(condition=condition, body=body):
            below(condition)
            below(body, guards=guards | _compared_indices(condition))
        case ir.Choice(condition=condition, then=then, otherwise=otherwise):
            below(condition)
            below(then, otherwise, guards=guards | _compared_indices(condition))
        case ir.Assign(access=access, value=value):
            _use(AxisUse(access, True, around, guards), loops, uses)
            below(value)
        case ir.Access():
            _use(AxisUse(s, False, around, guards), loops, uses)
        case _:
            below(*s.children())


def _compared_indices(condition: ir.Node) -> frozenset[str]:
    """The indices that a condition speaks of, other than to read elements."""
    match condition:
        case ir.Index(name=name):
            return frozenset({name})
        case ir.IsMissing(operand=ir.Access(subscripts=subscripts)):
            parts: Iterable[ir.Node] = (s for s in subscripts if isinstance(s, ir.Permissive))
        case ir.Access():
            return frozenset()
        case _:
            parts = condition.children()
    return frozenset[str]().union(*map(_compared_indices, parts))


def _use(use: AxisUse, loops: list[LoopUse], uses: list[AxisUse]) -> None:
    uses.append(use)
    for axis, subscript in enumerate(use.access.subscripts):
        if isinstance(subscript, ir.Index):
            use.loops[subscript.name].axes.append((use, axis))
        _collect(subscript, use.loops, loops, uses, use.guards)


def _rule(loop: LoopUse, sources: Mapping[str, TensorSource]) -> None:
    """Find the axes that rule over a loop, and those that follow it.

    An axis that the loop updates and that has no extent follows. Of the others those rule that are accessed whatever
    the index is; if there are none, those that are updated under conditions on it, else those that are read under some.
    """

    def has_extent(use: AxisUse, axis: int) -> bool:
        extents = sources[use.tensor].extents if use.tensor in sources else ()
        return axis < len(extents) and extents[axis] is not None

    loop.following = [(use, axis) for use, axis in loop.axes if use.updated and not has_extent(use, axis)]
    extended = {(use.tensor, axis) for use, axis in loop.following}
    others = [(use, axis) for use, axis in loop.axes if not use.updated or has_extent(use, axis)]
    free = [(use, axis) for use, axis in others if loop.node.index not in use.guards]
    tiers = free, [(use, axis) for use, axis in others if use.updated]
    loop.ruling = next(
        (tier for tier in tiers if any((use.tensor, axis) not in extended for use, axis in tier)), others
    )
