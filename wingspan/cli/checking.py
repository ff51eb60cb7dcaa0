"""The verb that runs the level dependence test."""

from __future__ import annotations

import sys

import click

from wingspan import api
from wingspan.cli.group import main
from wingspan.cli.options import BUDGET_OPTION, FINDINGS, on_program
from wingspan.console import choose_form, show, show_findings, show_json
from wingspan.dependence import TESTS, Report, Test
from wingspan.views import progress
from wingspan.views.check import advice, verdict
from wingspan.views.paint import spinner
from wingspan.views.view import CheckReport, Invocation


@main.command()
@on_program
@click.option(
    "--test", type=click.Choice(TESTS), default="repaired", show_default=True,
    help="The paper's algorithm as printed, repaired, or made exact.",
)  # fmt: skip
@FINDINGS
@BUDGET_OPTION
def check(invocation: Invocation, as_json: bool, test: Test, form: str | None, budget: int) -> None:
    """Run the level dependence test on the program in FILE.

    The verdict says, without running it, whether its parallel loops are safe over its formats, why, and what helps.
    Accepted programs are safe, except for value-dependent faults (overflow, index out of range, division by zero, wrong
    type, failed assertion), which may occur in some interleavings only,
    or a format running out of room.
    """
    form = choose_form(as_json, form)
    program = invocation.given or api.load(invocation.file)

    def print_verdict(report: Report) -> None:
        if form == "text":
            show(verdict(CheckReport(invocation, report, program.tree)), colours=True)

    with spinner(progress.checking, sys.stderr) as tell:
        found = api.check(
            program, test=test, budget=budget, progress=tell, on_verdict=print_verdict, **invocation.binding
        )
    report = CheckReport(invocation, found, program.tree)
    match form:
        case "json":
            from wingspan.views import json as data  # takes all engines, since it makes the JSON of their results, too

            show_json(data.check(report))
        case "text":
            show(advice(report), colours=True)
        case _:
            from wingspan.views import findings

            show_findings(findings.check(report), form)
    sys.exit(0 if found.verdict == "safe" else 1)
