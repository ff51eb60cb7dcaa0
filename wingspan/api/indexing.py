"""Elements and parts of lazy arrays: indexing, other shapes, sums of beginnings, and the places of extremes.

Integers, slices and split axes are affine subscripts of one program with what reads them. Joined axes are those of a
result, and sums of beginnings a program of their own. Arrays of indices pick among the stored elements of a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from math import prod
from operator import index as whole
from typing import Any, SupportsIndex

from wingspan.api.arrays import (
    LazyTensor,
    defer,
    elementwise,
    expand_dims,
    join_axes,
    lazy,
    permute_dims,
    reduce_axes,
    squeeze,
    where,
    with_index,
)
from wingspan.api.expressions import Computed
from wingspan.api.running import run
from wingspan.api.shapes import broadcast, normalize_axes
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError
from wingspan.base.libraries import np, scipy
from wingspan.lang import algebra, ir
from wingspan.lang.affine import Affine
from wingspan.lang.kinds import KINDS
from wingspan.lang.numbers import axes as number_of_axes
from wingspan.levels import usual
from wingspan.program import parse
from wingspan.tensors.foreign import with_fill
from wingspan.tensors.tensor import Coordinates, Tensor

_numbers = count(1)

Shape = int | Sequence[int]
Entry = int | slice | None | np.ndarray
"""A part of an index: of one axis, but None of none."""


class IndexOutOfBounds(InputError, IndexError):
    """An index beyond the extent of its axis."""


# ------------------------------------------------------------------------------------------------------------- indexing


def select(array: LazyTensor, key: Any) -> LazyTensor:
    """The elements of an array at an index, as of NumPy's arrays.

    Raises:
        IndexOutOfBounds: an integer is beyond its axis, or there are more parts than axes.
        InputError: a part is nothing that selects, a mask has another shape, or a step is 0.
    """
    parts = _entries(array, key)
    if any(isinstance(part, np.ndarray) for part in parts):  # integers then are arrays, too, as NumPy has it
        parts = [np.array(part) if isinstance(part, int) else part for part in parts]
    axis = 0
    chosen: list[tuple[int, np.ndarray]] = []
    for part in parts:
        if isinstance(part, int):
            array = _at(array, axis, part)
            continue
        if part is None:
            array = expand_dims(array, axis)
        elif isinstance(part, slice):
            array = _slice_axis(array, axis, part)
        else:
            chosen.append((axis, _positions(part, array.shape[axis], axis)))
        axis += 1
    return _pick_elements(array, chosen) if chosen else array


def _entries(array: LazyTensor, key: Any) -> list[Entry]:
    """The parts of an index, with slices for the axes that it leaves out."""
    parts: list[Any] = []
    for part in key if isinstance(key, tuple) else (key,):
        parts += _entry(part)
    rest = array.ndim - sum(part is not None and part is not Ellipsis for part in parts)
    if rest < 0 or sum(part is Ellipsis for part in parts) > 1:
        wrong = f"{array.ndim - rest} subscripts" if rest < 0 else "two ellipses"
        raise IndexOutOfBounds(f"{wrong} of an array with {number_of_axes(array.ndim)}", fix="write one for each axis")
    at = next((k for k, part in enumerate(parts) if part is Ellipsis), len(parts))
    entries = [*parts[:at], *[slice(None)] * rest, *parts[at + 1 :]]
    axis = 0
    for k, part in enumerate(entries):
        if isinstance(part, _MaskAxis):
            if part.extent != array.shape[axis]:
                message = f"a mask has extent {part.extent} where the array has {array.shape[axis]}, on axis {axis}"
                raise IndexOutOfBounds(message, fix="give a mask of the array's shape")
            entries[k] = part.positions
        axis += part is not None
    return entries


@dataclass(frozen=True, eq=False)
class _MaskAxis:
    """The indices along one axis at which a mask is true."""

    positions: np.ndarray
    extent: int


def _entry(part: Any) -> list[Any]:
    """The parts that one stands for: a mask is an array of integers for each of its axes."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return [part]
    if isinstance(part, SupportsIndex) and not isinstance(part, bool | np.bool_ | np.ndarray | LazyTensor):
        return [whole(part)]
    found = np.asarray(part)
    if found.dtype == np.bool_ and found.ndim:
        return [_MaskAxis(at, n) for at, n in zip(np.nonzero(found), found.shape, strict=True)]
    if found.size == 0 and isinstance(part, list):
        found = found.astype(np.int64)
    if found.dtype.kind not in "iu":
        raise InputError(f"{part!r} selects no elements", fix="use integers, slices, ..., None, or arrays of booleans")
    return [int(found)] if found.ndim == 0 else [found]


def _positions(part: np.ndarray, extent: int, axis: int) -> np.ndarray:
    """Indices that count from 0. IndexOutOfBounds if one is beyond its axis."""
    wrong = part[(part < -extent) | (part >= extent)]
    if wrong.size:
        raise _out_of_bounds(int(wrong.flat[0]), extent, axis)
    return np.where(part < 0, part + extent, part)


def _out_of_bounds(given: int, extent: int, axis: int) -> IndexOutOfBounds:
    fix = f"use {-extent} to {extent - 1}" if extent else "there is nothing to select"
    return IndexOutOfBounds(f"the index {given} of axis {axis}, which has extent {extent}", fix=fix)


def _at(array: LazyTensor, axis: int, given: int) -> LazyTensor:
    """The part at one index of an axis, without this axis."""
    extent = array.shape[axis]
    if not -extent <= given < extent:
        raise _out_of_bounds(given, extent, axis)
    if array._axes[axis] is None:
        return reduce_axes(array._op, array, axis, keepdims=False)
    return with_index(array, axis, Affine({}, 1 + given % extent), {})


def _slice_axis(array: LazyTensor, axis: int, part: slice) -> LazyTensor:
    """The part at the indices of a slice of an axis."""
    try:
        at = range(*part.indices(array.shape[axis]))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{part} is no slice of an axis: {error}", fix="use integers, and a step that is not 0"
        ) from None
    if at == range(array.shape[axis]):
        return array
    if array._axes[axis] is None:
        return array if len(at) else _empty(array, [*array.shape[:axis], 0, *array.shape[axis + 1 :]])
    new = f"s{next(_numbers)}"
    return with_index(array, axis, Affine({new: at.step}, 1 + at.start - at.step), {new: len(at)})


def _empty(array: LazyTensor, shape: Sequence[int]) -> LazyTensor:
    """An array of a shape without elements, of the same kind."""
    return lazy(np.zeros(shape, array.dtype))


def _pick_elements(array: LazyTensor, chosen: Sequence[tuple[int, np.ndarray]]) -> LazyTensor:
    """The elements at arrays of indices, which broadcast. Their axes stand in place of the first one, or come first if
    others are between them.
    """
    axes = [axis for axis, _ in chosen]
    at = [np.broadcast_to(each, broadcast([each.shape for _, each in chosen])) for _, each in chosen]
    front = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
    rest = [n for axis, n in enumerate(array.shape) if axis not in axes]
    shape = (*rest[:front], *at[0].shape, *rest[front:])

    def pick(value: Computed) -> Any:
        return _as_array(_pick(value.to_coo(), axes, at, front))

    return defer(array, shape, array._kind, pick)


def _pick(given: Coordinates, axes: Sequence[int], at: Sequence[np.ndarray], front: int) -> Coordinates:
    """The stored elements at arrays of indices of some axes, once for each time that they are asked for."""
    extents = [given.shape[axis] for axis in axes]
    rest = [axis for axis in range(len(given.shape)) if axis not in axes]
    wanted = _linear([each.ravel() for each in at], extents)
    stored = _linear([given.subscripts[axis] for axis in axes], extents)
    order = np.argsort(wanted, kind="stable")
    first, last = (np.searchsorted(wanted[order], stored, side) for side in ("left", "right"))
    times = last - first
    source = np.repeat(np.arange(len(stored)), times)
    within = np.arange(len(source)) - np.repeat(np.cumsum(times) - times, times)
    asked = np.unravel_index(order[np.repeat(first, times) + within], at[0].shape)
    others = [given.subscripts[axis][source] for axis in rest]
    shape = [given.shape[axis] for axis in rest]
    subscripts = [*others[:front], *asked, *others[front:]]
    made = np.array(subscripts, dtype=np.int64).reshape(len(subscripts), len(source))
    return Coordinates(made, given.values[source], given.fill, (*shape[:front], *at[0].shape, *shape[front:]))


def _linear(subscripts: Sequence[np.ndarray], extents: Sequence[int]) -> np.ndarray:
    """Indices of several axes as one number each. InputError if these have more than 64 bits."""
    if prod(extents) >= 2**63:
        raise InputError(
            f"axes of {tuple(extents)} have too many elements to pick among", fix="index one axis at a time"
        )
    number: np.ndarray = np.zeros(len(subscripts[0]), dtype=np.int64)
    for each, n in zip(subscripts, extents, strict=True):
        number = number * n + each
    return number


def _as_array(given: Coordinates) -> Any:
    """Elements as an array of NumPy if all are stored, else as one of SciPy."""
    if given.shape and len(given.values) < prod(given.shape):
        return with_fill(scipy.sparse.coo_array((given.values, tuple(given.subscripts)), given.shape), given.fill)
    made: np.ndarray = np.empty(given.shape, dtype=given.values.dtype)
    made[tuple(given.subscripts)] = given.values
    return made


# --------------------------------------------------------------------------------------------------------------- shapes


def reshape(array: LazyTensor, shape: Shape, copy: bool | None = None) -> LazyTensor:
    """The array with axes that are split, or joined with those beside them, in row-major order; -1 is what is left.

    InputError if elements are lost or added, if an axis would be made of parts of others, or if nothing may be copied.
    """
    if copy is False:
        raise InputError("the elements of a lazy array are copied", fix="leave copy= away")
    wanted = _full_shape(array, shape)
    if array.size == 0:
        return _empty(array, wanted)
    array = squeeze_all(array)
    units = [axis for axis, n in enumerate(wanted) if n == 1]
    groups = _groups(array.shape, [n for n in wanted if n != 1], wanted)
    if any(len(old) > 1 for old, _ in groups):
        array = join_axes(array, [old for old, _ in groups])
    axis = 0
    for _, parts in groups:
        if len(parts) > 1:
            array = _split(array, axis, parts)
        axis += len(parts)
    for axis in units:
        array = expand_dims(array, axis)
    return array


def squeeze_all(array: LazyTensor) -> LazyTensor:
    """The array without its axes of extent 1."""
    return squeeze(array, [axis for axis, n in enumerate(array.shape) if n == 1])


def _full_shape(array: LazyTensor, shape: Shape) -> tuple[int, ...]:
    """A shape with as many elements as the array. InputError if it is none."""
    try:
        found = tuple(map(whole, (shape,) if isinstance(shape, SupportsIndex) else shape))
    except TypeError:
        raise InputError(f"{shape} is no shape", fix="use whole numbers, of which one may be -1") from None
    known = prod(n for n in found if n != -1)
    if found.count(-1) == 1 and known and array.size % known == 0:
        found = tuple(array.size // known if n == -1 else n for n in found)
    if min(found, default=0) < 0 or prod(found) != array.size:
        message = f"an array with axes {array.shape} cannot have the axes {found}"
        raise InputError(message, fix=f"use axes whose product is {array.size}; one may be -1")
    return found


def _groups(old: Sequence[int], new: Sequence[int], wanted: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """For each axis that is split or joined, the numbers of the old axes, and the extents of the new ones."""
    found: list[tuple[list[int], list[int]]] = []
    axis = at = 0
    while axis < len(old):
        here, parts = [axis], [new[at]]
        axis, at = axis + 1, at + 1
        while (left := prod(old[k] for k in here)) != (right := prod(parts)):
            if left < right:
                here.append(axis)
                axis += 1
            else:
                parts.append(new[at])
                at += 1
        if len(here) > 1 and len(parts) > 1:
            n = prod(parts)
            message = f"the axes {tuple(old[k] for k in here)} are neither split nor joined to {tuple(parts)}"
            raise InputError(message, fix=f"join them first: reshape to {n}, then to {tuple(wanted)}")
        found.append((here, parts))
    return found


def _split(array: LazyTensor, axis: int, parts: Sequence[int]) -> LazyTensor:
    """The array with one axis as several, in row-major order."""
    names = [f"s{next(_numbers)}" for _ in parts]
    factors = {name: prod(parts[k + 1 :]) for k, name in enumerate(names)}
    subscript = Affine(factors, 1 - sum(factors.values()))
    return with_index(array, axis, subscript, dict(zip(names, parts, strict=True)))


def everywhere(shape: tuple[int, ...]) -> LazyTensor:
    """True at each index of a shape: its fill value is, so it has no entries, and takes no memory."""
    form = f"{f'{usual.ASCENDING}(' * len(shape)}{usual.LEAF}(true){')' * len(shape)}"
    return lazy(Tensor.from_scipy(form, with_fill(scipy.sparse.coo_array(shape, dtype=np.bool_), True)))


# ---------------------------------------------------------------------------------------------- reductions with indices


def first_best(op: str, array: LazyTensor, axis: int | None, keepdims: bool) -> LazyTensor:
    """The index, from 0, of the least or greatest element: the first of several, and the first NaN if there is one.

    InputError if there are none.
    """
    if axis is None:
        flat = first_best(op, reshape(array, -1), 0, False)
        return reshape(flat, (1,) * array.ndim) if keepdims else flat
    (axis,) = normalize_axes(axis, array.ndim)
    if array.shape[axis] == 0:
        raise InputError(f"axis {axis} of {array.shape} is empty, so no element is best", fix="give one with elements")
    best = array.min(axis, keepdims=True) if op == "min" else array.max(axis, keepdims=True)
    here = elementwise("==", array, best)
    if array._kind == "float":
        here = elementwise("||", here, elementwise("!=", array, array))
    if (index := here._axes[axis]) is None:
        return reduce_axes("min", where(here, 0, 0), axis, keepdims)
    at = ir.Call("-", (ir.Index(index), ir.Literal(1)))
    places = LazyTensor(
        ir.Choice(here._expression, at, ir.Literal(algebra.INT64[-1])), here._axes, here._extents, here._leaves
    )
    return reduce_axes("min", places, axis, keepdims)


PREFIXES = """
X = Tensor({form})
C = Tensor({result}, {extents})
C .= {start}
for j = _
    s = {start}
    for i = _
        s = s {op} X[i, j]
        C[i + {initial}, j] = s
    end
end
return C
"""
"""A program that reduces the beginnings of columns."""


def reduce_beginnings(op: str, array: LazyTensor, axis: int | None, initial: bool) -> LazyTensor:
    """At each index of an axis, the sum or product of the elements up to it; with `initial`, also of none of them."""
    if axis is None:
        if array.ndim != 1:
            raise InputError(
                f"an array with {number_of_axes(array.ndim)} has no one axis to go along", fix="give axis=…"
            )
        axis = 0
    (axis,) = normalize_axes([axis], array.ndim)
    array = array + 0 if array._kind == "bool" else array
    first = permute_dims(array, (axis, *(k for k in range(array.ndim) if k != axis)))
    rest, n, kind = first.shape[1:], first.shape[0], first._kind
    start = KINDS[kind].zero if op == "+" else KINDS[kind].zero + 1

    def reduce_columns(value: Computed) -> np.ndarray:
        at, values, fill, _ = value.to_coo()
        columns = Coordinates(
            np.stack([at[0], _linear([*at[1:], 0 * at[0]], [*rest, 1])]), values, fill, (n, prod(rest))
        )
        element = f"{usual.LEAF}({algebra.show(fill)})"
        stored = _as_array(columns)
        dense = isinstance(stored, np.ndarray)
        form = f"{usual.ALL}({usual.ALL if dense else usual.ASCENDING}({element}))"
        text = PREFIXES.format(
            form=form,
            result=f"{usual.ALL}({usual.ALL}({usual.LEAF}({algebra.show(start)})))",
            extents=f"{n + initial}, {prod(rest)}",
            start=algebra.show(start), op=op, initial=int(initial),
        )  # fmt: skip
        X = Tensor.from_numpy(form, stored) if dense else Tensor.from_scipy(form, stored)
        return run(parse(text), inputs={"X": X}).tensors["C"].to_numpy().reshape((n + initial, *rest))

    made = defer(first, (n + initial, *rest), kind, reduce_columns)
    return permute_dims(made, (*range(1, axis + 1), 0, *range(axis + 1, array.ndim)))
