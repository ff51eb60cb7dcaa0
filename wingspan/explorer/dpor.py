"""Explore one run of each trace: of runs that differ only in the order of steps that do not conflict.

The algorithm is in `_dpor.pyx`.
"""

from __future__ import annotations

from typing import Any

from wingspan.explorer._dpor import Dpor
from wingspan.explorer.findings import Coverage
from wingspan.explorer.states import States

SLICE = 1000
"""So many executions lie between two looks at the clock."""


def walk_traces(states: States[Any]) -> Coverage:
    """Search all traces."""
    search = Dpor(states)
    states.search(lambda: finish(states, search))
    return coverage(search)


def finish(states: States[Any], search: Dpor) -> None:
    """Go on until no trace is left."""
    while not search.run(search.executions + SLICE):
        states.tick()


def coverage(search: Dpor) -> Coverage:
    """What has been walked so far."""
    return Coverage("dpor", search.executions, search.ends)
