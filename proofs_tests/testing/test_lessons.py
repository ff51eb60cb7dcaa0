"""The lessons: what their pages show is what is printed; together they fire all rules and show every kind of race."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import wingspan
from proofs_tests import lessons
from proofs_tests.effort import few
from proofs_tests.lessons import FOLDER, agrees, commands, files, pages
from proofs_tests.rule_coverage import FIGURE
from wingspan import api, cli
from wingspan.trace import Trace
from wingspan.trace.coverage import coverage

ANSWERS = sorted((FOLDER / "answers").glob("*.md"))
each_page = pytest.mark.parametrize("page", [*pages(), *ANSWERS], ids=lambda page: f"{page.parent.name}/{page.stem}")


@pytest.fixture
def at(tmp_path: Path, monkeypatch):
    """Runs in a folder with the files of a lesson, those of its page for its answers, too."""

    def go(page: Path) -> None:
        for given in (FOLDER / page.name, page):
            for name, text in files(given).items():
                (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.chdir(tmp_path)

    return go


@each_page
def test_a_page_shows_what_is_printed(page: Path, at, capsys) -> None:
    at(page)
    for command in commands(page):
        assert command.words[0] == "wingspan"
        with pytest.raises(SystemExit):
            cli.main(list(command.words[1:]), prog_name="wingspan")
        printed = capsys.readouterr().out
        assert agrees(command.shown, printed), f"{' '.join(command.words)} prints\n{printed}"


@each_page
def test_a_page_is_short_plain_and_complete(page: Path) -> None:
    """A lesson has questions, numbered; its answers answer each, and nothing else. Shown output fits the page."""
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 160
    for command in commands(page):
        assert max(map(len, command.shown.splitlines()), default=0) <= 100
    if page.parent == FOLDER:
        answers = (FOLDER / "answers" / page.name).read_text(encoding="utf-8")
        asked = re.findall(r"\*\*Question (\d)\.\*\*", text)
        assert asked == [str(n) for n in range(1, len(asked) + 1)] and len(asked) >= 3
        assert re.findall(r"^\*\*Question (\d)\.\*\*", answers, re.MULTILINE) == asked


def test_every_lesson_has_its_answers_and_is_listed() -> None:
    assert [page.name for page in pages()] == [page.name for page in ANSWERS] and len(ANSWERS) == 9
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    for page in pages():
        assert f"]({page.name})" in listed and f"](answers/{page.name})" in listed


def test_together_they_fire_all_24_rules_and_show_every_kind_of_race() -> None:
    fired: Counter[str] = Counter()
    kinds = set()
    for page in (*pages(), *ANSWERS):
        for name, text in files(page).items():
            program = api.parse(text, name)
            if api.bind(program, symbolic=True).symbols:
                continue
            fired.update(coverage(Trace(program), 400).fired)
            kinds |= {race.kind for race in api.explore(program).verdict.races}
        for command in commands(page):
            if "dynamic_schedule(1)" in " ".join(command.words):
                fired["DynamicFor"] += 1  # what it prints is checked above, and does not name it as never fired
                assert not re.search(r"never:[^…]*DynamicFor", command.shown)
    assert [rule for rule in FIGURE if not fired[rule]] == []
    assert kinds == {"node", "sibling", "cousin", ""}


# ----------------------------------------------------------------------------------------------------------- notebooks


@pytest.mark.parametrize("page", few(pages(), 1))
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    """Tracebacks of errors are left out: they name files of one machine."""
    made = lessons.executed(page, tmp_path)
    outputs = [output for cell in made.cells for output in cell.get("outputs", ())]
    assert all(len(output.traceback) == 1 for output in outputs if output.output_type == "error")
    printed = [
        "".join(output.get("text", "") for output in cell.outputs if output.get("name") == "stdout")
        for cell in made.cells
        if cell.cell_type == "code" and cell.source.startswith("%wingspan")
    ]
    shown = [block.text for block in lessons.blocks(page) if block.kind == "console"]
    assert len(printed) == len(shown)
    for text, block in zip(printed, shown, strict=True):
        plain = re.sub(r"\x1b\[[\d;]*m", "", text)  # notebooks have colours
        assert agrees(re.sub(r"^\$ .*\n", "", block, flags=re.MULTILINE), plain)


def test_notebooks_have_the_widget_where_a_lesson_goes_through_a_program(at) -> None:
    """It begins after the steps that the lesson replays, which the page says."""
    begins: dict[str, list[str]] = {}
    for page in pages():
        at(page)
        for cell in lessons.notebook(page).cells:
            if cell.cell_type == "code" and cell.source.startswith("wingspan.step("):
                widget = eval(cell.source, {"wingspan": wingspan})
                begins.setdefault(page.stem[0], []).append(widget.interleaving)
    assert begins == {"1": ["1,2*2,1"], "2": ["1,2*2,1", "-"], "3": ["-"], "6": ["1*2,2"]}


@pytest.mark.parametrize(
    ("shown", "printed", "holds"),
    [
        ("a\n…\nb", "a\nx\ny\nb\n", True),
        ("a … b", "a b", True),
        ("a", "a\nb", False),
        ("a\nb", "a\nx\nb", False),
        ("…", "", True),
        ("a.c", "abc", False),
    ],
)
def test_only_dots_stand_for_anything(shown: str, printed: str, holds: bool) -> None:
    assert agrees(shown, printed) == holds


def test_a_cell_is_the_program(capsys) -> None:
    """With options, with errors, and without harm to standard input."""
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "wingspan")
    shell.run_cell_magic("wingspan", "explore --threads 3 --json", files(FOLDER / "1-two-threads.md")["two.ws"])
    assert json.loads(capsys.readouterr().out)["interleavings"] == 6
    given = sys.stdin
    shell.run_cell_magic("wingspan", "explore", "c[1] += 1")
    assert sys.stdin is given and "error[program]" in capsys.readouterr().err
    shell.run_line_magic("wingspan", "rules ReadLocal")
    assert capsys.readouterr().out.startswith("ReadLocal\n")


def test_a_command_that_a_cell_prints_can_be_run_in_its_cell(capsys) -> None:
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "wingspan")
    cell = files(FOLDER / "1-two-threads.md")["two.ws"]
    shell.run_cell_magic("wingspan", "explore", cell)
    command = re.search("see +%%wingspan (replay .*)", capsys.readouterr().out)
    assert command is not None
    shell.run_cell_magic("wingspan", command[1], cell)
    assert "result  s = " in capsys.readouterr().out
