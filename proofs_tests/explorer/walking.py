"""An independent oracle: it walks every interleaving, invisible steps one by one, and merges nothing."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

from wingspan.base.errors import Fault, Span
from wingspan.explorer import Blocked, CellAccess, Machine, Step, replay
from wingspan.explorer.interleaving import parse_interleaving
from wingspan.explorer.settle import settle
from wingspan.testing.litmus import Litmus, LitmusState


def length(interleaving: str) -> int:
    return len(parse_interleaving(interleaving))


Cost = tuple[int, int]
"""The preemptions of an interleaving, and its steps: the measure of short ones."""


def cost(machine: Machine[Any], interleaving: str) -> Cost:
    """By a replay: a task is preempted when another one steps although it could."""
    tasks, preemptions = parse_interleaving(interleaving), 0
    for k in range(1, len(tasks)):
        run = replay(machine, tasks[:k], finish=False)
        steps = list(run)
        visible = max(n for n, step in enumerate(steps) if step.visible)
        able = {task for task, choice in run.choices.items() if isinstance(choice, Step)}
        preemptions += tasks[k] != tasks[k - 1] and tasks[k - 1] in able and not has_ended(*steps[visible:])
    return preemptions, len(tasks)


def has_ended(step: Step[Any], *after: Step[Any]) -> bool:
    """Whether a step ends its task, so that one above it goes on; another may have its path right after it."""
    above = step.task.split(".") if step.task else []
    return bool({".".join(above[:k]) for k in range(len(above))} & {each.task for each in after})


@dataclass
class Walk:
    """All runs of a program, distinguished by their visible steps only."""

    machine: Litmus
    finished: dict[tuple[str, ...], Hashable] = field(default_factory=dict)
    faulted: dict[tuple[str, ...], str] = field(default_factory=dict)
    deadlocked: dict[tuple[str, ...], frozenset[Blocked]] = field(default_factory=dict)
    races: set[tuple[str, frozenset[Span | None]]] = field(default_factory=set)
    settled: set[LitmusState] = field(default_factory=set)
    """the states without an invisible step to take"""
    ends: set[tuple[LitmusState, str]] = field(default_factory=set)
    """the states in which a run ends, with the step that faults if one does"""

    def __post_init__(self) -> None:
        self.visit(self.machine.initial(), ())

    def visit(self, state: LitmusState, trace: tuple[str, ...]) -> None:
        choices = [self.machine.step(state, task) for task in self.machine.tasks(state)]
        steps = [choice for choice in choices if isinstance(choice, Step)]
        if not choices:
            self.finished[trace] = self.machine.outcome(state)
        elif not steps:
            self.deadlocked[trace] = frozenset(c for c in choices if isinstance(c, Blocked))
        if all(step.visible for step in steps):
            self.settled.add(state)
            faulting = [step.task for step in steps if isinstance(step.next, Fault)]
            self.ends |= {(state, task) for task in faulting or [""] * (not steps)}
        for one, other in product(steps, steps):
            for x, y in product(one.footprint, other.footprint):
                if one.task < other.task and racing(x, y):
                    self.races.add((str(x.cell), frozenset((one.span, other.span))))
        for step in steps:
            longer = (*trace, step.task) if step.visible else trace
            if isinstance(step.next, Fault):
                self.faulted[longer] = step.next.message
            else:
                self.visit(step.next, longer)


def racing(x: CellAccess, y: CellAccess) -> bool:
    effects = {x.effect, y.effect}
    return x.cell == y.cell and bool(effects & {"read", "write"}) and not effects <= {"read", "look"}


@dataclass
class Cheapest:
    """The least cost of each finding, by walking every interleaving of visible steps."""

    machine: Litmus
    least: dict[Hashable, Cost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.visit(settle(self.machine, self.machine.initial()).state, (0, 0), "nobody")

    def note(self, finding: Hashable, cost: Cost) -> None:
        self.least[finding] = min(self.least.get(finding, (999, 999)), cost)

    def visit(self, state: LitmusState, cost: Cost, last: str) -> None:
        choices = {task: self.machine.step(state, task) for task in self.machine.tasks(state)}
        steps = {task: choice for task, choice in choices.items() if isinstance(choice, Step)}
        if not steps:
            waiting = frozenset(c for c in choices.values() if isinstance(c, Blocked))
            self.note(waiting or ("result", self.machine.outcome(state)), cost)
        for task, step in steps.items():
            after = (cost[0] + (last in steps and last != task), cost[1] + 1)
            if isinstance(step.next, Fault):
                self.note(step.next.message, after)
            else:
                settled = settle(self.machine, step.next, task)
                self.visit(settled.state, after, "nobody" if has_ended(step, *settled.taken) else task)
        for one, other in combinations(steps.values(), 2):
            for x, y in product(one.footprint, other.footprint):
                if racing(x, y):
                    self.race((str(x.cell), frozenset((one.span, other.span))), cost, last, steps, one, other)

    def race(
        self, key: Hashable, cost: Cost, last: str, steps: Mapping[str, Step[LitmusState]], *pair: Step[LitmusState]
    ) -> None:
        """Both orders in which the second still races; if there is none, either of the two alone."""
        alone, both = [], []
        for first, second in (pair, pair[::-1]):
            preempted = cost[0] + (last in steps and last != first.task)
            alone.append((preempted, cost[1] + 1))
            if isinstance(first.next, Fault):
                continue
            after = settle(self.machine, first.next, first.task)
            then = after.choices.get(second.task)
            if isinstance(then, Step) and any(racing(x, y) for x in first.footprint for y in then.footprint):
                goes_on = isinstance(after.choices.get(first.task), Step) and not has_ended(first, *after.taken)
                both.append((preempted + goes_on, cost[1] + 2))
        for found in both or alone:
            self.note(key, found)
