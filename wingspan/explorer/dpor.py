"""Explore one run of each trace: of runs that differ only in the order of steps that do not conflict.

The algorithm is in `_dpor.pyx`.
"""

from __future__ import annotations

from typing import Any

from wingspan.explorer._dpor import Dpor
from wingspan.explorer.estimate import Estimate, estimate_traces
from wingspan.explorer.findings import Coverage
from wingspan.explorer.states import States

SLICE = 1000
"""So many executions lie between two looks at the clock."""


def walk_traces(states: States[Any]) -> Coverage:
    """Search all traces."""
    search = Dpor(states)
    states.search(lambda: finish(states, search))
    return coverage(search)


def finish(states: States[Any], search: Dpor, total: Estimate | None = None) -> None:
    """Go on until no trace is left. How many there are is estimated, if it is not known, once that may be of use."""
    states.walked = lambda: ("trace", search.executions, search.planned(), total)
    while not search.run(search.executions + SLICE):
        states.tick()
        states.look()
        total = total or estimate_traces(states)


def coverage(search: Dpor) -> Coverage:
    """What has been walked so far."""
    return Coverage("dpor", search.executions, search.ends)
