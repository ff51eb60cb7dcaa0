"""Strategies that explore the interleavings of any `Machine`."""

from wingspan.explorer.dpor import explore_dpor
from wingspan.explorer.graph import explore_graph
from wingspan.explorer.incident import Deadlock, FaultReport, Incident, RunFault
from wingspan.explorer.interleaving import Replay, format_interleaving, parse_interleaving, replay
from wingspan.explorer.machine import Blocked, Machine, Step, Touch
from wingspan.explorer.verdict import VERDICTS, AccessReport, Race, Result, Verdict

__all__ = [
    "VERDICTS",
    "AccessReport",
    "Blocked",
    "Deadlock",
    "FaultReport",
    "Incident",
    "Machine",
    "Race",
    "Replay",
    "Result",
    "RunFault",
    "Step",
    "Touch",
    "Verdict",
    "explore_dpor",
    "explore_graph",
    "format_interleaving",
    "parse_interleaving",
    "replay",
]
