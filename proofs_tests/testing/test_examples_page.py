"""The table of rules in examples/README.md is that of the programs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proofs_tests.effort import few
from proofs_tests.examples_page import PAGE, covered, programs, row, table
from proofs_tests.rule_coverage import FIGURE

TEXT = PAGE.read_text(encoding="utf-8")
EVERY = re.findall(r"\w+", re.findall(r"^All of them fire (.*)\.$", TEXT, re.MULTILINE)[0])
RULES = re.findall(r"\w+", re.findall(r"^\| program (.*)$", TEXT, re.MULTILINE)[0])


@pytest.mark.parametrize("path", few(programs(), 8))
def test_a_program_fires_what_the_table_says(path: Path) -> None:
    made = covered(path)
    assert row(path, made, RULES) in TEXT.splitlines()
    assert all(made.fired[rule] for rule in EVERY)


def test_every_program_and_every_rule_is_there() -> None:
    assert re.findall(r"^\| \[(\w+)\]", TEXT, re.MULTILINE) == [path.stem for path in programs()]
    assert sorted([*EVERY, *RULES]) == sorted(FIGURE)


@pytest.mark.deep
def test_the_table_is_current() -> None:
    """`make docs` writes it anew."""
    assert table() in TEXT
