"""Pages: how they are written, and the verb that opens the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from wingspan import api
from wingspan.base.errors import InputError
from wingspan.base.paths import require_readable_name
from wingspan.base.writing import check_new, check_output, write_atomically
from wingspan.cli.group import main
from wingspan.cli.options import FORCE, JSON
from wingspan.cli.package_data import read_shipped
from wingspan.console import show_result

WATCH = click.option(
    "--watch", "watches", metavar="EXPR", multiple=True, help="Evaluate this expression in each state."
)
SUFFIXES = (".html", ".htm")


def require_rules(machine: str) -> None:
    """InputError if the machine is that of plans, whose steps have neither premises nor a configuration to show."""
    if machine != "semantics":
        fix = (
            "use --machine semantics; of plans, `wingspan replay FILE --machine native` follows runs, "
            "and `wingspan explore FILE --machine native --graph states.svg` draws states"
        )
        raise InputError("pages and the stepper show the steps of rules, and a plan has none", fix=fix)


def check(path: Path, used: Sequence[Path], force: bool) -> None:
    """InputError, before anything is searched, if no page can be written there, or if the command uses that file."""
    if require_readable_name(path).suffix not in SUFFIXES:
        raise InputError(f"{path}: not a file that pages are written to", fix="name a .html file")
    check_output(path, used)
    check_new(path, force)


def write(path: Path, trace: Mapping[str, Any], start: str = "-", introduction: str = "") -> None:
    """Write the page of a trace document, which begins after the steps of an interleaving."""
    from wingspan.views.page import page

    write_atomically(path, page(trace, start, introduction))


@main.command()
@click.argument("folder", metavar="[FOLDER]", required=False, type=click.Path(path_type=Path))
@click.option("--no-browser", is_flag=True, help="Only write it; do not open a browser.")
@FORCE
@JSON
def demo(folder: Path | None, no_browser: bool, force: bool, as_json: bool) -> None:
    """Write the page of a first example, and open it in the browser.

    Two tasks add to one sum, and an update is lost. The page, and that of the program with its fix, go to FOLDER, or
    to a new temporary one.
    """
    import tempfile
    import webbrowser

    from wingspan.trace import document
    from wingspan.views.page import introduction

    place = Path(tempfile.mkdtemp(prefix="wingspan-")) if folder is None else folder
    texts = {"sum": read_shipped("examples/sum.ws"), "sum_atomic": read_shipped("examples/sum_atomic.ws")}
    for name in texts:
        check(place / f"{name}.html", (), force)
    for name, text in texts.items():
        write(place / f"{name}.html", document(api.parse(text, f"{name}.ws")), introduction=introduction(name))
    first = place / "sum.html"
    opened = not no_browser and webbrowser.open(first.resolve().as_uri())
    text = f"{first}: two tasks, and an update that is lost; {'opened' if opened else 'open it'} in a browser"
    show_result(as_json, lambda: {"file": str(first), "opened": opened}, lambda: text)
