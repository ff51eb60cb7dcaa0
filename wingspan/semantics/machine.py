"""The paper's semantics as a machine: one step is one rule, with at most one memory access (or one sort)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import immutables

from wingspan.base.errors import Fault, InternalError
from wingspan.buffers.frames import Cell, LockHeld
from wingspan.buffers.heap import asymmetry, lock, named_task, split_by_task
from wingspan.explorer.local import CellLog, Tree
from wingspan.explorer.machine import READING, AnonymousState, Blocked, Step
from wingspan.explorer.run import run
from wingspan.lang import ir
from wingspan.lang.devices import ROOT
from wingspan.lang.printer import show
from wingspan.lang.terms import written_once
from wingspan.levels import Tower
from wingspan.results.outcome import Outcome
from wingspan.semantics.anonymous import anonymous_state, split_cell
from wingspan.semantics.config import Config, Handle, ProgramState, refocus
from wingspan.semantics.derived import DerivedStep
from wingspan.semantics.local import LocalConfig, SharingMemory, assemble_config
from wingspan.semantics.memory import NOTHING, Facts, RecordingMemory, RuleMemory, find_entry, stores
from wingspan.semantics.rules import rules_for
from wingspan.tensors.tensor import Cells, Tensor

T = TypeVar("T")


class Semantics:
    """A program under the rules. States are immutable; a tensor's name leads to its tower of levels.

    If it `derives`, its steps are `DerivedStep`s. Steps that may change what `observed` names, tensors and variables of
    the root task, are observed.
    """

    name = "semantics"

    def __init__(
        self,
        body: ir.Statement,
        towers: Mapping[str, Tower],
        inputs: Mapping[str, Tensor],
        outputs: Iterable[str],
        derives: bool = False,
        observed: Collection[str] = (),
    ) -> None:
        self.derives, self.observed = derives, frozenset(observed)
        self.body, self.towers, self.inputs, self.outputs = body, towers, inputs, tuple(outputs)
        loops = [node for node in body.walk() if isinstance(node, ir.For)]
        parallel = [loop for loop in loops if isinstance(loop.range, ir.Parallel)]
        contended = frozenset(s.name for loop in parallel for s in loop.walk() if isinstance(s, ir.Set))
        self.asymmetry = asymmetry(body, towers)
        self._facts = Facts(towers, contended, written_once(body))

    # ------------------------------------------------------------------------------------- the protocol of exploration

    def initial(self) -> ProgramState:
        """The program before its first step: inputs in read mode, all else undeclared."""
        heap: dict[Cell, Any] = {}
        store: dict[Any, Any] = {}
        for name, tensor in self.inputs.items():
            store[name] = Handle("read", "", tensor.fill)
            heap.update((cell._replace(tensor=name), value) for cell, value in tensor.cells.values.items())
        root = refocus(Config(self.body, ROOT, immutables.Map(store)))
        return ProgramState(immutables.Map(heap), root, (), (), _conclude)

    def tasks(self, state: ProgramState) -> Sequence[str]:
        """The paths of the tasks that can step: those at the leaves of the tree of parallel contexts."""
        return state.tasks

    def step(self, state: ProgramState, task: str) -> Step[ProgramState] | Blocked:
        """The next step of a task, or the lock that it waits for."""
        if state.focus.t.path != task:
            state = state.focus_on(task)
        μ = (RecordingMemory if self.derives else RuleMemory)(state.heap, self._facts, state.outer)
        C = state.focus
        step = self._step(C, μ, lambda after: state.after_step(μ.heap, after, μ.outer))
        if isinstance(μ, RecordingMemory) and isinstance(step, Step):
            return DerivedStep.from_configuration(step, C, μ)
        return step

    def _step(self, C: Config, μ: RuleMemory, put_back: Callable[[Config], T]) -> Step[T] | Blocked:
        """The next step of the task of a configuration, which `put_back` puts where it belongs afterwards."""
        task, outer = C.t.path, μ.outer
        try:
            name, after = _reduce(C, μ)
        except LockHeld as held:
            return Blocked(task, lock(held, self.towers[held.cell.tensor]), held.holder, C.span, held.cell)
        following = after if isinstance(after, Fault) else put_back(after)
        observed = bool(self.observed) and self._is_observed(C, after, μ)
        visible = μ.visible or observed or isinstance(following, Fault)
        indices = self._in_force(C, outer) if visible else ()
        return Step(task, name, tuple(μ.touches), visible, following, C.span, indices, observed)

    def _is_observed(self, C: Config, after: Config | Fault, μ: RuleMemory) -> bool:
        """Whether a step writes to a tensor or a variable that is observed, or changes the root task's entry of it."""
        if any(touch.tensor in self.observed and touch.effect not in READING for touch in μ.touches):
            return True
        if C.t != ROOT or isinstance(after, Fault):
            return False
        return any(find_entry(C, name) != find_entry(after, name) for name in self.observed)

    # --------------------------------------------------------------------------------------------------- local steps

    def local_initial(self) -> tuple[Tree, Mapping[Any, Any]]:
        """The root task, and the cells of the inputs."""
        state = self.initial()
        return Tree(LocalConfig(state.root, ()), ended=state.root.has_finished), state.heap

    def local_step(self, local: Hashable, cells: CellLog) -> Step[Tree] | Blocked:
        """The next step of a task, by its configuration and those that it descends from."""
        C, outer = cast(LocalConfig, local)
        μ = SharingMemory(cells, self._facts, outer)
        if isinstance(C.s, ir.Par):
            C = μ.take_back(C)
        return self._step(C, μ, lambda after: μ.spread(after, outer))

    def local_join(self, local: Hashable, ended: Sequence[Hashable]) -> Tree:
        """The configuration of a task whose tasks have all ended."""
        C, outer = cast(LocalConfig, local)
        joined = C.with_redex(ir.Par(tuple(cast(LocalConfig, each).C for each in ended), span=C.s.span))
        return Tree(LocalConfig(joined, outer))

    def global_state(self, tree: Tree, cells: Mapping[Any, Any]) -> ProgramState:
        """The state of these configurations and cells."""
        heap = {cell: value for cell, value in cells.items() if isinstance(cell, Cell)}
        return ProgramState(immutables.Map(heap), assemble_config(tree, cells), (), (), _conclude)

    def anonymize_local(self, local: Hashable) -> Hashable:
        """A configuration without the name of its task."""
        return anonymous_state(cast(LocalConfig, local).C, {})

    def split_cell(self, cell: Hashable) -> tuple[str, Hashable]:
        """The path of the task that has a cell for itself, and the cell without it."""
        return split_cell(cell)

    def named_task(self, value: Any) -> str | None:
        """The path of the task that holds a lock, if that is what a cell holds."""
        return named_task(value)

    def fingerprint(self, state: ProgramState) -> Hashable:
        """The state itself: it knows nothing of its past."""
        return state

    def anonymize(self, state: ProgramState) -> tuple[Hashable, AnonymousState]:
        """The heap and the tree of contexts, each context with what it has for itself."""
        if self.asymmetry:
            return state, AnonymousState(None)
        shared, own = split_by_task(state.heap)
        root = anonymous_state(state.root, own)
        return (shared, frozenset(own.items())), root

    def outcome(self, state: ProgramState) -> Hashable:
        """The contents of the outputs, and the outermost scope's variables, independent of the layout of memory."""
        return Outcome.from_tensors(self.results(state), self.variables(state))

    # -------------------------------------------------------------------------------------------------- finished runs

    def run(self, progress: Callable[[int, int], None] | None = None) -> ProgramState:
        """One run to its end, each task as far as it gets before the next. A RunFault if it does not finish."""
        return run(self, progress)

    def results(self, state: ProgramState) -> dict[str, Tensor]:
        """The outputs after a finished run."""
        made: dict[str, Tensor] = {}
        for name in self.outputs:
            handle = state.root.σ.get(name)
            if isinstance(handle, Handle):
                cells = {cell._replace(tensor=""): v for cell, v in state.heap.items() if cell.tensor == name}
                made[name] = Tensor(self.towers[name], Cells(cells), handle.fill)
        return made

    def variables(self, state: ProgramState) -> dict[str, ir.Value]:
        """The variables of the outermost scope after a finished run."""
        return {name: value.value for name, value in state.root.σ.items() if isinstance(value, ir.Literal)}

    def _in_force(self, C: Config, outer: tuple[Config, ...]) -> tuple[tuple[str, int], ...]:
        """The loop indices of a task and those it descends from, outermost first; variables are literals in σ."""
        found: dict[str, int] = {}
        for config in (C, *outer):
            for store in stores(config):
                found.update(
                    (n, v) for n, v in store.items() if type(v) is int and isinstance(n, str) and n not in found
                )
        return tuple(reversed(found.items()))


def _conclude(spawner: Config, k: int, stepped: Config) -> Config:
    """C₁ ‖ … ‖ Cₙ after a step of its k-th context, by ParLeft or ParRight, which look at no memory."""
    μ = RuleMemory(immutables.Map(), NOTHING, ())
    μ.premise = (k, stepped)
    _, after = _reduce(spawner, μ)
    assert isinstance(after, Config)
    return after


def _reduce(C: Config, μ: RuleMemory) -> tuple[str, Config | Fault]:
    """The first rule that applies to the redex, by name, and what it gives."""
    candidates = rules_for(C.s)
    for rule in candidates:
        try:
            after = rule.apply(C, μ)
        except Fault as fault:
            return rule.name, fault if fault.span else Fault(fault.message, C.span)
        if after is not None:
            return rule.name, refocus(after)
    tried = ", ".join(rule.name for rule in candidates) or "none"
    raise InternalError(f"no rule applies to `{show(C.s)}` (tried: {tried})", C.span)
