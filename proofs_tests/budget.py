"""A budget of processor time for each test: of its process and of those that it has started.

Processor time, since that grows less than wall time on a busy machine; yet it can double there. So a test over the
budget is reported at the end of the run, and fails only at several times that. Setup counts as part of the test that
needs a fixture first. Deep tests have no budget, and neither have campaigns with more effort than in `make test`.

`--costs FILE` writes what each test has taken, a line of JSON for each: its name, the seconds of both kinds, and the
largest resident memory that its process has had until then, in MB.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Container, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from proofs_tests.effort import EFFORT, ORDINARY

BUDGET = 1.5
"""Seconds of processor time for a test that is not deep."""
TOLERANCE = 8
"""So many times the budget are an error. Two hardware threads on one core and cold caches double a time."""
SHOWN = 10
"""The dearest tests that are listed at the end of a run."""

ADVICE = (
    "give the normal suite a small case of the claim (fewer examples by `many`, fewer parameters by `few`, a fixture "
    "that is built once for several tests), and mark the full one `deep`: see CONTRIBUTING.md"
)
KEY = pytest.StashKey["Cost"]()
PROPERTY = "processor seconds"
RESIDENT = "resident MB"


class Cost(NamedTuple):
    """Seconds of processor time: of this process, and of processes that it has started and that have ended."""

    own: float
    others: float

    @classmethod
    def now(cls) -> Cost:
        """The time since the process began."""
        times = os.times()
        return cls(times.user + times.system, times.children_user + times.children_system)

    def since(self, start: Cost) -> Cost:
        """The time from `start` to this."""
        return Cost(round(self.own - start.own, 3), round(self.others - start.others, 3))

    @property
    def total(self) -> float:
        """Both."""
        return self.own + self.others


def resident() -> int:
    """The largest resident memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000


def is_free(marks: Container[str], effort: Fraction) -> bool:
    """Whether a test with these marks has no budget: it is deep, or a campaign of more programs than in `make test`."""
    return "deep" in marks or ("many" in marks and effort > ORDINARY)


def excess(cost: Cost, budget: float = BUDGET) -> str | None:
    """The error of a test that takes several times its budget, if it does."""
    if cost.total <= budget * TOLERANCE:
        return None
    return f"{cost.total:.1f} s of processor time, where {budget:g} s are the budget of a test: {ADVICE}"


def dearest(costs: Iterable[tuple[str, Cost]], number: int = SHOWN) -> Iterator[str]:
    """Lines for the end of a run: the sum, and the tests that take longest. A star marks those over the budget."""
    order = sorted(costs, key=lambda one: -one[1].total)
    yield f"{sum(cost.total for _, cost in order):.0f} s of processor time in {len(order)} tests"
    for name, cost in order[:number]:
        yield f"{cost.total:7.1f} s {'*' if cost.total > BUDGET else ' '} {name}"
    if order and order[0][1].total > BUDGET:
        yield f"* over the budget of {BUDGET:g} s: {ADVICE}"


class Costs:
    """A pytest plugin that measures each test, and shows the dearest where results are shown."""

    def __init__(self, file: Path | None, budget: float = BUDGET) -> None:
        self.file, self.budget = file, budget
        self.found: list[tuple[str, Cost]] = []
        self.resident: list[int] = []
        """for each of them, the largest resident memory of its process so far"""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        item.stash[KEY] = Cost.now()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        try:
            made = yield
        finally:
            cost = Cost.now().since(item.stash[KEY])
            item.user_properties += [(PROPERTY, [*cost]), (RESIDENT, resident())]  # xdist sends plain values alone
        marks = {mark.name for mark in item.iter_markers()}
        if not is_free(marks, EFFORT) and (message := excess(cost, self.budget)):
            pytest.fail(message, pytrace=False)
        return made

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            costs: list[Any] = [cost for name, cost in report.user_properties if name == PROPERTY]
            self.found += [(report.nodeid, Cost(*cost)) for cost in costs]
            numbers: list[Any] = [number for name, number in report.user_properties if name == RESIDENT]
            self.resident += numbers

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.file:
            every = zip(self.found, self.resident, strict=True)
            lines = (json.dumps([name, *cost, number]) + "\n" for (name, cost), number in every)
            self.file.write_text("".join(lines), encoding="utf-8")
        if len(self.found) > SHOWN:
            terminalreporter.section("dearest tests")
            for line in dearest(self.found):
                terminalreporter.write_line(line)
            terminalreporter.write_line(f"{max(self.resident)} MB resident at most in a process that runs tests")
