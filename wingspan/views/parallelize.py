"""The placements of a program, as text: a table, and the best program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wingspan.api import Candidate, Parallelized
from wingspan.choices import counts
from wingspan.choices.placements import RejectedLoops
from wingspan.dependence.findings import promise
from wingspan.views.terminal import align, table
from wingspan.views.values import count, seconds

SHOWN = 5
"""The number of candidates to show by default."""


def parallelize(parallelized: Parallelized, name: str, top: int = SHOWN, every: bool = False) -> str:
    """The verdict, the table, why other loops are not parallel (`every`, or if none is), the best program, notes."""
    safe = [one for one in parallelized.candidates if one.placement.loops]
    parts = [_headline(parallelized, name, len(safe))]
    if safe:
        parts.append("\n".join(_candidates(parallelized, top)))
    if parallelized.rejected and (every or not safe):
        parts.append(
            "\n".join(["parallel in none of them:" if safe else "why:", *_rejected_loops(parallelized.rejected)])
        )
    if safe:
        parts.append(str(parallelized.program).rstrip())
    return "\n\n".join([*parts, "\n".join(align([*_notes(parallelized, every or not safe)]))])


def _headline(parallelized: Parallelized, name: str, safe: int) -> str:
    if not safe:
        return f"none  {name}: no loop can be parallel"
    best = parallelized.candidates[0]
    placed = count(safe, "placement")
    if not best.placement.loops:
        how = "measured" if best.seconds else "expected"
        return (
            f"serial  {name}: {placed} found safe for {count(parallelized.threads, 'thread')}, none {how} to be faster"
        )
    faster = f"{_ratio(best, parallelized):.2f} times as fast as serial"
    how = f"measured {faster}" if best.seconds else f"expected to be {faster}"
    return f"parallel  {name}: {placed} found safe for {count(parallelized.threads, 'thread')}, the best {how}"


def _ratio(one: Candidate, parallelized: Parallelized) -> float:
    """The speed-up of a candidate over the serial program, measured if it was, else by estimate."""
    alone = parallelized.serial.least
    return alone / one.least if one.least and alone else one.expected


def _candidates(parallelized: Parallelized, top: int) -> Iterator[str]:
    """A row for each of the best, its formats below it; the serial program among them."""
    rows = [["expected", *(["measured"] if parallelized.engine else []), "placement"]]
    for k, one in enumerate(parallelized.candidates):
        if k < top or not one.placement.loops:
            measured = (
                [f"{_ratio(one, parallelized):.2f}× {seconds(one.least)}" if one.least else "–"]
                if parallelized.engine
                else []
            )
            first, *more = (*one.placement.loops, *one.placement.formats) or ("serial",)
            rows.append([f"{one.expected:.2f}×", *measured, first])
            rows += [["", *([""] if parallelized.engine else []), line] for line in more]
    yield from table(rows, len(rows[0]) - 1)
    shown = sum(k < top or not one.placement.loops for k, one in enumerate(parallelized.candidates))
    if left := len(parallelized.candidates) - shown:
        yield f"  and {count(left, 'more placement')}: --top {len(parallelized.candidates)} lists them"


def _rejected_loops(rejected: Sequence[RejectedLoops]) -> list[str]:
    """The findings of the test in other loops, which are mostly the same for both schedules."""
    reasons: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for one in rejected:
        reasons.setdefault((one.reasons, one.loops[0].split("=")[0]), []).append(", ".join(one.loops))
    rows = [[loops[0], why] for (whys, _), loops in reasons.items() for why in whys]
    return table([[row[0] if k == 0 or rows[k - 1][0] != row[0] else "", row[1]] for k, row in enumerate(rows)], 0)


def _notes(parallelized: Parallelized, every: bool) -> Iterator[tuple[str, str]]:
    """The assumptions behind the programs and their order."""
    yield "test", f"{parallelized.test}: {promise(['a format'])}"
    if parallelized.params:
        given = ", ".join(f"{name} = {value}" for name, value in parallelized.params.items())
        yield "given", f"{given}: the programs are safe for that, and need not be for other values"
    if parallelized.assumed:
        extents = f"extents as {counts.OPEN}, and {counts.STORED:.0%} of a sparse level stored"
        yield "open", f"{', '.join(parallelized.assumed)}; estimates take {extents}"
    if parallelized.rejected and not every:
        yield "note", "other loops are parallel in none of them: --all says why"
    if parallelized.budget.exceeded:
        steps = count(parallelized.budget.steps, "step")
        yield "note", f"the search was cut short after {steps}: --budget {parallelized.budget.larger} searches further"
    elif not parallelized.complete:
        yield "note", "there are more combinations than were tried"
