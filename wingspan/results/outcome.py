"""Results of a run, independent of the layout of memory: the same for every engine, comparable and hashable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import prod
from typing import Any, Protocol

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.lang.algebra import one_nan
from wingspan.lang.ir import Value, kind_of
from wingspan.lang.pairs import Pair

Typed = tuple[str, Value]
"""A value with its kind, so that 1 and true stay apart."""


LARGEST = 10_000_000
"""A tensor with more elements is not listed element by element."""


@dataclass(frozen=True)
class Entries:
    """The elements of a large tensor that are not its fill value, by their subscripts, in order."""

    fill: Value
    elements: tuple[tuple[tuple[int, ...], Value], ...]

    def __len__(self) -> int:
        return len(self.elements)


class Contents(Protocol):
    """A tensor, as far as its outcome goes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""

    @property
    def fill(self) -> Value:
        """The value of what is not stored."""

    def entries(self) -> Iterable[tuple[tuple[int, ...], Value]]:
        """The stored elements, by their subscripts from 1."""

    def exact_values(self) -> list[Value]:
        """All elements as exact values, row by row."""


@dataclass(frozen=True)
class Outcome:
    """The output tensors as exact values, row by row, and the variables of the outermost scope; by name.

    Of tensors with more than `LARGEST` elements those that are not fill.
    """

    tensors: tuple[tuple[str, tuple[int, ...], tuple[Value, ...] | Entries], ...]
    variables: tuple[tuple[str, Typed], ...] = ()

    @staticmethod
    def from_arrays(tensors: Mapping[str, np.ndarray], variables: Mapping[str, Value]) -> Outcome:
        """Make an outcome from arrays of exact values."""
        return Outcome.from_elements({name: (a.shape, a.flat) for name, a in tensors.items()}, variables)

    @staticmethod
    def from_elements(
        tensors: Mapping[str, tuple[tuple[int, ...], Iterable[Value]]], variables: Mapping[str, Value]
    ) -> Outcome:
        """Make an outcome from the shapes of tensors, and their exact values row by row."""
        return Outcome(
            tuple((name, shape, tuple(map(one_nan, values))) for name, (shape, values) in sorted(tensors.items())),
            tuple((name, (kind_of(value), one_nan(value))) for name, value in sorted(variables.items())),
        )

    @staticmethod
    def from_tensors(tensors: Mapping[str, Contents], variables: Mapping[str, Value]) -> Outcome:
        """Make an outcome from tensors."""
        small = {name: (t.shape, t.exact_values()) for name, t in tensors.items() if prod(t.shape) <= LARGEST}
        large = ((name, t.shape, _entries(t)) for name, t in tensors.items() if name not in small)
        made = Outcome.from_elements(small, variables)
        return Outcome(tuple(sorted((*made.tensors, *large), key=lambda each: each[0])), made.variables)

    def values(self) -> dict[str, Any]:
        """Tensors as nested lists, row by row, and variables, as Python numbers; pairs as tuples. Of large tensors the
        elements that are not fill, by their subscripts as text.
        """
        found: dict[str, Any] = {
            name: {", ".join(map(str, at)): to_plain_number(value) for at, value in values.elements}
            if isinstance(values, Entries)
            else to_lists(_array(list(map(to_plain_number, values))).reshape(shape))
            for name, shape, values in self.tensors
        }
        return found | {name: to_plain_number(value) for name, (_, value) in self.variables}


def _entries(tensor: Contents) -> Entries:
    fill = one_nan(tensor.fill)
    found = ((at, one_nan(value)) for at, value in tensor.entries())
    return Entries(fill, tuple(sorted(((at, value) for at, value in found if value != fill), key=lambda each: each[0])))


def _array(values: list[Any]) -> np.ndarray:
    """A vector of objects, which may be tuples."""
    made: np.ndarray = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        made[k] = value
    return made


def to_lists(array: np.ndarray) -> Any:
    """An array as nested lists; one without axes as its value."""
    return array.tolist() if array.shape else array.item()


def to_plain_number(value: Value) -> Value | str | tuple[float, int]:
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
