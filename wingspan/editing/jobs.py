"""The jobs of editors, which are computed in processes of their own: functions of plain data that give plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def complete(text: str, line: int, column: int) -> Any:
    """The words that can be written at a place."""
    from wingspan.editing.completion import complete

    return complete(text, line, column)


def format_text(text: str, name: str) -> str:
    """The text in its canonical form."""
    from wingspan.editing.formatting import format_text

    return format_text(text, name)


def explore(
    text: str, name: str, folder: str, inputs: Mapping[str, Any] | None = None, seed: int = 0, with_page: bool = True
) -> Any:
    """The findings of exploring a text's program within bounds."""
    from wingspan.editing.exploration import explore

    return explore(text, name, Path(folder), inputs, seed, with_page)


def compile_text(text: str, name: str, folder: str, inputs: Mapping[str, Any] | None = None, seed: int = 0) -> Any:
    """The plan and the C of a text's program."""
    from wingspan.editing.compilation import compile_text

    return compile_text(text, name, Path(folder), inputs, seed)


JOBS: dict[str, Job] = {
    job.__name__: job for job in (diagnose, outline, hover, complete, format_text, explore, compile_text)
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
