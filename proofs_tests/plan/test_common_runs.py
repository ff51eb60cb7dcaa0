"""Loops over the runs of two lists: which are left to C, and that the statement does what the loop does."""

from __future__ import annotations

import numpy as np
import pytest

from proofs_tests.plan.test_looplets import touches
from wingspan import api
from wingspan.elaborate import Elaborated
from wingspan.native.assemble import assemble
from wingspan.native.machine import Native
from wingspan.plan.ir import Plan, walk
from wingspan.plan.kernels import CommonRuns
from wingspan.plan.pipeline import for_c, lower
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
PLANES = {"A": np.array([2, 2, 3, 3, 3, 0, 7, 7, 3, 0]), "B": np.array([1, 1, 0, 6, 6, 0, 4, 4, 8, 8])}


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
    """The register machine runs the plan for C, and leaves the same cells: as many runs, with the same ends.

    Common runs follow one that is not, begin within one, make one run of the result with the one before, and go on
    beyond the last index of the loop.
    """
    program = SUM.format(RUNS, RUNS, RUNS, value).replace("    C[i]", f"    if i <= {last}\n        C[i]")
    whole = api.bind(api.parse(program), inputs=PLANES)
    made = for_c(lower(whole, dealt=False))
    assert len(common_runs(made)) == 1
    machines = api.native(whole), Native(assemble(made), whole)
    outcomes = [{str(cell): v for cell, v in result(machine).cells.values.items() if v} for machine in machines]
    used = {cell: v for cell, v in outcomes[1].items() if cell in outcomes[0]}
    assert used == outcomes[0]


def result(machine: Native) -> Tensor:
    """The final C."""
    _, state = touches(machine)
    return machine.results(state)["C"]
