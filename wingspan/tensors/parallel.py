"""Work on parts of data, on all processors that this process may use."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

A = TypeVar("A")
B = TypeVar("B")


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def map_parallel(work: Callable[[A], B], parts: Iterable[A]) -> Iterator[B]:
    """Map `work` over parts, in order, a few at once. It should release the interpreter lock.

    An exception of one part is raised where its result would be, so the first one is that of the first part.
    """
    from concurrent.futures import ThreadPoolExecutor

    threads = processors()
    waiting: deque[Callable[[], B]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for part in parts:
            waiting.append(_submit(pool, work, part))
            if len(waiting) > 2 * threads:
                yield waiting.popleft()()
        while waiting:
            yield waiting.popleft()()


def _submit(pool: ThreadPoolExecutor, work: Callable[[A], B], part: A) -> Callable[[], B]:
    """Submit `work`; return a function for its result, which runs it where no thread can be started."""
    try:
        return pool.submit(work, part).result
    except RuntimeError:
        return partial(work, part)
