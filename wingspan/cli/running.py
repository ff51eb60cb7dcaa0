"""Verbs that run a program: once, by several engines, and on threads many times."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from wingspan import api
from wingspan.base.errors import InputError
from wingspan.base.paths import require_readable_name
from wingspan.base.writing import check_new, check_output
from wingspan.cli.afterwards import Afterwards
from wingspan.cli.group import main
from wingspan.cli.options import (
    EXACT,
    FINDINGS,
    FORCE,
    MACHINE,
    NamedPath,
    current_folder,
    limit,
    on_program,
    pairs,
    size,
    split_names,
)
from wingspan.console import (
    INTERRUPTED,
    MISTAKE,
    STATUS,
    choose_form,
    fail,
    show,
    show_findings,
    show_json,
    show_result,
)
from wingspan.explorer import RunFault
from wingspan.runtime.lease import Limits, Mode
from wingspan.tensors.files import ONE_OF_THEM, SUFFIXES, suffix
from wingspan.views import json as data
from wingspan.views import progress, terminal
from wingspan.views.incident import incident
from wingspan.views.paint import remark, spinner
from wingspan.views.view import Invocation


@main.command()
@on_program
@EXACT
@click.option(
    "--engine", type=click.Choice([api.AUTO, *api.ENGINES]), default=api.AUTO, show_default=True,
    help="The rules; the sequential semantics over dense arrays; the plan on threads, one access at a time, or as C; "
    "auto: as C where there is much to do, else on threads.",
)  # fmt: skip
@click.option("--unsafe", is_flag=True, help="Run it on threads even if the test finds it unsafe.")
@click.option("--max-memory", "memory", callback=size, metavar="SIZE", help="What a run on threads may use: 512M, 2G.")
@click.option("--reserve", "reservation", callback=size, metavar="SIZE", help="Address space for each of its buffers.")
@click.option(
    "-o", "outputs", metavar="NAME=PATH", type=NamedPath(), multiple=True, callback=pairs("PATH"),
    help="Write a tensor to a file of a suffix such as .mtx or .npy.",
)  # fmt: skip
@FORCE
def run(
    invocation: Invocation,
    as_json: bool,
    engine: str,
    unsafe: bool,
    memory: int | None,
    reservation: int | None,
    outputs: dict[str, str],
    force: bool,
) -> None:
    """Run the program in FILE once, and print its results."""
    given = {name: value for name, value in (("memory", memory), ("reservation", reservation)) if value is not None}
    if engine not in (api.AUTO, "native", "compiled") and given:
        raise click.UsageError("--max-memory and --reserve are for --engine native or compiled.")
    if engine not in (api.AUTO, "native") and unsafe:
        raise click.UsageError("--unsafe is for --engine native.")
    limits = replace(Limits(), **given)
    bound = api.bind(invocation.runnable, **invocation.binding)
    check_outputs(outputs, bound.outputs, api.files_of(invocation.runnable, invocation.inputs), force)
    try:
        with spinner(progress.running, sys.stderr) as line:
            stored = sum(tensor.nnz for tensor in bound.inputs.values()) if engine == "native-controlled" else 0
            slow = progress.Slow(stored, lambda text: remark(text, line), line)
            made = api.run(bound, engine=engine, unsafe=unsafe, limits=limits, progress=slow, note=slow.note)
    except RunFault as fault:
        machine = engine.removesuffix("-controlled")
        text = incident(fault.incident, bound.plain, replace(invocation, machine=machine))
        fail(fault, STATUS["fault"], text)
    after = Afterwards()
    with after.printing():
        if as_json:
            show_json(data.run(made))
        else:
            show(terminal.run(made))
            if made.reason:
                remark(f"note: engine {made.engine}, as {made.reason}", None)
    for name, path in outputs.items():
        after.save(path, partial(made.tensors[name].save, path))
    if outputs and (after.signal or after.memory_ran_out):  # without a verdict, the status says that files are missing
        sys.exit(INTERRUPTED if after.signal else MISTAKE)


def check_outputs(outputs: dict[str, str], there: Sequence[str], used: Sequence[Path], force: bool) -> None:
    """InputError, before anything runs, for what cannot be written, or is a file that the command uses."""
    for name, path in outputs.items():
        require_readable_name(path)
        if name not in there:
            fix = f"use {', '.join(there)}" if there else "there is nothing to write"
            raise InputError(f"-o {name}={path}: the program updates and returns no tensor {name}", fix=fix)
        if suffix(Path(path)) not in SUFFIXES:
            raise InputError(f"-o {name}={path}: not a file that tensors are written to", fix=ONE_OF_THEM)
        check_output(Path(path), used)
        check_new(Path(path), force)
        used = [*used, Path(path)]


@main.command()
@on_program
@FINDINGS
@click.option(
    "--engines", metavar="NAMES", callback=split_names,
    help=f"In this order: {', '.join(api.ENGINES)}, or module:attribute.  [default: all but compiled]",
)  # fmt: skip
@click.option("--repeat", type=click.IntRange(min=1), default=1, metavar="N", help="Run each engine N times.")
@click.option(
    "--tolerance", type=click.FloatRange(min=0), default=0.0, callback=limit, metavar="R",
    help="Largest relative difference of doubles that count as equal.",
)  # fmt: skip
@click.option(
    "--isolate", type=click.FloatRange(min=0, min_open=True), callback=limit, metavar="S",
    help="Each engine in a process of its own, each run within S seconds: a crash or a hang is a difference.",
)  # fmt: skip
@click.option(
    "--max-states", type=click.IntRange(min=0), default=1_000, show_default=True, metavar="N",
    help="Explore up to N states of the rules and of the plan, in a second each, and compare them; 0: do not explore.",
)  # fmt: skip
@click.option("--unsafe", is_flag=True, help="Even if the level dependence test does not accept the program.")
def diff(invocation: Invocation, as_json: bool, form: str | None, engines: list[str] | None, **options: Any) -> None:
    """Compare the results of several engines on the program in FILE.

    Each run is compared with the first; two faults agree. If all agree, and the program is small enough, the
    interleavings of the rules and of the compiled plan are explored, and must have the same outcomes, races, faults
    and deadlocks.
    """
    form = choose_form(as_json, form)
    with current_folder():
        chosen = None if engines is None else [api.engine(name) if ":" in name else name for name in engines]
    made = api.diff(invocation.runnable, engines=chosen, **options, **invocation.binding)
    match form:
        case "json":
            show_json(data.diff(made))
        case "text":
            show(terminal.diff(made, invocation.name), colours=True)
        case _:
            from wingspan.views import findings

            show_findings(findings.diff(made, invocation.name), form)
    sys.exit(1 if made.difference else 0)


@main.command()
@on_program
@MACHINE
@click.option(
    "--engine", type=click.Choice(api.ON_THREADS), default="native", show_default=True,
    help="What runs the plan on threads: the register machine, or C.",
)  # fmt: skip
@click.option(
    "--runs", type=click.IntRange(min=1), default=10_000, show_default=True, metavar="N", help="Number of runs."
)
@click.option("--plain", is_flag=True, help="Do not order accesses; then any outcome is possible.")
@click.option("--yields", is_flag=True, help="Now and then let other tasks go first.")
@click.option("--seed", type=int, default=0, metavar="S", help="Seed of the choices of --yields.")
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop exploring after N states.")
@click.option(
    "--max-seconds", type=click.FloatRange(min=0), metavar="S", callback=limit, help="Stop exploring after S seconds."
)
def stress(invocation: Invocation, as_json: bool, plain: bool, yields: bool, **options: Any) -> None:
    """Run the program in FILE on threads many times.

    Counts the outcomes, and compares them with those predicted by exploration. Under sequential consistency no
    other outcome is possible.
    """
    if plain and yields:
        raise click.UsageError("--plain and --yields exclude each other.")
    mode: Mode = "plain" if plain else "yields" if yields else "seq_cst"
    with spinner(progress.stressing, sys.stderr) as tell:
        made = api.stress(invocation.runnable, mode=mode, progress=tell, **options, **invocation.binding)
    show_result(as_json, lambda: data.stress(made), lambda: terminal.stress(made, invocation.name), colours=True)
    sys.exit(0 if made.mode == "plain" else 1 if made.surprises else 0 if made.verdict.complete else 3)
