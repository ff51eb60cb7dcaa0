"""The verb that makes a program parallel."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from wingspan import api
from wingspan.api.parallelizing import TESTS
from wingspan.base.writing import check_new, check_output
from wingspan.cli.afterwards import Afterwards
from wingspan.cli.group import main
from wingspan.cli.options import BUDGET_OPTION, FILE, FORCE, on_program
from wingspan.console import show_result
from wingspan.dependence import Test
from wingspan.views import json as data
from wingspan.views import progress
from wingspan.views.paint import spinner
from wingspan.views.parallelize import SHOWN
from wingspan.views.parallelize import parallelize as drawn
from wingspan.views.view import Invocation


def nested_devices(context: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    """The numbers of threads that --nested gives."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) < 2 or not all(part.strip().isdecimal() and int(part) for part in parts):
        raise click.BadParameter("give two numbers or more, from 1: --nested 2,2", context, option)
    return tuple(map(int, parts))


@main.command()
@on_program
@click.option(
    "--nested", callback=nested_devices, metavar="N,…",
    help="Try as many loops inside of each other, too, on nested devices of so many threads each, outermost first.",
)  # fmt: skip
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
@BUDGET_OPTION
@click.option("-o", "out", type=FILE, metavar="FILE", help="Write the best program to FILE.")
@FORCE
def parallelize(
    invocation: Invocation,
    as_json: bool,
    nested: tuple[int, ...] | None,
    measure: bool,
    top: int,
    every: bool,
    test: Test,
    budget: int,
    out: Path | None,
    force: bool,
) -> None:
    """Find where the program in FILE can run in parallel.

    Every loop is tried, with every modifier that may help. The level dependence test accepts each program that is
    shown, for all inputs, and for the parameters that -p gives; estimates for the inputs given rank them. Without
    --threads there are as many as processors.
    """
    if out is not None:
        check_output(out, api.files_of(invocation.runnable, invocation.inputs))
        check_new(out, force)
    if nested and invocation.threads:
        raise click.UsageError("--nested gives the numbers of threads: leave --threads out.")
    given = invocation.binding if nested is None else {**invocation.binding, "threads": nested}
    with spinner(progress.placing, sys.stderr) as tell:
        made = api.parallelize(
            invocation.runnable, measure=measure, top=top, test=test, budget=budget, progress=tell, **given
        )
    after = Afterwards()
    with after.printing():
        drawing = partial(drawn, made, invocation.name, top, every)
        show_result(as_json, partial(data.parallelize, made), drawing, colours=True)
    safe = len(made.candidates) > 1
    if out is not None and safe:
        after.write(out, lambda: f"{made.program}\n".encode())
    sys.exit(0 if safe else 1)
