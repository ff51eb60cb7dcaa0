"""The command line: one function for each verb. What they share is in `wingspan.console`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from wingspan import api
from wingspan.console import (
    FILE,
    JSON,
    MACHINE,
    MISMATCH,
    STATUS,
    NamedPath,
    Verbs,
    as_text,
    began,
    fail,
    keep_garbage,
    limit,
    listed,
    on_program,
    pairs,
    show,
    show_json,
    size,
)
from wingspan.dependence import TESTS, Test
from wingspan.errors import InputError
from wingspan.explorer import STRATEGIES, RunFault
from wingspan.explorer.interrupts import terminating
from wingspan.native.engine import Limits, Mode
from wingspan.paths import named
from wingspan.reading import check_readable
from wingspan.tensors.files import ONE_OF_THEM, SUFFIXES
from wingspan.views import dot, itf, mermaid, progress, steps, terminal
from wingspan.views import json as data
from wingspan.views.check import check as checked
from wingspan.views.early import Early
from wingspan.views.incident import incident
from wingspan.views.paint import spinner
from wingspan.views.view import CheckReport, Invocation, ReplayReport, explored, replayed, sighted
from wingspan.written import check_output, write_atomically

EPILOG = """
\b
Exit status of every verb
  0  finished, nothing wrong        2    the program, its input or the command line is wrong
  1  something bad was found        4    a defect of wingspan
  3  the search was cut short, or   130  interrupted; ended by another signal: 128 + its number
     a replay did not match
"""


@click.group(cls=Verbs, name="wingspan", epilog=EPILOG)
@click.version_option(package_name="wingspan", message="%(prog)s %(version)s")
def main() -> None:
    """Check sparse tensor programs with parallel loops, and explore every interleaving of small ones."""
    sys.set_int_max_str_digits(0)  # the number of interleavings may have any number of digits
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


@main.command()
@on_program
@click.option(
    "--test", type=click.Choice(TESTS), default="repaired", show_default=True,
    help="The paper's algorithm as printed, repaired, or made exact.",
)  # fmt: skip
def check(told: Invocation, as_json: bool, test: Test) -> None:
    """Run the level dependence test on the program in FILE.

    The verdict says, without running it, whether its parallel loops are safe over its formats, why, and what helps.
    Accepted programs are safe, except for value-dependent faults, which may occur in some interleavings only.
    """
    program = api.load(told.file)
    with spinner(progress.checking, sys.stderr) as tell:
        found = api.check(program, test=test, progress=tell, **told.binding)
    report = CheckReport(told, found, program.tree)
    if as_json:
        show_json(data.check(report))
    else:
        show(checked(report), colours=True)
    sys.exit(0 if found.verdict == "safe" else 1)


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
@MACHINE
@click.option(
    "--strategy", type=click.Choice(STRATEGIES), default="auto", show_default=True,
    help="All: graph or dpor, whichever auto picks. Some: random, pct, bounded.",
)  # fmt: skip
@click.option("--runs", type=click.IntRange(min=1), metavar="N", help="random, pct: make N runs.  [default: 1000]")
@click.option("--depth", type=click.IntRange(1, 10), metavar="D", help="pct: for bugs of depth D.  [default: 3]")
@click.option("--preemptions", type=click.IntRange(min=0), metavar="P", help="bounded: at most P.  [default: 2]")
@click.option("--seed", type=int, metavar="S", help="random, pct: what to pick by.  [default: 0]")
@click.option("--jobs", type=click.IntRange(1, 1024), metavar="N", help="graph, dpor: with N processes.  [default: 1]")
@click.option("--scheduler", metavar="ADDRESS", help="graph, dpor: with the workers of this Dask scheduler.")
@click.option(
    "--symmetry", is_flag=True, default=None, help="graph: let tasks be exchanged; fewer states, same counts."
)
@click.option("--first", is_flag=True, default=None, help="Stop at the first race, fault, deadlock or wrong result.")
@click.option("--shortest", is_flag=True, help="Keep searching until every interleaving shown is a shortest one.")
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop after N states.")
@click.option("--max-seconds", type=click.FloatRange(min=0), metavar="S", callback=limit, help="End within S seconds.")
@click.option("--max-memory", callback=size, metavar="SIZE", help="Use no more memory than SIZE, e.g. 512M or 2G.")
@click.option("--checkpoint", metavar="FILE", type=FILE, help="Keep the search there, every minute and when it ends.")
@click.option("--resume", metavar="FILE", type=FILE, help="Go on with a search that was kept.")
@click.option("--graph", "drawing", metavar="FILE", type=FILE, help="Write the states there, as a graph for Graphviz.")
@terminating()
def explore(
    told: Invocation, as_json: bool, machine: str, strategy: str, shortest: bool, drawing: Path | None, **bounds: Any
) -> None:
    """Explore the interleavings of the program in FILE.

    The verdict says whether tasks race, whether results differ, and whether they are the serial meaning; and how far
    the search went.
    """
    given = {name: value for name, value in bounds.items() if value is not None}
    for name in given:
        if strategy not in USED_BY.get(name, (strategy,)):
            raise click.UsageError(f"--{name} is for --strategy {' or '.join(USED_BY[name])}.")
    if shortest and "first" in given:
        raise click.UsageError("--first and --shortest exclude each other.")
    used = api.files_of(told.file, told.inputs)
    if "checkpoint" in given:
        check_output(given["checkpoint"], used)
    if drawing is not None:
        check_drawing(drawing, [*used, *(given[each] for each in ("checkpoint", "resume") if each in given)])
    if "resume" in given:
        check_readable(named(given["resume"]))
    invocation = replace(told, machine=machine)
    with (
        spinner(progress.searching, sys.stderr) as line,
        Early(lambda seen: terminal.sighted(sighted(seen, invocation)), line) as early,
    ):
        exploration = api.explore(
            told.file,
            **told.binding,
            machine=machine,
            strategy=strategy,
            exact=shortest,
            graph=drawing is not None,
            progress=line,
            found=None if given.get("first") else early.found,
            began=began(),
            **given,
        )
    keep_garbage()
    report = explored(exploration, invocation)
    if drawing is not None:
        write_atomically(drawing, f"{dot.explore(report)}\n".encode(errors="replace"))
    if as_json:
        show_json(data.explore(report))
    else:
        show(terminal.explore(report), colours=True)
    sys.exit(STATUS[report.verdict.verdict])


def check_drawing(path: Path, used: Sequence[Path]) -> None:
    """InputError, before anything is searched, if no graph can be written there, or if the command uses that file."""
    if named(path).suffix not in (".dot", ".gv"):
        fix = "name a .dot or .gv file; `dot -Tsvg` makes a picture of it"
        raise InputError(f"{path}: not a file that graphs are written to", fix=fix)
    check_output(path, used)


FORMATS: dict[str, Callable[[ReplayReport], str]] = {
    "json": lambda report: as_text(data.replay(report)),
    "mermaid": mermaid.replay,
    "dot": dot.replay,
    "itf": lambda report: as_text(itf.replay(report)),
}
"""The forms that a replay is printed in besides text."""


@main.command()
@on_program
@MACHINE
@click.option("--interleaving", required=True, metavar="TASKS", help="Which task takes each visible step: 1,2*2,1.3")
@click.option(
    "--format", "form", type=click.Choice(("text", *FORMATS)),
    help="Text, one JSON object, a sequence diagram, the graph of what comes before what, or an ITF trace.",
)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="In text, a line for each private step, too.")
def replay(told: Invocation, as_json: bool, machine: str, interleaving: str, form: str | None, every: bool) -> None:
    """Follow one interleaving of the program in FILE, step by step.

    TASKS is as a verdict prints it: `*n` repeats, `0` is the root task, `-` is no step at all. When it is used up, or
    names a task that cannot step, the run goes on with the first task that can.
    """
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} exclude each other.")
    form = "json" if as_json else form or "text"
    if every and form != "text":
        raise click.UsageError("--all is for --format text.")
    bound = api.bind(told.file, **told.binding)
    followed = api.replay(bound, interleaving, machine=machine)
    report = replayed(followed, interleaving, bound.plain, replace(told, machine=machine))
    if form == "text":
        show(steps.replay(report, every), colours=True)
    else:
        show(FORMATS[form](report))
    sys.exit(1 if report.incident else MISMATCH if report.mismatch else 0)


@main.command()
@on_program
@click.option(
    "--engine", type=click.Choice(api.ENGINES), default="semantics", show_default=True,
    help="The rules; the serial meaning over dense arrays; the compiled plan on threads, or one access at a time.",
)  # fmt: skip
@click.option("--unsafe", is_flag=True, help="On threads, also if the level dependence test finds the program unsafe.")
@click.option("--max-memory", "memory", callback=size, metavar="SIZE", help="What a run on threads may use: 512M, 2G.")
@click.option("--reserve", "reservation", callback=size, metavar="SIZE", help="Address space for each of its buffers.")
@click.option(
    "-o", "outputs", metavar="NAME=PATH", type=NamedPath(), multiple=True, callback=pairs("PATH"),
    help="Write a tensor to a .mtx, .npy or .npz file.",
)  # fmt: skip
def run(
    told: Invocation,
    as_json: bool,
    engine: str,
    unsafe: bool,
    memory: int | None,
    reservation: int | None,
    outputs: dict[str, str],
) -> None:
    """Run the program in FILE once and print what it updated or returned."""
    given = {name: value for name, value in (("memory", memory), ("reservation", reservation)) if value is not None}
    if engine != "native" and (given or unsafe):
        raise click.UsageError("--max-memory, --reserve and --unsafe are for --engine native.")
    limits = replace(Limits(), **given)
    bound = api.bind(told.file, **told.binding)
    check_outputs(outputs, bound.outputs, api.files_of(told.file, told.inputs))
    try:
        with spinner(progress.running, sys.stderr) as tell:
            made = api.run(bound, engine=engine, unsafe=unsafe, limits=limits, progress=tell)
    except RunFault as fault:
        machine = engine.removesuffix("-controlled")
        fail(incident(fault.incident, bound.plain, replace(told, machine=machine)), STATUS[fault.incident.topic])
    for name, path in outputs.items():
        made.tensors[name].save(path)
    if as_json:
        show_json(data.run(made))
    else:
        show(terminal.run(made))


def check_outputs(outputs: dict[str, str], there: Sequence[str], used: Sequence[Path]) -> None:
    """InputError, before anything runs, for what cannot be written, or is a file that the command uses."""
    for name, path in outputs.items():
        named(path)
        if name not in there:
            fix = f"use {', '.join(there)}" if there else "there is nothing to write"
            raise InputError(f"-o {name}={path}: the program updates and returns no tensor {name}", fix=fix)
        if Path(path).suffix not in SUFFIXES:
            raise InputError(f"-o {name}={path}: not a file that tensors are written to", fix=ONE_OF_THEM)
        if not Path(path).parent.is_dir():
            fix = "make it, or write into another one"
            raise InputError(f"-o {name}={path}: there is no folder {Path(path).parent}", fix=fix)
        check_output(Path(path), used)
        used = [*used, Path(path)]


@main.command()
@on_program
@click.option(
    "--engines", metavar="NAMES", callback=listed,
    help=f"Which, in this order: of {', '.join(api.ENGINES)}, or module:attribute. All that can run it, if not given.",
)  # fmt: skip
@click.option("--repeat", type=click.IntRange(min=1), default=1, metavar="N", help="Run each engine N times.")
@click.option(
    "--tolerance", type=click.FloatRange(min=0), default=0.0, callback=limit, metavar="R",
    help="Let doubles differ by this much, relatively.",
)  # fmt: skip
@click.option("--unsafe", is_flag=True, help="Also if the level dependence test does not accept the program.")
def diff(told: Invocation, as_json: bool, engines: list[str] | None, **options: Any) -> None:
    """Run the program in FILE through several engines and compare the results.

    Each run is compared with the first; two faults agree.
    """
    sys.path.insert(0, "")  # the current folder, where the module of an engine may be; it need not exist
    made = api.diff(told.file, engines=engines, **options, **told.binding)
    if as_json:
        show_json(data.diff(made))
    else:
        show(terminal.diff(made, told.file), colours=True)
    sys.exit(1 if made.difference else 0)


@main.command()
@on_program
@MACHINE
@click.option("--runs", type=click.IntRange(min=1), default=10_000, show_default=True, metavar="N", help="How many.")
@click.option("--plain", is_flag=True, help="Plain accesses, which promise nothing: only report.")
@click.option("--yields", is_flag=True, help="Now and then let other tasks go first.")
@click.option("--seed", type=int, default=0, metavar="S", help="When --yields lets others go first.")
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop exploring after N states.")
@click.option("--max-seconds", type=click.FloatRange(min=0), metavar="S", callback=limit, help="… after S seconds.")
def race(told: Invocation, as_json: bool, plain: bool, yields: bool, **options: Any) -> None:
    """Run the program in FILE on threads many times, and count how it ends.

    Beside it stands what exploring it predicts: accesses being sequentially consistent, nothing else may come about.
    """
    if plain and yields:
        raise click.UsageError("--plain and --yields exclude each other.")
    mode: Mode = "plain" if plain else "yields" if yields else "seq_cst"
    with spinner(progress.racing, sys.stderr) as tell:
        made = api.race(told.file, mode=mode, progress=tell, **options, **told.binding)
    if as_json:
        show_json(data.race(made))
    else:
        show(terminal.race(made, told.file), colours=True)
    sys.exit(0 if made.mode == "plain" else 1 if made.surprises else 0 if made.verdict.complete else 3)


@main.command()
@on_program
def plan(told: Invocation, as_json: bool) -> None:
    """Print the plan that the program in FILE is compiled to, under the lines that its statements come from."""
    text = api.show_plan(told.file, **told.binding)
    if as_json:
        show_json({"plan": text})
    else:
        show(text)


@main.command(name="emit-c")
@on_program
@click.option(
    "-o", "folder", default=".", type=click.Path(), metavar="DIR", help="Where to write.  [default: the current folder]"
)
@click.option("--main", is_flag=True, help="As a command that runs on the inputs as they are now.")
@click.option("--unsafe", is_flag=True, help="Also if the level dependence test does not accept the program.")
@click.option("--force", is_flag=True, help="Replace files that wingspan did not write, too.")
def emit_c(told: Invocation, as_json: bool, folder: str, **options: Any) -> None:
    """Write the plan that the program in FILE is compiled to as a C file, with the headers that it includes.

    Its second line says how to compile it.
    """
    paths = [str(path) for path in api.emit_c(told.file, folder, **options, **told.binding)]
    if as_json:
        show_json({"files": paths})
    else:
        show("\n".join(paths))


@main.command()
@click.argument("file", type=click.Path())
@JSON
def fmt(file: str, as_json: bool) -> None:
    """Print the program in FILE in its canonical form. Comments are lost."""
    text = str(api.load(file))
    if as_json:
        show_json({"program": text})
    else:
        show(text)
