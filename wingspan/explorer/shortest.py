"""The shortest paths to the findings of a search: those with the fewest preemptions, and of these the fewest steps.

A task is preempted when another one steps although it could. Interleavings with few preemptions read best: each task
gets far before the next. Source of the measure: Musuvathi and Qadeer, "Iterative context bounding" (PLDI 2007).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from wingspan.explorer._space import BLOCKED, FAULT, UNKNOWN
from wingspan.explorer.bounds import Stopped
from wingspan.explorer.machine import Step
from wingspan.explorer.races import races_of
from wingspan.explorer.settle import settle, went_on
from wingspan.explorer.states import Finding, States

MOST = 100_000
"""Pairs of a node and the task that stepped last; beyond this, the paths that the search itself found are used."""
ENOUGH = f"looking at {MOST} places"
"""The bound that is then reported."""
SETTLING = 100
"""Invisible steps to take, where little time is allowed, to see whether one step can follow another."""


class FindingPath(NamedTuple):
    """The place of a finding, and the tasks that step on the path, including the steps that the finding is about."""

    state: Any
    """the machine's, before these steps"""
    tasks: list[str]
    who: tuple[str, ...]
    """the tasks that the finding is about; if neither side of a race can follow the other, only one steps"""


Places = tuple[tuple[int, ...], ...]


class Item(NamedTuple):
    """A path to a node, by a step of `by` after the item `before` (both -1 at the start); the least one is next."""

    preemptions: int
    steps: int
    before: int
    places: Places
    """breaks ties: the paths of the tasks that step"""
    number: int
    """the order in which the items were made: no two have the same"""
    node: int
    by: int
    task: int
    """the name, at the node, of the task that stepped; -1 if it is not there"""
    finding: Finding | None
    who: tuple[int, ...]
    """the tasks at the node that the finding is about"""
    take: int
    """the number of them that step"""


class Shortest:
    """Dijkstra's algorithm over pairs of a node and the task that stepped last, along the known edges."""

    def __init__(self, states: States[Any], follow: bool = False, limit: int | None = None) -> None:
        self.states, self.follow, self.limit = states, follow, limit
        self.cut = False
        """whether paths with more than `limit` preemptions were omitted"""
        self.ways: dict[Finding, FindingPath] = {}
        self._settled: list[Item] = []
        self._seen: set[tuple[int, int]] = set()
        self._heap: list[Item] = []
        self._made = 0
        self._places: dict[int, tuple[int, ...]] = {}
        self._moves: dict[int, dict[int, tuple[int, int]]] = {}

    def walk(self) -> None:
        """Visit everything within the limit."""
        self._push(0, 0, 0, -1, -1, -1)
        while self._heap:
            self.states.tick()
            self._settle(heapq.heappop(self._heap))

    def find(self) -> dict[Finding, FindingPath]:
        """The shortest path to each finding, the shortest of all first. `Stopped` after `MOST` pairs, or by a bound."""
        states = self.states
        wanted = self._wanted = set(states.findings())
        if wanted:
            self._push(0, 0, 0, -1, -1, -1)
        while self._heap and wanted:
            states.tick()
            item = heapq.heappop(self._heap)
            if item.finding is not None:
                if item.finding in wanted:
                    self.ways[item.finding] = self._path(item)
                    wanted.remove(item.finding)
            elif len(self._settled) >= MOST:
                raise Stopped(ENOUGH)
            elif self._settle(item):
                self._look(item, len(self._settled) - 1)
        return self.ways

    # -- a single step

    def _push(
        self, preemptions: int, steps: int, node: int, by: int, task: int, before: int,
        finding: Finding | None = None, who: tuple[int, ...] = (), take: int = 0,
    ) -> None:  # fmt: skip
        places = tuple(map(self._path_key, who or (by,)))
        self._made += 1
        item = Item(preemptions, steps, before, places, self._made, node, by, task, finding, who, take)
        heapq.heappush(self._heap, item)

    def _path_key(self, task: int) -> tuple[int, ...]:
        """The path of a task as numbers, which do not depend on the order in which tasks were found."""
        if task not in self._places:
            path = self.states.paths[task] if task >= 0 else ""
            self._places[task] = tuple(map(int, path.split("."))) if path else ()
        return self._places[task]

    def _settle(self, item: Item) -> bool:
        """Continue from an item, unless its pair has been settled before."""
        if (item.node, item.task) in self._seen:
            return False
        self._seen.add((item.node, item.task))
        here = len(self._settled)
        self._settled.append(item)
        for task, (_, target) in self.moves(item.node).items():
            if target == BLOCKED:
                continue
            cost = item.preemptions + self._preempts(item.node, item.task, task)
            if self.limit is not None and cost > self.limit:
                self.cut = True
                continue
            if target == UNKNOWN and self.follow:
                target = self.states.go(item.node, task)
            if target >= 0 and (target, called := self._name_after(item.node, task)) not in self._seen:
                self._push(cost, item.steps + 1, target, task, called, here)
        return True

    def moves(self, node: int) -> dict[int, tuple[int, int]]:
        """The act of each task that has not finished, and the node to which it leads."""
        if node not in self._moves:
            self._moves[node] = {task: (act, target) for task, act, target in self.states.moves(node)}
        return self._moves[node]

    def _preempts(self, node: int, last: int, task: int) -> int:
        """1 if a step of `task` preempts the one that stepped last."""
        return int(last not in (task, -1) and self.moves(node).get(last, (0, BLOCKED))[1] != BLOCKED)

    def _look(self, item: Item, here: int) -> None:
        """The findings at an item's node, each at the cost of the steps from there."""
        for finding, who in self.states.at.get(item.node, ()):
            tasks = tuple(map(self.states.task, who))
            cost = item.preemptions + sum(self._preempts(item.node, item.task, task) for task in tasks)
            self._push(cost, item.steps + len(who), item.node, -1, -1, here, finding, tasks, len(who))
        moves = self.moves(item.node)
        able = [task for task, (_, target) in moves.items() if target != BLOCKED]
        for k, one in enumerate(able):
            for other in able[k + 1 :]:
                for key in self.states.pairs.get((moves[one][0], moves[other][0]), ()):
                    if ("race", key) in self._wanted:
                        self._race(item, here, ("race", key), one, other)

    def _race(self, item: Item, here: int, finding: Finding, one: int, other: int) -> None:
        """The two in both orders; if neither can follow the other, the path ends with the first."""
        orders = ((one, other), (other, one))
        tick = self.states.tick
        possible = [(order, again) for order in orders if (again := self._follows(item.node, *order, tick)) is not None]
        for (first, second), again in possible or [(order, 0) for order in orders]:
            cost = item.preemptions + self._preempts(item.node, item.task, first) + again
            take = 2 if possible else 1
            self._push(cost, item.steps + take, item.node, -1, -1, here, finding, (first, second), take)

    def first_path(self, finding: Finding, node: int, who: tuple[str, ...]) -> FindingPath:
        """The path on which the search found something at a node, continued by the tasks there. Takes few steps."""
        state, way = self.states.state(node), self.states.way(node)
        if finding[0] != "race":
            return FindingPath(state, [*way, *who], who)
        for order in (who, who[::-1]):
            first, second = map(self.states.task, order)
            with suppress(Stopped):
                if self._follows(node, first, second, _step_limit()) is not None:
                    return FindingPath(state, [*way, *order], order)
        return FindingPath(state, [*way, who[0]], who)

    def _follows(self, node: int, first: int, second: int, tick: Callable[[], None]) -> int | None:
        """The number of preemptions if `second` comes right after `first`; None if it cannot, or does not race.

        No new node is made for it. Acts of nodes with other names are not comparable.
        """
        act, target = self.moves(node)[first]
        if target == FAULT:
            return None
        if target != UNKNOWN and not self.states.symmetry:
            then, after = self.moves(target).get(second, (-1, BLOCKED))
            last = self._name_after(node, first)
            return self._preempts(target, last, second) if after != BLOCKED and self.states.race(act, then) else None
        one, other = self.states.paths[first], self.states.paths[second]
        step = self.states.step(node, one)
        settled = settle(self.states.machine, step.next, one, tick)
        following = settled.choices.get(other)
        if isinstance(following, Step) and any(True for _ in races_of(step, following)):
            return int(isinstance(settled.choices.get(one), Step) and not went_on(one, settled))
        return None

    def _name_after(self, node: int, task: int) -> int:
        """The name of a task at the node to which its step leads; -1 if it has ended and is not there."""
        if self.states.ended(node, task):
            return -1
        if not self.states.symmetry:
            return task
        name = self.states.name(node, task)
        return -1 if name is None else self.states.task(name)

    def _path(self, item: Item) -> FindingPath:
        line: list[Item] = []
        at = item.before
        while at >= 0:
            line.append(self._settled[at])
            at = line[-1].before
        who = tuple(self.states.paths[task] for task in item.who)
        if self.states.symmetry:
            state, tasks, names = self._rerun(line[::-1])
            who = tuple(names[task] for task in who)
        else:
            state, tasks = self.states.state(item.node), [self.states.paths[each.by] for each in line[-2::-1]]
        return FindingPath(state, [*tasks, *who[: item.take]], who)

    def _rerun(self, line: list[Item]) -> tuple[Any, list[str], dict[str, str]]:
        """Run along a line of items: the last state, the tasks that step, and the names of tasks at the last node."""
        states, machine = self.states, self.states.machine
        state = settle(machine, machine.initial(), tick=states.tick).state
        tasks: list[str] = []
        names = states.name_mapping(states.state(0), state)
        for item in line[1:]:
            tasks.append(names[states.paths[item.by]])
            step = machine.step(state, tasks[-1])
            assert isinstance(step, Step)
            state = settle(machine, step.next, tasks[-1], states.tick).state
            last = (states.paths[item.task], tasks[-1]) if item.task >= 0 else None
            names = states.name_mapping(states.state(item.node), state, last)
        return state, tasks, names


def _step_limit() -> Callable[[], None]:
    """A tick that allows `SETTLING` steps."""
    left = SETTLING

    def tick() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Stopped(ENOUGH)

    return tick
