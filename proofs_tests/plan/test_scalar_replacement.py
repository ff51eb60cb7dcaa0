"""Cells that only a task itself can look at are kept in registers during its loops, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proofs_tests.plan import small_plans
from proofs_tests.plan.small_plans import HERE, plus
from wingspan.lang.devices import SERIAL, Device
from wingspan.lang.registers import BOOL, INSTANCE, INT
from wingspan.plan.ir import (
    AllocateInstance,
    AtomicUpdate,
    Child,
    Const,
    If,
    Load,
    Par,
    Place,
    Plan,
    PlanBuffer,
    Ref,
    Reg,
    Set,
    Stmt,
    Store,
    While,
    walk,
)
from wingspan.plan.passes.scalar_replacement import scalar_replacement

FILL = PlanBuffer("C", 2, "fill", "position", INT, "i32", 0, 0, bound=1)
X, ROOT, T, V, GO = Reg("x", INSTANCE), Reg("root", INSTANCE), Reg("t"), Reg("v"), Reg("go", BOOL)
CELL = Ref(FILL, X)
SHARD, OWN = Child(X, 1, ROOT, T, HERE), AllocateInstance(X, 1, HERE)


def load(ref: Ref = CELL, index: int = 1) -> Load:
    return small_plans.load(V, ref, Const(index))


def store(ref: Ref = CELL) -> Store:
    return small_plans.store(ref, Const(1), plus(V, 1))


def loop(*body: Stmt) -> While:
    return While((), GO, body)


def region(*body: Stmt) -> Par:
    return Par(Device("dev", 2, SERIAL), T, body, (), HERE)


def shape(body: tuple[Stmt, ...]) -> list[str]:
    return [type(s).__name__ for s in body]


def body_of(par: Par) -> Any:
    (made,) = scalar_replacement(Plan((), (), (par,), (), ())).body
    assert isinstance(made, Par)
    return made.body


@pytest.mark.parametrize("made", [SHARD, OWN], ids=["the thread's", "its own"])
def test_a_cell_of_the_task_is_loaded_before_its_loop_and_stored_after_it(made):
    once = loop(load(), If(GO, (loop(store()),)))
    body = body_of(region(made, If(GO, (once,))))
    inner = body[1].then
    assert shape(inner) == ["Load", "While", "Store"]
    assert shape(tuple(walk((inner[1],)))) == ["While", "Set", "If", "While", "Set"]
    cell = inner[0].reg
    assert [s.value for s in walk((inner[1],)) if isinstance(s, Set)] == [cell, store().value] and inner[
        2
    ].value == cell


def test_a_cell_that_is_only_read_is_not_stored():
    assert shape(body_of(region(OWN, loop(load())))) == ["AllocateInstance", "Load", "While"]


OTHER = Reg("y", INSTANCE)
KEPT_OUT = {
    "the root's": region(loop(load(), store())),
    "another thread's": region(replace(SHARD, key=Const(1)), loop(load(), store())),
    "reached in two ways": region(
        SHARD, replace(SHARD, reg=OTHER, key=Const(1)), load(Ref(FILL, OTHER)), loop(load(), store())
    ),
    "updated at once": region(OWN, loop(load(), AtomicUpdate(CELL, Const(1), "+", Const(1), Place(), HERE))),
    "of either instance": region(OWN, If(GO, (replace(SHARD, key=Const(1)),)), loop(load(), store())),
    "of many": region(
        OWN, loop(*(replace(s, ref=Ref(replace(FILL, bound=2), X)) for s in (load(), store())))
    ),
    "no cell": region(OWN, loop(load(index=2))),
    "made in the loop": region(loop(OWN, load(), store())),
    "around a region": region(OWN, loop(load(), region(), store())),
    "in a region in another": region(region(SHARD, loop(load(), store()))),
}  # fmt: skip


@pytest.mark.parametrize("par", KEPT_OUT.values(), ids=KEPT_OUT)
def test_no_other_cell_is_kept(par):
    assert body_of(par) == par.body
