"""Explore all runs with few preemptions, fewest first: most bugs need no more than two (iterative context bounding)."""

from __future__ import annotations

from typing import Any

from wingspan.explorer.bounds import Stopped
from wingspan.explorer.findings import SearchStatistics
from wingspan.explorer.shortest import Shortest
from wingspan.explorer.states import States


def walk_bounded(states: States[Any], preemptions: int) -> SearchStatistics:
    """Search all runs with at most this many preemptions."""
    search = Shortest(states, follow=True, limit=preemptions)

    def walk() -> None:
        search.walk()
        if search.cut:
            raise Stopped("preemptions")

    states.search(walk)
    what = "no state takes more" if states.stopped_by is None else "what takes more is not covered"
    covered = SearchStatistics.from_ends("bounded", states)
    covered.remark = f"at most {preemptions} preemptions; {what}"
    return covered
