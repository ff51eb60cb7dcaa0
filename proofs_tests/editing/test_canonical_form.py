"""Formatting gives the printer's form, and loses no comment."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wingspan
from proofs_tests.effort import many
from proofs_tests.lang.respelling import respelled
from proofs_tests.places import EXAMPLES
from proofs_tests.strategies import programs, programs_with_functions
from wingspan.base.errors import ParseError
from wingspan.editing.formatting import format_text
from wingspan.lang.printer import show


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


def test_a_comment_behind_lines_that_the_printer_breaks_stays_with_the_last() -> None:
    assert format_text("for i = 1:3; c[i] += 1; end  # why") == "for i = 1:3\n    c[i] += 1\nend  # why\n"
    assert format_text("x = 1; y = 2  # both") == "x = 1\ny = 2  # both\n"


def test_what_is_no_program_is_refused() -> None:
    with pytest.raises(ParseError):
        format_text("for for")


def test_comments_of_lines_that_are_joined_stay_with_the_statement() -> None:
    text = "if x > 0 && # a\n  # b\n  y > 0 # c\n    c[1] += 1\nend\n"
    assert format_text(text) == "if x > 0 && y > 0  # a  # c\n    # b\n    c[1] += 1\nend\n"


def test_comments_at_the_end_of_a_block_stay_in_it() -> None:
    """The comment's own indentation says in which, where blocks are closed by indentation."""
    text = "for i = 1:3\n  for j = _\n    c[i] += 1\n    # a\n  # b\n\n# c\nx = 1\n"
    made = [line for line in format_text(text).split("\n") if "#" in line or "end" in line]
    assert made == ["        # a", "    end", "    # b", "end", "# c"]


def test_comments_of_alternatives_stay_with_what_these_are_written_out_to() -> None:
    text = "for i = 1:3\n if i < 2 # a\n  c[i] += 1\n  # b\n else # c\n  # d\n  c[i] += 2 # e\n end # f\nend"
    inner = ["if i < 2  # a", "    c[i] += 1", "    # b", "end"]
    inner += ["if i >= 2  # c", "    # d", "    c[i] += 2  # e", "end  # f"]
    made = "".join(f"    {line}\n" for line in inner)
    assert format_text(text) == f"for i = 1:3\n{made}end\n"
    assert format_text(text.replace(" end # f\nend", "")) == f"for i = 1:3\n{made}end\n".replace("  # f", "")


def test_a_comment_behind_what_has_no_canonical_form_comes_first() -> None:
    assert format_text("begin # a\n  x = 1\nend # b\n") == "# a\nx = 1  # b\n"


COMMENTS = st.sampled_from(("# end", '# "', "# for i = _", "#", "# x = 1;", "# (["))


@given(st.data(), programs_with_functions)
@settings(max_examples=many(300), deadline=None, derandomize=True)
def test_canonical_texts_with_comments_are_restored_from_other_whitespace(data: st.DataObject, tree) -> None:
    """Comments before and behind each line, blocks closed by `end` or not."""
    lines = show(tree).split("\n")
    by_end = data.draw(st.booleans()) or "end" not in map(str.strip, lines)
    canonical, other = [], []
    for line in lines:
        bare = line.lstrip(" ")
        ends = bare == "end"
        if data.draw(st.booleans()):
            comment = data.draw(COMMENTS)
            indent = " " * (len(line) - len(bare) + 4 * ends)
            canonical.append(indent + comment)
            other.append(indent[::4] + comment)
        comment = f"  {data.draw(COMMENTS)}" if data.draw(st.booleans()) and (by_end or not ends) else ""
        canonical.append(line + comment)
        if by_end or not ends:
            other.append(line[: len(line) - len(bare)][::4] + bare + comment[1:])
    assert format_text("\n".join(other)) == "\n".join(canonical) + "\n"


@given(st.data(), respelled(programs))
@settings(max_examples=many(200), deadline=None, derandomize=True)
def test_every_comment_survives_wherever_it_stands(data: st.DataObject, pair) -> None:
    """Comments at the ends of lines, between them, and inside of statements, in any spelling."""
    text = pair[1]
    count = 0
    pieces = []
    for piece in re.split(r'("[^"\n]*"|\([-.\w]+, -?\d+\)|\n|, )', text):
        if piece in ("\n", ", ") and data.draw(st.integers(0, 2)) == 0:
            count += 1
            piece = f"{piece.rstrip()} # {count}.{data.draw(COMMENTS)}\n"
            if data.draw(st.booleans()):
                count += 1
                piece += f" # {count}.\n"
        pieces.append(piece)
    made = format_text("".join(pieces))
    assert wingspan.parse(made).tree == pair[0]
    assert sorted(map(int, re.findall(r"# (\d+)\.", made))) == list(range(1, count + 1))
    assert format_text(made) == made
