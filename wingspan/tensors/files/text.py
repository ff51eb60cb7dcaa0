"""Text files of numbers: read and written in blocks of whole lines, on all processors that this process may use."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import IO

from wingspan.base.errors import InputError
from wingspan.base.libraries import np
from wingspan.base.reading import STEP, InSteps, no_text
from wingspan.buffers.stored import narrow
from wingspan.tensors.files._text import ended, lines
from wingspan.tensors.parallel import map_parallel

ROWS = 1 << 15
"""Lines that are written at once: about as many as are read."""


def skip_mark(file: InSteps) -> None:
    """Skip the byte order mark with which a text may begin. InputError if the file is no UTF-8 text."""
    begin = file.peek(4)[:4]
    if kind := no_text(begin):
        raise InputError(f"it is {kind[0]}, not UTF-8 text", fix=kind[1])
    if begin.startswith(BOM_UTF8):
        file.read(len(BOM_UTF8))


def blocks(file: InSteps) -> Iterator[tuple[int, bytes]]:
    """The rest of the file in pieces of whole lines, and before each how many lines there are in those before it."""
    number = 0
    while block := file.read():
        if not block.endswith(b"\n"):
            rest = file.readline(STEP)
            if len(rest) == STEP and not rest.endswith(b"\n"):
                raise ValueError(f"a line is longer than {STEP} characters")
            block += rest if rest.endswith(b"\n") else rest + b"\n"
        yield number, block
        number += ended(block)


def from_zero(subscripts: list[np.ndarray], extents: Iterable[int]) -> list[np.ndarray] | None:
    """Subscripts counted from 0, as narrow as SciPy keeps them, of those from 1; None if one is out of bounds."""
    made: list[np.ndarray] = []
    for axis, extent in zip(subscripts, extents, strict=False):
        least, largest = int(axis.min(initial=1)), int(axis.max(initial=0))
        if least < 1 or largest > extent:
            return None
        axis -= 1
        made.append(axis.astype(narrow(largest), copy=False))
    return made


def write_entries(file: IO[bytes], subscripts: list[np.ndarray], values: np.ndarray) -> None:
    """Write a line for each entry: its subscripts, which are counted from 0 here and from 1 there, and its value."""
    wide = np.float64 if values.dtype.kind == "f" else np.int64

    def format_rows(begin: int) -> bytearray:
        part = slice(begin, begin + ROWS)
        return lines([*(np.add(axis[part], 1, dtype=np.int64) for axis in subscripts), values[part].astype(wide)])

    for text in map_parallel(format_rows, range(0, len(values), ROWS)):
        file.write(text)
