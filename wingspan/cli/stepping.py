"""The verb that walks through a program step by step."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from wingspan import api
from wingspan.api.properties import observable
from wingspan.base import documents
from wingspan.base.errors import InputError
from wingspan.base.paths import require_readable_name
from wingspan.base.writing import check_new, check_output, write_atomically
from wingspan.cli import pages
from wingspan.cli.group import main
from wingspan.cli.numbered import by_number, explore_far, one_of, resolve_interleaving
from wingspan.cli.options import FILE, FORCE, on_program
from wingspan.console import input_lines, show
from wingspan.explorer.interleaving import format_interleaving
from wingspan.trace import Session, Trace, document
from wingspan.views import stepper_plain
from wingspan.views.view import Invocation

KINDS = ".txt for the interleaving, .svg for a picture, .html for a page"
FONTS = re.compile(r"@font-face\s*\{[^}]*\}")
"""The fonts in pictures by Rich and Textual; they would be loaded from the network."""


@main.command()
@on_program
@click.option(
    "--machine", type=click.Choice(api.MACHINES), default="semantics", hidden=True
)  # to refuse it with a reason
@click.option("--interleaving", metavar="TASKS", help="Start after these steps, as replay takes them.")
@by_number
@click.option("--plain", is_flag=True, help="On standard input and output: says what each command changes.")
@click.option("--html", metavar="FILE", type=FILE, help="Write a page there instead, to step in a browser.")
@pages.WATCH
@FORCE
def step(
    invocation: Invocation,
    as_json: bool,
    machine: str,
    interleaving: str | None,
    race: int | None,
    result: int | None,
    plain: bool,
    html: Path | None,
    watches: tuple[str, ...],
    force: bool,
) -> None:
    """Walk through the program in FILE, step by step.

    Shows the program, memory, the rule of each step with its variables filled in, and which next steps race. With
    --json, prints the trace document of the whole program instead.
    """
    pages.require_rules(machine)
    one_of(interleaving, race, result)
    if sum((as_json, plain, html is not None)) > 1:
        raise click.UsageError("--json, --plain and --html exclude each other.")
    used = api.files_of(invocation.runnable, invocation.inputs)
    if html is not None:
        pages.check(html, used, force)
    bound = api.bind(invocation.runnable, **invocation.binding)
    if as_json:
        show(documents.text(documents.finite(document(bound, watches=watches))))
        return
    observed = observable(bound, watches)
    session = Session(Trace(bound, watches, observing=observed))
    if interleaving is not None:
        session.go(interleaving)
    elif race is not None or result is not None:
        _start(session, invocation, observed, race, result)
    if html is not None:
        pages.write(html, document(bound, ways=[session.interleaving], watches=watches), session.interleaving)
        return
    if invocation.given is not None:
        raise InputError("the program is read from standard input, and so are the steps", fix="write it to a file")

    def save(path: str, picture: Callable[[], str]) -> str:
        return _save(session, path, picture, used, force)

    if plain:
        stepper_plain.run(session, input_lines(), show, save)
        return
    from wingspan.views.stepper_app import Stepper

    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise InputError("the stepper needs a terminal", fix="--plain reads commands from standard input")
    Stepper(session, save).run()


def _start(
    session: Session, invocation: Invocation, observed: Sequence[str], race: int | None, result: int | None
) -> None:
    """Take the session to where a race is about to happen, or to a result, as `explore` numbers them."""
    found = explore_far(session.trace.program, observed)
    text = resolve_interleaving(found, invocation, race, result)
    if race is not None:
        text = format_interleaving(session.trace.approach(found.verdict.races[race - 1]))
    session.go(text)


def _save(session: Session, text: str, picture: Callable[[], str], used: Sequence[Path], force: bool) -> str:
    """Write the interleaving, a picture or a page, by the suffix; says what was written."""
    if not text:
        raise InputError(f"name a file: {KINDS}")
    path = require_readable_name(text)
    if path.suffix not in (".txt", ".svg", *pages.SUFFIXES):
        raise InputError(f"{path}: name a file: {KINDS}")
    check_output(path, used)
    check_new(path, force)
    if path.suffix in pages.SUFFIXES:
        trace, way = session.trace, session.interleaving
        pages.write(path, document(trace.program, ways=[way], watches=trace.watches.texts), way)
    else:
        data = FONTS.sub("", picture()) if path.suffix == ".svg" else f"{session.interleaving}\n"
        write_atomically(path, data.encode())
    return f"{path} is written"
