"""The workers of a Dask cluster, any of which may be lost at any moment."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from time import monotonic
from typing import Any

from wingspan.base.errors import InputError

PATIENCE = 10.0
"""Seconds within which a scheduler must answer, and within which a worker must return after all are lost."""


@contextmanager
def connect(address: str) -> Iterator[Cluster]:
    """The cluster of the scheduler at an address. InputError if there is none that can search."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError("a scheduler needs Dask", fix="pip install 'wingspan[dask]'") from None
    client, wrong = None, ""
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        wrong = str(error)
    if client is None:
        gc.collect()  # the failed client: Dask may hang if it is collected while the next one starts
        raise InputError(f"there is no Dask scheduler at {address}: {wrong}", topic="scheduler")
    with client:
        cluster = Cluster(client, _threads(client, address))
        with cluster.watching_workers():
            yield cluster


def _threads(client: Any, address: str) -> int:
    """The number of threads of the workers. InputError if there are none, or if they cannot search."""
    try:
        threads: int = sum(client.nthreads().values())
        specs = client.run(find_spec, "wingspan", on_error="ignore").values()
    except OSError as error:
        raise InputError(f"the Dask scheduler at {address} was lost: {error}", topic="scheduler") from None
    if not threads:
        raise InputError(f"the Dask scheduler at {address} has no workers", fix=f"start some: dask worker {address}")
    if None in specs:
        raise InputError(f"workers of the Dask scheduler at {address} do not have wingspan", fix="install it there")
    return threads


class WorkerLost(Exception):
    """An answer will not come, because its worker was lost."""


class AllWorkersLost(WorkerLost):
    """No answer will come, because all workers were lost and none has returned."""


class Cluster:
    """The workers of a Dask cluster. No caller waits for ever for an answer: a lost one raises an exception."""

    def __init__(self, client: Any, threads: int) -> None:
        self.client, self.threads = client, threads
        self.requests: dict[Future[Any], Any] = {}
        """Dask's future for each outstanding answer"""

    def submit(self, do: Callable[..., Any], *args: Any) -> Future[Any]:
        """The answer of some worker."""
        answer: Future[Any] = Future()
        try:
            asked = self.client.submit(do, *args, pure=False)
        except Exception:  # Dask raises several for a client that has lost its scheduler
            answer.set_exception(AllWorkersLost())
            return answer
        self.requests[answer] = asked
        answer.add_done_callback(lambda answer: self.requests.pop(answer).release())
        asked.add_done_callback(lambda asked: _forward_result(answer, asked))
        return answer

    def workers(self) -> int:
        """The current number of workers; 0 if the scheduler is gone, or does not answer."""
        try:
            return len(self.client.sync(self.client.scheduler.ncores, callback_timeout=PATIENCE))
        except Exception:  # Dask raises several
            return 0

    @contextmanager
    def watching_workers(self) -> Iterator[None]:
        """Within, answers raise `AllWorkersLost` once there has been no worker for `PATIENCE`."""
        over = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(over,), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def _watch(self, over: threading.Event) -> None:
        seen = monotonic()
        while not over.wait(PATIENCE / 10):
            if self.workers():
                seen = monotonic()
            elif monotonic() - seen >= PATIENCE:
                for answer in list(self.requests):
                    _resolve(answer.set_exception, AllWorkersLost())


def _forward_result(answer: Future[Any], asked: Any) -> None:
    """Forward the result of a Dask future, in Dask's single callback thread, which must not wait for ever either."""
    from distributed import KilledWorker

    try:
        result = asked.result(PATIENCE)
    except (KilledWorker, CancelledError, OSError):
        _resolve(answer.set_exception, WorkerLost())
    except BaseException as error:
        _resolve(answer.set_exception, error)
    else:
        _resolve(answer.set_result, result)


def _resolve(give: Callable[[Any], None], value: Any) -> None:
    """Set an answer, unless it is set, or no caller waits for it any more."""
    with suppress(InvalidStateError):
        give(value)
