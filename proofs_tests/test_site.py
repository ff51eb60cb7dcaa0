"""The site: pages that can be played with, highlighted blocks, and a side bar that is short."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from pygments.token import Comment, Generic, Keyword, Name, Text

from proofs_tests import pictures
from proofs_tests.console_lexer import ConsoleLexer
from proofs_tests.effort import few
from proofs_tests.figures import BOXES, FIGURES, FLOWS, LIST, RUNS
from proofs_tests.places import ROOT
from proofs_tests.playable import Playable, frame, playable, write_program_page
from proofs_tests.test_docs import PAGES, tokens
from proofs_tests.test_layers import ALLOWED

SHOWN = [
    (page, comment)
    for page in PAGES
    for comment in re.findall(r"^<!-- playable.*", page.read_text(encoding="utf-8"), re.MULTILINE)
]


def test_the_first_page_the_tutorial_lessons_and_races_have_programs_to_step_through() -> None:
    pages = [str(page.relative_to(ROOT)) for page, _ in SHOWN]
    assert pages[0] == "README.md" and "docs/races.md" in pages
    assert any("tutorial" in page for page in pages) and any("lessons" in page for page in pages)


@pytest.mark.parametrize(
    ("page", "comment"), few(SHOWN, 3), ids=lambda it: it.stem if isinstance(it, Path) else it[14:-4]
)
def test_a_comment_in_a_page_stands_for_the_page_of_a_program(page: Path, comment: str, tmp_path: Path) -> None:
    """Of a program that is there, after an interleaving that it has. The site has all pages."""
    shown = playable(comment)
    assert shown is not None
    write_program_page(page, shown, tmp_path / "site" / "out.html")
    made = (tmp_path / "site" / "out.html").read_text(encoding="utf-8")
    assert f"<title>{Path(shown.name).name}: wingspan</title>" in made and f'"{shown.start}"' in made


def test_other_comments_stand_for_nothing() -> None:
    assert playable("<!-- playable: a.ws 1*3,2 -->\n") == Playable("a.ws", "1*3,2")
    assert playable("<!-- playable: a.ws -->") == Playable("a.ws", "-")
    assert playable("<!-- a note -->") is None and playable("<b>playable: a.ws</b>") is None


def test_a_frame_cannot_be_left_by_the_name_of_a_program() -> None:
    assert "<script>" not in frame(Playable("<script>.ws", "-"), 'a"><script>.html')


def test_blocks_of_commands_show_verdicts_messages_and_programs_in_colours() -> None:
    text = (
        "$ wingspan check a.ws\nunsafe  a.ws: 1 finding\n\nerror[level-dependence]: s may race\n"
        "    4 │ for i = _\n      │ ^^^ here\n  fix  s = Tensor(Atomic(0))\nsafe as houses\n"
    )
    found = [(kind, part) for kind, part in ConsoleLexer().get_tokens(text) if part.strip()]
    assert found[:2] == [(Generic.Prompt, "$ "), (Text, "wingspan check a.ws\n")]
    for token in (
        (Generic.Error, "unsafe"),
        (Generic.Strong, ": s may race\n"),
        (Comment, "    4 │"),
        (Keyword, "for"),
        (Name, "i"),
        (Generic.Error, "^^^"),
        (Keyword, "fix"),
        (Text, "safe as houses\n"),
    ):
        assert token in found


def test_every_block_of_a_page_names_its_language() -> None:
    """The language by which it is highlighted, or `text`."""
    fences = [(page.name, token) for page in PAGES for token in tokens(page) if token.type == "fence"]
    assert [f"{name}:{token.map}" for name, token in fences if not token.info] == [] and len(fences) > 100


def test_the_side_bar_has_at_most_25_entries() -> None:
    """Entries of the first level; others are shown below one of these when it is open."""
    toc = (ROOT / "docs" / "toc.yml").read_text(encoding="utf-8")
    assert 15 < len(re.findall(r"^ {6}- (?:file|glob):", toc, re.MULTILINE)) <= 25


def test_the_readme_begins_with_the_problem_a_program_and_two_commands() -> None:
    """`.ci/run` runs the second command, so it is the one that tests."""
    first = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:11]
    assert "data races" in first[2] and "```wingspan" in first and "end" in first
    assert all(any(f"`make {name}`" in line for line in first) for name in ("demo", "test"))
    assert re.search(r"^make test\b", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)


def test_make_compiles_wingspan_once_for_all_targets(tmp_path: Path) -> None:
    """The first target compiles it, or its folder has it already; then only libraries are installed."""
    shutil.copyfile(ROOT / "Makefile", tmp_path / "Makefile")
    for name in ("pyproject.toml", "setup.py"):
        (tmp_path / name).touch()

    def shown(*targets: str) -> str:
        return subprocess.run(["make", "-n", *targets], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    targets = ("demo", "test", "test-browser", "fuzz", "bench-kernels", "site")
    whole = re.compile(r"-e '?\.")
    assert len(whole.findall(shown(*targets))) == 1
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".installed").touch()
    assert not whole.search(shown(*targets)) and "wingspan[dev]" in shown("test")


def test_the_readme_has_at_most_20_links() -> None:
    targets = [part.attrGet("href") for token in tokens(ROOT / "README.md") for part in token.children or ()]
    assert 5 < len([target for target in targets if target]) <= 20


@pytest.mark.parametrize("name", FIGURES)
def test_a_drawing_is_on_a_page_and_in_the_colours_of_light_and_dark(name: str) -> None:
    assert any(f"(pictures/{name}.svg)" in page.read_text(encoding="utf-8") for page in PAGES)
    drawn = (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in drawn and "monospace" not in drawn and not re.search(r'fill="#', drawn)


def test_the_loop_over_looplets_is_drawn_where_both_operands_are_stored() -> None:
    shared = [at for at, (a, r) in enumerate(zip(LIST, RUNS, strict=True), start=1) if a and r]
    texts = pictures.texts((pictures.FOLDER / "looplets.svg").read_text(encoding="utf-8"))
    assert [text for text in texts if text.startswith("i = ")] == [f"i = {index}" for index in shared] and shared


def test_the_flow_of_a_program_goes_between_packages_as_their_imports_do() -> None:
    assert all((ROOT / "wingspan" / name).is_dir() for name in BOXES)
    for one, two in FLOWS:
        allowed = [allow for unit, allow in ALLOWED.items() if unit.split(".")[0] == two]
        assert any(each.split(".")[0] == one for allow in allowed for each in allow), f"{two} may not import {one}"
