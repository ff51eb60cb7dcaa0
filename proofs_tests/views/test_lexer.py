"""Highlighting: a program is split into parts that mean what the parser takes them for."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Token

from proofs_tests.effort import many
from proofs_tests.places import EXAMPLES, ROOT
from wingspan.lang.keywords import KEYWORDS
from wingspan.testing import programs
from wingspan.views.highlighting import TOKENS, textmate
from wingspan.views.lexer import TYPES, WingspanLexer


def split(text: str) -> list[tuple[object, str]]:
    return list(WingspanLexer(stripnl=False, ensurenl=False).get_tokens(text))


@settings(max_examples=many(3200))
@given(st.text(), programs())
def test_no_character_is_lost_and_no_program_has_an_unknown_part(text: str, program: str) -> None:
    assert "".join(value for _, value in split(text)) == text.replace("\r\n", "\n").replace("\r", "\n")
    assert "".join(value for _, value in split(program)) == program
    assert not [value for token, value in split(program) if token in Error]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ws")), ids=lambda path: path.stem)
def test_no_example_has_an_unknown_part(path) -> None:
    assert not [value for token, value in split(path.read_text()) if token in Error]


def test_every_reserved_word_is_marked_and_no_longer_name_is() -> None:
    for word in KEYWORDS:
        ((token, value),) = split(word)
        assert value == word and (token in Keyword or token in Name.Builtin), word
        assert split(f"{word}x")[0] == (Name, f"{word}x")


def test_the_parts_of_a_line() -> None:
    line = "C[i, 1] <<min>>= max(A[i], 2.5) * Element # why"
    parts = [
        (token, value) for token, value in split(line) if token not in Token.Text and token not in Token.Punctuation
    ]
    assert parts == [
        (Name, "C"), (Name, "i"), (Number, "1"), (Operator, "<<"), (Name.Builtin, "min"), (Operator, ">>="),
        (Name.Builtin, "max"), (Name, "A"), (Name, "i"), (Number, "2.5"), (Operator, "*"), (Name, "Element"),
        (Comment.Single, "# why"),
    ]  # fmt: skip


def test_the_grammar_of_editors_is_the_one_that_the_lexer_has() -> None:
    """The file is written by `make pages`."""
    path = ROOT / "editors" / "vscode" / "syntaxes" / "wingspan.tmLanguage.json"
    assert json.loads(path.read_text("utf-8")) == textmate()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ws"))[::5], ids=lambda path: path.stem)
def test_leftmost_matches_of_the_grammar_are_the_tokens_of_the_lexer(path) -> None:
    """TextMate looks for the leftmost match of all patterns, and for the first of these; a lexer begins at a place."""
    scopes = {f"{kind.scope}.wingspan": TYPES[kind.name] for kind in TOKENS}
    for line in path.read_text().splitlines():
        found, at = [], 0
        while True:
            patterns = [(re.compile(each["match"]).search(line, at), each["name"]) for each in textmate()["patterns"]]
            matches = [(match.start(), k, match) for k, (match, _) in enumerate(patterns) if match]
            if not matches:
                break
            _, k, match = min(matches, key=lambda each: each[:2])
            found.append((scopes[patterns[k][1]], match[0]))
            at = match.end()
        assert found == [(token, value) for token, value in split(line) if token not in Token.Text.Whitespace]
