"""Programs given as text, explored, for the tests of the semantics; and a look at each step, for its properties."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from textwrap import dedent
from typing import Any

from proofs_tests.towers import ByHand, broken
from wingspan import api
from wingspan.api import Exploration
from wingspan.buffers.frames import Cell
from wingspan.elaborate import Elaborated
from wingspan.explorer import Machine, Search, Verdict, explore
from wingspan.explorer.machine import Blocked, Step
from wingspan.explorer.states import Progress
from wingspan.lang import ir
from wingspan.lang.algebra import any_order, is_identity
from wingspan.levels.base import Level
from wingspan.semantics.config import Config, Handle, ProgramState
from wingspan.semantics.machine import Semantics
from wingspan.semantics.memory import stores
from wingspan.tensors.cells import Cells


def explored(program: str | Elaborated, **options: Any) -> Exploration:
    """The exploration of a program, which must be complete: a truncated search proves nothing."""
    found = api.explore(api.parse(dedent(program)) if isinstance(program, str) else program, **options)
    assert found.verdict.complete, found.verdict.stopped_by
    return found


def verdict(program: str | Elaborated, **options: Any) -> str:
    """The verdict of the exploration of a program."""
    return explored(program, **options).verdict.verdict


def outcomes(text: str, **options: Any) -> dict[str, int | None]:
    """The values of every outcome as text, with the number of interleavings that lead to it."""
    return {str(result.outcome.values()): result.interleavings for result in explored(text, **options).verdict.results}


def races(text: str, **options: Any) -> set[tuple[str, int | None, str, str]]:
    """(tensor, level number, level name, kind) of every race."""
    return {(r.tensor, r.level, r.level_name, r.kind) for r in explored(text, **options).verdict.races}


def steps(text: str, interleaving: str = "-", **options: Any) -> list[Step[ProgramState]]:
    """Every step of one run."""
    return list(api.replay(api.parse(dedent(text)), interleaving, **options).steps)


def values(text: str, **options: Any) -> dict[str, Any]:
    """The values that one run computes under the rules."""
    run = api.run(api.parse(dedent(text)), **{"engine": "semantics", **options})
    return {name: tensor.to_numpy().tolist() for name, tensor in run.tensors.items()} | dict(run.variables)


def serial(text: str, **options: Any) -> dict[str, Any]:
    """The values by the rules, which must be those of the reference."""
    found = values(text, **options)
    assert found == values(text, engine="reference", **options)
    return found


def explore_graph(machine: Machine[Any], **options: Any) -> Verdict:
    """The verdict on a machine by its graph of states."""
    return explore_by("graph", machine, **options)


def explore_dpor(machine: Machine[Any], **options: Any) -> Verdict:
    """The verdict by one run of each trace."""
    return explore_by("dpor", machine, **options)


def explore_by(
    strategy: str,
    machine: Machine[Any],
    expected: Hashable | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Verdict:
    """The verdict by a strategy; the options are those of a `Search`."""
    return explore(machine, Search(strategy, **options), expected=expected, progress=progress)


# ------------------------------------------------------------------------------------------------ a look at every step

Look = Callable[[Semantics, ProgramState, Step[ProgramState], ProgramState], None]
"""Called with the machine, a state, a step that is possible there and no fault, and the state that it leads to."""


class Watched(Semantics):
    """The semantics, with a look at every step that an exploration or a run asks for."""

    def __init__(self, bound: Elaborated, look: Look) -> None:
        super().__init__(bound.body, bound.towers, bound.inputs, bound.outputs)
        self.look = look

    def step(self, state: ProgramState, task: str) -> Step[ProgramState] | Blocked:
        step = super().step(state, task)
        if isinstance(step, Step) and isinstance(step.next, ProgramState):
            self.look(self, state, step, step.next)
        return step


def configs(state: ProgramState, task: str) -> list[Config]:
    """The configuration of a task, and those of the tasks that it descends from, innermost first."""
    found = [state.root]
    for q in task.split(".") if task else ():
        found.insert(0, found[0].s.contexts[int(q) - 1])
    return found


def handle(state: ProgramState, task: str, tensor: str) -> Handle:
    """The handle that a task sees."""
    seen = (store.get(tensor) for config in configs(state, task) for store in stores(config))
    return next((found for found in seen if found is not None), Handle("undeclared", "", 0))


def cells(step: Step[ProgramState]) -> Iterator[tuple[Cell, str]]:
    """The cells of tensors that a step touches, and how."""
    for touch in step.footprint:
        if isinstance(touch.cell, Cell):
            yield touch.cell, touch.effect


def key_of(machine: Semantics, cell: Cell, depth: int) -> Any:
    """The key that the modifier at this depth, above the cell's level, gave on the way to the cell's instance.

    A private copy's instance begins with the keys of its task.
    """
    levels: tuple[Level, ...] = machine.towers[cell.tensor].levels
    keyed = [d for d in range(cell.depth) if levels[d].key]
    return cell.instance[len(cell.instance) - len(keyed) + keyed.index(depth)][1]


def broken_by_freezing(
    machine: Semantics, before: ProgramState, step: Step[ProgramState], after: ProgramState
) -> list[str]:
    """P23: the invariants that a tensor's cells break when this step ends freezing it."""
    if step.rule != "Freeze":
        return []
    s = configs(before, step.task)[0].s
    frozen = handle(after, step.task, s.tensor)
    if frozen.mode != "read":
        return []
    h = ByHand(machine.towers[s.tensor], z=frozen.fill)
    h.cells = Cells({cell._replace(tensor="T"): value for cell, value in after.heap.items() if cell.tensor == s.tensor})
    return broken(h, instance=frozen.instance)


def foldable(bound: Elaborated) -> bool:
    """Whether Merge's precondition holds of all merged tensors: ⊕ is associative and commutative, and x ⊕ fill = x.

    The smallest or largest of elements that start from fill is never beyond it, if no other phase comes between.
    """
    operators: dict[str, set[ir.Operator]] = {T: set() for T, tower in bound.towers.items() if "Merge(" in str(tower)}
    for s in bound.body.walk():
        if isinstance(s, ir.Assign) and s.access.fiber.tensor in operators:
            operators[s.access.fiber.tensor].add(s.op)
    for s in bound.body.walk():
        if isinstance(s, ir.Declare) and s.tensor in operators:
            ops = operators[s.tensor]
            neutral = all(any_order(op) and is_identity(s.init, op) for op in ops)
            if not neutral and not (len(ops) == 1 and ops < {"min", "max"}):
                return False
    return True


def facts(verdict: Verdict) -> dict[str, Any]:
    """All of a verdict but the time it took."""
    return {name: value for name, value in vars(verdict).items() if name != "seconds"}


def machine_of(text: str, name: str) -> Machine[Any]:
    """The machine of this name, of a program that is printed so."""
    return api.machine_of(api.bind(api.parse(text)), name)
