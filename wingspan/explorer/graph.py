"""Explore the graph of states: equal states are merged, so every state is entered once however many ways lead to it.

Breadth first, so the first way found to a state is a shortest one. The graph of a terminating program is acyclic,
so the ways through it, and with them the interleavings, are counted exactly without walking each of them.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from wingspan.explorer.machine import Machine
from wingspan.explorer.states import Progress, States
from wingspan.explorer.verdict import Verdict

S = TypeVar("S")


def explore_graph(
    machine: Machine[S],
    *,
    expected: Hashable | None = None,
    max_states: int | None = None,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Search all states. `expected` is the right outcome, if it is known; Ctrl-C ends the search with what it has."""
    states = States(machine, max_states, max_seconds, progress)
    states.search(states.flood)
    ends = [*states.faulted, *states.deadlocked]  # a node is listed once for each of its faulting steps
    executions = len(ends) + sum(map(len, states.finished.values()))
    if states.stopped_by is not None:
        return states.verdict("graph", expected, executions)
    found = states.tally(set(ends).union(*states.finished.values()))
    counts = {
        outcome: (sum(found[node][0] for node in nodes), sum(found[node][1] for node in nodes))
        for outcome, nodes in states.finished.items()
    }
    total = sum(found[node][0] for node in ends) + sum(count for count, _ in counts.values())
    return states.verdict("graph", expected, executions, counts, total)
