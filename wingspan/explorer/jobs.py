"""All traces, by several processes: each searches a part of the tree of runs for a while.

The first process knows which parts there are (`parts.py`), and goes where the others have found something: so it has
the findings of all, and the numbers of runs that they tell. It walks on few states itself.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any

from wingspan.explorer.bounds import Stopped
from wingspan.explorer.checkpoint import Checkpoint
from wingspan.explorer.cluster import Deserted, Lost
from wingspan.explorer.dpor import keep
from wingspan.explorer.estimate import Estimate
from wingspan.explorer.findings import Coverage
from wingspan.explorer.interrupts import Interrupts
from wingspan.explorer.parts import Parts, Place
from wingspan.explorer.states import States
from wingspan.explorer.workers import Found, Heard, Submit, Way, Worker, workers

LONG, SHORT = 0.5, 0.02
"""Seconds for which a part is searched before it is put back; and if there are not parts enough for all to search."""

LOSSES = 10
"""So many answers of each process may be lost in a row. After that the search itself seems to end its workers."""


@dataclass
class Team:
    """A search by others: its parts, and what they have found."""

    states: States[Any]
    jobs: int
    scheduler: str | None = None
    """the address of Dask's, if the processes are not this machine's"""
    parts: Parts = field(default_factory=Parts)
    covered: Coverage = field(default_factory=lambda: Coverage("dpor"))
    running: dict[Future[Found], tuple[Place, int]] = field(default_factory=dict)
    """the parts that are being searched, with so many new states at most"""
    heard: Heard = field(default_factory=dict)
    interrupts: Interrupts = field(default_factory=Interrupts)
    losses: int = 0
    """answers that were lost since the last one that came"""

    def finish(self, kept: Checkpoint, reason: str = "", total: Estimate | None = None) -> None:
        """Go on until no part is left. What is being searched when a bound or Ctrl-C ends it is waited for."""
        self.states.walked = lambda: ("trace", self.covered.executions, self.planned(), total)
        if not self.parts.waiting:
            return
        processes = self.jobs + 1 if self.scheduler is None else 1
        with (
            self.interrupts.noted(),
            self.states.bounds.shared(processes),
            workers(self.states, self.jobs, self.scheduler) as (submit, self.jobs),
        ):
            self.search(submit, kept, reason)

    def search(self, submit: Submit, kept: Checkpoint, reason: str) -> None:
        """Hand out parts and hear of them."""
        stopped: BaseException | None = None
        while self.running or (self.parts.waiting and stopped is None):
            try:
                if stopped is None:
                    self.states.tick()
                    self.hand_out(submit)
                ended = self.wait()
                if not ended:
                    stopped = stopped or Stopped("max-seconds")
                    break
                for future in ended:
                    self.hear(future)
                self.states.look()
                if kept.due():
                    kept.write(self.states, "dpor", reason, self.keep())
                if self.interrupts.count:
                    raise self.interrupts.error()
            except (Stopped, KeyboardInterrupt) as bound:
                if self.interrupts.count > 1:
                    raise
                stopped = stopped or bound
        if stopped is not None:
            raise stopped

    def wait(self) -> set[Future[Found]]:
        """Those who have come to an end, at least one; or none, if a verdict is due before."""
        with self.interrupts.waiting(), self.states.bounds.finishing():
            return wait(self.running, timeout=self.states.bounds.left(), return_when=FIRST_COMPLETED).done

    def hand_out(self, submit: Submit) -> None:
        """Give a part to everyone who has none, if there are so many."""
        while len(self.parts.waiting) + len(self.running) < self.jobs and self.parts.split():
            pass
        idle = len(self.parts.waiting) + len(self.running) < self.jobs
        seconds, left = SHORT if idle else LONG, self.states.bounds.left()
        seconds = seconds if left is None else min(seconds, left)
        while self.parts.waiting and len(self.running) < self.jobs:
            most = self.share()
            if most is not None and most <= 0:
                if not self.running:
                    raise Stopped("max-states")
                break
            place = self.parts.give()
            self.running[submit(Worker.search, place, seconds, most, dict(self.heard))] = place, most or 0

    def share(self) -> int | None:
        """How many new states one more may come to, so that all together keep the bound."""
        if self.states.max_states is None:
            return None
        left = self.states.max_states - self.states.nodes - self.covered.elsewhere
        left -= sum(share for _, share in self.running.values())
        return min(left, max(1, left // (self.jobs - len(self.running))))

    def hear(self, future: Future[Found]) -> None:
        """Go where a search has found something, and count what it has walked.

        That goes on when the search is over. If there is no time for an answer, or if it is lost, its part stays as it
        was given.
        """
        given, _ = self.running.pop(future)
        try:
            found = future.result()
        except Lost as lost:
            self.parts.waiting.append(given)
            self.losses += 1
            if isinstance(lost, Deserted) or self.losses > LOSSES * self.jobs:
                raise Stopped("workers") from None
            return
        self.losses = 0
        nodes, steps = self.states.nodes, self.states.steps
        try:
            with self.states.following():
                for way in found.news:
                    self.follow(way)
                ends = [(self.follow(way), times) for way, times in found.ends]
        except Stopped:
            self.parts.waiting.append(given)
            raise
        self.parts.back(found.place, found.done)
        for node, times in ends:
            self.covered.ends[node] += times
        self.heard[found.worker] = max(found.told, self.heard.get(found.worker, 0))
        self.covered.executions += found.executions
        self.covered.elsewhere += found.states - (self.states.nodes - nodes)
        self.states.steps = steps + found.steps
        if found.stopped_by not in (None, "max-states"):
            raise Stopped(str(found.stopped_by))

    def follow(self, way: Way) -> int:
        """The last node on a way."""
        node = 0
        for path in way:
            target = self.states.go(node, self.states.task(path))
            if target < 0:
                break
            node = target
        return node

    def planned(self) -> int:
        """How many runs the parts ask for, as far as is known."""
        return sum(1 + place.planned for place in self.places())

    def places(self) -> list[Place]:
        """All parts; of those that are being searched, where that began."""
        return [*self.parts.waiting, *(place for place, _ in self.running.values())]

    def coverage(self) -> Coverage:
        """What has been walked so far."""
        self.covered.processes = self.jobs
        return self.covered

    def keep(self) -> dict[str, Any]:
        """What is left and what was found, for JSON; parts that are being searched are kept as they were given."""
        return keep(self.covered, [self.parts.current(place) for place in self.places()])
