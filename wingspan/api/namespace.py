"""Functions of the array API standard for lazy arrays, under the names and with the arguments that it gives them.

See https://data-apis.org/array-api/latest. `missing_function` refuses what is not here, with the reason if the language
lacks it, as it lacks a square root.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, SupportsIndex

from wingspan.api import arrays, indexing
from wingspan.api.arrays import Axis, LazyTensor, elementwise, lazy, logical, matmul, tensordot, where
from wingspan.api.operators import missing_function
from wingspan.api.shapes import broadcast, normalize_axes
from wingspan.base.errors import InputError
from wingspan.base.libraries import np

__array_api_version__ = "2024.12"

inf, nan, pi, e, newaxis = math.inf, math.nan, math.pi, math.e, None
int64, float64 = np.dtype(np.int64), np.dtype(np.float64)
bool = np.dtype(np.bool_)

Shape = int | tuple[int, ...]
Truth = builtins.bool
Operator = Callable[..., LazyTensor]


def _unary(op: str, meaning: Operator = elementwise) -> Operator:
    """An operator as a function, with the parameter that the standard gives it."""
    return lambda x, /: meaning(op, x)


def _binary(op: str, meaning: Operator = elementwise) -> Operator:
    """An operator as a function, with the parameters that the standard gives it."""
    return lambda x1, x2, /: meaning(op, x1, x2)


add = _binary("+")
subtract = _binary("-")
multiply = _binary("*")
divide = _binary("/")
floor_divide = _binary("÷")
remainder = _binary("%")
minimum = _binary("min")
maximum = _binary("max")
negative = _unary("-")
abs = _unary("abs")
equal = _binary("==")
not_equal = _binary("!=")
less = _binary("<")
less_equal = _binary("<=")
greater = _binary(">")
greater_equal = _binary(">=")
logical_and = _binary("&&", logical)
logical_or = _binary("||", logical)
logical_not = _unary("!", logical)
bitwise_and = _binary("&")
bitwise_or = _binary("|")
bitwise_xor = _binary("⊻")
bitwise_invert = _unary("~")
bitwise_left_shift = _binary("<<")
bitwise_right_shift = _binary(">>")


def logical_xor(x: Any, y: Any, /) -> LazyTensor:
    """Whether one is true and the other is not."""
    return elementwise("!=", logical_not(x), logical_not(y))


def asarray(x: Any, /, *, dtype: Any = None, device: Any = None, copy: Truth | None = None) -> LazyTensor:
    """An array, a number or nested lists of numbers as a lazy array. Only with `copy` may it change afterwards."""
    _require_cpu(device)
    if not isinstance(x, LazyTensor) and (copy or isinstance(x, list | tuple)):
        x = np.array(x) if isinstance(x, list | tuple) else x.copy() if hasattr(x, "copy") else x
        x = x.astype(float64) if x.size == 0 and dtype is None and x.dtype == object else x
    return lazy(x) if dtype is None else astype(x, dtype)


def _require_cpu(device: Any) -> None:
    """InputError if lazy arrays are not on such a device."""
    if device not in (None, "cpu"):
        raise InputError(f"there is no device {device!r}", fix="use 'cpu', or leave device= away")


def pow(x: Any, exponent: int, /) -> LazyTensor:
    """A power with an exponent from 0 to 8."""
    made: LazyTensor = lazy(x) ** exponent
    return made


def square(x: Any, /) -> LazyTensor:
    """The square."""
    return pow(x, 2)


def conj(x: Any, /) -> LazyTensor:
    """The same array: no element is complex."""
    return lazy(x)


def positive(x: Any, /) -> LazyTensor:
    """The same array. InputError if it has booleans."""
    return +lazy(x)


def sum(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: Truth = False) -> LazyTensor:
    """The sum over some axes, or all."""
    return _as_type(x, dtype).sum(axis, keepdims)


def prod(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: Truth = False) -> LazyTensor:
    """The product over some axes, or all."""
    return _as_type(x, dtype).prod(axis, keepdims)


def _as_type(x: Any, dtype: Any) -> LazyTensor:
    return lazy(x) if dtype is None else astype(x, dtype)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: Truth = False
) -> LazyTensor:
    """At each index of an axis, the sum of the elements up to it; with `include_initial`, a 0 before them."""
    return indexing.reduce_beginnings("+", _as_type(x, dtype), axis, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: Truth = False
) -> LazyTensor:
    """At each index of an axis, the product of the elements up to it; with `include_initial`, a 1 before them."""
    return indexing.reduce_beginnings("*", _as_type(x, dtype), axis, include_initial)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: Truth = False) -> LazyTensor:
    """The index of the least element: the first of several, and the first NaN if there is one."""
    return lazy(x).argmin(axis, keepdims)


def argmax(x: Any, /, *, axis: int | None = None, keepdims: Truth = False) -> LazyTensor:
    """The index of the greatest element: the first of several, and the first NaN if there is one."""
    return lazy(x).argmax(axis, keepdims)


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
    return where(x > 0, 1, where(x < 0, -1, where(x == 0, 0, x)))


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


def astype(x: Any, dtype: Any, /, *, copy: Truth = True, device: Any = None) -> LazyTensor:
    """The elements as doubles, or booleans or integers that they are equal to. InputError: as integers, if doubles."""
    _require_cpu(device)
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


def full(shape: Shape, fill_value: Truth | int | float, *, dtype: Any = None, device: Any = None) -> LazyTensor:
    """An array with one value everywhere, which is kept once."""
    _require_cpu(device)
    return broadcast_to(_filling(fill_value, dtype), shape)


def zeros(shape: Shape, *, dtype: Any = None, device: Any = None) -> LazyTensor:
    """An array of zeros, doubles by default."""
    return full(shape, 0, dtype=float64 if dtype is None else dtype, device=device)


def ones(shape: Shape, *, dtype: Any = None, device: Any = None) -> LazyTensor:
    """An array of ones, doubles by default."""
    return full(shape, 1, dtype=float64 if dtype is None else dtype, device=device)


def empty(shape: Shape, *, dtype: Any = None, device: Any = None) -> LazyTensor:
    """An array of any values, which are zeros."""
    return zeros(shape, dtype=dtype, device=device)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> LazyTensor:
    """An array of any values in the shape of an array."""
    return zeros_like(x, dtype=dtype, device=device)


def full_like(x: Any, /, fill_value: Truth | int | float, *, dtype: Any = None, device: Any = None) -> LazyTensor:
    """One value, in the shape of an array, and with its type of elements."""
    _require_cpu(device)
    x = lazy(x)
    return arrays.full_like(x, _filling(fill_value, x.dtype if dtype is None else dtype).item())


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> LazyTensor:
    """Zeros in the shape of an array."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> LazyTensor:
    """Ones in the shape of an array."""
    return full_like(x, 1, dtype=dtype, device=device)


def broadcast_to(x: Any, /, shape: Shape) -> LazyTensor:
    """An array as one of a shape that it is broadcast to. InputError if it is not."""
    x, wanted = lazy(x), _extents(shape)
    if broadcast([x.shape, wanted]) != wanted:
        raise InputError(f"the shape {x.shape} is not broadcast to {wanted}", fix="use axes of equal extents, or of 1")
    return x if x.shape == wanted else where(indexing.everywhere(wanted), x, x)


def _extents(shape: Shape) -> tuple[int, ...]:
    """A shape. InputError if it is none."""
    try:
        found = tuple(map(index, (shape,) if isinstance(shape, SupportsIndex) else shape))
    except TypeError:
        found = (-1,)
    if builtins.any(n < 0 for n in found) or math.prod(n or 1 for n in found) >= 2**63:
        raise InputError(f"{shape} is no shape", fix="use whole numbers, 0 or greater, whose product is below 2**63")
    return found


# --------------------------------------------------------------------------------------------------------------- axes


def permute_dims(x: Any, /, axes: Sequence[int]) -> LazyTensor:
    """The array with its axes in another order."""
    return arrays.permute_dims(lazy(x), axes)


def matrix_transpose(x: Any, /) -> LazyTensor:
    """The array with its last two axes exchanged."""
    return lazy(x).mT


def expand_dims(x: Any, /, axis: int = 0) -> LazyTensor:
    """The array with one more axis, of extent 1, at a place."""
    return arrays.expand_dims(lazy(x), axis)


def squeeze(x: Any, /, axis: int | Sequence[int]) -> LazyTensor:
    """The array without some axes of extent 1."""
    return arrays.squeeze(lazy(x), axis)


def reshape(x: Any, /, shape: Shape, *, copy: Truth | None = None) -> LazyTensor:
    """The array with axes that are split, or joined with those beside them, in row-major order; -1 is what is left."""
    return indexing.reshape(lazy(x), shape, copy)


def moveaxis(x: Any, source: Axis, destination: Axis, /) -> LazyTensor:
    """The array with some axes at other places, and the rest in its order."""
    x = lazy(x)
    ends = [normalize_axes((0 if axes is None else axes), x.ndim) for axes in (source, destination)]
    if len(ends[0]) != len(ends[1]):
        raise InputError(f"axes {ends[0]} cannot be moved to {ends[1]}", fix="give as many places as axes")
    order = [axis for axis in range(x.ndim) if axis not in ends[0]]
    for place, axis in sorted(zip(ends[1], ends[0], strict=True)):
        order.insert(place, axis)
    return permute_dims(x, order)


def flip(x: Any, /, *, axis: Axis = None) -> LazyTensor:
    """The array with the opposite order of indices of some axes, or all."""
    x = lazy(x)
    axes = range(x.ndim) if axis is None else normalize_axes(axis, x.ndim)
    return indexing.select(x, tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(x.ndim)))


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> LazyTensor:
    """The parts at some indices of an axis, which only vectors may leave out."""
    x = lazy(x)
    if axis is None and x.ndim != 1:
        raise InputError(f"an array with axes {x.shape} has no one axis to take from", fix="give axis=…")
    (axis,) = normalize_axes(0 if axis is None else axis, x.ndim)
    return indexing.select(x, (slice(None),) * axis + (np.asarray(indices),))


def broadcast_arrays(*arrays: Any) -> list[LazyTensor]:
    """Arrays as ones of the shape that all of them are broadcast to."""
    terms = [lazy(array) for array in arrays]
    shape = broadcast([term.shape for term in terms])
    return [broadcast_to(term, shape) for term in terms]


# -------------------------------------------------------------------------------------------------- types of elements


def _type_of(x: Any) -> np.dtype[Any]:
    """The type of an array's elements, or a type."""
    return x.dtype if isinstance(x, LazyTensor) else _dtype(x)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The type of what is computed of arrays, types, and numbers beside them: a double if any of them is one."""
    found = [np.dtype(type(x)) if isinstance(x, builtins.bool | int | float) else _type_of(x)
             for x in arrays_and_dtypes]  # fmt: skip
    if not found:
        raise InputError("there is no type of nothing", fix="give an array or a type")
    return builtins.max(found, key=[bool, int64, float64].index)


def can_cast(from_: Any, to: Any, /) -> Truth:
    """Whether elements of a type, or of an array, are those of another type."""
    order = [bool, int64, float64]
    return order.index(_type_of(from_)) <= order.index(_dtype(to))


def isdtype(dtype: Any, kind: Any) -> Truth:
    """Whether a type is another one, or of a kind such as "integral", or of one of several."""
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, each) for each in kind)
    if not isinstance(kind, str):
        return Truth(dtype == kind)
    if kind not in KINDS:
        raise InputError(f"{kind!r} is no kind of types", fix=f"use one of {', '.join(KINDS)}")
    return np.dtype(dtype).kind in KINDS[kind]


KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "c", "numeric": "iufc",
}  # fmt: skip
"""The kinds of types, by the letters that NumPy has for them."""


def finfo(type: Any, /) -> Any:
    """The limits of a type of doubles, or of that of an array, as NumPy gives them."""
    return np.finfo(type.dtype if isinstance(type, LazyTensor) else type)


def iinfo(type: Any, /) -> Any:
    """The limits of a type of integers, or of that of an array, as NumPy gives them."""
    return np.iinfo(type.dtype if isinstance(type, LazyTensor) else type)


class NamespaceInfo:
    """The types and devices of lazy arrays."""

    def capabilities(self) -> dict[str, Any]:
        """The parts of the standard that are optional. Masks are computed at once."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """The device of new arrays."""
        return "cpu"

    def devices(self) -> list[str]:
        """All devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The types of new arrays. There are no complex numbers."""
        _require_cpu(device)
        return {"real floating": float64, "complex floating": None, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """All types, or those of a kind, by name."""
        _require_cpu(device)
        found = {"bool": bool, "int64": int64, "float64": float64}
        return {name: each for name, each in found.items() if kind is None or isdtype(each, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """The types and devices of lazy arrays."""
    return NamespaceInfo()


__all__ = [
    "abs", "add", "all", "any", "argmax", "argmin", "asarray", "astype", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool", "broadcast_arrays",
    "broadcast_to", "can_cast", "ceil", "clip", "count_nonzero", "cumulative_prod", "cumulative_sum", "divide",
    "e", "empty", "empty_like", "equal", "expand_dims", "finfo", "flip", "float64", "floor", "floor_divide",
    "full", "full_like", "greater", "greater_equal", "iinfo", "inf", "int64", "isdtype", "isfinite", "isinf",
    "isnan", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul",
    "matrix_transpose", "max", "maximum", "mean", "min", "minimum", "moveaxis", "multiply", "nan", "negative",
    "newaxis", "not_equal", "ones", "ones_like", "permute_dims", "pi", "positive", "pow", "prod", "reciprocal",
    "remainder", "reshape", "result_type", "sign", "square", "squeeze", "subtract", "sum", "take", "tensordot",
    "trunc", "var", "vecdot", "where", "zeros", "zeros_like",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """AttributeError for what there is not: that of `missing_function` if NumPy has it."""
    there = None if name.startswith("_") else getattr(np, name, None)
    if callable(there) and not isinstance(there, type):
        raise missing_function(name)
    raise AttributeError(f"module {__name__} has no {name}", name=name)
