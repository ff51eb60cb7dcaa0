"""Python's operators for arrays, by the operators of the language that join their elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import index
from typing import Any, Self, SupportsIndex

from numpy.lib.mixins import NDArrayOperatorsMixin

from wingspan.base.errors import InputError
from wingspan.base.libraries import np

POWERS = 8
"""The largest exponent: a power is a product."""

OPERATORS = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.floor_divide: "÷", np.remainder: "%",
    np.bitwise_and: "&", np.bitwise_or: "|", np.bitwise_xor: "⊻", np.left_shift: "<<", np.right_shift: ">>",
    np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">=", np.equal: "==", np.not_equal: "!=",
    np.negative: "-", np.absolute: "abs", np.invert: "~",
}  # fmt: skip
"""NumPy's functions behind Python's operators, as operators of the language."""


IRRATIONAL = {
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh",
    "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "exp", "exp2", "expm1", "hypot", "log", "log10", "log1p",
    "log2", "logaddexp", "logaddexp2", "sin", "sinh", "sqrt", "std", "tan", "tanh",
}  # fmt: skip
"""Functions of NumPy whose values are seldom rationals."""

BY_VALUE = {
    "argpartition", "argsort", "partition", "searchsorted", "sort", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
}  # fmt: skip
"""Functions of NumPy that need elements in the order of their values."""


class UnsupportedFunction(InputError, AttributeError, TypeError):
    """A function of NumPy that lazy arrays lack."""


def missing_function(name: str) -> UnsupportedFunction:
    """The one refusal of a function of NumPy: why it is missing, and what to write instead."""
    reason = ""
    if name in IRRATIONAL:
        reason = ": the rules and the reference compute exact rationals, and its values are seldom any"
    elif name in BY_VALUE:
        reason = ": no loop of the language takes elements in the order of their values"
    fix = f"compute it, and go on with NumPy: numpy.{name}(numpy.asarray(x))"
    return UnsupportedFunction(f"lazy arrays have no {name}{reason}", fix=fix)


class Operators(NDArrayOperatorsMixin, ABC):
    """Gives arrays the operators of NumPy's arrays, and the functions of NumPy behind them."""

    @abstractmethod
    def _elementwise(self, op: str, *arrays: Any) -> Self:
        """An operator of the language applied to the elements of arrays and numbers, which broadcast."""

    @abstractmethod
    def _power(self, exponent: int) -> Self:
        """A product of so many arrays, all of them this one; ones if there are none."""

    @abstractmethod
    def _matmul(self, x: Any, y: Any) -> Self:
        """The product of matrices."""

    @abstractmethod
    def __pos__(self) -> Self:
        """The array, if its elements have signs."""

    def __array_ufunc__(
        self, function: np.ufunc, method: str, *arrays: Any, out: tuple[Any, ...] | None = None, **options: Any
    ) -> Any:
        """Apply an operator. `x += y` binds x to a new array; no array is written to."""
        if method != "__call__" or options or not (out is None or out[0] is arrays[0] is self):
            return NotImplemented
        if function in OPERATORS:
            return self._elementwise(OPERATORS[function], *arrays)
        if function is np.matmul:
            return self._matmul(*arrays)
        if function is np.power:
            return self._power(_exponent(arrays[1]))
        if function is np.positive:
            return +self
        raise missing_function(function.__name__)


def _exponent(given: Any) -> int:
    whole = isinstance(given, SupportsIndex) and not isinstance(given, bool | np.ndarray | Operators)
    if not whole or index(given) not in range(POWERS + 1):
        raise InputError(f"the exponent {given!r}", fix=f"use an integer from 0 to {POWERS}")
    return index(given)
