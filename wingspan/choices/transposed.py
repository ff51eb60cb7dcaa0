"""Tensors with their axes in another order than their levels have them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np, scipy
from wingspan.lang import ir
from wingspan.tensors.foreign import Filled
from wingspan.tensors.formats import parse_format
from wingspan.tensors.scipy_arrays import coo_array, csc_array
from wingspan.tensors.tensor import Coordinates, Tensor

Order = tuple[int, ...]
"""The axes of a tensor, from 0, that of the root level first."""


@dataclass(frozen=True, eq=False, repr=False)
class Transposed:
    """A tensor whose axis k is axis `axes[k]` of what is stored. Nothing is moved until another order is needed.

    Attributes:
        stored: the tensor that is kept.
        axes: its axes, from 0, in the order that they have here, each once. None is an axis of extent 1 that it lacks.
    """

    stored: Tensor
    axes: tuple[int | None, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(1 if axis is None else self.stored.shape[axis] for axis in self.axes)

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
    def order(self) -> Order | None:
        """The axes, that of the root level first; None if one has no level."""
        if None in self.axes:
            return None
        return tuple(self.axes.index(axis) for axis in reversed(range(len(self.axes))))

    def to_numpy(self) -> np.ndarray:
        """The dense array, as `Tensor.to_numpy`."""
        array = self.stored.to_numpy().transpose([axis for axis in self.axes if axis is not None])
        return np.expand_dims(array, tuple(k for k, axis in enumerate(self.axes) if axis is None))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The same for NumPy: `np.asarray`."""
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    def __float__(self) -> float:
        """The element of a tensor without axes. TypeError if it has some."""
        return float(self.stored)

    def __int__(self) -> int:
        """The same, towards zero."""
        return int(self.stored)

    def to_scipy(self) -> Any:
        """The stored elements as a SciPy sparse array: CSC or CSR for matrices, as their levels are; else COO.

        Raises:
            ValueError: the fill value is not zero, or there are no axes.
        """
        kept = [axis for axis in self.axes if axis is not None]
        found = transpose_matrix(self.stored.to_scipy(), kept)
        return found if len(kept) == len(self.axes) else self._coo()

    def to_coo(self) -> Coordinates:
        """The stored elements, as `Tensor.to_coo`, in the order in which they are stored."""
        found = self.stored.to_coo()
        one: np.ndarray = np.zeros(len(found.values), dtype=np.int64)
        rows = [one if axis is None else found.subscripts[axis] for axis in self.axes]
        return found._replace(subscripts=np.array(rows, dtype=np.int64).reshape(len(rows), -1), shape=self.shape)

    def _coo(self) -> Any:
        at, values, _, shape = self.to_coo()
        return scipy.sparse.coo_array((values, tuple(at)), shape=shape)

    def tensor(self, form: str) -> Tensor:
        """The stored tensor with its axes in this order, in a format with the same fill value."""
        if not self.axes:
            return Tensor.from_numpy(as_format(form), self.stored.to_numpy())
        return Tensor.from_scipy(as_format(form), Filled(self._coo(), self.fill), borrow=True)


as_format = lru_cache(maxsize=1000)(parse_format)
"""A format from its text. To parse it takes longer than a small kernel."""


def turn_around(data: Any, order: Order) -> Any:
    """The user's array so that its last axis is `order[0]`, the one before it `order[1]` and so on, with the same
    memory; None if it lies in another order, or is no array of NumPy or SciPy.
    """
    if type(data) is np.ndarray:
        return data if len(order) < 2 else data.transpose(order[::-1])
    form, axes = getattr(data, "format", ""), tuple(range(len(order)))
    if form == "coo":
        shape = data.shape
        return coo_array(data.data, [data.coords[axis] for axis in order[::-1]], tuple([shape[n] for n in order[::-1]]))
    if form == "csr" and order == axes:
        return csc_array(data.data, data.indices, data.indptr, data.shape[::-1])
    return data if form == "csc" and order == axes[::-1] else None


def transpose_matrix(matrix: Any, axes: Sequence[int]) -> Any:
    """A SciPy sparse array with its axes in this order; nothing is sorted."""
    if tuple(axes) == tuple(range(matrix.ndim)):
        return matrix
    return matrix.T if matrix.ndim == 2 else matrix.transpose(axes)
