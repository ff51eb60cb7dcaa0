"""Matrix Market files, read as the format says (https://math.nist.gov/MatrixMarket/formats.html), or refused.

SciPy's reader, which is fast_matrix_market, is not used: it takes 1.5 for the integer 1, ignores what follows a number,
allocates what a header announces, wraps the negative of the least integer around, reports a lack of memory as a defect
of the file, and ends the process at an array without elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import IO, Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, abridge
from wingspan.base.libraries import np, scipy
from wingspan.base.reading import STEP, InSteps, require_memory
from wingspan.tensors.files._text import columns as read_columns
from wingspan.tensors.files.file_format import WritableTensor, refuse_unless, require_zeros
from wingspan.tensors.files.text import blocks, from_zero, skip_mark, write_entries
from wingspan.tensors.parallel import map_parallel

_WHOLE = "0*+[0-9]{0,30}+(?<=[0-9])"
_DIGITS = "[0-9]{1,1100}+"
_NUMBER = rf"[-+]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?+)?+|\.{_DIGITS})(?:e[-+]?{_DIGITS})?+|[-+]?(?:nan|inf(?:inity)?+)"
"""No double has more digits than 1100; Python reads longer numbers in quadratic time."""

_FIELDS = {
    "pattern": {},
    "integer": {"integer": f"[-+]?{_WHOLE}"},
    "unsigned-integer": {"integer": _WHOLE},
    "real": {"number": _NUMBER},
    "double": {"number": _NUMBER},
}
"""The values in a line after the place of its entry, with their syntax."""

_PLACE = {"row": _WHOLE, "column": _WHOLE}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_BANNER = "%%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric|skew-symmetric"
_LEAST, _LARGEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class _Header:
    form: str
    field: str
    symmetry: str
    rows: int
    columns: int
    announced: int

    @property
    def line(self) -> dict[str, str]:
        """The words of a line of the body, each with its pattern."""
        return (_PLACE if self.form == "coordinate" else {}) | _FIELDS[self.field]

    @property
    def first_stored_subdiagonal(self) -> int:
        """The distance below the diagonal at which the stored part of a symmetric array starts."""
        return int(self.symmetry == "skew-symmetric")


def read_mtx(file: InSteps, member: str | None = None) -> Any:
    """The matrix in a file: a NumPy array, or a SciPy COO array. ValueError or InputError if it is not in order."""
    skip_mark(file)
    number, head = _head(file)
    entries = min(head.announced, file.most_bytes)
    wide = 1 if head.symmetry == "general" else 2
    if head.form == "array":
        require_memory(8 * wide * entries, f"its header announces {head.rows}×{head.columns} elements")
    else:
        require_memory(24 * wide * entries, f"its header announces {head.announced} entries")
    parts: list[list[np.ndarray]] = []
    found = 0
    for part in map_parallel(partial(_parse, head, number), blocks(file)):
        found += len(part[0])
        if found <= head.announced:
            parts.append(part)
    if found != head.announced:
        raise ValueError(f"its header announces {head.announced} entries, and {found} follow")
    parts = parts or [_parse(head, number, (0, b"\n"))]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return _dense(head, columns[0]) if head.form == "array" else _sparse(head, columns)


def write_mtx(file: IO[bytes], tensor: WritableTensor) -> None:
    """Write a matrix, or a vector as one of one column. InputError if it is none, or what is not stored is not zero."""
    require_zeros(tensor)
    rank = len(tensor.shape)
    refuse_unless(rank <= 2, f"a tensor of rank {rank}", "use .tns")
    refuse_unless(tensor.tower.elements.is_number, "booleans", "use .npz")
    subscripts, values = tensor.coordinates()
    rows, columns = (*tensor.shape, 1)[:2]
    field = "real" if tensor.tower.kind == "float" else "integer"
    file.write(f"%%MatrixMarket matrix coordinate {field} general\n{rows} {columns} {len(values)}\n".encode())
    row, column = (*subscripts, np.broadcast_to(0, len(values)))[:2]
    write_entries(file, [row, column], values)


# ------------------------------------------------------------------------------------------------------------- header


def _head(file: InSteps) -> tuple[int, _Header]:
    """The header, and the number of the line after it."""
    lines = _head_lines(file)
    _, banner = next(lines, (1, b""))
    words = [word.decode("utf-8", "backslashreplace") for word in banner.split()]
    kinds = [word.lower() for word in words[1:]]
    if len(words) != 5 or words[0].lower() not in ("%%matrixmarket", "%matrixmarket") or kinds[0] != "matrix":
        raise ValueError(f"line 1 is {_quote(banner)}, and should be `{_BANNER}`")
    _, form, field, symmetry = kinds
    if field == "complex":
        raise InputError("its numbers are complex", fix="write their real parts, or their absolute values")
    for word, known in ((form, ("coordinate", "array")), (field, (*_FIELDS,)), (symmetry, _SYMMETRIES)):
        if word not in known:
            raise ValueError(f"line 1 says {_quote(word)}, and should say {' or '.join(known)}")
    if form == "array" and field == "pattern":
        raise ValueError("an array has values, and a pattern has none")
    number, line = next(((k, text) for k, text in lines if text and not text.startswith(b"%")), (2, b""))
    names = ("rows", "columns", "entries")[: 3 if form == "coordinate" else 2]
    sizes = [int(word) for word in line.split() if re.fullmatch(rb"[0-9]{1,30}", word)]
    if len(sizes) != len(names) or len(line.split()) != len(names):
        raise ValueError(f"line {number} is {_quote(line)}, and should be `{' '.join(names)}`")
    if max(sizes) > _LARGEST:
        raise ValueError(f"line {number}: {max(sizes)} does not fit a 64-bit integer")
    rows, columns = sizes[:2]
    if symmetry != "general" and rows != columns:
        raise ValueError(f"a {symmetry} matrix is square, and it has {rows} rows and {columns} columns")
    half = {"general": 2 * rows, "skew-symmetric": rows - 1}.get(symmetry, rows + 1)
    announced = sizes[2] if form == "coordinate" else columns * half // 2
    return number + 1, _Header(form, field, symmetry, rows, columns, announced)


def _head_lines(file: InSteps) -> Iterator[tuple[int, bytes]]:
    """The lines one by one, with their numbers."""
    number = 0
    while line := file.readline(STEP):
        number += 1
        if len(line) == STEP:
            raise ValueError(f"line {number} is longer than {STEP} characters")
        yield number, line.strip()


# --------------------------------------------------------------------------------------------------------------- body


def _parse(head: _Header, number: int, part: tuple[int, bytes]) -> list[np.ndarray]:
    """The columns of a block, rows and columns counted from 0. `number` is that of the first line of the body.

    ValueError with what is wrong with the first line of the block that is.
    """
    before, block = part
    found = read_columns(block, "".join("d" if name == "number" else "i" for name in head.line))
    extents = (head.rows, head.columns) if head.form == "coordinate" else ()
    places = from_zero(found[: len(extents)], extents) if found is not None else None
    if found is None or places is None:
        raise ValueError(_first_wrong(block, number + before, head))
    return places + found[len(extents) :]


def _first_wrong(block: bytes, number: int, head: _Header) -> str:
    """Describe the first malformed line of a block that has one."""
    pattern = re.compile(r"[ \t]+".join(f"(?P<{name}>{form})" for name, form in head.line.items()).encode(), re.I)
    for k, text in enumerate(map(bytes.strip, block.split(b"\n")), start=number):
        found = pattern.fullmatch(text)
        if text and found is None:
            return f"line {k} is {_quote(text)}, and should be `{' '.join(head.line)}`"
        for name, extent in (("row", head.rows), ("column", head.columns)):
            if found and name in head.line and not 1 <= int(found[name]) <= extent:
                return f"line {k}: {name} {int(found[name])} is not in 1:{extent}"
        if found and "integer" in head.line and not _LEAST <= int(found["integer"]) <= _LARGEST:
            return f"line {k}: {int(found['integer'])} does not fit a 64-bit integer"
        if found and "number" in head.line and read_columns(found["number"] + b"\n", "d") is None:
            return f"line {k}: {_quote(found['number'])} is larger than every double"
    raise AssertionError("no line is wrong")


def _quote(text: str | bytes) -> str:
    return f"`{abridge(text)}`"


# ------------------------------------------------------------------------------------------------------------- matrix


def _sparse(head: _Header, parts: list[np.ndarray]) -> Any:
    row, column = parts[:2]
    values = parts[2] if len(parts) == 3 else np.ones(len(row))
    if head.symmetry != "general":
        off = row != column
        row, column = np.concatenate([row, column[off]]), np.concatenate([column, row[off]])
        values = np.concatenate([values, _mirror(head, values[off])])
    return scipy.sparse.coo_array((values, (row, column)), shape=(head.rows, head.columns))


def _dense(head: _Header, values: np.ndarray) -> np.ndarray:
    if head.symmetry == "general":
        return values.reshape((head.rows, head.columns), order="F")
    made = np.zeros((head.rows, head.columns), dtype=values.dtype, order="F")
    mirrored = _mirror(head, values)
    at = 0
    for j in range(head.columns):
        first = j + head.first_stored_subdiagonal
        here = slice(at, at + head.rows - first)
        made[j, first:] = mirrored[here]
        made[first:, j] = values[here]
        at = here.stop
    return made


def _mirror(head: _Header, values: np.ndarray) -> np.ndarray:
    """The entries above the diagonal, given those below."""
    if head.symmetry != "skew-symmetric":
        return values
    if values.dtype == np.int64 and len(values) and values.min() == _LEAST:
        raise ValueError(f"the negative of {_LEAST} does not fit a 64-bit integer")
    return np.asarray(-values)
