"""What a search found, and how far it went."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from wingspan.errors import Span
from wingspan.explorer.incident import Deadlock, FaultReport
from wingspan.explorer.machine import Blocked, Indices, Touch
from wingspan.shown import Shown

VERDICTS = ("safe", "wrong", "order-dependent", "race", "deadlock", "fault")
"""From best to worst: with several findings the last counts. A search cut short that found nothing is `incomplete`."""


@dataclass(frozen=True)
class AccessReport:
    """One side of a race."""

    task: str
    rule: str
    operation: str
    position: int | None
    index: int | None
    span: Span | None
    indices: Indices


@dataclass(frozen=True)
class Race:
    """Two conflicting operations, not both atomic, of two tasks that can both come next in one reachable state."""

    tensor: str
    level: int | None
    level_name: str
    buffer: str
    kind: str
    """node, sibling or cousin; empty for a variable, which has no levels"""
    cell: str
    first: AccessReport
    second: AccessReport
    interleaving: str
    """a shortest one that puts the two back to back, as its last two steps; if the first faults, it is the last"""


@dataclass(frozen=True)
class Result:
    """One outcome, in how many interleavings it comes about, and a shortest one."""

    outcome: Any
    """whatever the machine calls an outcome; hashable"""
    interleavings: int | None
    """the exact number, if the strategy counts them and the search is complete"""
    interleaving: str
    executions: int = 0
    """how many of the search's executions end so"""
    probability: float | None = None
    """how likely it comes about if each time one of the tasks that can step is picked at random; if so, too"""


@dataclass(frozen=True)
class StateNode:
    """A state that a search has come to, in which all steps that no other task can observe have been taken."""

    outcome: Any
    """that of the runs that finish here; None if none does"""
    races: tuple[tuple[str, str], ...]
    """the pairs of tasks whose next steps race"""
    waiting: tuple[Blocked, ...]
    """the tasks that wait for a lock; a state in which the others have ended is a deadlock"""
    state: Any
    """the machine's own"""


@dataclass(frozen=True)
class StateEdge:
    """What a task can do next in a state, given by its number."""

    source: int
    target: int | None
    """None if the step faults, or if the search has not taken it"""
    fault: str | None
    task: str
    rule: str
    touches: tuple[Touch, ...]
    span: Span | None
    indices: Indices
    """the loop indices in force"""


@dataclass(frozen=True)
class StateGraph:
    """The states that a search has come to, in that order, the first one first; and all steps from them."""

    nodes: tuple[StateNode, ...]
    edges: tuple[StateEdge, ...]
    """by the states that they start from; the step of each task once"""


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """What a search found. `complete` is True only if every interleaving is covered."""

    verdict: str
    complete: bool
    stopped_by: str | None
    strategy: str
    machine: str
    executions: int
    interleavings: int | None
    """the exact number of interleavings of visible steps, if the strategy counts them and the search is complete"""
    states: int
    steps: int
    seconds: float
    results: tuple[Result, ...]
    races: tuple[Race, ...]
    faults: tuple[FaultReport, ...]
    """each place and message once, with a shortest interleaving"""
    deadlocks: tuple[Deadlock, ...]
    """each set of waiting tasks once, with a shortest interleaving"""
    reason: str = ""
    """why this strategy was picked, if it was not asked for"""
    remark: str = ""
    """what the bound of the strategy means, if it has one"""
    processes: int = 1
    """so many have searched; a state counts, with the steps to it, for each that has come to it"""
    symmetry: bool = False
    """whether states that differ only in the names of tasks count as one; of deadlocks that do one at least is there"""
    told_apart: str = ""
    """why that is not so though it was asked for"""
    left_out: tuple[tuple[str, str], ...] = ()
    """what is not there, and the bound that left no time or memory for it"""
    graph: StateGraph | None = None
    """if it was asked for"""


def judge(
    complete: bool,
    expected: Hashable | None,
    results: Sequence[Result],
    races: Sequence[Race],
    faults: Sequence[FaultReport],
    deadlocks: Sequence[Deadlock],
) -> str:
    """The worst that was found; when nothing was, `safe` after a complete search and `incomplete` otherwise."""
    if faults:
        return "fault"
    if deadlocks:
        return "deadlock"
    if races:
        return "race"
    if len(results) > 1:
        return "order-dependent"
    if expected is not None and any(result.outcome != expected for result in results):
        return "wrong"
    return "safe" if complete else "incomplete"
