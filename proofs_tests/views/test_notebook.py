"""A notebook that is executed without a browser: the magic, the widget with its state, and results that show."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from proofs_tests.places import EXAMPLES
from wingspan.trace import document
from wingspan.views.page import script

DEPENDENT = EXAMPLES / "dependent.ws"
PROGRAM = DEPENDENT.read_text("utf-8").replace("parallel(1:4)", "parallel(1:4, cpu(:t, nt))")
CELLS = [
    "%load_ext wingspan",
    f"%%wingspan explore -p nt=2\n{PROGRAM}",
    f"import wingspan\nwalk = wingspan.step({str(DEPENDENT)!r})\nwalk",
    "walk.interleaving = '1*3,2,1,2'\nwalk.state",
    f"wingspan.explore({str(DEPENDENT)!r})",
    "%%wingspan explore\nc[1] += 1",
]


@pytest.mark.filterwarnings("ignore")
def test_a_notebook_shows_verdicts_and_a_widget_that_python_steers(tmp_path: Path) -> None:
    """JupyterLab saves one output for each cell, and the widget's script, document and place."""
    made = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, CELLS)))
    NotebookClient(made, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert [len(cell.outputs) for cell in made.cells] == [0, 1, 1, 1, 1, 1]
    magic, shown, moved, explored, mistaken = (cell.outputs[0] for cell in made.cells[1:])
    assert magic.name == "stdout" and "1 race, 2 results" in magic.text and "70 interleavings" in magic.text
    state = made.metadata.widgets["application/vnd.jupyter.widget-state+json"].state
    view = shown.data["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert state[view].state["_esm"].startswith(script())
    assert state[view].state["interleaving"] == "1*3,2,1,2"
    (packed,) = (each for each in state[view].buffers if each["path"] == ["packed"])
    trace = json.loads(gzip.decompress(base64.b64decode(packed["data"])))
    assert trace == json.loads(json.dumps(document(str(DEPENDENT))))
    at = trace["states"][int(moved.data["text/plain"])]
    assert [value for cell, value in at["cells"] if trace["cells"][cell]["name"] == "c.val[3]"] == ["1"]
    assert "<table>" in explored.data["text/html"]
    assert explored.data["text/plain"].startswith("<Exploration race: ")
    assert mistaken.name == "stderr" and "c is updated and never defined" in mistaken.text
