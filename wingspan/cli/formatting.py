"""The verb that prints a program as the printer writes it."""

from __future__ import annotations

import click

from wingspan import api
from wingspan.cli.group import main
from wingspan.cli.options import JSON
from wingspan.console import show, show_json
from wingspan.program import from_stdin


@main.command()
@click.argument("file", type=click.Path())
@JSON
def fmt(file: str, as_json: bool) -> None:
    """Print the program in FILE in its canonical form. Comments are lost."""
    program = from_stdin() if file == "-" else api.load(file)
    if as_json:
        from wingspan.views import json as data  # takes all engines, since it makes the JSON of their results, too

        show_json(data.fmt(program))
    else:
        show(str(program))
