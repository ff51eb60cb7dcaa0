"""Arrays of other libraries, known by what they have: none of these is imported here."""

from __future__ import annotations

from itertools import chain
from math import prod
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError
from wingspan.base.libraries import np, scipy
from wingspan.base.reading import require_memory
from wingspan.buffers.stored import differ
from wingspan.lang.algebra import double, show
from wingspan.lang.ir import Value
from wingspan.lang.pairs import Pair
from wingspan.lang.words import equal_or_nan
from wingspan.levels import Tower, usual
from wingspan.tensors.frozen import round_to_width
from wingspan.tensors.scipy_arrays import in_order, reason


@dataclass(frozen=True, eq=False)
class Filled:
    """An array, sparse in SciPy's way or dense, and the value of the elements that it does not store."""

    array: Any
    fill: Any


@dataclass(frozen=True, eq=False)
class RunArray:
    """A vector in runs of equal elements: run k ends before index `ends[k]`, counted from 0, and has `values[k]`."""

    ends: np.ndarray
    values: np.ndarray

    @property
    def shape(self) -> tuple[int]:
        """The extent: where the last run ends."""
        return (int(self.ends[-1]) if len(self.ends) else 0,)

    @property
    def ndim(self) -> int:
        """The number of axes: 1."""
        return 1

    def longest(self) -> RunArray:
        """The same vector, in runs that are as long as can be."""
        last: np.ndarray = np.ones(len(self.values), dtype=np.bool_)
        last[:-1] = differ(self.values[1:], self.values[:-1])
        return self if last.all() else RunArray(self.ends[last], self.values[last])

    def dense(self) -> np.ndarray:
        """The elements one by one. InputError if they take too much memory."""
        require_memory(8 * self.shape[0], f"its runs have {self.shape[0]} elements")
        return np.repeat(self.values, np.diff(self.ends, prepend=0))


def with_fill(array: Any, fill: Any) -> Filled:
    """A sparse array with a value for the elements that it does not store, in place of its own: SciPy's have 0.

    A graph whose missing edges are infinitely long is `with_fill(A, math.inf)`; in a file, `graph.mtx:fill=Inf`.

    Args:
        array: a sparse array of SciPy or pydata/sparse. It is not copied.
        fill: a boolean if the elements are booleans, else an integer or a double. It must be that of the format; if the
            format is not given, integers become doubles for one that is no integer.

    Returns:
        An input like any other, of `run`, kernels, `einsum`, `lazy` and `Tensor.from_scipy`.

    Raises:
        InputError: the array stores every element, or the fill value is of another kind.
    """
    data = interpret(array, 0)
    if not isinstance(data, Filled) or isinstance(data.array, np.ndarray):
        message = f"a fill value for a {type(array).__name__}, which is no sparse array of SciPy or pydata/sparse"
        raise InputError(message, fix="give a sparse array; that of a file is named with it: graph.mtx:fill=Inf")
    fill = double(fill.item() if isinstance(fill, np.generic) else fill)
    if not isinstance(fill, bool | int | float) or isinstance(fill, Pair):
        raise InputError(f"a {type(fill).__name__} is no fill value", fix="use a number or a boolean")
    if isinstance(fill, int) and not -(2**63) <= fill < 2**63:
        raise InputError(f"{fill} does not fit a 64-bit integer", fix="use a smaller one, or a double")
    made = Filled(data.array, fill)
    kind_of(made)
    return made


def kind_of(data: Any) -> type:
    """The Python type that holds the elements of an array and its fill value. InputError if one is a boolean."""
    fill, array = (data.fill, data.array) if isinstance(data, Filled) else (None, data)
    values = array.values if isinstance(array, RunArray) else array
    kind = type(zero(getattr(values, "dtype", None)))
    if fill is not None and (kind is bool) != isinstance(fill, bool):
        elements = "booleans" if kind is bool else "numbers"
        raise InputError(f"its elements are {elements}, and its fill value is {show(fill)}", fix="use one kind")
    whole = not isinstance(fill, float) or (fill.is_integer() and abs(fill) < 2**63)
    return kind if whole or kind is not int else float


def adopt(data: Any, form: Any, rank: int, fill: Value) -> Any:
    """The array given for a format with so many axes: a NumPy array, a SciPy sparse one, or Runs; see `interpret`.

    InputError if an array is not in order, or if the value of what it does not store is not that of the format.
    """
    data = interpret(data, rank)
    if not isinstance(data, Filled):
        return data
    if not isinstance(data.array, np.ndarray) and not isinstance(fill, Pair):
        given = data.fill
        if isinstance(given, float) and isinstance(form, Tower) and form.kind == "float":
            given = round_to_width(np.array(given, dtype=object), form.dtype).item()  # as the fill value of a format is
        require_fill(given, form, fill)
    return data.array


def same_fill(x: Value, y: Value) -> bool:
    """Whether two fill values are one; a number is no boolean."""
    return equal_or_nan(x, y) and isinstance(x, bool) == isinstance(y, bool)


def require_fill(fill: Value, form: Any, wanted: Value) -> None:
    """InputError unless the fill value of an array is that of a format."""
    if same_fill(fill, wanted):
        return
    value, other = show(fill), show(wanted)
    fix = f"use {usual.LEAF}({value})"
    if isinstance(fill, bool) == isinstance(wanted, bool):
        fix += f", or say that what is not stored is {other}: FILE:fill={other}, or with_fill(A, {other}) in Python"
    raise InputError(f"its fill value is {value}, that of {form} is {other}", fix=fix)


def interpret(data: Any, rank: int) -> Any:
    """An array of another library for a tensor with so many axes: Filled if it is sparse, Runs, or as it is.

    What SciPy's arrays do not store is 0. Those of pydata/sparse (COO, GCXS, DOK) become SciPy's, run-end arrays of
    Arrow become Runs, and block matrices of SciPy (BSR) have four axes if the tensor has: column and row in the block,
    column and row of the block. InputError if an array is not in order.
    """
    if is_arrow(data):
        return _runs(data)
    if scipy.sparse.issparse(data):
        data = Filled(data, zero(getattr(data, "dtype", None)))
    elif hasattr(data, "fill_value") and any(hasattr(data, name) for name in ("coords", "to_coo", "tocoo")):
        data = _pydata(data)
    if isinstance(data, Filled) and rank == 4 and getattr(data.array, "format", "") == "bsr":
        return Filled(in_order(data.array, _blocks), data.fill)
    return data


def zero(dtype: Any) -> Value:
    """The zero of a type of elements, in Python."""
    return {"b": False, "f": 0.0}.get(getattr(dtype, "kind", ""), 0)


def _pydata(data: Any) -> Filled:
    fill = getattr(data, "fill_value", 0)
    fill = fill.item() if isinstance(fill, np.generic) else fill
    try:
        if data.ndim == 0:
            return Filled(np.asarray(data.todense()), fill)
        if data.ndim > 1 and hasattr(data, "compressed_axes"):
            parts = data.data, data.indices, data.indptr
            return Filled(gcxs_array(parts, data.shape, tuple(data.compressed_axes)), fill)
        if not hasattr(data, "coords"):
            data = data.to_coo() if hasattr(data, "to_coo") else data.tocoo()
        return Filled(scipy.sparse.coo_array((data.data, tuple(data.coords)), shape=data.shape), fill)
    except InputError:
        raise
    except Exception as error:  # as SciPy, pydata/sparse raises whatever it meets
        raise InputError(f"not a sparse array in order: {reason(error)}", fix="make it anew") from None


def gcxs_array(parts: tuple[np.ndarray, np.ndarray, np.ndarray], shape: tuple[int, ...], rows: tuple[int, ...]) -> Any:
    """An array in GCXS, by its elements, indices and pointers: a matrix, whose rows stand for the axes `rows`.

    Its columns stand for the other axes. A vector has a single row. ValueError or InputError if it is not in order.
    """
    if any(np.asarray(places).dtype.kind not in "iu" for places in parts[1:]):
        raise ValueError("its indices and pointers are no integers")
    if len(shape) == 2 and len(rows) == 1:
        return (scipy.sparse.csr_array if rows == (0,) else scipy.sparse.csc_array)(parts, shape=shape)
    rows = rows if len(shape) > 1 else ()
    columns = tuple(axis for axis in range(len(shape)) if axis not in rows)
    sides = [tuple(shape[axis] for axis in axes) for axes in (rows, columns)]
    matrix = in_order(scipy.sparse.csr_array(parts, shape=tuple(map(prod, sides))), scipy.sparse.coo_array)
    places = [np.unravel_index(at, side) if side else () for at, side in zip(matrix.coords, sides, strict=True)]
    coords = dict(zip((*rows, *columns), chain(*places), strict=True))
    return scipy.sparse.coo_array((matrix.data, tuple(coords[axis] for axis in range(len(shape)))), shape=shape)


def _blocks(matrix: Any) -> Any:
    """A block matrix with an axis for each side of the blocks; those of block rows and columns come last."""
    matrix = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
    rows, columns = matrix.blocksize
    stored, row, column = (axis.ravel() for axis in np.indices((len(matrix.indices), rows, columns)))
    block_row = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
    coords = column, row, matrix.indices[stored], block_row[stored]
    shape = columns, rows, matrix.shape[1] // columns, matrix.shape[0] // rows
    return scipy.sparse.coo_array((matrix.data[: len(matrix.indices)].ravel(), coords), shape=shape)


# --------------------------------------------------------------------------------------------------------------- Arrow


def is_arrow(data: Any) -> bool:
    """Whether this is an array of Arrow's, in one piece or in chunks."""
    return hasattr(data, "run_ends") or isinstance(getattr(data, "null_count", None), int)


def _runs(data: Any) -> Any:
    """An array of Arrow's, in one piece or in chunks: Runs if they are run-end encoded, else a NumPy array."""
    chunks = list(data.chunks) or [data.combine_chunks()] if hasattr(data, "chunks") else [data]
    if not all(hasattr(chunk, "run_ends") for chunk in chunks):
        return _arrow_to_numpy(data)
    parts = [_piece(chunk) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]
    before = np.cumsum([0, *(part.shape[0] for part in parts[:-1])])
    ends = np.concatenate([part.ends + n for part, n in zip(parts, before, strict=True)])
    return RunArray(ends, np.concatenate([part.values for part in parts]))


def _piece(chunk: Any) -> RunArray:
    """The runs of one array, or of the part of it that it is; there may be nulls outside of that."""
    ends, values = np.asarray(chunk.run_ends), chunk.values
    if len(ends) != len(values) or (len(ends) and ends[0] < 1) or (ends[1:] <= ends[:-1]).any():
        raise InputError("not a run-end array in order: its run ends do not ascend", fix="make it anew")
    first, length = int(chunk.offset), len(chunk)
    if (int(ends[-1]) if len(ends) else 0) < first + length:
        raise InputError("not a run-end array in order: its last run ends too early", fix="make it anew")
    if first == 0 and len(ends) and ends[-1] == length:
        return RunArray(ends, _arrow_to_numpy(values))
    if not length:
        return RunArray(ends[:0], _arrow_to_numpy(values[:0]))
    begin, end = np.searchsorted(ends, [first, first + length - 1], side="right")
    part = slice(begin, end + 1)
    return RunArray(np.minimum(ends[part] - first, length), _arrow_to_numpy(values[part]))


def _arrow_to_numpy(data: Any) -> np.ndarray:
    """An array of Arrow's as one of NumPy's; an InputError if it has nulls."""
    if data.null_count:
        raise InputError("it has nulls, and every element of a tensor has a value", fix="fill them: fill_null(0)")
    return np.asarray(data)
