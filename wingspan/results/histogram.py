"""Compares what racing threads do in practice with what the explorer predicts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from wingspan.base.dataclass import dataclass
from wingspan.base.display import Shown
from wingspan.base.errors import Fault
from wingspan.explorer.verdict import Verdict
from wingspan.results.outcome import Outcome

Progress = Callable[[int, int], None]
"""Called with the number of finished runs, and of the remaining ones."""

PROGRESS_EVERY = 64


@dataclass(frozen=True)
class Observed:
    """An end of runs: an outcome or a fault, the number of these runs, and whether it was predicted."""

    end: Outcome | str
    """the outcome, or the message of the fault"""
    runs: int
    predicted: bool


@dataclass(frozen=True, repr=False)
class Histogram(Shown):
    """The ends of runs, the most frequent first. A predicted end that never occurred has 0 runs."""

    verdict: Verdict
    engine: str
    mode: str
    runs: int
    observed: tuple[Observed, ...]
    seconds: float

    @property
    def surprises(self) -> tuple[Observed, ...]:
        """The ways that occurred and were not predicted. An incomplete search predicts nothing."""
        return tuple(one for one in self.observed if not one.predicted) if self.verdict.complete else ()


def observe(
    execute: Callable[[int], Outcome],
    verdict: Verdict,
    runs: int,
    engine: str,
    mode: str,
    progress: Progress | None = None,
) -> Histogram:
    """Run a program, which is called with 0, 1, …, and count how it ends."""
    began = time.monotonic()
    counts: Counter[Outcome | str] = Counter()
    for number in range(runs):
        try:
            counts[execute(number)] += 1
        except Fault as fault:
            counts[fault.message] += 1
        if progress is not None and number % PROGRESS_EVERY == 0:
            progress(number, runs - number)
    predicted = dict.fromkeys(result.outcome for result in verdict.results)
    predicted |= dict.fromkeys(fault.message for fault in verdict.faults)
    observed = [Observed(end, number, end in predicted) for end, number in counts.most_common()]
    observed += [Observed(end, 0, True) for end in predicted if end not in counts]
    return Histogram(verdict, engine, mode, runs, tuple(observed), time.monotonic() - began)
