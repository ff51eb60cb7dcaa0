"""A sweep as a table: a row for each choice of parameters."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from wingspan.api import Exploration, Run
from wingspan.api.sweeping import Sweep
from wingspan.dependence import Report
from wingspan.lang.algebra import show
from wingspan.results.comparison import Comparison
from wingspan.results.histogram import Histogram
from wingspan.views.terminal import table
from wingspan.views.values import digits, seconds


def sweep(sweep: Sweep) -> str:
    """The table; parameters first, then what the verb found."""
    rows = [
        _row(point.params, {"fault": point.fault} if point.fault else cells(point.result)) for point in sweep.points
    ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return "\n".join(
        table([names, *([row.get(name, "") for name in names] for row in rows)], len(sweep.points[0].params))
    )


def _row(params: Any, found: dict[str, str]) -> dict[str, str]:
    return {**{name: str(value) for name, value in params.items()}, **found}


@singledispatch
def cells(result: Any) -> dict[str, str]:
    """The cells of a result in the table, by heading."""
    return {"result": repr(result)}


@cells.register
def _(exploration: Exploration) -> dict[str, str]:
    verdict = exploration.verdict
    return {
        "verdict": verdict.verdict,
        "interleavings": "" if verdict.interleavings is None else digits(verdict.interleavings),
        "states": digits(verdict.states),
        "results": digits(len(verdict.results)),
        "races": digits(len(verdict.races)),
        "time": seconds(verdict.seconds),
    }


@cells.register
def _(report: Report) -> dict[str, str]:
    fix = report.advice[0].change.splitlines()[0] if report.advice and report.verdict != "safe" else ""
    return {"verdict": report.verdict, "findings": digits(len(report.findings)), "fix": fix}


@cells.register
def _(run: Run) -> dict[str, str]:
    stored = {name: f"{digits(tensor.nnz)} stored" for name, tensor in run.tensors.items()}
    variables = {name: show(value) for name, value in sorted(run.variables.items())}
    return {"engine": run.engine, "time": seconds(run.seconds), **stored, **variables}


@cells.register
def _(comparison: Comparison) -> dict[str, str]:
    times = {end.engine: seconds(end.seconds) for end in comparison.endings}
    return {"engines": "same" if comparison.difference is None else f"differ at {comparison.difference.place}", **times}


@cells.register
def _(histogram: Histogram) -> dict[str, str]:
    seen = sum(1 for one in histogram.observed if one.runs)
    surprises = digits(len(histogram.surprises)) if histogram.verdict.complete else "unknown"
    return {
        "ends": digits(seen),
        "of": digits(len(histogram.observed)),
        "surprises": surprises,
        "time": seconds(histogram.seconds),
    }
