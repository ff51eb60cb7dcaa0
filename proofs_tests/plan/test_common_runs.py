"""Loops over the runs of two lists: which are left to C, and that the statement does what the loop does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from proofs_tests.plan.test_looplets import touches
from wingspan import api
from wingspan.elaborate import Elaborated
from wingspan.levels.element import Element
from wingspan.levels.sparse_run_list import SparseRunList
from wingspan.native.assemble import assemble
from wingspan.native.machine import Native
from wingspan.plan.ir import Plan, Stmt, walk
from wingspan.plan.kernels import CommonRuns
from wingspan.plan.pipeline import for_c, lower
from wingspan.plan.uses import with_blocks
from wingspan.tensors.tensor import Tensor

RUNS, ALL, LISTS = "SparseRunList(Element(0))", "RunList(Element(0))", "SparseList(Element(0))"
SUM = """
A = Tensor({0})
B = Tensor({1})
C = Tensor({2})
C .= 0
for i = _
    C[i] = {3}
return C
"""
PLANES = {"A": np.array([2, 2, 3, 3, 3, 0, 5, 5, 1, 0]), "B": np.array([1, 1, 0, 6, 6, 0, 4, 4, 8, 8])}


def bound(*parts: str) -> Elaborated:
    return api.bind(api.parse(SUM.format(*parts)), inputs=PLANES)


def common_runs(made: Plan) -> list[CommonRuns]:
    return [s for s in walk(made.body) if isinstance(s, CommonRuns)]


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ((RUNS, RUNS, RUNS, "A[i] + B[i]"), 1),
        ((RUNS, RUNS, RUNS, "max(A[i], 2 * B[i]) + 1"), 0),  # not 0 where neither has a run
        ((RUNS, RUNS, RUNS, "max(2 * A[i], B[i])"), 1),
        ((RUNS, RUNS, RUNS, "A[i] * B[i]"), 0),
        ((RUNS, RUNS, RUNS, "A[i] + i * B[i]"), 0),
        ((RUNS, RUNS, RUNS, "A[i] / 2 + B[i]"), 1),
        ((RUNS, LISTS, RUNS, "A[i] + B[i]"), 0),
        ((RUNS, RUNS, LISTS, "A[i] + B[i]"), 0),
        ((RUNS, ALL, RUNS, "A[i] + B[i]"), 0),
        ((RUNS, RUNS, "Dense(Element(0))", "A[i] + B[i]"), 0),
    ],
)
def test_sums_of_runs_are_left_to_c(parts: tuple[str, ...], count: int) -> None:
    """The lists and the result have runs, and what is done for one depends on elements alone."""
    assert len(common_runs(for_c(lower(bound(*parts))))) == count


@pytest.mark.parametrize("last", [2, 4, 5, 8, 10])
@pytest.mark.parametrize("value", ["A[i] + B[i]", "A[i] - B[i]", "max(A[i], 2 * B[i])"])
def test_run_by_run_the_statement_does_what_the_loop_does(value: str, last: int) -> None:
    """The register machine leaves the same cells without it: as many runs, with the same ends.

    Common runs follow one that is not, begin within one, make one run of the result with the one before, are equal to
    it and apart, and go on beyond the last index of the loop.
    """
    program = SUM.format(RUNS, RUNS, RUNS, value).replace("    C[i]", f"    if i <= {last}\n        C[i]")
    whole = api.bind(api.parse(program), inputs=PLANES)
    made = lower(whole, dealt=False)
    assert len(common_runs(made)) == 1
    outcomes = [
        {str(cell): v for cell, v in result(each, whole).cells.values.items() if v}
        for each in (replace(made, body=loops(made.body)), made)
    ]
    used = {cell: v for cell, v in outcomes[1].items() if cell in outcomes[0]}
    assert used == outcomes[0]


def loops(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A block with loops alone."""
    return tuple(with_blocks(s, loops) for s in body if not isinstance(s, CommonRuns))


def result(made: Plan, whole: Elaborated) -> Tensor:
    """The final C."""
    machine = Native(assemble(made), whole)
    _, state = touches(machine)
    return machine.results(state)["C"]


def test_registers_of_the_statement_are_those_of_no_level_and_no_other_statement() -> None:
    """A machine has one type for each register: of doubles here, then of integers, beside those of merging copies."""
    text = """
        dev = cpu(:t, 2)
        A = Tensor(Dense(SparseRunList(Element(0.0))), [1 2; 1 2; 3 4])
        B = Tensor(Dense(SparseRunList(Element(0))), [1 2; 1 2; 3 4])
        E = Tensor(Dense(SparseRunList(Element(0))), [5 0; 1 2; 3 4])
        C = Tensor(Merge(dev, Dense(SparseRunList(Element(0.0)))))
        D = Tensor(Dense(SparseRunList(Element(0))))
        C .= 0.0
        D .= 0
        for j = parallel(_, dev), i = _
            C[i, j] += A[i, j] + B[i, j]
        for j = _, i = _
            D[i, j] = B[i, j] + max(B[i, j], E[i, j])
        return C, D
    """
    found = api.run(api.parse(text), engine="native").tensors
    assert found["C"].to_numpy().tolist() == [[2.0, 4.0], [2.0, 4.0], [6.0, 8.0]]
    assert found["D"].to_numpy().tolist() == [[6, 4], [2, 4], [6, 8]]


def test_runs_are_left_to_c_where_extents_are_open() -> None:
    """There is room for what it stores, since a loop that goes on through common runs asks for it beforehand."""
    text = SUM.format(RUNS, RUNS, RUNS, "A[i] + B[i]")
    assert len(common_runs(for_c(lower(api.bind(api.parse(text), symbolic=True))))) == 1


def test_runs_in_columns_that_may_be_missing_are_left_to_c() -> None:
    """The fibers of both are there where they have a run in common."""
    text = SUM.format(*[f"SparseList({RUNS})"] * 3, "A[i, j] + B[i, j]").replace("for i = _", "for j = _, i = _")
    planes = {name: np.stack([x, 0 * x], axis=1) for name, x in PLANES.items()}
    made = lower(api.bind(api.parse(text.replace("C[i]", "C[i, j]")), inputs=planes))
    assert len(common_runs(for_c(made))) == 1


def test_a_level_derived_from_one_of_runs_may_append_otherwise() -> None:
    class OwnRuns(SparseRunList):
        pass

    leaf = Element(0)
    assert SparseRunList(leaf).run_ends is not None and OwnRuns(leaf).run_ends is None
