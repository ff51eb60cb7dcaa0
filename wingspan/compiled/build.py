"""The system's C compiler: which one, and what it makes of a printed file.

It runs in a folder of its own, where it finds nothing of whoever calls it and leaves nothing, and in a process group of
its own, which ends with the call.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from wingspan.base.activity import activity
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, InternalError
from wingspan.base.signals import deferring, ending_after
from wingspan.compiled.headers import COMPILE, HEADERS

FLAGS = (*COMPILE[1:], "-shared", "-fPIC", "-xc")
"""The compiler's flags, the same as for compiling a printed file by hand; -xc has g++ read it as C, too."""

INCLUDES = tuple(f"-I{path.parent.absolute()}" for path in HEADERS.values())

PROBE = '#include "runtime.h"\n'
"""A file that every compiler for printed files compiles."""

OTHER = "name another one: CC"
ROOM = 2**20
"""Bytes that a compiler has needed for its files, at least, and so many times the bytes of the text:"""
EXPANSION = 16
SAID = 2**20
"""Bytes that are read of what a compiler says."""


def compiler() -> tuple[str, ...]:
    """The compiler that CC names, with its options, the system's, or that of the extra `compiler`; empty if none."""
    named = os.environ.get("CC")
    try:
        words = shlex.split(named or "")
    except ValueError as error:
        raise InputError(f"CC is no command: {error}", fix="name a C compiler, with its options") from None
    for command in [words] if named else [["cc"], ["gcc"], ["clang"]]:
        if command and (found := shutil.which(command[0])):
            return os.path.abspath(found), *command[1:]
    return () if named or not _has_ziglang() else (sys.executable, "-P", "-m", "ziglang", "cc")


def _has_ziglang() -> bool:
    """Whether the extra `compiler` is installed. A module of that name in the current folder is something else."""
    try:
        distribution("ziglang")
    except PackageNotFoundError:
        return False
    return True


@cache
def version(command: tuple[str, ...]) -> str:
    """The version text of a compiler."""
    with _scratch() as place:
        return _run((*command, "--version"), place).said


def compile_library(command: tuple[str, ...], source: str) -> bytes:
    """The library that a compiler makes of a printed file.

    InputError if it does not work, or has no room for its files. InternalError if it works and refuses this file.
    """
    with activity("compiling C"), _scratch() as place:
        (place / "program.c").write_text(source, encoding="utf-8")
        words = (*command, *FLAGS, *INCLUDES, "program.c", "-lm", "-o", "program.so")
        call = _run(words, place)
        made = place / "program.so"
        if call.status == 0 and made.is_file() and made.stat().st_size:
            return made.read_bytes()
        _require_room(place, ROOM + EXPANSION * len(source))
    named = shlex.join(command)
    if call.status < 0:
        fix = f"free memory if that is why, or {OTHER}"
        raise InputError(f"{named} was ended by {signal.Signals(-call.status).name}", fix=fix, topic="compiled")
    if call.refusal and source != PROBE:
        compile_library(command, PROBE)  # an InputError if it refuses this, too
        raise InternalError(f"{named} does not compile what wingspan prints: {call.refusal}")
    raise unusable(command, call.complaint)


def unusable(command: tuple[str, ...], why: str) -> InputError:
    """The error about a compiler that does not compile."""
    return InputError(f"{shlex.join(command)} is no C compiler that works: {why}", fix=OTHER, topic="compiled")


@dataclass(frozen=True)
class CompilerExit:
    """The end of a call of a compiler: its exit status, or the number of a signal below 0, and its messages."""

    status: int
    said: str

    @property
    def refusal(self) -> str | None:
        """The first error that it reports in the text of the program or a header, if it exits for that."""
        errors = re.finditer(r"^\S+\.[ch]:\d+.*\berror\b.*", self.said, re.MULTILINE)
        own = (found[0] for found in errors if "internal compiler error" not in found[0])
        return next(own, None) if self.status else None

    @property
    def complaint(self) -> str:
        """The first error that it reports, or the first line, or at least its exit status."""
        lines = [line for line in self.said.splitlines() if line.strip()]
        first = next((line for line in lines if "error" in line), lines[0] if lines else "")
        return first[:300] if self.status and first else f"exit status {self.status}, and no library"


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder for the files of one call. InputError if there is no room for them.

    It is gone afterwards, also if a signal ends the process within.
    """
    try:
        with ending_after(), tempfile.TemporaryDirectory(prefix="wingspan-", ignore_cleanup_errors=True) as name:
            yield Path(name)
    except OSError as error:
        where = tempfile.tempdir or "temporary files"
        fix = "make room there, or name another folder: TMPDIR"
        raise InputError(f"{where}: {error.strerror or error}", fix=fix, topic="compiled") from None


def _require_room(place: Path, size: int) -> None:
    """OSError if a folder has no room for a file: then that, and not the compiler, may be why there is no library."""
    with (place / "room").open("wb") as file:
        for _ in range(0, size, ROOM):
            file.write(bytes(ROOM))


_running: set[subprocess.Popen[bytes]] = set()
"""the compilers of this process"""
_is_ending = False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.clear)


def end_all() -> None:
    """End all compilers that other threads wait for, and those that start later, as the process ends."""
    global _is_ending
    _is_ending = True
    for process in list(_running):
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a compiler, with all processes that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _run(words: tuple[str, ...], place: Path) -> CompilerExit:
    """Run a compiler in a folder, to which it also writes its temporary files.

    Whatever ends the call ends all processes that it has started.
    """
    environment = {**os.environ, "TMPDIR": str(place), "LC_ALL": "C"}
    with (place / "said").open("w+b") as said:
        process = None
        try:
            with deferring():
                process = subprocess.Popen(
                    words,
                    cwd=place,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    process_group=0,
                )
                _running.add(process)
            if _is_ending:
                _kill(process)
            status = process.wait()
        except OSError as error:
            message = f"{words[0]} cannot be run: {error.strerror}"
            raise InputError(message, fix=OTHER, topic="compiled") from None
        except BaseException:
            if process is not None:
                _kill(process)
                process.wait()
            raise
        finally:
            _running.discard(process)
        said.seek(0)
        return CompilerExit(status, said.read(SAID).decode("utf-8", errors="replace"))
