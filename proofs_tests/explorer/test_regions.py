"""Programs with several parallel regions: no strategy on any machine misses where one ends and the next one begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.effort import due, few, many
from proofs_tests.explorer.test_litmus import Draw, litmus
from proofs_tests.explorer.test_strategies import findings
from proofs_tests.exploring import configs, explore_by, explore_dpor, explore_graph, machine_of
from proofs_tests.native import test_native_machine
from proofs_tests.program_templates import regions
from proofs_tests.several import FORK, same
from wingspan import api
from wingspan.base.errors import Fault
from wingspan.explorer import Machine, Search, Step, Verdict, explore, search
from wingspan.lang import ir
from wingspan.native import machine as native
from wingspan.semantics.config import Context, Hole, Then
from wingspan.semantics.config import ProgramState as SemanticsState
from wingspan.testing.formats import MODIFIERS, STORAGE
from wingspan.testing.litmus import Litmus

CLOSING = """
dev = cpu(:dev, 2)
C = Tensor(Dense(Mutex(Merge(dev, Element(0)))), 2)
x = Tensor(Dense(Element(0)), 1)
C .= 0
x .= 0
for i = 1:2
    for j = parallel(1:2, dev)
        x[1] += 1
        C[1] += 2
    end
end
return C, x
"""
"""The commit of a task's copy, at its end, is invisible to other tasks."""

FOLLOWING = """
dev = cpu(:dev, 2)
y = Tensor(Dense(Atomic(0)), 1)
z = Tensor(Dense(Atomic(0)), 1)
w = Tensor(Element(0))
y .= 0
z .= 0
for k = parallel(1:2, dev)
    y[1] = k
    w .= 0
end
for k = parallel(1:2, dev)
    z[1] = k
    w .= 0
end
return y, z
"""
"""In each region the last of two tasks wins; tasks end with what nobody can observe."""

NESTED = """
dev = cpu(:dev, 2)
far = cpu(:far, 2, dev)
x = Tensor(Dense(Atomic(0)), 2)
y = Tensor(Dense(Atomic(0)), 2)
w = Tensor(Element(0))
x .= 0
y .= 0
for k = parallel(1:2, dev)
    for l = parallel(1:2, far)
        x[k] += 1
        w .= 0
    end
    for l = parallel(1:2, far)
        y[k] += 1
        x[k] += 1
        w .= 0
    end
end
for k = parallel(1:2, dev)
    y[1] += 1
    x[1] += 1
end
return x, y
"""

FIXED = {"closing": CLOSING, "following": FOLLOWING, "nested": NESTED}


# ------------------------------------------------------------------------------------------- what machines must keep to


def spine(E: Context) -> list[Hashable]:
    """The rest of a task's statements, whatever is in its stores."""
    found: list[Hashable] = []
    while E is not None:
        found.append(E.rest if isinstance(E, Then) else (E.node, E.k) if isinstance(E, Hole) else "scope")
        E = E.E
    return found


def standing(machine: Machine[Any], state: Any) -> dict[str, Hashable]:
    """The position of each task, by its path, also of those that wait or have ended."""
    found: dict[str, Hashable] = {}
    if isinstance(machine, Litmus):
        return dict(zip(machine.paths, state.threads, strict=True))

    def tree(path: str, task: native.Running) -> None:
        found[path] = task._replace(children=())
        for q, child in enumerate(task.children, start=1):
            tree(f"{path}.{q}" if path else str(q), child)

    def contexts(path: str, state: SemanticsState) -> None:
        config = configs(state, path)[0]
        spawned = config.s.contexts if isinstance(config.s, ir.Par) else ()
        found[path] = (len(spawned) or config.s, *spine(config.E))
        for q in range(1, len(spawned) + 1):
            contexts(f"{path}.{q}" if path else str(q), state)

    if isinstance(state, native.NativeState):
        tree("", state.root)
    else:
        contexts("", state)
    return found


def assert_steps_take_on_their_own_tasks(machine: Machine[Any], most: int) -> Counter[str]:
    """In so many of the states, invisible steps taken one by one: which task stepped, and what kind of step it was."""
    seen: Counter[str] = Counter()
    known, waiting = {machine.initial()}, [machine.initial()]
    while waiting and len(known) < most:
        state = waiting.pop()
        before = standing(machine, state)
        for task in machine.tasks(state):
            step = machine.step(state, task)
            if not isinstance(step, Step) or isinstance(step.next, Fault):
                continue
            after = standing(machine, step.next)
            seen["inner"] += "." in task
            seen["join"] += len(after) < len(before) or any(path.startswith(f"{task}.") for path in before)
            for path in before.keys() | after.keys():
                if path != task and (task and not path.startswith(f"{task}.")):
                    assert before.get(path) == after.get(path), (path, step)
            if step.next not in known:
                known.add(step.next)
                waiting.append(step.next)
    return seen


def test_no_step_takes_on_a_task_above_or_beside() -> None:
    """In random programs on all machines. So a task that goes on after its children does so by a step of its own."""
    seen: Counter[str] = Counter()
    for seed in range(many(10)):
        seen += assert_steps_take_on_their_own_tasks(litmus(seed), 60)
        for name in api.MACHINES:
            seen += assert_steps_take_on_their_own_tasks(machine_of(regions(seed), name), 60)
    assert seen["join"] > due(10) and seen["inner"] > due(10), seen


# ----------------------------------------------------------------------------------------------------- fixed programs


@pytest.mark.parametrize("name", api.MACHINES)
@pytest.mark.parametrize(("program", "traces"), [("closing", 64), ("following", 4), ("nested", 256)])
def test_the_reduction_orders_regions_that_end_unobserved(program: str, traces: int, name: str) -> None:
    machine = machine_of(FIXED[program], name)
    reduced = explore_dpor(machine)
    assert findings(reduced) == findings(explore_graph(machine))
    assert reduced.executions == traces


@pytest.mark.parametrize("name", api.MACHINES)
def test_a_task_that_has_ended_unobserved_is_not_preempted(name: str) -> None:
    """All four results take no preemption, so that a search of what takes none has them, and is complete."""
    verdict = explore_by("bounded", machine_of(FOLLOWING, name), preemptions=0)
    assert (len(verdict.results), verdict.complete) == (4, True)


# ----------------------------------------------------------------------------- every strategy, machine, shape and level

SHAPES: dict[str, dict[str, Any]] = {
    "one": {"several": 1, "nested": False},
    "two": {"several": 2, "nested": False},
    "three": {"several": 3, "nested": False},
    "nested": {"several": 2, "nested": True},
}
LEVELS = ("Element(0)", "Atomic(0)", *(f"{level}(Atomic(0))" for level in STORAGE))
MODIFIED = tuple(modifier.format(form) for modifier in MODIFIERS for form in ("Atomic(0)", "Dense(Atomic(0))"))


def assert_strategies_agree(machine: Machine[Any], most: int) -> tuple[Verdict, Verdict] | None:
    """Compare all strategies with the graph; return its verdict and the reduction's, None if the graph is too large.

    Complete strategies find the same, others nothing else. `auto` goes over to the reduction after the first state.
    """
    truth = explore_graph(machine, max_states=most)
    if not truth.complete:
        return None
    reduced = explore_dpor(machine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "PROBE", 1)
        auto = explore_by("auto", machine)
    assert findings(reduced) == findings(auto) == findings(truth)
    assert (reduced.complete, auto.complete, reduced.verdict, auto.verdict) == (True, True, *[truth.verdict] * 2)
    nameless = explore_graph(machine, symmetry=True)
    assert (nameless.complete, nameless.verdict, counts(nameless)) == (True, truth.verdict, counts(truth))
    for strategy in ("random", "pct", "bounded"):
        some = explore_by(strategy, machine, runs=5, preemptions=1)
        assert all(findings(some)[what] <= findings(truth)[what] for what in findings(truth)), strategy
        assert not some.complete or findings(some) == findings(truth)
    return truth, reduced


def counts(verdict: Verdict) -> Hashable:
    """The invariants under symmetry: the numbers of interleavings, in all and of each result; races by their places."""
    results = frozenset((result.outcome, result.interleavings) for result in verdict.results)
    return verdict.interleavings, results, frozenset(findings(verdict)["races"])


@pytest.mark.parametrize("form", few([*LEVELS, *MODIFIED], 2))
def test_every_strategy_finds_what_the_graph_finds(form: str) -> None:
    """In programs of each shape over each level and modifier, on both machines, which have as many traces."""
    for shape in SHAPES.values():
        compared, enough = 0, many(1)
        for seed in range(20 * enough):
            text = regions(seed, form, **shape)
            found = assert_strategies_agree(machine_of(text, "native"), 60)
            if found is not None:
                other = assert_strategies_agree(machine_of(text, "semantics"), 300)
                assert other is not None and assert_machines_agree(found, other)
                compared += 1
            if compared == enough:
                break
        assert compared == enough


def assert_machines_agree(one: tuple[Verdict, Verdict], other: tuple[Verdict, Verdict]) -> bool:
    """Both machines find the same, by the graph and by the reduction, which has run as many traces."""
    first, *others = (test_native_machine.findings(verdict) for verdict in (*one, *other))
    assert all(each == first for each in others)
    assert one[1].executions == other[1].executions
    return True


@pytest.mark.parametrize("shape", SHAPES)
def test_every_strategy_finds_what_the_graph_finds_in_tiny_programs(shape: str) -> None:
    """The programs also deadlock, and fault at any moment."""
    seen: Counter[str] = Counter()
    for seed in range(many(40)):
        found = assert_strategies_agree(Draw(seed).several(*SHAPES[shape].values()), 200)
        seen["left out"] += found is None
        if found is not None:
            seen[found[0].verdict] += 1
            seen["traces"] += found[1].executions > 1
    assert seen["left out"] <= many(8) and seen["traces"] >= due(8), seen
    assert min(seen["deadlock"], seen["fault"]) >= due(1), seen


def test_the_reduction_finds_what_the_graph_finds_in_random_programs() -> None:
    """On both machines, which have as many traces; with several regions, in loops and nested, and every modifier."""
    seen: Counter[str] = Counter()
    for seed in range(many(100)):
        text = regions(seed)
        machine, other = (machine_of(text, name) for name in reversed(api.MACHINES))
        full = explore_graph(machine, max_states=80)
        if full.complete:
            reduced = explore_dpor(machine)
            assert assert_machines_agree((full, reduced), (explore_graph(other), explore_dpor(other))), text
            seen.update(name for name in ("Mutex", "Isolate", "Shard", "Merge", "Atomic", "i = 1:2") if name in text)
            seen["several"] += text.count("parallel") > 1
            seen["nested"] += "for l" in text
            seen["traces"] += reduced.executions > 1
    assert all(seen[name] >= due(3) for name in ("Mutex", "Isolate", "Shard", "Merge", "nested", "i = 1:2")), seen
    assert all(seen[name] >= due(15) for name in ("Atomic", "several", "traces")), seen


# --------------------------------------------------------------------------------------------- several processes, kept


@FORK
@pytest.mark.parametrize("name", api.MACHINES)
@pytest.mark.parametrize("program", few(list(FIXED), 1))
def test_processes_find_what_one_finds_in_several_regions(small_parts: None, program: str, name: str) -> None:
    """By both strategies; of the graph all that the verdict says."""
    machine = machine_of(FIXED[program], name)
    assert same(machine, jobs=2).complete
    one, two = (explore(machine, Search("graph", jobs=jobs)) for jobs in (1, 2))
    assert replace(two, seconds=0.0, processes=1) == replace(one, seconds=0.0)


@pytest.mark.parametrize("name", api.MACHINES)
@pytest.mark.parametrize("program", few(list(FIXED), 1))
@pytest.mark.parametrize("strategy", ["graph", "dpor"])
def test_a_search_of_several_regions_goes_on_where_it_was(
    tmp_path: Path, strategy: str, program: str, name: str
) -> None:
    """Stopped at a quarter, half and three quarters of its states."""
    machine, file = machine_of(FIXED[program], name), tmp_path / "search"
    whole = explore(machine, Search(strategy))
    explore(machine, Search(strategy, max_states=whole.states // 4, checkpoint=file))
    for quarter in (2, 3):
        cut = explore(machine, Search(max_states=whole.states * quarter // 4, checkpoint=file, resume=file))
        assert not cut.complete
    assert replace(explore(machine, Search(resume=file)), seconds=0.0) == replace(whole, seconds=0.0)
