"""`wingspan help`: every topic of a message has an entry in docs/errors.md, and the command prints it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import get_args

import pytest

from proofs_tests.places import ROOT
from wingspan.dependence.findings import Topic
from wingspan.views.topics import WIDTH, entry, topics

PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
ENTRIES = {topic: text for entries in topics(PAGE).values() for topic, text in entries.items()}
ABSTRACT = {"wingspan"}
"""The topic of the class from which the others inherit."""


def raised(code: str) -> Iterator[str]:
    """The topics that a module names: of its classes, of the errors that it raises, of the messages that it makes."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Assign(targets=[ast.Name("topic")], value=ast.Constant(str(topic))):
                yield topic
            case ast.AnnAssign(target=ast.Name("topic"), value=ast.Constant(str(topic))):
                yield topic
            case ast.keyword("topic", ast.Constant(str(topic))):
                yield topic
            case ast.Call(ast.Name("Diagnostic"), [_, ast.Constant(str(topic)), *_]):
                yield topic


def test_topics_are_found_wherever_code_names_them() -> None:
    code = 'class A:\n    topic: str = "a"\nclass B:\n    topic = "b"\nf(topic="c", fix="d")\nDiagnostic("e", "f", "g")'
    assert set(raised(code)) == {"a", "b", "c", "f"}


def test_every_topic_has_an_entry_and_no_entry_is_stale() -> None:
    sources = (path.read_text("utf-8") for path in (ROOT / "wingspan").rglob("*.py"))
    named = {topic for code in sources if "topic" in code or "Diagnostic(" in code for topic in raised(code)}
    assert named - ABSTRACT | set(get_args(Topic)) == set(ENTRIES)


def test_every_entry_says_what_it_means_shows_an_example_and_says_what_to_do() -> None:
    for topic, text in ENTRIES.items():
        before, *examples, after = text.split("```")
        assert before.strip() and examples and after.strip(), topic


def test_help_prints_the_entry_of_a_topic_whatever_its_case(command) -> None:
    for topic, text in ENTRIES.items():
        assert command("help", topic.upper()).out == f"{entry(topic, text)}\n"


def test_help_lists_all_topics_in_lines_that_fit(command) -> None:
    done = command("help")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == list(ENTRIES)
    assert max(map(len, lines)) <= WIDTH


def test_help_explains_verbs_too_but_topics_first(command) -> None:
    assert command("help", "explore").out == command("explore", "-h").out
    assert command("help", "race").out == f"{entry('race', ENTRIES['race'])}\n"


@pytest.mark.parametrize(("name", "told"), [("overlop", "did you mean overlap?"), ("zzz", "use level-dependence, ")])
def test_a_topic_that_there_is_not_is_refused(command, name: str, told: str) -> None:
    done = command("help", name)
    assert (done.status, done.out) == (2, "")
    assert told in done.err


def test_an_entry_is_text_for_a_terminal() -> None:
    text = "See [the\nlevels](levels.md#x) `a`.\n\n```text\nx = 1\n  y\n```\n\n" + "word " * 30
    shown = entry("order", text)
    assert shown.startswith("order\n\nSee the levels `a`.\n\n    x = 1\n      y\n\nword word")
    assert max(map(len, shown.splitlines())) <= WIDTH
