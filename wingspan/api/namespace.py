"""Functions of the array API standard for lazy arrays, under the names and with the arguments that it gives them.

See https://data-apis.org/array-api/latest. What is missing here, a lazy array cannot do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from wingspan.api import arrays
from wingspan.api.arrays import LazyTensor, joined, lazy, matmul, tensordot, where

__array_api_version__ = "2024.12"

Axis = int | Sequence[int] | None
Operator = Callable[..., LazyTensor]

add: Operator = partial(joined, "+")
subtract: Operator = partial(joined, "-")
multiply: Operator = partial(joined, "*")
divide: Operator = partial(joined, "/")
floor_divide: Operator = partial(joined, "÷")
remainder: Operator = partial(joined, "%")
minimum: Operator = partial(joined, "min")
maximum: Operator = partial(joined, "max")
negative: Operator = partial(joined, "-")
abs: Operator = partial(joined, "abs")
equal: Operator = partial(joined, "==")
not_equal: Operator = partial(joined, "!=")
less: Operator = partial(joined, "<")
less_equal: Operator = partial(joined, "<=")
greater: Operator = partial(joined, ">")
greater_equal: Operator = partial(joined, ">=")
logical_and: Operator = partial(joined, "&&")
logical_or: Operator = partial(joined, "||")
logical_not: Operator = partial(joined, "!")
bitwise_and: Operator = partial(joined, "&")
bitwise_or: Operator = partial(joined, "|")
bitwise_xor: Operator = partial(joined, "⊻")
bitwise_invert: Operator = partial(joined, "~")
bitwise_left_shift: Operator = partial(joined, "<<")
bitwise_right_shift: Operator = partial(joined, ">>")


def logical_xor(x: Any, y: Any, /) -> LazyTensor:
    """Whether one is true and the other is not."""
    return logical_not(x) != logical_not(y)


def asarray(x: Any, /) -> LazyTensor:
    """An array as a lazy one."""
    return lazy(x)


def pow(x: Any, exponent: int, /) -> LazyTensor:
    """A power with an exponent from 1 to 8."""
    return lazy(x) ** exponent


def square(x: Any, /) -> LazyTensor:
    """The square."""
    return lazy(x) ** 2


def positive(x: Any, /) -> LazyTensor:
    """The same array."""
    return lazy(x)


def sum(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> LazyTensor:
    """The sum over some axes, or all."""
    return lazy(x).sum(axis, keepdims)


def prod(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> LazyTensor:
    """The product over some axes, or all."""
    return lazy(x).prod(axis, keepdims)


def min(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> LazyTensor:
    """The least element; of none, Inf or the largest integer."""
    return lazy(x).min(axis, keepdims)


def max(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> LazyTensor:
    """The greatest element; of none, -Inf or the smallest integer."""
    return lazy(x).max(axis, keepdims)


def any(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> LazyTensor:
    """Whether an element is true, or a number that is not 0."""
    return lazy(x).any(axis, keepdims)


def all(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> LazyTensor:
    """Whether all elements are true, or numbers that are not 0."""
    return lazy(x).all(axis, keepdims)


def permute_dims(x: Any, /, axes: Sequence[int]) -> LazyTensor:
    """The array with its axes in another order."""
    return arrays.permute_dims(lazy(x), axes)


def matrix_transpose(x: Any, /) -> LazyTensor:
    """The array with its last two axes exchanged."""
    return lazy(x).mT


def expand_dims(x: Any, /, *, axis: int = 0) -> LazyTensor:
    """The array with one more axis, of extent 1, at a place."""
    return arrays.expand_dims(lazy(x), axis)


def squeeze(x: Any, /, axis: int | Sequence[int]) -> LazyTensor:
    """The array without some axes of extent 1."""
    return arrays.squeeze(lazy(x), axis)


__all__ = [
    "abs", "add", "all", "any", "asarray", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "divide", "equal", "expand_dims", "floor_divide", "greater", "greater_equal",
    "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul", "matrix_transpose",
    "max", "maximum", "min", "minimum", "multiply", "negative", "not_equal", "permute_dims", "positive", "pow", "prod",
    "remainder", "square", "squeeze", "subtract", "sum", "tensordot", "where",
]  # fmt: skip
