"""Hovering explains formats, tensors, loops and rules; the outline and completions name what there is."""

from __future__ import annotations

import pytest

from proofs_tests.editing.test_fixes_as_edits import RACE
from proofs_tests.places import EXAMPLES
from wingspan.editing.completion import complete
from wingspan.editing.diagnosis import read
from wingspan.editing.hover import hover
from wingspan.editing.outline import outline
from wingspan.levels import REGISTRY

GUSTAVSON = (EXAMPLES / "spgemm_gustavson.ws").read_text()


def at(text: str, before: str, offset: int = 0) -> str:
    """The explanation of the place where a piece of the text begins."""
    start = text.index(before) + offset
    line = text.count("\n", 0, start) + 1
    return hover(read(text, "a.ws", EXAMPLES), line, start - text.rfind("\n", 0, start))


def test_a_format_is_explained_by_its_module() -> None:
    assert at(RACE, "Dense").startswith("**Dense**: every index has a child")
    assert "adds {cousin}" in at(GUSTAVSON, "Shard")


def test_a_tensor_has_its_definition_extents_and_stability() -> None:
    text = at(GUSTAVSON, "C[i, j]")
    assert "C = Tensor(Dense(Shard(dev," in text and "extents: extent 1 of A × extent 2 of B" in text
    assert "| 2 | SparseList | {cousin} |" in text and "for the tasks of t" in text


def test_the_stability_of_an_element_is_what_the_test_says_it_supports() -> None:
    assert "| 1 | Element | {sibling, cousin} |" in at(RACE, "s[] +=")


@pytest.mark.parametrize(
    ("before", "offset", "rule"),
    [("for i", 0, "ParallelFor"), ("s[] +=", 4, "Assign"), ("s .= 0", 2, "Declare"), ("v[i]", 1, "Access")],
)
def test_the_rule_of_a_statement_is_drawn(before: str, offset: int, rule: str) -> None:
    assert f"```text\n{rule}\n" in at(RACE, before, offset)


@pytest.mark.parametrize(
    ("schedule", "rule"), [("static_schedule()", "StaticFor"), ("dynamic_schedule(2)", "DynamicFor")]
)
def test_the_rule_of_a_schedule_is_drawn(schedule: str, rule: str) -> None:
    text = RACE.replace("parallel(_)", f"parallel(_, cpu(2), {schedule})")
    assert f"```text\n{rule}\n" in at(text, schedule)


def test_a_tensor_of_a_program_with_mistakes_has_its_definition_alone() -> None:
    text = f"{RACE.replace('return s', '')}z[] += s[]\n"
    assert "s = Tensor(Element(0))" in at(text, "s[] +=") and "extents" not in at(text, "s[] +=")


def test_comments_and_places_outside_have_no_explanation() -> None:
    program = read(RACE, "a.ws", EXAMPLES)
    assert [hover(program, line, column) for line, column in ((1, 3), (99, 1), (2, 999))] == ["", "", ""]


def test_the_outline_has_definitions_and_loops_inside_of_each_other() -> None:
    symbols = outline(read(GUSTAVSON, "a.ws", EXAMPLES))
    assert [(each["name"], each["kind"]) for each in symbols] == [
        ("dev", "device"), ("C", "tensor"), ("w", "tensor"), ("j", "loop"),
    ]  # fmt: skip
    loop = symbols[-1]
    assert [each["name"] for each in loop["children"]] == ["k", "i"] and loop["whole"]["end_line"] == 15


def test_formats_come_first_inside_of_a_tensor_and_names_elsewhere() -> None:
    inside = complete("A = Tensor(Sp", 1, 14)
    formats = [name for name in REGISTRY if name.startswith("Sp")]
    assert [each["word"] for each in inside[: len(formats)]] == formats
    assert all(each["kind"] == "format" and each["detail"] for each in inside[: len(formats)])
    outside = [(each["kind"], each["word"]) for each in complete("device = 1\nd", 2, 2)]
    assert outside[0] == ("name", "device") and ("keyword", "do") not in outside[:1]


def test_a_text_that_is_no_program_can_be_completed() -> None:
    words = [each["word"] for each in complete("((( for\n# tensor\npar", 3, 4)]
    assert words == ["parallel"]


@pytest.mark.parametrize(("line", "column"), [(0, 0), (99, 1), (1, 99)])
def test_places_outside_of_the_text_complete_anything(line: int, column: int) -> None:
    assert complete("x = ", line, column)
