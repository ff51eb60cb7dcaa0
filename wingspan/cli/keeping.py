"""Verbs about what is kept: compiled programs, and the schemas of JSON."""

from __future__ import annotations

import click

from wingspan.base import documents
from wingspan.cli.group import main
from wingspan.cli.options import JSON
from wingspan.compiled import cache as kept
from wingspan.console import show, show_result


@main.command()
@click.option("--clear", is_flag=True, help="Delete them all.")
@JSON
def cache(clear: bool, as_json: bool) -> None:
    """Show where compiled programs are kept, how many, and their size."""
    folder, sizes = kept.folder(), [about.st_size for about in kept.entries().values()]
    count = kept.clear() if clear else len(sizes)
    made = {"folder": str(folder), "programs": count, "bytes": sum(sizes), "deleted": clear}
    programs = f"{count:,} compiled program{'s' * (count != 1)}"
    kept_now = f"{programs}, {sum(sizes):,} bytes" if count else "nothing is kept"
    show_result(as_json, lambda: made, lambda: f"{folder}: {f'{programs} deleted' if clear and count else kept_now}")


@main.command()
@click.argument("kind", metavar="[VERB]", required=False)
def schema(kind: str | None) -> None:
    """Print the JSON Schema of what VERB prints with --json.

    Without VERB, list the schemas. `error` is what every verb prints if it fails.
    """
    from wingspan.views import schemas  # loads a library that makes schemas

    show("\n".join(schemas.KINDS) if kind is None else documents.text(schemas.schema(kind), indent=2))
