"""Strategies that explore the interleavings of any `Machine`."""

from wingspan.explorer.incident import Deadlock, FaultReport, Incident, RunFault
from wingspan.explorer.interleaving import Mismatch, Replay, format_interleaving, parse_interleaving, replay
from wingspan.explorer.machine import Blocked, CellAccess, Machine, Step
from wingspan.explorer.search import STRATEGIES, Search, explore
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
