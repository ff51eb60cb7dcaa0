"""A trace document as one page: a file of HTML that needs nothing else, neither a network nor a server.

It is written in plain JavaScript, in the modules of this folder, which a page has as one, and so has the widget of
notebooks. `mount` in page.js draws a trace document into any element.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

MODULES = ("dom", "walk", "layout", "steps", "program", "memory", "graph", "results", "page")
"""In an order in which each comes after those that it imports."""

IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)


ALONE = """html { color-scheme: light dark; }
body { margin: 0; }
.introduction { max-width: 120ch; margin: 0.6rem 1rem; font: 1rem/1.5 system-ui, "DejaVu Sans", sans-serif; }
.introduction p { margin: 0.3rem 0; }
"""
"""The further style of a window that shows nothing else."""


def page(document: Mapping[str, Any], start: str = "-", introduction: str = "") -> bytes:
    """The page of a trace document, which begins after the steps of an interleaving. `introduction` is HTML above it.

    The document stands in it compressed, so that no text of a program can be taken for markup. The policy of the page
    allows its own script and its own style sheet, by their digests, and nothing else: no network, no markup that acts.
    """
    sheet, code = ALONE + style(), script("open")
    text = Template(_read("page.html")).substitute(
        policy=_policy(code, sheet),
        title=escape(f"{document['program']['name']}: wingspan"),
        start=escape(start),
        style=sheet,
        introduction=f'<div class="introduction">\n{introduction}</div>\n' if introduction else "",
        script=code,
        trace=b64encode(pack(document)).decode(),
    )
    return text.encode(errors="replace")


def introduction(name: str) -> str:
    """HTML above the page of a program of the demonstration: what to do, the fix, and what comes next."""
    return _read(f"demo_{name}.html")


def pack(document: Mapping[str, Any]) -> bytes:
    """A trace document, compressed, as `unpacked` in page.js takes it."""
    return gzip.compress(json.dumps(document).encode(), mtime=0)


def script(*last: str) -> str:
    """The JavaScript of the page as one module, which exports `mount`; then that of further files."""
    return "\n".join(IMPORT.sub("", _read(f"{name}.js")) for name in (*MODULES, *last))


def style() -> str:
    """The style sheet of the page."""
    return _read("page.css")


def _policy(code: str, sheet: str) -> str:
    """The Content-Security-Policy (CSP Level 3) of a page with one script and one style sheet."""

    def digest(text: str) -> str:
        return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    sources = f"default-src 'none'; script-src {digest(code)}; style-src {digest(sheet)}"
    return f"{sources}; base-uri 'none'; form-action 'none'"


def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text("utf-8")
