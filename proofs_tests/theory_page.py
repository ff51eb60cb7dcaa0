"""The tables of docs/theory.md, from what bench/theory.py has counted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from proofs_tests.theory import Tally
from wingspan import api
from wingspan.dependence import TESTS
from wingspan.explorer.verdict import Verdict

BEGIN, END = "<!-- tables: python bench/theory.py --scope full -->", "<!-- end of tables -->"
LEVELS_BEGIN, LEVELS_END = "<!-- levels: python bench/theory.py --scope levels -->", "<!-- end of levels -->"
OUTCOMES = ("accepted-bad", "accepted-safe", "rejected-safe", "rejected-bad")


def surprising(tally: Tally) -> bool:
    """Whether a sound test accepted what is not safe, or oracle and explorer disagree."""
    sound = ("repaired", "exact")
    unsound = any(tally.count(test, "accepted-bad") or tally.explored.get(test) for test in sound)
    return unsound or bool(tally.disagreements)


def tables(totals: Mapping[str, Tally], programs: Mapping[str, int]) -> str:
    """All tables, and the smallest example of each class of failure; `programs` tells how many each scope has."""
    total = Tally()
    for tally in totals.values():
        total.add(tally)
    parts = [
        "### The tests against the oracle",
        *_counts(totals, programs),
        "### Against the explorer",
        *_explored(totals),
    ]
    for test in TESTS:
        parts += _findings(test, total)
    return "\n".join(parts) + "\n"


def _table(head: str, rows: Iterator[str] | list[str]) -> Iterator[str]:
    yield ""
    yield head
    yield "|" + "---|" * (head.count("|") - 1)
    yield from rows
    yield ""


def _counts(totals: Mapping[str, Tally], programs: Mapping[str, int]) -> Iterator[str]:
    rows = [
        f"| {name if test == TESTS[0] else ''} | {test} | "
        + " | ".join(f"{tally.count(test, outcome):,}" for outcome in OUTCOMES)
        + f" | {tally.programs:,}{'' if tally.programs == programs[name] else f' of {programs[name]:,}'} |"
        for name, tally in totals.items()
        for test in TESTS
    ]
    return _table(f"| scope | test | {' | '.join(OUTCOMES)} | programs |", rows)


def _explored(totals: Mapping[str, Tally]) -> Iterator[str]:
    keys = ("programs", "cut", "bad", "disagree", *TESTS)
    rows = [
        f"| {name} | " + " | ".join(f"{tally.explored.get(key, 0):,}" for key in keys) + " |"
        for name, tally in totals.items()
        if tally.explored
    ]
    wrongly = " | ".join(f"{test} accepts bad" for test in TESTS)
    return _table(f"| scope | explored | cut | bad | oracle disagrees | {wrongly} |", rows)


def _findings(test: str, total: Tally) -> Iterator[str]:
    """Each class of failure of one test with its smallest example."""
    keys = sorted(key for key in total.failures if key.startswith(f"{test}, "))
    yield f"\n### Failures of `{test}`"
    if not keys:
        yield "\nNone.\n"
    for key in keys:
        _, outcome, kind = key.split(", ", 2)
        yield f"\n**{outcome}: {kind}** ({total.failures[key]:,} programs), the smallest:\n"
        yield from _example(total.examples[key][-1], outcome == "accepted-bad")


def _example(text: str, bad: bool) -> Iterator[str]:
    """A program, what happens, and what repairs it."""
    program = api.parse(text)
    yield f"```\n{str(program).rstrip()}\n```\n"
    if bad:
        yield f"- interleaving: {_incident(api.explore(program, max_states=30_000).verdict)}"
    report = api.check(program)
    found = next(iter(report.findings), None)
    yield f"- `repaired`: {report.verdict}{f', {found.topic}: {found.reason}' if found else ''}"
    if report.advice:
        yield f"- repair: `{'; '.join(report.advice[0].change.splitlines())}`"


def _incident(verdict: Verdict) -> str:
    """The shortest interleaving that goes wrong."""
    for race in verdict.races:
        return f"{race.interleaving} (tasks {race.first.task} and {race.second.task} race for {race.cell})"
    for fault in verdict.faults:
        return f"{fault.interleaving} (fault: {fault.message})"
    for deadlock in verdict.deadlocks:
        return f"{deadlock.interleaving} (deadlock)"
    ends = " and ".join(f"{result.interleaving} ends in {result.outcome.values()}" for result in verdict.results[:2])
    return f"{verdict.verdict}: {ends}"


def rewrite(page: Path, text: str, begin: str = BEGIN, end: str = END) -> None:
    """Put the tables between their marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    fresh = page.with_suffix(".new")
    fresh.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")
    os.replace(fresh, page)
