"""Libraries that are compiled while the process goes on. The compilers end with the process, and leave nothing."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock, Thread

from wingspan.base.signals import before_ending
from wingspan.compiled import build

CLEANING = 5.0
"""Seconds in which a compiler that was killed is gone, with its files; one of another process may take longer."""

_allowed: ContextVar[bool] = ContextVar("in_background", default=False)
_jobs: dict[Path, Compilation] = {}
"""by the path of the library"""
_LOCK = Lock()


class StillCompiling(Exception):
    """A library is not there yet: `job` compiles it."""

    def __init__(self, job: Compilation) -> None:
        super().__init__("the compiler still works")
        self.job = job


class Compilation:
    """A call of a compiler in a thread of its own.

    Attributes:
        error: what it has raised, if anything.
    """

    def __init__(self, make: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self._thread = Thread(target=self._run, args=(make,), name="wingspan: compiler", daemon=True)
        self._thread.start()

    def _run(self, make: Callable[[], object]) -> None:
        try:
            make()
        except BaseException as error:  # raised by who needs the library
            self.error = error

    @property
    def is_working(self) -> bool:
        """Whether the compiler has not ended yet."""
        return self._thread.is_alive()

    def join(self, seconds: float | None = None) -> None:
        """Wait for the end of the compiler, but not longer."""
        self._thread.join(seconds)


@contextmanager
def in_background() -> Iterator[None]:
    """Within, a library that is not there raises StillCompiling, and a thread compiles it."""
    token = _allowed.set(True)
    try:
        yield
    finally:
        _allowed.reset(token)


def is_allowed() -> bool:
    """Whether this is `in_background`."""
    return _allowed.get()


def require(path: Path, make: Callable[[], object]) -> None:
    """Return if a library has been compiled. StillCompiling if it has not, or the error of the compiler."""
    with _LOCK:
        job = _jobs.get(path)
        if job is None:
            if not _jobs:
                atexit.register(_end)
                before_ending(_end)
            job = _jobs[path] = Compilation(make)
    if job.is_working:
        raise StillCompiling(job)
    if job.error is not None:
        raise job.error


def wait_for_all() -> None:
    """Wait until all compilers have ended."""
    for job in list(_jobs.values()):
        job.join()


def _end() -> None:
    build.end_all()
    for job in list(_jobs.values()):
        job.join(CLEANING)
