"""All traces, by several processes: each searches a part of the tree of runs for a while.

The first process knows all parts (`parts.py`), and follows the paths on which the others found something. So it has all
findings, and the numbers of runs that the others report. It visits few states itself.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import field
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.explorer.bounds import Stopped
from wingspan.explorer.checkpoint import Checkpoint
from wingspan.explorer.cluster import AllWorkersLost, WorkerLost
from wingspan.explorer.dpor import save_position
from wingspan.explorer.estimate import SampleMean
from wingspan.explorer.findings import SearchStatistics
from wingspan.explorer.interrupts import Interrupts
from wingspan.explorer.prefix_tree import ExplorationPrefix, PrefixTree
from wingspan.explorer.states import States
from wingspan.explorer.workers import PartResult, ReceivedFindings, SearchWorker, Submit, TaskSequence, search_workers

LONG, SHORT = 0.5, 0.02
"""Seconds for which a part is searched before it is put back; the shorter one if there are too few parts for all."""

LOSSES = 10
"""The number of answers per process that may be lost in a row. Then the search itself seems to kill its workers."""


@dataclass
class ParallelSearch:
    """A search by other processes: its parts, and their findings."""

    states: States[Any]
    jobs: int
    scheduler: str | None = None
    """the address of Dask's scheduler, unless the processes are on this machine"""
    parts: PrefixTree = field(default_factory=PrefixTree)
    covered: SearchStatistics = field(default_factory=lambda: SearchStatistics("dpor"))
    running: dict[Future[PartResult], tuple[ExplorationPrefix, int]] = field(default_factory=dict)
    """the parts that are being searched, each with the most new states that it may enter"""
    received: ReceivedFindings = field(default_factory=dict)
    interrupts: Interrupts = field(default_factory=Interrupts)
    losses: int = 0
    """answers that were lost since the last one that arrived"""

    def finish(self, kept: Checkpoint, reason: str = "", total: SampleMean | None = None) -> None:
        """Continue until no part is left. When a bound or Ctrl-C ends the search, wait for the parts being searched."""
        self.states.strategy_progress = lambda: ("trace", self.covered.executions, self.planned_runs(), total)
        if not self.parts.waiting:
            return
        processes = self.jobs + 1 if self.scheduler is None else 1
        with (
            self.interrupts.counting(),
            self.states.bounds.divided_among(processes),
            search_workers(self.states, self.jobs, self.scheduler) as (submit, self.jobs),
        ):
            self.search(submit, kept, reason)

    def search(self, submit: Submit, kept: Checkpoint, reason: str) -> None:
        """Hand out parts and collect the answers."""
        stopped: BaseException | None = None
        while self.running or (self.parts.waiting and stopped is None):
            try:
                if stopped is None:
                    self.states.tick()
                    self.dispatch(submit)
                ended = self.wait()
                if not ended:
                    stopped = stopped or Stopped("max-seconds")
                    break
                for future in ended:
                    self.collect(future)
                self.states.look()
                if kept.due():
                    kept.write(self.states, "dpor", reason, self.position())
                if self.interrupts.count:
                    raise self.interrupts.error()
            except (Stopped, KeyboardInterrupt) as bound:
                if self.interrupts.count > 1:
                    raise
                stopped = stopped or bound
        if stopped is not None:
            raise stopped

    def wait(self) -> set[Future[PartResult]]:
        """The finished parts, at least one; or none, if a verdict is due first."""
        with self.interrupts.waiting(), self.states.bounds.finishing():
            return wait(self.running, timeout=self.states.bounds.seconds_left(), return_when=FIRST_COMPLETED).done

    def dispatch(self, submit: Submit) -> None:
        """Give a part to every idle process, as long as there are parts."""
        while len(self.parts.waiting) + len(self.running) < self.jobs and self.parts.split():
            pass
        idle = len(self.parts.waiting) + len(self.running) < self.jobs
        seconds, left = SHORT if idle else LONG, self.states.bounds.seconds_left()
        seconds = seconds if left is None else min(seconds, left)
        while self.parts.waiting and len(self.running) < self.jobs:
            most = self.new_state_quota()
            if most is not None and most <= 0:
                if not self.running:
                    raise Stopped("max-states")
                break
            place = self.parts.pop()
            self.running[submit(SearchWorker.search, place, seconds, most, dict(self.received))] = place, most or 0

    def new_state_quota(self) -> int | None:
        """The number of new states that one more process may enter, so that all together keep the bound."""
        if self.states.max_states is None:
            return None
        left = self.states.max_states - self.states.nodes - self.covered.elsewhere
        left -= sum(share for _, share in self.running.values())
        return min(left, max(1, left // (self.jobs - len(self.running))))

    def collect(self, future: Future[PartResult]) -> None:
        """Follow the findings of a search, and add its statistics.

        This continues after the end of the search. If there is no time for an answer, or if it is lost, its part is
        kept as it was handed out.
        """
        given, _ = self.running.pop(future)
        try:
            found = future.result()
        except WorkerLost as lost:
            self.parts.waiting.append(given)
            self.losses += 1
            if isinstance(lost, AllWorkersLost) or self.losses > LOSSES * self.jobs:
                raise Stopped("workers") from None
            return
        self.losses = 0
        nodes, steps = self.states.nodes, self.states.steps
        try:
            with self.states.replaying():
                for way in found.news:
                    self.follow(way)
                ends = [(self.follow(way), times) for way, times in found.ends]
        except Stopped:
            self.parts.waiting.append(given)
            raise
        self.parts.put_back(found.place, found.done)
        for node, times in ends:
            self.covered.ends[node] += times
        self.received[found.worker] = max(found.reported, self.received.get(found.worker, 0))
        self.covered.executions += found.executions
        self.covered.elsewhere += found.states - (self.states.nodes - nodes)
        self.states.steps = steps + found.steps
        if found.stopped_by not in (None, "max-states"):
            raise Stopped(str(found.stopped_by))

    def follow(self, way: TaskSequence) -> int:
        """The last node on a path."""
        node = 0
        for path in way:
            target = self.states.go(node, self.states.task(path))
            if target < 0:
                break
            node = target
        return node

    def planned_runs(self) -> int:
        """The number of runs that the parts still require, as far as is known."""
        return sum(1 + place.pending for place in self.places())

    def places(self) -> list[ExplorationPrefix]:
        """All parts; those that are being searched, with their initial position."""
        return [*self.parts.waiting, *(place for place, _ in self.running.values())]

    def coverage(self) -> SearchStatistics:
        """The statistics of the search so far."""
        self.covered.processes = self.jobs
        return self.covered

    def position(self) -> dict[str, Any]:
        """The remaining parts and the findings, for JSON; parts being searched are saved as they were handed out."""
        return save_position(self.covered, [self.parts.current(place) for place in self.places()])
