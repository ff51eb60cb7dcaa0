"""Explore the graph of states: equal states are merged, so every state is entered once however many ways lead to it.

The graph of a terminating program is acyclic, so the ways through it, and with them the interleavings, are counted
exactly without walking each of them; and so is how likely each end is, if tasks are picked at random.
"""

from __future__ import annotations

from typing import Any

from wingspan.explorer.checkpoint import Checkpoint
from wingspan.explorer.findings import Coverage
from wingspan.explorer.states import LOOK_EVERY, States


def finish(states: States[Any], kept: Checkpoint, reason: str = "") -> None:
    """Go on until no edge is left that has not been followed."""
    while not states.flood(states.nodes + LOOK_EVERY):
        if kept.due():
            kept.write(states, "graph", reason)


def coverage(states: States[Any]) -> Coverage:
    """What has been walked. In a complete search interleavings are counted."""
    covered = Coverage.of_ends("graph", states)
    if states.stopped_by is None:
        ends = states.ends()
        covered.tallied = tallied = states.tally(set(ends))
        covered.interleavings = sum(tallied[node][0] for node in ends)
    return covered
