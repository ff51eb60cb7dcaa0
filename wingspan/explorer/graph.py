"""Explore the graph of states: equal states are merged, so every state is entered once, however many paths lead to it.

The graph of a terminating program is acyclic. So the paths through it, and hence the interleavings, are counted exactly
without walking each of them, and so is the probability of each end under a uniformly random scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from wingspan.explorer.bounds import Stopped
from wingspan.explorer.checkpoint import Checkpoint
from wingspan.explorer.findings import SearchStatistics
from wingspan.explorer.interrupts import Interrupts
from wingspan.explorer.states import BATCHES, LOOK_EVERY, States


class GraphSearch:
    """A search of all states, by this process: by its threads if local steps are kept in tables; otherwise other
    processes, if any, only compute steps ahead of it.
    """

    def __init__(self, states: States[Any], jobs: int = 1, scheduler: str | None = None) -> None:
        self.states, self.jobs, self.scheduler = states, jobs, scheduler

    def finish(self, kept: Checkpoint, reason: str = "") -> None:
        """Continue until every edge has been followed."""
        states, interrupts = self.states, Interrupts()
        alone = self.jobs == 1 and self.scheduler is None
        if alone or states.walker is not None or states.expanded == states.nodes:
            if states.walker is not None:
                states.threads, self.jobs = self.jobs, 1
            return self.flood(kept, reason)
        from wingspan.explorer.lookahead import Lookahead  # takes multiprocessing
        from wingspan.explorer.workers import search_workers

        with ExitStack() as stack:
            stack.enter_context(interrupts.counting())
            submit, self.jobs = stack.enter_context(search_workers(states, self.jobs, self.scheduler))
            stack.enter_context(Lookahead(states, submit, self.jobs, interrupts).attaching())
            self.flood(kept, reason)

    def flood(self, kept: Checkpoint, reason: str) -> None:
        """Follow all edges, and save the position from time to time."""
        often = LOOK_EVERY if self.states.walker is None else BATCHES
        while not self.states.flood(self.states.nodes + often):
            if kept.due():
                kept.write(self.states, "graph", reason)

    def coverage(self) -> SearchStatistics:
        """The statistics of the search. A complete search counts interleavings."""
        states, covered = self.states, SearchStatistics.from_ends("graph", self.states)
        covered.processes = self.jobs
        if states.stopped_by is None:
            ends = states.ends()
            try:
                with states.bounds.finishing():
                    covered.tallied = tallied = states.tally(set(ends))
                    covered.through = {
                        number: _tally_paths_through(states, ends, tallied, nodes)
                        for number, nodes in states.shown.items()
                    }
            except Stopped as stopped:
                covered.left_out.append(("numbers of interleavings, and chances", stopped.bound))
            else:
                covered.interleavings = sum(tallied[node][0] for node in ends)
        return covered

    def position(self) -> None:
        """The position of the search, which its states define."""


def _tally_paths_through(
    states: States[Any], ends: list[int], tallied: Mapping[int, tuple[int, float]], nodes: list[int]
) -> tuple[int, float]:
    """The number of interleavings that come through one of the nodes, and the probability of it."""
    through = set(nodes)
    first = states.tally({*ends, *through}, through)
    past = sum(tallied[node][0] for node in ends) - sum(first[node][0] for node in ends if node not in through)
    return past, sum(first[node][1] for node in through)
