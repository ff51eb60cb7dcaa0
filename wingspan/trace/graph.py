"""The states of a program and the steps between them, computed on demand.

A node is a state in which every task's next step can be observed by others; an edge is such a step, with the invisible
ones after it. They are the states and the steps that `explore` counts, and those that an interleaving names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import inf
from typing import Literal

from wingspan import api
from wingspan.api.binding import Runnable
from wingspan.api.properties import observed_by
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, Source
from wingspan.buffers.frames import Cell
from wingspan.elaborate import Elaborated
from wingspan.explorer.incident import explain_blocked
from wingspan.explorer.interleaving import parse_interleaving
from wingspan.explorer.machine import Blocked, CellAccess, Step
from wingspan.explorer.races import races_of
from wingspan.explorer.settle import settle
from wingspan.explorer.verdict import Race
from wingspan.results.listing import listing
from wingspan.results.outcome import Outcome
from wingspan.results.words import place, written_loops
from wingspan.semantics.config import ProgramState
from wingspan.semantics.derived import DerivedStep
from wingspan.semantics.reads import NONE, LostUpdate, PendingReads
from wingspan.trace.trees import Tree, fibertrees
from wingspan.trace.watch import Watches


@dataclass(frozen=True, eq=False)
class TraceNode:
    """A state; the next step of each task, in the order of tasks; and what tasks have read, on the first way to it."""

    number: int
    state: ProgramState
    steps: dict[str, DerivedStep]
    waiting: tuple[Blocked, ...]
    reads: PendingReads

    @cached_property
    def races(self) -> dict[tuple[str, str], CellAccess]:
        """The pairs of tasks whose next steps race, with what the first of the two does to the cell."""
        found = {}
        for (one, step), (other, following) in combinations(self.steps.items(), 2):
            touches = [touch for _, touch, _ in races_of(step, following)]
            if touches:
                found[one, other] = touches[0]
        return found

    @property
    def keys(self) -> dict[str, str]:
        """The tasks that can step, by the keys that choose them: digits, or the places of tasks with longer names."""
        named = all(len(task) <= 1 for task in self.steps)
        return {(task or "0") if named else str(place): task for place, task in enumerate(self.steps, start=1)}

    @property
    def end(self) -> Literal["", "finished", "deadlock"]:
        """The end of a run here; empty if it goes on."""
        return "" if self.steps else "deadlock" if self.waiting else "finished"

    def racing(self, task: str) -> list[str]:
        """The tasks whose next step races with that of a task."""
        pairs = (pair for pair in self.races if task in pair)
        return [one if other == task else other for one, other in pairs]


@dataclass(frozen=True, eq=False)
class TraceEdge:
    """A step of one task, the invisible steps that follow it, and the node that they lead to; None after a fault."""

    source: TraceNode
    step: DerivedStep
    then: tuple[DerivedStep, ...]
    target: TraceNode | None
    lost: LostUpdate | None
    """the update that the step overwrites, on the first way to its source"""

    @property
    def fault(self) -> str | None:
        """The message if the step faults."""
        return self.step.next.message if isinstance(self.step.next, Fault) else None


class Trace:
    """The states of a bound program under the rules. Node 0 is the first one; `begin` are the steps that lead there.

    `watches` are expressions to evaluate in each state. Steps that may change what the properties `observing` read are
    visible, as in the exploration that answers them. `tick` is called before each step is computed; what it raises
    ends the computation.
    """

    def __init__(
        self,
        program: Runnable,
        watches: Sequence[str] = (),
        *,
        observing: Sequence[str] = (),
        tick: Callable[[], None] = lambda: None,
        **binding: object,
    ) -> None:
        self.tick = tick
        self.program: Elaborated = api.bind(program, **binding)  # type: ignore[arg-type]
        self.machine = api.semantics(self.program, derives=True, observed=observed_by(self.program, observing))
        self._plain = api.semantics(self.program)
        self.watches = Watches(watches, self.program, self._plain)
        self.nodes: list[TraceNode] = []
        self._numbers: dict[Hashable, int] = {}
        self._edges: dict[tuple[int, str], TraceEdge] = {}
        settled = settle(self.machine, self.machine.initial())
        self.begin = tuple(map(_require_derived, settled.taken))
        self._enter(settled.state, settled.choices, NONE)

    @cached_property
    def source(self) -> Source:
        """The text of the program."""
        spans = (node.span for node in self.program.plain.walk() if node.span is not None)
        return next((span.source for span in spans), Source("", ""))

    @cached_property
    def _loops(self) -> frozenset[str]:
        return frozenset(written_loops(self.program.plain))

    def trees(
        self, state: ProgramState, number_of: Callable[[Cell], Hashable] = lambda cell: cell
    ) -> dict[str, Tree | None]:
        """The fibertree of each tensor in a state; None of one that is undeclared."""
        return fibertrees(state, self._plain, number_of)

    def edge(self, node: TraceNode, task: str) -> TraceEdge:
        """The next step of a task, which must be able to step."""
        known = self._edges.get((node.number, task))
        if known is None:
            known = self._edges[node.number, task] = self._make_edge(node, node.steps[task])
        return known

    def _make_edge(self, node: TraceNode, step: DerivedStep) -> TraceEdge:
        self.tick()
        reads, lost = node.reads.after_step(step)
        if isinstance(step.next, Fault):
            return TraceEdge(node, step, (), None, lost)
        settled = settle(self.machine, step.next, step.task)
        target = self._enter(settled.state, settled.choices, reads)
        return TraceEdge(node, step, tuple(map(_require_derived, settled.taken)), target, lost)

    def _enter(
        self, state: ProgramState, choices: dict[str, Step[ProgramState] | Blocked], reads: PendingReads
    ) -> TraceNode:
        mark = self.machine.fingerprint(state)
        number = self._numbers.setdefault(mark, len(self.nodes))
        if number == len(self.nodes):
            steps = {task: _require_derived(each) for task, each in choices.items() if isinstance(each, Step)}
            waiting = tuple(each for each in choices.values() if isinstance(each, Blocked))
            self.nodes.append(TraceNode(number, state, steps, waiting, reads))
        return self.nodes[number]

    def edges(self, node: TraceNode) -> Iterator[TraceEdge]:
        """All steps from a node."""
        return (self.edge(node, task) for task in node.steps)

    def walk(self, tasks: Iterable[str]) -> Iterator[TraceEdge]:
        """The steps of these tasks from the first state on, up to one that cannot step."""
        node: TraceNode | None = self.nodes[0]
        for task in tasks:
            if node is None or task not in node.steps:
                return
            edge = self.edge(node, task)
            yield edge
            node = edge.target

    def ahead(self, *nodes: TraceNode, most: int, steps: float = inf) -> tuple[dict[int, tuple[str, ...]], bool]:
        """The nodes reachable from some, nearest first; and whether that is all.

        Each with the tasks that step on a shortest way to it from the nearest of them. At most so many nodes are found,
        with that many steps.
        """
        found: dict[int, tuple[str, ...]] = {node.number: () for node in nodes}
        queue = deque(nodes)
        while queue:
            here = queue.popleft()
            for edge in self.edges(here):
                steps -= 1 + len(edge.then)
                if edge.target is not None and edge.target.number not in found:
                    if len(found) >= most or steps < 0:
                        return found, False
                    found[edge.target.number] = (*found[here.number], edge.step.task)
                    queue.append(edge.target)
        return found, True

    def outcome(self, node: TraceNode) -> Outcome | None:
        """The result of a run that ends here; None if the run continues, or waits forever."""
        if node.end != "finished":
            return None
        outcome = self.machine.outcome(node.state)
        assert isinstance(outcome, Outcome)
        return outcome

    def ending(self, node: TraceNode) -> str:
        """The result of a run that ends here, or the locks that its tasks wait for; empty if it goes on."""
        outcome = self.outcome(node)
        if outcome is not None:
            return listing(outcome)
        return "; ".join(map(explain_blocked, node.waiting)) if node.end else ""

    def place(self, step: DerivedStep) -> str:
        """The place of a step, with the indices of the loops as written: `line 6, i = 3`."""
        return place(step.span, [(name, index) for name, index in step.indices if name in self._loops])

    def approach(self, race: Race) -> list[str]:
        """The tasks that step until a race is about to happen.

        Its interleaving ends with the two steps that race, or with the first of them if that faults.
        """
        tasks = parse_interleaving(race.interleaving)
        for count in (len(tasks) - 2, len(tasks) - 1):
            node = [self.nodes[0], *(edge.target for edge in self.walk(tasks[:count]))][-1]
            if node is not None and race.second.task in node.racing(race.first.task):
                return tasks[:count]
        return tasks[:-1]


def _require_derived(step: Step[ProgramState]) -> DerivedStep:
    assert isinstance(step, DerivedStep)
    return step
