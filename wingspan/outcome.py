"""What a run computed, whatever its memory looks like: the same for every engine, comparable and hashable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from wingspan.lang.algebra import one_nan
from wingspan.lang.ir import Value, kind_of
from wingspan.lang.pairs import Pair

Typed = tuple[str, Value]
"""A value with its kind, so that 1 and true stay apart."""


@dataclass(frozen=True)
class Outcome:
    """The output tensors as dense exact values, row by row, and the variables of the outermost scope; by name."""

    tensors: tuple[tuple[str, tuple[int, ...], tuple[Value, ...]], ...]
    variables: tuple[tuple[str, Typed], ...] = ()

    @staticmethod
    def of(tensors: Mapping[str, np.ndarray], variables: Mapping[str, Value]) -> Outcome:
        """Make an outcome from arrays of exact values."""
        return Outcome(
            tuple((name, array.shape, tuple(map(one_nan, array.flat))) for name, array in sorted(tensors.items())),
            tuple((name, (kind_of(value), one_nan(value))) for name, value in sorted(variables.items())),
        )

    def values(self) -> dict[str, Any]:
        """Tensors as nested lists, row by row, and variables, as Python numbers; pairs as tuples."""
        found: dict[str, Any] = {
            name: nested(_array(list(map(plain, values))).reshape(shape)) for name, shape, values in self.tensors
        }
        return found | {name: plain(value) for name, (_, value) in self.variables}


def _array(values: list[Any]) -> np.ndarray:
    """A vector of objects, which may be tuples."""
    made: np.ndarray = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        made[k] = value
    return made


def nested(array: np.ndarray) -> Any:
    """An array as nested lists; one without axes as its value."""
    return array.tolist() if array.shape else array.item()


def plain(value: Value) -> Value | str | tuple[float, int]:
    """A rational as the nearest double, as text if it is beyond all doubles; a pair as a tuple."""
    if isinstance(value, Pair):
        return (value.first, value.second)
    if not isinstance(value, Fraction):
        return value
    try:
        return float(value)
    except OverflowError:
        return str(value)


def differing(outcomes: Iterable[Outcome]) -> list[str]:
    """The names on which the outcomes differ."""
    seen: dict[str, set[Any]] = {}
    for outcome in outcomes:
        for name, *rest in outcome.tensors:
            seen.setdefault(name, set()).add(tuple(rest))
        for name, value in outcome.variables:
            seen.setdefault(name, set()).add(value)
    return [name for name, values in seen.items() if len(values) > 1]
