"""How many steps a run takes under the rules: from the program, its extents, and where its inputs store elements."""

from __future__ import annotations

from collections.abc import Collection
from math import prod
from typing import Any

import numpy as np

from wingspan.elaborate import Elaborated
from wingspan.lang import algebra, ir
from wingspan.tensors.tensor import Tensor

LONG = 200_000
"""Steps that take several seconds."""
RATE = 50_000
"""Steps that are taken in a second, or somewhat more."""
ITERATION = 7
"""Steps of an iteration of any loop: the rules visit every index, also where there is nothing to do."""
UPDATE = 10
"""Steps of an assignment that is made, with what it reads."""


def steps(bound: Elaborated) -> int:
    """About how many steps a run takes under the rules, each of them one access to memory or less.

    Iterations and assignments are counted, as far as they do not fall away where inputs store nothing. Inputs are taken
    as independent of each other, and tensors that the program computes as full. Loops whose ends are not known before
    the run count once. For the examples, the number is within a factor of three.
    """
    return round(_Count(bound).steps(bound.body, {}))


def duration(count: int) -> str:
    """How long so many steps take, roughly.

    >>> [duration(n) for n in (3_000_000, 50_000_000, 10**9, 10**12)]
    ['60 seconds', '17 minutes', '6 hours', '231 days']
    """
    seconds = count / RATE
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}s"
    return f"{seconds:.0f} seconds"


class _Count:
    def __init__(self, bound: Elaborated) -> None:
        updated = {access.fiber.tensor for access, updates in ir.accesses(bound.body) if updates}
        self.inputs = {name: tensor for name, tensor in bound.inputs.items() if name not in updated}
        self.found: dict[tuple[str, int], float] = {}

    def steps(self, s: ir.Node, around: dict[str, int]) -> float:
        """The steps of all executions of a statement, given the extents of the loops around it."""
        match s:
            case ir.Block(statements=statements):
                return sum(self.steps(each, around) for each in statements)
            case ir.If(body=body):
                return self.steps(body, around)
            case ir.For(index=i, range=r, body=body):
                n = _length(r)
                return self.times(s, around) * n * ITERATION + self.steps(body, {**around, i: n})
            case ir.Assign() | ir.Set():
                return self.times(s, around) * UPDATE
        return 0.0

    def times(self, s: Any, around: dict[str, int]) -> float:
        """How often a statement is executed, where it does not fall away."""
        there: dict[str, float] = {}
        for access, updates in ir.accesses(s):
            if not updates and access.fiber.tensor in self.inputs:
                share = self.share(access, around)
                there[access.fiber.tensor] = min(share, there.get(access.fiber.tensor, 1.0))
        sparse = {name: share for name, share in there.items() if share < 1}
        needed = [share for name, share in sparse.items() if self.falls_away(s, {name})]
        if not needed and self.falls_away(s, sparse):
            needed = [min(sum(sparse.values()), 1.0)]  # any one of them is enough
        return float(prod(around.values()) * prod(needed))

    def share(self, access: ir.Access, around: dict[str, int]) -> float:
        """Of all indices of the loops around an access, the share at which its tensor has a fiber."""
        name, tensor = access.fiber.tensor, self.inputs[access.fiber.tensor]
        free = [isinstance(i, ir.Index) and i.name not in around for i in access.subscripts]
        known = free[::-1].index(True) if True in free else len(free)
        levels = [level for level in tensor.tower.levels if not level.modifier][:known]
        while levels and levels[-1].full:
            levels.pop()
        if (name, len(levels)) not in self.found:
            self.found[name, len(levels)] = _stored(tensor, len(levels))
        return self.found[name, len(levels)]

    def falls_away(self, s: Any, missing: Collection[str]) -> bool:
        """Whether nothing is left to do where these inputs store nothing."""

        def fill(node: Any) -> Any:
            if isinstance(node, ir.Access) and node.fiber.tensor in missing:
                return ir.Literal(self.inputs[node.fiber.tensor].fill)
            return node

        return bool(missing) and isinstance(algebra.simplify(s.map(fill), lambda _: True), ir.Skip)


def _length(r: ir.RangeLike) -> int:
    match r.range if isinstance(r, ir.Parallel) else r:
        case ir.Range(start=ir.Literal(value=int() as a), stop=ir.Literal(value=int() as b)):
            return max(b - a + 1, 0)
    return 1


def _stored(tensor: Tensor, outer: int) -> float:
    """The share of the indices of so many outer levels at which a tensor stores anything."""
    if not outer:
        return 1.0
    at, values = tensor.coordinates()
    if not len(values):
        return 0.0
    new = np.zeros(len(values) - 1, dtype=np.bool_)
    for axis in at[-outer:]:
        new |= axis[1:] != axis[:-1]
    return (1 + int(np.count_nonzero(new))) / prod(tensor.shape[-outer:])
