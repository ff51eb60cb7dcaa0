"""Devices D, tasks t and schedules h: the three highlighted domains of the grammar figure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from operator import index
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError

THREADS = 1000
"""The threads that a device has at most."""

OPEN = -1
"""A number of threads, or of the iterations of a chunk, that is left open."""


def thread_count(threads: Any) -> int:
    """A number of threads that a user gives a device. InputError if no device has so many."""
    try:
        count = 0 if isinstance(threads, bool) else index(threads)
    except TypeError:
        count = 0
    if not 1 <= count <= THREADS:
        fix = "threads=2; on the command line, --threads 2"
        raise InputError(f"a device has from 1 to {THREADS} threads, not {threads!r}", fix=fix)
    return count


def thread_counts(threads: Any) -> tuple[int, ...]:
    """The same of several devices, or of one. InputError if there is none."""
    counts = tuple(
        map(thread_count, threads if isinstance(threads, Iterable) and not isinstance(threads, str) else [threads])
    )
    if not counts:
        raise InputError("there are no numbers of threads", fix="threads=2, or several: threads=[2, 2]")
    return counts


@dataclass(frozen=True)
class Device:
    """A device has an identity, a number of threads and the device that its threads are spawned from."""

    id: str
    nthreads: int
    parent: Device | None = None

    def __hash__(self) -> int:
        return hash(self.id)

    def __str__(self) -> str:
        return self.id

    @property
    def open(self) -> bool:
        """Whether its number of threads is left open."""
        return self.nthreads == OPEN

    @property
    def number(self) -> str:
        """The name of its number of threads where that is left open."""
        return f"threads of {self.id}"


SERIAL = Device("serial", 1)
"""The device that a program starts on."""


@dataclass(frozen=True)
class Task:
    """A thread of a device: task(D, q, t), q counted from 1, with the task that spawned it."""

    device: Device
    threadid: int
    parent: Task | None = None

    def __hash__(self) -> int:
        return hash(self.path)

    @cached_property
    def path(self) -> str:
        """Its name: the thread ids from the outermost parallel loop inwards, `1.2`; empty for the root."""
        return path_of(self.chain)

    @cached_property
    def chain(self) -> tuple[tuple[str, int], ...]:
        """(device, thread id) of this task and all those it descends from, outermost first."""
        return () if self.parent is None else (*self.parent.chain, (self.device.id, self.threadid))

    def thread(self, device: Device) -> int:
        """The thread id if the task is one of this very device's, 0 otherwise."""
        return self.threadid if self.device == device else 0

    def __str__(self) -> str:
        return f"task {self.path}" if self.path else "the root task"


def path_of(chain: tuple[tuple[str, int], ...]) -> str:
    """The path of the task with a chain.

    >>> path_of((("t", 1), ("u", 2)))
    '1.2'
    """
    return ".".join(str(threadid) for _, threadid in chain)


ROOT = Task(SERIAL, 1)
"""The task that a program starts as."""


@dataclass(frozen=True)
class Schedule:
    """The schedule of a parallel loop's iterations: static, or dynamic in chunks of `step` iterations."""

    kind: str
    step: int = 1
    number: str = ""
    """the name of `step` if it is left open"""

    def __str__(self) -> str:
        return "static_schedule()" if self.kind == "static" else f"dynamic_schedule({self.step})"


STATIC = Schedule("static")
