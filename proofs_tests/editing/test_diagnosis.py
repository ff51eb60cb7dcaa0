"""Editors show the mistakes, findings and verdicts of the command line, where they are."""

from __future__ import annotations

import pytest

from proofs_tests.editing.test_fixes_as_edits import RACE
from proofs_tests.places import EXAMPLES
from wingspan.editing.diagnosis import diagnose


def places(text: str) -> list[tuple[str, int, int, str]]:
    problems = diagnose(text, budget=0)["problems"]
    return [(each["severity"], each["range"]["line"], each["range"]["column"], each["message"]) for each in problems]


def test_a_race_is_at_the_access_with_its_witness_and_its_loop() -> None:
    found = diagnose(RACE, budget=0)
    (problem,) = found["problems"]
    assert (found["verdict"], found["summary"], found["fixes"]) == ("unsafe", "unsafe: 1 finding in s", [])
    assert (problem["range"]["line"], problem["range"]["column"], problem["topic"]) == (6, 5, "level-dependence")
    assert "task 1 (i = 1) and task 2 (i = 2) both update s" in problem["details"]
    assert [(each["range"]["line"], each["message"][:9]) for each in problem["related"]] == [(5, "this loop")]


def test_independent_mistakes_are_each_at_their_place() -> None:
    assert places("s[] += x\nA[1] = 1\n") == [
        ("error", 1, 1, "s is updated and never defined"),
        ("error", 2, 1, "A is updated and never defined"),
    ]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# nothing", "for", "for i = paralel(_)", "\ufeff", "a\0b", "((((", "\ud800"]
)
def test_a_text_that_is_no_program_has_a_mistake_and_no_verdict(text: str) -> None:
    found = diagnose(text)
    assert found["problems"] and not found["verdict"] and not found["fixes"]
    assert all(each["range"]["line"] >= 1 for each in found["problems"])


def test_parts_without_effect_are_notes_and_do_not_hide_the_verdict() -> None:
    text = "x = Tensor(Dense(Element(0)), [3, 4])\ny = Tensor(Element(0))\ny .= 0\nfor i = _\n  y[] += x[walk(i)]\nend"
    found = diagnose(text, budget=0)
    assert [each["severity"] for each in found["problems"]] == ["note"] and found["verdict"] == "safe"


def test_a_safe_program_that_leaves_inputs_open_says_what_could_be_parallel_too() -> None:
    path = EXAMPLES / "spgemm_gustavson.ws"
    found = diagnose(path.read_text(), path.name, path.parent, 300)
    assert (found["verdict"], found["advice"]) == ("safe", "loops that could be parallel, too")
