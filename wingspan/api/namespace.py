"""Functions of the array API standard for lazy arrays, under the names and with the arguments that it gives them.

See https://data-apis.org/array-api/latest. What is missing here needs indexing, or a function that the language lacks,
such as a square root.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import index
from typing import Any, SupportsIndex

import numpy as np
import scipy.sparse

from wingspan.api import arrays
from wingspan.api.arrays import Axis, LazyTensor, elementwise, lazy, logical, matmul, tensordot, where
from wingspan.api.shapes import broadcast, normalize_axes
from wingspan.base.errors import InputError
from wingspan.levels import usual
from wingspan.tensors.foreign import with_fill
from wingspan.tensors.tensor import Tensor

__array_api_version__ = "2024.12"

inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
int64, float64 = np.dtype(np.int64), np.dtype(np.float64)
bool = np.dtype(np.bool_)

Shape = int | tuple[int, ...]
Truth = builtins.bool
Operator = Callable[..., LazyTensor]

add: Operator = partial(elementwise, "+")
subtract: Operator = partial(elementwise, "-")
multiply: Operator = partial(elementwise, "*")
divide: Operator = partial(elementwise, "/")
floor_divide: Operator = partial(elementwise, "÷")
remainder: Operator = partial(elementwise, "%")
minimum: Operator = partial(elementwise, "min")
maximum: Operator = partial(elementwise, "max")
negative: Operator = partial(elementwise, "-")
abs: Operator = partial(elementwise, "abs")
equal: Operator = partial(elementwise, "==")
not_equal: Operator = partial(elementwise, "!=")
less: Operator = partial(elementwise, "<")
less_equal: Operator = partial(elementwise, "<=")
greater: Operator = partial(elementwise, ">")
greater_equal: Operator = partial(elementwise, ">=")
logical_and: Operator = partial(logical, "&&")
logical_or: Operator = partial(logical, "||")
logical_not: Operator = partial(logical, "!")
bitwise_and: Operator = partial(elementwise, "&")
bitwise_or: Operator = partial(elementwise, "|")
bitwise_xor: Operator = partial(elementwise, "⊻")
bitwise_invert: Operator = partial(elementwise, "~")
bitwise_left_shift: Operator = partial(elementwise, "<<")
bitwise_right_shift: Operator = partial(elementwise, ">>")


def logical_xor(x: Any, y: Any, /) -> LazyTensor:
    """Whether one is true and the other is not."""
    return elementwise("!=", logical_not(x), logical_not(y))


def asarray(x: Any, /) -> LazyTensor:
    """An array as a lazy one."""
    return lazy(x)


def pow(x: Any, exponent: int, /) -> LazyTensor:
    """A power with an exponent from 0 to 8."""
    made: LazyTensor = lazy(x) ** exponent
    return made


def square(x: Any, /) -> LazyTensor:
    """The square."""
    return pow(x, 2)


def positive(x: Any, /) -> LazyTensor:
    """The same array. InputError if it has booleans."""
    return +lazy(x)


def sum(x: Any, /, *, axis: Axis = None, keepdims: Truth = False) -> LazyTensor:
    """The sum over some axes, or all."""
    return lazy(x).sum(axis, keepdims)


def prod(x: Any, /, *, axis: Axis = None, keepdims: Truth = False) -> LazyTensor:
    """The product over some axes, or all."""
    return lazy(x).prod(axis, keepdims)


def min(x: Any, /, *, axis: Axis = None, keepdims: Truth = False) -> LazyTensor:
    """The least element; of none, Inf, the largest integer or true."""
    return lazy(x).min(axis, keepdims)


def max(x: Any, /, *, axis: Axis = None, keepdims: Truth = False) -> LazyTensor:
    """The greatest element; of none, -Inf, the smallest integer or false."""
    return lazy(x).max(axis, keepdims)


def any(x: Any, /, *, axis: Axis = None, keepdims: Truth = False) -> LazyTensor:
    """Whether an element is true, or a number that is not 0."""
    return lazy(x).any(axis, keepdims)


def all(x: Any, /, *, axis: Axis = None, keepdims: Truth = False) -> LazyTensor:
    """Whether all elements are true, or numbers that are not 0."""
    return lazy(x).all(axis, keepdims)


def count_nonzero(x: Any, /, *, axis: Axis = None, keepdims: Truth = False) -> LazyTensor:
    """Count the elements that are not 0."""
    return sum(not_equal(x, 0), axis=axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Axis = None, keepdims: Truth = False) -> LazyTensor:
    """The sum of elements, divided by how many there are. InputError if there are none."""
    return divide(sum(x, axis=axis, keepdims=keepdims), _count_reduced(lazy(x), axis, 0))


def var(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: Truth = False) -> LazyTensor:
    """The sum of squared distances from the mean, divided by how many there are, less the correction."""
    x = lazy(x)
    count = _count_reduced(x, axis, correction)
    return divide(sum(square(x - mean(x, axis=axis, keepdims=True)), axis=axis, keepdims=keepdims), count)


def _count_reduced(x: LazyTensor, axis: Axis, less: float) -> float:
    """The number of elements reduced to one, less a number. InputError if nothing remains to divide by."""
    axes = range(x.ndim) if axis is None else normalize_axes(axis, x.ndim)
    elements = math.prod(x.shape[k] for k in axes)
    if not elements:
        raise InputError(f"there is no mean over axes of {x.shape} that are empty", fix="reduce more elements")
    if elements <= less:
        raise InputError(f"there is nothing to divide by: {elements} - {less} elements", fix="reduce more elements")
    return elements - less


def vecdot(x: Any, y: Any, /, *, axis: int = -1) -> LazyTensor:
    """The sum of products over one axis."""
    x, y = lazy(x), lazy(y)
    normalize_axes(axis, builtins.min(x.ndim, y.ndim))
    if x.shape[axis] != y.shape[axis]:
        raise InputError(f"axis {axis} of {x.shape} and {y.shape} differs", fix="give axes of equal extents")
    return arrays.sum_of_products(x, y, axis)


def isnan(x: Any, /) -> LazyTensor:
    """Whether elements are NaN, which alone differs from itself."""
    return not_equal(x, x)


def isinf(x: Any, /) -> LazyTensor:
    """Whether elements are infinite."""
    return logical_or(equal(x, inf), equal(x, -inf))


def isfinite(x: Any, /) -> LazyTensor:
    """Whether elements are neither infinite nor NaN."""
    return logical_and(less(x, inf), greater(x, -inf))


def sign(x: Any, /) -> LazyTensor:
    """1, -1 or 0, as elements are above, below or 0; NaN of NaN."""
    x = lazy(x)
    if x.dtype == bool:
        raise InputError(arrays.UNSIGNED, fix="use astype(x, int64)")
    return where(x > 0, 1, where(x < 0, -1, x))


def clip(x: Any, /, min: Any = None, max: Any = None) -> LazyTensor:
    """Elements that are no less than one bound, and no more than another."""
    x = lazy(x)
    x = x if min is None else maximum(x, min)
    return x if max is None else minimum(x, max)


def floor(x: Any, /) -> LazyTensor:
    """The greatest integer that is not above."""
    x = lazy(x)
    return where(isfinite(x), x // 1, x) if x.dtype == float64 else x


def ceil(x: Any, /) -> LazyTensor:
    """The least integer that is not below."""
    x = lazy(x)
    return negative(floor(negative(x))) if x.dtype == float64 else x


def trunc(x: Any, /) -> LazyTensor:
    """The next integer towards 0."""
    x = lazy(x)
    return where(x < 0, ceil(x), floor(x)) if x.dtype == float64 else x


def reciprocal(x: Any, /) -> LazyTensor:
    """1 divided by elements, of which none is 0."""
    return divide(1, x)


def astype(x: Any, dtype: Any, /) -> LazyTensor:
    """The elements as doubles, or booleans or integers that they are equal to. InputError: as integers, if doubles."""
    array, wanted = lazy(x), _dtype(dtype)
    if array.dtype == wanted:
        return array
    if wanted == int64 and array.dtype == float64:
        raise InputError("the language makes no integers of doubles", fix="compute it, and use NumPy's astype")
    return not_equal(array, 0) if wanted == bool else add(array, 0.0 if wanted == float64 else 0)


def _dtype(dtype: Any) -> np.dtype[Any]:
    """A type of elements. InputError if lazy arrays have none such."""
    found: np.dtype[Any]
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found not in (int64, float64, bool):
        raise InputError(f"{dtype} is no type of lazy arrays", fix="use int64, float64 or bool")
    return found


def _filling(value: Truth | int | float, dtype: Any) -> np.ndarray:
    """A value of a type of elements, or of its own. InputError if it is not one."""
    given = np.asarray(value)
    wanted = _dtype(given.dtype if dtype is None else dtype)
    if given.dtype.kind not in "biuf" or (wanted == int64 and not np.isfinite(given)):
        raise InputError(f"{value} is no {wanted}", fix="choose another dtype")
    return given.astype(wanted)


# --------------------------------------------------------------------------------------------------------- new arrays


def full(shape: Shape, fill_value: Truth | int | float, *, dtype: Any = None) -> LazyTensor:
    """An array with one value everywhere, which is kept once."""
    return broadcast_to(_filling(fill_value, dtype), shape)


def zeros(shape: Shape, *, dtype: Any = None) -> LazyTensor:
    """An array of zeros, doubles by default."""
    return full(shape, 0, dtype=float64 if dtype is None else dtype)


def ones(shape: Shape, *, dtype: Any = None) -> LazyTensor:
    """An array of ones, doubles by default."""
    return full(shape, 1, dtype=float64 if dtype is None else dtype)


def full_like(x: Any, /, fill_value: Truth | int | float, *, dtype: Any = None) -> LazyTensor:
    """One value, in the shape of an array, and with its type of elements."""
    x = lazy(x)
    return arrays.full_like(x, _filling(fill_value, x.dtype if dtype is None else dtype).item())


def zeros_like(x: Any, /, *, dtype: Any = None) -> LazyTensor:
    """Zeros in the shape of an array."""
    return full_like(x, 0, dtype=dtype)


def ones_like(x: Any, /, *, dtype: Any = None) -> LazyTensor:
    """Ones in the shape of an array."""
    return full_like(x, 1, dtype=dtype)


def broadcast_to(x: Any, /, shape: Shape) -> LazyTensor:
    """An array as one of a shape that it is broadcast to. InputError if it is not."""
    x, wanted = lazy(x), _extents(shape)
    if broadcast([x.shape, wanted]) != wanted:
        raise InputError(f"the shape {x.shape} is not broadcast to {wanted}", fix="use axes of equal extents, or of 1")
    return x if x.shape == wanted else where(_everywhere(wanted), x, x)


def _extents(shape: Shape) -> tuple[int, ...]:
    """A shape. InputError if it is none."""
    try:
        found = tuple(map(index, (shape,) if isinstance(shape, SupportsIndex) else shape))
    except TypeError:
        found = (-1,)
    if builtins.any(n < 0 for n in found) or math.prod(n or 1 for n in found) >= 2**63:
        raise InputError(f"{shape} is no shape", fix="use whole numbers, 0 or greater, whose product is below 2**63")
    return found


def _everywhere(shape: tuple[int, ...]) -> LazyTensor:
    """True at each index of a shape: its fill value is, so it has no entries, and takes no memory."""
    form = f"{f'{usual.ASCENDING}(' * len(shape)}{usual.LEAF}(true){')' * len(shape)}"
    return lazy(Tensor.from_scipy(form, with_fill(scipy.sparse.coo_array(shape, dtype=np.bool_), True)))


# --------------------------------------------------------------------------------------------------------------- axes


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
    "abs", "add", "all", "any", "asarray", "astype", "bitwise_and", "bitwise_invert", "bitwise_left_shift",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool", "broadcast_to", "ceil", "clip", "count_nonzero",
    "divide", "e", "equal", "expand_dims", "float64", "floor", "floor_divide", "full", "full_like", "greater",
    "greater_equal", "inf", "int64", "isfinite", "isinf", "isnan", "less", "less_equal", "logical_and", "logical_not",
    "logical_or", "logical_xor", "matmul", "matrix_transpose", "max", "maximum", "mean", "min", "minimum", "multiply",
    "nan", "negative", "not_equal", "ones", "ones_like", "permute_dims", "pi", "positive", "pow", "prod", "reciprocal",
    "remainder", "sign", "square", "squeeze", "subtract", "sum", "tensordot", "trunc", "var", "vecdot", "where",
    "zeros", "zeros_like",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
