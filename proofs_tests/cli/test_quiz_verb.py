"""`wingspan quiz`: it asks, waits, explores and explains; sheets have questions alone, keys all answers."""

from __future__ import annotations

import io
import re
import sys

import pytest

from proofs_tests.places import EXAMPLES
from proofs_tests.testing.test_quiz import QUIZZES
from wingspan import api
from wingspan.lang.printer import show
from wingspan.views.quiz import VERDICTS, brief, quizzes

PAGE = (EXAMPLES / "quiz.md").read_text(encoding="utf-8")
SOME = quizzes(PAGE)


@pytest.fixture
def answering(command, monkeypatch):
    """Runs the quiz with these lines on standard input."""

    def run(*words: str, lines: str = ""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        return command("quiz", *words)

    return run


def test_all_quizzes_are_those_of_the_page() -> None:
    assert [(f"quiz_{each.name}", each.verdict) for each in SOME] == [(each.name, each.verdict) for each in QUIZZES]
    assert {each.verdict for each in SOME} <= set(VERDICTS)
    for each, known in zip(SOME, QUIZZES, strict=True):
        assert show(api.parse(each.program).tree) == show(api.parse(known.broken).tree)


def test_it_asks_and_waits_before_it_explains(answering) -> None:
    done = answering("node_race", "quiz_merge_fill", lines="race\nRACE\n")
    first, second = re.split(r"^── 2 of 2: merge_fill ─+$", done.out, flags=re.MULTILINE)
    question, answer = first.split("which verdict, or which word fixes it? ")
    assert "s[1] += v[i]" in question and "Atomic" not in question
    assert "right: race" in answer and "results: 3" in answer and "Atomic" in answer
    assert "no: wrong" in second and second.endswith("\n1 of 2 right\n")
    assert "wingspan replay" not in done.out and "](" not in done.out


def test_a_word_of_the_fix_is_an_answer_too(answering) -> None:
    """Some questions ask for it; one that both programs have is none."""
    assert answering("node_race", lines="Atomic\n").out.count("right: race") == 1
    assert "no: race" in answering("node_race", lines="Tensor\n").out
    assert "right: order-dependent" in answering("last_writer_wins", lines="max\n").out


def test_answers_are_plain_text(answering) -> None:
    out = answering(lines="\n" * len(SOME)).out
    assert "`" not in out and "S₁(Element) = {sibling, cousin} lacks node" in out and "](" not in out


@pytest.mark.parametrize(("lines", "asked"), [("", 1), ("q\n", 1), ("\n", 2), ("\nq\n", 2), ("\n\n", 2)])
def test_it_stops_when_there_are_no_more_answers(answering, lines: str, asked: int) -> None:
    done = answering("node_race", "overflow", lines=lines)
    assert done.status == 0 and done.out.count("which verdict, or") == asked
    assert done.out.count("passed: ") == lines.count("\n") - lines.count("q")


def test_a_sheet_gives_nothing_away_and_a_key_all(answering) -> None:
    sheet = answering("--sheet").out
    assert sheet.count("verdict (") == sheet.count("because:") == len(SOME)
    sections = re.split(r"^── .* ─+$", sheet, flags=re.MULTILINE)[1:]
    for section, each, known in zip(sections, SOME, QUIZZES, strict=True):
        assert each.answer[:40] not in section
        assert show(api.parse(section.partition("\n\nverdict")[0]).tree) == show(api.parse(known.broken).tree)
    key = answering("--key", "cousin_race", "overflow").out
    assert re.findall(r"^(fault)  quiz_(\w+)", key, re.MULTILINE) == [("fault", "cousin_race"), ("fault", "overflow")]
    assert "+s = Tensor(Merge(dev, Dense(Element(0))), 1)" in key
    assert max(map(len, sheet.splitlines())) <= 80


def test_an_unknown_name_says_what_is_known(answering) -> None:
    assert answering("nod_race").err.endswith("fix  did you mean node_race?\n")
    assert answering("--sheet", "--key").status == 2


def test_of_a_report_the_commands_are_left_out() -> None:
    report = (
        "race  x\n\nerror[race]: a\n  see  wingspan\n\nerror[race]: b\n\nresults: 2\n      see  wingspan\n\n  search  y"
    )
    assert brief(report) == "race  x\n\nerror[race]: a\n\nresults: 2"
