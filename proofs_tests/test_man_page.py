"""The manual page: it is what the verbs' help says, and man reads no text as a command."""

from __future__ import annotations

import tomllib

from proofs_tests.man_page import PAGE, page, roff
from proofs_tests.places import ROOT
from wingspan.cli.group import MODULES


def test_the_page_is_the_help_of_all_verbs() -> None:
    """`python -m proofs_tests.man_page` writes it."""
    kept = PAGE.read_text(encoding="utf-8")
    assert kept == page()
    named = [line.split()[2] for line in kept.splitlines() if line.startswith(".SS ")]
    assert [name.replace("\\", "") for name in named] == sorted(MODULES)


def test_a_wheel_installs_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["setuptools"]["data-files"]["share/man/man1"] == [str(PAGE.relative_to(ROOT))]


def test_text_has_no_meaning_to_man() -> None:
    assert roff("a \\b, c-d") == r"a \eb, c\-d"
    assert roff(".TH 'x") == r"\&.TH 'x" and roff("'x") == r"\&'x"
    assert roff("two\n  lines") == "two lines"
