"""Python's operators for arrays, by the operators of the language that join their elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self, SupportsIndex

import numpy as np

from wingspan.base.errors import InputError

POWERS = 8
"""The largest exponent: a power is a product."""


class Operators(ABC):
    """Gives arrays the operators of NumPy's arrays."""

    __array_ufunc__ = None  # NumPy's arrays leave operators with lazy ones to these

    @abstractmethod
    def _joined(self, op: str, *arrays: Any) -> Self:
        """An operator of the language applied to the elements of arrays and numbers, which broadcast."""

    @abstractmethod
    def _power(self, exponent: int) -> Self:
        """A product of so many arrays, all of them this one; ones if there are none."""

    @abstractmethod
    def _multiplied(self, x: Any, y: Any) -> Self:
        """The product of matrices."""

    def __add__(self, other: Any) -> Self:
        return self._joined("+", self, other)

    def __radd__(self, other: Any) -> Self:
        return self._joined("+", other, self)

    def __sub__(self, other: Any) -> Self:
        return self._joined("-", self, other)

    def __rsub__(self, other: Any) -> Self:
        return self._joined("-", other, self)

    def __mul__(self, other: Any) -> Self:
        return self._joined("*", self, other)

    def __rmul__(self, other: Any) -> Self:
        return self._joined("*", other, self)

    def __truediv__(self, other: Any) -> Self:
        return self._joined("/", self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._joined("/", other, self)

    def __floordiv__(self, other: Any) -> Self:
        return self._joined("÷", self, other)

    def __rfloordiv__(self, other: Any) -> Self:
        return self._joined("÷", other, self)

    def __mod__(self, other: Any) -> Self:
        return self._joined("%", self, other)

    def __rmod__(self, other: Any) -> Self:
        return self._joined("%", other, self)

    def __pow__(self, exponent: SupportsIndex) -> Self:
        whole = isinstance(exponent, SupportsIndex) and not isinstance(exponent, bool | np.ndarray)
        if not whole or not 0 <= exponent.__index__() <= POWERS:
            raise InputError(f"the exponent {exponent!r}", fix=f"use an integer from 0 to {POWERS}")
        return self._power(exponent.__index__())

    def __matmul__(self, other: Any) -> Self:
        return self._multiplied(self, other)

    def __rmatmul__(self, other: Any) -> Self:
        return self._multiplied(other, self)

    def __and__(self, other: Any) -> Self:
        return self._joined("&", self, other)

    def __rand__(self, other: Any) -> Self:
        return self._joined("&", other, self)

    def __or__(self, other: Any) -> Self:
        return self._joined("|", self, other)

    def __ror__(self, other: Any) -> Self:
        return self._joined("|", other, self)

    def __xor__(self, other: Any) -> Self:
        return self._joined("⊻", self, other)

    def __rxor__(self, other: Any) -> Self:
        return self._joined("⊻", other, self)

    def __lshift__(self, other: Any) -> Self:
        return self._joined("<<", self, other)

    def __rlshift__(self, other: Any) -> Self:
        return self._joined("<<", other, self)

    def __rshift__(self, other: Any) -> Self:
        return self._joined(">>", self, other)

    def __rrshift__(self, other: Any) -> Self:
        return self._joined(">>", other, self)

    def __lt__(self, other: Any) -> Self:
        return self._joined("<", self, other)

    def __le__(self, other: Any) -> Self:
        return self._joined("<=", self, other)

    def __gt__(self, other: Any) -> Self:
        return self._joined(">", self, other)

    def __ge__(self, other: Any) -> Self:
        return self._joined(">=", self, other)

    def __eq__(self, other: Any) -> Self:  # type: ignore[override]
        return self._joined("==", self, other)

    def __ne__(self, other: Any) -> Self:  # type: ignore[override]
        return self._joined("!=", self, other)

    def __neg__(self) -> Self:
        return self._joined("-", self)

    @abstractmethod
    def __pos__(self) -> Self:
        """The array, if its elements have signs."""

    def __abs__(self) -> Self:
        return self._joined("abs", self)

    def __invert__(self) -> Self:
        return self._joined("~", self)

    def __bool__(self) -> bool:
        raise TypeError("a lazy array is neither true nor false: compute it first")
