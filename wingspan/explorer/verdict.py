"""The findings of a search, and its extent."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.display import Shown
from wingspan.base.errors import Span
from wingspan.explorer.incident import Deadlock, FaultReport
from wingspan.explorer.machine import Blocked, CellAccess, Indices
from wingspan.explorer.properties import PropertyReport, judge_properties

VERDICTS = (
    "safe", "holds", "unreached", "undefined", "wrong", "order-dependent", "violated", "race", "deadlock", "fault",
)  # fmt: skip
"""From best to worst: with several findings the last counts. A search cut short that found nothing is `incomplete`.
`holds`, `unreached`, `undefined` and `violated` are about properties; `undefined`: one that has no value anywhere.
"""
UNCOMPARED = "the sequential result: no result was compared with it"
"""Left out where a search has no sequential result to compare with."""


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
    """a shortest one with the two as its last two steps, back to back; if the first faults, it is the last"""


@dataclass(frozen=True)
class Result:
    """One outcome, the number of interleavings that lead to it, and a shortest one."""

    outcome: Any
    """the machine's outcome; hashable"""
    interleavings: int | None
    """the exact number, if the strategy counts them and the search is complete"""
    interleaving: str
    executions: int = 0
    """the number of the search's executions that end in it"""
    probability: float | None = None
    """its probability under a uniformly random scheduler; known under the same conditions"""


@dataclass(frozen=True)
class StateNode:
    """A visited state, in which all invisible steps have been taken."""

    outcome: Any
    """of the runs that finish here; None if none does"""
    races: tuple[tuple[str, str], ...]
    """the pairs of tasks whose next steps race"""
    waiting: tuple[Blocked, ...]
    """the tasks that wait for a lock; a state in which the others have ended is a deadlock"""
    state: Any
    """the machine's own"""


@dataclass(frozen=True)
class StateEdge:
    """The next step of a task in a state, given by its number."""

    source: int
    target: int | None
    """None if the step faults, or if the search has not taken it"""
    fault: str | None
    task: str
    rule: str
    touches: tuple[CellAccess, ...]
    span: Span | None
    indices: Indices
    """the current loop indices"""


@dataclass(frozen=True)
class StateGraph:
    """The states that a search has visited, in that order, the first one first; and all steps from them."""

    nodes: tuple[StateNode, ...]
    edges: tuple[StateEdge, ...]
    """by the states that they start from; the step of each task once"""


FindingReport = Race | FaultReport | Deadlock | Result | PropertyReport
"""A finding of a search that goes on; how many states decide a property is not known then."""


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """The findings of a search, and its extent.

    Attributes:
        verdict: the worst finding, one of `VERDICTS`; without any, `safe`, or `incomplete` if the search was cut short.
        complete: whether every interleaving is covered. Nothing is proved otherwise.
        stopped_by: the bound or signal that cut the search short.
        strategy: how it searched.
        machine: what was interleaved.
        executions: the number of complete runs that the search performed.
        states: the number of states that it visited.
        steps: the number of steps that it computed.
        seconds: how long it took.
        results: the distinct outcomes, the most frequent first.
        races: each pair of racing accesses once, with a shortest interleaving.
    """

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
    properties: tuple[PropertyReport, ...] = ()
    """the answer to each property that was asked about: first those of states, then those of results"""
    reason: str = ""
    """the reason that `auto` selected this strategy, if it did"""
    remark: str = ""
    """the meaning of the strategy's bound, if it has one"""
    processes: int = 1
    """the number of processes that searched; a state and its steps count once for each process that reached it"""
    symmetry: bool = False
    """whether states that differ only in task names count as one; of deadlocks that do, at least one is reported"""
    told_apart: str = ""
    """the reason that tasks are distinguished although symmetry was requested"""
    left_out: tuple[tuple[str, str], ...] = ()
    """the missing parts, each with the bound that left no time or memory for it"""
    graph: StateGraph | None = None
    """if requested"""

    @property
    def frequent(self) -> list[Result]:
        """The results, the most frequent first, as reports number them."""
        return sorted(self.results, key=lambda result: -(result.interleavings or result.executions))


def judge(
    complete: bool,
    expected: Hashable | None,
    results: Sequence[Result],
    races: Sequence[Race],
    faults: Sequence[FaultReport],
    deadlocks: Sequence[Deadlock],
    properties: tuple[PropertyReport, ...] = (),
) -> str:
    """The worst finding; without any, `safe` after a complete search and `incomplete` otherwise.

    If there are properties of results, they say which results are right.
    """
    if faults:
        return "fault"
    if deadlocks:
        return "deadlock"
    if races:
        return "race"
    answer = judge_properties(properties)
    if answer == "violated":
        return answer
    compared = all(report.kind != "ends" for report in properties)
    if compared and len(results) > 1:
        return "order-dependent"
    if compared and expected is not None and any(result.outcome != expected for result in results):
        return "wrong"
    if not complete:
        return "incomplete"
    return answer or "safe"
