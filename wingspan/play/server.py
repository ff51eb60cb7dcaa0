"""The server of the playground: one page on this machine, and jobs that end at their bounds.

Only who knows the address, which has a random token, is served: no other program's page may use it. `Host` and `Origin`
are checked, against names that others let point here, and against requests that other pages send.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError
from wingspan.base.writing import write_atomically
from wingspan.editing.workers import Workers
from wingspan.play.programs import OfferedProgram
from wingspan.program import LONGEST
from wingspan.views.highlighting import TOKENS

QUICK = {"diagnose": 15.0, "complete": 5.0, "format_text": 5.0}
"""The jobs while the user types, and the seconds that each may take."""
LONG = {"explore": 30.0, "compile_text": 30.0}
"""The jobs that the user asks for. They have processes of their own, so that they do not keep the others waiting."""
PAGES = 20
"""The number of pages that are kept, of all windows."""
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}


@dataclass
class Playground:
    """The state of the server, which all windows share.

    Attributes:
        token: the random part of the address.
        hosts: the values of `Host` that are accepted.
        start: the program that is shown first.
        programs: those to choose from.
        file: the file that `start` was read from, and is saved to; if None, it cannot be saved.
    """

    token: str
    hosts: frozenset[str]
    start: Mapping[str, Any]
    programs: list[OfferedProgram]
    file: Path | None = None
    pages: OrderedDict[str, tuple[str, str]] = field(default_factory=OrderedDict)
    """the pages of explorations, by their numbers: the name of the program, and the HTML"""
    quick: Workers = field(default_factory=lambda: Workers(1))
    long: Workers = field(default_factory=lambda: Workers(2))

    @property
    def folder(self) -> str:
        """The folder of the files that programs name."""
        return str(self.file.parent if self.file else Path())

    def keep_page(self, name: str, html: str) -> str:
        """Keep a page, and drop the oldest one if there are many; its number."""
        number = secrets.token_hex(8)
        self.pages[number] = name, html
        while len(self.pages) > PAGES:
            self.pages.popitem(last=False)
        return number

    async def perform(self, job: str, arguments: dict[str, Any]) -> Any:
        """The result of a job; of an exploration with the number of its page. InputError if it has none."""
        if job != "complete":
            arguments["name"] = str(arguments.get("name") or "program.ws")
        if job not in ("complete", "format_text"):
            arguments["folder"] = self.folder
        if job in QUICK:
            return await self.quick.run(job, arguments, QUICK[job])
        found = await self.long.run(job, arguments, LONG[job])
        if job == "explore" and found["page"]:
            found["page"] = self.keep_page(arguments["name"], found["page"])
        return found

    async def close(self) -> None:
        """End the processes that are idle; those that compute end with this one."""
        await self.quick.close()
        await self.long.close()

    def save(self, text: str, before: str) -> None:
        """Write the program to its file. InputError if it has none, or if its text is not the one before."""
        if self.file is None:
            raise InputError("there is no file to save to", fix="start with one: wingspan play FILE")
        if self.file.exists() and self.file.read_bytes() != before.encode():
            fix = "copy your text, and reload the page: it then has the text of the file"
            raise InputError(f"{self.file.name} was changed by another program", fix=fix)
        write_atomically(self.file, text.encode())


def make_app(playground: Playground) -> ASGIApp:
    """The application that serves a playground."""

    async def show_page(request: Request) -> Response:
        return static("play.html")

    async def show_static(request: Request) -> Response:
        return static(request.path_params["name"])

    async def show_start(request: Request) -> Response:
        tokens = [[kind.name, kind.pattern] for kind in TOKENS]
        saves = playground.file is not None
        return JSONResponse(
            {"tokens": tokens, "start": playground.start, "programs": playground.programs, "saves": saves}
        )

    async def show_exploration(request: Request) -> Response:
        found = playground.pages.get(request.path_params["number"])
        if found is None:
            return PlainTextResponse("This page is gone: explore the program again.", 404)
        name, html = found
        headers = {}
        if "download" in request.query_params:
            stem = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in Path(name).stem)
            headers["Content-Disposition"] = f'attachment; filename="{stem or "program"}.html"'
        return HTMLResponse(html, headers={**headers, "Content-Security-Policy": "frame-ancestors 'self'"})

    async def save(request: Request) -> Response:
        asked = await read_json(request)
        return await answer(_immediately(lambda: playground.save(str(asked["text"]), str(asked["before"]))))

    async def perform(request: Request) -> Response:
        job = request.path_params["job"]
        if job not in QUICK | LONG:
            return PlainTextResponse("There is no such job.", 404)
        asked = await read_json(request)
        work = asyncio.ensure_future(answer(playground.perform(job, asked)))
        gone = asyncio.ensure_future(_disconnect(request))
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if not work.done():  # the window was closed, or the user has gone on
            work.cancel()
            await asyncio.wait((work,))
            return Response(status_code=499)
        return work.result()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await playground.close()

    root = f"/{playground.token}"
    routes = [
        Route(f"{root}/", show_page),
        Route(f"{root}/start", show_start),
        Route(f"{root}/static/{{name}}", show_static),
        Route(f"{root}/page/{{number}}", show_exploration),
        Route(f"{root}/save", save, methods=["POST"]),
        Route(f"{root}/job/{{job}}", perform, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), playground.hosts)


class Guard:
    """Answers requests that are sent to this server by its own page, or by the user, and refuses all others."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "http" and (reason := self._refusal(Request(scope))):
            await PlainTextResponse(reason, 403)(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] += [(name, value) for name, value in more if name not in known]
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> str:
        """The reason to refuse a request; empty if there is none."""
        host = request.headers.get("host", "")
        if host not in self.hosts:
            return "This host is not served: open the address that `wingspan play` has printed."
        if request.method not in ("GET", "HEAD") and request.headers.get("origin") != f"http://{host}":
            return "Requests of other pages are refused."
        if int(request.headers.get("content-length") or 0) > 2 * LONGEST:
            return f"A program has at most {LONGEST} bytes."
        return ""


def static(name: str) -> Response:
    """A file of the page."""
    kind = TYPES.get(Path(name).suffix)
    path = files("wingspan.play").joinpath("static", Path(name).name)
    if kind is None or not path.is_file():
        return PlainTextResponse("There is no such file.", 404)
    return Response(path.read_bytes(), media_type=kind, headers={"Content-Security-Policy": POLICY})


async def read_json(request: Request) -> dict[str, Any]:
    """The object that a request has; empty if it has none. A body that is too long is cut, and so is none."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > 2 * LONGEST:
            return {}
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


async def answer(result: Any) -> Response:
    """The result as JSON, or the error."""
    try:
        return JSONResponse({"result": await result})
    except InputError as error:
        return JSONResponse({"error": error.render()})
    except (KeyError, TypeError) as error:
        return JSONResponse({"error": f"this is no request of the page: {error}"}, 400)


async def _immediately(function: Callable[[], Any]) -> Any:
    return function()


async def _disconnect(request: Request) -> None:
    """Return when the client has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
