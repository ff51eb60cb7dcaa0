"""NumPy arrays (`.npy`), and sparse ones of SciPy and pydata/sparse (`.npz`), read as they were written, or refused.

Headers come first: kinds, shapes and lengths must agree with each other, with the file and with the memory before
anything is inflated or allocated. Then exactly as many bytes are read. Nothing is unpickled.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from io import BytesIO
from types import SimpleNamespace
from typing import IO, Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import abridge
from wingspan.base.libraries import np, scipy
from wingspan.base.reading import DEFLATE, STEP, InSteps, require_memory
from wingspan.lang.ir import Value
from wingspan.tensors.files.file_format import WritableTensor, entries, first_names, require_zeros
from wingspan.tensors.foreign import Filled, gcxs_array

HEADER = 4096
"""The longest header in bytes; one of an array of numbers takes about 120."""

INDEX, NUMBER, TEXT = "iu", "biuf", "SU"
"""Kinds of elements, as NumPy names them."""

LONGEST_WORD = 64
"""Bytes."""

WIDE = 10_000_000
"""Columns of a matrix that is written as COO, since CSC has a pointer for each."""


@dataclass(frozen=True)
class _Array:
    """An array in a stream, of which only the header has been read."""

    name: str
    stream: IO[bytes]
    begun: bytes
    """the elements that were read with the header"""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool

    @property
    def bytes(self) -> int:
        """The size of the elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    def read(self, bound: int | None = None) -> np.ndarray:
        """The array, in the byte order of this machine.

        ValueError if the stream ends early or goes on, or as soon as an element is not from 0 to below the bound.
        """
        data, width, checked = bytearray(self.begun), self.dtype.itemsize, 0
        while True:
            if len(data) > self.bytes:
                raise ValueError(f"more follows the last element of {self.name}")
            there = len(data) // width * width
            fresh = np.frombuffer(bytes(data[checked:there]), self.dtype) if bound is not None else ()
            if len(fresh) and not 0 <= np.min(fresh) <= np.max(fresh) < (bound or 0):
                raise ValueError(f"{self.name} has elements that are not in 0:{(bound or 0) - 1}")
            checked = there
            if not (step := self.stream.read(STEP)):
                break
            data += step
        if len(data) < self.bytes:
            raise ValueError(f"{self.name} ends before its last element")
        made = np.frombuffer(data, self.dtype)
        if self.dtype.kind == "b" and made.view(np.uint8).max(initial=0) > 1:
            raise ValueError(f"{self.name} has booleans that are neither 0 nor 1")
        made = made.astype(self.dtype.newbyteorder("="), copy=False)
        return made.reshape(self.shape, order="F" if self.by_columns else "C")


def _array(name: str, stream: IO[bytes], size: int, kinds: str) -> _Array:
    """The array in a stream of `size` bytes. ValueError if its header is not in order, or declares another size."""
    begun = stream.read(HEADER)
    head = BytesIO(begun)
    try:
        form = np.lib.format
        read_header = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}[form.read_magic(head)]
        shape, by_columns, dtype = read_header(head, max_header_size=HEADER)
    except Exception:  # NumPy evaluates the text, and raises whatever it meets
        raise ValueError(f"{name} does not start with the header of an array of numbers") from None
    if dtype.kind not in kinds or not 0 < dtype.itemsize <= (LONGEST_WORD if kinds == TEXT else 8):
        raise ValueError(f"{name} has {abridge(str(dtype))} elements")
    if any(n < 0 for n in shape) or max(shape, default=0) >= 2**63:
        raise ValueError(f"{name} has the shape {abridge(str(shape))}")
    found = _Array(name, stream, begun[head.tell() :], shape, dtype, by_columns)
    if head.tell() + found.bytes != size:
        has = "×".join(map(str, shape)) or "1"
        follow = size - head.tell()
        raise ValueError(f"{name} should be {has} {dtype} elements in {found.bytes} bytes, and has {follow} bytes")
    return found


def read_npy(file: InSteps, member: str | None = None) -> np.ndarray:
    """The array in a file. ValueError or InputError if it is not in order."""
    if file.peek(2)[:2] == b"PK":
        raise ValueError("it holds several arrays")
    found = _array("its array", file, file.size, NUMBER)
    _require_memory([found])
    return found.read()


def write_npy(file: IO[bytes], tensor: WritableTensor) -> None:
    """Write all elements. NumPy's `save` to a file says only that it failed, so it is given the `write` of one."""
    np.save(SimpleNamespace(write=file.write), tensor.to_numpy())


def _require_memory(arrays: list[_Array]) -> None:
    declared = " and ".join(f"{a.name} as {'×'.join(map(str, a.shape)) or 1} {a.dtype}" for a in arrays)
    require_memory(sum(a.bytes for a in arrays), f"it declares {declared}")


# ------------------------------------------------------------------------------------------------------------- sparse

PARTS = {
    "csc": {"indptr": INDEX, "indices": INDEX, "data": NUMBER},
    "csr": {"indptr": INDEX, "indices": INDEX, "data": NUMBER},
    "bsr": {"indptr": INDEX, "indices": INDEX, "data": NUMBER},
    "dia": {"offsets": INDEX, "data": NUMBER},
    "coo": {"row": INDEX, "col": INDEX, "data": NUMBER},
}
"""The arrays that make a sparse one, by `scipy.sparse.save_npz`; `coo` has `coords` instead if it is an array."""


class _Archive:
    """The members of a zip file by name, each a stream of which the directory says how long it is."""

    def __init__(self, file: InSteps, stack: ExitStack) -> None:
        self._packed = stack.enter_context(zipfile.ZipFile(file))
        self._stack, self._size = stack, file.size

    @property
    def names(self) -> list[str]:
        """The arrays there."""
        return [name.removesuffix(".npy") for name in self._packed.NameToInfo if name.endswith(".npy")]

    def has(self, name: str) -> bool:
        """Whether there is an array of this name."""
        return f"{name}.npy" in self._packed.NameToInfo

    def array(self, name: str, kinds: str) -> _Array:
        """The array of a name. ValueError if there is none, or it is not in order."""
        if not self.has(name):
            raise ValueError(f"it holds no sparse array: {name} is missing")
        info = self._packed.getinfo(f"{name}.npy")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is packed by a method that NumPy does not use")
        most = info.compress_size * (DEFLATE if info.compress_type == zipfile.ZIP_DEFLATED else 1)
        if info.compress_size > self._size or info.file_size > most:
            raise ValueError(f"{name} cannot be {info.file_size} bytes long, packed to {info.compress_size}")
        stream = self._stack.enter_context(self._packed.open(info))
        return _array(name, stream, info.file_size, kinds)

    def word(self, name: str) -> str:
        """The text in an array of one."""
        found = self.array(name, TEXT)
        if math.prod(found.shape) != 1:
            raise ValueError(f"{name} is no word")
        text = found.read().item()
        return text.decode("ascii") if isinstance(text, bytes) else str(text)

    def integers(self, name: str) -> tuple[int, ...]:
        """The integers in an array of 1 to 64."""
        found = self.array(name, INDEX)
        if not 1 <= math.prod(found.shape) <= 64:
            raise ValueError(f"its {name} is no list of 1 to 64 integers")
        return tuple(found.read().ravel().tolist())

    def number(self, name: str) -> Value:
        """The number in an array of one."""
        found = self.array(name, NUMBER)
        if math.prod(found.shape) != 1:
            raise ValueError(f"{name} is no number")
        number: Value = found.read().item()
        return number


def read_npz(file: InSteps, member: str | None = None) -> Any:
    """The sparse array in a file, of SciPy or pydata/sparse, the only array, or the one that is named.

    SciPy's do not store zeros; those of pydata/sparse name their fill value. ValueError or InputError if it is not in
    order.
    """
    with ExitStack() as stack:
        archive = _Archive(file, stack)
        if member is not None or not archive.has("format"):
            return _one(archive, member)
        form = archive.word("format")
        if form not in PARTS and form != "gcxs":
            raise ValueError(f"it holds no sparse array: its format is `{abridge(form)}`")
        extents = archive.integers("shape")
        if form == "gcxs":
            return _gcxs(archive, extents)
        kinds = {"coords": INDEX, "data": NUMBER} if form == "coo" and archive.has("coords") else PARTS[form]
        parts = {name: archive.array(name, kind) for name, kind in kinds.items()}
        _check_lengths(form, extents, {name: part.shape for name, part in parts.items()})
        _require_memory(list(parts.values()))
        bounds = _bounds(form, extents, parts["data"].shape[0])
        read = {name: part.read(bounds.get(name)) for name, part in parts.items()}  # the elements last
        fill = archive.number("fill_value") if archive.has("fill_value") else None
    data = read.pop("data")
    if form == "coo":
        places: tuple[Any, ...] = (read.get("coords", (read.get("row"), read.get("col"))),)
    else:
        places = (read["offsets"],) if form == "dia" else (read["indices"], read["indptr"])
    made = getattr(scipy.sparse, f"{form}_array")((data, *places), shape=extents)
    return made if fill is None else Filled(made, fill)


def _gcxs(archive: _Archive, extents: tuple[int, ...]) -> Filled:
    """A sparse array of pydata/sparse in its format GCXS: a matrix, each side of which stands for some of the axes."""
    rows = archive.integers("compressed_axes") if len(extents) > 1 else ()
    if min(extents) < 0 or len({*rows}) < len(rows) or not {*rows} <= {*range(len(extents))}:
        raise ValueError(f"its shape is {extents}, and its compressed axes are {rows}")
    parts = {name: archive.array(name, kind) for name, kind in PARTS["csr"].items()}
    fill = archive.array("fill_value", NUMBER)
    fibers = math.prod(extents[axis] for axis in rows) if len(extents) > 1 else 1
    stored = math.prod(parts["data"].shape)
    wanted = {"indptr": (fibers + 1,), "indices": (stored,), "data": (stored,)}
    if (shapes := {name: part.shape for name, part in parts.items()}) != wanted or math.prod(fill.shape) != 1:
        raise ValueError(f"its shape is {extents}, and those of its arrays are {shapes | {'fill_value': fill.shape}}")
    _require_memory(list(parts.values()))
    require_memory(8 * stored * len(extents), f"it declares {stored} elements of {len(extents)} axes")
    bounds = {"indptr": stored + 1, "indices": math.prod(extents) // max(fibers, 1)}
    indptr, indices, data = (part.read(bounds.get(name)) for name, part in parts.items())
    return Filled(gcxs_array((data, indices, indptr), extents, rows), fill.read().item())


def _one(archive: _Archive, member: str | None) -> np.ndarray:
    """The array that is named, or the only one."""
    names = archive.names
    if len(names) != 1 if member is None else member not in names:
        what = "it holds no sparse array" if member is None else f"it has no array {abridge(member)}"
        there = first_names(names) or "nothing"
        raise ValueError(f"{what}, but {there}; name one after a colon, as in two.npz:a")
    found = archive.array(names[0] if member is None else member, NUMBER)
    _require_memory([found])
    return found.read()


def write_npz(file: IO[bytes], tensor: WritableTensor) -> None:
    """Write the stored elements, not packed, which takes a hundred times longer. InputError if others are not zero."""
    require_zeros(tensor)
    wide = len(tensor.shape) == 2 and tensor.shape[1] > WIDE
    scipy.sparse.save_npz(file, entries(tensor) if wide else tensor.to_scipy(), compressed=False)


def _bounds(form: str, extents: tuple[int, ...], stored: int) -> dict[str, int]:
    """An exclusive upper bound for each array of positions, as far as one number gives it."""
    last = extents[0] if form == "csc" else max(extents) if form == "bsr" else extents[-1]
    return {"indptr": stored + 1, "indices": last, "row": extents[0], "col": extents[-1], "coords": max(extents)}


def _check_lengths(form: str, extents: tuple[int, ...], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """ValueError unless there is one place for each element, and a pointer for each fiber."""
    if min(extents) < 0 or not all(shapes.values()):
        raise ValueError(f"its shape is {extents}, and those of its arrays are {dict(shapes)}")
    stored = shapes["data"][0]
    for name, shape in shapes.items():
        if name not in ("data", "indptr") and shape[-1] != stored:
            raise ValueError(f"it holds {stored} elements, and {shape[-1]} {name}")
    if "indptr" in shapes:
        high = shapes["data"][1] if form == "bsr" and len(shapes["data"]) == 3 else 1
        fibers = extents[-1] if form == "csc" else extents[0] if len(extents) > 1 else 1
        if shapes["indptr"] != (fibers // max(high, 1) + 1,):
            raise ValueError(f"its shape is {extents}, and its indptr has the shape {shapes['indptr']}")
