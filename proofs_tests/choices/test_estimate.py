"""Estimates follow what inputs store: how much there is to do, how threads share it, and what modifiers add."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from proofs_tests.places import EXAMPLES
from wingspan import api
from wingspan.choices.counts import OPEN, ExecutionCounts
from wingspan.choices.estimate import COSTS, TimeEstimate, estimate
from wingspan.lang import ir

RANDOM = np.random.default_rng(7)


def of(text: str, **inputs: Any) -> TimeEstimate:
    """The estimate of a program given as text."""
    return estimate(api.bind(api.parse(dedent(text)), inputs=inputs, symbolic=True))


SUM = """
    dev = cpu(:t, {threads})
    A = Tensor(Dense(SparseList(Element(0.0))))
    y = Tensor({form})
    y .= 0
    for j = {range}
        for i = _
            y[{at}] += A[i, j]
    return y
"""
PARALLEL, DYNAMIC = "parallel(_, dev)", "parallel(_, dev, dynamic_schedule(1))"


def column_sums(A: np.ndarray, range: str = "_", form: str = "Dense(Element(0.0))", at: str = "j", threads: int = 2):
    """The estimate of the sums of the columns of a matrix, or of its rows."""
    return of(SUM.format(range=range, form=form, at=at, threads=threads), A=A)


def stored(rows: int, columns: int, *, each: int) -> np.ndarray:
    """A matrix with so many elements in each column."""
    made = np.zeros((rows, columns))
    for column in made.T:
        column[RANDOM.choice(rows, each, replace=False)] = 1.0
    return made


def test_only_what_inputs_store_is_visited() -> None:
    """A loop over the columns, and for each element of them an iteration and an update; with y declared and frozen."""
    for rows, columns, each in ((100, 30, 5), (1000, 30, 5), (100, 30, 50)):
        elements = columns * each
        expected = 2 + columns * COSTS["iteration"] + elements * (COSTS["iteration"] + COSTS["update"])
        assert column_sums(stored(rows, columns, each=each)).work == pytest.approx(expected)


@pytest.mark.parametrize("A", [np.zeros((4, 3)), np.zeros((0, 3)), np.zeros((3, 0)), np.zeros((1, 1))])
def test_empty_inputs_take_next_to_nothing(A: np.ndarray) -> None:
    """Also with more threads than iterations."""
    for threads in (1, 2, 7):
        found = column_sums(A, PARALLEL, threads=threads)
        assert 0 < found.time <= 10 + COSTS["start"] and found.work == pytest.approx(found.time, abs=10)


def test_the_busiest_thread_counts() -> None:
    """Columns of the same length are halved; where one half has all elements, a static schedule gains nothing.

    A dynamic one does, and one column that has all elements is one thread's whatever the schedule.
    """
    even, first, one = stored(2000, 1000, each=100), stored(2000, 1000, each=200), stored(1000, 1000, each=1)
    first[:, 500:] = 0
    one[:, 0], one[:, 1:] = 1, 0
    start = COSTS["start"]
    alone = {name: column_sums(A).time for name, A in (("even", even), ("first", first), ("one", one))}
    assert column_sums(even, PARALLEL).time == pytest.approx(start + alone["even"] / 2, rel=0.01)
    assert column_sums(first, PARALLEL).time == pytest.approx(start + alone["first"], rel=0.01)
    assert column_sums(first, DYNAMIC).time < start + 0.6 * alone["first"]
    assert column_sums(one, PARALLEL).time > alone["one"]


def test_what_a_lock_guards_takes_turns() -> None:
    """A lock around everything gains nothing; one for each column gains nearly what there is to gain."""
    A = stored(500, 400, each=100)
    alone = column_sums(A).time
    bare = column_sums(A, PARALLEL).time
    whole = column_sums(A, PARALLEL, "Mutex(Dense(Element(0.0)))").time
    each = column_sums(A, PARALLEL, "Dense(Mutex(Element(0.0)))").time
    assert bare < each and whole > alone


def test_each_modifier_costs_what_it_does() -> None:
    """Shard, Atomic, Mutex and Isolate at every update, in this order; Merge for each thread's copy."""
    A = stored(500, 400, each=100)
    forms = ["Element(0.0)", "Shard(dev, Element(0.0))", "Atomic(0.0)", "Mutex(Element(0.0))", "Isolate(Element(0.0))"]
    works = [column_sums(A, PARALLEL, f"Dense({form})").work for form in forms]
    assert works == sorted(works) and len({*works}) == len(works)
    copies = [column_sums(A, PARALLEL, "Merge(dev, Dense(Element(0.0)))", "i", threads).work for threads in (2, 3, 4)]
    assert copies[2] - copies[1] == pytest.approx(copies[1] - copies[0]) and copies[1] > copies[0]


def test_threads_that_start_often_cost_more() -> None:
    """An inner loop in parallel starts them in each iteration of the outer one."""
    C = "C = Tensor(Dense(Dense(Element(0))), 9, 50)\nC .= 0\nfor j = {}\nfor i = {}\nC[i, j] += i\nend\nend\nreturn C"
    outer, inner = (of(C.format(*ranges)) for ranges in (("parallel(_)", "_"), ("_", "parallel(_)")))
    assert inner.time - outer.time == pytest.approx(49 * COSTS["start"], rel=0.01)


def test_how_full_a_computed_tensor_gets_is_expected() -> None:
    """The updates of a workspace hit elements at random, so that what reads it visits those, not its whole axis."""
    program = api.load(EXAMPLES / "spgemm_gustavson.ws")
    A, B = stored(1000, 100, each=3), stored(100, 80, each=2)
    bound = api.bind(program, inputs={"A": A, "B": B}, params={"nt": 1, "sch": "static_schedule()"})
    products = 80 * 2 * 3
    assert estimate(bound).work < 80 * 100 + 20 * products
    assert estimate(bound).work > 4 * products


def test_what_is_open_is_assumed() -> None:
    """Without an input, its extents are `OPEN`; a parameter is as well; with it, they are its own."""
    text = (
        "x = Tensor(Dense(Element(0)))\nc = Tensor(Dense(Element(0)))\nc .= 0\nfor i = _\nc[i] += x[i]\nend\nreturn c"
    )
    each = COSTS["iteration"] + COSTS["update"]
    assert of(text).work == 2 + OPEN * each
    assert of(text, x=np.ones(7, int)).work == 2 + 7 * each
    assert of("c = Tensor(Dense(Element(0)), n)\nc .= 0\nfor i = 1:n\nc[i] += i\nend\nreturn c").work == 2 + OPEN * each


def test_ends_of_loops_are_taken_at_the_middle_of_those_around_them() -> None:
    """A triangle has half as many iterations as a square."""
    bound = api.bind(api.parse("s = Scalar(0)\ns .= 0\nfor j = 1:9\nfor i = 1:j\ns[] += i\nend\nend\nreturn s"))
    outer, inner = (s.range for s in bound.body.walk() if isinstance(s, ir.For))
    counts = ExecutionCounts(bound)
    assert counts.length(outer, {}) == 9 and counts.length(inner, {"j": 9}) == 5


TRIANGLE = """
    dev = cpu(:t, 2)
    C = Tensor(Dense(Dense(Element(0))), 400, 400)
    C .= 0
    for j = {}
        for i = {}
            C[i, j] += i
    return C
"""


@pytest.mark.parametrize(("ends", "share"), [("1:400", 1 / 2), ("1:j", 3 / 4), ("j:400", 3 / 4), ("j:j", 1 / 2)])
def test_the_busiest_thread_has_the_longer_part_of_a_triangle(ends: str, share: float) -> None:
    """Half of the columns of a triangle have three quarters of it; a dynamic schedule deals them evenly."""
    alone = of(TRIANGLE.format("_", ends)).time
    static, dynamic = (of(TRIANGLE.format(outer, ends)).time for outer in (PARALLEL, DYNAMIC))
    chunks = 400 * COSTS["chunk"] / 2
    assert static == pytest.approx(COSTS["start"] + alone * share, rel=0.01)
    assert dynamic == pytest.approx(COSTS["start"] + alone / 2 + chunks, rel=0.01)
