"""Tensors with their axes in another order than their levels have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from wingspan.lang import ir
from wingspan.tensors.tensor import Coordinates, Tensor

Order = tuple[int, ...]
"""The axes of a tensor, from 0, that of the root level first."""


@dataclass(frozen=True, eq=False, repr=False)
class Transposed:
    """A tensor whose axis k is axis `axes[k]` of what is stored. Nothing is moved until another order is needed.

    Attributes:
        stored: the tensor that is kept.
        axes: its axes, from 0, in the order that they have here.
    """

    stored: Tensor
    axes: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(self.stored.shape[axis] for axis in self.axes)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.axes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements in arrays."""
        return self.stored.tower.dtype

    @property
    def nnz(self) -> int:
        """The number of stored elements."""
        return self.stored.nnz

    @property
    def fill(self) -> ir.Value:
        """The value of every element that is not stored, exact."""
        return self.stored.fill

    @property
    def order(self) -> Order:
        """The axes, that of the root level first."""
        return tuple(self.axes.index(axis) for axis in reversed(range(len(self.axes))))

    def to_numpy(self) -> np.ndarray:
        """The dense array, as `Tensor.to_numpy`."""
        return self.stored.to_numpy().transpose(self.axes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The same for NumPy: `np.asarray`."""
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    def __float__(self) -> float:
        """The element of a tensor without axes. TypeError if it has some."""
        return float(self.stored)

    def to_scipy(self) -> Any:
        """The stored elements as a SciPy sparse array: CSC or CSR for matrices, as their levels are; else COO.

        Raises:
            ValueError: the fill value is not zero, or there are no axes.
        """
        return transposed(self.stored.to_scipy(), self.axes)

    def to_coo(self) -> Coordinates:
        """The stored elements, as `Tensor.to_coo`, in the order in which they are stored."""
        found = self.stored.to_coo()
        return found._replace(subscripts=found.subscripts[list(self.axes)], shape=self.shape)

    def tensor(self, form: str) -> Tensor:
        """What is stored as a tensor with its axes in this order, in a format with the same fill value."""
        return reordered(self.stored, self.axes, form)


def transposed(matrix: Any, axes: Sequence[int]) -> Any:
    """A SciPy sparse array with its axes in this order; nothing is sorted."""
    if tuple(axes) == tuple(range(matrix.ndim)):
        return matrix
    return matrix.T if matrix.ndim == 2 else matrix.transpose(axes)


def reordered(tensor: Tensor, axes: Sequence[int], form: str) -> Tensor:
    """What a tensor stores, with its axes in another order, in a format with the same fill value."""
    at, values, _, shape = tensor.to_coo()
    if not shape:
        return Tensor.from_numpy(form, tensor.to_numpy())
    coo = scipy.sparse.coo_array((values, tuple(at[axis] for axis in axes)), shape=[shape[axis] for axis in axes])
    return Tensor.from_scipy(form, coo, borrow=True)
