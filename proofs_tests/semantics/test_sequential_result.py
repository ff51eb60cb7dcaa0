"""Without concurrency the rules mean what the reference means: random programs, every device with one thread."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from proofs_tests.effort import many
from proofs_tests.exploring import Watched, broken_by_freezing, foldable
from wingspan import api
from wingspan.api import running
from wingspan.base.errors import Fault
from wingspan.elaborate import Elaborated
from wingspan.explorer.machine import Step
from wingspan.results.outcome import Outcome
from wingspan.semantics.config import ProgramState
from wingspan.semantics.machine import Semantics
from wingspan.testing.programs import Options, programs

EXAMPLES = max(24, many(1500))

DENSE = Options(levels=("Dense",), modifiers=())
"""Levels that can be updated in any order, so that nothing is refused."""

REFUSALS = (
    "appended in ascending order",
    "is visited while a visit",
    "outside of a task of the device",
    "belongs to thread",
    "waits for the lock",
)
"""Faults of levels that are ordered, gated or guarded; the reference knows no levels."""


def result(program: Elaborated, engine: str) -> Outcome | Fault:
    """An engine's result, or its fault."""
    try:
        run = api.run(program, engine=engine)
    except Fault as fault:
        return fault
    return Outcome.from_arrays({name: tensor.to_exact() for name, tensor in run.tensors.items()}, run.variables)


def compare(text: str, counts: Counter[str]) -> None:
    """Both engines give one result; a level may refuse, and what is never needed may fault in the reference only.

    Where the fill value of a merged tensor is not neutral to its operator, the results may differ.
    """
    program = api.bind(api.parse(text), threads=1)
    expected, found = result(program, "reference"), result(program, "semantics")
    if isinstance(expected, Fault):
        counts["fault" if isinstance(found, Fault) else "fault of the reference only"] += 1
    elif isinstance(found, Fault):
        assert any(why in found.message for why in REFUSALS), f"{text}\n{found.render()}"
        counts["refused"] += 1
    elif foldable(program):
        assert found == expected, f"{text}\n{found.values()}\n{expected.values()}"
        counts["same"] += 1
        counts["same with a merge"] += "Merge(" in text
    else:
        counts["same, not foldable" if found == expected else "folded otherwise"] += 1


def test_serial_runs_compute_what_the_reference_computes(monkeypatch):
    """P23, P28: tensors and variables of the outermost scope, with their types; frozen cells keep their invariants.

    At least 1,500 random programs, formats and inputs; at most a quarter is refused by a level.
    """
    counts: Counter[str] = Counter()
    broken: list[str] = []

    def look(machine: Semantics, before: ProgramState, step: Step[ProgramState], after: ProgramState) -> None:
        broken.extend(broken_by_freezing(machine, before, step, after))

    monkeypatch.setattr(running, "semantics", lambda program: Watched(program, look))

    @settings(derandomize=True, deadline=None, max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(programs())
    def check(text: str) -> None:
        compare(text, counts)
        assert broken == [], text

    check()
    assert counts.total() >= EXAMPLES
    assert counts["refused"] <= EXAMPLES / 4, counts
    assert counts["fault"] + counts["fault of the reference only"] <= EXAMPLES / 50, counts
    assert counts["same with a merge"] >= EXAMPLES / 4, counts
    assert counts["folded otherwise"] <= EXAMPLES / 20, counts


def test_dense_levels_refuse_nothing():
    counts: Counter[str] = Counter()

    @settings(derandomize=True, deadline=None, max_examples=many(150), suppress_health_check=list(HealthCheck))
    @given(programs(DENSE))
    def check(text: str) -> None:
        compare(text, counts)

    check()
    assert counts["refused"] == 0, counts


@pytest.mark.parametrize(
    "value, expected",
    [
        ("v[1] * 1.0", 1.0),
        ("0.0 + v[1]", 1.0),
        ("v[1] - 0.0", 1.0),
        ("0 * u[1]", 0.0),
        ("0 * v[1]", 0),
        ("1 * v[1]", 1),
    ],
)
def test_identities_keep_the_type_of_a_variable(value, expected):
    program = api.parse(f"v = Tensor(Dense(Element(0)), [1]); u = Tensor(Dense(Element(0.0)), [2.0])\nx = {value}")
    found = result(api.bind(program), "semantics")
    assert found == result(api.bind(program), "reference") == Outcome.from_arrays({}, {"x": expected})


CORNERS = {
    "two visits of one ordered fiber overlap": """
        C = Tensor(SparseList(Element(0)), 2)
        C .= 0
        for i = 2:2
            C[i] = 1
            C[1] = 5
        end
        return C
    """,
    "a condition keeps the index inside of the axis": """
        c = Tensor(Dense(Element(0)), 3)
        c .= 0
        for i = 1:4
            if i <= 3
                c[i] += 1
            end
        end
        return c
    """,
}


@pytest.mark.parametrize("name", CORNERS)
def test_both_engines_agree_or_a_level_refuses(name):
    program = api.bind(api.parse(CORNERS[name]), threads=1)
    expected, found = result(program, "reference"), result(program, "semantics")
    refused = isinstance(found, Fault) and any(why in found.message for why in REFUSALS)
    both = isinstance(found, Fault) and isinstance(expected, Fault)
    assert refused or both or found == expected
