"""The passes change no result: a plan computes the same before and after each, and exploring it finds the same.

Random programs run on the register machine, as they are lowered and after each pass; small ones are explored, racy
ones too, but for the passes that trust tasks not to race.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests import sanitized
from proofs_tests.effort import due, few, many
from proofs_tests.exploring import explore_graph
from proofs_tests.native.test_native_machine import findings
from wingspan import api
from wingspan.api.checking import RACELESS
from wingspan.base.errors import WingspanError
from wingspan.dependence import check
from wingspan.elaborate import Elaborated
from wingspan.explorer.verdict import Verdict
from wingspan.native.assemble import assemble
from wingspan.native.engine import NativeEngine
from wingspan.native.machine import Native
from wingspan.plan.ir import Const, Plan, walk
from wingspan.plan.kernels import Intersection, UnionBlocks
from wingspan.plan.passes import union
from wingspan.plan.pipeline import FOR_C, PASSES, for_c, lower, stages
from wingspan.runtime.lease import Limits
from wingspan.testing import campaign, compare, meetings, safe_programs
from wingspan.testing.programs import Options

NAMES = tuple(change.__name__ for change in (*PASSES, *FOR_C))
LIMITS = Limits(reservation=2**26)


@pytest.fixture(autouse=True)
def unions_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lists are gone through as one where they have an entry: random programs are small."""
    monkeypatch.setattr(union, "LEAST", Const(1))


class Staged:
    """Programs on the register machine, each as its plan is after all stages of a kind, which share what is made."""

    def __init__(self) -> None:
        self._program: Elaborated | None = None
        self._engines: dict[str, NativeEngine] = {}
        self._results: dict[int, Mapping[str, Any]] = {}
        self.changed: Counter[str] = Counter()
        """the number of plans that each pass has changed"""

    def engine(self, program: Elaborated, name: str) -> NativeEngine:
        """The engine for the plan after a stage."""
        if self._program is None or self._program.body is not program.body:
            made = {stage.name: stage.plan for stage in stages(program)}
            changed = changing(made)
            self._engines = {}
            for stage, plan in made.items():
                if stage in changed or not self._engines:
                    engine = NativeEngine(assemble(plan))
                self._engines[stage] = engine
            self.changed.update(changed)
        return self._engines[name]

    def run(self, program: Elaborated, name: str) -> Mapping[str, Any]:
        """The results of the plan after a stage; it runs once if the next stages leave it as it is."""
        engine = self.engine(program, name)
        if self._program is not program:
            self._program, self._results = program, {}
        if id(engine) not in self._results:
            given = [engine.inputs.from_tensor(T, tensor) for T, tensor in program.inputs.items()]
            made = engine.run(given, limits=LIMITS)
            self._results[id(engine)] = {**made.tensors(program.towers), **made.variables}
        return self._results[id(engine)]


def changing(made: Mapping[str, Plan]) -> list[str]:
    """The stages that change the plan that they get."""
    pairs = zip(made.items(), list(made.items())[1:], strict=False)
    return [name for (_, before), (name, after) in pairs if before != after]


def alike(bound: Elaborated, max_states: int = 1000) -> dict[str, Verdict]:
    """The verdicts on a draft and on the plan after each pass that changes it, by name; none if there are more states.

    They have the same results, races, faults and deadlocks, each race by the same rules at the same places.
    """
    made = {stage.name: stage.plan for stage in stages(bound, dealt=False)}
    first = explore_graph(Native(assemble(made["draft"]), bound), max_states=max_states)
    if not first.complete:
        return {}
    if check(bound).verdict not in RACELESS:
        for change in FOR_C:
            del made[change.__name__]
    after = {name: explore_graph(Native(assemble(made[name]), bound)) for name in changing(made)}
    for name, verdict in after.items():
        assert findings(verdict) == findings(first), name
    return {"draft": first, **after}


class Stage:
    """The engine for one of them."""

    nonfinite = True

    def __init__(self, staged: Staged, name: str) -> None:
        self.staged, self.name = staged, name

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        return self.staged.run(program, self.name)


@pytest.mark.parametrize("part", few(range(2), 1))
def test_no_pass_changes_what_a_random_program_computes(part: int) -> None:
    """On 1 to 4 threads, under static and dynamic schedules."""
    staged = Staged()
    engines = [Stage(staged, name) for name in NAMES]
    done = campaign(
        ["reference", Stage(staged, "draft")], engines, examples=many(160), inputs=4, first_seed=50_000 + part
    )
    assert done.texts >= due(75) and done.cases >= due(250), done
    assert all(staged.changed[name] >= max(1, due(5)) for name in ("copy_propagation", "dead_code")), staged.changed
    assert staged.changed["hoist"] >= due(5), staged.changed  # of twenty programs, it may change none


def staged_alike(names: Iterable[str]) -> Staged:
    """Run examples on 4 threads, after each pass, which must not change what they compute."""
    staged = Staged()
    engines = [Stage(staged, name) for name in ("draft", *NAMES)]
    for name in names:
        *_, (_, binding) = sanitized.bindings(name)
        found = compare(api.bind(sanitized.EXAMPLES / f"{name}.ws", **binding), engines)
        assert found.difference is None, (name, found.difference)
    return staged


def test_no_pass_changes_what_the_examples_compute() -> None:
    """Each pass changes the plan of one at least."""
    staged = staged_alike(name for name in sanitized.SAFE if name != "histogram")
    assert staged.changed.keys() == set(NAMES), staged.changed


@pytest.mark.deep
def test_no_pass_changes_what_the_largest_example_computes() -> None:
    staged_alike(["histogram"])


COLUMNS = """
A = Tensor(Dense(SparseList(Element(0))), [0 2; 3 1])
y = Tensor(Dense(Element(0)), 2)
y .= 0
for j = parallel(1:2, cpu(2))
    for i = _
        y[PLACE] += A[i, j]
    end
end
return y
"""


@pytest.mark.parametrize(("place", "verdict"), [("j", "safe"), ("i", "race")])
def test_rotating_a_loop_changes_nothing_that_exploring_it_finds(place: str, verdict: str) -> None:
    """Random programs that are small enough to explore have no such loop."""
    bound = api.bind(api.parse(COLUMNS.replace("PLACE", place)))
    assert "loop_rotation" in (found := alike(bound)) and found["draft"].verdict == verdict


PAIRS = """
A = Tensor(Dense(SparseList(Element(0))), [0 2; 3 1; 0 4])
B = Tensor(Dense(SparseList(Element(0))), [5 0; 6 1; 7 1])
y = Tensor(Dense(Element(0)), 2)
y .= 0
for j = parallel(1:2, cpu(2))
    for i = _
        y[j] += A[i, j] * B[i, j]
    end
end
return y
"""
UNION = """
dev = cpu(:t, 2)
A = Tensor(Dense(SparseList(Element(0))), [0 2; 3 1; 0 4])
B = Tensor(Dense(SparseList(Element(0))), [5 0; 6 1; 7 1])
C = Tensor(Dense(Shard(dev, SparseList(Element(0)))), 3, 2)
C .= 0
for j = parallel(1:2, dev)
    for i = _
        C[i, j] = A[i, j] + B[i, j]
    end
end
return C
"""


@pytest.mark.parametrize(("name", "text"), [("copy_propagation", PAIRS), ("union", UNION)])
def test_going_through_two_lists_changes_nothing_that_exploring_finds(name: str, text: str) -> None:
    """The plan for C is one that is explored, too: with plain statements for what C has code of its own for."""
    bound = api.bind(api.parse(text))
    assert any(isinstance(s, Intersection | UnionBlocks) for s in walk(for_c(lower(bound)).body))
    found = alike(bound)
    assert found[name].verdict == "safe" and found[name].complete


SHORT = """
A = Tensor(Dense(SparseList(Element(0.0))), [0 2; 3 1])
C = Tensor(Dense(Shard(dev, SparseList(Element(0.0)))))
w = Tensor(SparseByteMap(Element(0.0)))
dev = cpu(:t, 2)
C .= 0
for j = parallel(1:2, dev)
    w .= 0
    for k = _
        for i = _
            w[i] += A[i, k] * A[k, j]
        end
    end
    for i = _
        C[i, j] = w[i]
    end
end
return C
"""


def test_listing_terms_and_indices_changes_nothing_that_exploring_finds() -> None:
    found = alike(api.bind(api.parse(SHORT)))
    assert all(found[name].verdict == "safe" and found[name].complete for name in ("small_workspaces", "scan_bitmap"))


SMALL = Options(spawning=1, modified=3, statements=2, depth=2, extent=2)


@pytest.mark.parametrize(
    ("texts", "examples", "others"),
    [(meetings(), 640, ("race", "fault")), (safe_programs(SMALL), 320, ())],
    ids=["two tasks that meet", "safe"],
)
def test_no_pass_changes_what_exploring_a_random_program_finds(
    texts: st.SearchStrategy[str], examples: int, others: Sequence[str]
) -> None:
    """Hundreds of programs whose draft has at most 1,000 states."""
    seen: Counter[str] = Counter()

    @settings(max_examples=many(examples), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(texts)
    def explore(text: str) -> None:
        with suppress(WingspanError):
            found = alike(api.bind(api.parse(text), threads=2))
            seen.update([*found, *(verdict.verdict for verdict in found.values())])

    explore()
    assert all(seen[name] >= due(10) for name in ("copy_propagation", "dead_code", "safe", *others)), seen
