"""Explore one run of each trace: of runs that differ only in the order of steps that do not conflict.

The algorithm is in `_dpor.pyx`.
"""

from __future__ import annotations

from typing import Any

from wingspan.explorer._dpor import Dpor
from wingspan.explorer.checkpoint import Checkpoint
from wingspan.explorer.estimate import Estimate, estimate_traces
from wingspan.explorer.findings import Coverage
from wingspan.explorer.states import States

SLICE = 1000
"""So many executions lie between two looks at the clock."""


def finish(
    states: States[Any], search: Dpor, kept: Checkpoint, reason: str = "", total: Estimate | None = None
) -> None:
    """Go on until no trace is left. How many there are is estimated, if it is not known, once that may be of use."""

    def walked() -> tuple[str, int, int, Estimate | None]:
        search.pause = kept.due()
        return "trace", search.executions, search.planned(), total

    states.walked = walked
    while not search.run(search.executions + SLICE):
        states.tick()
        if kept.due():
            kept.write(states, search, "dpor", reason)
        states.look()
        if total is None and search.executions >= SLICE:
            total = estimate_traces(states)


def coverage(search: Dpor) -> Coverage:
    """What has been walked so far."""
    return Coverage("dpor", search.executions, search.ends)
