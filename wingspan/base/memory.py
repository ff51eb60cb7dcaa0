"""The size of the memory, and sizes as users write them."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

GROUPS = Path("/proc/self/cgroup")
"""The control groups of this process, as Linux lists them: `number:controllers:path`, one a line."""
MOUNTED = Path("/sys/fs/cgroup")
"""The folder with the limits of control groups."""


def available_memory() -> int:
    """The bytes that this process may use: the memory of the machine, or less if the system sets a limit."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    limits += [n for n, _ in map(resource.getrlimit, (resource.RLIMIT_AS, resource.RLIMIT_DATA)) if n >= 0]
    return min([*limits, *_group_limits()])


def _group_limits() -> Iterator[int]:
    """The limits of the control groups of this process and of those around them, of both versions."""
    lines = []
    with suppress(OSError):
        lines = GROUPS.read_text().splitlines()
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            top, name = MOUNTED, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = MOUNTED / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = PurePosixPath("/", path)
        for each in (group, *group.parents):  # in a container the first of them may not be there
            with suppress(OSError, ValueError):  # "max" if there is no limit
                yield int((top / each.relative_to("/") / name).read_text())


def parse_size(text: str) -> int | None:
    """A number of bytes: digits, and K, M, G or T for powers of 1024. None if it is no such size, or 0.

    >>> parse_size("512M"), parse_size("3"), parse_size("2 GB")
    (536870912, 3, None)
    """
    unit = "KMGT".find(text[-1:].upper()) + 1 if text else 0
    digits = text[:-1] if unit else text
    if not (digits.isascii() and digits.isdigit()) or int(digits) == 0:
        return None
    return int(digits) << 10 * unit
