"""Tiny programs: both strategies find in them what trying all orders finds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from typing import NamedTuple

import pytest

from proofs_tests.effort import due, few, many
from proofs_tests.explorer.plain import PlainLitmus
from proofs_tests.explorer.test_dpor import searched
from proofs_tests.exploring import explore_graph
from proofs_tests.traces import Traces
from wingspan.base.errors import Fault, Span
from wingspan.explorer import Step, Verdict
from wingspan.explorer.settle import settle
from wingspan.testing.litmus import (
    PROGRAMS,
    Add,
    Assert,
    Check,
    Claim,
    Instruction,
    Jump,
    Litmus,
    LitmusState,
    Load,
    Lock,
    Private,
    Program,
    Spawn,
    Store,
    Swap,
    Take,
    Unlock,
)

# ------------------------------------------------------------------------------------------------------ random programs


class Draw(random.Random):
    """Random programs, which reach odd corners: no task, empty ones, locks taken twice or in opposite orders."""

    def cell(self) -> str:
        return self.choice("xxy")

    def small(self) -> int:
        return self.choice([0, 1, 1, 2])

    def access(self) -> Instruction:
        cell, small = self.cell(), self.small()
        plain: list[Instruction] = [Load(cell), Store(cell, small), Store(cell, small, True)]
        atomic: list[Instruction] = [Add(cell), Claim(cell, small), Take(cell, small), Swap(cell, small, self.small())]
        return self.choice(plain) if self.random() < 0.8 else self.choice(atomic)

    def block(self) -> Program:
        """A few instructions: mostly accesses; critical sections; now and then a mistake."""
        dice = self.random()
        if dice < 0.45:
            return (self.access(),)
        if dice < 0.65:
            return self.access(), Jump(self.choice([2, 2, 3]), self.small()), self.access()
        one, other = Lock(self.choice("mn")), Lock(self.choice("mn"))
        if dice < 0.77:
            return one, self.access(), Unlock(one.name)
        if dice < 0.87:
            return one, other, Unlock(other.name), Unlock(one.name)
        if dice < 0.92:
            local: list[Instruction] = [Private(), Jump(2), Jump(2, 0)]
            return (self.choice(local),)
        wrong: list[Instruction] = [Assert(self.small()), Check(self.cell(), self.small()), one, Unlock(other.name)]
        return (self.choice(wrong),)

    def program(self, most: int) -> Program:
        """Blocks, mostly of so many instructions together; the last one may be cut short."""
        length = self.choice([most] * 6 + [*range(most + 1)])
        code: Program = ()
        while len(code) < length:
            code += self.block()
        return code if self.random() < 0.6 else code[:length]

    def spawn(self) -> Program:
        return (Spawn(tuple(self.program(2) for _ in range(self.choice([0, 1, 2, 2, 2, 2])))),)

    def nested(self) -> Litmus:
        """Tasks that run tasks, and loops of tasks one after the other."""
        middle = [self.spawn() if self.random() < 0.6 else () for _ in range(self.choice([0, 1, 2, 2, 2]))]
        after = [self.spawn() + self.program(1) for _ in range(self.choice([0, 1, 1, 2]))]
        return Litmus(*[self.program(1) + each + self.program(1) for each in middle], after=sum(after, ()))

    def region(self, inner: int = 0) -> Spawn:
        """One or two tasks, the first with so many regions inside; some end with what no other task can observe."""
        within: Program = tuple(self.region() for _ in range(inner))
        tasks = [self.program(0 if inner else 3) for _ in range(self.choice([1, 2, 2, 2]))]
        tasks[0] = within + tasks[0]
        return Spawn(tuple((*task, Private()) if self.random() < 0.5 else task for task in tasks))

    def several(self, count: int, nested: bool) -> Litmus:
        """So many regions one after the other, the last of several at times twice; in the first one others, or not."""
        first, *others = (self.region(self.choice([1, 2]) if nested and k == 0 else 0) for k in range(count))
        if others and self.random() < 0.3:
            return Litmus(*first.tasks, after=(*others, Private(), Jump(-2, 1)))
        between = [(region, *self.program(1)) for region in others]
        return Litmus(*first.tasks, after=sum(between, ()))

    def flat(self) -> Litmus:
        """Tasks side by side, and what comes after them."""
        count = self.choice([0, *[1] * 2, *[2] * 20, *[3] * 30, *[4] * 20])
        most = {0: 0, 1: 6, 2: 6, 3: 3, 4: 2}[count]
        return Litmus(*[self.program(most) for _ in range(count)], after=self.program(2))


def litmus(seed: int) -> Litmus:
    """The random program of this number; a search asks it for each step if the number is odd."""
    draw = Draw(seed)
    dice = draw.random()
    if dice < 0.2:
        drawn = draw.several(draw.choice([1, 2, 2, 3]), draw.random() < 0.4)
    else:
        drawn = draw.flat() if dice < 0.6 else draw.nested()
    after, *tasks = drawn.programs
    return PlainLitmus(*tasks, after=after) if seed % 2 else drawn


MOST = 3_000
"""Programs with more beginnings of traces are left out."""
PARTS = 4
"""Many programs are looked at in so many parts, side by side."""

# -------------------------------------------------------------------------------------------------- numbers of traces


SIZES: dict[str, list[tuple[int, ...]]] = {
    "ninc": [(0,), (1,), (4,), (5,)],
    "scatter": [(6, 3), (6, 2), (4, 5)],
    "distinct": [(0,), (1,), (10,)],
    "lockinc": [(1,), (5,), (7,)],
    "readers": [(0,), (1,), (9,), (13,)],
    "lastzero": [(1,), (3,), (5,), (8,), (10,)],
    "chunk": [(2, 6), (3, 4), (4, 4), (1, 3), (3, 0)],
    "chunk_add": [(2, 6), (3, 3), (3, 4), (4, 4), (3, 0)],
    "indexer": [(1,), (11,), (12,), (14,)],
}


DEAR = {("lastzero", (10,)), ("readers", (13,)), ("lockinc", (7,))}
KNOWN = [(name, size) for name, sizes in SIZES.items() for size in sizes]


@pytest.mark.parametrize(
    ("name", "size"), [pytest.param(*known, marks=[pytest.mark.deep] * (known in DEAR)) for known in KNOWN]
)
def test_known_programs_have_the_known_numbers_of_traces(name: str, size: tuple[int, ...]) -> None:
    """Each run once, none given up. The numbers are those of the papers, and of other explorers."""
    known = PROGRAMS[name]
    machine, traces = known.program(*size), known.traces(*size)
    verdict, search = searched(machine)
    assert verdict.complete and (search.executions, search.redundant) == (traces, 0)


def test_every_known_program_is_tried() -> None:
    assert set(SIZES) == set(PROGRAMS)


@pytest.mark.parametrize(("increments", "traces", "states"), few([(5, 14_400, 8_638), (6, 518_400, 118_509)], 1))
def test_increments_have_the_known_numbers_of_traces_and_states(increments: int, traces: int, states: int) -> None:
    """In the states that TLC counts."""
    verdict, search = searched(PROGRAMS["ninc"].program(increments))
    assert (search.executions, search.redundant, verdict.states) == (traces, 0, states)
    assert {result.outcome for result in verdict.results} == {(("x", n),) for n in range(1, increments + 1)}


# ------------------------------------------------------------------------------------------------- against all orders


class Found(NamedTuple):
    """The findings on a program."""

    outcomes: set[Hashable]
    deadlocks: set[frozenset[tuple[str, str]]]
    """tasks, each with the lock that it waits for"""
    faults: set[Span]
    races: set[tuple[str, frozenset[Span]]]
    """the cell, and the two places"""


def findings(verdict: Verdict) -> Found:
    """The findings of a verdict."""
    return Found(
        {result.outcome for result in verdict.results},
        {frozenset((each.task, str(each.lock)) for each in deadlock.waiting) for deadlock in verdict.deadlocks},
        {fault.span for fault in verdict.faults if fault.span is not None},
        {(r.cell, frozenset(s for s in (r.first.span, r.second.span) if s is not None)) for r in verdict.races},
    )


def tried(walked: Traces) -> Found:
    """The findings of a search through all orders."""
    return Found(
        walked.ends,
        {frozenset((each.task, str(each.lock)) for each in waiting) for waiting in walked.deadlocks},
        {place for _, place in walked.faults},
        {(str(cell), places) for cell, places in walked.races},
    )


@pytest.mark.parametrize("part", range(PARTS))
def test_the_reduction_finds_what_all_orders_find(part: int) -> None:
    """On 2,000 random programs: as many runs as there are traces, none given up; and the same findings.

    Without the reduction, the same in all states that there are.
    """
    seen: Counter[str] = Counter()
    for seed in range(part, many(2_020), PARTS):
        machine = litmus(seed)
        walked = Traces(machine, MOST)
        seen["left out" if walked.gave_up else "compared"] += 1
        if not walked.gave_up:
            verdict, search = searched(machine)
            assert (search.executions, search.redundant) == (len(walked.traces), 0), machine
            graph = explore_graph(machine)
            assert findings(verdict) == findings(graph) == tried(walked), machine
            assert graph.states == walked.states, machine
            seen.update(name for name, some in tried(walked)._asdict().items() if some)
            seen["traces"] += len(walked.traces) > 1
            seen["nested"] += any("." in path for path in machine.paths)
    assert seen["compared"] >= due(2_000) // PARTS, seen
    least = {"traces": 0.6, "outcomes": 0.4, "races": 0.4, "deadlocks": 0.1, "faults": 0.1, "nested": 0.1}
    assert all(seen[name] >= share * due(2_000) // PARTS for name, share in least.items()), seen


def chances(
    machine: Litmus, state: LitmusState, known: dict[LitmusState, dict[Hashable, Fraction]]
) -> dict[Hashable, Fraction]:
    """The probability of each outcome from a settled state, if one of the tasks that can step is picked at random."""
    if state not in known:
        choices = [machine.step(state, task) for task in machine.tasks(state)]
        steps = [choice for choice in choices if isinstance(choice, Step)]
        found: Counter[Hashable] = Counter() if choices else Counter({machine.outcome(state): 1})
        for step in steps:
            if not isinstance(step.next, Fault):
                after = chances(machine, settle(machine, step.next, step.task).state, known)
                found.update({outcome: chance / len(steps) for outcome, chance in after.items()})
        known[state] = {outcome: Fraction(chance) for outcome, chance in found.items()}
    return known[state]


def test_outcomes_are_as_likely_as_picking_at_random_makes_them() -> None:
    """Worked out from the end backwards, in fractions; who waits for a lock is not picked, and a fault is an end."""
    locked = 0
    for seed in range(many(200)):
        machine = litmus(seed)
        verdict = explore_graph(machine, max_states=500)
        if verdict.complete:
            expected = chances(machine, settle(machine, machine.initial()).state, {})
            assert {result.outcome: result.probability for result in verdict.results} == pytest.approx(
                {outcome: float(chance) for outcome, chance in expected.items()}
            ), machine
            locked += len(verdict.results) > 1 and bool(machine.locks)
    assert locked >= due(10)
