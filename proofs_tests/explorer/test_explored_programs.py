"""Random parallel programs, explored: what is called safe is the sequential result, and no finding hides."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import due, many
from proofs_tests.explorer.test_visibility import Everything, findings
from proofs_tests.exploring import Watched, broken_by_freezing, explore_graph, foldable
from wingspan import api
from wingspan.api import machines
from wingspan.base.errors import WingspanError
from wingspan.elaborate import Elaborated
from wingspan.explorer.machine import Step
from wingspan.explorer.verdict import Verdict
from wingspan.semantics.config import ProgramState
from wingspan.semantics.machine import Semantics
from wingspan.testing.programs import Options, programs
from wingspan.testing.templates import meetings

SMALL = Options(levels=("Dense", "SparseByteMap", "SparseList", "SparseDict"), depth=2, statements=2, extent=2)
EXAMPLES = max(14, many(400))


def test_one_result_is_the_sequential_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """P12, P23: free of races, faults and deadlocks, and one result: then it is that of the reference.

    On each of 400 programs; `wrong` is only what a Merge over another fill value or operator than it asks for gives.
    Without a race, every freeze of every interleaving leaves cells that keep the invariants.
    """
    seen: Counter[str] = Counter()
    broken: list[str] = []

    def look(machine: Semantics, before: ProgramState, step: Step[ProgramState], after: ProgramState) -> None:
        broken.extend(broken_by_freezing(machine, before, step, after))

    monkeypatch.setattr(machines, "semantics", lambda program, **options: Watched(program, look))

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs())
    def explore(text: str) -> None:
        broken.clear()
        try:
            bound = api.bind(api.parse(text), threads=2)
        except WingspanError:
            seen["mistake"] += 1
            return
        found = api.explore(bound, max_states=200)
        seen[found.verdict.verdict] += 1
        merges = "Merge(" in text
        assert found.verdict.verdict != "wrong" or (merges and not foldable(bound)), text
        assert broken == [] or found.verdict.races, text
        if found.verdict.verdict == "safe" and found.expected is not None:
            seen["compared"] += 1
            seen["compared with a merge"] += merges
            assert [result.outcome for result in found.verdict.results] == [found.expected]

    explore()
    assert seen["compared"] > EXAMPLES / 2.5, seen
    assert seen["compared with a merge"] > EXAMPLES / 10, seen
    assert seen["mistake"] + seen["incomplete"] < EXAMPLES / 5, seen


def unreduced(bound: Elaborated, max_states: int) -> Verdict | None:
    """The verdict with every step of every task interleaved; None if there are too many states."""
    every = explore_graph(Everything(bound.body, bound.towers, bound.inputs, bound.outputs), max_states=max_states)
    return every if every.complete else None


@pytest.mark.parametrize(
    ("texts", "examples", "least"),
    [(programs(SMALL), 30, {"safe": 10}), (meetings(), 160, {"safe": 20, "race": 30, "fault": 5})],
    ids=["programs", "meetings"],
)
def test_invisible_steps_change_no_finding_of_random_programs(
    texts: st.SearchStrategy[str], examples: int, least: dict[str, int]
) -> None:
    """As in test_visibility, on every random program whose full graph is small; many race or fault."""
    seen: Counter[str] = Counter()

    @settings(max_examples=many(examples), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(texts)
    def explore(text: str) -> None:
        try:
            bound = api.bind(api.parse(text), threads=None if "far" in text else 2)
        except WingspanError:
            return
        eager = explore_graph(api.semantics(bound), max_states=400)
        every = unreduced(bound, 2500) if eager.complete else None
        if every is not None:
            seen[eager.verdict] += 1
            assert findings(eager) == findings(every), text

    explore()
    assert all(seen[verdict] >= due(number) for verdict, number in least.items()), seen
