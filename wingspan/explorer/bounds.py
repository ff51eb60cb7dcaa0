"""The time, up to a deadline, and memory that a command may use. All its phases check one `Bounds`.

A search stops early, to leave something for its verdict. A *share* of this is for work that may be cut short: looking
for shortest interleavings, and counting. The rest is for work that may not: writing the checkpoint and the findings.
`states.py` estimates how much that takes.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from time import monotonic

SHARE, MOST_SECONDS, MOST_BYTES = 0.1, 2.0, 64 << 20
"""The share as a part of the bound, and its upper limits."""
LOOK = 0.01
"""Seconds between two checks of the memory, which take some microseconds each."""
STATM = Path("/proc/self/statm")


class Stopped(Exception):
    """A bound was reached, at any depth of the search; it names the bound."""

    def __init__(self, bound: str) -> None:
        super().__init__(bound)
        self.bound = bound


class Bounds:
    """Seconds, counted from `began`, and bytes that the process may hold; None if there is no such bound."""

    def __init__(self, seconds: float | None = None, memory: int | None = None, began: float | None = None) -> None:
        self.began = monotonic() if began is None else began
        self.deadline = inf if seconds is None else self.began + seconds
        self.memory: float = inf if memory is None else memory
        self.spare = 0.0 if seconds is None else min(SHARE * max(seconds, 0.0), MOST_SECONDS)
        self.need_seconds, self.need_bytes = 0.0, 0
        """the seconds and bytes that a verdict takes, whatever is cut short"""
        self.reached = ""
        """a bound of the search that was reached although there is time left"""
        self._kept = 1.0
        """the part of the share that is reserved for later phases"""
        self._heeded = True
        self._next_look = -inf
        self._set()

    def tick(self) -> None:
        """`Stopped` if no time is left for this phase, or no memory. Call it with every step."""
        now = monotonic()
        if now > self.until:
            raise Stopped(self.reached if self._heeded and self.reached else "max-seconds")
        if self.room < inf and now >= self._next_look:
            self._next_look = now + LOOK
            if resident_bytes() > self.room:
                raise Stopped("max-memory")

    def seconds_left(self) -> float | None:
        """Seconds left for this phase; None if there is no bound."""
        return None if self.deadline == inf else max(self.until - monotonic(), 0.0)

    def need(self, seconds: float, memory: int) -> None:
        """Record what a verdict would take now."""
        self.need_seconds, self.need_bytes = seconds, memory
        self._set()

    def reach(self, bound: str) -> None:
        """Let the search stop with its next step."""
        self.reached = self.reached or bound
        self._set()

    def finish(self) -> None:
        """The search is over: from now on there is time until the verdict must be made."""
        self._kept, self._heeded = 0.0, False
        self._set()

    @contextmanager
    def finishing(self, kept: float = 0.0) -> Iterator[None]:
        """Within, there is as much time as after the search, except for a part of the share."""
        before = self._kept, self._heeded
        self._kept, self._heeded = min(kept, self._kept), False
        self._set()
        try:
            yield
        finally:
            self._kept, self._heeded = before
            self._set()

    @contextmanager
    def divided_among(self, processes: int) -> Iterator[None]:
        """Within, this process and those forked from it, this many in all, divide the memory equally."""
        before, self.memory = self.memory, self.memory / processes
        self._set()
        try:
            yield
        finally:
            self.memory = before
            self._set()

    def _set(self) -> None:
        self.until = self.deadline - self.need_seconds - self._kept * self.spare
        self.room = self.memory - self.need_bytes - self._kept * min(SHARE * self.memory, MOST_BYTES)
        if self._heeded and self.reached:
            self.until = -inf


def resident_bytes() -> int:
    """The bytes that the process holds; its peak, if the system does not report the current value."""
    try:
        return int(STATM.read_bytes().split()[1]) * resource.getpagesize()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
