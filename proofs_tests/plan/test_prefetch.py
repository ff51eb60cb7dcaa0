"""Fibers that a loop over a list is going to open are prefetched; what that loads, the loop loads itself, later."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import many
from proofs_tests.places import ROOT
from proofs_tests.plan import small_plans
from proofs_tests.plan.small_plans import HERE, plus, put, ref, region, root, step, store
from wingspan import api
from wingspan.lang.registers import FLOAT
from wingspan.plan.fold import op
from wingspan.plan.ir import Check, Const, Expr, If, Load, Op, Plan, Prefetch, Reg, Stmt, While, walk
from wingspan.plan.passes.prefetch import DISTANCE, prefetch
from wingspan.plan.pipeline import for_c, lower
from wingspan.plan.show import cell

BUFFERS = {
    f"{tensor}.{name}": ref(tensor, name, number, group)
    for group, tensor in enumerate("AB")
    for number, name in enumerate(("ptr", "idx", "val"))
}
j, last, q, end, k, p, stop, n, i = map(Reg, ("j", "last", "q", "end", "k", "p", "stop", "n", "i"))
begin, start, total, x = Reg("begin"), Reg("start"), Reg("total", FLOAT), Reg("x", FLOAT)
SOON, LATER = DISTANCE // 2, DISTANCE


plan = partial(small_plans.plan, refs=BUFFERS.values(), result=total)


def load(reg: Reg, name: str, index: Expr) -> Load:
    return small_plans.load(reg, BUFFERS[name], index)


READ = (load(x, "A.val", p), put(total, op("+", total, x)), step(p))
OPEN = (load(start, "A.ptr", k), put(p, start), load(stop, "A.ptr", plus(k, 1)))
FIBER = While((), op("<", p, stop), READ)
UNFURL = (load(begin, "B.ptr", j), put(q, begin), load(end, "B.ptr", plus(j, 1)))


def entries(*body: Stmt) -> While:
    """A loop over the list of column j of B."""
    return While((), op("<", q, end), (load(k, "B.idx", q), *body, step(q)))


LIST = entries(*OPEN, FIBER)


def columns(*body: Stmt) -> tuple[Stmt, ...]:
    """A loop over columns of B."""
    return (put(j, Const(1)), While((), op("<=", j, last), (*UNFURL, *body, step(j))))


def fetched(until: Reg) -> tuple[Stmt, ...]:
    """The prefetches before the loop over a fiber of A."""
    first, then, where = (Reg(f"{name} ahead") for name in (f"k {LATER}", f"k {SOON}", f"start {SOON}"))
    inside = (
        load(first, "B.idx", plus(q, LATER)),
        Prefetch(BUFFERS["A.ptr"], first, HERE),
        load(then, "B.idx", plus(q, SOON)),
        load(where, "A.ptr", then),
        Prefetch(BUFFERS["A.val"], where, HERE),
    )
    return (If(op("<", plus(q, LATER), until), inside),)


def test_the_fibers_of_all_columns_are_prefetched() -> None:
    """Beyond the end of a column, too: up to where the list of the last one ends."""
    reads_to = Reg("q stop")
    expected = columns(load(reads_to, "B.ptr", plus(last, 1)), entries(*OPEN, *fetched(reads_to), FIBER))
    assert prefetch(plan(*columns(entries(*OPEN, FIBER)))).body == expected


def test_a_single_list_is_prefetched_up_to_its_end() -> None:
    assert prefetch(plan(entries(*OPEN, FIBER))).body == (entries(*OPEN, *fetched(end), FIBER),)


ELSEWHERE: dict[str, tuple[Stmt, ...]] = {
    "columns that are skipped": (If(op("<", total, x), (*UNFURL, LIST)), step(j)),
    "every other column": (*UNFURL, LIST, step(j, 2)),
    "columns that overlap": (*UNFURL[:2], load(end, "B.ptr", plus(j, 2)), LIST, step(j)),
    "a last column that moves": (*UNFURL, LIST, step(last), step(j)),
    "columns that are written": (*UNFURL, LIST, store(BUFFERS["B.ptr"], n, n), step(j)),
    "lists that begin elsewhere": (*UNFURL, step(q), LIST, step(j)),
    "fibers that the column tells, too": (
        *UNFURL, entries(load(start, "A.ptr", op("+", k, j)), *OPEN[1:], FIBER), step(j),
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_column_at_a_time_is_prefetched_where_the_others_are_elsewhere(body: tuple[Stmt, ...]) -> None:
    made = prefetch(plan(While((), op("<=", j, last), body)))
    asked = [s.condition for s in walk(made.body) if isinstance(s, If)]
    assert op("<", plus(q, LATER), end) in asked
    assert not any(isinstance(s, Load) and s.reg.name == "q stop" for s in walk(made.body))


def test_a_fiber_that_is_read_twice_is_prefetched_once() -> None:
    made = prefetch(plan(entries(*OPEN, FIBER, put(p, start), FIBER)))
    assert made.body == (entries(*OPEN, *fetched(end), FIBER, put(p, start), FIBER),)


def test_conditions_of_the_later_round_are_asked_for() -> None:
    """A load ahead is made only if the index fits; what holds for every round is not asked again."""
    fits, wide = op("<=", k, n), op("<", n, last)
    made = prefetch(plan(entries(If(wide, (If(fits, (*OPEN, FIBER)),)))))
    (found,) = (s for s in walk(made.body) if isinstance(s, Load) and s.reg == Reg(f"start {SOON} ahead"))
    around = [s.condition for s in walk(made.body) if isinstance(s, If) and found in walk(s.then)]
    assert around == [wide, fits, op("<", plus(q, LATER), end), op("<=", Reg(f"k {SOON} ahead"), n)]


def test_what_a_round_loads_for_the_next_is_known() -> None:
    """The list is read at the end of each round, and the loop ends early."""
    later, left = Reg("later"), op("<", q, end)
    test = (put(later, Op("select", (left, k, n))),)
    opened = (load(start, "A.ptr", later), put(p, start), load(stop, "A.ptr", plus(later, 1)))
    loop = While(test, op("<", later, n), (*opened, FIBER, step(q), If(left, (load(i, "B.idx", q), put(k, i)))))
    made = prefetch(plan(loop))
    (found,) = (s for s in walk(made.body) if isinstance(s, Load) and s.reg == Reg(f"start {SOON} ahead"))
    around = [s.condition for s in walk(made.body) if isinstance(s, If) and found in walk(s.then)]
    assert around == [op("<", plus(q, LATER), end), op("<", Reg(f"i {SOON} ahead"), n)]


MAYBE = If(op("<", total, x), (load(start, "A.ptr", k),))
HASHED = replace(BUFFERS["A.val"], buffer=replace(BUFFERS["A.val"].buffer, hashed=True))
ROW = op("+", op("*", op("-", k, Const(1)), n), i)
LEFT_ALONE: dict[str, tuple[Stmt, ...]] = {
    "rows of a dense matrix": (entries(put(i, Const(1)), While((), op("<=", i, n), (load(x, "A.val", ROW), step(i)))),),
    "fibers that lie one after the other": (entries(load(start, "A.ptr", q), *OPEN[1:], FIBER),),
    "a cell that the inner loop does not move on from": (
        entries(*OPEN, While((), op("<", p, stop), (load(x, "A.val", k), step(p)))),
    ),
    "no inner loop": (entries(load(start, "A.ptr", k), load(x, "A.val", start)),),
    "a list that is written": (store(BUFFERS["B.idx"], Const(1), n), entries(*OPEN, FIBER)),
    "positions that are written": (entries(*OPEN, FIBER, store(BUFFERS["A.ptr"], Const(1), n)),),
    "cells in a hash table": (entries(*OPEN, While((), op("<", p, stop), (small_plans.load(x, HASHED, p), step(p)))),),
    "another instance in each round": (entries(*OPEN, put(root("A"), root("B")), FIBER),),
    "a cursor that moves by two": (While((), op("<", q, end), (*LIST.body[:-1], step(q, 2))),),
    "a cursor that moves under a condition": (
        While((), op("<", q, end), (*LIST.body[:-1], If(op("<", total, x), (step(q),)))),
    ),
    "a cursor that has moved": (While((), op("<", q, end), (load(k, "B.idx", q), *OPEN, step(q), FIBER)),),
    "an index that is something else by then": (entries(put(k, n), *OPEN, FIBER),),
    "a load under a condition that is not known": (entries(If(op("<", total, x), (*OPEN, FIBER))),),
    "what may fail before": (entries(Check(op("<", total, x), "", (), HERE), *OPEN, FIBER),),
    "what may fail in a loop before": (
        entries(While((), op("<", n, i), (Check(op("<", total, x), "", (), HERE), step(n))), *OPEN, FIBER),
    ),
    "a list without an end": (While((load(k, "B.idx", q),), op("<", k, n), (*OPEN, FIBER, step(q))),),
    "an end that moves": (While((), op("<", q, end), (*LIST.body, step(end, 2))),),
    "an end that moves along": (While((), op("<", q, end), (*LIST.body, step(end))),),
    "a cursor that jumps now and then": (
        While((), op("<", q, end), (*LIST.body[:-1], If(op("<", total, x), (put(q, n),)), step(q))),
    ),
    "tasks that are started in each round": (entries(*OPEN, region(FIBER)),),
    "a position that may be another one": (entries(load(start, "A.ptr", k), MAYBE, *OPEN[1:], FIBER),),
}


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_other_loops_are_left_alone(body: tuple[Stmt, ...]) -> None:
    assert prefetch(plan(*body)) == plan(*body)


# ---------------------------------------------------------------------------------------------------- what is accessed


class Tried(small_plans.Tried):
    """The accesses of a plan over two matrices: the cells that it loads, and those that it prefetches."""

    def __init__(self, made: Plan, cells: dict[str, list[int]], registers: dict[str, int]) -> None:
        super().__init__({"total": 0, **registers})
        self.cells = cells
        self.loads: set[str] = set()
        self.fetches: list[str] = []
        self.run(made.body)

    def access(self, s: Stmt) -> None:
        match s:
            case Load(reg=reg, ref=ref, index=index):
                at = self.value(index)
                name = f"{ref.buffer.tensor}.{ref.buffer.name}"
                assert 1 <= at <= len(self.cells[name]), cell(ref, index)
                self.loads.add(f"{name}[{at}]")
                self.registers[reg.name] = self.cells[name][at - 1]
            case Prefetch(ref=ref, index=index):
                self.fetches.append(f"{ref.buffer.tensor}.{ref.buffer.name}[{self.value(index)}]")


def fibers(tensor: str, lists: list[list[int]]) -> dict[str, list[int]]:
    """The cells of a matrix whose columns have these indices; the entries are numbered."""
    ends = np.cumsum([1, *map(len, lists)]).tolist()
    idx = [index for column in lists for index in column]
    return {f"{tensor}.ptr": ends, f"{tensor}.idx": idx, f"{tensor}.val": list(range(1, len(idx) + 1))}


COLUMNS = st.lists(st.lists(st.integers(1, 3), max_size=2 * LATER + 2), min_size=1, max_size=5)


@settings(max_examples=many(1000), deadline=None)
@given(listed=COLUMNS, opened=st.lists(st.integers(0, 3), min_size=3, max_size=3), first=st.integers(1, 5))
def test_all_that_is_loaded_is_loaded_anyway(listed: list[list[int]], opened: list[int], first: int) -> None:
    """Fibers of any length, columns from any one on: what is prefetched is what the rounds to come begin with."""
    cells = fibers("A", [[1] * length for length in opened]) | fibers("B", listed)
    count, columns_from = len(listed), (put(j, Const(first)), columns(entries(*OPEN, FIBER))[1])
    before = Tried(plan(*columns_from), cells, {"last": count})
    after = Tried(prefetch(plan(*columns_from)), cells, {"last": count})
    assert (after.loads, after.registers["total"]) == (before.loads, before.registers["total"])
    rounds = [index for column in listed[first - 1 :] for index in column]
    assert [at for at in after.fetches if "ptr" in at] == [f"A.ptr[{index}]" for index in rounds[LATER:]]
    starts = [cells["A.ptr"][index - 1] for index in rounds[SOON : max(len(rounds) - SOON, 0)]]
    assert [at for at in after.fetches if "val" in at] == [f"A.val[{at}]" for at in starts]


# ------------------------------------------------------------------------------------------------------------ programs

PARAMS = {"nt": 2, "sch": "dynamic_schedule(2)"}
PROGRAMS = {
    "spgemm_gustavson": {"A.ptr", "A.idx", "A.val"},
    "spgemm_nested": {"A.ptr", "A.idx", "A.val"},
    "spmspv": {"A.ptr", "A.idx", "A.val"},
    "spadd": set(),
    "hadamard": set(),
    "spgemm_inner": set(),
    "spgemm_outer": set(),
    "mttkrp_dense": set(),
    "mttkrp_sparse": set(),
    "mttkrp_rows": {"DT.val"},
    "mttkrp_sparse_rows": {f"{tensor}.{name}" for tensor in ("CT", "DT") for name in ("ptr", "idx", "val")},
}
"""The prefetched buffers, of programs whose lists lead elsewhere, and of others."""


def program(name: str) -> api.Program:
    return api.load(ROOT / "examples" / f"{name}.ws")


@pytest.mark.parametrize(("name", "expected"), PROGRAMS.items(), ids=PROGRAMS)
def test_what_is_prefetched(name: str, expected: set[str]) -> None:
    made = for_c(lower(api.bind(program(name), params=PARAMS, symbolic=True)))
    found = {f"{s.ref.buffer.tensor}.{s.ref.buffer.name}" for s in walk(made.body) if isinstance(s, Prefetch)}
    assert found == expected


def column_lengths(rows: int, *lengths: int) -> scipy.sparse.csc_array:
    """A matrix whose columns have so many entries, small numbers all."""
    rng = np.random.default_rng(len(lengths))
    at = [np.sort(rng.choice(rows, length, replace=False)) for length in lengths]
    ends = np.cumsum([0, *lengths])
    parts = rng.integers(1, 4, ends[-1]).astype(float), np.concatenate([[], *at]).astype(int), ends
    return scipy.sparse.csc_array(parts, shape=(rows, len(lengths)))


LENGTHS = (0, 1, SOON - 1, SOON, SOON + 1, LATER - 1, LATER, LATER + 1, 2 * LATER + 1)


@needs_compiler
@pytest.mark.parametrize("threads", [1, 3])
def test_products_are_the_same_for_columns_of_any_length(threads: int) -> None:
    """Empty ones, and such that end right where something is prefetched, alone and after each other."""
    params = {"nt": threads, "sch": "dynamic_schedule(2)"}
    kernel = wingspan.compile(program("spgemm_gustavson"), params=params)
    A = column_lengths(19, *reversed(LENGTHS), 3, 0, 1, 5, 2, 4, 0, 7, 6, 1)
    for B in (column_lengths(19, *LENGTHS), *(column_lengths(19, length) for length in LENGTHS), column_lengths(19)):
        assert (kernel(A=A, B=B).to_scipy() != A @ B).nnz == 0


@needs_compiler
@pytest.mark.parametrize("chunk", [1, 5, 100])
def test_products_with_vectors_of_any_length_are_the_same(chunk: int) -> None:
    """Tasks take their share of a list, and end before the list does."""
    params = {"nt": 2, "sch": f"dynamic_schedule({chunk})"}
    kernel = wingspan.compile(program("spmspv"), params=params)
    A = column_lengths(19, *LENGTHS, *LENGTHS, 0)
    for length in LENGTHS:
        b = column_lengths(19, length).toarray()[:, 0]
        assert np.array_equal(kernel(A=A, x=b).to_numpy(), A @ b)
