"""Strategies that explore the interleavings of any `Machine`."""

from typing import TYPE_CHECKING, Any

from wingspan.explorer.incident import Deadlock, FaultReport, Incident, RunFault
from wingspan.explorer.interleaving import Mismatch, Replay, format_interleaving, parse_interleaving, replay
from wingspan.explorer.machine import Blocked, CellAccess, Machine, Step
from wingspan.explorer.verdict import (
    VERDICTS,
    AccessReport,
    Race,
    Result,
    StateEdge,
    StateGraph,
    StateNode,
    Verdict,
)

if TYPE_CHECKING:
    from wingspan.explorer.search import STRATEGIES, Search, explore

__all__ = [
    "STRATEGIES",
    "VERDICTS",
    "AccessReport",
    "Blocked",
    "CellAccess",
    "Deadlock",
    "FaultReport",
    "Incident",
    "Machine",
    "Mismatch",
    "Race",
    "Replay",
    "Result",
    "RunFault",
    "Search",
    "StateEdge",
    "StateGraph",
    "StateNode",
    "Step",
    "Verdict",
    "explore",
    "format_interleaving",
    "parse_interleaving",
    "replay",
]


def __getattr__(name: str) -> Any:
    """Load the strategies when they are first asked for: reports on other verbs use the types above, and no search."""
    if name not in ("STRATEGIES", "Search", "explore"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from wingspan.explorer import search

    return getattr(search, name)
