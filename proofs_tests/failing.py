"""Calls of the operating system that fail, one after the other: all places where a full disk may be met."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

FILES: tuple[tuple[Any, str], ...] = (
    (Path, "open"), (os, "open"), (os, "fchmod"), (os, "write"), (os, "fsync"), (os, "replace"),
)  # fmt: skip
"""The functions that write a file."""
OPEN = Path.open


class Raw(io.FileIO):
    """A file whose bytes are written by `os.write`, which can be replaced."""

    def write(self, data: Any) -> int:
        return os.write(self.fileno(), data)


def opened(path: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
    """Path.open, by which a new binary file is a Raw one."""
    return io.BufferedWriter(Raw(path, mode)) if mode == "xb" else OPEN(path, mode, *args, **options)


class Failing:
    """Some functions, the n-th call of which in this process, whichever of them it is, raises an error."""

    def __init__(self, error: BaseException, n: int) -> None:
        self.error, self.n, self.calls, self.process = error, n, 0, os.getpid()

    def within(self, patch: pytest.MonkeyPatch, functions: tuple[tuple[Any, str], ...]) -> None:
        """Until the patch is undone, calls count."""
        patch.setattr(Path, "open", opened)
        for owner, name in functions:
            patch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, function: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            self.calls += os.getpid() == self.process
            if self.calls == self.n and os.getpid() == self.process:
                raise self.error
            return function(*args, **options)

        return call

    @property
    def happened(self) -> bool:
        """Whether there was an n-th call."""
        return self.calls >= self.n


def each_in_turn(error: BaseException) -> Iterator[Failing]:
    """The first call fails, then only the second one, and so on, as long as there is such a call."""
    for n in count(1):
        failing = Failing(error, n)
        yield failing
        if not failing.happened:
            break
