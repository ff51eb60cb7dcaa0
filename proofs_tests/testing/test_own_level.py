"""docs/own-level.md, followed to the letter: the package is built, installed, found by its entry point; it conforms."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wingspan
from proofs_tests.places import ROOT
from wingspan.compiled.build import compiler
from wingspan.testing.conformance import CLAIMS

PAGE = (ROOT / "docs" / "own-level.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```([\w-]*)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(PAGE)
FILES = {name: text for _, name, text in BLOCKS if name}


def blocks(kind: str) -> list[str]:
    """The blocks of a kind that are no files."""
    return [text for found, name, text in BLOCKS if found == kind and not name]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with the files of the page, and an environment in which the package is installed."""
    folder = tmp_path_factory.mktemp("onehot")
    for name, text in FILES.items():
        path = folder / ("" if Path(name).suffix in (".ws", ".mtx") else "package") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    wanted = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder / "site"), str(folder / "package")]
    subprocess.run([sys.executable, "-m", "pip", "install", *wanted], check=True)
    return folder, {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "site"), str(ROOT)]), "NO_COLOR": "1"}


def said(installed: tuple[Path, dict[str, str]], *words: str) -> subprocess.CompletedProcess[str]:
    folder, env = installed
    return subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.deep  # pip builds a package, and random programs are compiled
def test_commands_of_the_page_print_what_it_says(installed) -> None:
    for block in (text for text in blocks("shell-session") if text.startswith("$ ")):
        command, _, printed = block.partition("\n")
        verb, *words = command.removeprefix("$ ").split()
        if verb == "pytest" and not compiler():
            continue
        plugins = ("-p", "no:cacheprovider", "-p", "no:pytest-lsp")  # which takes every item for a function
        module = {"pytest": ["pytest", *plugins], "wingspan": ["wingspan"]}[verb]
        done = said(installed, "-m", *module, *words)
        has = f"{done.stdout}{done.stderr}".splitlines()
        assert [line for line in printed.splitlines() if not any(each.startswith(line) for each in has)] == []


def test_the_page_names_and_counts_the_claims() -> None:
    """Without running them, so that this is tested often."""
    table = PAGE.partition("| claim | says |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(CLAIMS)
    (printed,) = (text for text in blocks("shell-session") if "--wingspan" in text)
    assert printed.splitlines()[1:] == ["." * len(CLAIMS), f"{len(CLAIMS)} passed"]


@pytest.mark.deep
def test_what_the_page_says_of_stability_is_so(installed) -> None:
    """Conformance finds what the level supports, too; and with the method the dependence test accepts the program."""
    folder, _ = installed
    assert said(installed, "-c", blocks("python")[0]).stdout == blocks("text")[1]
    assert said(installed, "-m", "wingspan", "check", "copy.ws").stdout.startswith("unsafe")
    method = "".join(f"    {line}\n" for line in blocks("python")[1].splitlines())
    level = folder / "site" / "onehot" / "levels.py"
    level.write_text(level.read_text() + "\n" + method)
    assert said(installed, "-m", "wingspan", "check", "copy.ws").stdout.startswith("safe")


def test_the_modifier_of_the_page_protects_what_it_wraps() -> None:
    """Two tasks add to one element of a dictionary, which the page's locks let them do in turns."""
    names: dict[str, type] = {}
    exec(blocks("python")[2], names)
    with wingspan.registered(names["Paired"]):
        lines = ["d = cpu(:d, 2)", "T = Tensor(Dense({}(SparseDict(Element(0)))), 2, 2)", "T .= 0"]
        text = "\n".join([*lines, "for k = parallel(1:2, d)", "    T[2, 1] += k", "end", "return T"])
        assert wingspan.check(wingspan.parse(text.format("Paired"))).verdict == "safe"
        assert wingspan.run(wingspan.parse(text.format("Paired"))).tensors["T"].to_numpy().tolist() == [[0, 0], [3, 0]]
        assert CLAIMS["stability"](names["Paired"], 0)["declared"] == {"node", "sibling"}


def test_the_page_names_every_discipline() -> None:
    from wingspan.levels import Discipline

    rows = re.findall(r"^\| `([A-Z_]+)` \|.*\| ([^|]+) \|$", PAGE, re.MULTILINE)
    adds = {name: set() if added == "–" else set(added.split(", ")) for name, added in rows}
    assert adds == {each.name: set(each.adds) for each in Discipline}


def test_the_level_of_the_page_holds_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an installation, so that this is tested often."""
    names: dict[str, type] = {}
    exec(FILES["onehot/levels.py"], names)
    with wingspan.registered(names["OneHot"]):
        made = wingspan.Tensor.from_numpy("Dense(OneHot(Element(0)))", [[0, 5], [3, 0]])
        assert made.to_numpy().tolist() == [[0, 5], [3, 0]] and made.nnz == 2
        with pytest.raises(wingspan.InputError, match="the fiber has the index 1, and not 2 too"):
            wingspan.Tensor.from_numpy("OneHot(Element(0))", [1, 2])
        with pytest.raises(wingspan.ProgramError, match="Merge cannot wrap OneHot"):
            wingspan.Tensor.from_numpy("Merge(dev, OneHot(Element(0)))", [0, 3], devices={"dev": 2})


def test_the_commands_of_the_page_run_with_the_files_that_it_gives(command, tmp_path, monkeypatch) -> None:
    """All files that they name are there; without an installation, the level is loaded from its file."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with (tmp_path / "onehot" / "levels.py").open("a") as file:
        file.write("\n\nimport wingspan\n\nwingspan.register(OneHot)\n")
    monkeypatch.chdir(tmp_path)
    with wingspan.registered():
        for block in (text for text in blocks("shell-session") if text.startswith("$ wingspan")):
            shown, _, printed = block.partition("\n")
            done = command(*shown.removeprefix("$ wingspan ").split(), "--load", "onehot/levels.py")
            lines = f"{done.out}{done.err}".splitlines()
            assert [line for line in printed.splitlines() if not any(each.startswith(line) for each in lines)] == []


def test_the_lesson_has_the_level_of_the_page() -> None:
    lesson = (ROOT / "docs" / "lessons" / "8-own-format.md").read_text(encoding="utf-8")
    of_lesson = [line.removeprefix("...").removeprefix(" ") for line in lesson.splitlines() if line.startswith("...")]
    page = FILES["onehot/levels.py"]
    body = page[page.index("    cursor = ") :].rstrip()
    assert body in "\n".join(of_lesson)
