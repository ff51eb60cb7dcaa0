"""The search of a text's program within bounds that suit an editor, with its report and its page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from wingspan import api
from wingspan.api.small import Small, draw
from wingspan.base.errors import InputError
from wingspan.base.libraries import np
from wingspan.editing.diagnosis import read
from wingspan.explorer.bounds import Bounds, Stopped
from wingspan.program import Program
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


def explore(
    text: str,
    name: str = "program.ws",
    folder: Path = Path(),
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    with_page: bool = True,
) -> ExploredText:
    """Explore a text's program, within bounds.

    `inputs` are nested lists by the names of tensors; what is left open is drawn by the seed. WingspanError if the text
    is no program that can be explored, or the inputs do not fit.
    """
    program = read(text, name, folder)
    arrays = {tensor: np.array(rows) for tensor, rows in (inputs or {}).items()}
    try:
        drawn = draw(program, SCOPE, seed, inputs=arrays)
    except InputError:
        arrays = {}  # extents changed under the values that were written for them
        drawn = draw(program, SCOPE, seed)
    bound = api.bind(program, **_binding(program, drawn, arrays))
    found = api.explore(bound, strategy="graph", max_states=STATES, max_seconds=SECONDS)
    report = exploration_report(found, Invocation(name, drawn=drawn if drawn.inputs or drawn.params else None))
    return {
        "verdict": found.verdict.verdict,
        "report": terminal.explore(report),
        "page": _page(found) if with_page else "",
        "inputs": [_table(tensor, array) for tensor, array in {**drawn.inputs, **arrays}.items()],
        "params": dict(drawn.params),
    }


def _page(found: api.Exploration) -> str:
    """The page of the findings, which begins at its start; empty if it is not made in time."""
    try:
        tick = Bounds(SECONDS, None, monotonic()).tick
        return page(document_of(found, SHOWN, [found.interleaving()], tick=tick)).decode()
    except Stopped:
        return ""


def _binding(program: Program, drawn: Small, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that bind the program; a program that leaves nothing open has the threads that it names."""
    if not drawn.inputs and not drawn.params:
        return {"inputs": arrays}
    return drawn.binding(arrays, None, None)


def _table(tensor: str, array: Any) -> InputTable:
    """An input as rows of texts; none if it is no vector or matrix of a few elements."""
    shown = 1 <= array.ndim <= 2 and array.size <= LARGEST and array.dtype.kind in "biuf"
    rows = np.atleast_2d(array).tolist() if shown else []
    shape = "×".join(map(str, array.shape))
    return {"name": tensor, "shape": shape, "vector": array.ndim == 1, "rows": rows}
