"""The jobs of editors, which are computed in processes of their own: functions of plain data that give plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from wingspan.base.budget import BUDGET
from wingspan.base.errors import ParseError, WingspanError

Job = Callable[..., Any]


def diagnose(text: str, name: str, folder: str, fixes: bool) -> Any:
    """The problems of a text, the verdict, and if wanted its fixes."""
    from wingspan.editing.diagnosis import diagnose

    return diagnose(text, name, Path(folder), BUDGET if fixes else 0)


def outline(text: str, name: str, folder: str) -> Any:
    """The symbols of a text; none if it is no program."""
    from wingspan.editing.diagnosis import read
    from wingspan.editing.outline import outline

    try:
        return outline(read(text, name, Path(folder)))
    except ParseError:
        return []


def hover(text: str, name: str, folder: str, line: int, column: int) -> str:
    """The explanation of a place; empty if there is none."""
    from wingspan.editing.diagnosis import read
    from wingspan.editing.hover import hover

    try:
        return hover(read(text, name, Path(folder)), line, column)
    except ParseError:
        return ""


def _later(module: str, name: str) -> Job:
    """A function of a module of this package, which is imported when it is first called."""

    def job(**arguments: Any) -> Any:
        if "folder" in arguments:
            arguments["folder"] = Path(arguments["folder"])
        return getattr(import_module(f"wingspan.editing.{module}"), name)(**arguments)

    return job


JOBS: dict[str, Job] = {
    "diagnose": diagnose,
    "outline": outline,
    "hover": hover,
    "complete": _later("completion", "complete"),
    "format_text": _later("formatting", "format_text"),
    "explore": _later("exploration", "explore"),
    "compile_text": _later("compilation", "compile_text"),
}
"""By name. Front doors may add to it, before their first job."""


def perform(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a job, or the error that it ended with: `{"result": …}` or `{"error": text, "fix": text}`."""
    try:
        return {"result": JOBS[name](**arguments)}
    except WingspanError as error:
        return {"error": error.render()}
    except MemoryError:
        return {"error": "memory ran out: use a smaller program or smaller inputs"}
    except RecursionError:
        return {"error": "the program is nested too deeply"}
