"""Loops over two lists: which C compares block by block, and which it goes through entry by entry."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from proofs_tests.plan import small_plans
from proofs_tests.plan.small_plans import load, put, ref, region, step, store
from wingspan import api
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, If, Ref, Reg, Stmt, While, walk
from wingspan.plan.kernels import Intersection, Listed
from wingspan.plan.passes.intersection import intersection
from wingspan.plan.pipeline import for_c, lower

X, Y = (ref(tensor, "idx", group=k, width="i32") for k, tensor in enumerate("AB"))
q, end, i, k, stop, j, at, x, y, total = map(Reg, ("q", "end", "i", "k", "stop", "j", "at", "x", "y", "total"))
BOTH = op("and", op("<", q, end), op("<", k, stop))
EQUAL = op("and", op("==", i, at), op("==", j, at))
ADD = put(total, op("+", total, i))
ON = Intersection((step(q),))
plan = partial(small_plans.plan, refs=[X, Y], result=total)


def onward(cursor: Reg, last: Reg, index: Reg, by: Reg, ref: Ref) -> tuple[Stmt, ...]:
    """A cursor moves on, and the next index is loaded, if there is one."""
    return step(cursor), If(op("<", cursor, last), (load(by, ref, cursor), put(index, by)))


def loop(*body: Stmt, ref: Ref = X, other: Ref = Y) -> While:
    """A loop over what two lists have in common."""
    equal = (*body, *onward(q, end, i, x, ref), *onward(k, stop, j, y, other))
    return While((), BOTH, (put(at, op("max", i, j)), If(EQUAL, equal, (ON,))))


def test_a_loop_goes_over_the_pairs_of_two_lists() -> None:
    heads = (onward(q, end, i, x, X)[1], onward(k, stop, j, y, Y)[1])
    apart = While((), op("and", BOTH, op("!=", i, j)), (loop().body[0], *ON.plain))
    pairs = Intersection((*heads, apart), (Listed(X, q, end), Listed(Y, k, stop)))
    first = load(at, X, q), put(i, at), put(j, at)
    assert intersection(plan(loop(ADD))).body == (While((pairs,), BOTH, (*first, ADD, step(q), step(k))),)


@pytest.mark.parametrize("around", ["task", "branch", "loop"])
def test_a_loop_inside_of_something_is_one_as_well(around: str) -> None:
    inner = loop(ADD)
    outers: dict[str, Stmt] = {
        "task": region(inner),
        "branch": If(op("<", end, Const(9)), (inner,)),
        "loop": While((), op("<", end, Const(9)), (inner,)),
    }
    made = intersection(plan(outers[around]))
    assert [len(s.lists) for s in walk(made.body) if isinstance(s, Intersection)] == [2]


LEFT_ALONE: dict[str, While] = {
    "indices are of 64 bits": loop(ADD, other=replace(Y, buffer=replace(Y.buffer, width="i64"))),
    "indices are kept in a hash table": loop(ADD, ref=replace(X, buffer=replace(X.buffer, hashed=True))),
    "somebody may write a list": loop(ADD, other=replace(Y, frozen=False)),
    "the body moves a cursor": loop(ADD, step(q)),
    "the body changes where a list ends": loop(put(stop, Const(3))),
    "the body sets an index": loop(put(j, Const(0))),
    "the body changes the instance": loop(put(X.instance, Reg("other", "instance"))),
    "it is another index that is loaded": replace(loop(ADD), body=(put(at, op("max", i, total)), loop(ADD).body[1])),
    "the lists end elsewhere": replace(loop(ADD), condition=op("and", op("<", q, end), op("<", k, end))),
    "only one index has to be the larger one": replace(
        loop(ADD),
        body=(loop(ADD).body[0], If(op("==", i, at), loop(ADD).body[1].then, (ON,))),  # type: ignore[union-attr]
    ),
    "the loop works out its condition": replace(loop(ADD), test=(ADD,)),
    "cursors move on before the body": replace(
        loop(),
        body=(loop().body[0], If(EQUAL, (*loop().body[1].then, ADD), (ON,))),  # type: ignore[union-attr]
    ),
}


@pytest.mark.parametrize("made", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_other_loops_are_left_alone(made: While) -> None:
    assert intersection(plan(made)) == plan(made)


def test_a_loop_is_left_alone_whose_index_is_read_later() -> None:
    later = store(X, Const(1), i)
    assert intersection(plan(loop(ADD), later)) == plan(loop(ADD), later)


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
    assert [len(s.lists) for s in walk(made.body) if isinstance(s, Intersection) and s.lists] == [2] * met
