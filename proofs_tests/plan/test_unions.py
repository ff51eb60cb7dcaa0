"""Sums of two lists: which are left to C, and what stands for an element that is not there."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from proofs_tests.plan import small_plans
from proofs_tests.plan.small_plans import load, plus, put, ref, region, step, store
from wingspan import api
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, If, Load, Ref, Reg, Reserve, Stmt, While, walk
from wingspan.plan.kernels import Union
from wingspan.plan.passes.union import union
from wingspan.plan.pipeline import for_c, lower

X, Y = (ref(tensor, "idx", group=k, width="i32") for k, tensor in enumerate("AB"))
U, V = (ref(tensor, "val", number=1, group=k) for k, tensor in enumerate("AB"))
Z, W = ref("C", "val", group=2), ref("C", "idx", number=1, group=2)
q, end, i, k, stop, j, at, n, seen = map(Reg, ("q", "end", "i", "k", "stop", "j", "at", "n", "seen"))
U_, V_, OF_X, OF_Y, LEFT_X, LEFT_Y = map(Reg, ("u", "v", "u of x", "v of y", "u left", "v left"))
plan = partial(small_plans.plan, refs=[X, Y, U, V, Z, W], result=n)


def onward(cursor: Reg, last: Reg, index: Reg, by: Ref) -> tuple[Stmt, ...]:
    """A cursor moves on, and the next index is loaded, if there is one."""
    loaded = Reg(f"next {index.name}")
    return step(cursor), If(op("<", cursor, last), (load(loaded, by, cursor), put(index, loaded)))


TO_X, TO_Y = onward(q, end, i, X), onward(k, stop, j, Y)


def stored(value: Expr, index: Reg = at) -> tuple[Stmt, ...]:
    """An element is appended."""
    return store(Z, n, value), store(W, n, index), step(n)


def sums(
    both: Expr | None = None, of_x: Expr | None = None, of_y: Expr | None = None, **changed: Any
) -> tuple[Stmt, ...]:
    """The three loops of a sum, where some of their parts may be others."""
    parts: dict[str, Any] = {
        "pair": (load(U_, U, q), load(V_, V, k), *stored(both or op("+", U_, V_)), *TO_X, *TO_Y),
        "only_x": (load(OF_X, U, q), *stored(of_x or OF_X), *TO_X),
        "only_y": (load(OF_Y, V, k), *stored(of_y or OF_Y), *TO_Y),
        "rest_x": (load(LEFT_X, U, q), *stored(LEFT_X, i), *TO_X),
        "rest_y": (load(LEFT_Y, V, k), *stored(LEFT_Y, j), *TO_Y),
        "least": op("min", i, j), "later": (),
    }  # fmt: skip
    parts |= changed
    inner = If(op("==", j, at), parts["pair"], parts["only_x"])
    loop = put(at, parts["least"]), If(op("==", i, at), (inner,), parts["only_y"])
    more, others = op("<", q, end), op("<", k, stop)
    return (
        While((), op("and", more, others), loop),
        While((), more, parts["rest_x"]),
        While((), others, parts["rest_y"]),
        *parts["later"],
    )


def united(body: tuple[Stmt, ...]) -> list[Union]:
    return [s for s in walk(union(plan(*body)).body) if isinstance(s, Union)]


def test_a_sum_is_one_body_with_zero_for_what_is_not_there() -> None:
    """The loops stay as they are, after it."""
    made = union(plan(*sums())).body
    (found,) = united(sums())
    assert made[1:] == sums() and made[0] == If(
        op(">=", op("+", op("-", end, q), op("-", stop, k)), Const(8)), (found,)
    )
    assert [(s.ref, s.index, fill) for s, fill in found.loads] == [(U, q, Const(0)), (V, k, Const(0))]
    u, v = (s.reg for s, _ in found.loads)
    assert found.body == (store(Z, n, op("+", u, v)), store(W, n, found.at), step(n))


@pytest.mark.parametrize("around", ["task", "branch", "loop"])
def test_a_sum_inside_of_something_is_one_as_well(around: str) -> None:
    outers: dict[str, Stmt] = {
        "task": region(*sums()),
        "branch": If(op("<", end, Const(9)), sums()),
        "loop": While((), op("<", end, Const(9)), sums()),
    }
    assert len(united((outers[around],))) == 1


def test_room_is_asked_for_before_it() -> None:
    """The room that the first loop asks for is enough for all."""
    first, *rest = sums()
    asked = (Reserve(replace(Z, frozen=False), plus(n, 1), small_plans.HERE),)
    asks = If(first.condition, asked)  # type: ignore[union-attr]
    made = union(plan(asks, first, *rest)).body
    assert isinstance(made[0], If) and made[0].then[:-1] == asked and made[1:] == (asks, first, *rest)


FIVE, THREE = Const(5), Const(-3)
OTHER_FILLS: dict[str, tuple[tuple[Stmt, ...], list[int]]] = {
    "a difference": (
        sums(
            op("-", U_, V_),
            of_y=op("-", Const(0), OF_Y),
            rest_y=(load(LEFT_Y, V, k), *stored(op("-", Const(0), LEFT_Y), j), *TO_Y),
        ),
        [0, 0],
    ),
    "a maximum, where fill values differ": (
        sums(
            op("max", U_, V_),
            op("max", OF_X, FIVE),
            op("max", THREE, OF_Y),
            rest_x=(load(LEFT_X, U, q), *stored(op("max", LEFT_X, FIVE), i), *TO_X),
            rest_y=(load(LEFT_Y, V, k), *stored(op("max", THREE, LEFT_Y), j), *TO_Y),
        ),
        [-3, 5],
    ),
}


@pytest.mark.parametrize("name", OTHER_FILLS)
def test_fill_values_are_those_of_the_other_bodies(name: str) -> None:
    body, fills = OTHER_FILLS[name]
    (found,) = united(body)
    assert [fill.value for _, fill in found.loads] == fills


TO_WRITTEN = onward(q, end, i, replace(X, frozen=False))
FLAGS = replace(U, buffer=replace(U.buffer, width="u8"))
LEFT_ALONE: dict[str, tuple[Stmt, ...]] = {
    "what only x has is twice as much": sums(of_x=op("*", OF_X, Const(2))),
    "what only y has is stored elsewhere": sums(
        only_y=(load(OF_Y, V, k), store(Z, plus(n, 1), OF_Y), store(W, n, at), step(n), *TO_Y)
    ),
    "what is left of x is 1": sums(rest_x=(load(LEFT_X, U, q), *stored(Const(1), i), *TO_X)),
    "what is left of y has another index": sums(rest_y=(load(LEFT_Y, V, k), *stored(LEFT_Y, n), *TO_Y)),
    "somebody may write a list": sums(
        pair=(load(U_, U, q), load(V_, V, k), *stored(op("+", U_, V_)), *TO_WRITTEN, *TO_Y),
        only_x=(load(OF_X, U, q), *stored(OF_X), *TO_WRITTEN),
        rest_x=(load(LEFT_X, U, q), *stored(LEFT_X, i), *TO_WRITTEN),
    ),
    "the largest index is next": sums(least=op("max", i, j)),
    "what is left of y comes first": (sums()[0], sums()[2], sums()[1]),
    "a cursor moves twice": sums(only_x=(load(OF_X, U, q), *stored(OF_X), step(q), *TO_X)),
    "the other cursor moves": sums(only_y=(load(OF_Y, V, k), *stored(OF_Y), *TO_X)),
    "what only x has is counted": sums(
        only_x=(load(OF_X, U, q), *stored(OF_X), step(seen), *TO_X), later=(store(Z, n, seen),)
    ),
    "the last index is read later": sums(later=(store(Z, n, at),)),
    "the next index is read later": sums(later=(store(Z, n, i),)),
    "an element of x is read later": sums(later=(store(Z, n, OF_X),)),
    "elements are flags": sums(
        pair=(load(U_, FLAGS, q), load(V_, V, k), *stored(op("+", U_, V_)), *TO_X, *TO_Y),
        only_x=(load(OF_X, FLAGS, q), *stored(OF_X), *TO_X),
        rest_x=(load(LEFT_X, FLAGS, q), *stored(LEFT_X, i), *TO_X),
    ),
    "somebody may write elements": sums(only_x=(load(OF_X, replace(U, frozen=False), q), *stored(OF_X), *TO_X)),
}


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_other_loops_are_left_alone(body: tuple[Stmt, ...]) -> None:
    assert union(plan(*body)) == plan(*body)


class Lists(small_plans.Tried):
    """The lists of A and B, whose elements are ten times the indices, or a hundred times; what C becomes."""

    def __init__(self, A: list[int], B: list[int]) -> None:
        self.lists = {"A": A, "B": B}
        self.made: dict[tuple[str, int], int] = {}
        firsts = {"i": A[0] if A else 0, "j": B[0] if B else 0}
        super().__init__({"q": 1, "k": 1, "n": 1, "end": len(A) + 1, "stop": len(B) + 1, **firsts})

    def access(self, s: Any) -> None:
        tensor, name = s.ref.buffer.tensor, s.ref.buffer.name
        if isinstance(s, Load):
            found = self.lists[tensor][self.value(s.index) - 1]
            self.registers[s.reg.name] = found * ({"A": 10, "B": 100}[tensor] if name == "val" else 1)
        else:
            self.made[name, self.value(s.index)] = self.value(s.value)


@pytest.mark.parametrize(("A", "B"), [([], []), ([3], []), ([], [1, 2]), ([1, 4, 5], [2, 4]), ([2, 3], [2, 3])])
def test_entry_by_entry_it_does_what_the_loops_do(A: list[int], B: list[int]) -> None:
    (found,) = united(sums())
    one, other = Lists(A, B), Lists(A, B)
    one.run(sums())
    other.run(found.expand())
    assert one.made == other.made
    assert all(one.registers[name] == other.registers[name] for name in ("q", "k", "n"))


SUM = """
A = Tensor({0})
B = Tensor({1})
C = Tensor(SparseList(Element(0.0)))
C .= 0
for i = _
    C[i] = A[i] + B[i]
end
return C
"""
LIST, MAP = "SparseList(Element(0.0))", "SparseByteMap(Element(0.0))"


@pytest.mark.parametrize(("forms", "extent", "count"), [((LIST, LIST), 9, 1), ((LIST, MAP), 9, 0), ((MAP, MAP), 9, 0)])
def test_it_depends_on_the_formats(forms: tuple[str, str], extent: int, count: int) -> None:
    bound = api.bind(api.parse(SUM.format(*forms)), inputs={"A": np.ones(extent), "B": np.ones(extent)})
    assert sum(isinstance(s, Union) for s in walk(for_c(lower(bound)).body)) == count
