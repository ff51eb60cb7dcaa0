"""Completion by Tab, and the version."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from click.shell_completion import BashComplete

from wingspan import cli


def completed(incomplete: str, *words: str) -> list[tuple[str, str]]:
    """The completions of a word after others: their kinds (`file`: the shell looks for files) and texts."""
    shell = BashComplete(cli.main, {}, "wingspan", "_WINGSPAN_COMPLETE")
    return [(item.type, item.value) for item in shell.get_completions(list(words), incomplete)]


@pytest.mark.parametrize("words", [
    ("check",), ("fmt",), ("explore", "p.ws", "--checkpoint"), ("explore", "p.ws", "--resume"),
    ("explore", "p.ws", "--graph"), ("emit-c", "p.ws", "-o"),
])  # fmt: skip
def test_tab_completes_files(words):
    assert completed("ex", *words) == [("file", "ex")]


@pytest.mark.parametrize("option", ["-i", "-o"])
def test_tab_completes_the_path_behind_a_name(tmp_path, monkeypatch, option):
    """Files of tensors and folders; the only folder is entered, and what is hidden is asked for by its point."""
    for path in ("deep/deeper/a.mtx", "deep/deeper/b.npy", "deep/deeper/c.txt", "other.npz", ".hidden.npy", "empty/"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).mkdir() if path.endswith("/") else (tmp_path / path).touch()
    monkeypatch.chdir(tmp_path)
    for start, expected in {
        "A=": ["A=deep/", "A=empty/", "A=other.npz"],
        "A=d": ["A=deep/deeper/a.mtx", "A=deep/deeper/b.npy"],
        "A=deep/deeper/b": ["A=deep/deeper/b.npy"],
        "A=e": ["A=empty/"],
        "A=.": ["A=.hidden.npy"],
        f"A={tmp_path}/o": [f"A={tmp_path}/other.npz"],
        "A=nowhere/x": [],
        "A": [],
    }.items():
        assert [value for _, value in completed(start, "run", "p.ws", option)] == expected, start


def test_the_version_is_that_of_the_package(wingspan):
    assert wingspan("--version").out == f"wingspan {version('wingspan')}\n"
