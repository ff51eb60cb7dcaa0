"""The verb that makes a program parallel."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from wingspan import api
from wingspan.api.parallelizing import TESTS
from wingspan.cli.group import main
from wingspan.cli.options import FILE, FORCE, on_program
from wingspan.console import show, show_json
from wingspan.dependence import Test
from wingspan.views import json as data
from wingspan.views import progress
from wingspan.views.paint import spinner
from wingspan.views.parallelize import SHOWN
from wingspan.views.parallelize import parallelize as drawn
from wingspan.views.view import Invocation
from wingspan.written import check_new, check_output, write_atomically


@main.command()
@on_program
@click.option("--measure", is_flag=True, help="Run the best ones and the serial program, and rank them by their times.")
@click.option(
    "--top", type=click.IntRange(min=1), default=SHOWN, show_default=True, metavar="K",
    help="Show, and measure, the K best by estimate.",
)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Say why other loops are not parallel.")
@click.option(
    "--test", type=click.Choice(TESTS), default="repaired", show_default=True,
    help="The test that must accept a program; run and compile ask for repaired.",
)  # fmt: skip
@click.option("-o", "out", type=FILE, metavar="FILE", help="Write the best program to FILE.")
@FORCE
def parallelize(
    told: Invocation,
    as_json: bool,
    measure: bool,
    top: int,
    every: bool,
    test: Test,
    out: Path | None,
    force: bool,
) -> None:
    """Find where the program in FILE can run in parallel.

    Every loop is tried, with every modifier that may help. The level dependence test accepts each program that is
    shown, for all inputs; estimates for the inputs given rank them. Without --threads there are as many as processors.
    """
    if out is not None:
        check_output(out, api.files_of(told.runnable, told.inputs))
        check_new(out, force)
    with spinner(progress.placing, sys.stderr) as tell:
        made = api.parallelize(told.runnable, measure=measure, top=top, test=test, progress=tell, **told.binding)
    if as_json:
        show_json(data.parallelize(made))
    else:
        show(drawn(made, told.name, top, every), colours=True)
    safe = len(made.candidates) > 1
    if out is not None and safe:
        write_atomically(out, f"{made.program}\n".encode())
    sys.exit(0 if safe else 1)
