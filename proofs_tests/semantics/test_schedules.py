"""P1, P3, P9, P10, P11: every run goes on until it ends, and chunks deal out each iteration once."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import due, many
from proofs_tests.exploring import explored
from proofs_tests.semantics.test_sequential_result import result
from wingspan import api
from wingspan.base.errors import Fault, WingspanError
from wingspan.explorer.machine import Blocked
from wingspan.lang import ir
from wingspan.lang.devices import ROOT, STATIC, Device, Task
from wingspan.lang.ir import Literal
from wingspan.semantics.config import EMPTY, Config, ProgramState
from wingspan.semantics.machine import Semantics
from wingspan.semantics.memory import Facts, RuleMemory
from wingspan.semantics.rules import parallel
from wingspan.testing.programs import Options, programs

SMALL = Options(levels=("Dense", "SparseByteMap", "SparseDict", "SparseList"), depth=2, statements=2, extent=2)
UNGATED = Options(modifiers=("Mutex", "Isolate"), spawning=2)


# --------------------------------------------------------------------------------------------- progress and termination


def successors(machine: Semantics, limit: int) -> dict[ProgramState, list[ProgramState | Fault | Blocked]] | None:
    """All reachable states, every step of every task taken on its own; None if there are more than the limit."""
    found: dict[ProgramState, list[ProgramState | Fault | Blocked]] = {}
    waiting = [machine.initial()]
    while waiting:
        state = waiting.pop()
        if state in found:
            continue
        if len(found) == limit:
            return None
        steps = [machine.step(state, task) for task in machine.tasks(state)]
        found[state] = [step if isinstance(step, Blocked) else step.next for step in steps]
        waiting += [after for after in found[state] if isinstance(after, ProgramState)]
    return found


def longest(graph: dict[ProgramState, list[ProgramState | Fault | Blocked]], start: ProgramState) -> int | None:
    """The steps of a longest run; None if some run comes back to a state it was in."""
    lengths: dict[ProgramState, int | None] = {}
    path = [start]
    while path:
        state = path[-1]
        lengths.setdefault(state, None)
        below = [after for after in graph[state] if isinstance(after, ProgramState)]
        fresh = [after for after in below if after not in lengths]
        if fresh:
            path.append(fresh[0])
            continue
        known = [lengths[after] for after in below]
        if any(length is None for length in known):
            return None
        lengths[state] = 1 + max((length for length in known if length is not None), default=-1)
        path.pop()
    return lengths[start]


def test_every_state_goes_on_or_has_ended_and_every_run_ends() -> None:
    """P1, P3: on every state of random programs, whatever the levels, modifiers and schedule.

    A state without a task is the program's end; every other one steps, faults, or waits for locks. No path is a cycle.
    """
    seen: Counter[str] = Counter()

    @settings(max_examples=many(100), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs(SMALL))
    def walk(text: str) -> None:
        try:
            machine = api.semantics(api.bind(api.parse(text), threads=2))
        except WingspanError:
            return
        graph = successors(machine, 1500)
        if graph is None:
            return
        for state, following in graph.items():
            assert following or state.root.has_finished, text
            ends = not any(isinstance(after, ProgramState) for after in following)
            seen["end" if not following else type(following[0]).__name__ if ends else "step"] += 1
        assert longest(graph, machine.initial()) is not None, text
        seen["programs"] += 1

    walk()
    assert seen["programs"] > due(30), seen
    assert seen["step"] and seen["end"] and seen["Fault"] >= due(1), seen


def test_runs_end_however_unfair_the_schedule() -> None:
    """P3: whether the first task that can goes on, always, or the last one, or any: programs too big for all states."""
    seen: Counter[str] = Counter()

    def run(machine: Semantics, order: Callable[[Sequence[str]], Sequence[str]]) -> str:
        state = machine.initial()
        for _ in range(100_000):
            tasks = machine.tasks(state)
            steps = (machine.step(state, task) for task in order(tasks))
            step = next((step for step in steps if not isinstance(step, Blocked)), None)
            if step is None:
                return "deadlock" if tasks else "end"
            if isinstance(step.next, Fault):
                return "fault"
            state = step.next
        return "goes on"

    @settings(max_examples=many(60), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs(), st.integers(0, 2**32))
    def walk(text: str, seed: int) -> None:
        try:
            machine = api.semantics(api.bind(api.parse(text), threads=3))
        except WingspanError:
            return
        dice = random.Random(seed)
        for order in (list, lambda tasks: tasks[::-1], lambda tasks: dice.sample(tasks, len(tasks))):
            seen[run(machine, order)] += 1

    walk()
    assert seen["goes on"] == 0 and seen["end"] > due(60), seen


# --------------------------------------------------------------------------------------------------------------- chunks


def chunk(a: int, b: int, q: int, n: int) -> range:
    """The iterations of thread q of n, by the rule StaticFor alone."""
    worker = ir.Worker("i", ir.Range(Literal(a), Literal(b)), STATIC, ir.SKIP)
    C = Config(worker, Task(Device("d", n, ROOT.device), q, ROOT), EMPTY)
    after = parallel.static_for(C, RuleMemory(EMPTY, FACTS, []))
    assert after is not None
    return range(after.s.range.start.value, after.s.range.stop.value + 1)


FACTS = Facts({}, frozenset(), frozenset())


def test_static_chunks_partition_the_range() -> None:
    """P9: for 1 to 8 threads and all ranges from -2 on of up to 9 iterations, empty ones too.

    In the order of the threads the chunks make up a:b, and no two differ by more than one in length.
    """
    for n in range(1, 9):
        for a in range(-2, 3):
            for b in range(a - 3, a + 9):
                chunks = [chunk(a, b, q, n) for q in range(1, n + 1)]
                assert [i for each in chunks for i in each] == list(range(a, b + 1)), (a, b, n)
                sizes = sorted(len(each) for each in chunks)
                assert sizes[-1] - sizes[0] <= 1, (a, b, n)


@pytest.mark.parametrize("step", [1, 2, 3, 7])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("stop", [0, 1, 3])
def test_dynamic_chunks_are_each_taken_once(stop: int, threads: int, step: int) -> None:
    """P10: in every interleaving; they begin every `step` iterations, and all the workers end."""
    loop = f"for i = parallel(1:{stop}, cpu({threads}), dynamic_schedule({step}))"
    found = explored(f"c = Tensor(Dense(Element(0)), 3)\nc .= 0\n{loop}\nc[i] += i + 1\nend").verdict
    assert found.verdict == "safe"
    assert [result.outcome.values()["c"] for result in found.results] == [
        [i + 1 if i <= stop else 0 for i in (1, 2, 3)]
    ]


@settings(max_examples=many(40), deadline=None, derandomize=True)
@given(st.integers(-2, 2), st.integers(-1, 12), st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32))
def test_dynamic_claims_partition_the_range(a: int, size: int, threads: int, step: int, seed: int) -> None:
    """P10: in runs of any order, the claims are consecutive, of `step` iterations, the last one of what is left."""
    text = f"for i = parallel({a}:{a + size - 1}, cpu({threads}), dynamic_schedule({step}))\nx = i\nend"
    machine = api.semantics(api.bind(api.parse(text)))
    state, dice = machine.initial(), random.Random(seed)
    claims: list[tuple[int, int]] = []
    while tasks := machine.tasks(state):
        task = dice.choice(tasks)
        taken = machine.step(state, task)
        assert not isinstance(taken, Blocked) and isinstance(taken.next, ProgramState)
        state = taken.next
        if taken.rule == "DynamicFor":
            loop = state.root.s.contexts[int(task) - 1].s
            claims.append((loop.range.start.value, loop.range.stop.value))
    assert [i for first, last in claims for i in range(first, last + 1)] == list(range(a, a + size))
    assert all(later[0] - earlier[0] == step for earlier, later in pairwise(claims))


# ------------------------------------------------------------------------------------------------------------ one task


def test_one_task_is_the_serial_loop() -> None:
    """P11: with one thread each, parallel loops of either schedule compute what serial loops do, or fault alike."""
    seen: Counter[str] = Counter()

    @settings(max_examples=many(100), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs(UNGATED).filter(lambda text: "parallel" in text))
    def compare(text: str) -> None:
        alone = re.sub(
            r"= parallel\(([^,\n]*?)(, (cpu\(\d\)|dev2?)(, \w+\(\d?\))?)?\)$", r"= \1", text, flags=re.MULTILINE
        )
        assert "parallel" not in alone
        both = [api.bind(api.parse(program), threads=1) for program in (text, alone)]
        one, other = (result(program, "semantics") for program in both)
        if isinstance(one, Fault) and isinstance(other, Fault):
            assert ("lock" in one.message) == ("lock" in other.message), text
            seen["fault"] += 1
        else:
            assert one == other, text
            seen["parallel"] += 1

    compare()
    assert seen["parallel"] > due(30), seen
