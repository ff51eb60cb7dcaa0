"""Verbs about what is kept: compiled programs, and the schemas of JSON."""

from __future__ import annotations

import click

from wingspan import schemas
from wingspan.cli.group import main
from wingspan.cli.options import JSON
from wingspan.compiled import build
from wingspan.console import show, show_json


@main.command()
@click.option("--clear", is_flag=True, help="Delete them all.")
@JSON
def cache(clear: bool, as_json: bool) -> None:
    """Show where compiled programs are kept, how many, and their size."""
    folder, sizes = build.folder(), [path.stat().st_size for path in build.entries()]
    if clear:
        build.clear()
    if as_json:
        show_json({"folder": str(folder), "programs": len(sizes), "bytes": sum(sizes), "deleted": clear})
    elif not sizes:
        show(f"{folder}: nothing is kept")
    else:
        count = f"{len(sizes):,} compiled program{'s' * (len(sizes) != 1)}"
        show(f"{folder}: {count} deleted" if clear else f"{folder}: {count}, {sum(sizes):,} bytes")


@main.command()
@click.argument("kind", metavar="[VERB]", required=False)
def schema(kind: str | None) -> None:
    """Print the JSON Schema of what VERB prints with --json.

    Without VERB, list the schemas. `error` is what every verb prints if it fails.
    """
    show("\n".join(schemas.NAMES) if kind is None else schemas.text(schemas.schema(kind), indent=2))
