"""The verb that walks through a program step by step."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from wingspan import api
from wingspan.cli import pages
from wingspan.cli.group import main
from wingspan.cli.options import FILE, FORCE, on_program
from wingspan.console import show, show_json
from wingspan.errors import InputError
from wingspan.explorer.interleaving import format_interleaving, parse_interleaving
from wingspan.paths import named
from wingspan.trace import Session, Trace, document, document_of
from wingspan.trace.document import SEARCHED
from wingspan.views import progress, stepper_plain
from wingspan.views.paint import spinner
from wingspan.views.values import count
from wingspan.views.view import Invocation, explored
from wingspan.written import check_new, check_output, write_atomically

T = TypeVar("T")

KINDS = ".txt for the interleaving, .svg for a picture, .html for a page"
FAR = 20_000
"""Races and results are counted among so many states."""


@main.command()
@on_program
@click.option("--interleaving", metavar="TASKS", help="Start after these steps, as replay takes them.")
@click.option(
    "--race", type=click.IntRange(min=1), metavar="N", help="Start where race N of explore is about to happen."
)
@click.option("--result", type=click.IntRange(min=1), metavar="N", help="Start at result N of explore.")
@click.option("--plain", is_flag=True, help="On standard input and output, a screen of text for each command.")
@click.option("--html", metavar="FILE", type=FILE, help="Write a page there instead, to step in a browser.")
@FORCE
def step(
    told: Invocation,
    as_json: bool,
    interleaving: str | None,
    race: int | None,
    result: int | None,
    plain: bool,
    html: Path | None,
    force: bool,
) -> None:
    """Walk through the program in FILE, step by step.

    Shows the program, memory, the rule of each step with its variables filled in, and which next steps race. With
    --json, prints the trace document of the whole program instead.
    """
    if sum(each is not None for each in (interleaving, race, result)) > 1:
        raise click.UsageError("--interleaving, --race and --result exclude each other.")
    if sum((as_json, plain, html is not None)) > 1:
        raise click.UsageError("--json, --plain and --html exclude each other.")
    used = api.files_of(told.runnable, told.inputs)
    if html is not None:
        pages.check(html, used, force)
    bound = api.bind(told.runnable, **told.binding)
    if as_json:
        show_json(document(bound))
        return
    session = Session(Trace(bound))
    if interleaving is not None:
        session.go(interleaving)
    elif race is not None or result is not None:
        _start(session, told, race, result)
    if html is not None:
        pages.write(html, _around(session), session.interleaving)
        return
    if told.given is not None:
        raise InputError("the program is read from standard input, and so are the steps", fix="write it to a file")

    def save(path: str, picture: Callable[[], str]) -> str:
        return _save(session, path, picture, used, force)

    if plain:
        stepper_plain.run(session, sys.stdin, show, save)
        return
    try:
        from wingspan.views.stepper_app import Stepper
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("textual"):
            raise
        fix = "install it: pip install 'wingspan[step]'; or use --plain, which needs nothing"
        raise InputError("the stepper needs Textual, which is not installed", fix=fix) from None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("the stepper needs a terminal", fix="--plain reads commands from standard input")
    Stepper(session, save).run()


def _start(session: Session, told: Invocation, race: int | None, result: int | None) -> None:
    """Take the session to where a race is about to happen, or to a result, as `explore` numbers them."""
    with spinner(progress.searching, sys.stderr) as tell:
        report = explored(api.explore(session.trace.program, max_states=FAR, progress=tell), told)
    if result is not None:
        session.go(_numbered("result", result, report.endings, told).interleaving)
    if race is not None:
        found = _numbered("race", race, report.verdict.races, told)
        tasks = parse_interleaving(found.interleaving)
        for racing in (2, 1):  # its last steps are the two that race, or the first of them if that faults
            session.go(format_interleaving(tasks[:-racing]))
            if session.node is not None and found.second.task in session.node.racing(found.first.task):
                return


def _numbered(what: str, number: int, found: Sequence[T], told: Invocation) -> T:
    """The race or the result with a number, from 1."""
    if number > len(found):
        raise InputError(
            f"there is no {what} {number}: {count(len(found), what)} in all", fix=f"see `{told.explore()}`"
        )
    return found[number - 1]


def _around(session: Session) -> dict[str, Any]:
    """The trace document of a session, with the way that it has taken."""
    found = api.explore(session.trace.program, strategy="graph", max_states=SEARCHED)
    return document_of(found, ways=[session.interleaving])


def _save(session: Session, text: str, picture: Callable[[], str], used: Sequence[Path], force: bool) -> str:
    """Write the interleaving, a picture or a page, by the suffix; says what was written."""
    if not text:
        raise InputError(f"name a file: {KINDS}")
    path = named(text)
    if path.suffix not in (".txt", ".svg", *pages.SUFFIXES):
        raise InputError(f"{path}: name a file: {KINDS}")
    check_output(path, used)
    check_new(path, force)
    if path.suffix in pages.SUFFIXES:
        pages.write(path, _around(session), session.interleaving)
    else:
        data = picture() if path.suffix == ".svg" else f"{session.interleaving}\n"
        write_atomically(path, data.encode())
    return f"{path} is written"
