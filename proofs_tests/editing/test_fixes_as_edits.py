"""Fixes are edits: they keep comments, and give the program that the test has accepted."""

from __future__ import annotations

import pytest

import wingspan
from proofs_tests.places import EXAMPLES
from wingspan.dependence.findings import Advice
from wingspan.editing.diagnosis import diagnose, read
from wingspan.editing.edits import apply_edits, fix_of

RACE = """# a sum
v = Tensor(Dense(Element(0)), [3, 4])
s = Tensor(Element(0))  # the sum
s .= 0
for i = parallel(_)  # two tasks
    s[] += v[i]
end
return s
"""
BUDGET = 300


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("quiz_*.ws"))[::4], ids=lambda path: path.stem)
def test_each_fix_is_accepted_and_keeps_the_comments(path) -> None:
    text = path.read_text()
    found = diagnose(text, path.name, path.parent, BUDGET)
    assert found["verdict"]
    for fix in found["fixes"]:
        after = apply_edits(text, fix["edits"])
        assert wingspan.check(read(after, path.name, path.parent), budget=0).verdict == "safe"
        assert fix["lossless"] and after.count("#") == text.count("#")


def test_a_new_definition_stands_before_the_statement_that_follows_it() -> None:
    merge = next(fix for fix in diagnose(RACE)["fixes"] if fix["title"].startswith("dev = "))
    assert apply_edits(RACE, merge["edits"]).splitlines()[:6] == [
        "# a sum",
        "dev = cpu(:dev, 2)",
        "v = Tensor(Dense(Element(0)), [3, 4])",
        "s = Tensor(Merge(dev, Element(0)))  # the sum",
        "s .= 0",
        "for i = parallel(_, dev)  # two tasks",
    ]


def test_a_definition_can_be_new_before_one_that_changes() -> None:
    text = "s = Tensor(Element(0))  # first\ns .= 0\nfor i = parallel(1:2)\n    s[] += i\nend\n"
    merge = next(fix for fix in diagnose(text)["fixes"] if fix["title"].startswith("dev = "))
    lines = apply_edits(text, merge["edits"]).splitlines()
    assert merge["lossless"] and lines[:2] == ["dev = cpu(:dev, 2)", "s = Tensor(Merge(dev, Element(0)))  # first"]


def test_a_change_that_no_such_edits_make_rewrites_the_whole_text() -> None:
    changed = "s = Tensor(Element(0))\ns .= 0\ns[] += 2"
    fix = fix_of(Advice("s[] += 2", 1, changed), read(RACE, "a.ws", EXAMPLES), RACE)
    assert not fix["lossless"] and apply_edits(RACE, fix["edits"]) == f"{changed}\n"


@pytest.mark.parametrize("text", ["\ufeffa = 1", "a = 1\r\nb = 2\r\n", "a = 1\u2028b = 2", "", "é = 1\n"])
def test_edits_count_lines_and_characters_as_messages_do(text: str) -> None:
    last = text.removeprefix("\ufeff").splitlines()[-1:] or [""]
    end = {"line": max(1, len(text.splitlines())), "column": len(last[0]) + 1}
    edit = {**end, "end_line": end["line"], "end_column": end["column"], "text": "!"}
    assert apply_edits(text, [edit]).rstrip("\n").endswith(f"{last[0]}!")  # type: ignore[list-item]
