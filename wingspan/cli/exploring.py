"""The verb about all interleavings of a program."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from wingspan import api
from wingspan.base.errors import InputError
from wingspan.base.paths import require_readable_name
from wingspan.base.reading import check_readable
from wingspan.base.signals import terminating
from wingspan.base.writing import check_new, check_output
from wingspan.cli import pages
from wingspan.cli.afterwards import Afterwards
from wingspan.cli.group import main
from wingspan.cli.options import EXACT, FILE, FINDINGS, FORCE, MACHINE, limit, on_program, size
from wingspan.console import STATUS, began, choose_form, keep_garbage, show, show_findings, show_json
from wingspan.explorer import STRATEGIES
from wingspan.explorer.bounds import Bounds
from wingspan.views import progress, terminal
from wingspan.views.live_findings import LiveFindings
from wingspan.views.paint import spinner
from wingspan.views.view import Invocation, ReplayReport, counterexample, exploration_report, sighting_report

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
@FINDINGS
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
@click.option("--jobs", type=click.IntRange(1, 1024), metavar="N", help="graph, dpor: on N cores.  [default: 1]")
@click.option("--scheduler", metavar="ADDRESS", help="graph, dpor: with the workers of this Dask scheduler.")
@click.option("--symmetry", is_flag=True, default=None, help="graph: merge states that differ only in task names.")
@click.option("--always", metavar="E", multiple=True, help="Whether E holds in every state, such as all(C[i] >= 0).")
@click.option("--ends", metavar="E", multiple=True, help="Whether E holds of every result; then several may be right.")
@click.option("--reach", metavar="E", multiple=True, help="Whether E holds in some state, and how to come there.")
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
    invocation: Invocation,
    as_json: bool,
    form: str | None,
    machine: str,
    strategy: str,
    always: tuple[str, ...],
    ends: tuple[str, ...],
    reach: tuple[str, ...],
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

    --always, --ends and --reach may be given several times. The exit status is 0 if the program is safe, all that is
    asked holds, and what is to be reached is reached; 1 if not; 3 if the search was cut short before it could tell.
    """
    form = choose_form(as_json, form)
    as_json = form == "json"
    if coverage and form not in ("text", "json"):
        raise click.UsageError(f"--coverage and --format {form} exclude each other.")
    given = {name: value for name, value in bounds.items() if value is not None}
    require_together(click.get_current_context().params)
    require_files(invocation, given, drawing, html, force)
    observed: tuple[str, ...] = ()
    if watches:
        from wingspan.api.properties import observable

        observed = observable(api.bind(invocation.runnable, **invocation.binding), watches)
    invocation = replace(invocation, machine=machine, watched=(*always, *reach, *observed))
    with (
        spinner(progress.searching, sys.stderr) as line,
        LiveFindings(lambda seen: terminal.sighting(sighting_report(seen, invocation)), line) as live,
    ):
        exploration = api.explore(
            invocation.runnable,
            **invocation.binding,
            machine=machine,
            strategy=strategy,
            always=always,
            ends=ends,
            reach=reach,
            watch=observed,
            exact=shortest,
            graph=drawing is not None,
            progress=line,
            found=None if given.get("first") else live.report,
            began=began(),
            **given,
        )
    keep_garbage()
    after = Afterwards(Bounds(given.get("max_seconds"), given.get("max_memory"), began()))
    left = after.bounds

    with after.printing():
        report = exploration_report(exploration, invocation)
        if as_json:
            from wingspan.views import json as data

            found = data.explore(report.verdict)
        elif form != "text":
            from wingspan.views import findings

            show_findings(findings.explore(report), form)
        else:
            runs: list[ReplayReport | None] = []
            missing = "the run to the first finding is not shown"
            time = Bounds(given.get("max_seconds"), began=began())  # one run takes little memory
            after.attempt(missing, lambda: runs.append(counterexample(exploration, report, time.tick)))
            show(terminal.explore(report, *runs), colours=True)
    if coverage:
        from wingspan.trace import Trace
        from wingspan.trace.coverage import coverage as count_firings
        from wingspan.views.coverage import coverage as rule_coverage

        def count_rules() -> None:
            fired = count_firings(Trace(exploration.program, tick=left.tick), bounds.get("max_states") or COVERED)
            if as_json:  # all of it is one object
                found["coverage"] = {"fired": fired.fired, "states": fired.states, "all": fired.all}
            else:
                show(f"\n{rule_coverage(fired)}", colours=True)

        after.attempt("the coverage is not counted", count_rules)
    if as_json:
        with after.printing():
            show_json(found)
    if drawing is not None:
        from wingspan.views import dot, graphviz

        suffix = drawing.suffix
        with left.finishing():  # the search has left time and memory for it
            after.write(
                drawing,
                lambda: graphviz.render(f"{dot.explore(report, memory, left.tick)}\n", suffix, left.seconds_left()),
            )
    if html is not None:
        from wingspan.trace import document_of
        from wingspan.views.page import page

        after.write(html, lambda: page(document_of(exploration, watches=watches, tick=left.tick)))
    sys.exit(STATUS[report.verdict.verdict])


def require_together(options: Mapping[str, Any]) -> None:
    """A usage error if options of `explore` do not go together."""
    for name, strategies in USED_BY.items():
        if options[name] is not None and options["strategy"] not in strategies:
            raise click.UsageError(f"--{name} is for --strategy {' or '.join(strategies)}.")
    if options["shortest"] and options["first"]:
        raise click.UsageError("--first and --shortest exclude each other.")
    if options["html"] is not None:
        pages.require_rules(options["machine"])
    if options["memory"] and options["drawing"] is None:
        raise click.UsageError("--memory is for --graph.")
    if options["watches"] and options["html"] is None:
        raise click.UsageError("--watch is for --html.")
    if options["coverage"] and options["machine"] != "semantics":
        raise click.UsageError("--coverage is for --machine semantics: a plan has no rules.")


def require_files(
    invocation: Invocation, options: Mapping[str, Any], drawing: Path | None, html: Path | None, force: bool
) -> None:
    """InputError, before anything is searched, if a file that `explore` is given cannot be read or written."""
    kept = [options[each] for each in ("checkpoint", "resume") if each in options]
    if not kept and html is None and drawing is None:
        return  # otherwise the program is read here, too
    used = api.files_of(invocation.runnable, invocation.inputs)
    if "checkpoint" in options:
        check_output(options["checkpoint"], used)
    if html is not None:
        pages.check(html, [*used, *([drawing] if drawing is not None else []), *kept], force)
    if drawing is not None:
        check_drawing(drawing, [*used, *kept])
        check_new(drawing, force)
    if "resume" in options:
        check_readable(require_readable_name(options["resume"]))


def check_drawing(path: Path, used: Sequence[Path]) -> None:
    """InputError, before anything is searched, if no graph can be written there, or if the command uses that file."""
    from wingspan.views import graphviz

    if require_readable_name(path).suffix not in (*graphviz.TEXTS, *graphviz.PICTURES):
        fix = f"name a file that ends in {', '.join((*graphviz.PICTURES, *graphviz.TEXTS))}"
        raise InputError(f"{path}: not a file that graphs are written to", fix=fix)
    if path.suffix in graphviz.PICTURES:
        graphviz.find_dot()
    check_output(path, used)
