"""One run of each trace, by several processes.

The tree of runs is cut by sleep sets (Godefroid, "Partial-order methods for the verification of concurrent systems",
1996): at a node each task goes first once, and those that have gone first before wait until a step concerns them. So
each trace is run below one of the cuts, and what the processes count adds up. The traces below a cut are searched as
ever (`_dpor.pyx`); races with what comes before it need not be reversed, as all orders are tried there.

A process is forked when the cuts have been made, and knows all states that are known by then. What it finds it tells as
ways there, on which this process goes after it.
"""

from __future__ import annotations

import heapq
import itertools
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from wingspan.errors import InputError
from wingspan.explorer._dpor import Dpor
from wingspan.explorer._space import BLOCKED, FAULT
from wingspan.explorer.dpor import SLICE
from wingspan.explorer.findings import Coverage
from wingspan.explorer.shortest import Shortest
from wingspan.explorer.states import States, Stopped

PARTS = 8
"""So many parts for each process, at least: they are not equally large."""
PROBE = 100
"""Runs after which a part is so large that another process may search it."""


class Part(NamedTuple):
    """The runs that go on from a node, where some tasks wait and some have faulted: as `Dpor` takes it."""

    node: int
    waiting: tuple[int, ...] = ()
    dead: tuple[int, ...] = ()


@dataclass
class Found:
    """What one process has found."""

    executions: int
    ends: list[tuple[list[str], int]]
    """a way to each result, and how many of the executions have it"""
    ways: list[list[str]]
    """ways past all that was found"""
    states: int
    steps: int
    stopped_by: str | None


def walk_together(states: States[Any], jobs: int) -> Coverage:
    """Search all traces with so many processes."""
    covered = Coverage("dpor")
    states.search(lambda: share_out(states, jobs, covered))
    return covered


def share_out(states: States[Any], jobs: int, covered: Coverage) -> None:
    """Search all traces, inside of a search that has begun; what is walked is added to `covered`."""
    if "fork" not in multiprocessing.get_all_start_methods():
        raise InputError("several processes need an operating system that can fork them", fix="leave out --jobs")
    if parts := split(states, PARTS * jobs, covered):
        gather(states, Team(states, parts, jobs).search(), covered)


# ------------------------------------------------------------------------------------------------------------ the parts


def split(states: States[Any], many: int, covered: Coverage) -> list[Part]:
    """So many parts or some more, the largest first; none if all has been searched on the way."""
    heap: list[tuple[int, int, Part]] = []
    count, new = itertools.count(), [Part(0)]
    while new:
        for part in new:
            states.tick()
            search = Dpor(states, *part)
            if search.run(PROBE):
                count_runs(search, covered)
            else:
                heapq.heappush(heap, (-search.planned(), next(count), part))
        new = branches(states, heapq.heappop(heap)[-1]) if heap and len(heap) < many else []
    return [part for _, _, part in sorted(heap)]


def branches(states: States[Any], part: Part) -> list[Part]:
    """The parts that one consists of: in each another task goes first, while those of the parts before it wait."""
    moves = states.moves(part.node)
    able = {task: (act, target) for task, act, target in moves if target != BLOCKED and task not in part.dead}
    waiting, found = list(part.waiting), []
    for task, (act, target) in able.items():
        if task in part.waiting:
            continue
        still = tuple(other for other in waiting if not states.conflict(act, able[other][0]))
        if target == FAULT:
            found.append(Part(part.node, still, (*part.dead, task)))
        else:
            found.append(Part(states.go(part.node, task), still, part.dead))
        waiting.append(task)
    return found


def count_runs(search: Dpor, covered: Coverage) -> None:
    """Add what has been run."""
    covered.executions += search.executions
    covered.ends.update(search.ends)


# -------------------------------------------------------------------------------------------------------- the processes


class Team:
    """Processes that take parts until none is left.

    Ctrl-C reaches all processes of a terminal. These leave it to the first one, whose SIGTERM ends their search, not
    them: so they tell what they have found. A second Ctrl-C ends them.
    """

    def __init__(self, states: States[Any], parts: list[Part], jobs: int) -> None:
        self.states, self.parts, self.jobs = states, parts, jobs
        self.fork = multiprocessing.get_context("fork")
        self.taken = self.fork.Value("q", 0)
        self.processes: dict[Connection, multiprocessing.context.ForkProcess] = {}
        self.states_of: Counter[Connection] = Counter()
        self.stopping = False
        states.walked = self.walked

    def search(self) -> list[Found]:
        """What each process has found."""
        found = []
        try:
            with handled(signal.SIGINT, self.stop):
                self.start()
                waiting = list(self.processes)
                while waiting:
                    for pipe in wait(waiting):
                        assert isinstance(pipe, Connection)
                        told = self.hear(pipe)
                        if isinstance(told, Found):
                            found.append(told)
                            waiting.remove(pipe)
        finally:
            for process in self.processes.values():
                process.kill()
                process.join()
        return found

    def start(self) -> None:
        """Fork them, with the signals blocked until they are ready for them."""
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            for _ in range(self.jobs):
                here, there = self.fork.Pipe(duplex=False)
                self.processes[here] = process = self.fork.Process(target=self.work, args=(there,), daemon=True)
                process.start()
                there.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if self.stopping:
            self.terminate()

    def stop(self, *_: object) -> None:
        """Ctrl-C."""
        if self.stopping:
            raise KeyboardInterrupt
        self.stopping = True
        self.terminate()

    def terminate(self) -> None:
        """End the search of each process."""
        for process in self.processes.values():
            if process.pid is not None:
                process.terminate()

    def hear(self, pipe: Connection) -> Found | None:
        """What a process has found, when it is done; before that, how many states, at times."""
        try:
            told = pipe.recv()
        except EOFError:
            self.processes[pipe].join()
            code = self.processes[pipe].exitcode
            how = f"killed by signal {-code}" if code is not None and code < 0 else f"ended with status {code}"
            fix = "let fewer --jobs search: each keeps its states in memory"
            raise InputError(f"a process of the search was {how}", topic="jobs", fix=fix) from None
        if isinstance(told, Exception):
            raise told
        if isinstance(told, Found):
            return told
        self.states_of[pipe] = told
        self.states.look()
        return None

    def walked(self) -> tuple[str, int, int, None]:
        """The states that all have come to."""
        return "state", self.states.nodes + self.states_of.total(), len(self.parts), None

    # -- in the other processes

    def work(self, pipe: Connection) -> None:
        """Search parts, and tell what was found."""
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        states, known = self.states, self.states.nodes
        if states.max_states is not None:
            states.max_states = known + (states.max_states - known) // self.jobs
        if states.progress is not None:
            states.progress = lambda _: pipe.send(states.nodes - known)
        try:
            pipe.send(self.found())
        except Exception as error:
            pipe.send(error)

    def found(self) -> Found:
        """Search parts until none is left, or a bound or the first process ends the search."""
        states, known, steps = self.states, self.states.nodes, self.states.steps
        covered = Coverage("dpor")

        def walk() -> None:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            try:
                while (n := self.take()) < len(self.parts):
                    search_part(states, self.parts[n], covered)
            finally:
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

        states.search(walk)
        ends = [(states.way(nodes[0]), sum(covered.ends[node] for node in nodes)) for nodes in states.finished.values()]
        return Found(
            covered.executions, ends, ways(states), states.nodes - known, states.steps - steps, states.stopped_by
        )

    def take(self) -> int:
        """The number of a part that no other process searches."""
        with self.taken.get_lock():
            self.taken.value += 1
            return int(self.taken.value) - 1


@contextmanager
def handled(number: signal.Signals, handler: Any) -> Iterator[None]:
    """Have a signal call a handler for a while."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def search_part(states: States[Any], part: Part, covered: Coverage) -> None:
    """Search one part, while there is somebody to tell."""
    search = Dpor(states, *part)
    first = multiprocessing.parent_process()
    try:
        while not search.run(SLICE):
            states.tick()
            if first is not None and not first.is_alive():
                os._exit(1)
    finally:
        count_runs(search, covered)


# ---------------------------------------------------------------------------------------------------- what comes of it


def ways(states: States[Any]) -> list[list[str]]:
    """A way past each finding, and a shortest one that is known."""
    nodes = [nodes[0] for nodes in (*states.finished.values(), *states.deadlocks.values())]
    nodes += [places[0][0] for places in states.faults.values()] + [node for node, _, _ in states.races.values()]
    return [*map(states.way, nodes), *(way.tasks for way in Shortest(states).find().values())]


def gather(states: States[Any], team: list[Found], covered: Coverage) -> None:
    """Go where the others have been, though the time be over; and count what they have walked."""
    deadline, known = states.deadline, states.nodes
    steps = states.steps + sum(found.steps for found in team)
    states.deadline = float("inf")
    for found in team:
        covered.executions += found.executions
        for way in found.ways:
            follow(states, way)
        for way, times in found.ends:
            covered.ends[follow(states, way)] += times
    states.deadline = deadline
    states.steps = steps
    covered.elsewhere = sum(found.states for found in team) - (states.nodes - known)
    for found in team:
        if found.stopped_by is not None:
            raise Stopped(found.stopped_by)


def follow(states: States[Any], way: list[str]) -> int:
    """The last node on a way."""
    node = 0
    for path in way:
        target = states.go(node, states.task(path))
        if target < 0:
            break
        node = target
    return node
