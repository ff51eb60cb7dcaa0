"""Verbs that serve editors: the language server, and the playground in the browser."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from wingspan.base.errors import InputError
from wingspan.base.paths import require_readable_name
from wingspan.cli.group import main
from wingspan.cli.package_data import read_shipped
from wingspan.console import show
from wingspan.play.programs import offered_programs
from wingspan.play.sharing import MARK, decode_program
from wingspan.program import read_text


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


@main.command()
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Serve this port.  [default: a free one]")
@click.option("--no-browser", is_flag=True, help="Only print the address; do not open a browser.")
def play(file: str | None, port: int, no_browser: bool) -> None:
    """Write programs in the browser, and see what can happen in them.

    The page is served on this machine alone, to whom knows its address, until Ctrl-C. FILE is a program, which the page
    can save; or an address that the page made to share a program.
    """
    with needing("play", ("starlette", "uvicorn")):
        from wingspan.play.server import Playground, make_app
    start, path = _first_program(file)
    with _listening(port) as listener:
        number = listener.getsockname()[1]
        hosts = frozenset({f"127.0.0.1:{number}", f"localhost:{number}"})
        playground = Playground(secrets.token_urlsafe(24), hosts, start, offered_programs(read_shipped), path)
        address = f"http://127.0.0.1:{number}/{playground.token}/"
        show(f"{address}\nserved until Ctrl-C")
        _serve(make_app(playground), listener, None if no_browser else address)


def _first_program(file: str | None) -> tuple[dict[str, Any], Path | None]:
    """The program to show first, and the file that it is saved to."""
    if file is None:
        return {"name": "sum.ws", "text": read_shipped("examples/sum.ws")}, None
    if MARK in file:
        return {"name": "shared.ws", "text": decode_program(file)}, None
    path = require_readable_name(file)
    return {"name": path.name, "text": read_text(path)}, path


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    """A socket of this machine alone. InputError if the port is taken."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            raise InputError(f"port {port}: {error.strerror}", fix="use another one, or none") from None
        listener.listen()
        yield listener


def _serve(app: Any, listener: socket.socket, address: str | None) -> None:
    """Serve until Ctrl-C; open an address in the browser, if there is one."""
    import webbrowser

    import uvicorn

    class BrowsedServer(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if address is not None:
                webbrowser.open(address)

    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1, h11_max_incomplete_event_size=65536)
    with suppress(KeyboardInterrupt):  # uvicorn has ended by then
        BrowsedServer(config).run([listener])
