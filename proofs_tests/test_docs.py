"""The pages that people read: links lead somewhere, and what commands are shown to print is what they print."""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import fnmatchcase
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from proofs_tests import pictures
from proofs_tests.lessons import agrees, commands, files
from proofs_tests.places import EXAMPLES, ROOT
from wingspan import cli

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")])


def tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """The names of its headings, as GitHub makes them: lower case, hyphens for blanks, no punctuation, numbered."""
    made: Counter[str] = Counter()
    found = set()
    parsed = tokens(page)
    for token, text in pairwise(parsed):
        if token.type == "heading_open":
            words = "".join(part.content for part in text.children or () if part.type in ("text", "code_inline"))
            name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            found.add(f"{name}-{made[name]}" if made[name] else name)
            made[name] += 1
    return found


@cache
def links(page: Path) -> list[str]:
    """The targets of a page's links and pictures within this repository."""
    parts = (part for block in tokens(page) for part in block.children or ())
    targets = (str(part.attrGet("href") or part.attrGet("src") or "") for part in parts)
    return [unquote(target) for target in targets if target and not urlsplit(target).scheme]


def broken(page: Path) -> list[str]:
    """The links that lead to no file, or to no heading of it."""
    found = []
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert broken(page) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# The `-p` option, twice\n\n# The `-p` option, twice\n\n| a |\n|---|\n| [1](#the--p-option-twice-1) |\n\n"
        "[2](#no) [3](none.md) [4](page.md#the--p-option-twice) [5](https://none.example#no)\n"
    )
    assert broken(page) == ["#no", "none.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_headings_go_down_one_level_at_a_time(page: Path) -> None:
    """The site warns of any other page, and is built last."""
    levels = [int(token.tag[1:]) for token in tokens(page) if token.type == "heading_open"]
    assert levels[:1] == [1]
    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []


NAMED = re.compile(r"`((?:[\w-]+/)+|(?:[\w-]+/)*[a-z][\w-]*\.(?:py|pyx|h|ws|toml|md|json|jsonl|lark|js))`")
"""A folder or a file of this repository, by the end of its path. A file whose name has capitals stands for any."""

FOLDERS = ("wingspan", "proofs_tests", "bench", "docs", "examples")


@pytest.fixture(scope="module")
def paths() -> str:
    """The paths of all files of the repository, one a line."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    return "".join(f"/{path.relative_to(ROOT).as_posix()}\n" for path in (*found, *ROOT.glob("*.*")))


def unknown(page: Path, paths: str) -> list[str]:
    """The folders and files that a page names, and that are not there."""
    named = NAMED.findall(page.read_text(encoding="utf-8"))
    return [name for name in named if f"/{name}" + "\n" * (not name.endswith("/")) not in paths]


def test_every_file_that_the_reference_names_is_there(paths: str) -> None:
    """Not what was once, in the changelog; nor what lessons and the page about a package of one's own make."""
    pages = (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))
    named = {page.name: unknown(page, paths) for page in pages if page.name not in ("CHANGELOG.md", "own-level.md")}
    assert {name: missing for name, missing in named.items() if missing} == {} and len(named) > 20


def test_a_file_that_is_not_there_is_found(tmp_path: Path, paths: str) -> None:
    page = tmp_path / "page.md"
    page.write_text("`plan/ir.py` `plan/` `ir.py` `NAME.ws` `plan/er.py` `plans_of/` `r.py` `lan/ir.py` `no.ws`")
    assert unknown(page, paths) == ["plan/er.py", "plans_of/", "r.py", "lan/ir.py", "no.ws"]


SHOWN = [page for page in PAGES if "lessons" not in page.parts and any(commands(page))]


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_what_commands_print(page: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    """In a folder with the files that the page gives, and the examples. `lessons` says how a page gives them."""
    (tmp_path / "examples").symlink_to(EXAMPLES)
    for name, text in files(page).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for command in commands(page):
        assert command.words[0] == "wingspan"
        with pytest.raises(SystemExit):
            cli.main(list(command.words[1:]), prog_name="wingspan")
        printed = "".join(capsys.readouterr())
        assert agrees(command.shown, printed), f"{' '.join(command.words)} prints\n{printed}"
        assert max(map(len, command.shown.splitlines()), default=0) <= 120


@pytest.mark.parametrize("name", pictures.DRAWN)
def test_a_picture_shows_what_the_tool_draws(name: str) -> None:
    """`make docs` draws it anew. Its texts are compared: other libraries may place them otherwise."""
    kept = (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert "".join(pictures.texts(kept)) == "".join(pictures.texts(pictures.DRAWN[name]()))
    assert len(kept) < 60_000 and "http" not in kept.replace("http://www.w3.org/", "").replace("https://www.tex", "")


def test_every_page_is_in_the_site() -> None:
    """docs/toc.yml names the pages, or patterns of them."""
    named = re.findall(r"(?:root|file|glob): (\S+)", (ROOT / "docs" / "toc.yml").read_text(encoding="utf-8"))
    pages = [str(page.relative_to(ROOT).with_suffix("")) for page in PAGES]
    assert [page for page in pages if not any(fnmatchcase(page, name) for name in named)] == []
    assert [name for name in named if "*" not in name and name not in pages] in ([], ["docs/own-level"])


@pytest.mark.parametrize(
    "section", ["functions", "integers-that-wrap", "missing-values", "pairs", "short-circuit-scalars"]
)
def test_the_glossary_has_what_the_language_adds_to_the_paper(section: str) -> None:
    """An entry that says so, and leads to the section."""
    entries = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").split("\n### ")
    leads = re.compile(rf"(Ours|The name is Finch\.jl's), see\s\[[^]]*\]\(language\.md#{section}\)")
    assert len([entry for entry in entries if leads.search(entry)]) == 1


def test_every_page_links_to_the_glossary() -> None:
    """All but those that scripts write."""
    written = {"rules.md", "verbs.md", "glossary.md"}
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name not in written]
    assert len(pages) > 10
    assert [page.name for page in pages if not any("glossary.md" in link for link in links(page))] == []
