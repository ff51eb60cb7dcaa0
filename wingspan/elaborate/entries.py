"""Element-wise programs as programs over stored elements, for inputs that store theirs at the same subscripts.

    for j = parallel(_, dev, sch)                            for e = parallel(_, dev, sch)
        for i = _                                                C[e] = A[e] + B[e]
            C[i, j] = A[i, j] + B[i, j]

On the right, A, B and C are vectors: the k-th stored element of one pattern, which they share. Nothing is searched or
compared, and nobody writes subscripts. It is right where every element of the result depends on those of the inputs at
its own subscripts alone, is visited once, and is the result's fill value wherever no input stores one: then both
programs evaluate the same expression for each stored element, and the left one stores its results at just those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.lang import algebra, ir
from wingspan.levels import Level, Tower, usual
from wingspan.levels.base import Modifier, Storage
from wingspan.tensors.frozen import Columns


@dataclass(frozen=True)
class OverEntries:
    """A program over the stored elements of inputs with one pattern."""

    tree: ir.Program
    inputs: tuple[str, ...]
    """the inputs with a pattern; the others are numbers"""
    output: str
    root: Level
    """the levels of the result: those of the inputs, since no thread has a part of its own"""


def over_entries(tree: ir.Program, towers: Mapping[str, Tower]) -> OverEntries | None:
    """An element-wise program over stored elements; None if it is not element-wise or the levels do not fit.

    The levels are Dense ones around a SparseList, with any modifiers in the result.
    """
    *before, loop = tree.body.statements
    nest = _nest(loop)
    declared = [s for s in before if isinstance(s, ir.Declare)]
    if nest is None or len(declared) != 1 or any(not isinstance(s, ir.Define | ir.Declare) for s in before):
        return None
    ranges, assign = nest
    e = algebra.simplify_expression(assign.value)
    name, at = assign.access.fiber.tensor, assign.access.subscripts
    read = [n for n in e.walk() if isinstance(n, ir.Access)]
    inputs = tuple(dict.fromkeys(n.fiber.tensor for n in read if n.subscripts))
    whole = sorted(i.name for i in at if isinstance(i, ir.Index)) == sorted(ranges) and len(at) == len(ranges)
    alone = all(n.subscripts in ((), at) for n in read)
    bare = sum(isinstance(n, ir.Index) for n in e.walk()) == len(at) * sum(bool(n.subscripts) for n in read)
    if not (whole and alone and bare and inputs and declared[0].tensor == name and tree.returns in ((), (name,))):
        return None
    root = _without_modifiers(towers[name].levels[0])
    levels = Tower.of(root, towers[name].shape)
    if not all(_has_levels_of(levels, towers[each]) for each in inputs) or not _is_idle_on_fill(
        assign, declared[0], towers, inputs
    ):
        return None
    vectors = {each: ir.Define(each, _vector(towers[each])) for each in (*inputs, name)}
    defined = [s for s in before if not (isinstance(s, ir.Define) and s.name in vectors)]
    body = (*vectors.values(), *defined, ir.For("entry", _range(ranges), _over(assign, e), span=loop.span))
    return OverEntries(replace(tree, body=replace(tree.body, statements=body)), inputs, name, root)


def _nest(s: ir.Statement) -> tuple[dict[str, ir.RangeLike], ir.Assign] | None:
    """Loops over whole axes, one in the other, and the one assignment in them; None if it is something else."""
    ranges: dict[str, ir.RangeLike] = {}
    while isinstance(s, ir.For):
        whole = s.range.range if isinstance(s.range, ir.Parallel) else s.range
        if s.index in ranges or not isinstance(whole, ir.Whole):
            return None
        ranges[s.index] = s.range
        s = s.body
    return (ranges, s) if isinstance(s, ir.Assign) else None


def _range(ranges: Mapping[str, ir.RangeLike]) -> ir.RangeLike:
    """The range over all entries: on the device of the outermost parallel loop, if there is one."""
    return next((r for r in ranges.values() if isinstance(r, ir.Parallel)), ir.Whole())


def _over(assign: ir.Assign, e: ir.Expression) -> ir.Assign:
    """The assignment at an entry."""

    def entry(node: Any) -> Any:
        if not isinstance(node, ir.Access) or not node.subscripts:
            return node
        return replace(node, fiber=replace(node.fiber, level=2), subscripts=(ir.Index("entry"),))

    return replace(assign, access=entry(assign.access), value=e.map(entry))


def _vector(tower: Tower) -> ir.TensorCall:
    width = (ir.StorageWidth(tower.width.name),) if tower.width.narrow else ()
    leaf = ir.Format(usual.LEAF, (ir.Literal(tower.fill), *width))
    return ir.TensorCall(ir.Format(usual.ALL, (leaf,)))


def _without_modifiers(level: Level) -> Level:
    """A level without the modifiers in it."""
    if isinstance(level, Modifier):
        return _without_modifiers(level.child)
    if isinstance(level, Storage):
        return replace(level, child=_without_modifiers(level.child))
    return usual.leaf(level.fill, level.width) if level.leaf else level  # type: ignore[attr-defined]


def _has_levels_of(result: Tower, tower: Tower) -> bool:
    """Whether an input has the levels of the result, and they keep all elements in one array."""
    columns = Columns.from_tower(tower)
    same = [type(level) for level in result.levels[:-1]] == [type(level) for level in tower.levels[:-1]]
    return columns is not None and columns.sparse and same


def _is_idle_on_fill(
    assign: ir.Assign, declared: ir.Declare, towers: Mapping[str, Tower], inputs: tuple[str, ...]
) -> bool:
    """Whether the update does nothing at the fill values of its inputs, as in lowering."""

    def fill(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.Access) and node.fiber.tensor in inputs:
            return ir.Literal(towers[node.fiber.tensor].fill)
        return node

    def is_unchanged(update: ir.Assign) -> bool:
        init = declared.init
        return isinstance(init, ir.Literal) and algebra.is_literal(update.value, init.value)

    without = replace(assign, value=assign.value.map(fill))
    return isinstance(algebra.simplify(without, is_unchanged), ir.Skip)
