"""Explore some random runs: `random` walks, and PCT, which finds bugs of few orderings with a bounded probability.

PCT: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with probabilistic guarantees of finding bugs"
(ASPLOS 2010).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from wingspan.explorer._space import BLOCKED, FAULT
from wingspan.explorer.bounds import Stopped
from wingspan.explorer.findings import SearchStatistics
from wingspan.explorer.states import LOOK_EVERY, States

Picker = Callable[[list[int]], int]
"""Picks the task to step next, of the tasks (numbers) that can."""


def walk_randomly(states: States[Any], runs: int, seed: int) -> SearchStatistics:
    """`runs` executions under a uniformly random scheduler."""
    pick = random.Random(seed).choice
    covered = SearchStatistics("random")
    _walk(states, covered, runs, lambda: pick)
    covered.remark = f"each step picked at random among the tasks that can step (seed {seed})"
    return covered


def walk_by_priorities(states: States[Any], runs: int, depth: int, seed: int) -> SearchStatistics:
    """`runs` executions by PCT: random priorities of tasks, with `depth` - 1 random priority-change points.

    The moments are picked from as many steps as the longest earlier run had; the bound applies to the runs that had
    no more.
    """
    covered, rng = SearchStatistics("pct"), random.Random(seed)
    run: Priorities | None = None
    steps, tasks = 1, 1
    ranges: Counter[int] = Counter()

    def note() -> None:
        nonlocal steps, tasks
        if run is not None:
            steps, tasks = max(steps, run.steps), max(tasks, len(run.of))

    def begin() -> Picker:
        nonlocal run
        note()
        ranges[steps] += 1
        run = Priorities(rng, depth, steps)
        return run

    _walk(states, covered, runs, begin)
    note()
    if run is not None and ranges.total() > covered.executions:
        ranges[run.range] -= 1  # it was not run to its end
    sure = sum(times for longest, times in ranges.items() if longest >= steps)
    together = math.floor(1000 - 1000 * (1 - 1 / (tasks * steps ** (depth - 1))) ** sure) / 1000
    covered.remark = (
        f"{sure} of the runs find a bug of depth {depth} with probability ≥ 1/({tasks}·{steps}^{depth - 1}) each, "
        f"≥ {together} together, if none has more than {tasks} tasks and {steps} steps (seed {seed})"
    )
    return covered


class Priorities:
    """The task with the highest priority runs, until it cannot or a change point comes."""

    def __init__(self, rng: random.Random, depth: int, steps: int) -> None:
        self.rng, self.depth, self.range = rng, depth, steps
        self.changes = {rng.randint(1, steps): k for k in range(depth - 1)}
        self.of: dict[int, float] = {}
        self.steps = 0

    def __call__(self, able: list[int]) -> int:
        for task in able:
            self.of.setdefault(task, self.depth + self.rng.random())
        self.steps += 1
        task = max(able, key=self.of.__getitem__)
        if self.steps in self.changes:
            self.of[task] = self.changes[self.steps]
            task = max(able, key=self.of.__getitem__)
        return task


def sample(states: States[Any], runs: int, seed: int = 0) -> None:
    """Make some random runs, as the beginning of another search."""
    pick = random.Random(seed).choice
    for _ in range(runs):
        _run(states, pick)


def _walk(states: States[Any], covered: SearchStatistics, runs: int, begin: Callable[[], Picker]) -> None:
    """Run `runs` times from the first state; a fault also ends a run."""

    def walk() -> None:
        while covered.executions < runs:
            covered.ends[_run(states, begin())] += 1
            covered.executions += 1
            if covered.executions % LOOK_EVERY == 0:
                states.look()
        raise Stopped("runs")

    states.strategy_progress = lambda: ("run", covered.executions, runs - covered.executions, None)
    states.search(walk)


def _run(states: States[Any], pick: Picker) -> int:
    """The node in which a run ends."""
    node = 0
    while able := [task for task, _, target in states.moves(node) if target != BLOCKED]:
        states.tick()
        target = states.go(node, pick(able))
        if target == FAULT:
            break
        node = target
    return node
