"""Verbs about the interleavings of a program: all of them, and one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from wingspan import api
from wingspan.base import documents
from wingspan.base.errors import InputError
from wingspan.base.paths import require_readable_name
from wingspan.base.reading import check_readable
from wingspan.base.signals import terminating
from wingspan.base.writing import check_new, check_output
from wingspan.cli import pages
from wingspan.cli.afterwards import Afterwards
from wingspan.cli.group import main
from wingspan.cli.numbered import by_number, explore_far, one_of, resolve_interleaving
from wingspan.cli.options import EXACT, FILE, FORCE, MACHINE, limit, on_program, size
from wingspan.console import MISMATCH, STATUS, began, keep_garbage, show, show_json
from wingspan.explorer import STRATEGIES
from wingspan.explorer.bounds import Bounds
from wingspan.trace import Session, Trace, document_of
from wingspan.trace.coverage import coverage as covered
from wingspan.trace.derivation import Derivation, derive_last_step
from wingspan.views import dot, graphviz, inference, itf, lanes, mermaid, progress, steps, terminal
from wingspan.views import json as data
from wingspan.views.coverage import coverage as rule_coverage
from wingspan.views.early import Early
from wingspan.views.page import page
from wingspan.views.paint import remark, spinner
from wingspan.views.view import (
    Invocation,
    ReplayReport,
    counterexample,
    exploration_report,
    replay_report,
    sighting_report,
)

COVERED = 2_000
"""Rules are counted in so many states, if --max-states says nothing else."""

USED_BY = {
    "runs": ("random", "pct"),
    "seed": ("random", "pct"),
    "depth": ("pct",),
    "preemptions": ("bounded",),
    "jobs": ("auto", "graph", "dpor"),
    "scheduler": ("auto", "graph", "dpor"),
    "symmetry": ("auto", "graph"),
    "checkpoint": ("auto", "graph", "dpor"),
    "resume": ("auto",),
}
"""The strategies that an option of `explore` means something to."""


@main.command()
@on_program
@EXACT
@MACHINE
@click.option(
    "--strategy", type=click.Choice(STRATEGIES), default="auto", show_default=True,
    help="All: graph or dpor, whichever auto picks. Some: random, pct, bounded.",
)  # fmt: skip
@click.option("--runs", type=click.IntRange(min=1), metavar="N", help="random, pct: make N runs.  [default: 1000]")
@click.option("--depth", type=click.IntRange(1, 10), metavar="D", help="pct: for bugs of depth D.  [default: 3]")
@click.option("--preemptions", type=click.IntRange(min=0), metavar="P", help="bounded: at most P.  [default: 2]")
@click.option("--seed", type=int, metavar="S", help="random, pct: seed of the random choices.  [default: 0]")
@click.option("--jobs", type=click.IntRange(1, 1024), metavar="N", help="graph, dpor: with N processes.  [default: 1]")
@click.option("--scheduler", metavar="ADDRESS", help="graph, dpor: with the workers of this Dask scheduler.")
@click.option("--symmetry", is_flag=True, default=None, help="graph: merge states that differ only in task names.")
@click.option("--first", is_flag=True, default=None, help="Stop at the first race, fault, deadlock or wrong result.")
@click.option("--shortest", is_flag=True, help="Keep searching until every interleaving shown is a shortest one.")
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop after N states.")
@click.option("--max-seconds", type=click.FloatRange(min=0), metavar="S", callback=limit, help="End within S seconds.")
@click.option("--max-memory", callback=size, metavar="SIZE", help="Stop when memory use reaches SIZE, e.g. 512M or 2G.")
@click.option("--checkpoint", metavar="FILE", type=FILE, help="Save the search there, every minute and when it ends.")
@click.option("--resume", metavar="FILE", type=FILE, help="Resume a saved search.")
@click.option(
    "--graph", "drawing", metavar="FILE", type=FILE,
    help="Write the states there, as a graph: .dot, or by Graphviz .svg, .png or .pdf.",
)  # fmt: skip
@click.option("--memory", is_flag=True, help="--graph: in each state, what the program's tensors hold.")
@click.option("--html", "html", metavar="FILE", type=FILE, help="Write a page there to step through them in a browser.")
@pages.WATCH
@click.option("--coverage", is_flag=True, help="Also which rules are fired, in how many of the steps between states.")
@FORCE
@terminating()
def explore(
    told: Invocation,
    as_json: bool,
    machine: str,
    strategy: str,
    shortest: bool,
    drawing: Path | None,
    memory: bool,
    html: Path | None,
    watches: tuple[str, ...],
    coverage: bool,
    force: bool,
    **bounds: Any,
) -> None:
    """Explore the interleavings of the program in FILE.

    The verdict says whether tasks race, whether results differ, and whether they are the sequential result; and how far
    the search went.
    """
    given = {name: value for name, value in bounds.items() if value is not None}
    require_together(
        given, strategy, machine, shortest=shortest, drawing=drawing, memory=memory, html=html, watches=watches,
        coverage=coverage,
    )  # fmt: skip
    require_files(told, given, drawing, html, force)
    if watches:
        Trace(api.bind(told.runnable, **told.binding), watches)  # what cannot be watched is said before the search
    invocation = replace(told, machine=machine)
    with (
        spinner(progress.searching, sys.stderr) as line,
        Early(lambda seen: terminal.sighting(sighting_report(seen, invocation)), line) as early,
    ):
        exploration = api.explore(
            told.runnable,
            **told.binding,
            machine=machine,
            strategy=strategy,
            exact=shortest,
            graph=drawing is not None,
            progress=line,
            found=None if given.get("first") else early.report,
            began=began(),
            **given,
        )
    keep_garbage()
    after = Afterwards(Bounds(given.get("max_seconds"), given.get("max_memory"), began()))
    left = after.bounds

    with after.printing():
        report = exploration_report(exploration, invocation)
        if as_json:
            found = data.explore(report.verdict)
        else:
            show(terminal.explore(report, counterexample(exploration, report)), colours=True)
    if coverage:

        def count_rules() -> None:
            fired = covered(Trace(exploration.program, tick=left.tick), bounds.get("max_states") or COVERED)
            if as_json:  # all of it is one object
                found["coverage"] = {"fired": fired.fired, "states": fired.states, "all": fired.all}
            else:
                show(f"\n{rule_coverage(fired)}", colours=True)

        after.attempt("the coverage is not counted", count_rules)
    if as_json:
        with after.printing():
            show_json(found)
    if drawing is not None:
        suffix = drawing.suffix
        with left.finishing():  # the search has left time and memory for it
            after.write(
                drawing,
                lambda: graphviz.render(f"{dot.explore(report, memory, left.tick)}\n", suffix, left.seconds_left()),
            )
    if html is not None:
        after.write(html, lambda: page(document_of(exploration, watches=watches, tick=left.tick)))
    sys.exit(STATUS[report.verdict.verdict])


def require_together(
    given: Mapping[str, Any],
    strategy: str,
    machine: str,
    *,
    shortest: bool,
    drawing: Path | None,
    memory: bool,
    html: Path | None,
    watches: tuple[str, ...],
    coverage: bool,
) -> None:
    """A usage error if options of `explore` do not go together."""
    for name in given:
        if strategy not in USED_BY.get(name, (strategy,)):
            raise click.UsageError(f"--{name} is for --strategy {' or '.join(USED_BY[name])}.")
    if shortest and "first" in given:
        raise click.UsageError("--first and --shortest exclude each other.")
    if html is not None:
        pages.require_rules(machine)
    if memory and drawing is None:
        raise click.UsageError("--memory is for --graph.")
    if watches and html is None:
        raise click.UsageError("--watch is for --html.")
    if coverage and machine != "semantics":
        raise click.UsageError("--coverage is for --machine semantics: a plan has no rules.")


def require_files(
    told: Invocation, given: Mapping[str, Any], drawing: Path | None, html: Path | None, force: bool
) -> None:
    """InputError, before anything is searched, if a file that `explore` is given cannot be read or written."""
    used = api.files_of(told.runnable, told.inputs)
    kept = [given[each] for each in ("checkpoint", "resume") if each in given]
    if "checkpoint" in given:
        check_output(given["checkpoint"], used)
    if html is not None:
        pages.check(html, [*used, *([drawing] if drawing is not None else []), *kept], force)
    if drawing is not None:
        check_drawing(drawing, [*used, *kept])
        check_new(drawing, force)
    if "resume" in given:
        check_readable(require_readable_name(given["resume"]))


def check_drawing(path: Path, used: Sequence[Path]) -> None:
    """InputError, before anything is searched, if no graph can be written there, or if the command uses that file."""
    if require_readable_name(path).suffix not in (*graphviz.TEXTS, *graphviz.PICTURES):
        fix = f"name a file that ends in {', '.join((*graphviz.PICTURES, *graphviz.TEXTS))}"
        raise InputError(f"{path}: not a file that graphs are written to", fix=fix)
    if path.suffix in graphviz.PICTURES:
        graphviz.find_dot()
    check_output(path, used)


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
    "--format", "form", type=click.Choice(("text", *FORMATS)),
    help="Text, one JSON object, a sequence diagram, the graph of what comes before what, an ITF trace, or lanes for "
    "slides.",
)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="In text, also a line for each invisible step.")
@click.option(
    "--derivation", is_flag=True, help="Instead of the run, how its last step is derived: as text, svg or tikz (LaTeX)."
)
def replay(
    told: Invocation,
    as_json: bool,
    machine: str,
    interleaving: str | None,
    race: int | None,
    result: int | None,
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
    bound = api.bind(told.runnable, **told.binding)
    if interleaving is None:
        found = explore_far(bound, machine)
        interleaving = resolve_interleaving(found, replace(told, machine=machine), race, result)
        if race is None and result is None:
            first = next(iter(found.findings), None)
            remark(f"note: this is {first} of explore" if first else "note: nothing goes wrong; this is one run", None)
    if derivation:
        session = Session(Trace(bound))
        session.go(interleaving)
        show(DERIVED[form](derive_last_step(session)))
        return
    followed = api.replay(bound, interleaving, machine=machine)
    report = replay_report(followed, interleaving, bound.plain, replace(told, machine=machine))
    if form == "text":
        show(steps.replay(report, every), colours=True)
    else:
        show(FORMATS[form](report))
    sys.exit(1 if report.incident else MISMATCH if report.mismatch else 0)
