"""Programs of small scope, judged: by the oracle, by the explorer, and by the three tests; and how these compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from proofs_tests.exploring import explore_graph
from proofs_tests.scopes import Nest, tower
from proofs_tests.trace_memory import Kit
from proofs_tests.trace_oracle import Truth, judge
from wingspan.api.machines import expected_of
from wingspan.base.once import Once
from wingspan.buffers import procedures
from wingspan.dependence import TESTS, Analysis
from wingspan.explorer.verdict import Verdict
from wingspan.levels import Tower
from wingspan.levels.base import Level
from wingspan.results.outcome import Outcome
from wingspan.semantics.machine import Semantics

BUDGETS = (30, 300, 3_000)
"""States that are explored at first: most races show at once, and then nothing more need be known."""


@cache
def analysis(nest: Nest) -> Analysis:
    """The dependence test of a nest, which keeps what it finds out about pairs of iterations."""
    return Analysis(nest.bound.body)


@cache
def _expected(nest: Nest) -> Outcome | None:
    return expected_of(nest.bound)


def explored(nest: Nest, over: Tower, most: int = 30_000) -> Verdict:
    """The explorer's verdict, from as few states as tell a race; incomplete without one beyond `most` states."""
    bound = nest.bound
    machine = Semantics(bound.body, {"T": over}, {}, bound.outputs)
    for states in (*(n for n in BUDGETS if n < most), most):
        verdict = explore_graph(machine, expected=_expected(nest), max_states=states)
        if verdict.complete or verdict.races:
            break
    return verdict


FAULTS = {
    "outside of a task": "gate",
    "belongs to thread": "claim",
    "in ascending order": "order",
    "appended to by one visit": "order",
    "while a visit": "overlap",
}
"""The topic of a fault, by a part of its message."""


def trouble(truth: Truth, over: Tower) -> str:
    """The class of what goes wrong."""
    if truth.race is not None:
        level = over.levels[truth.race[1]].name
        return f"race in {level}"
    if truth.fault:
        (name,) = (name for part, name in FAULTS.items() if part in truth.fault)
        return name
    return "deadlock" if truth.deadlock else "wrong" if truth.wrong else "safe"


def refusal(nest: Nest, over: Tower, test: Any) -> str:
    """The first finding of a test, in words of the tower."""
    match next(iter(analysis(nest).troubles({"T": over}, test))):
        case (_, need):
            return f"level-dependence at {over.levels[need.depth].name}"
        case found:
            return str(found.topic)  # type: ignore[union-attr]


def size(program: str, modifiers: int) -> tuple[int, int, int, str]:
    """The size of a program: modifiers, then loops, then letters."""
    return modifiers, program.count("for "), len(program), program


@dataclass
class Tally:
    """The numbers of right and wrong verdicts, and the smallest example of each class of failure."""

    programs: int = 0
    bad: int = 0
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """by test: accepted-bad, accepted-safe, rejected-safe, rejected-bad"""
    failures: dict[str, int] = field(default_factory=dict)
    """by `test, failure, class`"""
    examples: dict[str, list[Any]] = field(default_factory=dict)
    """by `test, failure, class`: the size of the smallest program, which ends with the program"""
    explored: dict[str, int] = field(default_factory=dict)
    """by the explorer: programs, bad, cut, disagree (with the oracle), and each test's accepted-bad"""
    disagreements: list[str] = field(default_factory=list)

    def note(self, nest: Nest, root: Level, over: Tower, truth: Truth) -> None:
        """Count one program."""
        self.programs += 1
        self.bad += truth.bad
        for test in TESTS:
            accepted = analysis(nest).verdict({"T": over}, test) == "safe"
            outcome = f"{'accepted' if accepted else 'rejected'}-{'bad' if truth.bad else 'safe'}"
            self._count(test, outcome, 1)
            if outcome == "accepted-bad":
                self._failure(f"{test}, {outcome}, {trouble(truth, over)}", nest, root, over)
            elif outcome == "rejected-safe":
                self._failure(f"{test}, {outcome}, {refusal(nest, over, test)}", nest, root, over)

    def _failure(self, key: str, nest: Nest, root: Level, over: Tower) -> None:
        self.failures[key] = self.failures.get(key, 0) + 1
        mine = list(size(nest.program(root), sum(level.modifier for level in over.levels)))
        self.examples[key] = min(self.examples.get(key, mine), mine)

    def explore(self, nest: Nest, root: Level) -> None:
        """Compare the oracle and the tests with the explorer."""
        over = tower(root, nest.extent)
        truth, verdict = oracle(nest, {nest.op: Kit(over, nest.op)}), explored(nest, over)
        told = verdict.complete or bool(verdict.races)
        bad = told and verdict.verdict != "safe"
        seen = {"programs": True, "cut": not told, "bad": bad}
        seen["disagree"] = told and (bad != truth.bad or bool(verdict.races) != (truth.race is not None))
        for test in TESTS:
            seen[test] = bad and analysis(nest).verdict({"T": over}, test) == "safe"
        for key, is_so in seen.items():
            self.explored[key] = self.explored.get(key, 0) + is_so
        if seen["disagree"]:
            self.disagreements.append(f"{nest.program(root)}\noracle: {truth}, explorer: {verdict.verdict}")

    def add(self, other: Tally) -> None:
        """Count what another tally has counted."""
        self.programs += other.programs
        self.bad += other.bad
        for test, counts in other.counts.items():
            for outcome, number in counts.items():
                self._count(test, outcome, number)
        for key, number in other.failures.items():
            self.failures[key] = self.failures.get(key, 0) + number
            self.examples[key] = min(self.examples.get(key, other.examples[key]), other.examples[key])
        for key, number in other.explored.items():
            self.explored[key] = self.explored.get(key, 0) + number
        self.disagreements += other.disagreements

    def _count(self, test: str, outcome: str, number: int) -> None:
        counts = self.counts.setdefault(test, {})
        counts[outcome] = counts.get(outcome, 0) + number

    def count(self, test: str, outcome: str) -> int:
        """The number of programs of one kind."""
        return self.counts.get(test, {}).get(outcome, 0)


def oracle(nest: Nest, kits: dict[str, Kit]) -> Truth:
    """The oracle's verdict on a nest; `=` may also give another value."""
    return judge(nest.items, {"T": kits[nest.op]}, values=nest.op == "=")


def tally(nests: Sequence[Nest], roots: Iterable[Level]) -> Tally:
    """The tests against the oracle, on every nest with every format; all nests have one extent."""
    found = Tally()
    for root in roots if nests else ():
        over = tower(root, nests[0].extent)
        kits = {op: Kit(over, op) for op in ("+", "=")}
        for nest in nests:
            found.note(nest, root, over, oracle(nest, kits))
        forget()
    return found


def forget() -> None:
    """Drop the procedures of formats that will not come again."""
    for made in vars(procedures).values():
        if isinstance(made, Once):
            made.cache_clear()
