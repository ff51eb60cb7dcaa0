"""The verb that prints a program in its canonical form."""

from __future__ import annotations

import click

from wingspan import api
from wingspan.cli.group import main
from wingspan.cli.options import JSON
from wingspan.console import show_result
from wingspan.editing.formatting import format_program
from wingspan.program import from_stdin


@main.command()
@click.argument("file", type=click.Path())
@JSON
def fmt(file: str, as_json: bool) -> None:
    """Print the program in FILE in its canonical form, with its comments."""
    program = from_stdin() if file == "-" else api.load(file)
    text = format_program(program).removesuffix("\n")
    show_result(as_json, lambda: {"program": text}, lambda: text)
