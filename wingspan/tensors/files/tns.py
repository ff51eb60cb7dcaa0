"""Tensors of FROSTT (`.tns`, http://frostt.io/tensors/file-formats.html): a line for each entry, subscripts from 1.

Lines that begin with # are comments. The files do not hold extents: they are the largest subscripts, unless a comment
says `# extents 3 4 5`, which is how they are written here.
"""

from __future__ import annotations

import re
from typing import IO, Any

import numpy as np
import scipy.sparse

from wingspan.errors import printable
from wingspan.levels import MOST_AXES
from wingspan.reading import InSteps, require_memory
from wingspan.tensors.files._text import columns, lines
from wingspan.tensors.files.held import Held, refuse_unless, require_zeros
from wingspan.tensors.files.matrix_market import blocks

COMMENT = re.compile(rb"^[ \t]*#.*$", re.MULTILINE)
EXTENTS = re.compile(rb"^[ \t]*#[ \t]*extents((?:[ \t]+[0-9]{1,18})+)[ \t]*\r?$", re.MULTILINE)

ROWS = 1 << 20
"""Lines that are written at once."""


def read_tns(file: InSteps, member: str | None = None) -> Any:
    """The tensor in a file, as a SciPy COO array. ValueError or InputError if it is not in order."""
    extents: tuple[int, ...] | None = None
    parts: list[list[np.ndarray]] = []
    axes, kind, number = 0, "i", 1
    require_memory(8 * file.size, f"it has {file.size} bytes")
    for block in blocks(file):
        text = block
        if b"#" in block:
            if found := EXTENTS.search(block):
                extents = tuple(map(int, found[1].split()))
            text = COMMENT.sub(b"", block)
        if text.strip():
            axes = axes or len(text.lstrip().partition(b"\n")[0].split()) - 1
            if not 0 < axes <= MOST_AXES:
                raise ValueError(f"its first entry has {axes} subscripts, and a tensor has 1 to {MOST_AXES} axes")
            made = columns(text, "i" * axes + kind)
            if made is None and kind == "i":
                kind = "d"
                made = columns(text, "i" * axes + kind)
            if made is None or any(axis.min() < 1 for axis in made[:-1]):
                raise ValueError(_first_wrong(text, number, axes))
            parts.append(made)
        number += block.count(b"\n")
    return _tensor(parts, extents)


def _tensor(parts: list[list[np.ndarray]], extents: tuple[int, ...] | None) -> Any:
    if not parts:
        if extents is None:
            raise ValueError("it has no entries, and no comment such as `# extents 3 4 5`")
        return scipy.sparse.coo_array(extents, dtype=np.float64)
    *subscripts, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    largest = tuple(int(axis.max()) for axis in subscripts)
    if extents is not None and (
        len(extents) != len(largest) or any(n > m for n, m in zip(largest, extents, strict=True))
    ):
        raise ValueError(f"its extents are said to be {extents}, and its entries have subscripts up to {largest}")
    return scipy.sparse.coo_array((values, tuple(axis - 1 for axis in subscripts)), shape=extents or largest)


def _first_wrong(text: bytes, number: int, axes: int) -> str:
    """What is wrong with the first line of a block that is."""
    for k, line in enumerate(text.split(b"\n"), start=number):
        made = columns(line + b"\n", "i" * axes + "d") if line.strip() else []
        if made is None or any(axis.min() < 1 for axis in made[:-1]):
            what = printable(line[:40].decode("latin-1").strip())
            return f"line {k} is `{what}`, and should be {axes} subscripts from 1 and a number"
    raise AssertionError("no line is wrong")


def write_tns(file: IO[bytes], tensor: Held) -> None:
    """Write the stored elements. InputError if others are not zero."""
    require_zeros(tensor)
    refuse_unless(tensor.tower.kind != "bool", "booleans", "use .npz")
    subscripts, values = tensor.coordinates()
    file.write(f"# extents {' '.join(map(str, tensor.shape))}\n".encode())
    for at in range(0, len(values), ROWS):
        part = slice(at, at + ROWS)
        rows = [np.ascontiguousarray(axis[part], dtype=np.int64) + 1 for axis in subscripts]
        file.write(lines([*rows, np.ascontiguousarray(values[part])]))
