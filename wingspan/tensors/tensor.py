"""Tensors at rest: a tower of levels and its cells. They come from and go to NumPy, SciPy and files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from wingspan.base.dataclass import dataclass
from wingspan.base.display import Shown
from wingspan.base.errors import Fault, InputError
from wingspan.base.libraries import np, scipy
from wingspan.base.memory import available_memory
from wingspan.base.paths import require_readable_name
from wingspan.base.reading import in_bytes
from wingspan.buffers.stored import Stored
from wingspan.lang import ir
from wingspan.lang.algebra import convert, double, exact, show
from wingspan.lang.numbers import axes
from wingspan.levels import MOST_AXES, Tower, usual
from wingspan.tensors.arrays import (
    as_array,
    at_hand,
    dense_entries,
    entries_of,
    frozen,
    in_runs,
    require_array,
    size_of,
)
from wingspan.tensors.cells import CellReader, Cells, CellWriter, Entry
from wingspan.tensors.drawing import drawing
from wingspan.tensors.foreign import Filled, RunArray, adopt, is_arrow, require_fill, same_fill
from wingspan.tensors.formats import default_of, outermost
from wingspan.tensors.frozen import Columns, Frozen, collect, exact_elements, hand_out, round_to_width
from wingspan.tensors.pairs import of_pairs, pairs
from wingspan.tensors.scipy_arrays import coo_array
from wingspan.tensors.walk import Elements, columns, count, elements, invariants, runs

__all__ = [
    "Cells",
    "Coordinates",
    "Entry",
    "Tensor",
    "adapt",
    "at_hand",
    "entries_of",
    "from_exact",
    "hold",
    "load",
    "require_array",
    "require_order",
]


class Coordinates(NamedTuple):
    """The elements that a tensor stores, also those that are the fill value, and what all others are."""

    subscripts: np.ndarray
    """counted from 0: a row of 64-bit integers for each axis, a column for each element"""
    values: np.ndarray
    """integers, doubles (the nearest ones) or booleans, as wide as the format says"""
    fill: ir.Value
    """an integer, a double or a boolean"""
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Tensor(Shown):
    """A tensor in read mode: its levels, their cells and its fill value.

    A tensor has its own copy of the data that it is made of. With `borrow`, it uses the caller's arrays where the order
    in memory fits: if the levels are `Dense` around the leaf, or around a last `SparseList`, and the data is in
    column-major order, or CSC without duplicates. The caller must then leave them as they are: if an index or a pointer
    becomes wrong, whatever reads the tensor raises an InputError.

    >>> t = Tensor.from_numpy("Dense(SparseList(Element(0.0)))", [[0, 2.5], [1, 0]])
    >>> t.shape, t.nnz
    ((2, 2), 2)
    >>> print(t)
    Dense(SparseList(Element(0.0)))  2×2
    ├─ [:, 1]
    │  └─ 2: 1.0
    └─ [:, 2]
       └─ 1: 2.5
    >>> t.to_scipy().toarray().tolist()
    [[0.0, 2.5], [1.0, 0.0]]

    Attributes:
        tower: the levels, outermost first, with the extents.
        data: the cells of the buffers of all levels.
        fill: the value of every element that is not stored, exact.
    """

    tower: Tower
    data: Cells | Frozen = field(repr=False)
    fill: ir.Value

    def __reduce__(self) -> tuple[type[Tensor], tuple[Tower, Cells | Frozen, ir.Value]]:
        """Copies have arrays of their own, which nobody can write."""
        return Tensor, (self.tower, self.data, self.fill)

    @cached_property
    def cells(self) -> Cells:
        """The cells as a dictionary. InputError if there are too many."""
        if isinstance(self.data, Cells):
            return self.data
        _check_room(self.tower, LARGEST)
        return Cells(self.data.dictionary())

    # ------------------------------------------------------------------------------------------------------ from data

    @staticmethod
    def from_numpy(
        form: str | ir.Format, array: Any, *, devices: Mapping[str, int] | None = None, borrow: bool = False
    ) -> Tensor:
        """A tensor with the elements of a dense array. Sparse levels store those that differ from the fill value.

        Args:
            form: the format, such as `"Dense(SparseList(Element(0.0)))"`, with a level for each axis: the innermost
                level is the first axis, as in column-major order.
            array: anything that NumPy converts to an array of booleans, integers or doubles, with that many axes.
            devices: the number of threads of each device that the format names.
            borrow: use the memory of the array where its order fits, instead of a copy.

        Raises:
            InputError: the number of axes differs, an element is of another kind than the fill value or does not fit
                the width, or a level cannot store the elements.
        """
        if scipy.sparse.issparse(array) or isinstance(array, Filled):
            raise InputError("a SciPy sparse array is not a dense one", fix="use Tensor.from_scipy")
        return _from_arrays(form, as_array(array), devices, borrow)

    @staticmethod
    def from_scipy(
        form: str | ir.Format, matrix: Any, *, devices: Mapping[str, int] | None = None, borrow: bool = False
    ) -> Tensor:
        """A tensor with the stored elements of a SciPy sparse array, stored zeros among them.

        Args:
            form, devices, borrow: as for `from_numpy`.
            matrix: a sparse array of any format, or one `with_fill`. Unsorted entries are sorted, and duplicates are
                summed. A BSR array has four axes if the format has: column and row in the block, column and row of the
                block.

        Raises:
            InputError: as `from_numpy`, or what is not stored, 0 or the fill value that is given, is not the format's.
        """
        if not (scipy.sparse.issparse(matrix) or isinstance(matrix, Filled)):
            raise InputError(f"a {type(matrix).__name__} is not a SciPy sparse array", fix="use Tensor.from_numpy")
        return _from_arrays(form, matrix, devices, borrow)

    @staticmethod
    def from_file(
        form: str | ir.Format | None, path: str | os.PathLike[str], *, devices: Mapping[str, int] | None = None
    ) -> Tensor:
        """A tensor from a file.

        Args:
            form: the format; None for the one that an input has if it is given none: the last axis Dense, the others
                SparseList, and elements as wide as those in the file.
            path: a file with the suffix `.mtx .tns .npy .npz .h5 .arrow .arrows .png .pgm .ppm`, also `.mtx.gz` and
                `.tns.gz`, or a member of it after a colon: `two.npz:a`, `page.png:red`. A matrix of one column and a
                plane of an image are also vectors.
            devices: as for `from_numpy`.

        Raises:
            InputError: the file cannot be read, or its tensor does not fit the format. What is not stored is 0 or the
                fill value of the file, unless one is given with its name: `graph.mtx:fill=Inf`.
        """
        from wingspan.tensors.files import read_file

        if form is None:
            data = read_file(require_readable_name(path))
            return _from_arrays(default_of(data), data, devices, borrow=True)
        rank = Tower.of(outermost(form, devices), ()).rank
        return _from_arrays(form, read_file(require_readable_name(path), rank=rank), devices, borrow=True)

    @staticmethod
    def from_sparse(form: str | ir.Format, array: Any, *, devices: Mapping[str, int] | None = None) -> Tensor:
        """A tensor with the stored elements of an array of pydata/sparse (COO, GCXS, DOK).

        Args:
            form, devices: as for `from_numpy`.
            array: its fill value must be that of the format.

        Raises:
            InputError: as `from_numpy`, or the fill values differ.
        """
        if not (hasattr(array, "fill_value") or isinstance(array, Filled)):
            raise InputError(f"a {type(array).__name__} is not an array of pydata/sparse", fix="use Tensor.from_scipy")
        return _from_arrays(form, array, devices, False)

    @staticmethod
    def from_arrow(form: str | ir.Format, array: Any, *, devices: Mapping[str, int] | None = None) -> Tensor:
        """A vector with the elements of an array of Arrow.

        Nothing is copied that fits: run ends of 32 bits (64 if a run ends beyond 2³¹ - 1), and values of 64 bits.

        Args:
            form, devices: as for `from_numpy`, with one axis. A RunList has the runs of a run-end encoded array.
            array: numbers without nulls.

        Raises:
            InputError: as `from_numpy`.
        """
        if not is_arrow(array):
            raise InputError(f"a {type(array).__name__} is not an array of Arrow", fix="use Tensor.from_numpy")
        return _from_arrays(form, array, devices, True)

    # -------------------------------------------------------------------------------------------------------- to data

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, in the order of the subscripts."""
        return self.tower.shape

    @property
    def nnz(self) -> int:
        """The number of stored elements; all those of a run count, though they are stored once."""
        if (parts := self.arrays_in_order()) is not None:
            return len(parts[0])
        found = count(self.data) if isinstance(self.data, Frozen) else None
        return sum(1 for _ in self._leaves()) if found is None else found

    def entries(self) -> Iterator[Entry]:
        """The stored elements in column-major order, each with its subscripts, from 1, and its exact value."""
        found = self._elements()
        if found is None:
            return self._leaves()
        subscripts, values = found
        counted = ((axis.astype(np.int64) + 1).tolist() for axis in subscripts)
        at = zip(*counted, strict=True) if subscripts else iter([()] * len(values))
        return zip(at, map(exact_elements[self.tower.kind], values.tolist()), strict=True)

    def to_exact(self) -> np.ndarray:
        """The dense array of exact values, of this tensor's shape and dtype `object`: integers, booleans, and rationals
        for doubles.
        """
        values = self.exact_values()
        array: np.ndarray = np.empty(len(values), dtype=object)
        array[:] = values
        return array.reshape(self.shape)

    def exact_values(self) -> list[ir.Value]:
        """The same as a list, row by row."""
        self._require_memory(8)
        values = [self.fill] * prod(self.shape)
        strides = [prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        for subscripts, value in self.entries():
            values[sum((i - 1) * stride for i, stride in zip(subscripts, strides, strict=True))] = value
        return values

    def stored(self) -> np.ndarray:
        """The pattern of stored elements: an array of truth values of this tensor's shape."""
        self._require_memory(1)
        found: np.ndarray = np.zeros(self.shape, dtype=np.bool_)
        for subscripts, _ in self.entries():
            found[tuple(i - 1 for i in subscripts)] = True
        return found

    def to_numpy(self) -> np.ndarray:
        """The dense array, of this tensor's shape: integers, doubles (the nearest ones) or booleans, as wide as the
        format; of pairs records of the type `wingspan.PAIR`.

        If all levels are dense, the result of an engine is not copied, and the array is only to be read.
        """
        if self.tower.elements.is_packed:
            return pairs(self._words())
        return self._words()

    def _words(self) -> np.ndarray:
        """The dense array, with pairs as words."""
        parts = self.arrays_in_order()
        if parts is not None and len(parts) == 1:
            return hand_out(parts[0]).reshape(self.shape, order="F")
        self._require_memory(self.tower.dtype.itemsize)
        array: np.ndarray = np.full(prod(self.shape), double(self.fill), dtype=self.tower.dtype)
        subscripts, values = self.coordinates()
        at: np.ndarray = np.zeros(len(values), dtype=np.int64)
        for axis, extent in zip(reversed(subscripts), reversed(self.shape), strict=True):
            at *= extent
            at += axis
        array[at] = values
        return array.reshape(self.shape, order="F")

    def _require_memory(self, width: int) -> None:
        """InputError if a dense array with elements of so many bytes takes more memory than there is."""
        size = width * prod(self.shape)
        if size > LARGE and size > (most := available_memory()):
            extents = "×".join(map(str, self.shape))
            message = (
                f"a dense array of {extents} elements takes {in_bytes(size)} of memory; the limit is {in_bytes(most)}"
            )
            raise InputError(message, topic="memory", fix="use to_coo() or to_scipy(), or a file of what is stored")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The same for NumPy: `np.asarray(tensor)`."""
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    def __float__(self) -> float:
        """The element of a tensor without axes. TypeError if it has some."""
        return float(self._number())

    def __int__(self) -> int:
        """The element of a tensor without axes, towards zero. TypeError if it has some."""
        return int(self._number())

    def _number(self) -> Any:
        if self.shape:
            extents = "×".join(map(str, self.shape))
            raise TypeError(f"only a tensor without axes is a number, and this one is {extents}: use to_numpy()")
        if self.tower.elements.is_packed:
            raise TypeError("a pair is no number: use to_numpy(), with the fields first and second")
        return self.to_numpy().item()

    def to_scipy(self) -> Any:
        """The stored elements as a SciPy sparse array of this tensor's shape: CSC for matrices, COO for other ranks,
        and for matrices of 2³¹ columns or more, whose pointers would take more memory than their elements.

        What a result of an engine shares with it is only to be read; `copy()` it to change it.

        Raises:
            InputError: the fill value is not zero, there are no axes, or the elements are pairs.
        """
        others, fix = "SciPy's sparse arrays", "use to_coo() or to_numpy()"
        if self.tower.elements.is_packed:
            raise InputError(f"{others} hold no pairs, and {self.tower} does", fix=fix)
        if self.fill != 0:
            raise InputError(f"{others} have fill value 0, and {self.tower} has {show(self.fill)}", fix=fix)
        if not self.shape:
            raise InputError(f"{others} have at least one axis, and {self.tower} has none", fix=fix)
        compressed = len(self.shape) == 2 and self.shape[1] < 2**31
        if compressed and isinstance(self.data, Frozen):
            self._require_order()
            if (gathered := columns(self.data)) is not None:
                return gathered
        if compressed:
            return self._coo().tocsc()
        subscripts, values = self.coordinates()
        return coo_array(hand_out(values), list(map(hand_out, subscripts)), self.shape)

    def to_coo(self) -> Coordinates:
        """The stored elements of a tensor of any rank and fill value, in column-major order, as arrays of its own."""
        subscripts, values = self.coordinates()
        values = pairs(values) if self.tower.elements.is_packed else np.array(values)
        at = np.array(subscripts, dtype=np.int64).reshape(len(self.shape), len(values))
        return Coordinates(at, values, double(self.fill), self.shape)

    def to_arrow(self) -> Any:
        """A vector as an array of Arrow, run-end encoded if its level keeps runs.

        Raises:
            InputError: this tensor is not a vector, or its elements are pairs.
        """
        if len(self.shape) != 1:
            message = f"an array of Arrow has one axis, and {self.tower} has {axes(len(self.shape))}"
            raise InputError(message, fix="use to_numpy()")
        if self.tower.elements.is_packed:
            raise InputError(f"an array of Arrow holds no pairs, and {self.tower} does", fix="use to_numpy()")
        from wingspan.tensors.files.arrow import array_of

        return array_of(self)

    def runs(self) -> RunArray | None:
        """A vector in runs, those of the fill value included; None for other tensors."""
        return runs(self.data, self.fill) if isinstance(self.data, Frozen) else None

    def save(self, path: str | os.PathLike[str], *, binsparse_version: str | None = None) -> None:
        """Write this tensor to a file, which is replaced in one step.

        Args:
            path: a file with a suffix that `from_file` reads. `.npy` holds all elements, the others what is stored;
                `.npz` and `.h5` hold any rank, and `.h5` any fill value.
            binsparse_version: how a `.h5` file names its version: `"0.1.0"`, by default, as the reference
                implementations of binsparse do, or `"0.1"`, which Finch.jl takes.

        Raises:
            InputError: such a file cannot hold this tensor, or cannot be written.
        """
        from wingspan.tensors.files import write_file

        write_file(require_readable_name(path), self, binsparse_version)

    def validate(self) -> None:
        """Check that the buffers satisfy the invariants of their levels.

        Tensors that this package makes always do. Borrowed arrays that were changed may not, which whatever reads the
        tensor checks, too; nor what a race has left behind. Levels of your own are checked only if they have `pack` and
        `unpack`.

        Raises:
            InputError: an invariant is broken. The message names the level, the fiber and the entry.
        """
        data = self.data if isinstance(self.data, Frozen) else collect(self.tower, self.data.values)
        if wrong := self.disorder() or invariants(data):
            raise InputError(f"{DISORDER}: {self.tower}: {wrong}", fix="make it anew")

    def sizes(self) -> list[dict[str, Any]]:
        """The levels, outermost first: the `level` number, the `name`, and the size of each of the `buffers`, in bytes,
        over all instances.
        """
        data = self.data if isinstance(self.data, Frozen) else collect(self.tower, self.data.values)
        made: list[dict[str, Any]] = [
            {"level": number, "name": level.name, "buffers": {buffer.name: 0 for buffer in level.buffers}}
            for number, level in zip(self.tower.numbers, self.tower.levels, strict=True)
        ]
        for (depth, name, _), stored in data.arrays.items():
            made[depth]["buffers"][name] += stored.values.nbytes + (0 if stored.at is None else stored.at.nbytes)
        return made

    def disorder(self) -> str | None:
        """The broken invariant of a tensor that shares its arrays with the caller; None if there is none."""
        if not isinstance(self.data, Frozen) or self.data.columns is None:
            return None
        return self.data.disorder if self.data.is_immutable else self.data.columns.disorder(self.data)

    def arrays_in_order(self) -> tuple[np.ndarray] | tuple[np.ndarray, Stored, Stored] | None:
        """The elements, pointers and indices, cut to what is in use, if they lie in one array each and are in order."""
        if not isinstance(self.data, Frozen) or self.data.columns is None:
            return None
        return self.data.columns.arrays_in_order(self.data)

    def _elements(self) -> Elements | None:
        """All stored elements at once, if they are kept in arrays that are in order."""
        self._require_order()
        return elements(self.data) if isinstance(self.data, Frozen) else None

    def coordinates(self) -> Elements:
        """The stored elements in column-major order: an array of subscripts, from 0, for each axis, and an array of
        values, both as long as `nnz`; doubles are the nearest ones, pairs their words.
        """
        found = self._elements()
        if found is not None:
            return found
        entries = list(self._leaves())
        values = round_to_width(np.fromiter((value for _, value in entries), object, len(entries)), self.tower.dtype)
        at = np.array([at for at, _ in entries], dtype=np.int64).reshape(len(entries), len(self.shape))
        return list(at.T - 1), values

    def _coo(self) -> Any:
        subscripts, values = self.coordinates()
        return scipy.sparse.coo_array((values, tuple(subscripts)), shape=self.shape)

    def _leaves(self) -> Iterator[Entry]:
        return ((subscripts, value) for subscripts, value, _ in self._reader().leaves())

    def _require_order(self) -> None:
        """InputError if arrays that it borrows have been spoiled: nothing may be made of them."""
        if isinstance(self.data, Frozen) and self.data.is_borrowed and (wrong := self.disorder()):
            raise InputError(f"{DISORDER}: {self.tower}: {wrong}", fix="make it anew")

    def _reader(self) -> CellReader:
        self._require_order()
        return CellReader(self.tower, self.data.values if isinstance(self.data, Cells) else self.data, self.fill)

    def __str__(self) -> str:
        return drawing(self.tower, self.fill, self._reader())


# ------------------------------------------------------------------------------------------------------------- loading


LARGEST = 10_000_000
"""Positions that the levels in which every index takes room may have together, as a dictionary of cells."""

LARGE = 2**26
"""Bytes of an array that are asked for before it is made."""

HUGE = 2**33
"""The same for a tensor that a program declares, which may be an array of an engine's."""

SMALLER = f"use smaller extents, or a {usual.ASCENDING}"


def too_large(name: str, tower: Tower, most: int) -> str:
    """The message about a tensor with more positions."""
    names = " and ".join(dict.fromkeys(level.name for level in tower.levels if level.full))
    return f"{names} of {name} would have {tower.full_positions} positions, and {most} is the most"


def room_with(data: Any) -> int:
    """The positions that a tensor with this data may have: what is there already, the data may take."""
    return max(LARGEST, data.tower.full_positions if isinstance(data, Tensor) else size_of(data))


def _check_room(tower: Tower, most: int) -> None:
    if tower.full_positions > most:
        raise InputError(too_large(str(tower), tower, most), fix=SMALLER)


def hold(tower: Tower, data: Any, lent: Any = None) -> Tensor:
    """A tensor with the elements of an array, dense or SciPy sparse, from `require_array`; what is lent is copied."""
    _check_room(tower, room_with(data))
    require_alike(tower, data)
    if isinstance(data, RunArray) and not in_runs(tower):
        data = data.dense()
    try:
        arrays = frozen(tower, data, lent)
    except Fault as fault:
        raise _wrong_kind(tower, fault) from None
    if arrays is not None:
        return Tensor(tower, arrays, exact(tower.fill))
    return load(tower, entries_of(data.dense() if isinstance(data, RunArray) else data, tower.fill))


def require_alike(tower: Tower, data: Any) -> None:
    """InputError if a tensor of pairs is given other elements, or the other way round; single values are looked at
    later.
    """
    data = data.values if isinstance(data, RunArray) else data
    if of_pairs(data) and not tower.elements.is_packed:
        raise InputError(f"the data holds pairs, and {tower} does not", fix=f"use {usual.LEAF}((Inf, 0))")
    if tower.elements.is_packed and not of_pairs(data) and data.dtype != np.object_:
        raise InputError(f"{tower} stores pairs, and the data holds none", fix="use an array of the type wingspan.PAIR")


def _wrong_kind(tower: Tower, fault: Fault) -> InputError:
    fix = "use smaller ones, or a wider format" if "does not fit" in fault.message else f"use {tower.elements.full}s"
    return InputError(f"{fault.message}, which {tower} stores", fix=fix)


def load(tower: Tower, entries: Iterable[Entry]) -> Tensor:
    """A tensor that stores these elements, each subscript once, and all others if its levels are dense."""
    fill = exact(tower.fill)
    _check_room(tower, LARGEST)
    try:
        data = [(at, convert(value, tower.kind)) for at, value in entries]
    except Fault as fault:
        raise _wrong_kind(tower, fault) from None
    data.sort(key=lambda entry: entry[0][::-1])
    cells = Cells()
    try:
        CellWriter(tower, cells.values, fill).write(data)
    except Fault as fault:
        raise InputError(f"the data does not fit {tower}{fault.message}", fix="use another format") from None
    return Tensor(tower, cells, fill)


def adapt(tensor: Tensor, tower: Tower) -> Tensor:
    """The tensor in the levels of a tower: with what it stores, or, if the fill values differ, what differs from fill.

    It stays as it is if its arrays are those that it would get. InputError if they are spoiled, or if the fill values
    differ and there are too many elements to look at each.
    """
    if wrong := tensor.disorder():
        raise InputError(f"{DISORDER}: {wrong}", fix=ANEW)
    if prod(tensor.shape) > LARGEST:
        require_fill(tensor.fill, tower, tower.fill)
    if not same_fill(tensor.fill, tower.fill):
        return from_exact(tower, tensor.to_exact())
    if not isinstance(tensor.data, Frozen) or not tower.rank or tower.elements.is_packed:
        return load(tower, tensor.entries())
    return (
        _copy_engine_arrays(tensor, tensor.data)
        if tensor.tower == tower and Columns.from_tower(tower)
        else hold(tower, tensor._coo())
    )


def _copy_engine_arrays(tensor: Tensor, data: Frozen) -> Tensor:
    """The tensor, with copies in place of arrays of an engine's, of which others may have views."""
    writeable = {key: stored for key, stored in data.arrays.items() if stored.values.flags.writeable}
    copies = {key: replace(stored, values=stored.values.copy()) for key, stored in writeable.items()}
    for stored in copies.values():
        stored.values.flags.writeable = False
    return Tensor(tensor.tower, Frozen(tensor.tower, {**data.arrays, **copies}), tensor.fill) if copies else tensor


DISORDER, ANEW = "not a tensor in order", "make it anew by Tensor.from_scipy"


def require_order(name: str, tensor: Tensor) -> None:
    """InputError if arrays that a tensor borrows have been spoiled. Nothing may run on such an input."""
    if wrong := tensor.disorder():
        raise InputError(f"{name}: {DISORDER}: {wrong}", fix=ANEW)


def from_exact(tower: Tower, array: np.ndarray) -> Tensor:
    """A tensor with the elements of an array of exact values that differ from the format's fill value."""
    return load(tower, dense_entries(array, tower.fill))


def _from_arrays(form: str | ir.Format, data: Any, devices: Mapping[str, int] | None, borrow: bool) -> Tensor:
    root = outermost(form, devices)
    levels = Tower.of(root, ())
    given = adopt(data, levels, levels.rank, levels.fill)
    given = given if scipy.sparse.issparse(given) or isinstance(given, RunArray) else as_array(given)
    data = require_array(given)
    tower = Tower.of(root, tuple(int(n) for n in data.shape))
    if tower.rank != len(tower.shape):
        what = f"{tower} has {axes(tower.rank)}, the data has {len(tower.shape)}"
        raise InputError(what, fix="use a format with a level for each axis, and a leaf")
    if tower.rank > MOST_AXES:
        raise InputError(f"the data has {tower.rank} axes, and a tensor has at most {MOST_AXES}", fix="use fewer axes")
    return hold(tower, data, None if borrow else given)
