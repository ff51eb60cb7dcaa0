"""The cost of loops over sparse fibers, and that visiting less changes nothing: plans beside the rules.

The rules visit every index; a plan visits those at which the body does something. Costs are numbers of accesses to
buffers, counted on the plan under the controlled scheduler, on axes so long that visiting every index would not end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from math import log2
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import due, many
from wingspan import api
from wingspan.base.errors import Fault
from wingspan.buffers.procedures import drains
from wingspan.elaborate import Elaborated
from wingspan.explorer.machine import Blocked, CellAccess
from wingspan.testing import Options, cases, kernels, programs

HUGE = 10**9
SEARCHED = ("SparseList", "SparseDict")
"""Levels over an axis of any length."""


def touches(machine: Any) -> tuple[list[tuple[str, CellAccess]], Any]:
    """The accesses of one run, each with its task, and the state, Fault or wait for a lock that it ends with."""
    state = machine.initial()
    found: list[tuple[str, CellAccess]] = []
    while tasks := machine.tasks(state):
        step = machine.step(state, tasks[0])
        if isinstance(step, Blocked):
            return found, step
        found += [(step.task, touch) for touch in step.footprint]
        if isinstance(step.next, Fault):
            return found, step.next
        state = step.next
    return found, state


def counts(bound: Elaborated) -> Counter[str]:
    """The number of accesses of a run of the plan to each buffer."""
    found, end = touches(api.native(bound))
    assert not isinstance(end, Fault | Blocked), end
    return Counter(f"{touch.tensor}.{touch.buffer}" for _, touch in found)


def entries(indices: Iterable[int], extent: int = HUGE) -> scipy.sparse.coo_array:
    """A vector that is 1 at these indices, and 0 elsewhere."""
    at = np.array(list(indices)) - 1
    return scipy.sparse.coo_array((np.ones(len(at)), (at,)), shape=(extent,))


def total(body: str, form: str, **given: Any) -> Elaborated:
    """A sum over vectors of a format, up to the longest axis."""
    tensors = [f"{name} = Tensor({form}(Element(0.0)))" for name in given]
    text = "\n".join((*tensors, "c = Tensor(Element(0.0))", "c .= 0", "for i = _", body, "end", "return c"))
    return api.bind(api.parse(text), inputs=given)


# --------------------------------------------------------------------------------------------------------------- costs


@pytest.mark.parametrize("form", SEARCHED)
def test_a_product_costs_the_intersection(form: str) -> None:
    """Elements are read where both factors have one; a gap is crossed with a logarithmic number of reads."""
    long, short = entries(range(1, 4001)), entries([7, 2000, 3999, HUGE])
    for one, other in ((long, short), (short, long)):
        found = counts(total("c[] += A[i] * B[i]", form, A=one, B=other))
        assert (found["A.val"], found["B.val"], found["c.val"]) == (3, 3, 7)
        assert found.total() < 4 * 4 * log2(4000)


@pytest.mark.parametrize("form", SEARCHED)
def test_blocks_that_do_not_meet_cost_nothing(form: str) -> None:
    """Two vectors of 2000 elements, one after the other: the first is passed over at once."""
    A, B = entries(range(1, 2001)), entries(range(3001, 5001))
    found = counts(total("c[] += A[i] * B[i]", form, A=A, B=B))
    assert found["A.val"] == found["B.val"] == 0
    assert found.total() < 3 * log2(2000)


@pytest.mark.parametrize("last", [(HUGE, HUGE), (HUGE, 300), (300, HUGE)], ids=["end at once", "first", "second"])
@pytest.mark.parametrize("form", SEARCHED)
def test_a_sum_costs_the_union(form: str, last: tuple[int, int]) -> None:
    """Each element is read once, and nothing happens where there is none, also after the end of one of the two."""
    A, B = [*range(1, 300, 3), last[0]], [*range(1, 300, 2), last[1]]
    found = counts(total("c[] += A[i] + B[i]", form, A=entries(A), B=entries(B)))
    union = len({*A, *B})
    assert (found["A.val"], found["B.val"]) == (len(A), len(B))
    assert found["c.val"] == 1 + 2 * union
    assert found.total() <= 2 * union + 3 * (len(A) + len(B)) + 5


@pytest.mark.parametrize("form", SEARCHED)
def test_a_sum_times_a_factor_costs_the_factor(form: str) -> None:
    """(A + B)·C: neither A nor B is walked through."""
    long, C = entries(range(1, 3001)), [5, 2500, HUGE]
    found = counts(total("c[] += (A[i] + B[i]) * C[i]", form, A=long, B=long, C=entries(C)))
    assert (found["A.val"], found["B.val"], found["C.val"]) == (2, 2, 2)
    assert found.total() < 2 * len(C) * 3 * log2(3000)


@pytest.mark.parametrize("condition", ["A[i] > 0", "A[i] != 0 && B[i] < 5", "0 < min(A[i], 1)"])
def test_a_condition_is_a_factor(condition: str) -> None:
    """A body that a condition guards is visited where the condition is not false by what is fill."""
    A, B = entries([3, 900, HUGE]), entries(range(1, 3001))
    found = counts(total(f"if {condition}\nc[] += B[i]\nend", "SparseList", A=A, B=B))
    assert found["A.val"] == 3
    assert found.total() < 6 * 3 * log2(3000)


@pytest.mark.parametrize("form", ["SparseList", "SparseByteMap", "SparseDict"])
def test_a_product_with_a_dense_vector_costs_the_sparse_one(form: str) -> None:
    """Of a dense vector only the elements are read that the sparse one has."""
    n = 10_000
    text = f"""
        A = Tensor({form}(Element(0.0)))
        x = Tensor(Dense(Element(0.0)))
        c = Tensor(Element(0.0))
        c .= 0
        for i = _
            c[] += A[i] * x[i]
        end
        return c
    """
    found = counts(api.bind(api.parse(text), inputs={"A": entries([5, 7000, n], n), "x": np.ones(n)}))
    assert (found["A.val"], found["x.val"]) == (3, 3)
    assert found.total() < 30


@pytest.mark.parametrize("outer", SEARCHED)
@pytest.mark.parametrize("inner", SEARCHED)
def test_nested_fibers_cost_what_they_store(outer: str, inner: str) -> None:
    """Matrices of 10⁹ × 10⁹: columns and rows that only one of the factors has are passed over."""
    text = f"""
        A = Tensor({outer}({inner}(Element(0.0))))
        B = Tensor({outer}({inner}(Element(0.0))))
        C = Tensor(SparseDict(SparseDict(Element(0.0))))
        C .= 0
        for j = _
            for i = _
                C[i, j] = A[i, j] * B[i, j]
            end
        end
        return C
    """

    def matrix(*at: tuple[int, int]) -> scipy.sparse.coo_array:
        i, j = np.array(at).T - 1
        return scipy.sparse.coo_array((np.ones(len(at)), (i, j)), shape=(HUGE, HUGE))

    columns = [(i, j) for j in range(100, 200) for i in range(1, 5)]
    A = matrix(*columns, (1, HUGE), (HUGE, HUGE))
    B = matrix((3, 150), (HUGE, 150), (2, 201), (HUGE, HUGE))
    bound = api.bind(api.parse(text), inputs={"A": A, "B": B})
    found = counts(bound)
    assert (found["A.val"], found["B.val"], found["C.val"]) == (2, 2, 4)
    assert found.total() < 200
    machine = api.native(bound)
    assert machine.results(machine.run())["C"].nnz == 2


@pytest.mark.parametrize("form", SEARCHED)
@pytest.mark.parametrize("schedule", ["static_schedule()", "dynamic_schedule(64)"])
def test_chunks_seek_to_their_start(form: str, schedule: str) -> None:
    """A task's reads of the list of indices do not grow with the start of its chunk.

    The tasks run one after the other: under the dynamic schedule the first takes all chunks.
    """
    n, threads = 512, 16
    text = f"""
        dev = cpu({threads})
        A = Tensor({form}(Element(0.0)))
        d = Tensor(Dense(Element(0.0)))
        d .= 0
        for i = parallel(_, dev, {schedule})
            d[i] += A[i]
        end
        return d
    """
    bound = api.bind(api.parse(text), inputs={"A": entries(range(1, n + 1), n)})
    machine = api.native(bound)
    found, _ = touches(machine)
    told = Counter(task for task, touch in found if touch.tensor == "A" and touch.buffer in ("idx", "srt"))
    chunks = Counter({task: 1 for task in told} if schedule.startswith("static") else {"1": threads})
    assert told.keys() == chunks.keys()
    for task, count in chunks.items():
        assert told[task] <= count * (n / threads + 2 * log2(n) + 2)


@pytest.mark.parametrize("first, last", [(1, 1), (HUGE, HUGE), (500, 520), (HUGE - 3, HUGE + 2), (-2, 3)])
def test_part_of_a_range_costs_that_part(first: int, last: int) -> None:
    """A loop over a part of an axis seeks; where it leaves the axis nothing is read before the fault."""
    A = entries([*range(1, 3001), HUGE])
    text = f"A = Tensor(SparseList(Element(0.0)))\nc = Tensor(Element(0.0))\nc .= 0\nfor i = {first}:{last}\n"
    bound = api.bind(api.parse(f"{text}c[] += A[i]\nend\nreturn c"), inputs={"A": A})
    found, end = touches(api.native(bound))
    assert len(found) < 5 * 21 + 2 * log2(3000)
    outside = next((i for i in (first, last) if not 1 <= i <= HUGE), None)
    if outside is None:
        assert not isinstance(end, Fault)
    else:
        assert isinstance(end, Fault)
        assert end.message == f"A has the indices 1:{HUGE} on axis 1, got {min(first, 1) if first < 1 else HUGE + 1}"


# ---------------------------------------------------------------------------------------------- beside the rules: P28

ANNIHILATING = ("*", "if ", "min", "max", "&&", "||", "÷", "%")
"""The operators that may make a missing element idle, so that the others need not be looked at."""


def assert_same(bound: Elaborated, seen: Counter[str], plain: bool) -> None:
    """Rules and plan, one task after the other: the same end, cells, and accesses as far as they are to agree.

    A plan may write less to workspaces, of which nothing is left, and add no zeros that it reads there. Workspaces that
    it forgets as it reads them, the rules forget when they declare them anew. Where there are stretches, it may write
    once what the rules write for each index, who then leave a child behind the last run.
    """
    rules, plan = api.semantics(bound), api.native(bound)
    (before, expected), (after, end) = touches(rules), touches(plan)
    seen["runs"] += 1
    if isinstance(expected, Blocked):
        assert isinstance(end, Blocked)
        return
    if isinstance(expected, Fault):
        assert isinstance(end, Fault) and end.message == expected.message
        seen["faults"] += 1
        return
    assert plan.outcome(end) == rules.outcome(expected)
    stretched = any(level.stretch for tower in bound.towers.values() for level in tower.levels)
    for T, left in cells(plan, end).items():
        more = cells(rules, expected)[T]
        assert left == more or (stretched and left.items() <= more.items())
    seen["stretched"] += stretched
    assert stale(before, bound) == stale(after, bound) == []
    lasting = {*bound.outputs, *bound.inputs}
    one, other = (accesses(found, lasting) for found in (before, after))
    writes, fewer = ([each for each in some if each[1] != "read"] for some in (one, other))
    rules_go_on = iter(writes)
    less = stretched or lasting < bound.towers.keys()
    assert fewer == writes or (less and all(each in rules_go_on for each in fewer))
    seen["less is written"] += len(fewer) < len(writes)
    passing = {T for T, tower in bound.towers.items() if tower.rank != 1 or not drains(tower, 2)} - lasting
    by_rules, by_plan = (
        Counter(each for each in accesses(found, passing) if each[1] != "read") for found in (before, after)
    )
    assert by_plan <= by_rules
    if plain:
        assert Counter(other) <= Counter(one)
        seen["plain"] += 1
    seen["same order"] += one == other
    seen["less is read"] += len(other) < len(one)


def cells(machine: Any, state: Any) -> dict[str, dict[str, Any]]:
    """The cells of the outputs; a cell never written holds zero."""
    found = machine.results(state).items()
    return {name: {str(cell): value for cell, value in t.cells.values.items() if value} for name, t in found}


def accesses(found: list[tuple[str, CellAccess]], tensors: Set[str]) -> list[tuple[str, str, int | None, str]]:
    """The accesses to some tensors: the cell, what is done to it, for which level, and by which task."""
    return [(str(at.cell), at.effect, at.level, task) for task, at in found if at.tensor in tensors]


def stale(found: list[tuple[str, CellAccess]], bound: Elaborated) -> list[str]:
    """The cells that are read before they are written though their buffers say that there are none."""
    written: set[Any] = set()
    wrong = []
    for _, at in found:
        tower = bound.towers.get(at.tensor)
        if tower is None or at.level not in tower.depths or at.tensor in bound.inputs:
            continue
        depth = tower.depths[at.level]
        assigned = any(b.name == at.buffer and b.assigned for b in tower.buffers(depth))
        if assigned and not (depth and tower.levels[depth - 1].zeros):
            if at.effect == "read" and at.cell not in written:
                wrong.append(str(at.cell))
            written.add(at.cell)
    return wrong


RANDOM = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def test_sparse_iteration_does_what_visiting_every_index_does() -> None:
    """P28: the plan makes the same writes in the same order as the rules, some of them once, and leaves the same cells.

    Random kernels on random inputs, each device with one thread. Without operators that annihilate it reads nothing
    that the rules do not read, and mostly the same; otherwise it searches, and reads indices that the rules pass by.
    """
    seen: Counter[str] = Counter()

    @settings(RANDOM, max_examples=many(250))
    @given(cases(kernels()))
    def compare(case: Any) -> None:
        bound = api.bind(case.program, inputs=case.inputs, threads=1)
        assert_same(bound, seen, not any(op in str(case.program) for op in ANNIHILATING))

    compare()
    assert seen["plain"] > due(20) and seen["same order"] > due(60) and seen["less is read"] >= due(1), seen
    assert seen["stretched"] > due(40), seen


def test_plans_of_random_programs_do_what_the_rules_do() -> None:
    """P28: the same of programs with literal data, phases, variables, conditions, subscripts and workspaces."""
    seen: Counter[str] = Counter()

    @settings(RANDOM, max_examples=many(60))
    @given(programs(Options(depth=2, statements=2)))
    def compare(text: str) -> None:
        assert_same(api.bind(api.parse(text), threads=1), seen, False)

    compare()
    assert seen["same order"] > due(20) and seen["faults"] >= due(1), seen


VALUES = st.lists(st.sampled_from([0, 0, 1, -1]), min_size=3, max_size=3)

CANCELLED = [
    *(f"for j = 1:3\nd[4 - j] += {e}\nend" for e in ("A[1] - B[1]", "A[j] - B[1]", "(A[1] + B[2]) * A[j]", "A[1] + 0")),
    "for j = 2:2\nd[j] += A[j] - B[j]\nend",
    "d[2] = max(A[1], B[3])",
]
"""Updates that come to nothing where elements are missing, as is found while the program runs."""


@pytest.mark.parametrize("update", CANCELLED)
def test_what_cancels_an_update_is_known_before_it_begins(update: str) -> None:
    """Fibers that are read come first: a list is not appended to, and no element is made, for an update of nothing.

    Of a list that is appended to from the last index to the first only one index may be written.
    """

    @settings(RANDOM, max_examples=max(5, many(20)))
    @given(VALUES, VALUES, st.sampled_from(["SparseList", "SparseDict", "Dense"]))
    def compare(A: list[int], B: list[int], form: str) -> None:
        head = [f"A = Tensor(SparseList(Element(0)), {A})", f"B = Tensor(SparseDict(Element(0)), {B})"]
        text = "\n".join((*head, f"d = Tensor({form}(Element(0)), 3)", "d .= 0", update, "return d"))
        assert_same(api.bind(api.parse(text)), Counter(), False)

    compare()
