"""Printed C as a library of this process, compiled by the system's compiler and kept for the next time.

What is kept lies in a folder of the user's alone, each library in a file that is named by all that it depends on: the C
text, the headers, the compiler, its version and flags, and the processor. Beside it lies its digest: a library that was
spoiled, or cut off, is compiled anew.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from wingspan.compiled.headers import COMPILE, HEADERS
from wingspan.errors import InputError, InternalError
from wingspan.written import write_together

FLAGS = (*COMPILE[1:], "-shared", "-fPIC")
"""What the compiler is called with, as it is when a printed file is compiled by hand."""

SUFFIX = ".so"


INCLUDES = tuple(f"-I{path.parent}" for path in HEADERS.values())


def compiler() -> tuple[str, ...]:
    """The compiler that CC names, with its options, the system's, or that of the extra `compiler`; empty if none."""
    named = os.environ.get("CC")
    try:
        told = shlex.split(named or "")
    except ValueError as error:
        raise InputError(f"CC is no command: {error}", fix="name a C compiler, with its options") from None
    for words in [told] if named else [["cc"], ["gcc"], ["clang"]]:
        if words and (found := shutil.which(words[0])):
            return found, *words[1:]
    return () if named or find_spec("ziglang") is None else (sys.executable, "-m", "ziglang", "cc")


def folder() -> Path:
    """Where libraries are kept: `WINGSPAN_CACHE`, or in the user's caches. It is made, for the user alone.

    InputError if it belongs to somebody else, or others may write there: they could put code into this process.
    """
    from platformdirs import user_cache_path  # not for whoever compiles nothing

    named = os.environ.get("WINGSPAN_CACHE")
    path = Path(named) if named else user_cache_path("wingspan")
    fix = "name another folder: WINGSPAN_CACHE"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = path.stat()
    except OSError as error:
        raise InputError(f"{path}: compiled programs cannot be kept here: {error.strerror}", fix=fix) from None
    if about.st_uid != os.getuid() or stat.S_IMODE(about.st_mode) & 0o077:
        whose = "belongs to somebody else" if about.st_uid != os.getuid() else "is open to others"
        raise InputError(
            f"{path} {whose}, and code that is kept there runs in this process", fix=f"{fix}, or chmod 700"
        )
    return path


def entries() -> Iterator[Path]:
    """The libraries that are kept, in no order."""
    return folder().glob(f"*{SUFFIX}")


def clear() -> None:
    """Delete the libraries that are kept, not those that another process is making."""
    for path in entries():
        for each in (path, _digest(path), _lock(path)):
            each.unlink(missing_ok=True)


def library(source: str) -> ctypes.CDLL:
    """A printed file as a library. InputError if there is no compiler.

    Libraries are never unloaded: threads that one has hired run its functions.
    """
    from filelock import FileLock  # takes longer to import than all else here

    command = compiler()
    if not command:
        raise InputError(
            "there is no C compiler", fix="install gcc, clang or wingspan[compiler], or name one: CC", topic="compiled"
        )
    path = folder() / f"{_key(command, source)}{SUFFIX}"
    if not _whole(path):
        with FileLock(_lock(path)):
            if not _whole(path):
                made = _compiled(command, source)
                write_together({_digest(path): _sum(made), path: made})
    return ctypes.CDLL(str(path))


def _key(command: tuple[str, ...], source: str) -> str:
    headers = (path.read_text(encoding="utf-8") for path in HEADERS.values())
    parts = (source, *headers, *command, _version(command), *FLAGS, _processor())
    return sha256("\0".join(parts).encode()).hexdigest()[:32]


@cache
def _version(command: tuple[str, ...]) -> str:
    return subprocess.run([*command, "--version"], capture_output=True, text=True, check=False).stdout


@cache
def _processor() -> str:
    """The processor that `-march=native` stands for: its name and what it can do, where the system reports it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    lines = text.partition("\n\n")[0].splitlines()
    return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU ")))


def _whole(path: Path) -> bool:
    """Whether a library is there as it was made."""
    try:
        return _digest(path).read_bytes() == _sum(path.read_bytes())
    except OSError:
        return False


def _sum(data: bytes) -> bytes:
    return sha256(data).hexdigest().encode()


def _digest(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _lock(path: Path) -> Path:
    return path.with_suffix(".lock")


def _compiled(command: tuple[str, ...], source: str) -> bytes:
    """The library that the compiler makes of a printed file. InputError if it makes nothing of any file."""
    made, said = _called(command, source)
    if made is not None:
        return made
    if _called(command, "int ws_nothing;\n")[0] is None:
        raise InputError(f"{shlex.join(command)} is no C compiler that works: {said}", fix="name another one: CC")
    raise InternalError(f"{shlex.join(command)} does not compile what wingspan prints: {said}")


def _called(command: tuple[str, ...], source: str) -> tuple[bytes | None, str]:
    """What a compiler makes of a file, if anything, and what it says then."""
    with tempfile.TemporaryDirectory(prefix="wingspan-") as place:
        file, made = Path(place, "program.c"), Path(place, "program.so")
        file.write_text(source, encoding="utf-8")
        words = [*command, *FLAGS, *INCLUDES, str(file), "-lm", "-o", str(made)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode == 0 and made.is_file():
            return made.read_bytes(), ""
        said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
        return None, said or f"exit status {done.returncode}, and no library"
