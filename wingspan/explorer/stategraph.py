"""The states that a search has visited, and the steps between them, as plain data for drawing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from wingspan.base.errors import Fault
from wingspan.explorer._space import BLOCKED
from wingspan.explorer.machine import Blocked
from wingspan.explorer.states import States
from wingspan.explorer.verdict import StateEdge, StateGraph, StateNode


def state_graph(states: States[Any]) -> StateGraph:
    """Everything known. The machine is asked once more for every step."""
    numbers = range(states.nodes)
    nodes = tuple(_node(states, number) for number in numbers)
    return StateGraph(nodes, tuple(edge for number in numbers for edge in _edges(states, number)))


def _node(states: States[Any], number: int) -> StateNode:
    moves = states.moves(number)
    able = [(states.paths[task], act) for task, act, target in moves if target != BLOCKED]
    choices = [states.choice(number, states.paths[task]) for task, _, target in moves if target == BLOCKED]
    return StateNode(
        outcome=next((what for (kind, what), _ in states.at.get(number, ()) if kind == "result"), None),
        races=tuple((one, other) for (one, p), (other, q) in combinations(able, 2) if states.race(p, q)),
        waiting=tuple(choice for choice in choices if isinstance(choice, Blocked)),
        state=states.state(number),
    )


def _edges(states: States[Any], number: int) -> Iterator[StateEdge]:
    for task, _, target in states.moves(number):
        if target == BLOCKED:
            continue
        step = states.step(number, states.paths[task])
        yield StateEdge(
            source=number,
            target=target if target >= 0 else None,
            fault=step.next.message if isinstance(step.next, Fault) else None,
            task=step.task,
            rule=step.rule,
            touches=step.footprint,
            span=step.span,
            indices=step.indices,
        )
