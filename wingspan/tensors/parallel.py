"""Work on parts of data, on all processors that this process may use."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


def each(work: Callable[[A], B], parts: Iterable[A]) -> Iterator[B]:
    """What `work` makes of each part, in order, a few of them at once. It should leave the interpreter to others.

    An exception of one part is raised where its result would be, so the first one is that of the first part.
    """
    threads = processors()
    waiting: deque[Callable[[], B]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for part in parts:
            waiting.append(_begun(pool, work, part))
            if len(waiting) > 2 * threads:
                yield waiting.popleft()()
        while waiting:
            yield waiting.popleft()()


def _begun(pool: ThreadPoolExecutor, work: Callable[[A], B], part: A) -> Callable[[], B]:
    """What gives the result of `work`: another thread, or who asks for it where none can be started."""
    try:
        return pool.submit(work, part).result
    except RuntimeError:
        return partial(work, part)
