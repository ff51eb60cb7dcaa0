"""Editors show the mistakes, findings and verdicts of the command line, where they are."""

from __future__ import annotations

import pytest

from proofs_tests.editing.test_fixes_as_edits import RACE
from proofs_tests.places import EXAMPLES
from wingspan.base.errors import InputError
from wingspan.editing import exploration
from wingspan.editing.compilation import compile_text
from wingspan.editing.diagnosis import diagnose
from wingspan.editing.exploration import explore


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


def test_an_exploration_has_the_report_of_the_command_line_and_a_page() -> None:
    found = explore(RACE)
    assert found["verdict"] == "race" and found["report"].startswith("race  program.ws: 1 race, 3 results")
    assert found["page"].startswith("<!doctype html>") and found["inputs"] == []


def test_open_inputs_are_drawn_and_can_be_changed() -> None:
    path = EXAMPLES / "spgemm_gustavson.ws"
    text = path.read_text()
    drawn = explore(text, path.name, path.parent, with_page=False)
    assert [(each["name"], each["shape"], len(each["rows"])) for each in drawn["inputs"]] == [
        ("A", "2×2", 2), ("B", "2×1", 2),
    ]  # fmt: skip
    values = {"A": [[1.0, 0.0], [0.0, 2.0]], "B": [[3.0], [4.0]]}
    changed = explore(text, path.name, path.parent, values, with_page=False)
    assert [each["rows"] for each in changed["inputs"]] == [*values.values()] and "C = [3.0; 8.0]" in changed["report"]


def test_inputs_that_no_longer_fit_are_drawn_anew() -> None:
    text = "y = Tensor(Element(0))\ny .= 0\nfor i = _\n  y[] += x[i]\nend\n"
    found = explore(text, inputs={"x": [[1, 2], [3, 4]]}, with_page=False)
    assert [each["vector"] for each in found["inputs"]] == [True] and found["verdict"] == "safe"


@pytest.mark.parametrize(
    ("cell", "is_number"), [("Inf", True), ("-Inf", True), ("x", False), ([1], False), (None, False)]
)
def test_cells_are_numbers_of_the_language(cell: object, is_number: bool) -> None:
    text = "y = Tensor(Element(0.0))\ny .= 0\nfor i = _\n  y[] <<max>>= x[i]\nend\n"
    if is_number:
        assert explore(text, inputs={"x": [1.0, cell]}, with_page=False)["inputs"][0]["rows"] == [[1.0, cell]]
    else:
        with pytest.raises(InputError, match="x: a cell is no number"):
            explore(text, inputs={"x": [1.0, cell]}, with_page=False)


def test_a_page_that_takes_too_long_is_left_out_and_the_report_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """One step of the page runs the serial loop to its end, which does not come."""
    monkeypatch.setattr(exploration, "SECONDS", 0.3)
    found = explore("s = Tensor(Element(0))\ns .= 0\nfor i = 1:1000000000000\n  s[] += 1\nend\n")
    assert (found["verdict"], found["page"]) == ("incomplete", "") and "incomplete" in found["report"]


@pytest.mark.parametrize("name", ["sum.ws", "sum_atomic.ws", "spgemm_gustavson.ws"])
def test_lines_of_plan_and_c_name_the_lines_that_they_come_from(name: str) -> None:
    path = EXAMPLES / name
    found = compile_text(path.read_text(), name, path.parent)
    update = next(k for k, line in enumerate(path.read_text().splitlines(), start=1) if "+=" in line)
    assert any(line["line"] == update and "#" not in line["text"] for line in found["plan"])
    assert bool(found["c"]) == (name != "sum.ws") and bool(found["refusal"]) == (name == "sum.ws")
    if found["c"]:
        assert any(line["line"] == update and "// " not in line["text"] for line in found["c"])
        assert {line["line"] for line in found["c"]} == {line["line"] for line in found["plan"]}
