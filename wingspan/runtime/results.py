"""The results of a run on threads, as tensors and values of the language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from wingspan.buffers.stored import Stored
from wingspan.lang import algebra
from wingspan.lang.ir import Value
from wingspan.levels import Tower
from wingspan.plan.ir import Plan
from wingspan.tensors.frozen import Frozen, Key
from wingspan.tensors.tensor import Tensor


class Results(NamedTuple):
    """The results of a run."""

    arrays: Callable[[str], Mapping[Key, Stored]]
    """the contents of a tensor's buffers"""
    variables: dict[str, Value]
    """the variables of the outermost scope; doubles as rationals"""
    fills: dict[str, Value]
    """the final fill value of each output, of pairs as a word"""

    def tensors(self, towers: Mapping[str, Tower]) -> dict[str, Tensor]:
        """The outputs, with the levels and extents of these towers. They are views of the memory of the run."""
        return {
            name: Tensor(tower := towers[name], Frozen(tower, self.arrays(name)), algebra.element(fill, tower.kind))
            for name, fill in self.fills.items()
        }


class ScalarResults(NamedTuple):
    """The results of a run other than tensors."""

    variables: dict[str, Value]
    fills: dict[str, Value]


def scalar_results(plan: Plan, values: Iterable[Value]) -> ScalarResults:
    """The results of a run of a plan, given the values of `plan.ends`; doubles become rationals."""
    ends = iter(values)
    variables = {name: exact(next(ends)) for name, _ in plan.variables}
    for name, _ in plan.whole:
        if next(ends):
            variables[name] = int(variables[name])
    return ScalarResults(variables, {name: exact(next(ends)) for name, _ in plan.fills})


exact: Callable[[Value], Any] = lru_cache(maxsize=256, typed=True)(algebra.exact)
"""A double as the value that it is; few values end many runs."""
