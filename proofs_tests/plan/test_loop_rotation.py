"""Rotating loops: what a loop loads for its next round is loaded at the start of the round, where that is the same."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from proofs_tests.plan import small_plans
from proofs_tests.plan.small_plans import put, ref, region, step
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, If, Load, Reg, Stmt, While
from wingspan.plan.passes.loop_rotation import loop_rotation

CELLS = ref("A", "idx")
q, end, i, x, y, total = map(Reg, ("q", "end", "i", "x", "y", "total"))
LEFT = op("<", q, end)
plan = partial(small_plans.plan, refs=[CELLS], result=total)


def load(reg: Reg, at: Expr = q, frozen: bool = True) -> Load:
    return small_plans.load(reg, replace(CELLS, frozen=frozen), at)


def ahead(by: Reg, at: Expr = q, frozen: bool = True) -> If:
    """The next index, if there is one."""
    return If(LEFT, (load(by, at, frozen), put(i, by)))


def loop(*body: Stmt) -> While:
    return While((), LEFT, (*body, step(q), ahead(y)))


ADD = put(total, op("+", total, i))
START = (put(i, Const(0)), ahead(x))


def test_a_loop_loads_as_it_comes_to_it() -> None:
    rotated = While((), LEFT, (load(x), put(i, x), ADD, step(q)))
    assert loop_rotation(plan(*START, loop(ADD))).body == (START[0], rotated)


def test_a_loop_within_a_task_or_a_branch_is_one_as_well() -> None:
    for around in (region, lambda *s: If(op("<", end, Const(9)), s)):
        assert ahead(x) not in getattr(loop_rotation(plan(around(*START, loop(ADD)))).body[0], "then", ())
        assert loop_rotation(plan(around(*START, loop(ADD)))) != plan(around(*START, loop(ADD)))


LEFT_ALONE = {
    "the index is read after the loop": (*START, loop(ADD), ADD),
    "the first round loads another cell": (START[0], ahead(x, end), loop(ADD)),
    "the first round loads another register": (START[0], If(LEFT, (load(x), put(total, x))), loop(ADD)),
    "somebody may write the cell": (START[0], ahead(x, q, False), While((), LEFT, (ADD, ahead(y, q, False)))),
    "the loop sets the index otherwise, too": (*START, loop(ADD, put(i, Const(0)))),
    "the cursor moves before the loop": (*START, put(q, Const(3)), loop(ADD)),
    "the range ends elsewhere by then": (
        *START,
        If(op("==", total, Const(0)), (put(end, Const(3)),)),
        loop(ADD),
    ),
    "the loop goes on under another condition": (*START, replace(loop(ADD), condition=op("<=", q, end))),
    "the loop works out its condition": (*START, replace(loop(ADD), test=(put(total, i),))),
    "something comes after the load": (*START, While((), LEFT, (*loop(ADD).body, ADD))),
    "nothing is loaded before the loop": (START[0], loop(ADD)),
    "something is done if there is none": (
        START[0],
        replace(ahead(x), otherwise=(put(total, Const(7)),)),
        loop(ADD),
    ),
    "the cell is written meanwhile, in a phase of updates": (
        *START,
        small_plans.store(CELLS, q, Const(1)),
        While((), LEFT, (ADD, ahead(y, q, False))),
    ),
}


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_other_loops_are_left_alone(body: tuple[Stmt, ...]) -> None:
    assert loop_rotation(plan(*body)) == plan(*body)
