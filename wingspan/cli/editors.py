"""Verbs that serve editors: the language server, and the playground in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wingspan.base.errors import InputError
from wingspan.cli.group import main


@contextmanager
def needing(verb: str, libraries: tuple[str, ...]) -> Iterator[None]:
    """Within, import the libraries of an extra; InputError if one is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in libraries:
            raise
        fix = f"install it: pip install 'wingspan[{verb}]'"
        raise InputError(f"wingspan {verb} needs {error.name}, which is not installed", fix=fix) from None


@main.command()
def lsp() -> None:
    """Serve editors by the Language Server Protocol, on standard input and output.

    Editors start it themselves: docs/how-to/editors.md has the settings of VS Code, Neovim and Helix.
    """
    from importlib.metadata import version

    with needing("lsp", ("pygls", "lsprotocol")):
        from wingspan.lsp import make_server
    make_server(version("wingspan")).start_io()
