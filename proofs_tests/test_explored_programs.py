"""Random parallel programs, explored: what is called safe is the serial meaning, and no finding hides."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings

from proofs_tests.programs import Options, programs
from proofs_tests.test_visibility import Everything, findings
from wingspan import api
from wingspan.errors import WingspanError
from wingspan.explorer.graph import explore_graph

SMALL = Options(levels=("Dense", "SparseByteMap", "SparseList"), depth=2, statements=2, extent=2)


def test_one_result_is_the_serial_meaning() -> None:
    """Free of races and faults, and one result: then it is that of the reference, on each of 250 programs."""
    seen: Counter[str] = Counter()

    @settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs())
    def explore(text: str) -> None:
        try:
            found = api.explore(api.parse(text), threads=2, max_states=600)
        except WingspanError:
            seen["mistake"] += 1
            return
        seen[found.verdict.verdict] += 1
        assert found.verdict.verdict != "wrong", text
        if found.verdict.verdict == "safe" and found.expected is not None:
            seen["compared"] += 1
            assert [result.outcome for result in found.verdict.results] == [found.expected]

    explore()
    assert seen["compared"] > 100
    assert seen["mistake"] + seen["incomplete"] < 50


def test_invisible_steps_change_no_finding_of_random_programs() -> None:
    """As in test_visibility, on every random program whose full graph is small; some of them race, some fault."""
    seen: Counter[str] = Counter()

    @settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs(SMALL))
    def explore(text: str) -> None:
        try:
            bound = api.bind(api.parse(text), threads=2)
        except WingspanError:
            return
        every = explore_graph(Everything(bound.body, bound.towers, bound.inputs, bound.outputs), max_states=2500)
        if not every.complete:
            return
        eager = explore_graph(api.semantics(bound))
        seen[eager.verdict] += 1
        assert findings(eager) == findings(every), text

    explore()
    assert seen["safe"] > 20
    assert seen["race"] + seen["fault"] > 5
