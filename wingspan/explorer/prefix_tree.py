"""The tree of runs in parts, which are searched independently, and what is known of the whole tree.

At a node of the tree tasks go first in some order, each once. Some search explores what is below each. A task sleeps in
what is below the tasks after it. So every trace is run in one part only, and no part depends on the results of the
others. A race between a step of a part and one on the path to it leads to a wakeup sequence on the path:
another task is to go first there. The sequence is returned with the part.

docs/parts.md proves that no trace is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple, Optional

from wingspan.base.errors import InternalError

TASK = re.compile(r"([0-9]{1,9}(\.[0-9]{1,9}){0,99})?")
"""The form of a task's path; empty for the root."""


class Astray(InternalError):
    """A search is where no search can get. This is a defect, unless a checkpoint led it there."""


WakeupSequence = tuple[str, ...]
"""The tasks, by their paths, with whose steps a run is to continue: from the root of a wakeup tree to a leaf."""

OpenNode = dict[str, Optional["OpenNode"]]
"""The tasks that go first at a node, in their order, and where they lead; None if all below has been explored."""


class ChoicePoint(NamedTuple):
    """A node on the path of a search, where one of several tasks goes first (a choice point)."""

    taken: tuple[str, ...]
    """the tasks that have gone first before the one that steps, in this search"""
    task: str
    sequences: tuple[WakeupSequence, ...] = ()
    """the wakeup sequences that are still to be explored here"""
    earlier: tuple[str, ...] = ()
    """the tasks that go first before it, in other searches"""
    later: tuple[str, ...] = ()
    """the tasks that do so after it, in other searches"""


class ExplorationPrefix(NamedTuple):
    """An exploration prefix: the position of a search in the tree. The steps after `own` lead to the last node."""

    shared: tuple[ChoicePoint, ...] = ()
    """the path to its part; sequences here are for others to explore"""
    own: tuple[ChoicePoint, ...] = ()
    taken: tuple[str, ...] = ()
    sequences: tuple[WakeupSequence, ...] = ()
    begun: bool = False
    """whether the search has examined the last node"""

    @staticmethod
    def from_json(saved: Any) -> ExplorationPrefix:
        """Read a prefix from its lists in JSON. ValueError or TypeError if they are not one."""
        shared, own, taken, sequences, begun = saved
        if not isinstance(begun, bool):
            raise TypeError
        return ExplorationPrefix(
            _choice_points(shared), _choice_points(own), _task_paths(taken), _wakeup_sequences(sequences), begun
        )

    @property
    def pending(self) -> int:
        """The number of wakeup sequences that wait."""
        return len(self.sequences) + sum(len(point.sequences) for point in self.own)


def _choice_points(saved: Any) -> tuple[ChoicePoint, ...]:
    points = (
        ChoicePoint(_task_paths(a), _task_paths([b])[0], _wakeup_sequences(c), _task_paths(d), _task_paths(e))
        for a, b, c, d, e in _list(saved)
    )
    return tuple(points)


def _wakeup_sequences(saved: Any) -> tuple[WakeupSequence, ...]:
    sequences = tuple(map(_task_paths, _list(saved)))
    if not all(sequences):
        raise ValueError
    return sequences


def _task_paths(saved: Any) -> tuple[str, ...]:
    if not all(isinstance(task, str) and TASK.fullmatch(task) for task in _list(saved)):
        raise ValueError
    return tuple(saved)


def _list(saved: Any) -> Any:
    if not isinstance(saved, list):
        raise TypeError
    return saved


class PrefixTree:
    """The unexplored parts of the tree: `pop` one, and `put_back` its new prefix, until none is `waiting`."""

    def __init__(self, prefixes: Iterable[ExplorationPrefix] = (ExplorationPrefix(),)) -> None:
        self.waiting = list(prefixes)
        self.tree: OpenNode = {}
        for prefix in self.waiting:
            here = self.tree
            for point in prefix.shared:
                for task in (*point.taken, *point.earlier, point.task, *point.later):
                    here.setdefault(task, None)
                here[point.task] = here[point.task] or {}
                here = _subtree(here, point.task)

    def pop(self) -> ExplorationPrefix:
        """Take the part that was put back last."""
        return self.current(self.waiting.pop())

    def current(self, prefix: ExplorationPrefix) -> ExplorationPrefix:
        """A part with the current state of the path to it."""
        points = []
        for here, point in zip(self.nodes(prefix.shared), prefix.shared, strict=False):
            tasks = list(here)
            at = tasks.index(point.task)
            earlier = tuple(task for task in tasks[:at] if task not in point.taken)
            points.append(ChoicePoint(point.taken, point.task, earlier=earlier, later=tuple(tasks[at + 1 :])))
        return prefix._replace(shared=tuple(points))

    def put_back(self, prefix: ExplorationPrefix, done: bool) -> None:
        """Take back a part with its new position, and whether it is finished.

        Of a sequence on the path to the part only the first task counts: others may have added some there meanwhile,
        so a later task of it may wait by now.
        """
        nodes = self.nodes(prefix.shared)
        for depth, point in enumerate(prefix.shared):
            self._add(nodes[depth], prefix.shared[:depth], [sequence[:1] for sequence in point.sequences])
        if done:
            self._close(prefix.shared)
        else:
            self.waiting.append(prefix)

    def split(self) -> bool:
        """Divide a waiting search at the first node with wakeup sequences, into parts; False if there is none."""
        for n, prefix in enumerate(self.waiting):
            first = next((k for k, point in enumerate(prefix.own) if point.sequences), None)
            if first is None:
                continue
            way, here = prefix.shared, self.nodes(prefix.shared)[-1]
            for point in prefix.own[: first + 1]:
                here |= dict.fromkeys(point.taken)
                here[point.task] = {}
                self._add(here, way, point.sequences)
                here, way = _subtree(here, point.task), (*way, point)
            self.waiting[n] = prefix._replace(shared=way, own=prefix.own[first + 1 :])
            return True
        return False

    def nodes(self, way: tuple[ChoicePoint, ...]) -> list[OpenNode]:
        """The node of each point on a path, and at the end the node to which it leads."""
        nodes = [self.tree]
        for point in way:
            nodes.append(_subtree(nodes[-1], point.task))
        return nodes

    def _add(self, here: OpenNode, way: tuple[ChoicePoint, ...], sequences: Iterable[WakeupSequence]) -> None:
        """Make parts of wakeup sequences at a node, except for tasks that go first there anyway."""
        new: dict[str, list[WakeupSequence]] = {}
        for task, *then in sequences:
            if task not in here:
                new.setdefault(task, []).append(tuple(then))
        points = [point._replace(taken=()) for point in way]
        for task, below in new.items():
            here[task] = {}
            self.waiting.append(
                ExplorationPrefix((*points, ChoicePoint((), task)), sequences=tuple(filter(None, below)))
            )

    def _close(self, way: tuple[ChoicePoint, ...]) -> None:
        """Everything at the end of a path has been explored; forget all nodes of which that is true."""
        for here, point in zip(reversed(self.nodes(way)[:-1]), reversed(way), strict=True):
            here[point.task] = None
            if any(below is not None for below in here.values()):
                break


def _subtree(here: OpenNode, task: str) -> OpenNode:
    below = here[task]
    assert below is not None
    return below
