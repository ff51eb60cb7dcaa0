"""The pictures of docs/pictures: those that the tool draws, and those of `figures`.

`python -m proofs_tests.pictures` draws them; `make docs` does so.

Graphs need Graphviz: where it is missing, those that are there stay.
"""

from __future__ import annotations

import asyncio
import io
import re
import shutil
from collections.abc import Callable
from contextlib import chdir, redirect_stdout, suppress

from proofs_tests.figures import FIGURES
from proofs_tests.places import EXAMPLES, ROOT
from wingspan import cli
from wingspan.trace import Session, Trace

FOLDER = ROOT / "docs" / "pictures"
LOST = "1*3,2,1"
"""The interleaving of dependent.ws that loses an update."""
SIZE = (90, 26)
"""Columns and lines of the terminal in the picture of the stepper."""


def printed(*words: str) -> str:
    """The output of a command in the folder above the examples."""
    out = io.StringIO()
    with chdir(ROOT), redirect_stdout(out), suppress(SystemExit):
        cli.main(list(words), prog_name="wingspan", standalone_mode=False)
    return out.getvalue()


def stepper() -> str:
    """The stepper in a terminal, where two updates race."""
    from wingspan.views.stepper_app import Stepper

    async def run() -> str:
        walk = Session(Trace(EXAMPLES / "dependent.ws"))
        walk.go("1*3,2")
        app = Stepper(walk, lambda path, picture: path)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            return app.export_screenshot(title="wingspan step dependent.ws")

    return plain(asyncio.run(run()))


def plain(picture: str) -> str:
    """A picture without fonts from elsewhere, and with names that do not change from run to run."""
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    return re.sub(r"terminal-\d+", "terminal", picture).replace("Fira Code", "ui-monospace")


def texts(picture: str) -> list[str]:
    """The texts of a picture, in their order."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


DEPENDENT = "examples/dependent.ws"
DRAWN: dict[str, Callable[[], str]] = {
    "stepper": stepper,
    "lanes": lambda: printed("replay", DEPENDENT, "--interleaving", LOST, "--format", "svg"),
    "derivation": lambda: printed("replay", DEPENDENT, "--interleaving", LOST, "--derivation", "--format", "svg"),
    "rules": lambda: printed("rules", "ParallelFor", "Spawn", "Assign", "--format", "svg"),
    **FIGURES,
}


def main() -> None:
    """Draw all of them."""
    for name, draw in DRAWN.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")
    if shutil.which("dot"):
        printed("explore", "examples/quiz_node_race.ws", "--graph", str(FOLDER / "states.svg"), "--memory", "--force")


if __name__ == "__main__":
    main()
