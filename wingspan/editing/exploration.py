"""The search of a text's program within bounds that suit an editor, with its report and its page."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wingspan import api
from wingspan.api.small import Small, draw
from wingspan.base import documents
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError
from wingspan.base.libraries import np
from wingspan.editing.diagnosis import read
from wingspan.elaborate import Elaborated
from wingspan.explorer.bounds import Stopped
from wingspan.trace import document_of
from wingspan.views import terminal
from wingspan.views.page import page
from wingspan.views.view import Invocation, exploration_report

if TYPE_CHECKING:
    from wingspan.editing.json_types import ExploredText, InputTable

STATES, SHOWN = 20_000, 300
"""The most states that are searched, and that a page has."""
SECONDS = 8.0
"""The most seconds of the search, and of making the page."""
SCOPE = 2
"""The scope in which inputs are drawn that are left open."""
LARGEST = 64
"""The most elements of an input that is shown as a table."""


@dataclass(frozen=True)
class SmallProgram:
    """A program with everything bound: by what the user wrote into tables, and by what was drawn."""

    program: Elaborated
    drawn: Small
    inputs: Mapping[str, Any]
    """the arrays of its open inputs"""


def bind_small(text: str, name: str, folder: Path, inputs: Mapping[str, Any] | None, seed: int) -> SmallProgram:
    """Bind a text's program. `inputs` are nested lists by the names of tensors; what is left open is drawn by the seed.

    Inputs that do not fit, as after a change of the text, are drawn, too. WingspanError if the text is no program, or
    nothing small fits it.
    """
    program = read(text, name, folder)
    arrays = {tensor: _array(tensor, rows) for tensor, rows in (inputs or {}).items()}
    try:
        drawn = draw(program, SCOPE, seed, inputs=arrays)
    except InputError:
        arrays = {}
        drawn = draw(program, SCOPE, seed)
    every = {**drawn.inputs, **arrays}
    if not every and not drawn.params:  # it leaves nothing open, and has the threads that it names
        return SmallProgram(api.bind(program), drawn, {})
    return SmallProgram(api.bind(program, **drawn.binding(arrays, None, None)), drawn, every)


def _array(tensor: str, rows: Any) -> Any:
    """An input from the cells of a table. InputError if one is no number."""

    def number(cell: Any) -> Any:
        return (
            [number(each) for each in cell]
            if isinstance(cell, list)
            else float(cell)
            if isinstance(cell, str)
            else cell
        )

    try:
        array = np.array(number(rows))
    except (TypeError, ValueError):
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{tensor}: a cell is no number", fix="write numbers, Inf, -Inf or NaN")
    return array


def explore(
    text: str,
    name: str = "program.ws",
    folder: Path = Path(),
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    with_page: bool = True,
) -> ExploredText:
    """Explore a text's program within bounds, bound by `bind_small`, which says what may be wrong with it."""
    small = bind_small(text, name, folder, inputs, seed)
    found = api.explore(small.program, strategy="graph", max_states=STATES, max_seconds=SECONDS)
    report = exploration_report(found, Invocation(name, drawn=small.drawn if small.inputs else None))
    return {
        "verdict": found.verdict.verdict,
        "report": terminal.explore(report),
        "page": _page(found) if with_page else "",
        "inputs": [_table(tensor, array) for tensor, array in small.inputs.items()],
        "params": dict(small.drawn.params),
    }


def _page(found: api.Exploration) -> str:
    """The page of what was found; empty if it is not made in time."""
    try:
        with _stopping_after(SECONDS):
            return page(document_of(found, SHOWN, [found.interleaving()])).decode()
    except Stopped:
        return ""


@contextmanager
def _stopping_after(seconds: float) -> Iterator[None]:
    """Within, `Stopped` is raised once the time is up: also inside of one step, which may run a serial loop to its end.

    By a signal, so in the main thread alone, where processes compute their jobs.
    """

    def stop(number: int, frame: object) -> None:
        raise Stopped("max-seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _table(tensor: str, array: Any) -> InputTable:
    """An input as rows; none if it is no vector or matrix of a few elements."""
    shown = 1 <= array.ndim <= 2 and array.size <= LARGEST and array.dtype.kind in "biuf"
    rows = np.atleast_2d(array).tolist() if shown else []
    shape = "×".join(map(str, array.shape))
    return {"name": tensor, "shape": shape, "vector": array.ndim == 1, "rows": documents.finite(rows)}
