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


def sweep(made: Sweep) -> str:
    """The table; parameters first, then what the verb found."""
    rows = [_row(point.params, {"fault": point.fault} if point.fault else cells(point.result)) for point in made.points]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return "\n".join(
        table([names, *([row.get(name, "") for name in names] for row in rows)], len(made.points[0].params))
    )


def _row(params: Any, found: dict[str, str]) -> dict[str, str]:
    return {**{name: str(value) for name, value in params.items()}, **found}


@singledispatch
def cells(result: Any) -> dict[str, str]:
    """The cells of a result in the table, by heading."""
    return {"result": repr(result)}


@cells.register
def _(made: Exploration) -> dict[str, str]:
    verdict = made.verdict
    return {
        "verdict": verdict.verdict,
        "interleavings": "" if verdict.interleavings is None else digits(verdict.interleavings),
        "states": digits(verdict.states),
        "results": digits(len(verdict.results)),
        "races": digits(len(verdict.races)),
        "time": seconds(verdict.seconds),
    }


@cells.register
def _(made: Report) -> dict[str, str]:
    fix = made.advice[0].change.splitlines()[0] if made.advice and made.verdict != "safe" else ""
    return {"verdict": made.verdict, "findings": digits(len(made.findings)), "fix": fix}


@cells.register
def _(made: Run) -> dict[str, str]:
    stored = {name: f"{digits(tensor.nnz)} stored" for name, tensor in made.tensors.items()}
    variables = {name: show(value) for name, value in sorted(made.variables.items())}
    return {"engine": made.engine, "time": seconds(made.seconds), **stored, **variables}


@cells.register
def _(made: Comparison) -> dict[str, str]:
    times = {end.engine: seconds(end.seconds) for end in made.endings}
    return {"engines": "same" if made.difference is None else f"differ at {made.difference.place}", **times}


@cells.register
def _(made: Histogram) -> dict[str, str]:
    seen = sum(1 for one in made.observed if one.runs)
    surprises = digits(len(made.surprises)) if made.verdict.complete else "unknown"
    return {
        "ends": digits(seen),
        "of": digits(len(made.observed)),
        "surprises": surprises,
        "time": seconds(made.seconds),
    }
