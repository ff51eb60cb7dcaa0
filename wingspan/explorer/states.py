"""The states of a machine as a `Space`, and what is found in them: outcomes, faults, deadlocks, races.

Every strategy walks on one. Each new state is looked at once, when it is found; so the findings are those of the states
that a strategy has come to, and do not depend on how it came there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any, Generic, TypeVar

from wingspan.errors import Fault, Span
from wingspan.explorer._space import BLOCKED, EFFECTS, FAULT, UNKNOWN, Space
from wingspan.explorer.incident import Deadlock, FaultReport
from wingspan.explorer.interleaving import format_interleaving
from wingspan.explorer.machine import Blocked, Machine, Step
from wingspan.explorer.races import RaceFinder, place
from wingspan.explorer.settle import Settled, run_ahead, settle
from wingspan.explorer.verdict import Result, Verdict, judge

S = TypeVar("S")

Progress = Callable[[int, int], None]
"""Called with the number of states found and the number of those still to expand."""

PROGRESS_EVERY = 256
KEEP = 10_000
"""So many states have their next steps kept until they are asked for; those of more are computed anew."""

NUMBERS = {effect: number for number, effect in enumerate(EFFECTS)}


class Stopped(Exception):
    """A bound was reached, in whatever depth of the search: which one."""

    def __init__(self, bound: str) -> None:
        super().__init__(bound)
        self.bound = bound


class States(Space, Generic[S]):
    """The states that a search has come to. `Stopped` is raised where a bound forbids to go on."""

    def __init__(
        self,
        machine: Machine[S],
        max_states: int | None = None,
        max_seconds: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.machine = machine
        self.max_states = max_states
        self.progress = progress
        self.started = monotonic()
        self.deadline = float("inf") if max_seconds is None else self.started + max_seconds
        self.stopped_by: str | None = None
        self.finished: dict[Hashable, list[int]] = {}
        self.faulted: list[int] = []
        """the nodes, each once for each of its faulting steps"""
        self.faults: dict[tuple[str, Span | None], FaultReport] = {}
        self.deadlocked: list[int] = []
        self.deadlocks: dict[tuple[Blocked, ...], Deadlock] = {}
        self.races = RaceFinder(machine)
        self._numbers: dict[Hashable, int] = {}
        self._states: list[S] = []
        self._kept: dict[int, dict[str, Step[S]]] = {}
        self._acts: dict[Hashable, int] = {}
        self._cells: dict[Hashable, int] = {}

    def search(self, walk: Callable[[], None]) -> None:
        """Come to the first state, and walk on from there; `stopped_by` says what ended it, None if it was done."""
        try:
            self._tick()
            settled = settle(self.machine, self.machine.initial(), tick=self._tick)
            self.steps += len(settled.taken)
            self._arrive(settled, self.machine.fingerprint(settled.state), -1, -1)
            walk()
        except Stopped as stopped:
            self.stopped_by = stopped.bound
        except KeyboardInterrupt:
            self.stopped_by = "interrupt"

    def enter(self, node: int, task: int) -> int:
        """The node that a step leads to.

        Running its task ahead nearly always settles the state. If the result is known then it is settled, and the
        other tasks need not be asked.
        """
        self._tick()
        path = self.paths[task]
        step = self._step(node, path)
        assert not isinstance(step.next, Fault)
        state, ahead = run_ahead(self.machine, step.next, path, self._tick)
        self.steps += len(ahead)
        resumed = step.resumed
        mark = self.machine.fingerprint(state)
        if mark not in self._numbers:
            settled = settle(self.machine, state, tick=self._tick)
            self.steps += len(settled.taken)
            above = (each.task for each in settled.taken if each.task != path and _descends(path, each.task))
            resumed = tuple(dict.fromkeys((*resumed, *above)))
            if settled.taken:
                mark = self.machine.fingerprint(settled.state)
            if mark not in self._numbers:
                self._arrive(settled, mark, node, task)
        if resumed:
            self.resumed(node, task, tuple(map(self.task, resumed)))
        return self._numbers[mark]

    def _tick(self) -> None:
        if monotonic() > self.deadline:
            raise Stopped("max-seconds")

    def _step(self, node: int, path: str) -> Step[S]:
        kept = self._kept.get(node, {})
        step = kept.pop(path, None) or self.machine.step(self._states[node], path)
        if not kept:
            self._kept.pop(node, None)
        assert isinstance(step, Step)
        return step

    def _arrive(self, settled: Settled[S], mark: Hashable, parent: int, by: int) -> None:
        """A new node; what there is to say of it is noted."""
        if self.max_states is not None and self.nodes >= self.max_states:
            raise Stopped("max-states")
        node = self._numbers[mark] = self.new_node(parent, by)
        self._states.append(settled.state)
        steps = {}
        for path, choice in settled.choices.items():
            if isinstance(choice, Blocked):
                self.new_edge(self.task(path), self._act((choice.lock,), [(choice.lock, "acquire")]), BLOCKED)
                continue
            steps[path] = choice
            label = place(choice.span), *((t.cell, t.effect, t.tensor, *t.spot) for t in choice.footprint)
            act = self._act(label, [(t.cell, t.effect) for t in choice.footprint])
            self.new_edge(self.task(path), act, FAULT if isinstance(choice.next, Fault) else UNKNOWN)
        self._examine(node, settled, steps)
        following = {path: step for path, step in steps.items() if not isinstance(step.next, Fault)}
        if following and len(self._kept) < KEEP:
            self._kept[node] = following
        if self.progress is not None and self.nodes % PROGRESS_EVERY == 0:
            self.progress(self.nodes, self.nodes - self.expanded)

    def _act(self, label: tuple[Any, ...], touches: list[tuple[Hashable, str]]) -> int:
        """The number of what a step does at a place in the program."""
        if label not in self._acts:
            cells = [self._cells.setdefault(cell, len(self._cells)) for cell, _ in touches]
            self._acts[label] = self.new_act(cells, [NUMBERS[effect] for _, effect in touches])
        return self._acts[label]

    def _examine(self, node: int, settled: Settled[S], steps: dict[str, Step[S]]) -> None:
        if not settled.choices:
            self.finished.setdefault(self.machine.outcome(settled.state), []).append(node)
        elif not steps:
            waiting = tuple(choice for choice in settled.choices.values() if isinstance(choice, Blocked))
            self.deadlocked.append(node)
            if waiting not in self.deadlocks:
                self.deadlocks[waiting] = Deadlock(waiting, format_interleaving(self.way(node)))
        for one, other in self.racing(node):
            self.races.look((steps[one], steps[other]), lambda: self.way(node))
        for step in steps.values():
            if isinstance(step.next, Fault):
                self._fault(node, step, step.next)

    def _fault(self, node: int, step: Step[S], fault: Fault) -> None:
        self.steps += 1
        self.faulted.append(node)
        key = fault.message, fault.span or step.span
        if key not in self.faults:
            text = format_interleaving([*self.way(node), step.task])
            self.faults[key] = FaultReport.of(step, fault, text)

    def verdict(
        self,
        strategy: str,
        expected: Hashable | None,
        executions: int,
        counts: dict[Hashable, tuple[int, float]] | None = None,
        interleavings: int | None = None,
    ) -> Verdict:
        """What the search has found. `counts`: in how many interleavings each outcome comes about, and how likely."""
        complete = self.stopped_by is None
        results = []
        for outcome, nodes in self.finished.items():
            count, probability = (counts or {}).get(outcome, (None, None))
            results.append(Result(outcome, count, format_interleaving(self.way(nodes[0])), probability))
        races = tuple(self.races.races.values())
        faults, deadlocks = tuple(self.faults.values()), tuple(self.deadlocks.values())
        return Verdict(
            verdict=judge(complete, expected, results, races, faults, deadlocks),
            complete=complete,
            stopped_by=self.stopped_by,
            strategy=strategy,
            machine=self.machine.name,
            executions=executions,
            interleavings=interleavings,
            states=self.nodes,
            steps=self.steps,
            seconds=monotonic() - self.started,
            results=tuple(results),
            races=races,
            faults=faults,
            deadlocks=deadlocks,
        )


def _descends(path: str, ancestor: str) -> bool:
    """Whether a task descends from another."""
    return not ancestor or path.startswith(f"{ancestor}.")
