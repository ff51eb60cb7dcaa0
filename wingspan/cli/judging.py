"""The verb that judges a log of another kernel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from wingspan import api
from wingspan.cli.group import main
from wingspan.cli.options import FILE, beside_program
from wingspan.console import show, show_json
from wingspan.views import json as data
from wingspan.views import terminal
from wingspan.views.view import Invocation


@main.command()
@click.argument("log", type=FILE)
@beside_program
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop exploring after N states.")
def judge(told: Invocation | None, as_json: bool, log: Path, max_states: int | None) -> None:
    """Find the races in LOG, the accesses of a parallel kernel of yours.

    A line is a task, an operation and a cell: `1 read c[3]`. With --program, each race is compared with those that
    exploring the program predicts.
    """
    if told is None and max_states is not None:
        raise click.UsageError("--max-states is for --program.")
    bounds: dict[str, Any] = {} if max_states is None else {"max_states": max_states}
    given = {} if told is None else {"program": told.runnable, **told.binding}
    made = api.judge(log, **given, **bounds)
    if as_json:
        show_json(data.judge(made))
    else:
        show(terminal.judge(made, str(log)), colours=True)
    sys.exit(1 if made.races else 0 if made.verdict is None or made.verdict.complete else 3)
