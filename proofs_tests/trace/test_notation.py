"""Configurations are printed whole, as the paper writes them, and equal terms alike."""

from __future__ import annotations

import re
from textwrap import dedent

from proofs_tests.trace.walks import each_program, machine, walk
from wingspan import api
from wingspan.lang import ir
from wingspan.lang.printer import show
from wingspan.semantics.config import Config, plug
from wingspan.semantics.notation import abbreviate_accesses, configuration

PYTHON = re.compile(r"\b[A-Z]\w*\(\w+=|'|\bNone\b|\bMap\b|<\w+ object|Fraction\(")
"""Python's notation of its objects."""
STEPS = 150


@each_program
def test_a_printed_configuration_is_all_of_it(name, options) -> None:
    """Two states with the same text are the same but for the heap: nothing that tells them apart is left out."""
    semantics = machine(name, options, derives=False)
    texts: dict[str, Config] = {}
    for seed in range(3):
        for state, _ in walk(semantics, seed, STEPS):
            text = "\n".join(configuration(state, semantics.towers)[0])
            assert texts.setdefault(text, state.root) == state.root, text
            assert not PYTHON.search(text), text
    assert len(texts) > 5


@each_program
def test_equal_accesses_look_equal_and_others_do_not(name, options) -> None:
    """Of all accesses in all tasks of a program; and those to one level are written in one way."""
    semantics = machine(name, options, derives=False)
    texts: dict[str, ir.Access] = {}
    accesses: dict[ir.Access, str] = {}
    full: dict[tuple[str, int], bool] = {}
    for state, _ in walk(semantics, 1, STEPS):
        for node in plug(state.root).walk():
            if isinstance(node, ir.Access):
                text = show(abbreviate_accesses(node, semantics.towers))
                assert texts.setdefault(text, node) == node
                assert accesses.setdefault(node, text) == text
                way = text.startswith("access(")
                assert full.setdefault((node.fiber.tensor, node.fiber.level), way) == way
    assert accesses


@each_program
def test_the_span_of_a_redex_holds_the_redex(name, options) -> None:
    """Of every task that can step, and of no other."""
    semantics = machine(name, options, derives=False)
    for state, _ in walk(semantics, 2, STEPS):
        lines, places = configuration(state, semantics.towers)
        assert sorted(place.task for place in places) == sorted(semantics.tasks(state))
        for place in places:
            cut = lines[place.line : place.end_line + 1]
            cut[-1] = cut[-1][: place.end_column]
            cut[0] = " " * place.column + cut[0][place.column :]
            redex = state.focus_on(place.task).focus.s
            redex = ir.Par(tuple(map(plug, redex.contexts))) if isinstance(redex, ir.Par) else redex
            assert dedent("\n".join(cut)) == show(abbreviate_accesses(redex, semantics.towers))


def test_stores_read_as_in_the_paper() -> None:
    """Handles by their mode, cursors by their registers, chunks by the name of their loop."""
    program = """
        v = Tensor(Dense(Element(0)), [10, 20])
        s = Tensor(Dense(Element(0)), 1)
        s .= 0
        for i = parallel(_)
            s[1] += v[i]
        end
    """
    semantics = machine(api.parse(dedent(program)))
    states = [state for state, _ in walk(semantics, 0, 80)]
    printed = "\n".join(line for state in states for line in configuration(state, semantics.towers)[0])
    for text in (
        "{i_chunk ↦ 1, s ↦ update(+), v ↦ read}⟩",
        "{fiber(s,2,1) ↦ cursor(p=1)}",
        "access(fiber(s,1,1)) += access(fiber(v,1,1))",
        "s[s1] += access(fiber(v,1,2))",
        "increment(fiber(s,1,1), +, 10) @",
    ):
        assert text in printed, printed
    assert "[]" not in printed
