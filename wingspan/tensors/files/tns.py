"""Tensors of FROSTT (`.tns`, http://frostt.io/tensors/file-formats.html): a line for each entry, subscripts from 1.

Lines that begin with # are comments. The files do not hold extents: they are the largest subscripts, unless a comment
says `# extents 3 4 5`, which is how they are written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import IO, Any

import numpy as np
import scipy.sparse

from wingspan.errors import printable
from wingspan.levels import MOST_AXES
from wingspan.reading import InSteps, require_memory
from wingspan.tensors.files._text import columns as read_columns
from wingspan.tensors.files.held import Held, refuse_unless, require_zeros
from wingspan.tensors.files.text import blocks, from_zero, write_entries
from wingspan.tensors.parallel import each

COMMENT = re.compile(rb"^[ \t]*#.*$", re.MULTILINE)
EXTENTS = re.compile(rb"^[ \t]*#[ \t]*extents((?:[ \t]+[0-9]{1,18})+)[ \t]*\r?$", re.MULTILINE)

LARGEST = 2**63 - 1
"""The largest subscript."""


@dataclass(frozen=True)
class _Block:
    """Entries, their subscripts counted from 0, and the extents that a comment among them says, if there is one."""

    columns: list[np.ndarray]
    extents: tuple[int, ...] | None


def read_tns(file: InSteps, member: str | None = None) -> Any:
    """The tensor in a file, as a SciPy COO array. ValueError or InputError if it is not in order."""
    require_memory(8 * file.size, f"it has {file.size} bytes")
    made = [*each(_parse, _with_axes(blocks(file)))]
    said = [block.extents for block in made if block.extents]
    return _tensor([block.columns for block in made if block.columns], said[-1] if said else None)


def _with_axes(parts: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes, int]]:
    """Blocks with the number of axes that the first entry of all has; 0 before it. ValueError if there are too many."""
    axes = 0
    for before, block in parts:
        if not axes and (text := COMMENT.sub(b"", block).lstrip()):
            axes = len(text.partition(b"\n")[0].split()) - 1
            if not 0 < axes <= MOST_AXES:
                raise ValueError(f"its first entry has {axes} subscripts, and a tensor has 1 to {MOST_AXES} axes")
        yield before, block, axes


def _parse(part: tuple[int, bytes, int]) -> _Block:
    """The entries of a block. Their values are integers if all are. ValueError if a line is wrong, with the first."""
    before, block, axes = part
    extents = None
    if b"#" in block:
        if found := EXTENTS.search(block):
            extents = tuple(map(int, found[1].split()))
        block = COMMENT.sub(b"", block)
    if not axes:
        return _Block([], extents)
    columns = read_columns(block, "i" * axes + "i") or read_columns(block, "i" * axes + "d")
    subscripts = from_zero(columns[:-1], repeat(LARGEST)) if columns else None
    if columns is None or subscripts is None:
        raise ValueError(_first_wrong(block, before + 1, axes))
    return _Block([*subscripts, columns[-1]], extents)


def _tensor(parts: list[list[np.ndarray]], extents: tuple[int, ...] | None) -> Any:
    if not parts:
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


def _first_wrong(text: bytes, number: int, axes: int) -> str:
    """What is wrong with the first line of a block that is."""
    for k, line in enumerate(text.split(b"\n"), start=number):
        made = read_columns(line + b"\n", "i" * axes + "d") if line.strip() else []
        if made is None or any(axis.min() < 1 for axis in made[:-1]):
            what = printable(line[:40].decode("latin-1").strip())
            return f"line {k} is `{what}`, and should be {axes} subscripts from 1 and a number"
    raise AssertionError("no line is wrong")


def write_tns(file: IO[bytes], tensor: Held) -> None:
    """Write the stored elements. InputError if others are not zero."""
    require_zeros(tensor)
    refuse_unless(tensor.tower.kind != "bool", "booleans", "use .npz")
    file.write(f"# extents {' '.join(map(str, tensor.shape))}\n".encode())
    write_entries(file, *tensor.coordinates())
