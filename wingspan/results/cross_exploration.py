"""Compare what exploring finds in one program on two machines: the rules, and the compiled plan."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from typing import Any

from wingspan.explorer.races import span_key
from wingspan.explorer.verdict import AccessReport, Verdict
from wingspan.results.comparison import CrossExploration, Difference, Ending, arrays_of, difference
from wingspan.results.outcome import Outcome


def compare_verdicts(
    one: Verdict, other: Verdict, outputs: Sequence[str] = (), tolerance: float = 0.0
) -> CrossExploration:
    """Compare outcomes, races, faults and deadlocks of complete searches, up to counts, names of tasks and examples.

    `tolerance` is the largest relative difference of two doubles in outcomes that count as equal.
    """
    states = {verdict.machine: verdict.states for verdict in (one, other)}
    if stopped_by := one.stopped_by or other.stopped_by:
        return CrossExploration(states, stopped_by, None)
    for what, first, second in zip(("races", "faults", "deadlocks"), _incidents(one), _incidents(other), strict=True):
        if first.keys() != second.keys():
            return CrossExploration(states, None, _difference(what, one, first, other, second))
    mine, others = ({result.outcome for result in each.results} for each in (one, other))
    first, second = (
        _select_unmatched(mine, others, outputs, tolerance),
        _select_unmatched(others, mine, outputs, tolerance),
    )
    found = _difference("outcomes", one, first, other, second) if first or second else None
    return CrossExploration(states, None, found)


def _incidents(verdict: Verdict) -> tuple[dict[Hashable, str], ...]:
    """The races, faults and deadlocks of a verdict, as far as they are comparable, each in words."""

    def site(access: AccessReport) -> tuple[str, Any]:
        return access.rule, span_key(access.span)

    def line(access: AccessReport) -> str:
        return f"{access.rule} in line {access.span.line}" if access.span else access.rule

    races: dict[Hashable, str] = {
        (each.tensor, each.level, each.buffer, each.kind, frozenset((site(each.first), site(each.second)))):
        f"{each.cell}: {line(each.first)}, {line(each.second)}"
        for each in verdict.races
    }  # fmt: skip
    faults: dict[Hashable, str] = {
        (each.message, each.rule, span_key(each.span)): each.message for each in verdict.faults
    }
    return races, faults, {each.message: each.message for each in verdict.deadlocks}


def _select_unmatched(
    some: Set[Outcome], others: Set[Outcome], outputs: Sequence[str], tolerance: float
) -> dict[Hashable, str]:
    """The outcomes that equal none of the others, doubles up to a tolerance; each in words."""
    if not (rest := some - others):
        return {}
    ends = [_ending(outcome) for outcome in others]
    return {
        outcome: str(outcome.values())
        for outcome in rest
        if all(difference(_ending(outcome), each, outputs, tolerance) for each in ends)
    }


def _ending(outcome: Outcome) -> Ending:
    return Ending("", arrays_of(outcome.values()), 0.0)


def _difference(
    what: str, one: Verdict, first: Mapping[Hashable, str], other: Verdict, second: Mapping[Hashable, str]
) -> Difference:
    """A finding of the first kind that differs, which one machine has and the other has not."""

    def has(mine: Mapping[Hashable, str], others: Mapping[Hashable, str]) -> str:
        return min((text for key, text in mine.items() if key not in others), default="none that the other lacks")

    place = f"the {what} of all interleavings"
    return Difference(place, one.machine, has(first, second), other.machine, has(second, first))
