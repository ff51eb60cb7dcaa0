"""Judges a log of the accesses of any parallel kernel: its races, and whether exploring a program predicts them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wingspan.accesses import Access, races, read_log
from wingspan.api.binding import Runnable, bind
from wingspan.api.exploring import explore
from wingspan.elaborate import Elaborated
from wingspan.errors import InputError
from wingspan.explorer.machine import Touch
from wingspan.explorer.verdict import Race, StateGraph, Verdict
from wingspan.levels import Tower
from wingspan.shown import Shown

DRAWN = 1_000
"""For programs with at most this many states, races are predicted cell by cell."""


@dataclass(frozen=True)
class Sighted:
    """Two operations on a cell that race in a log, and whether that is predicted."""

    race: Race
    predicted: bool | None
    """None without a program, or if its search was cut short"""


@dataclass(frozen=True, repr=False)
class Judged(Shown):
    """The races of a log, beside those that exploring a program predicts."""

    accesses: int
    tasks: int
    races: tuple[Sighted, ...]
    unseen: tuple[str, ...]
    """tensors and variables with predicted races, of which the log shows none"""
    verdict: Verdict | None
    """what exploring the program finds, if there is one"""


def judge(
    log: Sequence[Access] | str | os.PathLike[str],
    program: Runnable | None = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    max_states: int = 100_000,
) -> Judged:
    """Find the races of a log by happens-before, and compare them with those that exploring a program predicts.

    A cell may have its name in the explorer's reports (`c.val[3]`), and in a tensor of dense levels also that of its
    element (`C[2, 1]`). A race on another cell (`c.ptr`) is predicted if there is one anywhere in the tensor; so is
    every race if the program has more than `DRAWN` states.

    Args:
        log: the path of a log, or what `wingspan.accesses.parse_log` makes of its text.
        program, inputs, params, threads: as for `wingspan.api.bind`; what the logged kernel computes.
        max_states: bound of the search.

    Raises:
        InputError: the log cannot be read; or there are inputs, but no program.
    """
    accesses = read_log(log) if isinstance(log, str | os.PathLike) else log
    found = races(accesses)
    tasks = len({access.task for access in accesses})
    if program is None:
        if inputs or params or threads:
            raise InputError("inputs, parameters and threads are those of a program", fix="give the program, too")
        return Judged(len(accesses), tasks, tuple(Sighted(race, None) for race in found), (), None)
    bound = bind(program, inputs=inputs, params=params, threads=threads)
    verdict = explore(bound, strategy="graph", graph=True, max_states=min(max_states, DRAWN)).verdict
    known, racing = _cells(bound, verdict.graph) if verdict.complete else (set(), set())
    if not verdict.complete and max_states > DRAWN:
        verdict = explore(bound, strategy="graph", max_states=max_states).verdict
    tensors = {race.tensor for race in verdict.races}

    def predicted(race: Race) -> bool | None:
        sure = race.cell in racing if race.cell in known else race.tensor in tensors
        return sure or (False if verdict.complete else None)

    unseen = sorted(tensors - {race.tensor for race in found})
    return Judged(len(accesses), tasks, tuple(Sighted(race, predicted(race)) for race in found), tuple(unseen), verdict)


def _cells(bound: Elaborated, graph: StateGraph | None) -> tuple[set[str], set[str]]:
    """The names of all cells that are accessed, and of those with a race."""
    known, racing = set[str](), set[str]()
    touches: dict[tuple[int, str], tuple[Touch, ...]] = {}
    for edge in graph.edges if graph is not None else ():
        touches[edge.source, edge.task] = edge.touches
        known.update(name for touch in edge.touches for name in _names(touch, bound.towers))
    for number, node in enumerate(graph.nodes if graph is not None else ()):
        for one, other in node.races:
            pairs = ((x, y) for x in touches[number, one] for y in touches[number, other])
            for x in (x for x, y in pairs if x.races(y)):
                racing.update(_names(x, bound.towers))
    return known, racing


def _names(touch: Touch, towers: Mapping[str, Tower]) -> Iterator[str]:
    """The names that a log may use for a cell."""
    yield str(touch.cell)
    tower = towers.get(touch.tensor)
    if tower is None or touch.level != 1 or touch.position is None:
        return
    if any(level.name != "Dense" for level in tower.levels[:-1]):
        return
    at = np.unravel_index(touch.position - 1, tower.shape, order="F") if tower.rank else ()
    yield f"{touch.tensor}[{', '.join(str(int(i) + 1) for i in at)}]"
