"""Loops over two lists: which C compares block by block, and which it goes through entry by entry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wingspan import api
from wingspan.plan.fold import op
from wingspan.plan.ir import (
    Buffer,
    Const,
    Group,
    Listed,
    Load,
    Meet,
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
    walk,
)
from wingspan.plan.passes.meet import meet
from wingspan.plan.pipeline import for_c, lower

HERE = Origin(None, "a test")
ROOT = Reg("root", "instance")
LISTS = [Buffer(tensor, 0, "idx", "index", "int", "i32", 0, k) for k, tensor in enumerate("AB")]
X, Y = (Ref(b, ROOT, True) for b in LISTS)
q, end, i, k, stop, j, at, x, y, total = map(Reg, ("q", "end", "i", "k", "stop", "j", "at", "x", "y", "total"))
BOTH = op("and", op("<", q, end), op("<", k, stop))
EQUAL = op("and", op("==", i, at), op("==", j, at))
ADD = Set(total, op("+", total, i), HERE)
ON = Meet((Set(q, op("+", q, Const(1)), HERE),))


def step(cursor: Reg, last: Reg, index: Reg, by: Reg, ref: Ref) -> tuple[Stmt, ...]:
    """A cursor moves on, and the next index is loaded, if there is one."""
    ahead = Load(by, ref, cursor, Place(), HERE), Set(index, by, HERE)
    return Set(cursor, op("+", cursor, Const(1)), HERE), When(op("<", cursor, last), ahead)


def loop(*body: Stmt, ref: Ref = X, other: Ref = Y) -> While:
    """A loop over what two lists have in common."""
    equal = (*body, *step(q, end, i, x, ref), *step(k, stop, j, y, other))
    return While((), BOTH, (Set(at, op("max", i, j), HERE), When(EQUAL, equal, (ON,))))


def plan(*body: Stmt) -> Plan:
    return Plan((Group(0, "A", tuple(LISTS)),), (("A", ROOT),), body, ("A",), (), (("total", total),))


def test_a_loop_goes_over_the_pairs_of_two_lists() -> None:
    heads = (step(q, end, i, x, X)[1], step(k, stop, j, y, Y)[1])
    apart = While((), op("and", BOTH, op("!=", i, j)), (loop().body[0], *ON.plain))
    pairs = Meet((*heads, apart), (Listed(X, q, end), Listed(Y, k, stop)))
    first = Load(at, X, q, Place(), HERE), Set(i, at, HERE), Set(j, at, HERE)
    onward = (Set(cursor, op("+", cursor, Const(1)), HERE) for cursor in (q, k))
    assert meet(plan(loop(ADD))).body == (While((pairs,), BOTH, (*first, ADD, *onward)),)


@pytest.mark.parametrize("around", ["task", "branch", "loop"])
def test_a_loop_inside_of_something_is_one_as_well(around: str) -> None:
    from wingspan.lang.devices import SERIAL

    inner = loop(ADD)
    outers: dict[str, Stmt] = {
        "task": Par(SERIAL, Reg("t"), (inner,), (), HERE),
        "branch": When(op("<", end, Const(9)), (inner,)),
        "loop": While((), op("<", end, Const(9)), (inner,)),
    }
    made = meet(plan(outers[around]))
    assert [len(s.lists) for s in walk(made.body) if isinstance(s, Meet)] == [2]


LEFT_ALONE: dict[str, While] = {
    "indices are of 64 bits": loop(ADD, other=replace(Y, buffer=replace(Y.buffer, width="i64"))),
    "indices are kept in a hash table": loop(ADD, ref=replace(X, buffer=replace(X.buffer, hashed=True))),
    "somebody may write a list": loop(ADD, other=replace(Y, frozen=False)),
    "the body moves a cursor": loop(ADD, Set(q, op("+", q, Const(1)), HERE)),
    "the body changes where a list ends": loop(Set(stop, Const(3), HERE)),
    "the body sets an index": loop(Set(j, Const(0), HERE)),
    "the body changes the instance": loop(Set(ROOT, Reg("other", "instance"), HERE)),
    "it is another index that is loaded": replace(
        loop(ADD), body=(Set(at, op("max", i, total), HERE), loop(ADD).body[1])
    ),
    "the lists end elsewhere": replace(loop(ADD), condition=op("and", op("<", q, end), op("<", k, end))),
    "only one index has to be the larger one": replace(
        loop(ADD),
        body=(loop(ADD).body[0], When(op("==", i, at), loop(ADD).body[1].then, (ON,))),  # type: ignore[union-attr]
    ),
    "the loop works out its condition": replace(loop(ADD), test=(ADD,)),
    "cursors move on before the body": replace(
        loop(),
        body=(loop().body[0], When(EQUAL, (*loop().body[1].then, ADD), (ON,))),  # type: ignore[union-attr]
    ),
}


@pytest.mark.parametrize("made", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_other_loops_are_left_alone(made: While) -> None:
    assert meet(plan(made)) == plan(made)


def test_a_loop_is_left_alone_whose_index_is_read_later() -> None:
    later = Store(Ref(LISTS[0], ROOT), Const(1), i, Place(), HERE)
    assert meet(plan(loop(ADD), later)) == plan(loop(ADD), later)


# --------------------------------------------------------------------------------------------------------- programs

FORMS = "A = Tensor({0}, {n})\nB = Tensor({1}, {n})\nc = Tensor(Element(0.0))\n"
SUM = """
A .= 0
B .= 0
c .= 0
for i = 2:5
    A[i] = 1.0
    B[i] = 2.0
end
for i = _
    c[] += A[i] * B[i]
end
return c
"""
LIST, MAP = "SparseList(Element(0.0))", "SparseByteMap(Element(0.0))"


@pytest.mark.parametrize(
    ("forms", "n", "met"), [((LIST, LIST), 9, 1), ((LIST, MAP), 9, 0), ((MAP, MAP), 9, 0), ((LIST, LIST), 2**31, 0)]
)
def test_it_depends_on_the_formats_and_the_width_of_indices(forms: tuple[str, str], n: int, met: int) -> None:
    """Only lists of 32-bit indices are compared."""
    made = for_c(lower(api.bind(api.parse(FORMS.format(*forms, n=n) + SUM))))
    assert [len(s.lists) for s in walk(made.body) if isinstance(s, Meet) and s.lists] == [2] * met
