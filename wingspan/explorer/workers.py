"""The helpers of the first process: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
import os
import pickle
import signal
import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from math import inf
from time import monotonic, thread_time
from typing import Any, Protocol, TypeVar
from uuid import uuid4

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, InternalError
from wingspan.base.orphans import end_with
from wingspan.base.signals import ENDING
from wingspan.explorer._dpor import Dpor
from wingspan.explorer.bounds import Stopped
from wingspan.explorer.cluster import connect
from wingspan.explorer.dpor import SLICE
from wingspan.explorer.machine import Machine, Step
from wingspan.explorer.prefix_tree import ExplorationPrefix
from wingspan.explorer.settle import Successor, advance
from wingspan.explorer.shortest import Shortest
from wingspan.explorer.states import Finding, States

WORKERS = 0.5
"""A part of the share: workers may use the rest, so the first process has time to follow their findings."""

TaskSequence = list[str]
"""The tasks that step on the path to a state, by their paths."""


@dataclass
class PartResult:
    """The findings of the search of a part, and its new position."""

    place: ExplorationPrefix
    done: bool
    executions: int
    ends: list[tuple[TaskSequence, int]]
    """paths to ends, and how many of the executions end there"""
    news: list[TaskSequence]
    """paths to all findings of this worker, except those that were already reported"""
    worker: str
    reported: int
    """the worker, and the number of its findings that are reported with this answer"""
    states: int
    steps: int
    stopped_by: str | None


ReceivedFindings = dict[str, int]
"""The number of each worker's findings in answers that arrived: a cluster may lose an answer, and ask again."""

T = TypeVar("T")


class Submit(Protocol):
    """Run a method on a worker."""

    def __call__(self, do: Callable[..., T], *args: Any) -> Future[T]:
        """`do` is a method of Worker."""


class SearchWorker:
    """Does one thing at a time; it knows the states of the parts that it has searched."""

    def __init__(self, states: States[Any]) -> None:
        self.states = states
        self.name = uuid4().hex
        self.found = dict.fromkeys(states.findings())
        self.before = len(self.found)

    def search(self, place: ExplorationPrefix, seconds: float, most: int | None, heard: ReceivedFindings) -> PartResult:
        """Continue from a place for a while, or up to this many new states."""
        states, search, until = self.states, Dpor(self.states), monotonic() + seconds
        nodes, steps, done = states.nodes, states.steps, False
        states.max_states = None if most is None else nodes + most
        there = False

        def walk() -> None:
            nonlocal there, done
            search.resume(place)
            there = True
            done = search.run(SLICE)
            while not done and monotonic() < until:
                done = search.run(SLICE)

        states.search(walk)
        return PartResult(
            place=search.prefix() if there else place,
            done=done,
            executions=search.executions,
            ends=self.ends(search),
            news=self.news(heard.get(self.name, self.before)),
            worker=self.name,
            reported=len(self.found),
            states=states.nodes - nodes,
            steps=states.steps - steps,
            stopped_by=states.stopped_by,
        )

    def ends(self, search: Dpor) -> list[tuple[TaskSequence, int]]:
        """A path to an end for each result and each set of findings at an end, and how many executions end so."""
        ways: dict[tuple[Finding, ...], TaskSequence] = {}
        times: dict[tuple[Finding, ...], int] = {}
        for node, number in search.ends.items():
            found = tuple(finding for finding, _ in self.states.at.get(node, ()))
            ways.setdefault(found, self.states.way(node))
            times[found] = times.get(found, 0) + number
        return [(way, times[found]) for found, way in ways.items()]

    def news(self, heard: int) -> list[TaskSequence]:
        """The path on which each finding was found, and a shortest known one; skips the findings already reported."""
        nodes = self.states.findings()
        self.found |= dict.fromkeys(nodes)
        new = list(self.found)[heard:]
        if not new:
            return []
        search = Shortest(self.states)
        with self.states.bounds.finishing(WORKERS), suppress(Stopped):
            search.find()
        shortest = search.ways
        ways = [self.states.way(nodes[each]) for each in new]
        return [*ways, *(shortest[each].tasks for each in new if each in shortest)]

    def compute_successors(self, batch: bytes, seconds: float | None) -> tuple[bytes, float]:
        """From each state let some tasks take a step, and the invisible ones after it; also the processor's seconds.

        A step that takes too long by the clock, or fails, is None: the first process computes it itself.
        Equal states are returned as one.
        """
        machine, began = self.states.machine, thread_time()
        until = inf if seconds is None else monotonic() + seconds
        known: dict[Hashable, Any] = {}

        def tick() -> None:
            self.states.tick()
            if monotonic() > until:
                raise Stopped("max-seconds")

        def successor(state: Any, path: str) -> Successor[Any] | None:
            try:
                step = machine.step(state, path)
                assert isinstance(step, Step)
                found = advance(machine, step, tick)
            except (Stopped, InternalError, MemoryError):
                return None
            state = known.setdefault(machine.fingerprint(found.state), found.state)
            return Successor(state, found.steps)  # the next step would make the message twice as long

        found = [successor(state, path) for state, paths in unpack(batch) for path in paths]
        return pack(found), thread_time() - began


def pack(states: list[Any]) -> bytes:
    """Pickle states and data that belong to them; objects that several of them share are sent once."""
    try:
        return pickle.dumps(states, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, RecursionError, TypeError) as error:
        raise InputError(f"states cannot be sent to other processes: {error}", fix="search with one") from None


def unpack(states: bytes) -> list[Any]:
    """The inverse of `pack`."""
    found: list[Any] = pickle.loads(states)
    return found


@contextmanager
def search_workers(states: States[Any], jobs: int, scheduler: str | None) -> Iterator[tuple[Submit, int]]:
    """Start `jobs` processes, or use the workers of a Dask scheduler, all of them for 1; also their number."""
    if scheduler is None:
        with forked_workers(states, jobs) as submit:
            yield submit, jobs
    else:
        with cluster(states.machine, scheduler) as (submit, threads):
            yield submit, threads if jobs == 1 else jobs


@contextmanager
def forked_workers(states: States[Any], jobs: int) -> Iterator[Submit]:
    """Fork `jobs` processes, each with the states known so far."""
    if "fork" not in multiprocessing.get_all_start_methods():
        raise InputError("several processes need an operating system that can fork them", fix="leave out --jobs")
    if multiprocessing.current_process().daemon:
        fix = "leave out --jobs, or start this process with daemon=False"
        raise InputError("a daemonic process cannot start others to search with it", topic="jobs", fix=fix)
    try:
        with _pool(states, jobs) as pool:

            def submit(do: Callable[..., T], *args: Any) -> Future[T]:
                return pool.submit(_run_in_process, do, *args)

            yield submit
    except BrokenProcessPool:
        raise InputError(
            "a process of the search was killed", topic="jobs", fix="let fewer --jobs search: each needs memory"
        ) from None


def _pool(states: States[Any], jobs: int) -> ProcessPoolExecutor:
    """A pool whose processes have been started. InputError if they cannot be; then none is left."""
    forks = _Forks()
    try:
        pool = ProcessPoolExecutor(jobs, forks, _begin, (states,))
        pool.submit(os.getpid)
        return pool
    except (OSError, RuntimeError, MemoryError) as error:
        for each in forks.started:
            if each.pid is not None:
                each.kill()
                each.join()
        reason = getattr(error, "strerror", None) or str(error) or "memory ran out"
        raise InputError(
            f"{jobs} processes cannot be started: {reason}", topic="jobs", fix="search with fewer --jobs"
        ) from None


class _Fork(multiprocessing.context.ForkProcess):
    """A process that SIGTERM may not end, so whatever would send SIGTERM kills it."""

    def terminate(self) -> None:
        self.kill()


class _Forks(multiprocessing.context.ForkContext):
    """Forks processes, and records which."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[_Fork] = []

    def Process(self, *args: Any, **options: Any) -> _Fork:  # type: ignore[override]
        self.started.append(_Fork(*args, **options))
        return self.started[-1]


_worker: SearchWorker


def _begin(states: States[Any]) -> None:
    """Runs in a forked process: leave signals that reach all to the first process, and end when that does."""
    global _worker
    for number in (signal.SIGINT, *ENDING):
        if signal.getsignal(number) != signal.SIG_DFL:
            signal.signal(number, signal.SIG_IGN)
    first = multiprocessing.parent_process()
    assert first is not None
    assert first.pid is not None
    end_with(first.pid)
    states.progress = None
    states.on_finding = lambda finding: None
    _worker = SearchWorker(states)


def _run_in_process(do: Callable[..., T], *args: Any) -> T:
    return do(_worker, *args)


@contextmanager
def cluster(machine: Machine[Any], address: str) -> Iterator[tuple[Submit, int]]:
    """The threads of a Dask cluster's workers, and their number. They get the machine pickled."""
    with connect(address) as there:
        # sent with each request: data that is scattered is lost with the last worker that has it
        search, sent = uuid4().hex, pack([machine])
        yield lambda do, *args: there.submit(_run_on_cluster, search, sent, do, *args), there.threads


_thread = threading.local()


def _run_on_cluster(search: str, machine: bytes, do: Callable[..., T], *args: Any) -> T:
    """Runs in a thread of a cluster's worker, which may have taken part in the same search before."""
    if getattr(_thread, "search", None) != search:
        _thread.search, _thread.worker = search, SearchWorker(States(unpack(machine)[0]))
    return do(_thread.worker, *args)
