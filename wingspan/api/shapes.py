"""Shapes that are broadcast, and axes that are counted from either end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import SupportsIndex

from wingspan.base.errors import InputError
from wingspan.base.libraries import np


def broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all of these are broadcast to. InputError if there is none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        given = " and ".join(str(shape) for shape in shapes)
        raise InputError(
            f"the shapes {given} do not fit each other", fix="use axes of equal extents, or of 1"
        ) from None


def normalize_axes(axes: SupportsIndex | Iterable[SupportsIndex], ndim: int) -> tuple[int, ...]:
    """Axes counted from 0. InputError if there is no such axis, or one comes twice."""
    given = [axis.__index__() for axis in ([axes] if isinstance(axes, SupportsIndex) else axes)]
    found = tuple(axis + ndim if axis < 0 else axis for axis in given)
    for axis, number in zip(given, found, strict=True):
        if not 0 <= number < ndim or found.count(number) > 1:
            what = f"axis {axis} is given twice" if 0 <= number < ndim else f"axis {axis} of an array with {ndim}"
            raise InputError(what, fix="give each axis once, from 0 or back from -1")
    return found
