"""Printed C as a library of this process, compiled at most once and kept for the next time.

What is kept lies in a folder of the user's alone, each library in a file that is named by all that it depends on: the C
text, the headers, the compiler, its version and flags, and the processor. The file ends in a digest of itself, so one
that was spoiled, or cut off, is compiled anew. The library holds its own name, so one that was made of something else
is compiled anew, too.

Any process may delete any file at any time, as `clear` does: whoever misses one compiles it. Locks only let processes
that need the same library wait for the one that compiles it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, ENOSPC
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from wingspan.base.caches import DIGITS, cache_path, is_owned, is_private, make_private
from wingspan.base.errors import InputError
from wingspan.base.memory import parse_size
from wingspan.base.signals import ending_after
from wingspan.base.writing import writable
from wingspan.compiled import background, build
from wingspan.compiled.headers import HEADERS

MARK = "ws_key"
"""The name of the string that each library holds: its key."""
LIBRARY, LOCK, DRAFT = ".so", ".lock", ".draft"
"""The suffixes of the cache's files."""
DIGEST = 32
"""The length of the digest at the end of a file, in bytes."""
STALE = 3600
"""Seconds after which a lock or a draft belongs to nobody any more."""
LARGEST = 2**29
"""The size of all libraries together, in bytes, unless `WINGSPAN_CACHE_SIZE` gives another one."""
OTHER = "name another folder: WINGSPAN_CACHE"


# ------------------------------------------------------------------------------------------------------------- folder


def folder() -> Path:
    """The folder of the libraries: `WINGSPAN_CACHE`, or one in the user's caches. It is made, for the user alone.

    InputError if it belongs to somebody else, or others may write there: they could put code into this process.
    """
    path = cache_path()
    with _folder_errors(path):
        about = make_private(path)
    if not is_private(about):
        whose = "is open to others" if is_owned(about) else "belongs to somebody else"
        raise InputError(
            f"{path} {whose}, and code that is kept there runs in this process", fix=f"{OTHER}, or chmod 700"
        )
    return path


@contextmanager
def _folder_errors(path: Path) -> Iterator[None]:
    """Raise what the system says of a folder as an InputError with a remedy."""
    try:
        yield
    except (OSError, NotImplementedError) as error:  # the latter from filelock, where files cannot be locked
        why = getattr(error, "strerror", None) or error
        full = getattr(error, "errno", None) in (ENOSPC, EDQUOT)
        fix = f"make room there, or {OTHER}" if full else OTHER
        raise InputError(f"{path}: compiled programs cannot be kept here: {why}", fix=fix, topic="compiled") from None


def _require_executable(path: Path) -> None:
    """InputError if the system runs no code that lies in a folder."""
    with _folder_errors(path):
        flags = os.statvfs(path).f_flag
    if flags & getattr(os, "ST_NOEXEC", 0):
        message = f"{path}: compiled programs cannot run from here: it is mounted noexec"
        raise InputError(message, fix=OTHER, topic="compiled")


def limit() -> int:
    """The largest total size of the libraries in bytes: `WINGSPAN_CACHE_SIZE`. InputError if that is no size."""
    text = os.environ.get("WINGSPAN_CACHE_SIZE")
    most = parse_size(text) if text else LARGEST
    if most is None:
        raise InputError(f"WINGSPAN_CACHE_SIZE: {text} is not a size", fix="write one like 512M or 2G")
    return most


def entries() -> dict[Path, os.stat_result]:
    """The libraries that are kept; the first is the one that was used least recently."""
    found = {path: about for path, about in _files() if path.suffix == LIBRARY}
    return dict(sorted(found.items(), key=lambda entry: entry[1].st_mtime_ns))


def _files() -> Iterator[tuple[Path, os.stat_result]]:
    """All files in the folder that are kept for another process, and those of this module beside them."""
    for path in folder().glob("[0-9a-f]" * DIGITS + ".*"):
        with suppress(FileNotFoundError):  # another process has just deleted it
            yield path, path.stat()


def _is_stale(about: os.stat_result) -> bool:
    return time.time() - about.st_mtime > STALE


def clear() -> int:
    """Delete all that is kept, except what another process is writing; return the number of libraries deleted."""
    count = 0
    for path, about in _files():
        if path.suffix != DRAFT or _is_stale(about):
            with writable(path), suppress(FileNotFoundError):
                path.unlink()
                count += path.suffix == LIBRARY
    return count


def evict(most: int) -> None:
    """Delete the libraries that were used least recently, until the others have at most so many bytes together.

    Files that were left behind by processes that were killed go, too.
    """
    with suppress(OSError):  # it is tried again at the next library
        for path, about in _files():
            if path.suffix in (LOCK, DRAFT) and _is_stale(about):
                path.unlink(missing_ok=True)
        found = entries()
        size = sum(about.st_size for about in found.values())
        for path, about in found.items():
            if size <= most:
                break
            path.unlink(missing_ok=True)
            size -= about.st_size


# ---------------------------------------------------------------------------------------------------------- libraries


def library(source: str) -> ctypes.CDLL:
    """A printed file as a library. InputError if there is no compiler that works, or the folder cannot be used;
    StillCompiling if it is compiled `in_background`.

    Libraries are never unloaded: threads that one has hired run its functions.
    """
    command, most = build.compiler(), limit()
    if not command:
        raise InputError(
            "there is no C compiler", fix="install gcc, clang or wingspan[compiler], or name one: CC", topic="compiled"
        )
    path = folder() / f"{_key(command, source)}{LIBRARY}"
    _require_executable(path.parent)
    found = _load(path)
    if found is None and background.is_allowed():
        background.require(path, lambda: library(source))
        found = _load(path)
    if found is None:
        with ending_after(), _lock(path):
            found = _load(path) or _make(path, command, source)
        evict(most)
    return found


def _key(command: tuple[str, ...], source: str) -> str:
    headers = (path.read_text(encoding="utf-8") for path in HEADERS.values())
    parts = (source, *headers, *command, build.version(command), *build.FLAGS, _processor())
    return sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


@cache
def _processor() -> str:
    """The processor that `-march=native` stands for: its name and what it can do, where the system reports it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    lines = text.partition("\n\n")[0].splitlines()
    return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU ")))


def _load(path: Path) -> ctypes.CDLL | None:
    """A library that is kept, and has been used just now; None if it is not there as it was made."""
    try:
        data = path.read_bytes()
        if sha256(data[:-DIGEST]).digest() != data[-DIGEST:]:
            return None
        found = ctypes.CDLL(str(path))
    except OSError:
        return None
    if not _has_key(found, path.stem):
        return None
    with suppress(OSError):  # a folder that is only to be read is good, too
        os.utime(path)
    return found


def _make(path: Path, command: tuple[str, ...], source: str) -> ctypes.CDLL:
    """Compile a library, load it, and keep it if it is what was to be made. InputError if it is not."""
    key = path.stem
    made = build.compile_library(command, f'{source}\nconst char {MARK}[] = "{key}";\n')
    draft = path.with_name(f"{key}.{token_hex(8)}{DRAFT}")
    with _folder_errors(path.parent):
        try:
            draft.write_bytes(made + sha256(made).digest())
            try:
                found = ctypes.CDLL(str(draft))
            except OSError as error:
                why = str(error).replace(f"{draft}: ", "")
                raise build.unusable(command, f"its library cannot be loaded: {why}") from None
            if not _has_key(found, key):
                raise build.unusable(command, "its library is not that of the file it was given")
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    return found


def _has_key(found: ctypes.CDLL, key: str) -> bool:
    """Whether a library was made of the file with this key."""
    try:
        return (ctypes.c_char * DIGITS).in_dll(found, MARK).raw == key.encode()
    except ValueError:
        return False


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One process at a time makes a library; two if one deletes the lock of the other, which only takes longer."""
    from filelock import FileLock  # takes longer to import than all else here

    lock = FileLock(path.with_suffix(LOCK))
    with _folder_errors(path.parent):
        lock.acquire()
    try:
        yield
    finally:
        with suppress(OSError):
            path.with_suffix(LOCK).unlink(missing_ok=True)
        lock.release()
