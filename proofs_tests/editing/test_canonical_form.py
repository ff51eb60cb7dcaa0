"""Formatting gives the printer's form, and loses no comment."""

from __future__ import annotations

import pytest

import wingspan
from proofs_tests.places import EXAMPLES
from wingspan.base.errors import InputError, ParseError
from wingspan.editing.formatting import format_text


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ws")), ids=lambda path: path.stem)
def test_examples_keep_their_meaning_and_comments(path) -> None:
    text = path.read_text()
    made = format_text(text)
    assert wingspan.parse(made).tree == wingspan.parse(text).tree
    assert made.count("#") == text.count("#")
    assert format_text(made) == made


def test_without_its_comments_it_is_what_the_printer_writes() -> None:
    text = "# a\nfor i=1:3   # b\n c[i]+=1\n\n # c\n c[ i ]+=2\nend # d\n"
    made = format_text(text)
    assert made == "# a\nfor i = 1:3  # b\n    c[i] += 1\n\n    # c\n    c[i] += 2\nend  # d\n"


def test_blocks_by_indentation_get_their_ends() -> None:
    assert format_text("for i = 1:3 # a\n  for j = _\n    c[i] += 1 # b\nx = 1\n") == (
        "for i = 1:3  # a\n    for j = _\n        c[i] += 1  # b\n    end\nend\nx = 1\n"
    )


def test_a_statement_of_several_lines_keeps_all_its_comments() -> None:
    assert format_text("x = 1 + # one\n  2 # two\n") == "x = 1 + 2  # one  # two\n"


def test_a_mark_of_a_comment_within_a_text_is_no_comment() -> None:
    text = 'A = Tensor(Dense(Element(0.0)), "a#b.npy")\ny = Tensor(Element(0.0))\ny[] += A[1]\n'
    assert format_text(text) == text


def test_lines_that_the_printer_breaks_are_refused_only_if_a_comment_would_be_lost() -> None:
    line = "for i = 1:3; c[i] += 1; end"
    assert format_text(line) == "for i = 1:3\n    c[i] += 1\nend\n"
    with pytest.raises(InputError, match="comments would be lost"):
        format_text(f"{line}  # why")


def test_what_is_no_program_is_refused() -> None:
    with pytest.raises(ParseError):
        format_text("for for")


def test_a_comment_stays_with_its_statement_or_the_text_stays_as_it_is() -> None:
    """The printer breaks the first line and joins two others, so the number of lines does not tell."""
    text = "x = 1; y = 2  # both\nif x > 0 &&\n  y > 0\n    c[1] += 1\nend\n"
    with pytest.raises(InputError, match="comments would be lost"):
        format_text(text)
    assert format_text(text.replace("  # both", "")).splitlines()[2] == "if x > 0 && y > 0"
