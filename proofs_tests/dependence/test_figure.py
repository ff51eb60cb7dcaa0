"""`--test printed` has the rows of the paper's figure "stability" and no others, whatever levels say of themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

import pytest

from proofs_tests.dependence.test_stability_lemma import built, vector
from wingspan import api, registered
from wingspan.dependence.stability import figure, repaired
from wingspan.levels import REGISTRY
from wingspan.levels.base import EVERY, NONE, Dependence
from wingspan.levels.dense import Dense
from wingspan.testing.formats import BOUNDED, LEAVES, STORAGE

FIGURE = r"""
S_{l+1} &= \{node, sibling, cousin\} \quad \quad &(Dense)\\
S_1 &= \{sibling, cousin\} \quad \quad &(Element)\\
S_1 &= \{node, sibling, cousin\} \quad \quad &(Atomic)\\
S_{l+1} &= \varnothing \quad \quad &(Sparse, etc.)\\
S'^D_k &= S^D_k \cup \{node, sibling\} \quad k \leq l+1 \quad &(Mutex) \\
S'^D_k &= S^D_k \cup \{cousin\} \quad k \leq l+1 \quad &(Isolate) \\
S'^D_k &= S^D_k \cup \{cousin\} \quad k \leq l+1 \quad &(Shard(D)) \\
S'^D_k &= S^D_k \cup \{node, sibling, cousin\} \quad k \leq l+1 \quad &(Merge(D))
"""
"""The figure as the paper prints it."""


def row(line: str) -> tuple[str, frozenset[str]]:
    """The format that a line of the figure is about, and the kinds in its braces."""
    name, kinds = re.search(r"&\(([^()]+)(?:\(D\))?\)", line), re.search(r"\\\{([^{}]*)\\\}", line)
    assert name is not None
    return name.group(1), frozenset(kinds.group(1).split(", ")) if kinds else frozenset()


ROWS = dict(map(row, FIGURE.strip().splitlines()))
OTHERS = ROWS["Sparse, etc."]
MODIFIERS = {"": "{}", "Mutex": "Mutex({})", "Isolate": "Isolate({})", "Shard": "Shard(d, {})", "Merge": "Merge(d, {})"}
WRAPPED = {
    **{name: f"{name}(Atomic(0))" for name in (*STORAGE, *BOUNDED)},
    "SparseCOO": "SparseCOO(2, Atomic(0))",
    **{name: f"{name}(0)" for name in LEAVES},
    "Pattern": "Pattern()",
}


def test_the_rows_are_read() -> None:
    """And every format of the registry is in one of them, or tested below as one of the others."""
    assert ROWS["Element"] == {"sibling", "cousin"} and ROWS["Mutex"] == {"node", "sibling"} and not OTHERS
    assert set(WRAPPED) | set(MODIFIERS) - {""} == set(REGISTRY) - {"SparseHash"}


PAIRS = [pair for pair in product(WRAPPED, MODIFIERS) if pair != ("SparseInterval", "Merge")]


@pytest.mark.parametrize(("name", "modifier"), PAIRS)
def test_each_level_has_the_row_of_the_figure(name: str, modifier: str) -> None:
    """By itself, or in one modifier, which adds to its own level and to those below."""
    around = "SparseDict({})" if name == "Pattern" else "Dense({})"
    form = around.format(MODIFIERS[modifier].format(WRAPPED[name]))
    S, tower = vector(form, figure), built(form)
    for number, depth in tower.depths.items():
        added = ROWS.get(modifier, frozenset()) if depth > 0 else frozenset()
        assert S[number] == ROWS.get(tower.levels[depth].name, OTHERS) | added, number


def test_what_the_others_support_is_left_out_as_printed_only() -> None:
    """The figure has ∅ where fibers share no cell: ours are more precise there."""
    for form, number, kinds in (
        ("Dense(SparsePoint(Atomic(0)))", 2, {"cousin"}),
        ("Dense(SparseInterval(Atomic(0)))", 2, {"cousin"}),
        ("SparseDict(Pattern())", 1, EVERY),
    ):
        assert vector(form, figure)[number] == NONE
        assert vector(form, repaired)[number] == kinds


POINT = """
    d = cpu(:d, 2)
    T = Tensor(Dense(SparsePoint(Element(0))), 2, 2)
    T .= 0
    for j = parallel(1:2, d)
        for i = 1:1
            T[i, j] += 1
        end
    end
"""


def test_a_program_that_only_the_figure_refuses() -> None:
    program = api.parse(POINT)
    verdicts = {test: api.check(program, test=test, budget=0).verdict for test in ("printed", "repaired", "exact")}
    assert verdicts == {"printed": "unsafe", "repaired": "safe", "exact": "safe"}


def test_a_level_of_a_users_own_is_one_of_the_others() -> None:
    """Even one that is derived from a level of the figure, and says what it supports."""

    @dataclass(frozen=True)
    class Grid(Dense):
        def stability(self) -> frozenset[Dependence]:
            return EVERY

    with registered(Grid):
        form = "Grid(Atomic(0))"
        assert vector(form, figure)[2] == NONE and vector(form, repaired)[2] == EVERY
