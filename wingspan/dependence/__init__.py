"""The level dependence test: which parallel loops are safe over which formats, without running anything."""

from dataclasses import replace

from wingspan.dependence.analysis import Analysis
from wingspan.dependence.findings import TESTS, Advice, Finding, Iteration, Report, SafetyProof, Test, Verdict, Witness
from wingspan.elaborate import Elaborated

__all__ = [
    "TESTS",
    "Advice",
    "Analysis",
    "Finding",
    "Iteration",
    "Report",
    "SafetyProof",
    "Test",
    "Verdict",
    "Witness",
    "check",
]


def check(program: Elaborated, test: Test = "repaired") -> Report:
    """Run a test on a bound program, and explain its verdict."""
    report = Analysis(program.body, program.symbols).report(program.towers, test)
    return replace(report, symbols=program.symbols)
