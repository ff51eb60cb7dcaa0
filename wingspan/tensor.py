"""Tensors at rest: a tower of levels and its cells. They come from and go to NumPy, SciPy and files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from wingspan.arrays import dense_entries, entries_of, numbers
from wingspan.errors import Fault, InputError
from wingspan.files import read_file, write_file
from wingspan.lang import ir, parser
from wingspan.lang.algebra import KINDS, convert, double, exact, show
from wingspan.lang.devices import Device
from wingspan.lang.ir import Instance
from wingspan.levels import Tower, resolve
from wingspan.levels.cells import Cells, Entry, Reader, Writer

__all__ = ["Cells", "Entry", "Tensor", "entries_of", "from_exact", "load", "read_file"]

_DTYPES: dict[str, type] = {"int": np.int64, "float": np.float64, "bool": np.bool_}


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor in read mode: its levels, their cells and its fill value.

    >>> t = Tensor.from_numpy("Dense(SparseList(Element(0.0)))", [[0, 2.5], [1, 0]])
    >>> t.shape, t.nnz
    ((2, 2), 2)
    >>> t
    Dense(SparseList(Element(0.0)))  2×2
    ├─ [:, 1]
    │  └─ 2: 1.0
    └─ [:, 2]
       └─ 1: 2.5
    >>> t.to_scipy().toarray().tolist()
    [[0.0, 2.5], [1.0, 0.0]]
    """

    tower: Tower
    cells: Cells = field(repr=False)
    fill: ir.Value

    # ------------------------------------------------------------------------------------------------------ from data

    @staticmethod
    def from_numpy(form: str | ir.Format, array: Any, *, devices: Mapping[str, int] | None = None) -> Tensor:
        """A tensor of the given format with the elements of a dense array; levels store those that differ from fill.

        `devices` gives the number of threads of each device that the format names. InputError if the ranks disagree or
        an element is not of the format's kind.
        """
        if scipy.sparse.issparse(array):
            raise InputError("a SciPy sparse array is not a dense one", fix="use Tensor.from_scipy")
        return _of(form, array, devices)

    @staticmethod
    def from_scipy(form: str | ir.Format, matrix: Any, *, devices: Mapping[str, int] | None = None) -> Tensor:
        """A tensor with the stored elements of a SciPy sparse array; unsorted ones are sorted, duplicates summed."""
        if not scipy.sparse.issparse(matrix):
            raise InputError(f"a {type(matrix).__name__} is not a SciPy sparse array", fix="use Tensor.from_numpy")
        return _of(form, matrix, devices)

    @staticmethod
    def from_file(
        form: str | ir.Format, path: str | os.PathLike[str], *, devices: Mapping[str, int] | None = None
    ) -> Tensor:
        """A tensor from a `.mtx`, `.npy` or `.npz` file."""
        return _of(form, read_file(Path(path)), devices)

    # -------------------------------------------------------------------------------------------------------- to data

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, in the order of the subscripts."""
        return self.tower.shape

    @property
    def nnz(self) -> int:
        """The number of stored elements."""
        return sum(1 for _ in self.entries())

    def entries(self) -> Iterator[Entry]:
        """The stored elements, in column-major order."""
        for subscripts, value, _ in self._reader().leaves():
            yield subscripts, value

    def to_exact(self) -> np.ndarray:
        """The dense array of exact values (`object`): integers, booleans, and rationals for doubles."""
        array = np.full(self.shape, self.fill, dtype=object)
        for subscripts, value in self.entries():
            array[tuple(i - 1 for i in subscripts)] = value
        return array

    def to_numpy(self) -> np.ndarray:
        """The dense array, of 64-bit integers, doubles (the nearest ones) or booleans."""
        array: np.ndarray = np.full(self.shape, double(self.fill), dtype=_DTYPES[self.tower.kind])
        for subscripts, value in self.entries():
            array[tuple(i - 1 for i in subscripts)] = double(value)
        return array

    def to_scipy(self) -> Any:
        """A SciPy sparse array: CSC for matrices, COO for other ranks.

        ValueError if the fill value is not zero or the rank is.
        """
        if self.fill != 0:
            raise ValueError(f"SciPy's sparse arrays have fill value 0, this tensor has {show(self.fill)}")
        if not self.shape:
            raise ValueError("SciPy's sparse arrays have at least one axis")
        entries = list(self.entries())
        values: Any = np.array([double(value) for _, value in entries], dtype=_DTYPES[self.tower.kind])
        at = np.array([at for at, _ in entries], dtype=np.int64).reshape(-1, len(self.shape)) - 1
        made = scipy.sparse.coo_array((values, tuple(at.T)), shape=self.shape)
        return made.tocsc() if len(self.shape) == 2 else made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a `.mtx`, `.npy` or `.npz` file, replaced in one step. InputError if it cannot hold this."""
        path = Path(path)
        fix = "use .npy"
        if path.suffix in (".mtx", ".npz") and (self.fill != 0 or not self.shape):
            what = f"fill value {show(self.fill)}" if self.shape else "no axes"
            raise InputError(f"{path}: a {path.suffix} file does not hold a tensor with {what}", fix=fix)
        if path.suffix == ".mtx" and len(self.shape) != 2:
            raise InputError(f"{path}: a .mtx file holds a matrix, the tensor has rank {len(self.shape)}", fix=fix)
        if path.suffix == ".mtx" and self.tower.kind == "bool":
            raise InputError(f"{path}: a .mtx file holds numbers, not booleans", fix="use .npz")
        write_file(path, self.to_scipy() if path.suffix in (".mtx", ".npz") else self.to_numpy())

    def _reader(self) -> Reader:
        return Reader(self.tower, self.cells, self.fill)

    def __repr__(self) -> str:
        return _drawing(self.tower, self.fill, self._reader())


# ------------------------------------------------------------------------------------------------------------- loading


LARGEST = 10_000_000
"""Positions that those levels of a tensor may have together in which every index takes room."""

SMALLER = "use smaller extents, or a SparseList"


def too_large(name: str, tower: Tower) -> str:
    """What to say of a tensor with more positions."""
    names = " and ".join(dict.fromkeys(level.name for level in tower.levels if level.full))
    return f"{names} of {name} would have {tower.room} positions, and {LARGEST} is the most"


def load(tower: Tower, entries: Iterable[Entry]) -> Tensor:
    """A tensor that stores these elements, each subscript once, and all others if its levels are dense."""
    fill = exact(tower.fill)
    if tower.room > LARGEST:
        raise InputError(too_large(str(tower), tower), fix=SMALLER)
    try:
        data = [(at, convert(value, tower.kind)) for at, value in entries]
    except Fault as fault:
        raise InputError(f"{fault.message}, which {tower} stores", fix=f"use {KINDS[tower.kind]}s") from None
    data.sort(key=lambda entry: entry[0][::-1])
    cells = Cells()
    try:
        Writer(tower, cells, fill).write(data)
    except Fault as fault:
        raise InputError(f"the data does not fit {tower}{fault.message}", fix="use another format") from None
    return Tensor(tower, cells, fill)


def from_exact(tower: Tower, array: np.ndarray) -> Tensor:
    """A tensor with the elements of an array of exact values that differ from the format's fill value."""
    return load(tower, dense_entries(array, tower.fill))


def _of(form: str | ir.Format, data: Any, devices: Mapping[str, int] | None) -> Tensor:
    if isinstance(form, str):
        form = _format(form)
    root = resolve(form, {name: Device(name, n) for name, n in (devices or {}).items()})
    data = data if scipy.sparse.issparse(data) else numbers(data)
    tower = Tower.of(root, tuple(int(n) for n in data.shape))
    if tower.rank != len(tower.shape):
        raise InputError(f"{tower} has {tower.rank} axes, the data has {len(tower.shape)}")
    return load(tower, entries_of(data, tower.fill))


def _format(text: str) -> ir.Format:
    match parser.parse(f"T = Tensor({text})", "format").body.statements:
        case (ir.Define(value=ir.TensorCall(format=form, extents=(), data=None)),):
            return form
    raise InputError(f"`{text}` is not a format alone", fix="for example Dense(SparseList(Element(0.0)))")


# ------------------------------------------------------------------------------------------------------------- drawing

MOST = 12
"""children drawn of one fiber"""


def _drawing(tower: Tower, fill: ir.Value, reader: Reader) -> str:
    """The fibertree, a line for each fiber and each stored element."""
    title = str(tower)
    if tower.rank == 0:
        return f"{title}: {show(reader.value(1, ()))}"
    title += "  " + "×".join(map(str, tower.shape))
    if fill != exact(tower.fill):
        title += f"  fill {show(fill)}"
    return "\n".join([title, *_branches(reader, tower.rank + 1, 1, (), ())])


def _branches(reader: Reader, number: int, position: int, instance: Instance, outer: tuple[int, ...]) -> list[str]:
    children = reader.children(number, position, instance)
    drawn = list(islice(children, MOST))
    modifiers = (reader.tower.levels[depth] for depth in reader.tower.modifiers(number - 1))
    nothing = "unclaimed" if any(level.owned for level in modifiers) else "empty"
    more = _rest(reader.tower, number, children)
    lines: list[str] = []
    for k, (index, child, inside) in enumerate(drawn):
        last = k == len(drawn) - 1 and not more
        below: list[str] = []
        if number == 2:
            text = f"{index}: {show(reader.value(child, inside))}" if child else f"{index}: {nothing}"
        else:
            text = "[" + ", ".join([":"] * (number - 2) + [str(i) for i in (index, *outer)]) + "]"
            text += _owner(reader.tower, len(instance), inside) if child else f"  {nothing}"
            below = _branches(reader, number - 1, child, inside, (index, *outer)) if child else []
        lines.append(("└─ " if last else "├─ ") + text)
        lines += [("   " if last else "│  ") + line for line in below]
    return [*lines, f"└─ … {more} more"] if more else lines


def _owner(tower: Tower, outer: int, instance: Instance) -> str:
    """Which threads own what an instance holds, those of its first `outer` keys apart."""
    keyed = [level for level in tower.levels if level.key]
    keys = [(level, key) for level, (_, key) in zip(keyed, instance, strict=False)]
    return "".join(f"  thread {key}" for level, key in keys[outer:] if level.owned)


def _rest(tower: Tower, number: int, children: Iterator[Any]) -> int:
    """How many children are left; a level that computes their positions has as many as its extent says."""
    depth = tower.depths[number]
    if not tower.levels[depth].lookup:
        return sum(1 for _ in children)
    return max(tower.extent(depth) - MOST, 0) if next(children, None) is not None else 0
