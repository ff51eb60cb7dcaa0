"""The verb about one interleaving of a program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import click

from wingspan import api
from wingspan.base import documents
from wingspan.cli.group import main
from wingspan.cli.numbered import by_number, explore_far, one_of, resolve_interleaving
from wingspan.cli.options import EXACT, MACHINE, on_program
from wingspan.console import MISMATCH, show
from wingspan.trace import Session, Trace
from wingspan.trace.derivation import Derivation, derive_last_step
from wingspan.views import dot, inference, itf, lanes, mermaid, steps
from wingspan.views import json as data
from wingspan.views.paint import remark
from wingspan.views.view import Invocation, ReplayReport, replay_report

FORMATS: dict[str, Callable[[ReplayReport], str]] = {
    "json": lambda report: documents.text(documents.with_schema(data.replay(report))),
    "mermaid": mermaid.replay,
    "dot": dot.replay,
    "itf": lambda report: documents.text(documents.finite(itf.replay(report))),
    "svg": lanes.replay_svg,
    "tikz": lanes.replay_tikz,
}
"""The forms that a replay is printed in besides text."""

DERIVED: dict[str, Callable[[Derivation], str]] = {
    "text": inference.derivation_text,
    "svg": inference.derivation_svg,
    "tikz": inference.derivation_latex,
}
"""The forms that the derivation of a step is drawn in."""


@main.command()
@on_program
@EXACT
@MACHINE
@click.option("--interleaving", metavar="TASKS", help="Which task takes each visible step: 1,2*2,1.3")
@by_number
@click.option(
    "--watch",
    "watches",
    metavar="EXPR",
    multiple=True,
    help="A property of states that explore was asked about: steps that may change what it reads are visible.",
)
@click.option(
    "--format", "form", type=click.Choice(("text", *FORMATS)),
    help="Text, one JSON object, a sequence diagram, the graph of what comes before what, an ITF trace, or lanes for "
    "slides.",
)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="In text, also a line for each invisible step.")
@click.option(
    "--derivation", is_flag=True, help="Instead of the run, how its last step is derived: as text, svg or tikz (LaTeX)."
)
def replay(
    invocation: Invocation,
    as_json: bool,
    machine: str,
    interleaving: str | None,
    race: int | None,
    result: int | None,
    watches: tuple[str, ...],
    form: str | None,
    every: bool,
    derivation: bool,
) -> None:
    """Follow one interleaving of the program in FILE, step by step.

    Without --interleaving, --race and --result, it is that of the first finding.

    TASKS is as a verdict prints it: `*n` repeats, `0` is the root task, `-` is no step at all. When it is used up, or
    names a task that cannot step, the run goes on with the first task that can.
    """
    one_of(interleaving, race, result)
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} exclude each other.")
    form = "json" if as_json else form or "text"
    if every and form != "text":
        raise click.UsageError("--all is for --format text.")
    if derivation and (form not in DERIVED or machine != "semantics"):
        raise click.UsageError("--derivation is for --machine semantics and --format text, svg or tikz.")
    bound = api.bind(invocation.runnable, **invocation.binding)
    if interleaving is None:
        found = explore_far(bound, watches, machine)
        interleaving = resolve_interleaving(found, replace(invocation, machine=machine), race, result)
        if race is None and result is None:
            first = next(iter(found.findings), None)
            remark(f"note: this is {first} of explore" if first else "note: nothing goes wrong; this is one run", None)
    if derivation:
        session = Session(Trace(bound, observing=watches))
        session.go(interleaving)
        show(DERIVED[form](derive_last_step(session)))
        return
    followed = api.replay(bound, interleaving, machine=machine, watch=watches)
    invocation = replace(invocation, machine=machine, watched=watches)
    report = replay_report(followed, interleaving, bound.plain, invocation)
    if form == "text":
        show(steps.replay(report, every), colours=True)
    else:
        show(FORMATS[form](report))
    sys.exit(1 if report.incident else MISMATCH if report.mismatch else 0)
