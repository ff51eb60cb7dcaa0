"""Explore one run of each trace, a class of runs that differ only in the order of steps that do not conflict.

The algorithm is in `_dpor.pyx`.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from wingspan.explorer._dpor import Dpor
from wingspan.explorer._space import BLOCKED, FAULT
from wingspan.explorer.bounds import Stopped
from wingspan.explorer.checkpoint import Checkpoint, fitting
from wingspan.explorer.estimate import SampleMean, estimate_traces
from wingspan.explorer.findings import SearchStatistics
from wingspan.explorer.prefix_tree import ExplorationPrefix
from wingspan.explorer.states import States

SLICE = 50
"""The number of runs between two checks of the clock, and"""
LOOK_EVERY = 20
"""the number of such slices between two checks of the memory."""


class SequentialSearch:
    """A search of all traces by this process."""

    def __init__(self, states: States[Any]) -> None:
        self.states = states
        self.search = Dpor(states)
        self.elsewhere = 0
        """states that only other processes have reached, if they took part in the search before"""

    def finish(self, kept: Checkpoint, reason: str = "", total: SampleMean | None = None) -> None:
        """Continue until no trace is left. After a while, the number of traces is estimated, for progress reports."""
        states, search = self.states, self.search
        states.strategy_progress = lambda: ("trace", search.executions, search.planned(), total)
        while True:
            for _ in range(LOOK_EVERY):
                if search.run(SLICE):
                    return
                states.tick()
                if kept.due():
                    kept.write(states, "dpor", reason, self.position())
            if states.progress is not None:
                total = total or estimate_traces(states.fresh_copy())
            states.look()

    def coverage(self) -> SearchStatistics:
        """The statistics of the search so far."""
        return SearchStatistics("dpor", self.search.executions, Counter(self.search.ends), elsewhere=self.elsewhere)

    def position(self) -> dict[str, Any]:
        """The position of the search, for JSON: it has a single part."""
        return save_position(self.coverage(), [self.search.prefix()])

    def resume(self, covered: SearchStatistics, place: ExplorationPrefix) -> None:
        """Continue from the position of an earlier search, whatever the number of states."""
        with fitting(), self.states.replaying():
            self.search.resume(place)
        self.search.executions, self.search.ends = covered.executions, dict(covered.ends)
        self.elsewhere = covered.elsewhere

    def run_again(self, runs: int) -> None:
        """Make this many runs, or fewer if they lead to an unknown state, whatever the number of states."""
        with self.states.replaying():
            self.states.max_states = self.states.nodes
            try:
                self.search.run(runs)
            except Stopped as stopped:
                if stopped.bound != "max-states":
                    raise


def save_position(covered: SearchStatistics, parts: list[ExplorationPrefix]) -> dict[str, Any]:
    """The statistics of a search of all traces and the prefixes of its parts, for JSON."""
    ends, elsewhere = list(covered.ends.items()), covered.elsewhere
    return {"parts": parts, "executions": covered.executions, "ends": ends, "elsewhere": elsewhere}


def load_position(states: States[Any], saved: dict[str, Any]) -> tuple[SearchStatistics, list[ExplorationPrefix]]:
    """The inverse of `save_position`, once the states are known again. InputError if it does not fit them."""
    with fitting():
        ends = Counter(dict(saved["ends"]))
        places = list(map(ExplorationPrefix.from_json, saved["parts"]))
        if len(ends) != len(saved["ends"]) or sum(ends.values()) != saved["executions"] or 0 in ends.values():
            raise ValueError
        going = {task for node in ends for task, _, target in states.moves(node) if target not in (BLOCKED, FAULT)}
        if (going and going - faulting_tasks(states)) or not are_disjoint(places):
            raise ValueError
        if saved["executions"] == 0 and not places:
            raise ValueError
        return SearchStatistics("dpor", saved["executions"], ends, elsewhere=saved["elsewhere"]), places


def faulting_tasks(states: States[Any]) -> set[int]:
    """The tasks whose step faults somewhere: the others continue, and may reach places where it would not fault."""
    return {task for node in range(states.nodes) for task, _, target in states.moves(node) if target == FAULT}


def are_disjoint(places: list[ExplorationPrefix]) -> bool:
    """Whether no part equals, or is contained in, another one."""
    ways = sorted(tuple(fork.task for fork in place.shared) for place in places)
    return not any(way == after[: len(way)] for way, after in pairwise(ways))
