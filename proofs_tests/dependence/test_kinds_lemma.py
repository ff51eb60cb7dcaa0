"""The first half of the theorem: W bounds the dependences of the accesses that tasks make at a level.

Apart from stability: formats here may race. Tasks of one run of a parallel loop are watched under the rules, in whole
explorations and in runs of several orders; any two of their accesses to one level are of a kind that the repaired test
requires of it, and levels that it skips they do not touch.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, combinations

import pytest

from proofs_tests import scopes
from proofs_tests.effort import due, many
from proofs_tests.exploring import Watched, explore_graph
from proofs_tests.levels.test_isolation import UPDATING
from proofs_tests.scopes import Nest
from wingspan.dependence import Analysis
from wingspan.dependence.level_test import repaired
from wingspan.dependence.sites import EnclosingLoop
from wingspan.explorer.machine import Blocked, CellAccess, Step
from wingspan.levels.atomic import Atomic
from wingspan.levels.base import Level
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element
from wingspan.levels.mutex import Mutex
from wingspan.levels.sparse_byte_map import SparseByteMap
from wingspan.levels.sparse_dict import SparseDict
from wingspan.levels.sparse_list import SparseList
from wingspan.semantics.config import ProgramState
from wingspan.semantics.machine import Semantics

Place = tuple[object, int | None]
"""Position and index; no index where a whole fiber is meant."""

Region = tuple[str, tuple[int, ...]]
"""A run of a parallel loop: its index, and those of the loops around it."""

Visits = Mapping[tuple[Region, int], Mapping[str, set[Place]]]
"""For each run of a parallel loop and each level, what each of its tasks comes to."""


# --------------------------------------------------------------------------------------------------- what tasks come to


class Visitors:
    """Notes where the tasks of parallel loops come to, at every step that updates T.

    In memory, positions and indices are those of the cells: Dense and SparseByteMap compute them, so they are the same
    in every run. Where they are handed out in the order of arrival, `names` (the indices of the subscripts, leaf-most
    first) tell the fibers apart.
    """

    def __init__(self, nest: Nest, names: Sequence[str] = ()) -> None:
        self.parallel = list(parallel_loops(nest))
        self.names = names
        self.found: defaultdict[tuple[Region, int], defaultdict[str, set[Place]]] = defaultdict(
            lambda: defaultdict(set)
        )

    def look(self, machine: Semantics, before: ProgramState, step: Step[ProgramState], after: ProgramState) -> None:
        touched = [touch for touch in step.footprint if touch.level is not None]
        if step.rule not in UPDATING or not step.task or not touched:
            return
        assert step.visible and step.span
        indices = {name: at for name, at in step.indices if isinstance(at, int)}
        path = step.task.split(".")
        for around, loop, lines in self.parallel:
            depth = 1 + sum(outer.parallel for outer in around)
            if step.span.line in lines and len(path) >= depth:
                region = (loop.index, tuple(indices[outer.index] for outer in around))
                for touch in touched:
                    assert touch.level is not None
                    self.found[region, touch.level][".".join(path[:depth])].add(self.place(touch, indices))

    def place(self, touch: CellAccess, indices: Mapping[str, int]) -> Place:
        assert touch.level is not None
        if not self.names:
            return touch.position, touch.index
        position = tuple(indices[name] for name in self.names[touch.level - 1 :])
        own = self.names[touch.level - 2] if touch.level > 1 else ""
        return position, None if touch.index is None else indices[own]


def parallel_loops(nest: Nest) -> Iterator[tuple[tuple[EnclosingLoop, ...], EnclosingLoop, range]]:
    """Each parallel loop, those around it, and the lines of the program that it takes."""
    lines = nest.text.splitlines()
    nesting = [0, *accumulate(line.startswith("for") - (line == "end") for line in lines)]
    for path in {site.loops[:k] for site in Analysis(nest.bound.body).sites.updates for k in range(1, 6)}:
        *around, loop = path
        if loop.parallel and loop.node.span:
            first = loop.node.span.line
            last = next(n for n in range(first, len(lines) + 1) if nesting[n] < nesting[first])
            yield tuple(around), loop, range(first, last + 1)


def visits(nest: Nest, root: Level, names: Sequence[str] = ()) -> Iterator[Visits]:
    """The visits of tasks in whole runs of five orders, and in the first states of an exploration.

    In all states together if it is known beforehand which task runs which iteration.
    """
    bound = replace(nest.bound, towers={"T": scopes.tower(root)})
    if "dynamic" not in nest.text:
        seen = Visitors(nest, names)
        explore_graph(Watched(bound, seen.look), max_states=many(40))
        yield seen.found
    dice = random.Random(nest.text)
    for take in (lambda tasks: tasks, lambda tasks: tasks[::-1], *[lambda tasks: dice.sample(tasks, len(tasks))] * 3):
        seen = Visitors(nest, names)
        run(Watched(bound, seen.look), take)
        yield seen.found


def run(machine: Semantics, take: Callable[[Sequence[str]], Sequence[str]]) -> ProgramState | None:
    """The end of a run, each step by the first of the tasks in that order that can; None if it gets stuck or faults."""
    state = machine.initial()
    while tasks := machine.tasks(state):
        steps = (machine.step(state, task) for task in take(tasks))
        step = next((step for step in steps if not isinstance(step, Blocked)), None)
        if step is None or not isinstance(step.next, ProgramState):
            return None
        state = step.next
    return state


def kinds(found: Mapping[str, set[Place]], leaf: bool) -> Iterator[str]:
    """The dependences between accesses of different tasks; `shared` of one fiber, at indices that are not known."""
    for one, other in combinations(found.values(), 2):
        for p, i in one:
            for q, j in other:
                if p != q:
                    yield "cousin"
                elif leaf or (i is not None and i == j):
                    yield "node"
                else:
                    yield "shared" if i is None or j is None else "sibling"


# -------------------------------------------------------------------------------------------------------------- W


def required(nest: Nest, root: Level) -> dict[tuple[str, int], set[str]]:
    """W of the repaired test, by the index of the parallel loop and the level; `shared` is any of two kinds."""
    W: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for pair in Analysis(nest.bound.body).pairs:
        for need in repaired(pair, scopes.tower(root)):
            W[pair.loop.index, need.number] |= need.W
    for needed in W.values():
        if needed & {"node", "sibling"}:
            needed.add("shared")
    return W


def compared(nest: Nest, root: Level, names: Sequence[str] = ()) -> Counter[str]:
    """The number of levels with exactly the required kinds, and with fewer; none has more."""
    W, counts = required(nest, root), Counter[str]()
    met: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for each in visits(nest, root, names):
        for ((index, _), number), found in each.items():
            met[index, number] |= set(kinds(found, number == 1))
    for at, found_kinds in met.items():
        assert found_kinds <= W[at], f"{nest.text}\n{root}: level {at[1]} under {at[0]} has {found_kinds - W[at]}"
    for at, needed in W.items():
        if needed and at in met:
            counts["exact" if met[at] - {"shared"} == needed - {"shared"} else "fewer"] += 1
    return counts


def stacked(rank: int, *kinds: Callable[..., Level]) -> Level:
    """A format whose levels are of these kinds in turn, the last kind being the leaf's."""
    *storage, leaf = kinds
    level: Level = leaf(0)
    for k in range(rank):
        level = storage[k % len(storage)](level)
    return level


MEMORY: dict[str, tuple[Callable[..., Level], ...]] = {
    "maps": (SparseByteMap, Element),
    "maps over Dense": (Dense, SparseByteMap, Atomic),
    "locked": (lambda below: Mutex(SparseByteMap(below)), Element),
}
"""Formats whose positions are computed."""
ARRIVAL = {
    "dictionaries": (SparseDict, Element),
    "lists": (SparseList, SparseDict, Atomic),
    "Dense over dictionaries": (SparseDict, Dense, Element),
}
"""Formats whose positions are handed out."""


def sample(nests: Sequence[Nest], about: int) -> Sequence[Nest]:
    """About so many of them, evenly; all of them in a long run."""
    return nests[:: max(1, len(nests) // (many(about)))]


SINGLES = [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)]


@pytest.mark.parametrize("form", MEMORY)
def test_the_kinds_of_accesses_in_memory_are_required(form: str) -> None:
    """Nests of up to three loops, up to two of them parallel, of rank 1 to 3, with one access or two.

    Bounds are constants here, and W has hardly a kind too many: those that deadlocks forestall.
    """
    counts: Counter[str] = Counter()
    nests = [nest for rank, loops in SINGLES for nest in sample(scopes.singles(rank, loops), 3)]
    nests += [nest for rank in (1, 2) for nest in sample(scopes.pairs(rank), 6)]
    for nest in nests:
        counts += compared(nest, stacked(nest.rank, *MEMORY[form]))
    assert counts["exact"] >= due(51) and counts["fewer"] <= (counts["exact"] / 4 if form == "locked" else 0), counts


@pytest.mark.parametrize("form", ARRIVAL)
def test_the_kinds_of_accesses_by_subscripts_are_required(form: str) -> None:
    """The same where positions depend on who came first: fibers are told apart by the indices that lead to them."""
    counts: Counter[str] = Counter()
    for rank, loops in SINGLES:
        for nest in sample(scopes.singles(rank, loops), 3):
            (site,) = Analysis(nest.bound.body).sites.updates
            counts += compared(nest, stacked(nest.rank, *ARRIVAL[form]), site.subscripts)
    assert counts["exact"] >= due(11), counts
