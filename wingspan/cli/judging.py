"""The verb that judges a log of another kernel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from wingspan import api
from wingspan.base.signals import terminating
from wingspan.cli.group import main
from wingspan.cli.options import FILE, FINDINGS, beside_program, limit, size
from wingspan.console import began, choose_form, show, show_findings, show_json
from wingspan.views import json as data
from wingspan.views import progress, terminal
from wingspan.views.paint import spinner
from wingspan.views.view import Invocation


@main.command()
@click.argument("log", type=FILE)
@beside_program
@FINDINGS
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop exploring after N states.")
@click.option("--max-seconds", type=click.FloatRange(min=0), metavar="S", callback=limit, help="End within S seconds.")
@click.option("--max-memory", callback=size, metavar="SIZE", help="Stop when memory use reaches SIZE, e.g. 512M or 2G.")
@terminating()
def judge(
    invocation: Invocation | None, as_json: bool, form: str | None, log: Path, max_states: int | None, **bounds: Any
) -> None:
    """Find the races in LOG, the accesses of a parallel kernel of yours.

    A line is a task, an operation and a cell: `1 read c[3]`. With --program, each race is compared with those that
    exploring the program predicts.
    """
    form = choose_form(as_json, form)
    if invocation is None and max_states is not None:
        raise click.UsageError("--max-states is for --program.")
    given: dict[str, Any] = bounds if max_states is None else {"max_states": max_states, **bounds}
    if invocation is not None:
        given |= {"program": invocation.runnable, **invocation.binding}
    with spinner(progress.judging, sys.stderr) as line:
        made = api.judge(log, **given, progress=line, began=began())
    match form:
        case "json":
            show_json(data.judge(made))
        case "text":
            show(terminal.judge(made, str(log)), colours=True)
        case _:
            from wingspan.views import findings

            show_findings(findings.judge(made), form)
    short = made.stopped_by or (made.verdict and not made.verdict.complete)
    sys.exit(1 if made.races else 3 if short else 0)
