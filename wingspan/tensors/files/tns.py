"""Tensors of FROSTT (`.tns`, http://frostt.io/tensors/file-formats.html): a line for each entry, subscripts from 1.

Lines that begin with # or ; are comments. The files do not hold extents: they are the largest subscripts, unless a
comment says `# extents 3 4 5`, which is how they are written here, or the first lines do. ParTI writes the rank and, in
a line of their own, the extents before the entries; MLIR (extended FROSTT) the rank with the number of entries, and the
extents. Lines may have commas between all of their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice, repeat
from typing import IO, Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import abridge
from wingspan.base.libraries import np, scipy
from wingspan.base.reading import InSteps, require_memory
from wingspan.levels import MOST_AXES
from wingspan.tensors.files._text import columns as read_columns
from wingspan.tensors.files.file_format import WritableTensor, refuse_unless, require_zeros
from wingspan.tensors.files.text import blocks, from_zero, skip_mark, write_entries
from wingspan.tensors.parallel import map_parallel

COMMENT = re.compile(rb"^[ \t]*[#;].*$", re.MULTILINE)
EXTENTS = re.compile(rb"^[ \t]*#[ \t]*extents((?:[ \t]+[0-9]{1,18})+)[ \t]*\r?$", re.MULTILINE)
ENTRY = re.compile(rb"[^\s].*$", re.MULTILINE)
WHOLE = re.compile(rb"[0-9]{1,18}")

_WORD = rb"[^\s,]++"
COMMAS = re.compile(rb"(?:[ \t]*+(?:%b(?:[ \t]*+,[ \t]*+%b)*+)?+[ \t\r]*+\n)*+" % (_WORD, _WORD))
"""Lines of words with a comma between each two."""

LARGEST = 2**63 - 1
"""The largest subscript."""


@dataclass(frozen=True)
class _Form:
    """The form of a file, by its first lines."""

    axes: int
    """0 if it has no entries"""
    commas: bool = False
    extents: tuple[int, ...] | None = None
    announced: int | None = None
    """the number of entries, if it is given"""


def read_tns(file: InSteps, member: str | None = None) -> Any:
    """The tensor in a file, as a SciPy COO array. ValueError or InputError if it is not in order."""
    require_memory(8 * file.size, f"it has {file.size} bytes")
    skip_mark(file)
    parts = _within_memory(blocks(file))
    form, first = _form(parts)
    said, entries = zip(*map_parallel(partial(_parse, form), chain(first, parts)), strict=True) if first else ((), ())
    extents = [form.extents, *said]
    return _tensor([part for part in entries if part], next(filter(None, reversed(extents)), None), form.announced)


def _within_memory(parts: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The same blocks. InputError as soon as there are too many: nobody knows how many a packed file holds."""
    size = 0
    for before, block in parts:
        size += len(block)
        require_memory(8 * size, f"it has {size} bytes or more")
        yield before, block


def _form(parts: Iterator[tuple[int, bytes]]) -> tuple[_Form, list[tuple[int, bytes]]]:
    """The form of a file, and its first blocks, up to one with an entry, without lines that say the extents.

    ValueError if a tensor has no such entry.
    """
    first: list[tuple[int, bytes]] = []
    for before, block in parts:
        text = _without_comments(block)
        lines = [*islice(ENTRY.finditer(text), 3)]
        if not lines:
            first.append((before, block))
            continue
        form = _read_header([line[0].split() for line in lines])
        if form:
            heading = text.count(b"\n", 0, lines[1].end()) + 1
            before, block = before + heading, block.split(b"\n", heading)[-1] or b"\n"
        else:
            commas = b"," in lines[0][0] and COMMAS.fullmatch(lines[0][0] + b"\n") is not None
            form = _Form(len(lines[0][0].split(b"," if commas else None)) - 1, commas)
        if not 0 < form.axes <= MOST_AXES:
            number = before + 1 + text.count(b"\n", 0, lines[0].start())
            raise ValueError(_wrong(number, lines[0][0], f"1 to {MOST_AXES}"))
        return form, [*first, (before, block)]
    return _Form(0), first


def _read_header(lines: list[list[bytes]]) -> _Form | None:
    """The form of a file whose first lines are no entries: the rank, maybe the number of entries; then the extents.

    Lines of entries have two numbers or more, and all have as many, so no file can be read in both ways.
    """
    if len(lines) < 2 or not all(map(WHOLE.fullmatch, chain(*lines[:2]))):
        return None
    rank, *announced = map(int, lines[0])
    lengths = [*map(len, lines[1:])]
    if (
        len(announced) > 1
        or rank > MOST_AXES
        or not (lengths == [rank, rank + 1] or (lengths == [rank] and not announced))
    ):
        return None
    return _Form(rank, False, tuple(map(int, lines[1])), *announced)


def _without_comments(block: bytes) -> bytes:
    """The same lines, those empty that are comments."""
    return COMMENT.sub(b"", block) if b"#" in block or b";" in block else block


def _parse(form: _Form, part: tuple[int, bytes]) -> tuple[tuple[int, ...] | None, list[np.ndarray]]:
    """The extents that a comment in a block says, and its entries, with subscripts counted from 0.

    Their values are integers if all are. ValueError if a line is wrong, with the first.
    """
    before, block = part
    found = EXTENTS.search(block) if b"#" in block else None
    extents = tuple(map(int, found[1].split())) if found else None
    if not form.axes:
        return extents, []
    block = _without_comments(block)
    columns, text = None, _without_commas(block, form)
    if text is not None:
        columns = read_columns(text, "i" * form.axes + "i") or read_columns(text, "i" * form.axes + "d")
    subscripts = from_zero(columns[:-1], repeat(LARGEST)) if columns else None
    if columns is None or subscripts is None:
        raise ValueError(_first_wrong(block, before + 1, form))
    return extents, [*subscripts, columns[-1]]


def _without_commas(text: bytes, form: _Form) -> bytes | None:
    """Lines with blanks in place of commas, if the file has such; None if there are others in a line."""
    if not form.commas:
        return text
    return text.replace(b",", b" ") if COMMAS.fullmatch(text) else None


def _tensor(parts: list[list[np.ndarray]], extents: tuple[int, ...] | None, announced: int | None = None) -> Any:
    entries = sum(len(part[-1]) for part in parts)
    if announced is not None and entries != announced:
        raise ValueError(f"its first line announces {announced} entries, and {entries} follow")
    if not entries:
        if extents is None:
            raise ValueError("it has no entries, and no comment such as `# extents 3 4 5`")
        return scipy.sparse.coo_array(extents, dtype=np.float64)
    *subscripts, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    largest = tuple(int(axis.max(initial=-1)) + 1 for axis in subscripts)
    if extents is not None and (
        len(extents) != len(largest) or any(n > m for n, m in zip(largest, extents, strict=True))
    ):
        raise ValueError(f"its extents are said to be {extents}, and its entries have subscripts up to {largest}")
    return scipy.sparse.coo_array((values, tuple(subscripts)), shape=extents or largest)


def _first_wrong(text: bytes, number: int, form: _Form) -> str:
    """Describe the first malformed line of a block that has one."""
    for k, line in enumerate(text.split(b"\n"), start=number):
        words = _without_commas(line + b"\n", form) if line.strip() else b""
        made = read_columns(words, "i" * form.axes + "d") if words else None if words is None else []
        if made is None or any(axis.min() < 1 for axis in made[:-1]):
            return _wrong(k, line, str(form.axes))
    raise AssertionError("no line is wrong")


def _wrong(number: int, line: bytes, axes: str) -> str:
    several = "subscript" if axes == "1" else "subscripts"
    separated = ", separated by blanks, with a decimal point" if re.search(b"[,;]", line) else ""
    return f"line {number} is `{abridge(line.strip())}`, and should be {axes} {several} from 1 and a number{separated}"


def write_tns(file: IO[bytes], tensor: WritableTensor) -> None:
    """Write the stored elements. InputError if others are not zero."""
    require_zeros(tensor)
    refuse_unless(tensor.tower.elements.is_number, "booleans", "use .npz")
    file.write(f"# extents {' '.join(map(str, tensor.shape))}\n".encode())
    write_entries(file, *tensor.coordinates())
