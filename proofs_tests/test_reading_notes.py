"""docs/reading-notes.md: each test that it cites exists, and each rule that it names."""

from __future__ import annotations

import ast
import re

from proofs_tests.places import ROOT
from wingspan.semantics.rules import ALL

NOTES = (ROOT / "docs" / "reading-notes.md").read_text(encoding="utf-8")


def defined_in(file: str) -> set[str]:
    """The names of the test functions in a file."""
    tree = ast.parse((ROOT / "proofs_tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_test_that_is_cited_exists() -> None:
    """A bare name belongs to the file cited before it."""
    cited: list[tuple[str, str]] = []
    file = ""
    for named, test in re.findall(r"`(?:(\w+/test_\w+\.py)(?:::)?)?(test_\w+)?`", NOTES):
        file = named or file
        if test:
            cited.append((file, test))
    assert len(cited) > 20
    assert [(file, test) for file, test in cited if test not in defined_in(file)] == []


def test_the_administrative_rules_are_listed() -> None:
    """The chapter on what the figure lacks begins with their names."""
    chapter = NOTES.partition("## Rules that the figure lacks")[2].partition("They end")[0].partition(": they end")[0]
    assert set(re.findall(r"\w+", chapter)) == {rule.name for rule in ALL.values() if not rule.figure}
