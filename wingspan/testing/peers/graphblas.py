"""Matrices and vectors of python-graphblas, https://python-graphblas.readthedocs.io."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from wingspan.tensors.tensor import Coordinates
from wingspan.testing.array_engine import ArrayEngine
from wingspan.testing.peers.library import library, zero_filled


class GraphBLAS(ArrayEngine):
    """Matrices and vectors: what is not stored counts as zero. Products repeat a matrix of one row or column."""

    def __init__(self, duplicates: bool = False) -> None:
        gb = library("graphblas", "python-graphblas")
        super().__init__("graphblas", partial(_make, gb), _functions(gb), _dense, duplicates)


def _make(gb: Any, stored: Coordinates) -> Any:
    given = zero_filled(stored)
    match given.shape:
        case (rows, columns):
            size = {"nrows": rows, "ncols": columns}
            return gb.Matrix.from_coo(*given.subscripts, given.values, **size, dup_op=gb.binary.plus)
        case (extent,):
            return gb.Vector.from_coo(given.subscripts[0], given.values, size=extent, dup_op=gb.binary.plus)
    raise NotImplementedError("arrays with other than one or two axes")


def _dense(array: Any) -> Any:
    if array.ndim == 0:
        return array.get(0)
    return array.to_dense(fill_value=0)


def _functions(gb: Any) -> SimpleNamespace:
    """The functions that ArrayEngine calls, by the operations of GraphBLAS."""

    def repeat(array: Any, shape: tuple[int, int]) -> Any:
        if array.shape[0] == 1 != shape[0]:
            array = gb.Matrix.from_dense(np.ones((shape[0], 1), np.int64)).mxm(array, gb.semiring.any_second).new()
        if array.shape[1] == 1 != shape[1]:
            array = array.mxm(gb.Matrix.from_dense(np.ones((1, shape[1]), np.int64)), gb.semiring.any_first).new()
        return array

    def both(one: Any, other: Any) -> tuple[Any, Any]:
        if not hasattr(one, "ndim") or not hasattr(other, "ndim"):
            raise NotImplementedError("a number and an array")
        if one.shape == other.shape:
            return one, other
        shape = np.broadcast_shapes(one.shape, other.shape)
        return repeat(one, shape), repeat(other, shape)

    def union(op: Any) -> Callable[[Any, Any], Any]:
        def function(one: Any, other: Any) -> Any:
            left, right = both(one, other)
            return left.ewise_union(right, op, 0, 0).new()

        return function

    def multiply(one: Any, other: Any) -> Any:
        if isinstance(other, int | float):
            return one.apply(gb.binary.times, right=other).new()
        left, right = both(one, other)
        return left.ewise_mult(right, gb.binary.times).new()

    def reduce_by(monoid: Any, array: Any, axis: tuple[int, ...]) -> Any:
        if array.ndim == 1:
            return array.reduce(monoid).new()
        if len(axis) == 2:
            return array.reduce_scalar(monoid).new()
        return (array.reduce_columnwise if axis == (0,) else array.reduce_rowwise)(monoid).new()

    def extreme(monoid: Any) -> Callable[..., Any]:
        """Missing elements count, too."""

        def function(array: Any, axis: tuple[int, ...]) -> Any:
            kind = gb.Vector if array.ndim == 1 else gb.Matrix
            return reduce_by(monoid, kind.from_dense(array.to_dense(fill_value=0)), axis)

        return function

    def expand_dims(array: Any, axis: int) -> Any:
        if array.ndim != 1:
            raise NotImplementedError("arrays with more than two axes")
        one = gb.Vector.from_dense(np.ones(1, np.int64))
        return one.outer(array, gb.binary.second).new() if axis == 0 else array.outer(one, gb.binary.first).new()

    def tensordot(one: Any, other: Any, axes: tuple[tuple[int, ...], tuple[int, ...]]) -> Any:
        (left, *more), (right, *_) = axes
        if more:
            other = other if left == right else other.T
            return one.ewise_mult(other, gb.binary.times).new().reduce_scalar(gb.monoid.plus).new()
        one = one.T if one.ndim == 2 and left == 0 else one
        other = other.T if other.ndim == 2 and right == 1 else other
        verb = {(1, 1): "inner", (1, 2): "vxm", (2, 1): "mxv", (2, 2): "mxm"}[one.ndim, other.ndim]
        return getattr(one, verb)(other, gb.semiring.plus_times).new()

    return SimpleNamespace(
        add=union(gb.binary.plus),
        subtract=union(gb.binary.minus),
        minimum=union(gb.binary.min),
        maximum=union(gb.binary.max),
        multiply=multiply,
        sum=partial(reduce_by, gb.monoid.plus),
        min=extreme(gb.monoid.min),
        max=extreme(gb.monoid.max),
        expand_dims=expand_dims,
        tensordot=tensordot,
        permute_dims=lambda array, axes: array.T.new(),
    )
