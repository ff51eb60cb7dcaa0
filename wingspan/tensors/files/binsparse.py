"""Binsparse 0.1 in HDF5 (`.h5`; https://graphblas.org/binsparse-specification), by h5py.

The specification writes its version as 0.1. The reference implementations of 2026, in Python and in C, take three
numbers only, 0.1.0, which is what is written; those before take either. Finch.jl takes 0.1 only.

A group has an attribute `binsparse`, a JSON text that says how its arrays make a tensor. All predefined formats are
read, and custom ones of the levels dense, sparse and element; values of one kind (`iso`), fill values, and matrices of
which one triangle is stored. What HDF5 itself does with a spoiled container is not in our hands: read only those that
you trust. Dense tensors are written as such, CSC matrices as CSC, and all others as the entries of
fibers in fibers (CVEC, DCSC, custom).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from io import BytesIO
from math import prod
from typing import IO, Any

from wingspan.base.errors import InputError, abridge
from wingspan.base.libraries import np, scipy
from wingspan.base.reading import DEFLATE, InSteps, require_memory
from wingspan.levels import MOST_AXES
from wingspan.tensors.files.file_format import WritableTensor, library, library_errors
from wingspan.tensors.foreign import Filled, zero
from wingspan.tensors.pack import TensorEntries

Levels = list[tuple[str, int]]
"""The storage levels of a format, outermost first: dense or sparse, and how many axes it has."""

PREDEFINED: dict[str, tuple[Levels, bool]] = {
    "DVEC": ([("dense", 1)], False),
    "DMAT": ([("dense", 2)], False),
    "DMATR": ([("dense", 2)], False),
    "DMATC": ([("dense", 2)], True),
    "CVEC": ([("sparse", 1)], False),
    "CSR": ([("dense", 1), ("sparse", 1)], False),
    "CSC": ([("dense", 1), ("sparse", 1)], True),
    "DCSR": ([("sparse", 1), ("sparse", 1)], False),
    "DCSC": ([("sparse", 1), ("sparse", 1)], True),
    "COO": ([("sparse", 2)], False),
    "COOR": ([("sparse", 2)], False),
    "COOC": ([("sparse", 2)], True),
}
"""The levels of each format, and whether the last axis is the outermost one."""

VERSIONS = ("0.1.0", "0.1")
"""The spellings of binsparse 0.1 in files, the usual one first."""

STRUCTURES = {
    f"{kind}_{triangle}": sign
    for kind, sign in (("symmetric", 1), ("hermitian", 1), ("skew_symmetric", -1))
    for triangle in ("lower", "upper")
}
"""The sign of an entry on the other side of the diagonal."""


def read_h5(file: InSteps, member: str | None = None) -> Any:
    """The tensor in a file, or in the group that is named. ValueError or InputError if it is not in order."""
    h5py = library("h5py", "h5py", "hdf5")
    with library_errors(OSError, RuntimeError, KeyError), h5py.File(file, "r") as root:
        return _Group(h5py, _group(h5py, root, member)).tensor()


def _group(h5py: Any, root: Any, member: str | None) -> Any:
    """The group with a tensor. Links to other files are not followed."""
    found = root
    for name in filter(None, (member or "").split("/")):
        found = _inside(h5py, found, name)
    if not isinstance(found, h5py.Group) or "binsparse" not in found.attrs:
        where = f"the group {abridge(member)}" if member else "it"
        raise ValueError(f"{where} has no attribute `binsparse`")
    return found


def _inside(h5py: Any, group: Any, name: str) -> Any:
    if name not in group or not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"it holds no {abridge(name)}")
    return group[name]


NAMES = {dict: "object", list: "array", str: "string", int: "integer"}
"""The words of JSON for the types of metadata."""


def _metadata_value(described: Any, key: str, kind: type) -> Any:
    """The metadata under a key. ValueError unless it is there and of that kind."""
    found = described.get(key) if isinstance(described, dict) else None
    if not isinstance(found, kind) or isinstance(found, bool):
        raise ValueError(f"its metadata have no {NAMES[kind]} `{key}`")
    return found


class _Group:
    """A group with a tensor."""

    def __init__(self, h5py: Any, group: Any) -> None:
        self.h5py, self.group = h5py, group
        text = group.attrs["binsparse"]
        if not isinstance(text, str | bytes):
            raise ValueError("its attribute `binsparse` is no text")
        whole = json.loads(text)
        nested = isinstance(whole, dict) and "binsparse" in whole
        self.described = _metadata_value(whole, "binsparse", dict) if nested else whole
        self.shape = tuple(_metadata_value(self.described, "shape", list))
        self.types = _metadata_value(self.described, "data_types", dict)
        version, self.base = self.described.get("version", VERSIONS[0]), self.described.get("index_base", 0)
        if not re.fullmatch(r"0\.1(\.\d.*)?", str(version)):
            raise ValueError(f"its version is {abridge(str(version))}, and 0.1 is read")
        if type(self.base) is not int or self.base not in (0, 1):
            raise ValueError(f"its indices count from {abridge(str(self.base))}, and not from 0 or 1")
        if not 1 <= len(self.shape) <= MOST_AXES or not all(type(n) is int and 0 <= n < 2**63 for n in self.shape):
            raise ValueError(f"its shape is {abridge(str(self.shape))}")

    def array(self, name: str) -> np.ndarray:
        """An array of numbers. ValueError if it is none, or declares more than the file can hold."""
        found = _inside(self.h5py, self.group, name)
        if not isinstance(found, self.h5py.Dataset) or found.ndim != 1 or found.dtype.kind not in "biuf":
            raise ValueError(f"{name} is no list of numbers")
        if found.is_virtual or found.external:
            raise ValueError(f"{name} is in another file")
        if found.nbytes > DEFLATE * found.id.get_storage_size():
            raise ValueError(f"{name} cannot be {found.nbytes} bytes long")
        require_memory(3 * found.nbytes, f"it declares {name} as {found.size} {found.dtype}")
        return np.asarray(found[...])

    def integers(self, name: str) -> np.ndarray:
        """An array of integers, signed ones."""
        found = self.array(name)
        if found.dtype.kind not in "iu":
            raise ValueError(f"{name} holds no integers")
        if self.base:
            return np.asarray(found.astype(np.int64) - self.base)
        return found.astype(np.int64) if found.dtype not in (np.int32, np.int64) else found

    def layout(self) -> tuple[Levels, list[int]]:
        """The levels, and which axis each axis of theirs is."""
        form = self.described.get("format")
        custom = form if isinstance(form, dict) else self.described.get("custom")
        if isinstance(form, str) and form.upper() in PREDEFINED:
            levels, transposed = PREDEFINED[form.upper()]
            axes = list(range(sum(rank for _, rank in levels)))
            order = axes[::-1] if transposed else axes
        elif isinstance(custom, dict):
            levels, level = [], _metadata_value(custom, "level", dict)
            while (kind := _metadata_value(level, "level_desc", str)) != "element":
                levels.append((kind, _metadata_value(level, "rank", int)))
                level = _metadata_value(level, "level", dict)
            order = _metadata_value(custom, "transpose", list) if "transpose" in custom else [*range(len(self.shape))]
        else:
            raise ValueError(f"its format is {abridge(str(form))}")
        known = all(kind in ("dense", "sparse") and rank >= 1 for kind, rank in levels)
        known = known and sum(rank for _, rank in levels) == len(self.shape)
        if not known or {*map(type, order)} != {int} or sorted(order) != [*range(len(self.shape))]:
            raise ValueError(f"its levels do not fit its {len(self.shape)} axes")
        return levels, order

    def tensor(self) -> Any:
        """The array, dense or SciPy's, with the fill value that the file names."""
        levels, order = self.layout()
        extents = [self.shape[axis] for axis in order]
        if all(kind == "dense" for kind, _ in levels):
            values = self.values(prod(extents))
            return self.with_fill(values.reshape(extents).transpose(np.argsort(order)))
        if levels == PREDEFINED["CSC"][0]:
            made: Any = self.compressed_matrix(order == [1, 0])
        else:
            subscripts, entries = self.subscripts(levels, extents)
            coords = [subscripts[order.index(axis)] for axis in range(len(order))]
            made = scipy.sparse.coo_array((self.values(entries), tuple(coords)), shape=self.shape)
        return self.with_fill(self.with_both_triangles(made))

    def compressed_matrix(self, columns: bool) -> Any:
        """A CSC or CSR matrix."""
        pointers, indices = self.pointers(1, self.shape[1 if columns else 0]), self.integers("indices_1")
        self.check([indices], pointers, [self.shape[0 if columns else 1]], "1")
        make = scipy.sparse.csc_array if columns else scipy.sparse.csr_array
        return make((self.values(len(indices)), indices, pointers), shape=self.shape)

    def pointers(self, axis: int, positions: int) -> np.ndarray:
        """The first entry of each position."""
        name = f"pointers_to_{axis}"
        found = self.integers(name)
        if len(found) != positions + 1 or found[0] != 0 or (found[1:] < found[:-1]).any():
            raise ValueError(f"{name} does not ascend from 0 in {positions + 1} steps")
        return found

    def subscripts(self, levels: Levels, extents: Sequence[int]) -> tuple[list[np.ndarray], int]:
        """The subscripts of all entries, and how many there are."""
        made: list[np.ndarray] = []
        positions = 1
        for kind, rank in levels:
            axis = len(made)
            sides = extents[axis : axis + rank]
            if kind == "dense":
                n = prod(sides)
                require_memory(8 * (axis + rank) * positions * n, f"it declares {positions * n} elements")
                new = [np.tile(side.ravel(), positions) for side in np.indices(sides)]
                outer = [np.repeat(each, n) for each in made]
            else:
                new = [self.integers(f"indices_{axis + k}") for k in range(rank)]
                pointers = self.pointers(axis, positions) if axis else np.array([0, len(new[0])])
                self.check(new, pointers, sides, str(axis))
                outer = [np.repeat(each, np.diff(pointers)) for each in made]
            made = [*outer, *new]
            positions = len(made[0])
        return made, positions

    def check(self, indices: list[np.ndarray], pointers: np.ndarray, extents: Sequence[int], name: str) -> None:
        """ValueError unless the indices of each position are within the extents, and ascend, first axis first."""
        if any(len(each) != pointers[-1] for each in indices):
            raise ValueError(f"indices_{name} has {len(indices[0])} elements, and {pointers[-1]} are announced")
        ascends: np.ndarray = np.zeros(max(len(indices[0]) - 1, 0), dtype=np.bool_)
        for each, extent in zip(reversed(indices), reversed(extents), strict=True):
            if len(each) and not 0 <= each.min() <= each.max() < extent:
                raise ValueError(f"indices_{name} has elements that are not in 0:{extent - 1}")
            ascends = (each[1:] > each[:-1]) | ((each[1:] == each[:-1]) & ascends)
        begins = pointers[1:-1]
        ascends[begins[(begins > 0) & (begins < len(indices[0]))] - 1] = True
        if not ascends.all():
            raise ValueError(f"indices_{name} does not ascend")

    def values(self, stored: int, name: str = "values") -> np.ndarray:
        """The values of so many entries."""
        kind: str = _metadata_value(self.types, name, str)
        if kind.startswith("complex"):
            raise InputError("its numbers are complex", fix="write their real parts, or their absolute values")
        found = self.array(name)
        if kind.removeprefix("iso[").rstrip("]") == "bint8":
            if found.max(initial=0) > 1:
                raise ValueError(f"{name} has booleans that are neither 0 nor 1")
            found = found.astype(np.bool_)
        wanted = 1 if kind.startswith("iso[") else stored
        announced = _metadata_value(self.described, "number_of_stored_values", int) if name == "values" else stored
        if announced != stored:
            raise ValueError(f"its metadata announce {announced} stored values, and there are {stored}")
        if len(found) != wanted:
            raise ValueError(f"{name} has {len(found)} elements for {stored} entries")
        if not kind.startswith("iso["):
            return found
        require_memory(8 * stored, f"it declares {stored} equal elements")
        return np.repeat(found, stored)

    def with_fill(self, array: Any) -> Any:
        """The array with its fill value: the one that the file names, else 0; dense arrays need none then."""
        if self.described.get("fill"):
            return Filled(array, self.values(1, "fill_value")[0].item())
        return Filled(array, zero(array.dtype)) if scipy.sparse.issparse(array) else array

    def with_both_triangles(self, matrix: Any) -> Any:
        """The matrix with both triangles, if one is stored."""
        structure = self.described.get("structure")
        if structure is None:
            return matrix
        if not isinstance(structure, str) or structure not in STRUCTURES or len(set(self.shape)) > 1:
            raise ValueError(f"its structure is {abridge(str(structure))}")
        coo = scipy.sparse.coo_array(matrix)
        row, column = coo.coords
        off = row != column
        if (row < column if structure.endswith("lower") else row > column).any():
            raise ValueError(f"its structure is {structure}, and there are entries on the other side of the diagonal")
        sign = STRUCTURES[structure]
        data = coo.data if sign > 0 else _with_negatives(coo.data)
        values = np.concatenate([data, sign * data[off]])
        coords = np.concatenate([row, column[off]]), np.concatenate([column, row[off]])
        return scipy.sparse.coo_array((values, coords), shape=self.shape)


def _with_negatives(values: np.ndarray) -> np.ndarray:
    """The values as doubles or 64-bit integers. ValueError if the negative of one is none."""
    if values.dtype.kind == "f":
        return values
    if values.size and not -(2**63) < int(values.min()) <= int(values.max()) < 2**63:
        raise ValueError("the negative of an element does not fit a 64-bit integer")
    return values.astype(np.int64)


def write_h5(file: IO[bytes], tensor: WritableTensor, version: str = VERSIONS[0]) -> None:
    """Write any tensor, as one of `VERSIONS`. InputError if it has no axes."""
    if version not in VERSIONS:
        raise InputError(f"is not written as binsparse {version}", fix=f"use {' or '.join(VERSIONS)}")
    h5py = library("h5py", "h5py", "hdf5")
    described, arrays = _describe_tensor(tensor)
    if tensor.fill != 0:
        described["fill"], arrays["fill_value"] = True, np.array([tensor.fill], dtype=arrays["values"].dtype)
    described["data_types"] = {
        name: "bint8" if array.dtype == np.bool_ else array.dtype.name for name, array in arrays.items()
    }
    memory = BytesIO()  # HDF5 also reads what it writes
    with h5py.File(memory, "w") as root:
        root.attrs["binsparse"] = np.bytes_(json.dumps({"binsparse": {"version": version, **described}}))
        for name, array in arrays.items():
            root[name] = array.view(np.uint8) if array.dtype == np.bool_ else array
    file.write(memory.getbuffer())


def _describe_tensor(tensor: WritableTensor) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The metadata of a tensor, and its arrays by name."""
    shape, rank = tensor.shape, len(tensor.shape)
    if not rank:
        raise InputError("does not hold a tensor with no axes", fix="use .npy")
    storage = tensor.tower.storage
    text: dict[str, Any] = {"shape": list(shape)}
    if all(level.lookup for level in storage):
        values = tensor.to_numpy().ravel(order="F")
        return text | _form(rank, "dense") | {"number_of_stored_values": len(values)}, {"values": values}
    subscripts, values = tensor.coordinates()
    text["number_of_stored_values"] = len(values)
    if rank == 2 and storage[0].lookup:
        pointers = np.searchsorted(subscripts[1], np.arange(shape[1] + 1))
        return text | {"format": "CSC"}, {"pointers_to_1": pointers, "indices_1": subscripts[0], "values": values}
    entries = TensorEntries.from_subscripts(subscripts, shape, values)
    arrays = {f"indices_{k}": indices for k, indices in enumerate(entries.indices)}
    arrays |= {f"pointers_to_{k}": pointers for k, pointers in enumerate(entries.pointers) if k}
    return text | _form(rank, "sparse"), {**arrays, "values": entries.values}


def _form(rank: int, kind: str) -> dict[str, Any]:
    """The format of a tensor with a level of a kind for each axis, the last axis first."""
    if rank <= 2:
        return {"format": {"dense": ["DVEC", "DMATC"], "sparse": ["CVEC", "DCSC"]}[kind][rank - 1]}
    level: dict[str, Any] = {"level_desc": "element"}
    for _ in range(rank):
        level = {"level_desc": kind, "rank": 1, "level": level}
    return {"format": "custom", "custom": {"transpose": [*range(rank)][::-1], "level": level}}
