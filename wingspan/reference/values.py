"""Values of the reference: exact numbers, and those that fit the elements of a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from wingspan.base.errors import InputError
from wingspan.base.libraries import np
from wingspan.lang import ir
from wingspan.lang.ir import Value

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

INT_MIN, INT_MAX = -(2**63), 2**63 - 1

KINDS = {"int": "a 64-bit integer", "float": "a double", "bool": "a boolean", "pair": "a pair"}

RANGES = {
    f"{letter}{bits}": (lowest * 2 ** (bits - 1), (2 + lowest) * 2 ** (bits - 1) - 1)
    for letter, lowest in (("u", 0), ("i", -1))
    for bits in (8, 16, 32)
}
"""The least and the greatest number that narrow cells of integers hold."""


class Elements:
    """A dense array of exact values, row by row. It does without NumPy, which takes longer to load than small programs
    take to run.
    """

    def __init__(self, shape: Sequence[int], values: list[Value]) -> None:
        self.shape, self.values = tuple(shape), values
        self._strides = [math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]

    def __getitem__(self, index: tuple[int, ...]) -> Value:
        """The element at a 0-based place."""
        return self.values[self._offset(index)]

    def __setitem__(self, index: tuple[int, ...], value: Value) -> None:
        self.values[self._offset(index)] = value

    def _offset(self, index: tuple[int, ...]) -> int:
        return sum(i * stride for i, stride in zip(index, self._strides, strict=True))

    def to_numpy(self) -> Array:
        """An object array."""
        array: Array = np.empty(len(self.values), dtype=object)
        array[:] = self.values
        array.shape = self.shape
        return array


def exact(array: Array, kind: str, tick: Callable[[], None] = lambda: None) -> Array:
    """The array as an object array of exact values of one kind.

    >>> exact(np.array([0.5, 2.0]), "float").tolist()
    [Fraction(1, 2), Fraction(2, 1)]
    """
    array = np.asarray(array)
    result = np.empty(array.shape, dtype=object)
    for index, item in np.ndenumerate(array):
        tick()
        raw = item.item() if isinstance(item, np.generic) else item
        value = to_exact(raw)
        fitting = None if value is None else convert_to_kind(value, kind)
        if fitting is None:
            raise InputError(unfit_message(show(raw) if value is None else show(value), kind))
        result[index] = fitting
    return result


def show(value: object) -> str:
    """A value as a program would write it; a double that has no short decimal as a fraction."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        try:
            rounded = float(value)
        except OverflowError:
            return str(value)
        return repr(rounded) if rounded == value else str(value)
    return {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}.get(str(value), str(value))


def to_exact(raw: object) -> Value | None:
    """The exact value of a Python number; None if it is none."""
    if isinstance(raw, bool | int | Fraction):
        return raw
    return double(raw) if isinstance(raw, float) else None


def double(raw: float) -> Value:
    """A Python double as what programs compute with."""
    return Fraction(raw) if math.isfinite(raw) else raw if math.isinf(raw) else ir.NAN


def convert_to_kind(value: Value, kind: str) -> Value | None:
    """Convert a value to a kind of elements; None if it does not fit."""
    if isinstance(value, ir.Pair) or kind == "pair":
        return value if isinstance(value, ir.Pair) and kind == "pair" else None
    if isinstance(value, bool) or kind == "bool":
        return value if isinstance(value, bool) and kind == "bool" else None
    if kind in ("float", "f32"):
        value = value if beyond(value) else Fraction(value)
        return single(value) if kind == "f32" and isinstance(value, Fraction) else value
    least, most = RANGES.get(kind, (INT_MIN, INT_MAX))
    integral = value.denominator == 1 if isinstance(value, Fraction) else isinstance(value, int)
    return int(value) if integral and least <= value <= most else None


def single(value: Fraction) -> Fraction:
    """The nearest number in single precision, of two the even one; what rounds to no finite one stays as it is."""
    if abs(value) >= 2**128:
        return value
    with np.errstate(over="ignore"):
        near = np.float32(float(value))
        around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]

    def worth(x: Any) -> Fraction:
        return Fraction(float(x)) if np.isfinite(x) else Fraction(2) ** 128 * (1 if x > 0 else -1)

    best = min(around, key=lambda x: (abs(worth(x) - value), int(x.view(np.uint32)) % 2))
    return worth(best) if np.isfinite(best) else value


def unfit_message(text: str, kind: str) -> str:
    """The message about a value that no element can hold."""
    return f"{text} is not {KINDS[kind]}" if kind in KINDS else f"{text} does not fit {kind}"


def beyond(value: Value) -> bool:
    """Whether a value is Inf, -Inf or NaN: what was computed is a double for nothing else."""
    return isinstance(value, float)
