"""Random programs of several shapes, judged by the three tests and by the explorer.

The explorer is the ground truth. A fault that values cause (`VALUES`) is counted apart from what makes a program bad,
since no test looks at values. A search that is cut before it finds anything is `cut`, never `safe`. `repaired` judges
each program twice: as it is, and as `open`, with its bounds, extents, data and numbers of threads left open (`opened`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from proofs_tests.drafts import opened
from proofs_tests.exploring import explore_graph
from wingspan import api
from wingspan.api.machines import expected_of
from wingspan.dependence import TESTS, Analysis
from wingspan.dependence.explain import Trouble, VariableRace
from wingspan.elaborate import Elaborated
from wingspan.explorer.verdict import Verdict
from wingspan.levels import Tower

Truth = Literal["safe", "bad", "value", "cut"]
TRUTHS: tuple[Truth, ...] = ("bad", "value", "safe", "cut")
Judge = Literal["printed", "repaired", "exact", "open"]
JUDGES: tuple[Judge, ...] = (*TESTS, "open")
SOUND: tuple[Judge, ...] = ("repaired", "exact", "open")
BUDGETS = (30, 300)
"""States that are explored at first: what is bad mostly shows at once."""

VALUES = re.compile(
    r"^(freeze\(\w+\): )?(overflow|division by zero|the assertion does not hold|"
    r"\w+ has the indices|.* needs |.* is not an? |.* does not fit )"
)
"""Messages of faults that values cause; every other fault is one that an accepted program must not have."""


def truth(verdict: Verdict) -> Truth:
    """The explorer's answer on a program: the worst that it has found."""
    if any(not VALUES.match(fault.message) for fault in verdict.faults):
        return "bad"
    if (
        verdict.races
        or verdict.deadlocks
        or verdict.verdict in ("order-dependent", "wrong")
        or len(verdict.results) > 1
    ):
        return "bad"
    if verdict.faults:
        return "value"
    return "safe" if verdict.complete else "cut"


def explored(bound: Elaborated, most: int) -> Verdict:
    """The explorer's verdict in as few states as show that a program is bad, and in at most so many."""
    machine, expected = api.semantics(bound), expected_of(bound)
    for states in (*(n for n in BUDGETS if n < most), most):
        verdict = explore_graph(machine, expected=expected, max_states=states)
        if verdict.complete or truth(verdict) == "bad":
            break
    return verdict


# ------------------------------------------------------------------------------------------------------------- verdicts


REASONED: tuple[Judge, ...] = ("repaired", "exact")
"""The tests whose reasons are counted."""


def refusals(text: str, bound: Elaborated) -> Iterator[tuple[Judge, str]]:
    """The reasons of each test for rejecting the program; none if it accepts it."""
    tests = Analysis(bound.body)
    for test in TESTS:
        yield test, reason(tests.troubles(bound.towers, test), bound.towers)
    general = api.bind(api.parse(opened(text)), symbolic=True)
    analysis = Analysis(general.body, general.symbols)
    yield "open", reason(analysis.troubles(general.towers, "repaired"), general.towers)


def reason(troubles: Iterable[Trouble], towers: Mapping[str, Tower]) -> str:
    """All that a test finds in a few words: the topic, or for Algorithm 1 the kinds that a level lacks."""
    topics: set[str] = set()
    kinds: set[str] = set()
    levels: set[str] = set()
    for trouble in troubles:
        match trouble:
            case (pair, need):
                topics.add("level-dependence")
                kinds |= need.missing
                levels.add(towers[pair.one.tensor].levels[need.depth].name)
            case VariableRace():
                topics.add("variable")
            case _:
                topics.add(trouble.topic)
    if topics != {"level-dependence"}:
        return "several topics" if len(topics) > 1 else "".join(topics)
    where = "several levels" if len(levels) > 1 else "".join(levels)
    return f"{' and '.join(sorted(kinds))} at {where}"


@dataclass
class Tally:
    """The number of programs by `test, accepted or rejected, truth`; and those that show a test to be unsound."""

    counts: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    """the number of programs that `REASONED` rejects, by `test, reason, truth`"""
    unsound: list[str] = field(default_factory=list)
    sometimes: int = 0
    """programs that `repaired` accepts and in which values cause a fault in some interleavings only"""

    def note(self, text: str, most: int, explore_all: bool = True) -> None:
        """Judge one program, from at most so many states; unless all are explored, only if a sound test accepts it."""
        bound = api.bind(api.parse(text))
        refused = dict(refusals(text, bound))
        if not explore_all and all(refused[test] for test in SOUND):
            return
        verdict = explored(bound, most)
        found = truth(verdict)
        for test, reason in refused.items():
            key = f"{test}, {'rejected' if reason else 'accepted'}, {found}"
            self.counts[key] = self.counts.get(key, 0) + 1
            if reason and test in REASONED:
                key = f"{test}, {reason}, {found}"
                self.reasons[key] = self.reasons.get(key, 0) + 1
            if found == "bad" and not reason and test in SOUND:
                self.unsound.append(f"{test} accepts, explored: {verdict.verdict}\n{text}")
        self.sometimes += found == "value" and not refused["repaired"] and bool(verdict.results)

    def add(self, other: Tally) -> None:
        """Count what another tally has counted."""
        for mine, others in ((self.counts, other.counts), (self.reasons, other.reasons)):
            for key, number in others.items():
                mine[key] = mine.get(key, 0) + number
        self.unsound += other.unsound
        self.sometimes += other.sometimes

    @property
    def programs(self) -> int:
        """The number of programs explored."""
        return sum(number for key, number in self.counts.items() if key.startswith(TESTS[0]))

    def count(self, test: str, outcome: str, found: str) -> int:
        """The number of programs that a test has `accepted` or `rejected` of those with a truth."""
        return self.counts.get(f"{test}, {outcome}, {found}", 0)
