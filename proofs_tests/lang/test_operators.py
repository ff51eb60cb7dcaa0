"""The tables of operators and of reserved words agree with the grammar, with C and with the array API."""

from __future__ import annotations

import inspect
import re
from itertools import product

import numpy as np
import pytest

from proofs_tests.places import ROOT
from wingspan.api import lazy, namespace, parse
from wingspan.base.errors import ParseError
from wingspan.lang import ir
from wingspan.lang.algebra import apply
from wingspan.lang.keywords import KEYWORDS
from wingspan.lang.operators import ATOMIC, COMPARISONS, OPERATORS, WORDS, mirror, negation

BETWEEN = [symbol for symbol, op in OPERATORS.items() if op.tightness]
"""The operators between their operands."""


def value(text: str) -> ir.Expression:
    """The tree of an expression over variables."""
    statement = parse(f"x = {text}").tree.body.statements[0]
    assert isinstance(statement, ir.Set)
    return statement.value


@pytest.mark.parametrize("first", BETWEEN)
def test_operators_bind_as_tightly_as_the_grammar_says(first: str) -> None:
    """The tighter one of two is inside of the other; of equally tight ones the first is."""
    a, b, c = map(ir.Variable, "abc")
    for second in BETWEEN:
        if first in COMPARISONS and second in COMPARISONS:
            continue  # a < b < c is a < b && b < c
        looser = OPERATORS[first].tightness < OPERATORS[second].tightness
        left, right = ir.Call(second, (ir.Call(first, (a, b)), c)), ir.Call(first, (a, ir.Call(second, (b, c))))
        assert value(f"a {first} b {second} c") == (right if looser else left)


@pytest.mark.parametrize("word", WORDS)
def test_a_word_calls_its_operator_with_as_many_operands_as_it_takes(word: str) -> None:
    for given in range(5):
        text = f"{word}({', '.join('abcd'[:given])})"
        if given in WORDS[word].operands:
            assert value(text) == ir.Call(WORDS[word].symbol, tuple(map(ir.Variable, "abcd"[:given])))
        else:
            with pytest.raises(ParseError, match=f"{word} takes {WORDS[word].arguments}"):
                value(text)


@pytest.mark.parametrize("symbol", [symbol for symbol, op in OPERATORS.items() if op.update])
def test_an_update_is_by_the_operator_whose_sign_it_bears(symbol: str) -> None:
    update = parse(f"C[] {OPERATORS[symbol].update} x").tree.body.statements[0]
    assert isinstance(update, ir.Assign) and update.op == symbol


def test_words_that_the_grammar_reads_as_such_are_no_names() -> None:
    """Words of the grammar's own text and of operators; longer words that begin with them are names."""
    text = (ROOT / "wingspan" / "lang" / "grammar.lark").read_text(encoding="utf-8")
    written = {word for line in re.findall(r".*/.*\(\?!\\w\).*", text) for word in re.findall(r"[A-Za-z_]{2,}", line)}
    names = {"NAME", "NUMBER", "INFINITE", "WORDS", "OPERATORS", "MASKS"}
    assert {word for word in written if not word.isupper() and not word.startswith("_")} - names <= KEYWORDS
    assert {"for", "elseif", "Inf", "ShortCircuitScalar", "bandmask", "xor"} <= KEYWORDS
    for word in KEYWORDS:
        assert value(f"{word}s") == ir.Variable(f"{word}s")
        with pytest.raises(ParseError):
            parse(f"{word} = 1")


def test_the_page_lists_the_reserved_words() -> None:
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    listed = re.search(r"These words are reserved: `([^`]*)`", page)
    assert listed and set(listed[1].split()) == KEYWORDS


def test_machines_number_reductions_as_c_does() -> None:
    text = (ROOT / "wingspan" / "runtime" / "runtime.h").read_text(encoding="utf-8")
    names = re.search(r"\{([^}]*)\} ws_reduction;", text)
    assert names and re.findall(r"WS_(\w+)", names[1]) == [OPERATORS[symbol].atomic for symbol in ATOMIC]


@pytest.mark.parametrize("symbol", [symbol for symbol, op in OPERATORS.items() if op.array])
def test_the_namespace_calls_operators_by_their_names_in_the_array_api(symbol: str) -> None:
    """Of two arrays, or of one: its expression has the operator."""
    x = lazy(np.array([True]) if symbol in ("&&", "||", "!") else np.array([1]))
    function = getattr(namespace, OPERATORS[symbol].array)
    made = function(*[x] * len(inspect.signature(function).parameters))
    assert symbol in {e.op for e in made.program.tree.body.walk() if isinstance(e, ir.Call)}


@pytest.mark.parametrize("symbol", sorted(COMPARISONS))
def test_a_negated_or_mirrored_comparison_is_true_of_what_it_should_be(symbol: str) -> None:
    for x, y in product(range(3), repeat=2):
        assert apply(negation(symbol), x, y) != apply(symbol, x, y) == apply(mirror(symbol), y, x)
