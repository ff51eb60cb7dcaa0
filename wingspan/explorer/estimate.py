"""An unbiased estimate of the number of traces, from a sample, with its standard error.

One run of each trace is the first in the order of task numbers. Sleep sets (Godefroid 1996) forbid all steps that lead
to the other runs. A walk picks at random among the k steps allowed at each node, and multiplies the k; the average
product is the number of runs to an end: Knuth, "Estimating the efficiency of backtrack programs" (1975).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from wingspan.base.dataclass import dataclass
from wingspan.explorer._space import BLOCKED, FAULT, Space
from wingspan.explorer.prefix_tree import Astray

WALKS = 100
"""The number of walks that suffice to decide whether all traces can be run."""

FEWEST, COSTLY = 10, 100_000
"""This many walks are made in any case, and no more once they have taken this many steps."""

Move = tuple[int, int, int]
"""A task, its next act, and the node to which that leads."""


@dataclass(frozen=True)
class SampleMean:
    """Mean and standard error of a sample."""

    mean: float
    error: float

    @staticmethod
    def from_sample(sample: list[float]) -> SampleMean:
        """Estimate from a sample of at least two values."""
        n = len(sample)
        mean = math.fsum(sample) / n
        variance = math.fsum((x - mean) ** 2 for x in sample) / (n - 1)
        return SampleMean(mean, math.sqrt(variance / n))

    def __str__(self) -> str:
        return f"{self.mean:.2g} ± {self.error:.1g}"


def estimate_traces(space: Space, walks: int = WALKS, seed: int = 0) -> SampleMean:
    """The number of traces of a program, from this many walks, or fewer if they take many steps.

    The walks enter states of the space, so a later search should use a separate space if it counts its own.
    """
    from random import Random  # not for searches that estimate nothing

    choice = Random(seed).choice
    sample: list[float] = []
    while len(sample) < walks and (len(sample) < FEWEST or space.steps < COSTLY):
        sample.append(weigh_random_walk(space, choice))
    return SampleMean.from_sample(sample)


def weigh_random_walk(space: Space, choice: Callable[[list[Move]], Move]) -> float:
    """The product of the numbers of steps to choose from on a walk; 0 if it ends where none is allowed."""
    node, product, steps = 0, 1.0, 0
    asleep: dict[int, int] = {}
    dead: set[int] = set()
    while True:
        space.tick()
        steps += 1
        if steps > space.nodes + space.tasks + 1:
            raise Astray("a run comes back to a state it was in: the machine does not terminate")
        moves = space.moves(node)
        able = sorted((task, act, target) for task, act, target in moves if target != BLOCKED and task not in dead)
        allowed = [move for move in able if move[0] not in asleep]
        if not allowed:
            return 0.0 if able else product
        task, act, target = choice(allowed)
        product *= len(allowed)
        sleepy = asleep | {other: its for other, its, _ in able if other < task}
        asleep = {other: its for other, its in sleepy.items() if not space.conflict(act, its)}
        if target == FAULT:
            dead.add(task)
        else:
            node = space.go(node, task)
