"""Fuzz targets, and their common parts: a folder, a limit of memory, and the form of an error."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from wingspan.base.errors import Fault, WingspanError

ROOM = 64 << 20
"""Bytes of memory that reading a small file may take."""

TIMES = 400
"""Bytes of memory for each byte of a file."""

ELEMENTS = 2_000
"""The largest tensors that all engines run on."""


@dataclass(frozen=True)
class Target:
    """A reader to fuzz."""

    name: str
    seeds: Callable[[], list[bytes]]
    """inputs that are in order"""
    mutate: Callable[[Random, bytes], bytes]
    check: Callable[[bytes], object]
    """fails unless the reader does what it should"""


@cache
def folder() -> Path:
    """The folder of files for a reader; it lasts as long as the process."""
    kept = tempfile.TemporaryDirectory(prefix="wingspan-fuzz-")
    folders.append(kept)
    return Path(kept.name)


folders: list[tempfile.TemporaryDirectory[str]] = []


@contextmanager
def memory(size: int) -> Iterator[None]:
    """The block allocates at most what it may for so many bytes."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= ROOM + TIMES * size, f"{peak} bytes of memory for {size} bytes"


def in_order(error: WingspanError) -> None:
    """An error says briefly what is wrong, and what to do unless it is a fault of a run."""
    text = error.render()
    assert text.startswith("error[") and len(text) < 20_000, text[:1000]
    for diagnostic in error.diagnostics:
        assert diagnostic.message and (diagnostic.notes or isinstance(error, Fault)), text[:1000]
