"""Verbs with several values of a parameter: -p nt=1,2,4 gives a table."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import click

from wingspan import api
from wingspan.console import STATUS, choose_form, show_result
from wingspan.dependence import Report
from wingspan.results.comparison import Comparison
from wingspan.results.histogram import Histogram
from wingspan.views import json as data
from wingspan.views import sweep as drawn
from wingspan.views.view import Invocation

SEARCH = ("machine", "strategy", "runs", "depth", "preemptions", "seed", "first", "symmetry")
OPTIONS = {
    "check": ("test", "budget"),
    "explore": (*SEARCH, "always", "ends", "reach", "shortest", "max_states", "max_seconds", "max_memory"),
    "run": ("engine", "unsafe"),
    "diff": ("engines", "repeat", "tolerance", "isolate", "max_states", "unsafe"),
    "stress": ("machine", "engine", "runs", "seed", "max_states", "max_seconds"),
}
"""The verbs that can be swept, and which of their options mean the same for each choice."""


def sweep(
    invocation: Invocation,
    varying: Mapping[str, list[str]],
    verb: str,
    as_json: bool,
    form: str | None = None,
    **options: Any,
) -> NoReturn:
    """Print the table, or its JSON, and end with the worst status."""
    form = choose_form(as_json, form)
    if verb not in OPTIONS:
        raise click.UsageError(f"{verb} takes one value of each parameter; {', '.join(OPTIONS)} take several.")
    for name, values in varying.items():
        if not all(values):
            raise click.UsageError(f"-p {name}: a value is missing between two commas.")
    if form not in ("text", "json"):
        raise click.UsageError(f"--format {form} takes one value of each parameter, not {_list(varying)}.")
    given = {name: value for name, value in options.items() if value not in (None, False, (), {})}
    for name in given:
        if name not in OPTIONS[verb]:
            raise click.UsageError(
                f"--{name.replace('_', '-')} takes one value of each parameter, not {_list(varying)}."
            )
    if "shortest" in given:
        given["exact"] = given.pop("shortest")
    binding = {**invocation.binding, "params": {**invocation.binding["params"], **varying}}
    made = api.sweep(getattr(api, verb), invocation.runnable, **binding, **given)
    show_result(form == "json", lambda: data.sweep(made), lambda: drawn.sweep(made))
    sys.exit(max(1 if point.fault else _status(point.result) for point in made.points))


def _list(varying: Mapping[str, list[str]]) -> str:
    return ", ".join(f"{name}={','.join(each)}" for name, each in varying.items())


def _status(result: Any) -> int:
    """The exit status of the verb for one result."""
    match result:
        case api.Exploration():
            return STATUS[result.verdict.verdict]
        case Report():
            return 0 if result.verdict == "safe" else 1
        case Comparison():
            return 1 if result.difference else 0
        case Histogram():
            return 1 if result.surprises else 0 if result.verdict.complete else 3
    return 0
