"""The pages of programs in the site: a comment `<!-- playable: FILE TASKS -->` in a page stands for one.

FILE is a program that the page gives, or a file of this repository; the page of the program begins after the
interleaving TASKS, or at the start. Elsewhere than in the site, the comment shows nothing.
"""

from __future__ import annotations

import re
import shutil
from contextlib import chdir
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from proofs_tests.lessons import files
from proofs_tests.places import ROOT
from wingspan import cli

COMMENT = re.compile(r"<!-- playable: (\S+)(?: (\S+))? -->")


class Playable(NamedTuple):
    """A program, and the interleaving after which its page begins."""

    name: str
    start: str


def playable(text: str) -> Playable | None:
    """The program that a comment of a page names, if it is such a comment."""
    found = COMMENT.fullmatch(text.strip())
    return Playable(found[1], found[2] or "-") if found else None


def write_program_page(source: Path, shown: Playable, out: Path) -> None:
    """Write the page of a program that a page of Markdown shows to the file `out`."""
    given = files(source)
    with TemporaryDirectory() as folder:
        program = Path(folder, Path(shown.name).name)
        if shown.name in given:
            program.write_text(given[shown.name], encoding="utf-8")
        else:
            shutil.copyfile(ROOT / shown.name, program)
        out.parent.mkdir(parents=True, exist_ok=True)
        words = ("step", program.name, "--interleaving", shown.start, "--html", str(out.absolute()), "--force")
        with chdir(folder):
            cli.main(list(words), prog_name="wingspan", standalone_mode=False)


def frame(shown: Playable, address: str) -> str:
    """HTML that shows the page of a program at an address within another page."""
    name, address = escape(Path(shown.name).name), escape(address)
    return (
        f'<figure class="playable"><iframe src="{address}" title="{name}, to step through" loading="lazy"></iframe>'
        f"<figcaption>Choose which task takes the next step, or go to a race or a result. "
        f'<a href="{address}">{name} on a page of its own</a></figcaption></figure>'
    )
