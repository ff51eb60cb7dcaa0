"""Terminals that are tried one by one give the tokens, the trees and the errors of Lark's own lexer."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
from lark import Lark, Token
from lark.exceptions import UnexpectedInput

from proofs_tests.places import EXAMPLES
from wingspan.lang import tables
from wingspan.lang.layout import Ended, Indented, Layout, LayoutError

PROGRAMS = sorted(EXAMPLES.glob("*.ws"))


@cache
def parsers(layout: Any) -> tuple[Lark, Lark]:
    """The package's parser, and the same tables with the lexer of Lark."""
    own = tables.make_parser(Layout(layout))
    plugins = dict(tables.PLUGINS)
    tables.PLUGINS.clear()
    try:
        return own, tables.make_parser(Layout(layout))
    finally:
        tables.PLUGINS.update(plugins)


def outcome(parser: Lark, text: str) -> Any:
    """The tree with the places of its tokens, or what error handlers read of the error."""
    try:
        tree = parser.parse(text)
    except UnexpectedInput as error:
        names = [sorted(getattr(error, name, None) or ()) for name in ("allowed", "expected", "accepts")]
        return type(error), error.line, error.column, error.pos_in_stream, names
    except LayoutError as error:
        return error.message, error.token.line, error.token.column
    tokens = tree.scan_values(lambda leaf: isinstance(leaf, Token))
    return tree, [(token.type, token.line, token.column, token.end_line, token.end_column) for token in tokens]


def test_the_lexers_are_two() -> None:
    kinds = [type(parser.parser.lexer.lexer).__module__ for parser in parsers(Ended)]
    assert kinds == ["wingspan.lang.lexer", "lark.lexer"]


@pytest.mark.parametrize("layout", [Ended, Indented])
def test_examples_have_the_trees_that_lark_gives_them(layout: Any) -> None:
    own, larks = parsers(layout)
    for path in PROGRAMS:
        assert outcome(own, path.read_text()) == outcome(larks, path.read_text()), path


@pytest.mark.parametrize("layout", [Ended, Indented])
def test_spoiled_texts_are_the_same_errors(layout: Any) -> None:
    """Texts cut off, and with a piece of another text or a character that no terminal matches inside."""
    own, larks = parsers(layout)
    rng = random.Random(5)
    texts = [path.read_text() for path in PROGRAMS if path.stat().st_size < 1_000]
    for _ in range(150):
        one, other = rng.choices(texts, k=2)
        at, start = rng.randrange(len(one)), rng.randrange(len(other))
        text = (
            one[:at]
            + rng.choice(["", "?", "'", other[start : start + rng.randrange(1, 9)]])
            + one[at:][: rng.choice([0, 999])]
        )
        assert outcome(own, text) == outcome(larks, text), text
