"""The lessons of docs/lessons: what their pages show is what the commands print; notebooks are made from the pages.

A page is Markdown. A block ```wingspan NAME or ```text NAME is a file, ```console has commands and their output, in
which … stands for anything, and ```python is a session as in a doctest. Where a page replays or steps through a
program, its notebook has the widget, too. `python -m proofs_tests.lessons FOLDER` writes the notebooks there, as
`make notebooks` does. They are not kept in the repository: a page says all that is in one.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from doctest import DocTestParser
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

from proofs_tests.places import ROOT

FOLDER = ROOT / "docs" / "lessons"
_FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)

_WALK = re.compile(r"wingspan (?:replay|step) (\S+\.ws)(?: --interleaving '?([\d,*]+)'?)?")
"""The commands by which a page goes through a program, and the steps that it begins after."""

TEXTS = ("text", "wingspan")


@dataclass(frozen=True)
class Block:
    """A part of a page: `text` is plain Markdown; else what stands between two fences."""

    kind: str
    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command that a page shows, and what it prints there."""

    words: tuple[str, ...]
    shown: str


def pages() -> list[Path]:
    """The lessons in order; `answers` has a page of the same name for each."""
    return sorted(FOLDER.glob("[0-9]*.md"))


def blocks(page: Path) -> Iterator[Block]:
    """The parts of a page."""
    text = page.read_text(encoding="utf-8")
    at = 0
    for found in _FENCE.finditer(text):
        if before := text[at : found.start()].strip("\n"):
            yield Block("", "", before)
        yield Block(found[1], found[2] or "", found[3])
        at = found.end()
    if rest := text[at:].strip("\n"):
        yield Block("", "", rest)


def files(page: Path) -> dict[str, str]:
    """The files that a page gives."""
    return {block.name: block.text for block in blocks(page) if block.kind in TEXTS and block.name}


def commands(page: Path) -> Iterator[Command]:
    """The commands of a page."""
    for block in blocks(page):
        if block.kind == "console":
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                line, _, shown = part.partition("\n")
                yield Command(tuple(shlex.split(line)), shown)


def agrees(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; … stands for anything."""
    pattern = ".*".join(re.escape(" ".join(part.split())) for part in shown.split("…"))
    return re.fullmatch(pattern, " ".join(printed.split()), re.DOTALL) is not None


def notebook(page: Path) -> nbformat.NotebookNode:
    """The notebook of a page, not yet run."""
    cells = []
    walks: list[str] = []
    for number, block in enumerate(blocks(page)):
        match block.kind:
            case kind if kind in TEXTS and block.name:
                cells.append(nbformat.v4.new_code_cell(f"%%writefile {block.name}\n{block.text.rstrip()}"))
            case "console":
                lines = re.findall(r"^\$ wingspan (.*)$", block.text, re.MULTILINE)
                cells.append(nbformat.v4.new_code_cell("\n".join(f"%wingspan {line}" for line in lines)))
            case "python":
                cells += session(block.text)
            case "":
                cells.append(nbformat.v4.new_markdown_cell(block.text))
            case kind:
                cells.append(nbformat.v4.new_markdown_cell(f"```{kind}\n{block.text}```"))
        if number == 0:
            cells.append(nbformat.v4.new_code_cell("%load_ext wingspan\nimport wingspan"))
        for words in _WALK.findall(block.text) if block.kind in ("console", "") else ():
            walk = f"wingspan.step({', '.join(repr(word) for word in words if word)})"
            if walk not in walks:
                walks.append(walk)
                cells.append(nbformat.v4.new_code_cell(walk))
    for number, cell in enumerate(cells):
        cell.id = f"{page.stem}-{number}"[-64:]
    about = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    made: nbformat.NotebookNode = nbformat.v4.new_notebook(cells=cells, metadata=about)
    return made


def session(text: str) -> Iterator[nbformat.NotebookNode]:
    """Cells of a session: each ends where something is printed or raised."""
    lines: list[str] = []
    for example in DocTestParser().get_examples(text):
        lines.append(example.source.rstrip())
        if example.want:
            cell = nbformat.v4.new_code_cell("\n".join(lines))
            if example.exc_msg is not None:
                cell.metadata["tags"] = ["raises-exception"]
            yield cell
            lines = []
    if lines:
        yield nbformat.v4.new_code_cell("\n".join(lines))


def executed(page: Path, folder: Path) -> nbformat.NotebookNode:
    """The notebook of a page, run in a folder. Of an error its message is kept, not where the package was installed."""
    made = notebook(page)
    NotebookClient(made, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    for cell in made.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                output.traceback = [f"{output.ename}: {output.evalue}"]
    return made


def main(folder: Path) -> None:
    """Write the notebooks to a folder, executed."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages():
        with TemporaryDirectory() as beside:
            nbformat.write(executed(page, Path(beside)), folder / f"{page.stem}.ipynb")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
