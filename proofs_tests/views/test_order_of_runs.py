"""The happens-before order of a run."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings

from proofs_tests.effort import many
from proofs_tests.views.runs import report_on, runs
from wingspan import api
from wingspan.views.order import OrderPoint, edges, points
from wingspan.views.view import ReplayReport

usual = settings(derandomize=True, deadline=None, max_examples=many(60))

LOOPS = """\
a = Tensor(Dense(Element(0)), 2)
c = Tensor(Dense(Element(0)), 2)
a .= 0
for i = parallel(1:2)
    a[i] += i
end
c .= 0
for i = parallel(1:2)
    c[i] += a[1]
end
"""


@pytest.mark.parametrize("machine", api.MACHINES)
def test_tasks_of_two_loops_in_a_row_are_forked_and_joined_twice(machine: str) -> None:
    run = points(report_on(api.parse(LOOPS), machine, "2*2"))
    kinds = [(point.kind, point.task, point.tasks) for point in run if point.kind != "step"]
    assert kinds == [("fork", "0", ("1", "2")), ("join", "0", ("1", "2"))] * 2


NESTED = """\
outer = cpu(:o, 2)
inner = cpu(:i, 2)
c = Tensor(Dense(Element(0)), 2)
c .= 0
for j = parallel(1:3, outer)
    for i = parallel(1:2, inner)
        c[i] += j
    end
end
"""


@pytest.mark.parametrize("machine", api.MACHINES)
@pytest.mark.parametrize("interleaving", ["-", "1.1,2.1,1.2,2.2*3,1.1,2.1", "2.2,2.1,1.2"])
def test_nested_tasks_are_joined_before_those_that_started_them(machine: str, interleaving: str) -> None:
    """Task 2 has two iterations of the outer loop, and forks in each."""
    run = list(points(report_on(api.parse(NESTED), machine, interleaving)))
    under_way: list[str] = []
    for point in run:
        if point.kind == "fork":
            assert point.task == "0" or point.task in under_way
            under_way += point.tasks
        elif point.kind == "join":
            under_way = [task for task in under_way if task not in point.tasks]
            assert not any(task.startswith(f"{child}.") for task in under_way for child in point.tasks)
        else:
            assert point.task in under_way
    assert not under_way
    forks = [(point.task, point.tasks) for point in run if point.kind == "fork"]
    assert sorted(forks) == [("0", ("1", "2")), ("1", ("1.1", "1.2")), *[("2", ("2.1", "2.2"))] * 2]


@given(runs())
@usual
def test_steps_are_ordered_exactly_by_task_conflicts_and_joins(report: ReplayReport) -> None:
    """The closure of the edges is that of the definition, and no edge for a conflict follows from the others."""
    run = list(points(report))
    before = closure(len(run), {(edge.first, edge.second) for edge in edges(run)})
    steps = [number for number, point in enumerate(run) if point.kind == "step"]
    wanted = closure(len(run), {(a, b) for a, b in combinations(steps, 2) if ordered(run[a], run[b])})
    assert {pair for pair in before if set(pair) <= set(steps)} == wanted
    for edge in edges(run):
        if edge.cells:
            others = {(e.first, e.second) for e in edges(run)} - {(edge.first, edge.second)}
            assert (edge.first, edge.second) not in closure(len(run), others)


def ordered(a: OrderPoint, b: OrderPoint) -> bool:
    """Whether a step comes before a later one by definition: one task, the root after all, or a conflict."""
    assert a.action and b.action
    conflict = any(x.conflicts(y) for x in a.action.touches for y in b.action.touches)
    return conflict or a.task == b.task or b.task == "0"


def closure(size: int, pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Warshall 1962; the pairs go upwards."""
    reach = [[(a, b) in pairs for b in range(size)] for a in range(size)]
    for k in range(size):
        for a in range(k):
            if reach[a][k]:
                reach[a] = [x or y for x, y in zip(reach[a], reach[k], strict=True)]
    return {(a, b) for a in range(size) for b in range(size) if reach[a][b]}
