"""The happens-before order of a run: its visible steps, begins and ends of tasks, and the conflicts that order them.

Lamport, *Time, Clocks, and the Ordering of Events in a Distributed System*, 1978, with conflicts in place of messages:
interleavings with the same order do the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Literal

from wingspan.base.dataclass import dataclass
from wingspan.explorer.incident import FaultReport, explain_blocked
from wingspan.explorer.interleaving import by_path
from wingspan.explorer.machine import CellAccess
from wingspan.views.view import Action, ReplayReport


def parent(task: str) -> str:
    """The task that started a task.

    >>> parent("1.2"), parent("1")
    ('1', '0')
    """
    return task.rpartition(".")[0] or "0"


@dataclass(frozen=True)
class OrderPoint:
    """A visible step of a task, or where it starts other `tasks` (fork), or has waited for them to end (join)."""

    kind: Literal["step", "fork", "join"]
    task: str
    number: int
    """the number of the step, or of the next one"""
    tasks: tuple[str, ...] = ()
    action: Action | None = None


def tasks_of(run: Sequence[OrderPoint]) -> list[str]:
    """All tasks of a run, the root first."""
    return sorted({"0"} | {task for point in run for task in (point.task, *point.tasks)}, key=by_path)


def failures(report: ReplayReport) -> Iterator[tuple[str, str]]:
    """The tasks that stop without ending, with the reason: a fault, or waiting for ever."""
    found = report.incident
    if isinstance(found, FaultReport):
        yield found.task or "0", f"fault: {found.message}"
    elif found is not None:
        yield from ((blocked.task or "0", f"deadlock: {explain_blocked(blocked)}") for blocked in found.waiting)


def points(report: ReplayReport) -> Iterator[OrderPoint]:
    """The points of a run, in the order in which they came about.

    Forks and joins are read from the tasks that stand somewhere before each visible step. Those of one fork become
    fewer only: one more is of another fork. Tasks that take invisible steps only are passed over.
    """
    forks: dict[str, tuple[OrderPoint, set[str]]] = {}
    for number, (places, action) in enumerate(zip(report.places, [*report.visible, None], strict=True), start=1):
        standing = _standing(places)
        over = [task for task, (_, left) in forks.items() if not standing.get(task) or not standing[task] <= left]
        inner = [task for task in forks if any(_within(task, outer) for outer in over)]
        for task in sorted(inner, key=by_path, reverse=True):
            yield OrderPoint("join", task, number, forks.pop(task)[0].tasks)
        for task in sorted(standing, key=by_path):
            if task not in forks:
                forks[task] = OrderPoint("fork", task, number, tuple(sorted(standing[task], key=by_path))), set()
                yield forks[task][0]
            forks[task] = forks[task][0], standing[task]
        if action is not None:
            yield OrderPoint("step", action.task, number, action=action)


def _standing(tasks: Iterable[str]) -> dict[str, set[str]]:
    """For each task that waits for others those that it waits for."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for task in tasks:
        while task != "0":
            found[parent(task)].add(task)
            task = parent(task)
    return dict(found)


def _within(task: str, outer: str) -> bool:
    return outer in ("0", task) or task.startswith(f"{outer}.")


@dataclass(frozen=True)
class OrderEdge:
    """One point comes before another, by their numbers: in one task, by a fork or a join, or because of `cells`."""

    first: int
    second: int
    cells: tuple[str, ...] = ()
    """the cells that the two steps conflict on"""


Since = defaultdict[Hashable, list[tuple[int, CellAccess]]]
"""The accesses to each cell from the last write on, and the numbers of the points that made them."""


def edges(run: Sequence[OrderPoint]) -> Iterator[OrderEdge]:
    """The order within tasks, by forks and by joins, and those conflicts that do not follow from the other edges."""
    last: dict[str, int] = {}
    before: list[int] = []
    since: Since = defaultdict(list)
    for here, point in enumerate(run):
        known = 0
        for there in dict.fromkeys(last.pop(task) for task in (point.task, *point.tasks) if task in last):
            known |= before[there]
            yield OrderEdge(there, here)
        for there, cells in sorted(_conflicts(since, here, point).items(), reverse=True):
            if not known >> there & 1:
                known |= before[there]
                yield OrderEdge(there, here, cells)
        before.append(known | 1 << here)
        last |= dict.fromkeys((point.task, *(point.tasks if point.kind == "fork" else ())), here)


def _conflicts(since: Since, here: int, point: OrderPoint) -> dict[int, tuple[str, ...]]:
    """The points before a step that it conflicts with, and on what; its own accesses are noted."""
    found: dict[int, tuple[str, ...]] = {}
    for touch in point.action.touches if point.action else ():
        for there, other in since[touch.cell]:
            if there < here and touch.conflicts(other):
                found[there] = tuple(dict.fromkeys((*found.get(there, ()), str(touch.cell))))
        if touch.effect != "read":
            since[touch.cell].clear()
        since[touch.cell].append((here, touch))
    return found
