"""Numbers and results as text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, get_args

from wingspan.explorer.verdict import Verdict
from wingspan.lang.algebra import show
from wingspan.lang.printer import value
from wingspan.levels.base import Dependence
from wingspan.results.listing import elements
from wingspan.results.outcome import Outcome, differing

MOST = 4
"""differing elements named of one result"""

BOUNDS = {
    "max-states": "--max-states", "max-seconds": "--max-seconds", "runs": "--runs", "preemptions": "--preemptions",
    "max-memory": "--max-memory", "first": "--first", "interrupt": "Ctrl-C", "signal": "SIGTERM or SIGHUP",
    "workers": "the loss of its workers",
}  # fmt: skip
"""The bounds of a search, as the user knows them."""


def count(n: int, noun: str) -> str:
    """A number with its noun; numbers of more than 15 digits are rounded.

    >>> count(1, "race"), count(1234567, "state"), count(10**40 + 1, "interleaving"), count(2, "access")
    ('1 race', '1 234 567 states', '1.000e+40 interleavings', '2 accesses')
    """
    return f"{digits(n)} {noun}{'' if n == 1 else 'es' if noun.endswith('s') else 's'}"


def digits(n: int) -> str:
    """A natural number, its digits in groups of three."""
    return f"{n:,}".replace(",", " ") if n < 10**15 else f"{Decimal(n):.3e}"


def seconds(elapsed: float) -> str:
    """A time with two digits that count.

    >>> seconds(0.00123), seconds(0.25), seconds(42.125)
    ('0.001 s', '0.25 s', '42.1 s')
    """
    return f"{elapsed:.3f} s" if elapsed < 0.1 else f"{elapsed:.2f} s" if elapsed < 10 else f"{elapsed:.1f} s"


def task(path: str, indices: Sequence[tuple[str, object]]) -> str:
    """A task with the loop indices in force.

    >>> task("1.2", [("i", 3), ("j", 1)]), task("", [])
    ('task 1.2 (i = 3, j = 1)', 'task 0')
    """
    at = ", ".join(f"{name} = {index}" for name, index in indices)
    return f"task {path or '0'}" + (f" ({at})" if at else "")


def reach(verdict: Verdict) -> str:
    """Whether a search has covered all interleavings."""
    if verdict.stopped_by == "first":
        return "stopped at the first finding (--first), so there may be more to find"
    bound = BOUNDS.get(verdict.stopped_by or "", verdict.stopped_by)
    return "complete" if verdict.complete else f"stopped by {bound}, so there may be more to find"


def in_order(kinds: Collection[Dependence]) -> list[Dependence]:
    """Kinds of dependence from the closest to the farthest.

    >>> in_order({"cousin", "node"})
    ['node', 'cousin']
    """
    return [kind for kind in get_args(Dependence) if kind in kinds]


def _differing_texts(one: Any, other: Any) -> tuple[str, str]:
    """Two values that differ, as texts that differ."""
    short = show(one), show(other)
    return short if short[0] != short[1] else (value(one), value(other))


def differences(outcome: Outcome, expected: Outcome) -> str:
    """The first few differences of a result from the sequential result: `c[3] is 1, not 2`."""
    found = []
    for name in differing([outcome, expected]):
        wanted = dict(elements(expected, name))
        found += [(at, held, wanted.get(at)) for at, held in elements(outcome, name) if held != wanted.get(at)]
    lines = [f"{at} is {', not '.join(_differing_texts(held, right))}" for at, held, right in islice(found, MOST)]
    more = len(found) - MOST
    return "; ".join(lines) + (f"; and {more} more" if more > 0 else "") or "another kind of value"
