"""One search: a strategy, its bounds, its verdict."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wingspan.errors import InputError
from wingspan.explorer import dpor, graph
from wingspan.explorer._dpor import Dpor
from wingspan.explorer.bounded import walk_bounded
from wingspan.explorer.checkpoint import Checkpoint, Kept, read
from wingspan.explorer.estimate import estimate_traces
from wingspan.explorer.findings import Coverage, verdict
from wingspan.explorer.machine import Machine
from wingspan.explorer.states import Progress, States
from wingspan.explorer.verdict import Verdict
from wingspan.explorer.walks import walk_by_priorities, walk_randomly

STRATEGIES = ("auto", "graph", "dpor", "random", "pct", "bounded")

PROBE = 2_000
"""States after which `auto` looks at traces."""
COSTLY = 100_000
"""Steps after which it does so with fewer states: some seconds."""
FEW = 20
"""Traces that are run before it asks how many there are."""
MANY = 1e8
"""Traces that are too many: some minutes, if no new state comes with them."""


@dataclass(frozen=True)
class Search:
    """What to search with. `random` and `pct` make so many `runs`, `pct` for bugs of a `depth`."""

    strategy: str = "auto"
    runs: int = 1000
    depth: int = 3
    preemptions: int = 2
    seed: int = 0
    exact: bool = False
    """whether to go on, when all is over, until every interleaving of the verdict is a shortest one of all"""
    max_states: int | None = None
    max_seconds: float | None = None
    max_memory: int | None = None
    """bytes that the process may hold"""
    checkpoint: Path | None = None
    """where a search by graph or dpor is kept, so that it can be taken up"""
    resume: Path | None = None
    """a checkpoint to go on from, with the strategy that it has"""

    def walk(self, states: States[Any], about: str) -> Coverage:
        """Walk on the states."""
        kept = Checkpoint(self.checkpoint, about)
        if self.resume is not None:
            return resume(states, kept, read(self.resume, about))
        match self.strategy:
            case "auto":
                return choose(states, kept)
            case "graph":
                states.search(lambda: graph.finish(states, kept))
                return end(states, None, kept, graph.coverage(states))
            case "dpor":
                search = Dpor(states)
                states.search(lambda: dpor.finish(states, search, kept))
                return end(states, search, kept, dpor.coverage(search))
            case "random" | "pct" | "bounded" if self.checkpoint is not None:
                raise InputError(f"a search by {self.strategy} is not kept", fix="use auto, graph or dpor")
            case "random":
                return walk_randomly(states, self.runs, self.seed)
            case "pct":
                return walk_by_priorities(states, self.runs, self.depth, self.seed)
            case "bounded":
                return walk_bounded(states, self.preemptions)
        raise InputError(f"there is no strategy {self.strategy}", fix=f"use one of {', '.join(STRATEGIES)}")


def explore(
    machine: Machine[Any],
    search: Search | None = None,
    *,
    expected: Hashable | None = None,
    about: str = "",
    progress: Progress | None = None,
) -> Verdict:
    """Search a machine's runs. `expected` is the right outcome, if it is known; Ctrl-C ends with what there is.

    `about` tells programs apart, for checkpoints.
    """
    search = search or Search()
    states = States(machine, search.max_states, search.max_seconds, search.max_memory, progress)
    covered = search.walk(states, about)
    return verdict(states, covered, expected, search.exact)


def resume(states: States[Any], kept: Checkpoint, before: Kept) -> Coverage:
    """Take a search up, and go on."""
    search = Dpor(states)
    there = False

    def walk() -> None:
        nonlocal there
        before.take_up(states, search)
        there = True
        if before.strategy == "graph":
            graph.finish(states, kept, before.reason)
        else:
            dpor.finish(states, search, kept, before.reason)

    states.search(walk)
    covered = graph.coverage(states) if before.strategy == "graph" else dpor.coverage(search)
    if there:
        return end(states, search, kept, covered, before.reason)
    covered.reason = before.reason  # interrupted before it had come to where it was: the file stays as it is
    return covered


def end(states: States[Any], search: Dpor | None, kept: Checkpoint, covered: Coverage, reason: str = "") -> Coverage:
    """Keep where a search has come to."""
    covered.reason = reason
    kept.write(states, search if covered.strategy == "dpor" else None, covered.strategy, reason)
    return covered


def choose(states: States[Any], kept: Checkpoint) -> Coverage:
    """The graph if it is small, since that tells most; else all traces, unless there seem to be too many of them.

    All of this walks on the same states, so that what has been tried is not lost.
    """
    search = Dpor(states)
    reasons: list[str] = []

    def walk() -> None:
        while not states.flood(states.nodes + 1):
            if states.nodes >= PROBE or states.steps >= COSTLY:
                break
        else:
            return
        reasons.append(f"the graph has over {states.expanded} states")
        if search.run(FEW):
            return
        total = estimate_traces(states)
        if total.mean <= MANY:
            dpor.finish(states, search, kept, reasons[0], total)
            return
        reasons.append(f"there seem to be {total} traces")
        graph.finish(states, kept, reasons[1])

    states.search(walk)
    covered = dpor.coverage(search) if len(reasons) == 1 else graph.coverage(states)
    if not reasons and states.stopped_by is None:
        reasons.append("the states are few")
    return end(states, search, kept, covered, "".join(reasons[-1:]))
