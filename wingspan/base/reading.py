"""Files that are read: regular ones only, in steps, and no more of them than memory has room for."""

from __future__ import annotations

import codecs
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wingspan.base.errors import InputError, Span
from wingspan.base.memory import available_memory

STEP = 2**20
"""Bytes that are read at once, whatever length a file claims."""

DEFLATE = 1032
"""A byte inflates to so many at most (https://zlib.net/zlib_tech.html)."""

MORE = "free memory, or raise the limit of the process (ulimit -v)"


class InSteps(io.BufferedReader):
    """A file of which each `read` returns one step at most, so that a length that it claims takes no memory."""

    failure: OSError | None = None
    """the reason that reading failed: `zipfile` takes that for the end of the file"""

    def read(self, size: int | None = -1, /) -> bytes:
        """Some bytes; none at the end."""
        try:
            return super().read(STEP if size is None or size < 0 else min(size, STEP))
        except OSError as error:
            self.failure = error
            raise

    @property
    def size(self) -> int:
        """The number of bytes in the file."""
        return os.fstat(self.fileno()).st_size

    @property
    def most_bytes(self) -> int:
        """An upper bound on the number of bytes that can be read."""
        return self.size


@contextmanager
def reading(path: Path, span: Span | None = None, fix: str = "name a file that can be read") -> Iterator[InSteps]:
    """The file, open for reading. It must be a regular one, since a pipe or a device may never end.

    InputError if it cannot be opened, and if reading fails or memory runs out before the block ends.
    """
    try:
        with _open(path) as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", span, fix="write the path of a file that is there") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", span, fix=fix) from None
    except MemoryError:
        raise InputError(f"{path}: memory ran out while reading it", span, topic="memory", fix=MORE) from None


def check_readable(path: Path) -> None:
    """InputError if there is no regular file that can be opened."""
    with reading(path):
        pass


def _open(path: Path) -> InSteps:
    """The file; OSError if it is not a regular one. Opening never waits."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:
        raise OSError("a path contains no NUL characters") from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return InSteps(io.FileIO(descriptor))
    os.close(descriptor)
    raise OSError("a directory, not a file" if stat.S_ISDIR(mode) else "neither a file nor a link to one")


def require_memory(needed: int, subject: str) -> None:
    """InputError if what a file declares takes more than half of the memory that this process may use.

    The other half is for the copies that are made when a tensor is built.
    """
    most = available_memory() // 2
    if needed > most:
        message = f"{subject}, which takes {in_bytes(needed)} of memory; the limit is {in_bytes(most)}"
        raise InputError(message, topic="memory", fix="use a smaller file, or a machine with more memory")


def in_bytes(size: int) -> str:
    """A size in words.

    >>> in_bytes(512), in_bytes(1_240_000_000), in_bytes(24 * 10**12)
    ('512 bytes', '1.24 GB', '24 TB')
    """
    for power, unit in reversed(list(enumerate(("kB", "MB", "GB", "TB", "PB", "EB"), start=1))):
        if size >= 1000**power:
            return f"{size / 1000**power:.3g} {unit}"
    return f"{size} bytes"


MARKS = {
    codecs.BOM_UTF16_LE: ("UTF-16 text", "save it as UTF-8"),
    codecs.BOM_UTF16_BE: ("UTF-16 text", "save it as UTF-8"),
    b"\x1f\x8b": ("packed by gzip", "unpack it: gunzip FILE.gz"),
    b"PK\x03\x04": ("a zip file", "unpack it: unzip FILE"),
}
"""The first bytes of files that are no UTF-8 text, with their kind and a remedy."""


def no_text(begin: bytes | bytearray) -> tuple[str, str] | None:
    """The kind of a file that begins so, and what to do, if its first bytes say that it is no UTF-8 text.

    >>> no_text("1".encode("utf-16"))
    ('UTF-16 text', 'save it as UTF-8')
    """
    return next((kind for mark, kind in MARKS.items() if begin.startswith(mark)), None)
