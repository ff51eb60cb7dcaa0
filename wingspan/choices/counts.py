"""Execution counts of the statements of a bound program: from its extents, and the stored elements of its inputs.

Inputs are taken as independent of each other. Of an input without data each level that may lack fibers is taken to have
the share `STORED` of them, and an extent or a parameter that is left open is `OPEN`. Loops whose ends are computed from
loaded values count once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod
from typing import Any

from wingspan.base.libraries import np
from wingspan.elaborate import Elaborated
from wingspan.lang import algebra, ir
from wingspan.tensors.tensor import Tensor

OPEN = 1000
"""The stand-in for an extent or a parameter that is left open."""

STORED = 0.01
"""The share of fibers that a level has that need not have all, where there is no data to count them."""


class ExecutionCounts:
    """Execution counts of the statements of one bound program.

    Tensors that the program computes are full, unless `filled` has the share of their elements that is set.
    """

    def __init__(self, bound: Elaborated) -> None:
        self.bound = bound
        self.updated = {access.fiber.tensor for access, updates in ir.accesses(bound.body) if updates}
        self.inputs = {name: tensor for name, tensor in bound.inputs.items() if name not in self.updated}
        self.open = set(bound.open) - self.updated
        self.filled: dict[str, float] = {}
        self.numbers = _numbers(bound)
        self._found: dict[tuple[str, int], float] = {}
        self._idle: dict[tuple[ir.Node, frozenset[str]], bool] = {}

    def length(self, r: ir.RangeLike, around: Mapping[str, int]) -> int:
        """The iterations of a loop; where its ends depend on loops around it, those in the middle of them."""
        return max(round(self._span(r, around)), 0)

    def lengths(self, r: ir.RangeLike, around: Mapping[str, int], index: str) -> np.ndarray:
        """The same in each iteration of a loop around it, whose range begins with 1."""
        n = around[index]
        first, last = (self._span(r, {**around, index: 2 * at - 1}) for at in (1, n))  # of which this is the middle
        return np.maximum(np.linspace(first, last, n), 0)

    def _span(self, r: ir.RangeLike, around: Mapping[str, int]) -> float:
        """The length of a range, negative if it ends long before it starts."""
        ends = r.range if isinstance(r, ir.Parallel) else r
        if not isinstance(ends, ir.Range):
            return 1
        start, stop = (self._value(end, around) for end in (ends.start, ends.stop))
        return stop - start + 1 if start is not None and stop is not None else 1

    def _value(self, e: ir.Expression, around: Mapping[str, int]) -> float | None:
        """The value of an end of a range; None if it depends on loaded values."""
        match e:
            case ir.Literal(value=value):
                return float(value)
            case ir.Variable(name=name):
                return self.numbers.get(name, OPEN if name in self.bound.symbols else None)
            case ir.Index(name=name):
                return (around[name] + 1) / 2 if name in around else None
            case ir.Call(op="+" | "-" as op, args=(a, b)):
                left, right = self._value(a, around), self._value(b, around)
                if left is not None and right is not None:
                    return left + right if op == "+" else left - right
        return None

    def execution_count(self, s: ir.Node, around: Mapping[str, int]) -> float:
        """The number of executions of a statement, given the extents of the loops around it."""
        return float(prod(around.values()) * prod(share for _, share in self.required_tensors(s, around)))

    def required_tensors(self, s: ir.Node, around: Mapping[str, int]) -> list[tuple[tuple[str, ...], float]]:
        """The tensors without which a statement falls away, and at which share of the indices around it they are there.

        Several tensors together: any one of them is enough.
        """
        there: dict[str, float] = {}
        for access, updates in ir.accesses(s):
            name = access.fiber.tensor
            if not updates and (name in self.inputs or name in self.open or name in self.filled):
                there[name] = min(self.share(access, around), there.get(name, 1.0))
        sparse = {name: share for name, share in there.items() if share < 1}
        needed: list[tuple[tuple[str, ...], float]] = [
            ((name,), share) for name, share in sparse.items() if self.falls_away(s, {name})
        ]
        if not needed and self.falls_away(s, sparse):
            needed = [(tuple(sparse), min(sum(sparse.values()), 1.0))]
        return needed

    def share(self, access: ir.Access, around: Mapping[str, int]) -> float:
        """Of all indices of the loops around an access, the share at which its tensor has a fiber."""
        name = access.fiber.tensor
        free = [isinstance(i, ir.Index) and i.name not in around for i in access.subscripts]
        known = free[::-1].index(True) if True in free else len(free)
        levels = [level for level in self.bound.towers[name].levels if not level.modifier][:known]
        while levels and levels[-1].lookup:
            levels.pop()
        if (name, len(levels)) not in self._found:
            self._found[name, len(levels)] = self._share(name, len(levels))
        return self._found[name, len(levels)]

    def _share(self, name: str, outer: int) -> float:
        """The share of the indices of so many outer levels at which a tensor has anything."""
        if name in self.inputs:
            return _stored_fraction(self.inputs[name], outer)
        levels = [level for level in self.bound.towers[name].levels if not level.modifier]
        if name not in self.filled:
            return float(STORED ** sum(not level.lookup for level in levels[:outer]))
        below = float(prod(self.extents(name)[outer : len(levels)]))
        return -float(np.expm1(below * np.log1p(-self.filled[name]))) if self.filled[name] < 1 else 1.0

    def extents(self, name: str) -> list[int]:
        """The extents of a tensor, outermost level first."""
        values = (self._value(e, {}) for e in reversed(self.bound.extents[name]))
        return [1 if value is None else max(round(value), 0) for value in values]

    def falls_away(self, s: ir.Node, missing: Collection[str]) -> bool:
        """Whether nothing is left to do where these tensors store nothing."""
        key = s, frozenset(missing)
        if key not in self._idle:

            def fill(node: Any) -> Any:
                if isinstance(node, ir.Access) and node.fiber.tensor in missing:
                    return ir.Literal(self.fill(node.fiber.tensor))
                return node

            simple = algebra.simplify(s.map(fill), lambda _: True) if missing else s
            self._idle[key] = bool(missing) and isinstance(simple, ir.Skip)
        return self._idle[key]

    def fill(self, name: str) -> ir.Value:
        """The value that a tensor has where it stores nothing."""
        return self.inputs[name].fill if name in self.inputs else self.bound.towers[name].fill


def _numbers(bound: Elaborated) -> dict[str, float]:
    """The known extents of those that the program leaves open: those of its inputs."""
    found: dict[str, float] = {}
    for name, tensor in bound.inputs.items():
        extents = bound.extents.get(name, ())  # none of an input that nothing reads
        for extent, n in zip(extents, tensor.shape if extents else (), strict=True):
            if isinstance(extent, ir.Variable):
                found[extent.name] = n
    return found


def _stored_fraction(tensor: Tensor, outer: int) -> float:
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
