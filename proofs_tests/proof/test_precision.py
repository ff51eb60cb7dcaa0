"""The table of precision: which dependences that a level lacks make tasks conflict."""

from __future__ import annotations

import pytest

pytest.importorskip("z3")

from bench.precision import missing_dependences
from wingspan import api
from wingspan.proof import subjects
from wingspan.proof.solver import Prover
from wingspan.proof.steps import LevelSteps

PROGRAM = """d = cpu(:d, 2)
T = Tensor({form}, {extents})
T .= 0
for k = parallel(1:2, d)
    T[{subscripts}] += 1
end
"""


def test_what_is_needed_is_what_tasks_race_for() -> None:
    """Of bare levels and in one modifier: the printed entry is explored, and so is the one that is not needed."""
    levels, modifiers = subjects()
    some = [level for level in levels if level.name in ("Element", "SparseList")]
    around = [modifier for modifier in modifiers if modifier.name == "Mutex"]
    found = {
        (entry.level, entry.word, entry.kind): entry.is_needed
        for entry in missing_dependences(LevelSteps(Prover()), some, around, 1)
    }
    assert found[("Element", (), "node")] and ("Element", ("Mutex",), "node") not in found
    assert all(found[("SparseList", (), kind)] for kind in ("node", "sibling", "cousin"))
    assert not found[("SparseList", ("Mutex",), "node")] and found[("SparseList", ("Mutex",), "cousin")]
    for form, subscripts, races in (
        ("Dense(Element(0))", "1", True),
        ("Mutex(SparseList(Atomic(0)))", "1", False),  # it takes no fiber twice: `order`, no race
        ("Dense(SparseList(Atomic(0)))", "1, k", True),
    ):
        text = PROGRAM.format(form=form, extents=", ".join("2" for _ in subscripts.split(",")), subscripts=subscripts)
        seen = api.explore(api.parse(text)).verdict
        assert bool(seen.races) == races and bool(seen.races or seen.faults)
