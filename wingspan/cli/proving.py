"""The verb that proves the theorem about the level dependence test."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from wingspan import api
from wingspan.cli.group import main
from wingspan.cli.options import FILE, JSON
from wingspan.console import INTERRUPTED, show_result
from wingspan.views import progress
from wingspan.views.paint import spinner


@main.command()
@click.option(
    "--test", type=click.Choice(["repaired", "printed"]), default="repaired", show_default=True,
    help="The test that the theorem is about; of the paper's it finds programs that refute it.",
)  # fmt: skip
@click.option(
    "--keep",
    metavar="FOLDER",
    type=FILE,
    help="Write every question there, as SMT-LIB for other solvers; proved ones are not asked again.",
)
@JSON
def prove(test: str, keep: Path | None, as_json: bool) -> None:
    """Prove that what the level dependence test accepts does not race.

    For all extents, numbers of threads and towers of levels, about the levels' own texts, by the solver z3: install
    wingspan[prove]. Ctrl-C prints what is proved until then; with --keep, the
    same command goes on from there. What is trusted is in docs/theorem.md.
    """
    with spinner(progress.proving, sys.stderr) as tell:
        found = api.prove(test, keep=keep, progress=tell)
    from wingspan.views import proof  # needs z3

    show_result(as_json, lambda: proof.data(found), lambda: proof.text(found), colours=True)
    ended = not found.proof.complete and not found.proof.refuted
    sys.exit(0 if found.holds else INTERRUPTED if ended else 1)
