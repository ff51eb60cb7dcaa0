"""P6, P7, P24, P25, P30: which cells tasks share, claim and lock, at every step of explored random programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from proofs_tests.effort import due, few, many
from proofs_tests.exploring import (
    Look,
    Watched,
    cells,
    configs,
    explore_graph,
    explored,
    handle,
    key_of,
    verdict,
)
from wingspan import api
from wingspan.base.errors import WingspanError
from wingspan.buffers.frames import Cell
from wingspan.explorer.machine import Step
from wingspan.explorer.verdict import Verdict
from wingspan.lang import ir
from wingspan.semantics.config import ProgramState
from wingspan.semantics.machine import Semantics
from wingspan.testing.programs import Options, programs

SMALL = Options(levels=("Dense", "SparseByteMap", "SparseDict", "SparseList"), depth=3, statements=2, extent=2)
UPDATING = {"Unfurl", "Child", "Leave", "Finish", "Assign"}
"""The rules that reach a tensor's cells for an update; the others begin and end phases and tasks."""

Found = list[tuple[str, Step[ProgramState]]]


def explore_each(options: Options, examples: int, watch: Callable[[Found], Look], raced: bool = False) -> Counter[str]:
    """Explore random programs, with a look at every step: nothing may be found, if there are no races or `raced`."""
    seen: Counter[str] = Counter()

    @settings(max_examples=many(examples), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs(options))
    def explore(text: str) -> None:
        try:
            bound = api.bind(api.parse(text), threads=2)
        except WingspanError:
            return
        found: Found = []
        result: Verdict = explore_graph(Watched(bound, watch(found)), max_states=200)
        if result.races and not raced:
            seen["raced"] += 1
            return
        assert not found, f"{text}\n{found[0]}"
        for name in ("Mutex(", "Isolate(", "Shard(", "Merge(", "w0 .=", "parallel"):
            seen[name] += name in text

    explore()
    return seen


# --------------------------------------------------------------------------------------------- copies, and what is read


def test_copies_are_each_tasks_own() -> None:
    """P6: a cell of a tensor that is declared in a parallel loop is touched by one task of it and its descendants only.

    Whatever else races.
    """

    def watch(found: Found) -> Look:
        owners: defaultdict[Cell, set[str]] = defaultdict(set)

        def look(machine: Semantics, before: ProgramState, step: Step[ProgramState], after: ProgramState) -> None:
            path = step.task.split(".")
            depths = dict(declarations(machine.body))
            for cell, _ in cells(step):
                depth = depths.get(cell.tensor, 0)
                if depth:
                    owners[cell].add(".".join(path[:depth]))
                    if len(owners[cell]) > 1:
                        found.append(("two owners", step))

        return look

    seen = explore_each(replace(SMALL, modified=4), 60, watch, raced=True)
    assert seen["w0 .="] > due(10), seen


def declarations(s: ir.Node, depth: int = 0) -> Iterator[tuple[str, int]]:
    """The tensors that are declared, each with how many parallel loops stand around the declaration."""
    if isinstance(s, ir.Declare):
        yield s.tensor, depth
    for child in s.children():
        yield from declarations(child, depth + (isinstance(s, ir.For) and isinstance(s.range, ir.Parallel)))


def test_nothing_that_is_read_is_written() -> None:
    """P7: while a tensor is in read mode, no cell of it is written, but by the Thaw that ends this."""

    def watch(found: Found) -> Look:
        def look(machine: Semantics, before: ProgramState, step: Step[ProgramState], after: ProgramState) -> None:
            for cell, effect in cells(step):
                if effect != "read" and step.rule != "Thaw" and handle(before, step.task, cell.tensor).mode == "read":
                    found.append(("written", step))

        return look

    seen = explore_each(SMALL, 120, watch, raced=True)
    assert seen["parallel"] >= due(20), seen


# --------------------------------------------------------------------------------------------------------------- claims


def test_claims_last_and_are_obeyed() -> None:
    """P24: in programs without races, what a thread has claimed no other thread claims, and it alone updates there."""

    def watch(found: Found) -> Look:
        def look(machine: Semantics, before: ProgramState, step: Step[ProgramState], after: ProgramState) -> None:
            if step.rule not in UPDATING:
                return
            chain = dict(configs(before, step.task)[0].t.chain)
            for cell, effect in cells(step):
                levels = machine.towers[cell.tensor].levels
                held, given = before.heap.get(cell, 0), after.heap.get(cell, 0)
                claims = levels[cell.depth].name == "Shard" and effect == "write" and cell.buffer == "ptr"
                if claims and held and given and held != given:
                    found.append(("claimed again", step))
                for depth in range(cell.depth):
                    shard = levels[depth]
                    updating = handle(before, step.task, cell.tensor).mode == "update"
                    if shard.name == "Shard" and updating and chain.get(shard.key) != key_of(machine, cell, depth):
                        found.append(("another's shard", step))

        return look

    seen = explore_each(replace(SMALL, modifiers=("Shard", "Mutex"), modified=2), 80, watch)
    assert seen["Shard("] > due(20), seen


# ---------------------------------------------------------------------------------------------------------------- locks


def locks(state: ProgramState, tensor: str) -> dict[Cell, str]:
    """The locks of a tensor that are taken, and by which task."""
    return {cell: by for cell, by in state.heap.items() if cell.tensor == tensor and cell.buffer == "lock" and by != 0}


def protected(machine: Semantics, cell: Cell, position: int | None, depth: int) -> int | None:
    """The position at `depth` that a cell lies below, where one can tell: through Dense levels and Isolate's keys."""
    levels = machine.towers[cell.tensor].levels
    for d in range(cell.depth - 1, depth - 1, -1):
        level = levels[d]
        if level.name == "Isolate":
            position = key_of(machine, cell, d)
        elif level.name == "Dense" and position is not None:
            position = (position - 1) // machine.towers[cell.tensor].extent(d) + 1
        elif level.name != "Mutex":
            position = None
    return position


def test_what_a_mutex_protects_is_locked() -> None:
    """P25: a lock is taken only if it is free, and given back by its holder; at the end of a run all are free.

    What is updated from its level down is so by the task that holds the lock of that very fiber, or by one that it
    spawned. (A level above it makes fibers without a lock, before anyone can reach them.)
    """

    def watch(found: Found) -> Look:
        def look(machine: Semantics, before: ProgramState, step: Step[ProgramState], after: ProgramState) -> None:
            for touch in step.footprint:
                cell = touch.cell
                if not isinstance(cell, Cell):
                    continue
                if cell.buffer == "lock":
                    change = (before.heap.get(cell, 0), after.heap.get(cell, 0))
                    if change not in ((0, step.task), (step.task, 0)):
                        found.append((f"lock {change}", step))
                elif step.rule in UPDATING and handle(before, step.task, cell.tensor).mode == "update":
                    taken = locks(before, cell.tensor).items()
                    for depth in range(cell.depth):
                        tower = machine.towers[cell.tensor]
                        if tower.levels[depth].name != "Mutex" or level_of(before, step) > tower.numbers[depth]:
                            continue
                        p = protected(machine, cell, touch.position, depth)
                        if not any(guards(lock, by, cell, depth, p, step.task) for lock, by in taken):
                            found.append((f"fiber {p} is not locked", step))
            if not machine.tasks(after) and any(locks(after, tensor) for tensor in machine.towers):
                found.append(("locked at the end", step))

        return look

    seen = explore_each(replace(SMALL, modifiers=("Mutex", "Isolate"), modified=2), 100, watch, raced=True)
    assert seen["Mutex("] > due(40), seen


def level_of(state: ProgramState, step: Step[ProgramState]) -> int:
    """The level of the fiber that an updating step is a part of a visit of."""
    s = configs(state, step.task)[0].s
    match s:
        case ir.Enter():
            level: int = s.updates[0].level
        case ir.Assign():
            level = 1
        case _:
            level = s.fiber.level
    return level


def guards(lock: Cell, by: str, cell: Cell, depth: int, position: int | None, task: str) -> bool:
    """Whether a lock that is taken lets a task update a cell below it."""
    descends = by in ("", task) or task.startswith(f"{by}.")
    fits = lock.instance == cell.instance[: len(lock.instance)] and position in (None, lock.offset)
    return lock.depth == depth and fits and descends


# ------------------------------------------------------------------------------------------------------ nested devices

GATED = [(outer, inner) for outer in ("Shard", "Merge") for inner in ("Shard", "Merge")]


@pytest.mark.parametrize(("outer", "inner"), few(GATED, 2))
def test_gates_open_in_the_order_of_the_loops(outer: str, inner: str) -> None:
    """P30: modifiers of nested devices in the order of the nested loops are safe; in the opposite order they fault."""
    text = """
        d = cpu(:d, 2)
        e = cpu(:e, 2)
        C = Tensor(Dense({outer}({first}, Dense({inner}({second}, SparseDict(Element(0)))))), 1, 2, 2)
        C .= 0
        for k = parallel(_, d)
            for j = parallel(_, e)
                for i = 1:1
                    C[i, j, k] += j + 10 * k
                end
            end
        end
    """
    found = explored(text.format(outer=outer, inner=inner, first="d", second="e"))
    assert found.verdict.verdict == "safe"
    assert [result.outcome for result in found.verdict.results] == [found.expected]
    swapped = explored(text.format(outer=outer, inner=inner, first="e", second="d")).verdict
    assert swapped.verdict == "fault"
    assert all("outside of a task of the device" in fault.message for fault in swapped.faults)


@pytest.mark.parametrize("gate", ["Shard", "Merge"])
def test_a_gate_is_closed_inside_of_a_deeper_device(gate: str) -> None:
    """P30: a task of the inner device is none of the outer one's, though it descends from one."""
    text = f"""
        d = cpu(:d, 1)
        e = cpu(:e, 1)
        c = Tensor(Dense({gate}(d, Element(0))), 1)
        c .= 0
        for k = parallel(1:1, d)
            for i = parallel(_, e)
                c[i] += 1
            end
        end
    """
    assert verdict(text) == "fault"
    assert verdict(text.replace("for i = parallel(_, e)", "for i = _")) == "safe"
