"""Values that one process leaves for the next, in files beside the compiled programs.

A file lies in a folder of the user's alone. It begins with a digest of the rest, which holds the key, too: a file that
was spoiled, or cut off, or belongs to something else is ignored, and written anew. If the folder cannot be used, all is
computed anew.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from wingspan.base.caches import DIGITS, cache_path, is_private, make_private
from wingspan.base.errors import InputError

DIGEST = 32
"""The length of the digest at the beginning of a file, in bytes."""
PACKAGE = Path(__file__).resolve().parent.parent
MOST = 1000
"""The most files with one suffix: half of them, those that were not written last, are deleted if there are more."""


def digest_of(*parts: object) -> str:
    """A digest of all that a value depends on, as their representations say it."""
    return sha256(repr((parts, sys.version)).encode()).hexdigest()[:DIGITS]


def read(key: str, suffix: str) -> Any:
    """The value with a key, a digest; None if it is not there as it was written."""
    path = _path(key, suffix)
    with suppress(OSError, EOFError, TypeError, ValueError):
        data = path.read_bytes() if path else b""
        if sha256(data[DIGEST:]).digest() == data[:DIGEST]:
            named, value = marshal.loads(data[DIGEST:])
            return value if named == key else None
    return None


def write(key: str, suffix: str, value: Any) -> None:
    """Keep a value of builtin types under a key, if that can be done."""
    from wingspan.base.writing import write_atomically  # not for whoever reads

    if path := _path(key, suffix):
        made = marshal.dumps((key, value))
        with suppress(InputError, OSError):
            write_atomically(path, sha256(made).digest() + made)
            _limit(path.parent, suffix)


def _path(key: str, suffix: str) -> Path | None:
    """The file of a key, which may not be there; None if the folder cannot be used."""
    with suppress(OSError):
        folder = cache_path()
        if is_private(make_private(folder)):
            return folder / f"{key}{suffix}"
    return None


def _limit(folder: Path, suffix: str) -> None:
    """Delete the older half of the files with a suffix if there are too many."""
    found = [path for path in folder.glob(f"*{suffix}") if len(path.stem) == DIGITS]
    if len(found) > MOST:
        for path in sorted(found, key=lambda path: path.stat().st_mtime_ns)[: len(found) // 2]:
            path.unlink(missing_ok=True)


@cache
def sources(folder: Path = PACKAGE) -> str:
    """A digest of this package, or another folder, as installed: the name, size and time of change of each file."""
    return digest_of(*sorted(_stats(folder)))


def _stats(folder: Path) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _stats(Path(entry.path)) if entry.name != "__pycache__" else ()
            elif entry.name.endswith((".py", ".so", ".lark", ".h")):
                about = entry.stat()
                yield entry.path, about.st_size, about.st_mtime_ns
