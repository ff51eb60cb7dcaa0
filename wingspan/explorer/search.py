"""One search: a strategy, its bounds, its verdict."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError
from wingspan.explorer import dpor
from wingspan.explorer.bounds import Bounds
from wingspan.explorer.checkpoint import RERUN, Checkpoint, SavedSearch, fitting, load_search, misfit
from wingspan.explorer.dpor import SequentialSearch
from wingspan.explorer.findings import SearchStatistics, report_finding, verdict
from wingspan.explorer.graph import GraphSearch
from wingspan.explorer.machine import Machine, Symmetric
from wingspan.explorer.prefix_tree import Astray, PrefixTree
from wingspan.explorer.properties import Property
from wingspan.explorer.states import Progress, States
from wingspan.explorer.verdict import FindingReport, Verdict

if TYPE_CHECKING:
    from wingspan.explorer.jobs import ParallelSearch

STRATEGIES = ("auto", "graph", "dpor", "random", "pct", "bounded")

TraceSearch: TypeAlias = "SequentialSearch | ParallelSearch"
"""A search of all traces."""

PROBE = 2_000
"""The number of states after which `auto` considers traces."""
COSTLY = 100_000
"""The number of steps after which it does so with fewer states: some seconds."""
FEW = 20
"""Traces to run before their number is estimated; if one finding is enough, they come first, with as many runs."""
MANY = 1e8
"""The number of traces that is too large: some minutes, if they lead to no new states."""


@dataclass(frozen=True)
class Search:
    """The strategy of a search, and its bounds.

    Attributes:
        strategy: `graph`, `dpor`, `auto`, `bounded`, `random` or `pct`; docs/exploring.md describes them.
        runs: the number of runs that `random` and `pct` make.
        depth: the depth of the bugs that `pct` looks for: how many steps must come in a certain order.
        preemptions: the number of preemptions that `bounded` allows in a run.
        seed: of the choices of `random` and `pct`.
    """

    strategy: str = "auto"
    runs: int = 1000
    depth: int = 3
    preemptions: int = 2
    seed: int = 0
    exact: bool = False
    """whether to continue, at the end, until every interleaving of the verdict is a shortest one of all"""
    max_states: int | None = None
    max_seconds: float | None = None
    """from the request for the search until its verdict is ready"""
    max_memory: int | None = None
    """bytes that the process may hold"""
    checkpoint: Path | None = None
    """the file that a search by graph or dpor is saved to, so that it can be resumed"""
    resume: Path | None = None
    """a checkpoint to continue from, with its strategy"""
    first: bool = False
    """whether to stop at the first finding: a race, a fault, a deadlock, or a result that no safe program has"""
    jobs: int = 1
    """the number of threads that search all states with local steps (with symmetry it is one), and otherwise of
    processes that search all states or all traces (`graph`, `dpor` and `auto`); this process must have no other threads
    then, since it is forked
    """
    scheduler: str | None = None
    """the address of a Dask scheduler: its workers are the processes, all of them if `jobs` is 1"""
    symmetry: bool = False
    """whether states that differ only in task names count as one; for `graph`, which `auto` then selects"""
    graph: bool = False
    """whether the verdict is to have the graph of the states: from one process, and of limited size"""

    def bounds(self, began: float | None = None) -> Bounds:
        """The bounds of time and memory; time is counted from `began`, or from now if that is None."""
        return Bounds(self.max_seconds, self.max_memory, began)

    def walk(self, states: States[Any], about: str) -> SearchStatistics:
        """Walk on the states."""
        kept = Checkpoint(self.checkpoint and Path(self.checkpoint), about)
        kept.check()
        if self.resume is not None:
            return self.resume_search(states, kept, load_search(Path(self.resume), about))
        match self.strategy:
            case "dpor" | "random" | "pct" | "bounded" if self.symmetry:
                raise InputError(f"a search by {self.strategy} has no use for symmetry", fix="use auto or graph")
            case "auto" if not self.symmetry:
                return self.choose(states, kept)
            case "auto" | "graph" | "dpor":
                made = self.traces(SequentialSearch(states)) if self.strategy == "dpor" else self.all_states(states)
                reason = "symmetry is asked for" if self.strategy == "auto" else ""

                def walk() -> None:
                    if self.first and isinstance(made, GraphSearch):
                        probe(states)
                    made.finish(kept, reason)

                states.search(walk)
                return end(states, made, kept, reason)
            case "random" | "pct" | "bounded" if self.checkpoint is not None:
                raise InputError(f"a search by {self.strategy} is not kept", fix="use auto, graph or dpor")
            case "random":
                from wingspan.explorer.walks import walk_randomly

                return walk_randomly(states, self.runs, self.seed)
            case "pct":
                from wingspan.explorer.walks import walk_by_priorities

                return walk_by_priorities(states, self.runs, self.depth, self.seed)
            case "bounded":
                from wingspan.explorer.bounded import walk_bounded

                return walk_bounded(states, self.preemptions)
        raise InputError(f"there is no strategy {self.strategy}", fix=f"use one of {', '.join(STRATEGIES)}")

    @property
    def is_parallel(self) -> bool:
        """Whether several threads or processes search all states or all traces."""
        return self.jobs > 1 or self.scheduler is not None

    def all_states(self, states: States[Any]) -> GraphSearch:
        """The rest of a search of all states, with the processes that help."""
        return GraphSearch(states, self.jobs, self.scheduler)

    def traces(self, begun: SequentialSearch) -> TraceSearch:
        """The rest of a search of all traces, by the processes that make it."""
        if not self.is_parallel:
            return begun
        from wingspan.explorer.jobs import ParallelSearch  # takes multiprocessing

        return ParallelSearch(
            begun.states, self.jobs, self.scheduler, PrefixTree([begun.search.prefix()]), begun.coverage()
        )

    def choose(self, states: States[Any], kept: Checkpoint) -> SearchStatistics:
        """The graph if it is small, since it yields most; else all traces, unless there seem to be too many of them.

        Both walk on the same states, so no work is lost.
        """
        made: GraphSearch | TraceSearch = GraphSearch(states)
        reason = ""

        def walk() -> None:
            nonlocal made, reason
            if self.first:
                probe(states)
            while not states.flood(states.nodes + 1):
                if states.nodes >= PROBE or states.steps >= COSTLY:
                    break
            else:
                reason = "the states are few" + (", in one process" if self.is_parallel else "")
                return
            reason = f"the graph has over {states.nodes - 1 if self.first else states.expanded} states"
            made = alone = SequentialSearch(states)
            if alone.search.run(FEW):
                return
            from wingspan.explorer.estimate import estimate_traces

            total = estimate_traces(states.fresh_copy())
            if total.mean <= MANY:
                made = traces = self.traces(alone)
                traces.finish(kept, reason, total)
                return
            made, reason = self.all_states(states), f"there seem to be {total} traces"
            made.finish(kept, reason)

        states.search(walk)
        return end(states, made, kept, reason)

    def resume_search(self, states: States[Any], kept: Checkpoint, before: SavedSearch) -> SearchStatistics:
        """Resume a search from its checkpoint, and continue it."""
        if states.symmetry and not before.symmetry:
            raise InputError(f"{self.resume} is a search without symmetry", fix="search anew, or leave symmetry out")
        made: GraphSearch | TraceSearch = self.all_states(states)
        there = False
        states.symmetry = before.symmetry
        steps: int = 0
        runs: int | None = None

        def walk() -> None:
            nonlocal made, there, steps, runs
            steps = before.restore(states)
            if before.search is not None:
                made, runs = self.restore_traces(states, before.search)
            if steps or runs is not None:
                states.steps = before.steps
            there = True
            made.finish(kept, before.reason)

        try:
            states.search(walk)
            if not there:  # interrupted while resuming: the file stays as it is
                return statistics_of(made, before.reason)
            covered = end(states, made, kept, before.reason)
        except Astray:
            if steps or runs is not None:
                misfit()
            raise
        covered.unchecked = unchecked_note(steps, runs)
        return covered

    def restore_traces(self, states: States[Any], saved: dict[str, Any]) -> tuple[TraceSearch, int | None]:
        """Restore a saved search of all traces; also the number of runs that are trusted, None if they were run again.

        By this process alone, if the search was never divided and no other process is to help.
        """
        covered, places = dpor.load_position(states, saved)
        alone = SequentialSearch(states)
        if covered.executions <= RERUN:
            alone.run_again(covered.executions)
            return self.traces(alone), None
        if self.is_parallel or [place.shared for place in places] != [()]:
            from wingspan.explorer.jobs import ParallelSearch

            return ParallelSearch(states, self.jobs, self.scheduler, PrefixTree(places), covered), covered.executions
        alone.resume(covered, *places)
        return alone, covered.executions


class SearchOptions(TypedDict, total=False):
    """The fields of a `Search` as keywords, so that type checkers know them; files by their paths."""

    strategy: str
    runs: int
    depth: int
    preemptions: int
    seed: int
    exact: bool
    max_states: int | None
    max_seconds: float | None
    max_memory: int | None
    checkpoint: str | os.PathLike[str] | None
    resume: str | os.PathLike[str] | None
    first: bool
    jobs: int
    scheduler: str | None
    symmetry: bool
    graph: bool


def unchecked_note(steps: int, runs: int | None) -> str:
    """The remark of a verdict on a resumed search that could not be checked completely."""
    what = [f"{runs:,} executions"] if runs is not None else []
    what += [f"{steps:,} steps"] if steps else []
    return f"{' and '.join(what)} are as the checkpoint says, and were not repeated" if what else ""


def explore(
    machine: Machine[Any],
    search: Search | None = None,
    *,
    expected: Hashable | None = None,
    about: str = "",
    progress: Progress | None = None,
    found: Callable[[FindingReport], None] | None = None,
    bounds: Bounds | None = None,
    properties: Sequence[Property] = (),
) -> Verdict:
    """Search a machine's runs. `expected` is the right outcome, if known; Ctrl-C ends with the findings so far.

    `about` distinguishes programs, for checkpoints. `found` is called with each race, fault, deadlock, wrong result,
    and property that is violated or reached, when it is found; its interleaving need not be a shortest one. `bounds`
    are those of the search, begun before it.

    The machine observes the steps that may change what `properties` of states read.
    """
    search = search or Search()
    if search.first and search.exact:
        raise InputError(
            "a search for shortest interleavings goes on after its first finding", fix="leave out one of both"
        )
    if search.graph and search.is_parallel and search.strategy != "graph":
        fix = "leave out jobs and scheduler, or take the strategy graph"
        raise InputError("the graph is of the states of one process", fix=fix)
    states = States(machine, search.max_states, bounds or search.bounds(), progress, drawn=search.graph)
    states.first, states.expected, states.freezes = search.first, expected, True
    states.properties = [each for each in properties if each.kind != "ends"]
    states.of_results = [each for each in properties if each.kind == "ends"]
    if search.scheduler is not None and states.properties:
        fix = "leave out the scheduler; --jobs uses the cores of this machine"
        raise InputError("the workers of a scheduler do not evaluate properties of states", fix=fix)
    states.tabled &= search.scheduler is None or search.strategy == "dpor"  # a cluster computes steps ahead
    if found is not None:
        states.on_finding = lambda finding: found(report_finding(states, finding))
    asymmetry = ""
    if search.symmetry:
        if not isinstance(machine, Symmetric):
            raise InputError(f"the machine {machine.name} has no states without names", fix="leave symmetry out")
        asymmetry = machine.asymmetry
        states.symmetry = not asymmetry
    try:
        covered = search.walk(states, about)
        covered.asymmetry = asymmetry
        with fitting() if covered.unchecked else nullcontext():
            return verdict(states, covered, expected, search.exact)
    finally:
        if states.frozen:
            gc.unfreeze()


def probe(states: States[Any]) -> None:
    """Walk where defects are likely to be found early: along some traces, with races reversed, and some runs."""
    if not states.symmetry:
        SequentialSearch(states).search.run(FEW)
    from wingspan.explorer.walks import sample

    sample(states, FEW)


def statistics_of(made: GraphSearch | TraceSearch, reason: str) -> SearchStatistics:
    """The statistics of a search of all states or all traces."""
    covered = made.coverage()
    covered.reason = reason
    return covered


def end(states: States[Any], made: GraphSearch | TraceSearch, kept: Checkpoint, reason: str = "") -> SearchStatistics:
    """Save the position of a search."""
    covered = statistics_of(made, reason)
    kept.write(states, covered.strategy, reason, made.position())
    if kept.failed:
        covered.remark = f"the search could not be kept: {kept.failed}"
    return covered
