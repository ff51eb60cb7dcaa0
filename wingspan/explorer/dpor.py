"""Explore one run of each trace: of runs that differ only in the order of steps that do not conflict.

The algorithm is in `_dpor.pyx`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from wingspan.explorer._dpor import Dpor
from wingspan.explorer.machine import Machine
from wingspan.explorer.states import Progress, States
from wingspan.explorer.verdict import Verdict

S = TypeVar("S")


def explore_dpor(
    machine: Machine[S],
    *,
    expected: Hashable | None = None,
    max_states: int | None = None,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Search all traces. `expected` is the right outcome, if it is known; Ctrl-C ends the search with what it has."""
    states = States(machine, max_states, max_seconds, progress)
    search = Dpor(states)
    states.search(search.run)
    return states.verdict("dpor", expected, search.executions)
