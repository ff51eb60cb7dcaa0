"""Races in a state: two next steps of different tasks that conflict, not both of them atomic.

Conflicting steps that are both enabled in one reachable state are exactly the races of a program. Examining states
instead of single traces misses none of them even when equal states are merged.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import product
from typing import Any

from wingspan.base.errors import Span
from wingspan.explorer.machine import CellAccess, Effect, Step
from wingspan.explorer.verdict import AccessReport, Race

OPERATIONS: dict[Effect, str] = {
    "read": "read", "look": "atomic read", "write": "write", "atomic": "atomic update", "acquire": "acquire",
    "release": "release",
}  # fmt: skip

Key = tuple[Hashable, ...]
"""Two races with this in common count as one: tensor, level, buffer, kind, and the places in the program."""


def kind_of(one: CellAccess, other: CellAccess) -> str:
    """The dependence between two accesses to one cell: node, sibling or cousin; "" for a variable.

    An access without position or index is to a whole level or fiber, and meets everything in it.
    """
    if one.level is None:
        return ""
    if one.position is not None and other.position is not None and one.position != other.position:
        return "cousin"
    if one.index is not None and other.index is not None and one.index != other.index:
        return "sibling"
    return "node"


def span_key(span: Span | None) -> tuple[str, int, int, int, int]:
    """A key that distinguishes spans; faster to hash than the span, and ordered."""
    if span is None:
        return ("", 0, 0, 0, 0)
    return (span.source.name, span.line, span.column, span.end_line, span.end_column)


def races_of(one: Step[Any], other: Step[Any]) -> Iterator[tuple[Key, CellAccess, CellAccess]]:
    """The races between two steps of different tasks, each with the two accesses."""
    spans = tuple(sorted((span_key(one.span), span_key(other.span))))
    for x, y in product(one.footprint, other.footprint):
        if x.races(y):
            yield (x.tensor, x.level, x.level_name, x.buffer, kind_of(x, y), spans), x, y


def report_race(first: Step[Any], x: CellAccess, second: Step[Any], y: CellAccess, interleaving: str) -> Race:
    """A race, for display."""
    return Race(
        tensor=x.tensor,
        level=x.level,
        level_name=x.level_name,
        buffer=x.buffer,
        kind=kind_of(x, y),
        cell=str(x.cell),
        first=_access(first, x),
        second=_access(second, y),
        interleaving=interleaving,
    )


def _access(step: Step[Any], touch: CellAccess) -> AccessReport:
    operation = OPERATIONS[touch.effect]
    return AccessReport(step.task, step.rule, operation, touch.position, touch.index, step.span, step.indices)
