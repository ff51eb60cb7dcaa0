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
from wingspan.explorer.estimate import Estimate, estimate_traces
from wingspan.explorer.findings import Coverage
from wingspan.explorer.parts import Place
from wingspan.explorer.states import States

SLICE = 50
"""The number of runs between two checks of the clock, and"""
LOOK_EVERY = 20
"""the number of such slices between two checks of the memory."""


class Alone:
    """A search of all traces by this process."""

    def __init__(self, states: States[Any]) -> None:
        self.states = states
        self.search = Dpor(states)
        self.elsewhere = 0
        """states that only other processes have reached, if they took part in the search before"""

    def finish(self, kept: Checkpoint, reason: str = "", total: Estimate | None = None) -> None:
        """Continue until no trace is left. After a while, the number of traces is estimated, for progress reports."""
        states, search = self.states, self.search
        states.walked = lambda: ("trace", search.executions, search.planned(), total)
        while True:
            for _ in range(LOOK_EVERY):
                if search.run(SLICE):
                    return
                states.tick()
                if kept.due():
                    kept.write(states, "dpor", reason, self.keep())
            if states.progress is not None:
                total = total or estimate_traces(states.apart())
            states.look()

    def coverage(self) -> Coverage:
        """The statistics of the search so far."""
        return Coverage("dpor", self.search.executions, Counter(self.search.ends), elsewhere=self.elsewhere)

    def keep(self) -> dict[str, Any]:
        """The position of the search, for JSON: it has a single part."""
        return keep(self.coverage(), [self.search.place()])

    def take_up(self, covered: Coverage, place: Place) -> None:
        """Continue from the position of an earlier search, whatever the number of states."""
        with fitting(), self.states.following():
            self.search.take_up(place)
        self.search.executions, self.search.ends = covered.executions, dict(covered.ends)
        self.elsewhere = covered.elsewhere

    def run_again(self, runs: int) -> None:
        """Make this many runs, or fewer if they lead to an unknown state, whatever the number of states."""
        with self.states.following():
            self.states.max_states = self.states.nodes
            try:
                self.search.run(runs)
            except Stopped as stopped:
                if stopped.bound != "max-states":
                    raise


def keep(covered: Coverage, parts: list[Place]) -> dict[str, Any]:
    """The statistics of a search of all traces and the prefixes of its parts, for JSON."""
    ends, elsewhere = list(covered.ends.items()), covered.elsewhere
    return {"parts": parts, "executions": covered.executions, "ends": ends, "elsewhere": elsewhere}


def kept(states: States[Any], told: dict[str, Any]) -> tuple[Coverage, list[Place]]:
    """The inverse of `save_position`, once the states are known again. InputError if it does not fit them."""
    with fitting():
        ends = Counter(dict(told["ends"]))
        places = list(map(Place.of, told["parts"]))
        if len(ends) != len(told["ends"]) or sum(ends.values()) != told["executions"] or 0 in ends.values():
            raise ValueError
        going = {task for node in ends for task, _, target in states.moves(node) if target not in (BLOCKED, FAULT)}
        if (going and going - faulting(states)) or not apart(places):
            raise ValueError
        if told["executions"] == 0 and not places:
            raise ValueError
        return Coverage("dpor", told["executions"], ends, elsewhere=told["elsewhere"]), places


def faulting(states: States[Any]) -> set[int]:
    """The tasks whose step faults somewhere: the others continue, and may reach places where it would not fault."""
    return {task for node in range(states.nodes) for task, _, target in states.moves(node) if target == FAULT}


def apart(places: list[Place]) -> bool:
    """Whether no part equals, or is contained in, another one."""
    ways = sorted(tuple(fork.task for fork in place.shared) for place in places)
    return not any(way == after[: len(way)] for way, after in pairwise(ways))
