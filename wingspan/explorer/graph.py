"""Explore the graph of states: equal states are merged, so every state is entered once however many ways lead to it.

Breadth first, so the first way found to a state is a shortest one. The graph of a terminating program is acyclic,
so the ways through it, and with them the interleavings, are counted exactly without walking each of them.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from time import monotonic
from typing import Generic, TypeVar

from wingspan.errors import Fault, InternalError, Span
from wingspan.explorer.incident import Deadlock, FaultReport
from wingspan.explorer.interleaving import format_interleaving
from wingspan.explorer.machine import Blocked, Machine, Step
from wingspan.explorer.races import RaceFinder
from wingspan.explorer.settle import Settled, run_ahead, settle
from wingspan.explorer.verdict import Result, Verdict, judge

S = TypeVar("S")

Progress = Callable[[int, int], None]
"""Called with the number of states found and the number of those still to expand."""

PROGRESS_EVERY = 256
KEEP = 10_000
"""While the frontier is shorter, the next steps of its states are kept; beyond, computed anew: memory before time."""


class Ways:
    """The state graph as integers: nodes in the order found, the edges out of them, and a shortest way to each."""

    def __init__(self) -> None:
        self._parents = array("q")
        self._tasks: list[str] = []
        self._targets = array("q")
        self._ends = array("q")

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, parent: int, task: str) -> int:
        """A new node, first reached by a step of `task` from `parent` (-1 for the initial state)."""
        self._parents.append(parent)
        self._tasks.append(task)
        return len(self._tasks) - 1

    def connect(self, targets: Iterable[int]) -> None:
        """The edges of the next node; one target twice when two tasks lead to it."""
        self._targets.extend(targets)
        self._ends.append(len(self._targets))

    def shortest(self, node: int) -> list[str]:
        """The tasks that step on the way on which `node` was first reached."""
        tasks = []
        while self._parents[node] >= 0:
            tasks.append(self._tasks[node])
            node = self._parents[node]
        return tasks[::-1]

    def count(self, wanted: set[int]) -> dict[int, int]:
        """How many ways lead to each of the `wanted` nodes, by topological order (Kahn 1962)."""
        targets, ends = self._targets, self._ends
        missing = array("q", bytes(8 * len(self)))
        for target in targets:
            missing[target] += 1
        ways = {0: 1}
        ready = [] if missing[0] else [0]
        kept: dict[int, int] = {}
        seen = 0
        while ready:
            node = ready.pop()
            seen += 1
            here = ways.pop(node)
            if node in wanted:
                kept[node] = here
            for target in targets[ends[node - 1] if node else 0 : ends[node]]:
                ways[target] = ways.get(target, 0) + here
                missing[target] -= 1
                if not missing[target]:
                    ready.append(target)
        if seen < len(self):
            raise InternalError("a run comes back to a state it was in: the machine does not terminate")
        return kept


class _OutOfTime(Exception):
    """The deadline has passed, in whatever depth of the search."""


class GraphSearch(Generic[S]):
    """The search under way: what has been found, and the frontier of states still to be expanded."""

    def __init__(self, machine: Machine[S], max_states: int | None, deadline: float, progress: Progress | None) -> None:
        self.machine = machine
        self.max_states = max_states
        self.deadline = deadline
        self.progress = progress
        self.steps = 0
        self.ways = Ways()
        self.races = RaceFinder(machine)
        self.finished: dict[Hashable, list[int]] = {}
        self.faulted: list[int] = []
        self.faults: dict[tuple[str, Span | None], FaultReport] = {}
        self.deadlocked: list[int] = []
        self.deadlocks: dict[tuple[Blocked, ...], Deadlock] = {}
        self._nodes: dict[Hashable, int] = {}
        self._frontier: deque[tuple[S, dict[str, Step[S] | Blocked] | None]] = deque()

    def run(self) -> str | None:
        """Search to the end; the bound that stopped it, if one did."""
        try:
            return self._run()
        except _OutOfTime:
            return "max-seconds"

    def _tick(self) -> None:
        if monotonic() > self.deadline:
            raise _OutOfTime

    def _run(self) -> str | None:
        if self._enter(self.machine.initial(), -1, None) is None:
            return "max-states"
        node = 0
        while self._frontier:
            self._tick()
            state, choices = self._frontier.popleft()
            if choices is None:
                choices = settle(self.machine, state, tick=self._tick).choices
            targets = []
            for choice in choices.values():
                if isinstance(choice, Blocked) or isinstance(choice.next, Fault):
                    continue
                self.steps += 1
                target = self._enter(choice.next, node, choice.task)
                if target is None:
                    return "max-states"
                targets.append(target)
            self.ways.connect(targets)  # the frontier is a queue: nodes are expanded in the order of their numbers
            node += 1
        return None

    def _enter(self, state: S, parent: int, task: str | None) -> int | None:
        """The node of the state that `task` stepped to, a new one if need be; None if there may be no more.

        Running that one task ahead nearly always settles the state. If the result is known then it is settled, and
        the other tasks need not be asked.
        """
        if task is not None:
            state, ahead = run_ahead(self.machine, state, task, self._tick)
            self.steps += len(ahead)
        mark = self.machine.fingerprint(state)
        if mark in self._nodes:
            return self._nodes[mark]
        settled = settle(self.machine, state, tick=self._tick)
        if settled.taken:
            self.steps += len(settled.taken)
            mark = self.machine.fingerprint(settled.state)
            if mark in self._nodes:
                return self._nodes[mark]
        if self.max_states is not None and len(self.ways) >= self.max_states:
            return None
        node = self._nodes[mark] = self.ways.add(parent, task or "")
        self._examine(node, settled)
        if self.progress is not None and len(self.ways) % PROGRESS_EVERY == 0:
            self.progress(len(self.ways), len(self._frontier))
        return node

    def _examine(self, node: int, settled: Settled[S]) -> None:
        """Note what there is to say of a new state, and put it in the frontier."""
        choices = settled.choices
        self._frontier.append((settled.state, choices if len(self._frontier) < KEEP else None))
        steps = [choice for choice in choices.values() if isinstance(choice, Step)]
        if not choices:
            self.finished.setdefault(self.machine.outcome(settled.state), []).append(node)
        elif not steps:
            self._deadlock(node, tuple(choice for choice in choices.values() if isinstance(choice, Blocked)))
        elif len(steps) > 1:
            self.races.look(steps, lambda: self.ways.shortest(node))
        for step in steps:
            if isinstance(step.next, Fault):
                self._fault(node, step, step.next)

    def _fault(self, node: int, step: Step[S], fault: Fault) -> None:
        self.steps += 1
        self.faulted.append(node)
        key = fault.message, fault.span or step.span
        if key not in self.faults:
            text = format_interleaving([*self.ways.shortest(node), step.task])
            self.faults[key] = FaultReport.of(step, fault, text)

    def _deadlock(self, node: int, waiting: tuple[Blocked, ...]) -> None:
        self.deadlocked.append(node)
        if waiting not in self.deadlocks:
            self.deadlocks[waiting] = Deadlock(waiting, format_interleaving(self.ways.shortest(node)))

    def count(self) -> tuple[int, dict[Hashable, int]]:
        """The interleavings of a complete search: all of them, and those of each outcome."""
        bad = self.faulted + self.deadlocked  # a node is listed once for each of its faulting steps
        ways = self.ways.count(set(bad).union(*self.finished.values()))
        per_outcome = {outcome: sum(ways[node] for node in nodes) for outcome, nodes in self.finished.items()}
        return sum(per_outcome.values()) + sum(ways[node] for node in bad), per_outcome


def explore_graph(
    machine: Machine[S],
    *,
    expected: Hashable | None = None,
    max_states: int | None = None,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Search all states. `expected` is the right outcome, if it is known; Ctrl-C ends the search with what it has."""
    started = monotonic()
    deadline = float("inf") if max_seconds is None else started + max_seconds
    search = GraphSearch(machine, max_states, deadline, progress)
    total: int | None = None
    counts: dict[Hashable, int] = {}
    try:
        stopped_by = search.run()
        if stopped_by is None:
            total, counts = search.count()
    except KeyboardInterrupt:
        stopped_by = "interrupt"
    results = tuple(
        Result(outcome, counts.get(outcome), format_interleaving(search.ways.shortest(nodes[0])))
        for outcome, nodes in search.finished.items()
    )
    races = tuple(search.races.races.values())
    faults, deadlocks = tuple(search.faults.values()), tuple(search.deadlocks.values())
    complete = stopped_by is None
    return Verdict(
        verdict=judge(complete, expected, results, races, faults, deadlocks),
        complete=complete,
        stopped_by=stopped_by,
        strategy="graph",
        machine=machine.name,
        executions=sum(map(len, search.finished.values())) + len(search.faulted) + len(search.deadlocked),
        interleavings=total,
        states=len(search.ways),
        steps=search.steps,
        seconds=monotonic() - started,
        results=results,
        races=races,
        faults=faults,
        deadlocks=deadlocks,
    )
