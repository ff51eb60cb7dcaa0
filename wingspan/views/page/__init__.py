"""A trace document as one page: a file of HTML that needs nothing else, neither a network nor a server.

It is written in plain JavaScript, in the modules of this folder, which a page has as one, and so has the widget of
notebooks. `mount` in page.js draws a trace document into any element.
"""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

MODULES = ("dom", "walk", "layout", "steps", "program", "memory", "graph", "results", "page")
"""In an order in which each comes after those that it imports."""

IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)


def page(document: dict[str, Any], start: str = "-") -> bytes:
    """The page of a trace document, which begins after the steps of an interleaving.

    The document stands in it compressed, so that no text of a program can be taken for markup.
    """
    text = Template(_read("page.html")).substitute(
        title=escape(f"{document['program']['name']}: wingspan"),
        start=escape(start),
        style=style(),
        script=script("open"),
        trace=b64encode(packed(document)).decode(),
    )
    return text.encode(errors="replace")


def packed(document: dict[str, Any]) -> bytes:
    """A trace document, compressed, as `unpacked` in page.js takes it."""
    return gzip.compress(json.dumps(document).encode(), mtime=0)


def script(*last: str) -> str:
    """The JavaScript of the page as one module, which exports `mount`; then that of further files."""
    return "\n".join(IMPORT.sub("", _read(f"{name}.js")) for name in (*MODULES, *last))


def style() -> str:
    """The style sheet of the page."""
    return _read("page.css")


def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text("utf-8")
