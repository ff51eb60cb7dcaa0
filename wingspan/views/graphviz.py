"""Graphs as pictures, by Graphviz where it is installed."""

from __future__ import annotations

import shutil
import subprocess

from wingspan.base.errors import InputError
from wingspan.explorer.bounds import Stopped

TEXTS = (".dot", ".gv")
PICTURES = (".svg", ".png", ".pdf")


def find_dot() -> str:
    """The path of Graphviz's `dot`. InputError if it is not there."""
    path = shutil.which("dot")
    if path is None:
        fix = "install Graphviz (https://graphviz.org/download), or name a .dot file"
        raise InputError("a picture of a graph needs Graphviz, whose command `dot` is not there", fix=fix)
    return path


def render(text: str, suffix: str, seconds: float | None = None) -> bytes:
    """A graph as a file with this suffix has it.

    InputError if Graphviz cannot draw it; `Stopped` if that takes more than so many seconds.
    """
    data = text.encode(errors="replace")
    if suffix in TEXTS:
        return data
    command = [find_dot(), f"-T{suffix[1:]}"]
    try:
        done = subprocess.run(command, input=data, capture_output=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Stopped("max-seconds") from None
    if done.returncode:
        messages = done.stderr.decode(errors="replace").strip().splitlines()
        fix = "name a .dot file, or explore less: --max-states N"
        raise InputError(f"Graphviz cannot draw this graph: {messages[-1] if messages else done.returncode}", fix=fix)
    return done.stdout
