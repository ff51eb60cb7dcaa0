"""The table of kinds agrees with the values, the widths and the leaves that it names."""

from __future__ import annotations

import pytest

from proofs_tests.elaborating import elaborated
from wingspan.lang.ir import kind_of
from wingspan.lang.kinds import KINDS
from wingspan.lang.widths import USUAL, WIDTHS


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_has_the_zero_that_its_cells_hold(name: str) -> None:
    kind = KINDS[name]
    assert kind_of(kind.zero) == name
    c = "uint8_t" if kind.is_boolean else WIDTHS[kind.register.cell].c
    assert USUAL.keys() == KINDS.keys() and USUAL[name].c == c


@pytest.mark.parametrize("name", KINDS)
def test_the_examples_of_a_kind_are_fill_values_of_leaves(name: str) -> None:
    for fill in (KINDS[name].fill, KINDS[name].narrow):
        tower = elaborated(f"T = Tensor(Dense(Element({fill})), 2)\nT .= {KINDS[name].fill}\nreturn T").towers["T"]
        assert tower.kind == name
