"""Room for what a loop appends is asked for once, before it: for as many cells as its rounds may store to."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import many
from proofs_tests.places import EXAMPLES
from proofs_tests.plan import small_plans
from proofs_tests.plan.small_plans import HERE, plus, put, ref, root, step
from wingspan import Fault, Limits, api
from wingspan.native.assemble import assemble
from wingspan.native.engine import NativeEngine
from wingspan.plan.fold import op
from wingspan.plan.ir import Check, Const, Expr, If, Ref, Reg, Reserve, Stmt, Store, While, walk
from wingspan.plan.passes.hoist_bounds_checks import hoist_bounds_checks
from wingspan.plan.pipeline import for_c, lower
from wingspan.plan.uses import with_blocks
from wingspan.runtime.memory import buffers

LIST = replace(ref("C", "idx"), frozen=False)
q, r, end, stop, n, odd = map(Reg, ("q", "r", "end", "stop", "n", "odd"))
BOTH = op("and", op("<", q, end), op("<=", r, stop))
plan = partial(small_plans.plan, refs=[LIST])


def store(at: Expr = n, into: Ref = LIST) -> Store:
    return small_plans.store(into, at, Const(7))


def asked(*body: Stmt, condition: Expr = BOTH) -> list[str]:
    """The reservations of the plan before a loop with this body."""
    return [
        str(s.index) for s in walk(hoist_bounds_checks(plan(While((), condition, body))).body) if isinstance(s, Reserve)
    ]


def test_a_loop_asks_for_all_of_its_rounds() -> None:
    """For what is left of both cursors together, and only if there is a round."""
    loop = While((), BOTH, (store(), step(n), If(odd, (step(q),), (step(r),))))
    rounds = op("+", op("-", end, q), op("+", op("-", stop, r), Const(1)))
    sure = replace(store(), sure=True)
    expected = If(BOTH, (Reserve(LIST, op("+", n, rounds), HERE),))
    assert hoist_bounds_checks(plan(loop)).body == (expected, While((), BOTH, (sure, *loop.body[1:])))


@pytest.mark.parametrize(
    "body",
    [
        (store(), step(n), If(odd, (step(q),))),  # a round may move no cursor
        (store(), step(n), step(q), step(end)),  # the end moves, too
        (store(), step(n), If(odd, (step(n),)), step(q)),  # two cells in a round
        (store(), step(n, 2), step(q)),
        (store(), step(n), step(q, -1)),
        (store(), put(n, odd), step(q)),
        (store(), step(n), step(q), While((), op("<", r, stop), (step(r),))),  # not the innermost
        (store(Const(3)), step(q)),  # the same cell in each round
        (store(op("*", n, Const(2))), step(n), step(q)),
        (store(), step(n), step(q), put(LIST.instance, root("B"))),  # another instance in each round
    ],
)
def test_other_loops_ask_at_each_store(body: tuple[Stmt, ...]) -> None:
    """The number of their rounds is unknown, or the cells that they store to."""
    condition = op("<", q, end)
    assert not asked(*body, condition=condition)
    assert asked(store(), step(n), step(q), condition=condition)
    assert not any(
        isinstance(s, Store) and s.sure for s in walk(hoist_bounds_checks(plan(While((), condition, body))).body)
    )


def test_a_loop_whose_rounds_are_known_asks_for_these() -> None:
    """Once for the cells on both sides of the counter; the loop may have a test, which is run after that."""
    body = (store(plus(n, -1)), store(), If(odd, (step(n), step(q))))
    loop = While((put(r, q),), op("<", r, end), body, rounds=op("*", Const(2), stop))
    sure = tuple(replace(s, sure=True) for s in body[:2] if isinstance(s, Store))
    asks = Reserve(LIST, op("+", n, op("*", Const(2), stop)), HERE)
    assert hoist_bounds_checks(plan(loop)).body == (asks, replace(loop, body=(*sure, body[2]), rounds=None))
    assert not asked(*body, condition=op("<", r, end))


def test_the_sum_of_two_images_asks_once_for_a_column() -> None:
    """For the runs that it writes: no store of its innermost loop asks for room."""
    kernel = wingspan.compile(EXAMPLES / "structured_add.ws", params={"nt": 1, "sch": "static_schedule()"})
    stores = [s for s in walk(for_c(kernel.plan).body) if isinstance(s, Store)]
    runs = [s for s in stores if s.ref.buffer.name in ("left", "right", "val")]
    assert {s.ref.buffer.name for s in runs} == {"left", "right", "val"}
    assert all(s.sure for s in runs)


def test_a_condition_that_says_more_does_not_matter() -> None:
    assert asked(store(), step(n), step(q), condition=op("and", op("<", q, end), op("==", odd, Const(1))))
    assert not asked(store(), step(n), step(q), condition=op("or", op("<", q, end), op("<", odd, stop)))


class Tried(small_plans.Tried):
    """Whether a store goes beyond what was asked for."""

    def __init__(self, registers: dict[str, int]) -> None:
        super().__init__(registers, rounds=100)
        self.room, self.stored = 0, 0

    def access(self, s: Stmt) -> None:
        match s:
            case Reserve(index=index):
                self.room = max(self.room, self.value(index))
            case Store(index=index, sure=True):
                self.stored += 1
                assert 1 <= self.value(index) <= self.room


EITHER = If(op("<", odd, q), (step(q),), (step(r),))
MOVES = st.sampled_from([store(), store(plus(n, 1)), step(n), step(q), step(r), step(odd), EITHER])
BLOCKS: Any = st.recursive(
    st.lists(MOVES, max_size=4).map(tuple),
    lambda inner: st.tuples(MOVES, st.builds(lambda x, y: If(op("<", odd, q), x, y), inner, inner), MOVES),
    max_leaves=4,
)


@settings(max_examples=many(3000), deadline=None)
@given(body=BLOCKS, starts=st.lists(st.integers(0, 6), min_size=5, max_size=5), both=st.booleans())
def test_no_store_goes_beyond(body: tuple[Stmt, ...], starts: list[int], both: bool) -> None:
    """The bodies move cursors, the counter and others, or not, under conditions or not."""
    condition = BOTH if both else op("<", q, end)
    names = dict(zip(("q", "r", "end", "stop", "odd"), starts, strict=True))
    Tried({**names, "n": 1}).run(hoist_bounds_checks(plan(While((), condition, body))).body)


def test_the_tried_bodies_store() -> None:
    """The property above is not empty: a loop of both cursors stores in each round, up to what was asked for."""
    loop = While((), BOTH, (store(), step(n), If(op("<", odd, q), (step(q),), (step(r),))))
    tried = Tried({"q": 0, "end": 3, "r": 0, "stop": 2, "odd": 1, "n": 1})
    tried.run(hoist_bounds_checks(plan(loop)).body)
    assert tried.stored >= 3 and tried.room == 1 + 6


SUM = """
C = Tensor(SparseList(Element(0.0)))
C .= 0.0
for i = _
    C[i] = A[i] + B[i]
end
return C
"""


@needs_compiler
def test_full_vectors_have_room_for_what_there_is() -> None:
    """A list has no more entries than its axis indices, and no loop asks for more: also where memory is short."""
    kernel = wingspan.compile(wingspan.parse(SUM), inputs={name: "SparseList(Element(0.0))" for name in "AB"})
    size = 2**18 - 1  # memory is for extents up to the next power of 2
    ones = scipy.sparse.coo_array((np.ones(size), (np.arange(size),)), shape=(size,))
    fewer = scipy.sparse.coo_array((np.ones(size - 1), (np.arange(1, size),)), shape=(size,))
    assert kernel(A=ones, B=fewer).to_numpy().sum() == 2 * size - 1
    needed = size * (4 + 8)
    assert kernel(A=ones, B=fewer, limits=Limits(memory=needed * 3 // 2)).nnz == size
    with pytest.raises(Fault, match="memory"):
        kernel(A=ones, B=fewer, limits=Limits(memory=needed // 2))


ROUNDS = """
C = Tensor(SparseRunList(Element(0)))
C .= 0
for i = {ends}
    C[i] = {sum}
end
return C
"""


def counting(body: tuple[Stmt, ...], asking: list[Expr]) -> tuple[Stmt, ...]:
    """A plan whose loops fault if they have more rounds than the lowering says; what it says is added to `asking`."""
    out: list[Stmt] = []
    for s in body:
        inner = with_blocks(s, lambda block: counting(block, asking))
        if isinstance(inner, While) and inner.rounds is not None:
            most, count = Reg(f"most {len(asking)}"), Reg(f"count {len(asking)}")
            asking.append(inner.rounds)
            check = Check(op("<=", count, most), "a round too many", (), HERE)
            out += [put(most, inner.rounds), put(count, Const(0))]
            inner = replace(inner, body=(put(count, plus(count, 1)), check, *inner.body))
        out.append(inner)
    return tuple(out)


def spread(column: list[tuple[int, int]]) -> np.ndarray:
    """The first nine of its elements, or 0."""
    values = [value for value, often in column for _ in range(often)]
    return np.array((values + 9 * [0])[:9])


LEVELS = st.sampled_from(["SparseRunList", "SparseBlockList", "SparseList"])
COLUMNS = st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.integers(1, 5)), min_size=1, max_size=6)
"""Elements of an axis, each as often as the number after it says."""
ENDS = st.sampled_from(["_", "1:9", "2:6", "4:9"])


@settings(max_examples=many(400), deadline=None, derandomize=True)
@example(data=[("SparseRunList", [(1, 9)]), ("SparseRunList", [(0, 1), (2, 1), (0, 1), (2, 1)])], ends="_")
@given(data=st.lists(st.tuples(LEVELS, COLUMNS), min_size=1, max_size=3), ends=ENDS)
def test_loops_over_stretches_have_no_more_rounds_than_the_lowering_says(
    data: list[tuple[str, list[tuple[int, int]]]], ends: str
) -> None:
    """Of one to three fibers with and without common ends, in all of their axis and in a part of it."""
    names = "ABD"[: len(data)]
    declared = "".join(f"{T} = Tensor({level}(Element(0)))\n" for T, (level, _) in zip(names, data, strict=True))
    text = declared + ROUNDS.format(ends=ends, sum=" + ".join(f"{T}[i]" for T in names))
    case = api.bind(api.parse(text), inputs={T: spread(each) for T, (_, each) in zip(names, data, strict=True)})
    made = lower(case)
    asking: list[Expr] = []
    engine = NativeEngine(assemble(replace(made, body=counting(made.body, asking))))
    lists = [engine.inputs.from_arrays(T, buffers(T, tensor)) for T, tensor in case.inputs.items()]
    engine.run(lists, limits=Limits(reservation=2**26))
    assert asking or all(level == "SparseList" for level, _ in data)
