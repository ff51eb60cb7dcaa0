"""Reads in update mode are judged as updates would be in their place: they access no more, and no less carefully."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from wingspan.buffers import ops, procedures
from wingspan.lang.operators import REDUCTIONS
from wingspan.levels import Tower
from wingspan.levels.atomic import Atomic
from wingspan.levels.base import Level
from wingspan.levels.dense import Dense
from wingspan.levels.element import Element
from wingspan.levels.mutex import Mutex

LEAVES: tuple[Level, ...] = (Element(0), Atomic(0), Mutex(Element(0)), Mutex(Atomic(0)), Mutex(Mutex(Element(0))))
TOWERS = [
    Tower.of(root, (3,) * rank)
    for leaf in LEAVES
    for root, rank in ((leaf, 0), (Dense(leaf), 1), (Mutex(Dense(leaf)), 1), (Dense(Mutex(Dense(leaf))), 2))
]
KINDS: dict[type, str] = {
    ops.Load: "plain", ops.Store: "plain", ops.AtomicLoad: "atomic", ops.AtomicUpdate: "atomic",
    ops.Acquire: "acquire", ops.Release: "release",
}  # fmt: skip


def cell_accesses(body: tuple[ops.Stmt, ...]) -> Iterator[tuple[str, ops.Ref, ops.Expr]]:
    """The accesses of a procedure without branches: how, of which buffer, and where."""
    for s in body:
        if isinstance(s, ops.Load | ops.AtomicLoad | ops.Store | ops.AtomicUpdate | ops.Acquire | ops.Release):
            yield KINDS[type(s)], s.ref, s.index
        else:
            assert isinstance(s, ops.SetReg | ops.Check)


@pytest.mark.parametrize("tower", TOWERS, ids=str)
def test_a_read_accesses_no_cell_that_an_update_of_the_element_does_not(tower: Tower) -> None:
    """Nor one without atomicity or a lock that the update has; and it writes none but locks."""
    assert tower.readable_while_updated
    for op in ("=", *(op for op in REDUCTIONS if op in ("+", "*", "max", "min"))):
        reading = procedures.unwrap_updated(tower, op).procedure.body
        read, updated = (
            list(cell_accesses(body)) for body in (reading, procedures.increment(tower, op).procedure.body)
        )
        assert read and set(read) <= set(updated)
        assert [a for a in read if a[0] in ("acquire", "release")] == [
            a for a in updated if a[0] in ("acquire", "release")
        ]
        assert not any(isinstance(s, ops.Store | ops.AtomicUpdate) for s in reading)


def test_opening_and_entering_readable_levels_only_takes_locks() -> None:
    """So it is the same whether a fiber is read or updated, and may be done twice where there is no lock."""
    for tower, op in product(TOWERS, ("=", "+")):
        for number in range(2, tower.rank + 2):
            for make in (procedures.open_, procedures.enter, procedures.close):
                found = list(cell_accesses(make(tower, number, op).procedure.body))
                assert {how for how, _, _ in found} <= {"acquire", "release"}
                assert not found or any(isinstance(level, Mutex) for level in tower.levels)
