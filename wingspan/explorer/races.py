"""Races seen in a state: two next steps of different tasks that conflict, not both of them atomic.

Conflicting steps that are both enabled in one reachable state are exactly the races of a program; looking at states
rather than at one trace misses none of them when equal states are merged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from itertools import combinations
from typing import Generic, TypeVar

from wingspan.errors import Fault, Span
from wingspan.explorer.interleaving import format_interleaving
from wingspan.explorer.machine import Effect, Machine, Step, Touch
from wingspan.explorer.settle import settle
from wingspan.explorer.verdict import AccessReport, Race

S = TypeVar("S")

OPERATIONS: dict[Effect, str] = {
    "read": "read", "look": "atomic read", "write": "write", "atomic": "atomic update", "acquire": "acquire",
    "release": "release",
}  # fmt: skip


def kind_of(one: Touch, other: Touch) -> str:
    """Which dependence two accesses to one cell are: node, sibling or cousin; "" for a variable.

    An access without position or index is one to a whole level or fiber, and meets all that is in it.
    """
    if one.level is None:
        return ""
    if one.position is not None and other.position is not None and one.position != other.position:
        return "cousin"
    if one.index is not None and other.index is not None and one.index != other.index:
        return "sibling"
    return "node"


def place(span: Span | None) -> tuple[str, int, int, int, int]:
    """What tells spans apart; quicker to hash than the span, and it has an order."""
    if span is None:
        return ("", 0, 0, 0, 0)
    return (span.source.name, span.line, span.column, span.end_line, span.end_column)


def report_access(step: Step[S], touch: Touch) -> AccessReport:
    """One side of a race, for people."""
    operation = OPERATIONS[touch.effect]
    return AccessReport(step.task, step.rule, operation, touch.position, touch.index, step.span, step.indices)


class RaceFinder(Generic[S]):
    """Collects the races of the states it is shown, each once.

    Show states by increasing number of steps: a race keeps the interleaving of the first state that has it.
    """

    def __init__(self, machine: Machine[S]) -> None:
        self.machine = machine
        self.races: dict[Hashable, Race] = {}
        self._labels: dict[Hashable, int] = {}
        self._compared: set[tuple[int, int]] = set()

    def look(self, steps: Iterable[Step[S]], path: Callable[[], list[str]]) -> None:
        """Compare the next steps of a settled state, which `path` leads to."""
        sharing: defaultdict[Hashable, list[tuple[Step[S], Touch]]] = defaultdict(list)
        for step in steps:
            for touch in step.footprint:
                sharing[touch.cell].append((step, touch))
        for accesses in sharing.values():
            if len(accesses) > 1:
                self._compare(accesses, path)

    def _compare(self, accesses: list[tuple[Step[S], Touch]], path: Callable[[], list[str]]) -> None:
        labelled = [(self._label(step, touch), step, touch) for step, touch in accesses]
        for (m, a, x), (n, b, y) in combinations(labelled, 2):
            if a is b or (m, n) in self._compared:
                continue
            self._compared.add((m, n))
            if x.races(y):
                self._add(a, x, b, y, path)

    def _label(self, step: Step[S], touch: Touch) -> int:
        """A number for all about an access that a race depends on, so that a pair of accesses is compared once."""
        label = (touch.effect, place(step.span), touch.tensor, touch.spot)
        return self._labels.setdefault(label, len(self._labels))

    def _add(self, a: Step[S], x: Touch, b: Step[S], y: Touch, path: Callable[[], list[str]]) -> None:
        kind = kind_of(x, y)
        spans = tuple(sorted((place(a.span), place(b.span))))
        key = (x.tensor, x.level, x.level_name, x.buffer, kind, spans)
        if key in self.races:
            return
        if not self._follows(a, x, b) and self._follows(b, y, a):
            a, x, b, y = b, y, a, x
        tasks = [a.task, b.task] if self._follows(a, x, b) else [a.task]
        self.races[key] = Race(
            tensor=x.tensor,
            level=x.level,
            level_name=x.level_name,
            buffer=x.buffer,
            kind=kind,
            cell=str(x.cell),
            first=report_access(a, x),
            second=report_access(b, y),
            interleaving=format_interleaving(path() + tasks),
        )

    def _follows(self, first: Step[S], touch: Touch, second: Step[S]) -> bool:
        """Can the task of `second` come right after `first`, and does its step still race with it?

        A fault ends the run, and a step can block the other or change where it goes. Two steps neither of which can
        follow the other are reported all the same, with an interleaving that ends after one of them.
        """
        if isinstance(first.next, Fault):
            return False
        after = settle(self.machine, first.next, first.task).choices.get(second.task)
        return isinstance(after, Step) and any(touch.races(other) for other in after.footprint)
