"""Sparse arrays of SciPy, https://scipy.org."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse

from wingspan.tensors.tensor import Coordinates
from wingspan.testing.array_engine import ArrayEngine
from wingspan.testing.peers.library import zero_filled


class SciPy(ArrayEngine):
    """COO arrays, and what SciPy makes of them. It broadcasts few operations itself, so the engine repeats elements."""

    def __init__(self, duplicates: bool = False) -> None:
        super().__init__("scipy", _make, FUNCTIONS, _dense, duplicates)


def _make(stored: Coordinates) -> Any:
    given = zero_filled(stored)
    if not given.shape:
        raise NotImplementedError("arrays without axes")
    return scipy.sparse.coo_array((given.values, tuple(given.subscripts)), shape=given.shape)


def _dense(array: Any) -> Any:
    return array.toarray() if scipy.sparse.issparse(array) else array


def _broadcast(array: Any, shape: Sequence[int]) -> Any:
    """The array with its elements repeated along axes of extent 1."""
    coo = array.tocoo()
    coords, values = np.array(coo.coords), coo.data
    for axis, extent in enumerate(shape):
        if array.shape[axis] == 1 != extent:
            at = np.repeat(np.arange(extent), len(values))
            coords, values = np.tile(coords, extent), np.tile(values, extent)
            coords[axis] = at
    return scipy.sparse.coo_array((values, tuple(coords)), shape=tuple(shape))


def _elementwise(method: str, one: Any, other: Any) -> Any:
    """A method of arrays, both with all axes."""
    if not scipy.sparse.issparse(one):
        raise NotImplementedError(f"{method} of a number and an array")
    if scipy.sparse.issparse(other) and one.shape != other.shape:
        shape = np.broadcast_shapes(one.shape, other.shape)
        one, other = (_broadcast(each, shape) if each.shape != shape else each for each in (one, other))
    return getattr(one, method)(other)


def _reduction(method: str) -> Callable[..., Any]:
    return lambda array, axis: getattr(array, method)(axis=axis)


FUNCTIONS = SimpleNamespace(
    add=partial(_elementwise, "__add__"),
    subtract=partial(_elementwise, "__sub__"),
    multiply=partial(_elementwise, "multiply"),
    minimum=partial(_elementwise, "minimum"),
    maximum=partial(_elementwise, "maximum"),
    negative=lambda array: -array,
    sum=_reduction("sum"),
    min=_reduction("min"),
    max=_reduction("max"),
    tensordot=lambda one, other, axes: one.tensordot(other, axes=axes),
    permute_dims=lambda array, axes: array.transpose(axes),
    expand_dims=scipy.sparse.expand_dims,
)
