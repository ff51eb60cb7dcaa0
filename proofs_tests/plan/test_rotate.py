"""Rotating loops: what a loop loads for its next round is loaded at the start of the round, where that is the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wingspan.lang.devices import SERIAL
from wingspan.plan.fold import op
from wingspan.plan.ir import (
    Buffer,
    Const,
    Group,
    Load,
    Origin,
    Par,
    Place,
    Plan,
    Ref,
    Reg,
    Set,
    Stmt,
    Store,
    When,
    While,
)
from wingspan.plan.passes.rotate import rotate

HERE = Origin(None, "a test")
BUFFER = Buffer("A", 0, "idx", "index", "int", "i64", 0, 0)
ROOT = Reg("root", "instance")
q, end, i, x, y, total = map(Reg, ("q", "end", "i", "x", "y", "total"))
LEFT = op("<", q, end)


def load(reg: Reg, at: Reg | Const = q, frozen: bool = True) -> Load:
    return Load(reg, Ref(BUFFER, ROOT, frozen), at, Place(), HERE)


def ahead(by: Reg, at: Reg | Const = q, frozen: bool = True) -> When:
    """The next index, if there is one."""
    return When(LEFT, (load(by, at, frozen), Set(i, by, HERE)))


def loop(*body: Stmt) -> While:
    return While((), LEFT, (*body, Set(q, op("+", q, Const(1)), HERE), ahead(y)))


ADD = Set(total, op("+", total, i), HERE)
START = (Set(i, Const(0), HERE), ahead(x))


def plan(*body: Stmt) -> Plan:
    return Plan((Group(0, "A", (BUFFER,)),), (("A", ROOT),), body, ("A",), (), (("total", total),))


def test_a_loop_loads_as_it_comes_to_it() -> None:
    step = Set(q, op("+", q, Const(1)), HERE)
    rotated = While((), LEFT, (load(x), Set(i, x, HERE), ADD, step))
    assert rotate(plan(*START, loop(ADD))).body == (START[0], rotated)


def test_a_loop_within_a_task_or_a_branch_is_one_as_well() -> None:
    for around in (lambda *s: Par(SERIAL, Reg("t"), s, (), HERE), lambda *s: When(op("<", end, Const(9)), s)):
        assert ahead(x) not in getattr(rotate(plan(around(*START, loop(ADD)))).body[0], "then", ())
        assert rotate(plan(around(*START, loop(ADD)))) != plan(around(*START, loop(ADD)))


LEFT_ALONE = {
    "the index is read after the loop": (*START, loop(ADD), Set(total, op("+", total, i), HERE)),
    "the first round loads another cell": (START[0], ahead(x, end), loop(ADD)),
    "the first round loads another register": (START[0], When(LEFT, (load(x), Set(total, x, HERE))), loop(ADD)),
    "somebody may write the cell": (START[0], ahead(x, q, False), While((), LEFT, (ADD, ahead(y, q, False)))),
    "the loop sets the index otherwise, too": (*START, loop(ADD, Set(i, Const(0), HERE))),
    "the cursor moves before the loop": (*START, Set(q, Const(3), HERE), loop(ADD)),
    "the range ends elsewhere by then": (
        *START,
        When(op("==", total, Const(0)), (Set(end, Const(3), HERE),)),
        loop(ADD),
    ),
    "the loop goes on under another condition": (*START, replace(loop(ADD), condition=op("<=", q, end))),
    "the loop works out its condition": (*START, replace(loop(ADD), test=(Set(total, i, HERE),))),
    "something comes after the load": (*START, While((), LEFT, (*loop(ADD).body, ADD))),
    "nothing is loaded before the loop": (START[0], loop(ADD)),
    "something is done if there is none": (
        START[0],
        replace(ahead(x), otherwise=(Set(total, Const(7), HERE),)),
        loop(ADD),
    ),
    "the cell is written meanwhile, in a phase of updates": (
        *START,
        Store(Ref(BUFFER, ROOT), q, Const(1), Place(), HERE),
        While((), LEFT, (ADD, ahead(y, q, False))),
    ),
}


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_other_loops_are_left_alone(body: tuple[Stmt, ...]) -> None:
    assert rotate(plan(*body)) == plan(*body)
