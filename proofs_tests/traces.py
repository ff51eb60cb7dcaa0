"""All traces of a small program, step by step: the oracle of the reduction. It knows no clocks, races or sleep."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from wingspan.base.errors import Fault
from wingspan.explorer.machine import Blocked, CellAccess, Machine, Step
from wingspan.explorer.settle import settle

READING = {"read", "look"}

Event = tuple[str, int, Any, tuple[tuple[Hashable, str], ...], frozenset[int]]
"""A task, which of its steps it is, where in the program, what it touches, and the events in conflict before it."""

Trace = frozenset[int]
"""Its events, by number."""


def conflict(one: tuple[tuple[Hashable, str], ...], other: tuple[tuple[Hashable, str], ...]) -> bool:
    return any(c == d and not {x, y} <= READING for c, x in one for d, y in other)


def cells(footprint: tuple[CellAccess, ...]) -> tuple[tuple[Hashable, str], ...]:
    return tuple((touch.cell, touch.effect) for touch in footprint)


class Traces:
    """Two runs are one trace if they have the same events, doing the same, in conflict the same way round.

    All orders of all steps are tried. Where two begin with one trace they must have come to one state, and what comes
    then is tried once. A faulting step ends its task, and the others go on; so a run may have several faults.
    """

    def __init__(self, machine: Machine[Any], most: int | None = None) -> None:
        self.machine = machine
        self.most = most
        """give up beyond so many beginnings of traces"""
        self.traces: set[Trace] = set()
        """the traces of whole runs"""
        self.ends: set[Hashable] = set()
        """the outcomes of runs without a fault"""
        self.faults: set[tuple[str, Any]] = set()
        self.deadlocks: set[frozenset[Blocked]] = set()
        self.races: set[tuple[Hashable, frozenset[Any]]] = set()
        """the cell, and the places of two steps that touch it and can both come next"""
        self._numbers: dict[Event, int] = {}
        self._events: list[Event] = []
        self._next: dict[tuple[Hashable, str], tuple[Hashable, Any]] = {}
        first = settle(machine, machine.initial()).state
        self.begun: dict[Trace, tuple[Hashable, Any, frozenset[str]]] = {}
        """beginnings of traces: what they come to, and the tasks that have faulted"""
        self._begun: list[Trace] = []
        """the beginnings to continue from"""
        self._begin(frozenset(), machine.fingerprint(first), first, frozenset())
        while self._begun and not self.gave_up:
            self._go_on(self._begun.pop())

    @property
    def states(self) -> int:
        """The number of states."""
        return len({mark for mark, _, _ in self.begun.values()})

    @property
    def gave_up(self) -> bool:
        return self.most is not None and len(self.begun) > self.most

    def _begin(self, trace: Trace, mark: Hashable, state: Any, dead: frozenset[str]) -> None:
        if trace not in self.begun:
            self.begun[trace] = mark, state, dead
            self._begun.append(trace)
        known, _, faulted = self.begun[trace]
        assert (known, faulted) == (mark, dead), "steps that do not conflict were swapped, and led elsewhere"

    def _go_on(self, trace: Trace) -> None:
        mark, state, dead = self.begun[trace]
        choices = [self.machine.step(state, task) for task in self.machine.tasks(state) if task not in dead]
        steps = [choice for choice in choices if isinstance(choice, Step)]
        if not steps:
            self.traces.add(trace)
            waiting = frozenset(choice for choice in choices if isinstance(choice, Blocked))
            if waiting and not dead:
                self.deadlocks.add(waiting)
            elif not dead:
                self.ends.add(self.machine.outcome(state))
        self._race(steps)
        for step in steps:
            longer = trace | {self._event(trace, step)}
            if isinstance(step.next, Fault):
                self.faults.add((step.next.message, step.span))
                self._begin(longer, mark, state, dead | {step.task})
            else:
                if (mark, step.task) not in self._next:
                    after = settle(self.machine, step.next, step.task).state
                    self._next[mark, step.task] = self.machine.fingerprint(after), after
                self._begin(longer, *self._next[mark, step.task], dead)

    def _event(self, trace: Trace, step: Step[Any]) -> int:
        """The number of the next event of a task."""
        touched = cells(step.footprint)
        number = sum(self._events[n][0] == step.task for n in trace)
        before = frozenset(n for n in trace if conflict(self._events[n][3], touched))
        event = step.task, number, step.span, touched, before
        if event not in self._numbers:
            self._numbers[event] = len(self._events)
            self._events.append(event)
        return self._numbers[event]

    def _race(self, steps: list[Step[Any]]) -> None:
        for k, one in enumerate(steps):
            for other in steps[k + 1 :]:
                for x in one.footprint:
                    for y in other.footprint:
                        if x.races(y):
                            self.races.add((x.cell, frozenset((one.span, other.span))))
