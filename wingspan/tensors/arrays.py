"""Between arrays and the elements that a tensor stores."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from typing import Any

from wingspan.base.errors import Fault, InputError
from wingspan.base.libraries import np, scipy
from wingspan.buffers.stored import Fibers, Stored, Unusual, differ, narrow
from wingspan.lang.algebra import apply, convert, exact, one_nan, show
from wingspan.lang.ir import Value
from wingspan.lang.widths import BY_DTYPE, Width
from wingspan.lang.words import equal_or_nan
from wingspan.levels import MOST_AXES, Tower
from wingspan.levels.base import Storage
from wingspan.levels.sparse_coo import ends
from wingspan.tensors._checks import ordered
from wingspan.tensors.cells import Entry
from wingspan.tensors.foreign import RunArray
from wingspan.tensors.frozen import BorrowedArrays, Columns, Frozen, Key
from wingspan.tensors.pack import EXACT, TensorEntries, pack
from wingspan.tensors.pack import in_order as sorting
from wingspan.tensors.pairs import of_pairs, words
from wingspan.tensors.scipy_arrays import in_order, misplaced_entries

LARGEST = 2**63 - 1


def as_array(data: Any) -> np.ndarray:
    """Convert to an array, which may share memory; an InputError if it is none, or some of it is masked."""
    if isinstance(data, str | os.PathLike):
        raise InputError("a path is no array", fix="use Tensor.from_file")
    try:
        if _is_masked(data):
            fix = "use .filled(0)"
            raise InputError("some elements are masked, and every element of a tensor has a value", fix=fix)
        return np.asarray(data)
    except (ValueError, TypeError, RecursionError):
        raise InputError(f"not an array{_uneven(data)}", fix="give rows of one length") from None


def _uneven(data: Any) -> str:
    """The first row of nested lists that is not as long as the first one at its depth, if there is one."""
    rows: list[tuple[tuple[int, ...], Any]] = [((), data)]
    for _ in range(MOST_AXES):
        sizes = [_length(row) for _, row in rows]
        for size, (at, _) in zip(sizes, rows, strict=True):
            if size != sizes[0]:
                return f": {_row(at, size)}, and {_row(rows[0][0], sizes[0])}"
        rows = [((*at, k), each) for at, row in rows for k, each in enumerate(row if sizes[0] >= 0 else (), start=1)]
        if not rows:
            break
    return ""


def _length(row: Any) -> int:
    """The number of elements; -1 if it has no axis."""
    return len(row) if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim) else -1


def _row(at: tuple[int, ...], size: int) -> str:
    """The place of a row, and how many elements it has.

    >>> _row((2, 1), 3), _row((2,), -1)
    ('row 2, 1 has 3 elements', 'row 2 is no row')
    """
    has = "is no row" if size < 0 else f"has {size} element{'' if size == 1 else 's'}"
    return f"row {', '.join(map(str, at))} {has}"


def _is_masked(data: Any) -> bool:
    """Whether an array is masked somewhere, or one that a list holds: NumPy makes an array without masks of that."""
    if isinstance(data, list | tuple):
        deep = {kind for kind in set(map(type, data)) if issubclass(kind, list | tuple | np.ndarray)}
        return bool(deep) and any(_is_masked(each) for each in data if type(each) in deep)
    return isinstance(data, np.ndarray) and bool(np.ma.is_masked(data))


def numbers(data: Any) -> np.ndarray:
    """An array of integers, doubles, booleans, pairs, or of exact Python numbers (`object`); else an InputError.

    Narrow integers and floats stay as wide as they are if there are leaves that store such.
    """
    array = as_array(data)
    if array.dtype.kind == "O":
        return _objects(array)
    if of_pairs(array):
        return array
    kinds: dict[str, type] = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}
    if array.dtype.kind not in kinds or array.dtype.itemsize > 8:
        raise InputError(f"a tensor does not hold {array.dtype} elements", fix="use integers, doubles or booleans")
    if array.dtype.kind == "u" and array.size and int(array.max()) > LARGEST:
        fix = "use smaller integers, or doubles; or .view(numpy.int64) and operators that wrap: +% -% *%"
        raise InputError(f"{array.max()} does not fit a 64-bit integer", fix=fix)
    if array.dtype.isnative and array.dtype.name in BY_DTYPE:
        return array
    return array.astype(kinds[array.dtype.kind], copy=False)


def _objects(array: np.ndarray) -> np.ndarray:
    made = np.empty(array.shape, dtype=object)
    for k, value in enumerate(array.flat):
        value = value.item() if isinstance(value, np.generic) else value
        if not isinstance(value, bool | int | float | Fraction):
            raise InputError(
                f"a tensor does not hold a {type(value).__name__}: {value!r}", fix="use integers, doubles or booleans"
            )
        made.flat[k] = one_nan(value)
    return made


def entries_of(data: Any, fill: Value) -> list[Entry]:
    """The elements of a dense array that differ from `fill`, or those that a SciPy sparse array stores."""
    return sparse_entries(data) if scipy.sparse.issparse(data) else dense_entries(data, fill)


def dense_entries(data: Any, fill: Value) -> list[Entry]:
    """The elements of a dense array that differ from `fill`."""
    array = numbers(data)
    chosen = _differing(array, exact(fill))
    at = (np.argwhere(chosen) + 1).tolist()
    return list(zip(map(tuple, at), array[chosen].tolist(), strict=True))


def _differing(array: np.ndarray, fill: Value) -> np.ndarray:
    """The elements of an array that differ from `fill`; numbers are compared exactly, booleans differ from them."""
    if array.dtype == object:
        flags = [not equal_or_nan(v, fill) or isinstance(v, bool) != isinstance(fill, bool) for v in array.flat]
        return np.array(flags, dtype=np.bool_).reshape(array.shape)
    if of_pairs(array):
        return np.asarray(words(array) != fill)
    same: Any = None
    if (array.dtype == np.bool_) == isinstance(fill, bool):
        try:
            same = array.dtype.type(fill)
        except (OverflowError, ValueError):  # an integer that is too large, or an infinite one
            same = None
    if same is None or not equal_or_nan(exact(same.item()), fill):
        return np.ones(array.shape, dtype=np.bool_)
    return differ(array, same)


def sparse_entries(matrix: Any) -> list[Entry]:
    """The stored elements of a SciPy sparse array; duplicates are summed exactly, of booleans one is enough."""
    subscripts, _, values = _entries(in_order(matrix), 0)
    at = zip(*((axis.astype(np.int64) + 1).tolist() for axis in subscripts), strict=True)
    entries: list[Entry] = list(zip(at, numbers(values).tolist(), strict=True))
    return entries if len({at for at, _ in entries}) == len(entries) else _sum_duplicates(entries)


def _sum_duplicates(entries: list[Entry]) -> list[Entry]:
    sums: dict[tuple[int, ...], Value] = {}
    for at, value in entries:
        if at not in sums:
            sums[at] = exact(value)
        elif isinstance(value, bool):
            sums[at] = sums[at] or value
        else:
            sums[at] = _plus(sums[at], exact(value))
    return list(sums.items())


def _plus(x: Value, y: Value) -> Value:
    """x + y, of integers also where 64 bits do not hold it."""
    return apply("+", x, y) if isinstance(x, float) or isinstance(y, float) else x + y


# ---------------------------------------------------------------------------------------------------- without entries


def require_array(data: Any) -> Any:
    """An array that a tensor may be made of: `numbers`, Runs, or a SciPy sparse array in order; else an InputError."""
    if isinstance(data, RunArray):
        return RunArray(data.ends, numbers(data.values)).longest()
    if not scipy.sparse.issparse(data):
        return numbers(data)
    matrix = in_order(data)
    values = numbers(matrix.data)
    return matrix if values.dtype == matrix.dtype else matrix.astype(values.dtype)


def size_of(data: Any) -> int:
    """The length of an array, dense or SciPy sparse: of its elements or of its pointers."""
    if isinstance(data, RunArray):
        return data.shape[0]
    if not scipy.sparse.issparse(data):
        return int(np.size(data))
    return max(int(data.nnz), len(data.indptr) if data.format in ("csc", "csr") else 0)


def frozen(tower: Tower, data: Any, lent: Any = None) -> Frozen | None:
    """Data from `require_array` as the arrays of a tensor; its own ones if they fit and are no part of what is `lent`.

    `lent` is the array, dense or SciPy sparse, that somebody else may change. None if that takes the operations of the
    levels: for levels of a user's own, and for numbers, positions or sums of duplicates that 64 bits do not hold
    exactly. A Fault if an element is of another kind.
    """
    columns = Columns.from_tower(tower)
    if isinstance(data, RunArray):
        return _in_runs(tower, data, lent)
    if data.dtype == object:
        return None
    try:
        if columns is not None and (found := _as_it_lies(columns, data, lent)) is not None:
            return found
        if (found := _in_coordinates(tower, data)) is not None:
            return found
        entries = TensorEntries.from_subscripts(*_entries(data, exact(tower.fill)))
        return pack(tower, replace(entries, values=_convert(entries.values, tower.width)))
    except Unusual:
        return None


def in_runs(tower: Tower) -> bool:
    """Whether a tensor is one RunList, which is what Runs are."""
    return [level.layout for level in tower.levels] == ["runs", "values"]


def _in_runs(tower: Tower, data: RunArray, lent: Any) -> Frozen | None:
    """Runs, as long as can be, as those of a RunList."""
    try:
        values = _convert(data.values, tower.width)
    except Unusual:
        return None
    arrays: dict[Key, Stored] = {
        (0, "ptr", ()): Stored.of(1, len(values) + 1),
        (0, "right", ()): Stored(_immutable(data.ends.astype(narrow(data.shape[0]), copy=False), lent)),
        (0, "fill", ()): Stored.of(len(values)),
        (0, "prev", ()): Stored.of(int(len(values) > 0)),
        (1, "val", ()): Stored(_immutable(values, lent)),
    }
    return Frozen(tower, {key: stored for key, stored in arrays.items() if len(stored.values)})


def _in_coordinates(tower: Tower, data: Any) -> Frozen | None:
    """A COO array whose entries are in order, each once, as copies of its arrays in a SparseCOO of all axes."""
    root = tower.levels[0]
    whole = isinstance(root, Storage) and root.layout == "coordinates" and root.axes == tower.rank
    whole = whole and tower.leaf.layout == "values"
    if not (whole and len(tower.levels) == tower.rank + 1 and getattr(data, "format", "") == "coo"):
        return None
    if sorting(data.coords, data.shape) is not None:
        return None
    entries = len(data.data)
    arrays: dict[Key, Stored] = {
        (0, "ptr", ()): Stored.of(1, entries + 1),
        (0, "fill", ()): Stored.of(entries),
        (0, "prev", ()): Stored.of(int(entries > 0)),
        (tower.rank, "val", ()): Stored(_immutable(_convert(data.data, tower.width), data)),
    }
    begins: np.ndarray = np.zeros(entries, dtype=np.bool_)
    begins[:1] = True
    for depth, axis in enumerate(reversed(data.coords)):
        if depth:
            first = np.flatnonzero(begins)
            arrays[depth, "upto", ()] = ends(Fibers(entries, first), np.diff(first, append=entries))
        arrays[depth, "idx", ()] = Stored(_immutable(axis.astype(narrow(tower.extent(depth)), copy=False), data), 1)
        begins[1:] |= axis[1:] != axis[:-1]
    if not begins.all():
        return None
    return Frozen(tower, {key: stored for key, stored in arrays.items() if len(stored.values)})


def at_hand(tower: Tower, data: Any) -> Frozen | None:
    """Freeze data that is not checked yet, if it is in order and its arrays fit unchanged.

    That is a CSC matrix for a SparseList in a Dense, or an array in column-major order for Dense levels.
    """
    if not tower.in_one_piece or len(tower.shape) != tower.rank:
        return None
    sparse = tower.rank > 0 and tower.levels[-2].layout == "pointers"
    if not sparse:
        if type(data) is not np.ndarray or not _fits(tower, data):
            return None
        return Frozen(tower, BorrowedArrays(tower, data if data.ndim == 1 else data.reshape(-1, order="F")))
    if type(data) is not scipy.sparse.csc_array and type(data) is not scipy.sparse.csc_matrix:
        return None
    values, ptr, idx, shape = data.data, data.indptr, data.indices, tower.shape
    if not type(values) is type(ptr) is type(idx) is np.ndarray or values.ndim != 1 or not _fits(tower, values):
        return None
    if tower.rank != 2 or len(values) != len(idx) or not ordered(ptr, 0, idx, 0, len(values), shape[1], shape[0]):
        return None
    return Frozen(tower, BorrowedArrays(tower, values, ptr, idx)) if ptr[-1] == len(values) else None


def _fits(tower: Tower, array: np.ndarray) -> bool:
    """Whether an array in column-major order holds elements of a tower as its leaf does."""
    flags = array.flags
    return array.dtype == tower.dtype and flags.f_contiguous and flags.aligned and not tower.elements.is_packed


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _as_it_lies(columns: Columns, data: Any, lent: Any) -> Frozen | None:
    """The data if it lies in memory as the tensor does: CSC in order, or a dense array for dense levels."""
    width = columns.tower.width
    if not scipy.sparse.issparse(data):
        return None if columns.sparse else columns.frozen(_immutable(_convert(data, width).ravel(order="F"), lent))
    if not columns.sparse or data.format != "csc" or data.ndim != 2 or misplaced_entries(data):
        return None
    parts = _convert(data.data[: data.nnz], width), data.indptr, data.indices[: data.nnz]
    return columns.frozen(*(_immutable(part, lent) for part in parts))


def _entries(data: Any, fill: Value) -> tuple[list[np.ndarray], Any, Any]:
    """The subscripts, shape and values of what a sparse array stores, or of what differs from `fill` in a dense one."""
    if not scipy.sparse.issparse(data):
        flat = data.ravel(order="F")
        at = np.flatnonzero(_differing(flat, fill))
        values, subscripts = flat[at], []
        for extent in data.shape[:-1]:
            at, index = np.divmod(at, extent)
            subscripts.append(index)
        return [*subscripts, at][: data.ndim], data.shape, values
    if data.format == "coo":
        return list(data.coords), data.shape, data.data
    fibers: np.ndarray = np.arange(len(data.indptr) - 1, dtype=narrow(len(data.indptr)))
    pair = [data.indices[: data.nnz], np.repeat(fibers, np.diff(data.indptr))]
    return pair if data.format == "csc" else pair[::-1], data.shape, data.data[: data.nnz]


def _convert(array: np.ndarray, width: Width) -> np.ndarray:
    """The elements as cells of a width hold them; a Fault if one does not fit, Unusual if rounding goes beyond that."""
    if of_pairs(array):
        return words(array)
    if array.dtype == width.dtype:
        return array
    wrong: np.ndarray = np.zeros(array.shape, dtype=np.bool_)
    made = array
    if "bool" in (width.kind, array.dtype.name):
        wrong[...] = True
    elif width.kind == "float":
        if array.dtype.kind != "f" and array.size and not (array.min() >= -EXACT and array.max() <= EXACT):
            raise Unusual
        with np.errstate(over="ignore"):
            made = array.astype(np.float64).astype(width.dtype)
        wrong = np.isinf(made) & ~np.isinf(array)
    elif array.dtype.kind == "f":
        wrong = ~((array == np.trunc(array)) & (array >= width.range[0]) & (array < float(width.range[-1] + 1)))
    else:
        wrong = (array < width.range[0]) | (array > width.range[-1])
    if wrong.any():
        value = convert(array[wrong][0].item(), width.kind)
        raise Fault(f"{show(value)} does not fit {width}")
    return made.astype(width.dtype, copy=False)


def _immutable(array: np.ndarray, lent: Any) -> np.ndarray:
    """The array, in one piece, not to be written; a copy if it is a part of what is lent.

    What is no part of it was made here, and nobody can write it any more. Without anything lent it may be the caller's.
    """
    kept = np.require(array, requirements=["C", "A"])
    if lent is None:
        return _read_only(kept.view())
    if any(np.may_share_memory(kept, each) for each in _component_arrays(lent)):
        return _read_only(kept.copy())
    base = kept.base
    while isinstance(base, np.ndarray):
        base = _read_only(base).base
    return _read_only(kept)


def _component_arrays(data: Any) -> list[np.ndarray]:
    """The arrays that an array, dense or SciPy sparse, consists of."""
    if scipy.sparse.issparse(data):
        held = [getattr(data, name, None) for name in ("data", "indices", "indptr")]
        return [part for part in (*held, *getattr(data, "coords", ())) if isinstance(part, np.ndarray)]
    if isinstance(data, RunArray):
        return [data.ends, data.values]
    return [data] if isinstance(data, np.ndarray) else []
