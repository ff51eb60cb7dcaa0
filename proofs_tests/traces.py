"""All traces of a small program, by walking every interleaving: the oracle of the reduction. It knows no clocks."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from wingspan.errors import Fault
from wingspan.explorer.machine import Blocked, Machine, Step, Touch
from wingspan.explorer.settle import settle

Event = tuple[str, int]
"""A task, and which of its visible steps it is."""

READING = {"read", "look"}


def conflict(one: tuple[Touch, ...], other: tuple[Touch, ...]) -> bool:
    return any(x.cell == y.cell and not {x.effect, y.effect} <= READING for x in one for y in other)


@dataclass
class Traces:
    """Two runs are one trace if they have the same events, doing the same, in conflict the same way round.

    A faulting step ends its task, and the others go on; so a run may have several faults.
    """

    machine: Machine[Any]
    traces: dict[Hashable, tuple[str, ...]] = field(default_factory=dict)
    """each trace with one of its runs"""
    ends: set[Hashable] = field(default_factory=set)
    """what runs without a fault end with"""
    faults: set[str] = field(default_factory=set)
    deadlocks: set[frozenset[Blocked]] = field(default_factory=set)
    runs: int = 0

    def __post_init__(self) -> None:
        self.visit(settle(self.machine, self.machine.initial()).state, (), frozenset())

    def visit(self, state: Any, events: tuple[tuple[Event, tuple[Touch, ...]], ...], dead: frozenset[str]) -> None:
        choices = [self.machine.step(state, task) for task in self.machine.tasks(state) if task not in dead]
        steps = [choice for choice in choices if isinstance(choice, Step)]
        if not steps:
            self.end(state, events, dead, [choice for choice in choices if isinstance(choice, Blocked)])
        for step in steps:
            number = sum(task == step.task for (task, _), _ in events)
            longer = (*events, ((step.task, number), step.footprint))
            if isinstance(step.next, Fault):
                self.faults.add(step.next.message)
                self.visit(state, longer, dead | {step.task})
            else:
                self.visit(settle(self.machine, step.next, step.task).state, longer, dead)

    def end(self, state: Any, events: Any, dead: frozenset[str], waiting: list[Blocked]) -> None:
        self.runs += 1
        done = frozenset((event, tuple((t.cell, t.effect) for t in touches)) for event, touches in events)
        order = frozenset(
            (one, other)
            for k, (one, touches) in enumerate(events)
            for other, later in events[k + 1 :]
            if conflict(touches, later)
        )
        self.traces.setdefault((done, order), tuple(task for (task, _), _ in events))
        if dead:
            return
        if waiting:
            self.deadlocks.add(frozenset(waiting))
        else:
            self.ends.add(self.machine.outcome(state))
