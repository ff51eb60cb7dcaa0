"""The tree of runs in parts, which are searched independently, and what is known of the whole tree.

At a node of the tree tasks go first in some order, each once. Some search explores what is below each. A task sleeps in
what is below the tasks after it. So every trace is run in one part only, and no part depends on the results of the
others. A race between a step of a part and one on the path to it leads to a wakeup sequence (a wish) on the path:
another task is to go first there. The wish is returned with the part.

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


Wish = tuple[str, ...]
"""The tasks, by their paths, with whose steps a run is to continue: from the root of a wakeup tree to a leaf."""

Open = dict[str, Optional["Open"]]
"""The tasks that go first at a node, in their order, and where they lead; None if all below has been explored."""


class Fork(NamedTuple):
    """A node on the path of a search, where one of several tasks goes first (a choice point)."""

    taken: tuple[str, ...]
    """the tasks that have gone first before the one that steps, in this search"""
    task: str
    wishes: tuple[Wish, ...] = ()
    """the wakeup sequences that are still to be explored here"""
    given: tuple[str, ...] = ()
    """those that go first before it, in other searches"""
    later: tuple[str, ...] = ()
    """those that do so after it, in other searches"""


class Place(NamedTuple):
    """An exploration prefix: the position of a search in the tree. The steps after `own` lead to the last node."""

    shared: tuple[Fork, ...] = ()
    """the path to its part; wishes here are for others to explore"""
    own: tuple[Fork, ...] = ()
    taken: tuple[str, ...] = ()
    wishes: tuple[Wish, ...] = ()
    begun: bool = False
    """whether the search has examined the last node"""

    @staticmethod
    def of(told: Any) -> Place:
        """Read a prefix from its lists in JSON. ValueError or TypeError if they are not one."""
        shared, own, taken, wishes, begun = told
        if not isinstance(begun, bool):
            raise TypeError
        return Place(_forks(shared), _forks(own), _tasks(taken), _wishes(wishes), begun)

    @property
    def planned(self) -> int:
        """The number of wakeup sequences that wait."""
        return len(self.wishes) + sum(len(fork.wishes) for fork in self.own)


def _forks(told: Any) -> tuple[Fork, ...]:
    forks = (Fork(_tasks(a), _tasks([b])[0], _wishes(c), _tasks(d), _tasks(e)) for a, b, c, d, e in _list(told))
    return tuple(forks)


def _wishes(told: Any) -> tuple[Wish, ...]:
    wishes = tuple(map(_tasks, _list(told)))
    if not all(wishes):
        raise ValueError
    return wishes


def _tasks(told: Any) -> tuple[str, ...]:
    if not all(isinstance(task, str) and TASK.fullmatch(task) for task in _list(told)):
        raise ValueError
    return tuple(told)


def _list(told: Any) -> Any:
    if not isinstance(told, list):
        raise TypeError
    return told


class Parts:
    """The unexplored parts of the tree: `pop` one, and `put_back` its new prefix, until none is `waiting`."""

    def __init__(self, places: Iterable[Place] = (Place(),)) -> None:
        self.waiting = list(places)
        self.tree: Open = {}
        for place in self.waiting:
            here = self.tree
            for fork in place.shared:
                for task in (*fork.taken, *fork.given, fork.task, *fork.later):
                    here.setdefault(task, None)
                here[fork.task] = here[fork.task] or {}
                here = _below(here, fork.task)

    def give(self) -> Place:
        """Take the part that was put back last."""
        return self.current(self.waiting.pop())

    def current(self, place: Place) -> Place:
        """A part with the current state of the path to it."""
        forks = []
        for here, fork in zip(self.nodes(place.shared), place.shared, strict=False):
            tasks = list(here)
            at = tasks.index(fork.task)
            given = tuple(task for task in tasks[:at] if task not in fork.taken)
            forks.append(Fork(fork.taken, fork.task, given=given, later=tuple(tasks[at + 1 :])))
        return place._replace(shared=tuple(forks))

    def back(self, place: Place, done: bool) -> None:
        """Take back a part with its new position, and whether it is finished.

        Of a wish on the path to the part only the first task counts: others may have added wishes there meanwhile, so a
        later task of it may wait by now.
        """
        nodes = self.nodes(place.shared)
        for depth, fork in enumerate(place.shared):
            self._add(nodes[depth], place.shared[:depth], [wish[:1] for wish in fork.wishes])
        if done:
            self._close(place.shared)
        else:
            self.waiting.append(place)

    def split(self) -> bool:
        """Divide a waiting search at the first node with wakeup sequences, into parts; False if there is none."""
        for n, place in enumerate(self.waiting):
            first = next((k for k, fork in enumerate(place.own) if fork.wishes), None)
            if first is None:
                continue
            way, here = place.shared, self.nodes(place.shared)[-1]
            for fork in place.own[: first + 1]:
                here |= dict.fromkeys(fork.taken)
                here[fork.task] = {}
                self._add(here, way, fork.wishes)
                here, way = _below(here, fork.task), (*way, fork)
            self.waiting[n] = place._replace(shared=way, own=place.own[first + 1 :])
            return True
        return False

    def nodes(self, way: tuple[Fork, ...]) -> list[Open]:
        """The node of each fork on a path, and at the end the node to which it leads."""
        nodes = [self.tree]
        for fork in way:
            nodes.append(_below(nodes[-1], fork.task))
        return nodes

    def _add(self, here: Open, way: tuple[Fork, ...], wishes: Iterable[Wish]) -> None:
        """Make parts of wakeup sequences at a node, except for tasks that go first there anyway."""
        new: dict[str, list[Wish]] = {}
        for task, *then in wishes:
            if task not in here:
                new.setdefault(task, []).append(tuple(then))
        forks = [fork._replace(taken=()) for fork in way]
        for task, below in new.items():
            here[task] = {}
            self.waiting.append(Place((*forks, Fork((), task)), wishes=tuple(filter(None, below))))

    def _close(self, way: tuple[Fork, ...]) -> None:
        """Everything at the end of a path has been explored; forget all nodes of which that is true."""
        for here, fork in zip(reversed(self.nodes(way)[:-1]), reversed(way), strict=True):
            here[fork.task] = None
            if any(below is not None for below in here.values()):
                break


def _below(here: Open, task: str) -> Open:
    below = here[task]
    assert below is not None
    return below
