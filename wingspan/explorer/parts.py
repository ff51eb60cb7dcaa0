"""The tree of runs in parts, which are searched apart from one another, and what is known of the whole of it.

At a node of the tree tasks go first in some order, each once. What is below each is explored by some search; a task
sleeps in what is below those that come after it. So every trace is run in one part only, and no part needs to know what
becomes of the others. A race between a step of a part and one on the way to it wishes for another task to go first on
the way: that comes back with the part.

docs/parts.md has the proof that no trace is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple, Optional

from wingspan.errors import InternalError

TASK = re.compile(r"([0-9]{1,9}(\.[0-9]{1,9}){0,99})?")
"""What the path of a task looks like; empty for the root."""


class Astray(InternalError):
    """A search is where no search can get to. It is a defect, unless a checkpoint has led it there."""


Wish = tuple[str, ...]
"""The tasks, by their paths, with whose steps a run is to go on: from the root of a wakeup tree to a leaf."""

Open = dict[str, Optional["Open"]]
"""The tasks that go first at a node, in their order, and where they lead; None if all below has been explored."""


class Fork(NamedTuple):
    """A node on the way of a search."""

    taken: tuple[str, ...]
    """the tasks that have gone first before the one that steps, in this search"""
    task: str
    wishes: tuple[Wish, ...] = ()
    """what is yet to be explored here"""
    given: tuple[str, ...] = ()
    """those that go first before it, in other searches"""
    later: tuple[str, ...] = ()
    """those that do so after it, in other searches"""


class Place(NamedTuple):
    """Where a search is in the tree. The last node is given by what follows `own`."""

    shared: tuple[Fork, ...] = ()
    """the way to its part; here it wishes for what others are to explore"""
    own: tuple[Fork, ...] = ()
    taken: tuple[str, ...] = ()
    wishes: tuple[Wish, ...] = ()
    begun: bool = False
    """whether the search has looked at the last node"""

    @staticmethod
    def of(told: Any) -> Place:
        """From the lists that JSON makes of it. ValueError or TypeError if it is none."""
        shared, own, taken, wishes, begun = told
        if not isinstance(begun, bool):
            raise TypeError
        return Place(_forks(shared), _forks(own), _tasks(taken), _wishes(wishes), begun)

    @property
    def planned(self) -> int:
        """So many wishes wait."""
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
    """What is left to explore: `give` a part, and put `back` where its search has come to, until none is `waiting`."""

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
        """The part that was put back last."""
        return self.current(self.waiting.pop())

    def current(self, place: Place) -> Place:
        """A part with the way to it as it is by now."""
        forks = []
        for here, fork in zip(self.nodes(place.shared), place.shared, strict=False):
            tasks = list(here)
            at = tasks.index(fork.task)
            given = tuple(task for task in tasks[:at] if task not in fork.taken)
            forks.append(Fork(fork.taken, fork.task, given=given, later=tuple(tasks[at + 1 :])))
        return place._replace(shared=tuple(forks))

    def back(self, place: Place, done: bool) -> None:
        """Where the search of a part has come to, and whether that is its end.

        Of a wish on the way there only the first task counts: others may have wished there meanwhile, so that one that
        comes later in it waits by now.
        """
        nodes = self.nodes(place.shared)
        for depth, fork in enumerate(place.shared):
            self._add(nodes[depth], place.shared[:depth], [wish[:1] for wish in fork.wishes])
        if done:
            self._close(place.shared)
        else:
            self.waiting.append(place)

    def split(self) -> bool:
        """Make parts of what a search that waits wishes for at the first node where it does; False if none does."""
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
        """Where each of its forks is, and last where it leads."""
        nodes = [self.tree]
        for fork in way:
            nodes.append(_below(nodes[-1], fork.task))
        return nodes

    def _add(self, here: Open, way: tuple[Fork, ...], wishes: Iterable[Wish]) -> None:
        """Make parts of wishes at a node, but for tasks that go first there anyway."""
        new: dict[str, list[Wish]] = {}
        for task, *then in wishes:
            if task not in here:
                new.setdefault(task, []).append(tuple(then))
        forks = [fork._replace(taken=()) for fork in way]
        for task, below in new.items():
            here[task] = {}
            self.waiting.append(Place((*forks, Fork((), task)), wishes=tuple(filter(None, below))))

    def _close(self, way: tuple[Fork, ...]) -> None:
        """All at the end of a way has been explored; forget nodes of which that is so."""
        for here, fork in zip(reversed(self.nodes(way)[:-1]), reversed(way), strict=True):
            here[fork.task] = None
            if any(below is not None for below in here.values()):
                break


def _below(here: Open, task: str) -> Open:
    below = here[task]
    assert below is not None
    return below
