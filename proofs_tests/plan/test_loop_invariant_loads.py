"""Loads that every round of a loop repeats are done once before it, and no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from proofs_tests.exploring import explore_graph
from proofs_tests.plan import small_plans
from proofs_tests.plan.small_plans import HERE, plus, put, ref, region, step
from wingspan import api
from wingspan.native.assemble import assemble
from wingspan.native.machine import Native
from wingspan.plan import pipeline
from wingspan.plan.fold import op
from wingspan.plan.ir import Check, Child, Const, Expr, If, Load, Place, Reg, Stmt, While, walk
from wingspan.plan.lowering.lower import draft
from wingspan.plan.passes.loop_invariant_loads import loop_invariant_loads

CELLS = ref("A", "val")
j, n, p, q, x, y, total = map(Reg, ("j", "n", "p", "q", "x", "y", "total"))
LEFT = op("<=", j, n)
NEXT = step(j)
ADD = put(total, op("+", total, x))
plan = partial(small_plans.plan, refs=[CELLS], result=total)


def load(reg: Reg = x, at: Expr = q, frozen: bool = True) -> Load:
    return small_plans.load(reg, replace(CELLS, frozen=frozen), at)


def instance(reg: Reg = p, key: Expr = q) -> Child:
    return Child(reg, 0, n, key, HERE)


def loop(*body: Stmt) -> While:
    return While((), LEFT, (*body, NEXT))


def inside(at: Reg) -> Load:
    """A load from an instance."""
    return replace(load(), ref=replace(CELLS, frozen=True, instance=at))


def moved(loop: While, *loads: Load | Child) -> If:
    return If(LEFT, (*loads, loop))


MOVED: dict[str, tuple[Callable[[], tuple[Stmt, ...]], tuple[Stmt, ...]]] = {
    "alone": (lambda: (loop(load(), ADD),), (moved(loop(ADD), load()),)),
    "one by the other": (
        lambda: (loop(load(), load(y, x), ADD),),
        (moved(loop(ADD), load(), load(y, x)),),
    ),
    "after one that stays": (
        lambda: (loop(load(y, j), load(), ADD),),
        (moved(loop(load(y, j), ADD), load()),),
    ),
    "an instance, and a load from it": (
        lambda: (loop(instance(), inside(p), ADD),),
        (moved(loop(ADD), instance(), inside(p)),),
    ),
    "an instance in which the loop writes": (
        lambda: (loop(instance(), small_plans.store(inside(p).ref, j, x), ADD),),
        (moved(loop(small_plans.store(inside(p).ref, j, x), ADD), instance()),),
    ),
    "in a task": (
        lambda: (region(loop(load(), ADD)),),
        (region(moved(loop(ADD), load())),),
    ),
}


@pytest.mark.parametrize(("body", "expected"), MOVED.values(), ids=MOVED)
def test_a_load_moves_before_the_loop_if_that_has_a_round(
    body: Callable[[], tuple[Stmt, ...]], expected: tuple[Stmt, ...]
) -> None:
    assert loop_invariant_loads(plan(*body())) == plan(*expected)


def test_reports_on_it_do_not_tell_the_index_of_the_loop() -> None:
    told = replace(HERE, indices=(("j", j), ("q", q)))
    made = loop_invariant_loads(plan(loop(replace(load(), origin=told), ADD)))
    (first,) = (s for s in walk(made.body) if isinstance(s, Load))
    assert first.origin.indices == (("q", q),)


STAY = {
    "somebody may write the cell": (load(frozen=False), ADD),
    "each round loads another cell": (load(at=j), ADD),
    "another statement sets the register": (load(), ADD, put(x, Const(0))),
    "another load sets it": (load(), ADD, load(at=p)),
    "the first round reads what was there": (ADD, load()),
    "a round may fault before": (Check(op("<", q, n), "too large", (), HERE), load(), ADD),
    "a round may not load": (If(op("<", q, n), (load(),)), ADD),
    "a later statement changes where it lies": (load(), ADD, step(q)),
    "reports tell what the loop changes": (replace(load(), place=Place(j)), ADD),
    "each round is about another instance": (instance(key=j), ADD),
    "the instance is one of another that each round gets": (instance(x, j), Child(p, 0, x, q, HERE), ADD),
    "the loop has just written the cell": (small_plans.store(CELLS, q, j), load(), ADD),
}


@pytest.mark.parametrize("body", STAY.values(), ids=STAY)
def test_other_loads_stay(body: tuple[Stmt, ...]) -> None:
    assert loop_invariant_loads(plan(loop(*body))) == plan(loop(*body))


def test_loops_that_work_out_their_condition_or_go_by_what_they_load_are_left_alone() -> None:
    tested = While((put(y, plus(j, 1)),), op("<", y, n), (load(), ADD, NEXT))
    by_it = While((), op("<=", j, x), (load(), ADD, NEXT))
    assert loop_invariant_loads(plan(tested, by_it)) == plan(tested, by_it)


FACTORS = """
B = Tensor(Dense(SparseList(Element(0))), {B})
C = Tensor(Dense(Dense(Element(0))), [1 2; 3 4])
a = Tensor(Dense({leaf}(0)))
a .= 0
for k = parallel(1:2, cpu(2))
    for l = _
        for j = _
            a[j] += B[l, k] * C[j, k]
        end
    end
end
return a
"""


@pytest.mark.parametrize("B", ["[2 3]", "[0 3]", "[0 0]"])
@pytest.mark.parametrize("leaf", ["Element", "Atomic"])
def test_verdicts_and_outcomes_are_those_of_the_plan_before(B: str, leaf: str) -> None:
    """Under the controlled scheduler, of programs that race and of safe ones."""
    bound = api.bind(api.parse(FACTORS.format(B=B, leaf=leaf)))
    made = draft(bound, False)
    for change in pipeline.PASSES[: pipeline.PASSES.index(loop_invariant_loads)]:
        made = change(made)
    after = loop_invariant_loads(made)
    assert after != made
    verdicts = [explore_graph(Native(assemble(each), bound)) for each in (made, after)]
    one, other = ((v.verdict, {r.outcome for r in v.results}, len(v.races)) for v in verdicts)
    assert one == other and all(v.complete for v in verdicts)


def test_stores_between_two_loads_do_not_hold_one_back() -> None:
    store = small_plans.store(ref("B", "val"), j, x)
    made = loop_invariant_loads(plan(loop(load(), store, load(y), ADD)))
    assert [type(s) for s in made.body[0].then] == [Load, Load, While]  # type: ignore[union-attr]
    assert Counter(type(s) for s in walk(made.body))[Load] == 2


WORKSPACE = """
A = Tensor(SparseDict(Element(0)), [2, 0, 2])
B = Tensor(SparseByteMap(Element(0)), [0, 0, 1])
w = Tensor(Element(0))
h = Tensor(Dense(Element(0)), 2)
h .= 0
for i = _
    w .= 0
    w[] += A[i]
    h[B[i] + 1] += w[] + 1
end
return h
"""


def test_a_workspace_of_the_loop_is_read_in_every_round() -> None:
    """A workspace without updates is declared and read in a loop of its own."""
    done = api.diff(api.parse(WORKSPACE))
    assert done.difference is None and done.endings[0].arrays["h"].tolist() == [4, 3]
