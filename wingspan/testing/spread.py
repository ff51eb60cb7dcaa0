"""Runs the parts of a computation here, in processes of this machine, or on the workers of a Dask scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from wingspan.base.errors import InputError
from wingspan.explorer.cluster import AllWorkersLost, WorkerLost, connect

Part = TypeVar("Part")
Done = TypeVar("Done")

LOSSES = 10
"""The times that a part may be lost with its worker. Then the part itself is assumed to kill its workers."""
AHEAD = 4
"""Parts in flight per process or per thread of a worker, so that none is idle."""


def spread(
    do: Callable[[Part], Done], parts: Iterable[Part], *, jobs: int = 0, scheduler: str | None = None
) -> Iterator[tuple[Part, Done]]:
    """Yield the result of `do` for each part, as soon as it is known.

    Parts run in `jobs` processes, on the workers of a `scheduler`, or, without either, one after the other in this one.
    A part whose worker is lost is repeated. If `do` raises an error, it is raised here, and no further part begins.
    InputError if no worker is left, or if a part kills its process.
    """
    if scheduler is None and not jobs:
        yield from ((part, do(part)) for part in parts)
        return
    left = iter(parts)
    with _handing(jobs, scheduler) as (submit, room):
        running: dict[Future[Done], tuple[Part, int]] = {}
        while True:
            for part in islice(left, room - len(running)):
                running[submit(do, part)] = part, 0
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                part, losses = running.pop(future)
                try:
                    done = future.result()
                except (WorkerLost, BrokenProcessPool) as lost:
                    if not isinstance(lost, WorkerLost) or isinstance(lost, AllWorkersLost) or losses == LOSSES:
                        raise _loss(lost, part, scheduler) from None
                    running[submit(do, part)] = part, losses + 1
                except ImportError as error:
                    raise InputError(f"a worker cannot do its part: {error}", fix="install it there, too") from None
                else:
                    yield part, done


def _loss(lost: Exception, part: object, scheduler: str | None) -> InputError:
    if isinstance(lost, BrokenProcessPool):
        return InputError("a process was ended by what it ran", fix="look at what has not been done")
    if isinstance(lost, AllWorkersLost):
        why = f"the Dask scheduler at {scheduler} has lost all of its workers"
        return InputError(why, fix=f"start some: dask worker {scheduler}", topic="scheduler")
    return InputError(f"workers were lost {LOSSES + 1} times at one part, which may end them: {part}")


@contextmanager
def _handing(jobs: int, scheduler: str | None) -> Iterator[tuple[Callable[..., Future[Any]], int]]:
    """A function that submits a part, and the number of parts to submit at a time."""
    if scheduler is not None:
        with connect(scheduler) as cluster:
            yield cluster.submit, AHEAD * (jobs or cluster.threads)
        return
    pool: Executor = ProcessPoolExecutor(jobs)
    try:
        yield pool.submit, AHEAD * jobs
    finally:
        pool.shutdown(cancel_futures=True)
