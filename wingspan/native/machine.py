"""The plan as a machine to explore: its code under a controlled scheduler, one access to a buffer per step.

The engine runs everything private to a task at once: from one access to the next, and into the tasks of a parallel
region. So tasks rest before accesses, before instructions that will fault, and at a region. When all tasks of a region
have ended, the task that spawned them leaves it by a step of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import immutables

from wingspan.base.errors import Fault
from wingspan.base.libraries import np
from wingspan.buffers.frames import Cell, LockHeld
from wingspan.buffers.heap import Heap, anonymize, asymmetry, lock, named_task, split_by_task, split_cell
from wingspan.elaborate import Elaborated
from wingspan.explorer.local import CellLog, Tree
from wingspan.explorer.machine import READING, AnonymousState, Blocked, Step, Stretch
from wingspan.explorer.run import run
from wingspan.lang.algebra import element, machine_value
from wingspan.lang.devices import path_of
from wingspan.lang.ir import Instance, Value
from wingspan.native.assemble import assemble
from wingspan.native.code import RegisterCode
from wingspan.native.engine import controlled_runner
from wingspan.native.faults import undefined_fault
from wingspan.native.heap import Instances, NativeMemory
from wingspan.plan.ir import Access, AllocateInstance, Check, Child, Compute, Origin, Par, Plan, ReleaseInstance
from wingspan.results.outcome import Outcome
from wingspan.tensors.frozen import holds_elements
from wingspan.tensors.tensor import Cells, Tensor

T = TypeVar("T")


class Running(NamedTuple):
    """A task: the instruction before which it rests, its registers that matter there, the tasks it waits for.

    Instances are stored here as themselves: their numbers differ from process to process.
    """

    pc: int
    kept: bytes
    instances: tuple[Instance, ...]
    children: tuple[Running, ...] = ()


class LocalTask(NamedTuple):
    """A task by itself. The tasks that it has waited for are in it once all of them have ended."""

    running: Running
    chain: Instance


class NativeState(NamedTuple):
    """The cells of all buffers, and the tree of tasks."""

    heap: Heap
    root: Running

    def __reduce__(self) -> tuple[Callable[[dict[Cell, Any], Running], NativeState], tuple[dict[Cell, Any], Running]]:
        return _state, (dict(self.heap), self.root)


def _state(cells: dict[Cell, Any], root: Running) -> NativeState:
    """A state from another process."""
    return NativeState(immutables.Map(cells), root)


class Native:
    """A bound program's plan under a controlled scheduler. Steps that write to tensors `observed` are observed."""

    name = "native"

    def __init__(self, code: RegisterCode, bound: Elaborated, observed: Collection[str] = ()) -> None:
        self.code, self.bound, self.observed = code, bound, frozenset(observed)
        self._instances = Instances()
        self._settle = controlled_runner(code)
        self._initial = np.frombuffer(code.initial, np.int64)
        self.asymmetry = asymmetry(bound.body, bound.towers)

    def __reduce__(self) -> tuple[Callable[..., Native], tuple[Plan, Elaborated, frozenset[str]]]:
        """Another process gets the plan, and makes its code there."""
        return of_plan, (self.code.plan, self.bound, self.observed)

    # ------------------------------------------------------------------------------------- the protocol of exploration

    def initial(self) -> NativeState:
        """The program before its first access: inputs in read mode."""
        given = self.bound.inputs.items()
        heap = {
            cell._replace(tensor=T): machine_value(v) for T, tensor in given for cell, v in tensor.cells.values.items()
        }
        memory = self._memory(immutables.Map(heap), "", ())
        root = self._proceed(0, self.code.initial, (), memory)
        return NativeState(memory.heap, root)

    def tasks(self, state: NativeState) -> Sequence[str]:
        """The paths of the tasks that can step: those at the leaves of the tree."""
        return self._leaves(state.root, "")

    def step(self, state: NativeState, task: str) -> Step[NativeState] | Blocked:
        """The next access of a task, its join, the lock that it waits for, or the fault that it has reached."""
        line, chain = self._locate(state.root, task)
        memory = self._memory(state.heap, task, chain)

        def put_back(running: Running) -> NativeState:
            for parent, (_, q) in zip(reversed(line[:-1]), reversed(chain), strict=True):
                children = (*parent.children[: q - 1], running, *parent.children[q:])
                running = parent._replace(children=children)
            return NativeState(memory.heap, running)

        return self._step(line[-1], chain, memory, put_back)

    def _step(
        self, task: Running, chain: Instance, memory: NativeMemory, put_back: Callable[[Running], T]
    ) -> Step[T] | Blocked:
        """The next step of a task, whose parts after it `put_back` puts into a state."""
        s = self.code.statements[task.pc]
        assert isinstance(s, Access | Compute | Check | Par)
        registers = self._registers(task)
        try:
            following = self._advance(task, chain, registers, memory)
        except LockHeld as held:
            what = lock(held, self.bound.towers[held.cell.tensor])
            return Blocked(memory.task, what, held.holder, s.origin.span, held.cell)
        observed = any(t.tensor in self.observed and t.effect not in READING for t in memory.touches)
        visible = memory.visible or observed or isinstance(following, Fault)
        indices = tuple(self._indices(s.origin, registers)) if visible else ()
        rule = "Join" if isinstance(s, Par) else s.origin.operation
        after = following if isinstance(following, Fault) else put_back(following)
        return Step(memory.task, rule, tuple(memory.touches), visible, after, s.origin.span, indices, observed)

    def _indices(self, origin: Origin, registers: bytes) -> Iterator[tuple[str, int | Stretch]]:
        """The current loop indices; those of a run that the step stands for as its ends."""
        ends = dict(origin.ends)
        for name, e in origin.indices:
            first = int(self.code.value(registers, e))
            last = int(self.code.value(registers, ends.get(name, e)))
            yield name, first if first == last else Stretch(first, last)

    def _advance(self, task: Running, chain: Instance, registers: bytes, memory: NativeMemory) -> Running | Fault:
        """A task after its next step. `LockHeld` if it waits for a lock."""
        s, pc = self.code.statements[task.pc], task.pc + 1
        if isinstance(s, Par):
            pc, registers = self._join(s, task.pc, registers, task.children)
        elif isinstance(s, Access):
            try:
                registers = memory.perform(s, registers)
            except Fault as fault:
                return Fault(s.origin.prefix + fault.message, s.origin.span)
        else:
            return undefined_fault(self.code, s, registers)
        return self._proceed(pc, registers, chain, memory)

    # --------------------------------------------------------------------------------------------------- local steps

    def local_initial(self) -> tuple[Tree, Mapping[Any, Any]]:
        """The tasks and the cells before the first access."""
        heap, root = self.initial()
        return self._tree(root, ()), heap

    def local_step(self, local: Hashable, cells: CellLog) -> Step[Tree] | Blocked:
        """The next step of a task, by its part of the state."""
        running, chain = cast(LocalTask, local)
        memory = self._memory(cells, path_of(chain), chain)
        return self._step(running, chain, memory, lambda after: self._tree(after, chain))

    def local_join(self, local: Hashable, ended: Sequence[Hashable]) -> Tree:
        """The part of a task whose tasks have all ended."""
        running, chain = cast(LocalTask, local)
        return Tree(LocalTask(running._replace(children=tuple(cast(LocalTask, each).running for each in ended)), chain))

    def global_state(self, tree: Tree, cells: Mapping[Any, Any]) -> NativeState:
        """The state of these tasks and cells."""
        return NativeState(immutables.Map(cells), self._running_of(tree))

    def anonymize_local(self, local: Hashable) -> Hashable:
        """The part of a task by itself, without its name."""
        return self._anonymous(*cast(LocalTask, local), {})

    def split_cell(self, cell: Hashable) -> tuple[str, Hashable]:
        """The path of the task that has a cell for itself, and the cell without it."""
        return split_cell(cast(Cell, cell))

    def named_task(self, value: Any) -> str | None:
        """The path of the task that holds a lock, if that is what a cell holds."""
        return named_task(value)

    def _tree(self, running: Running, chain: Instance) -> Tree:
        below = self._with_chains(running, chain)
        if not below or self._have_ended(running.children):
            return Tree(LocalTask(running, chain), ended=running.pc in self.code.ends)
        return Tree(LocalTask(running._replace(children=()), chain), tuple(self._tree(*each) for each in below))

    def _running_of(self, tree: Tree) -> Running:
        running = cast(LocalTask, tree.local).running
        return running._replace(children=tuple(map(self._running_of, tree.below))) if tree.below else running

    def _with_chains(self, running: Running, chain: Instance) -> list[tuple[Running, Instance]]:
        """The tasks that a task has spawned, each with its chain."""
        if not running.children:
            return []
        s = self.code.statements[running.pc]
        assert isinstance(s, Par)
        return [(child, (*chain, (s.device.id, q))) for q, child in enumerate(running.children, start=1)]

    def fingerprint(self, state: NativeState) -> Hashable:
        """The state itself: dead registers have already been removed."""
        return state

    def anonymize(self, state: NativeState) -> tuple[Hashable, AnonymousState]:
        """The heap and the tree of tasks, each with its own part; thread ids are numbers like others."""
        if self.asymmetry:
            return state, AnonymousState(None)
        shared, own = split_by_task(state.heap)
        root = self._anonymous(state.root, (), own)
        return (shared, frozenset(own.items())), root

    def outcome(self, state: NativeState) -> Hashable:
        """The contents of the outputs, and the variables of the outermost scope, independent of the buffers' layout."""
        return Outcome.from_tensors(self.results(state), self.variables(state))

    # -------------------------------------------------------------------------------------------------- finished runs

    def run(self, progress: Callable[[int, int], None] | None = None) -> NativeState:
        """One run to its end, each task as far as it gets before the next. A RunFault if it does not finish."""
        return run(self, progress)

    def results(self, state: NativeState) -> dict[str, Tensor]:
        """The outputs after a finished run."""
        fills = self.code.scalar_results(self._registers(state.root)).fills
        made: dict[str, Tensor] = {}
        for name in self.code.plan.outputs:
            tower = self.bound.towers[name]
            mine = ((cell._replace(tensor=""), v) for cell, v in state.heap.items() if cell.tensor == name)
            cells = {c: element(v, tower.kind if holds_elements(tower, c.depth, c.buffer) else "int") for c, v in mine}
            made[name] = Tensor(tower, Cells(cells), element(fills[name], tower.kind))
        return made

    def variables(self, state: NativeState) -> dict[str, Value]:
        """The variables of the outermost scope after a finished run."""
        return self.code.scalar_results(self._registers(state.root)).variables

    # --------------------------------------------------------------------------------------------------- private work

    def _proceed(self, pc: int, registers: bytes, chain: Instance, memory: NativeMemory) -> Running:
        """A task from here up to its next rest, and its tasks up to theirs if it has any."""
        while True:
            pc, registers = self._settle(pc, registers)
            s = None if pc in self.code.ends else self.code.statements[pc]
            match s:
                case Child(reg=reg, group=group, parent=parent, key=key):
                    key_ = self.code.plan.groups[group].tag, int(self.code.value(registers, key))
                    path = (*self._instances.path(self.code.get(registers, parent)), key_)
                    registers = self.code.with_register(registers, reg, self._instances.number(path))
                case AllocateInstance(reg=reg):
                    registers = self.code.with_register(registers, reg, self._instances.number(chain))
                case ReleaseInstance(reg=reg):
                    memory.drop(self.code.private[reg], self._instances.path(self.code.get(registers, reg)))
                case Par(device=device, task=reg):
                    count = int(self.code.value(registers, s.tasks))
                    children = tuple(
                        self._proceed(
                            pc + 1, self.code.with_register(registers, reg, q), (*chain, (device.id, q)), memory
                        )
                        for q in range(1, count + 1)
                    )
                    if not self._have_ended(children):
                        return self._suspend(pc, registers, children)
                    pc, registers = self._join(s, pc, registers, children)
                    continue
                case _:
                    return self._suspend(pc, registers)
            pc += 1

    def _join(self, s: Par, pc: int, registers: bytes, children: Sequence[Running]) -> tuple[int, bytes]:
        """The instruction and registers with which a task continues after its tasks have finished."""
        ends = [self._registers(child) for child in children]
        for reg in s.joined:
            registers = self.code.with_register(registers, reg, any(self.code.get(end, reg) for end in ends))
        return int(self.code.table[pc, 2]) + len(s.joined), registers

    # ---------------------------------------------------------------------------------------------------------- states

    def _have_ended(self, tasks: Sequence[Running]) -> bool:
        return all(task.pc in self.code.ends for task in tasks)

    def _leaves(self, running: Running, path: str) -> list[str]:
        """The paths of the tasks below one that can step; its own if there are none and it has not ended."""
        if running.pc in self.code.ends:
            return []
        found: list[str] = []
        for q, child in enumerate(running.children, start=1):
            found += self._leaves(child, f"{path}.{q}" if path else str(q))
        return found or [path]

    def _locate(self, root: Running, task: str) -> tuple[list[Running], Instance]:
        """A task after those that it descends from, and the (device, thread id) of each but the root."""
        line, chain = [root], []
        for q in map(int, task.split(".") if task else ()):
            s = self.code.statements[line[-1].pc]
            assert isinstance(s, Par)
            chain.append((s.device.id, q))
            line.append(line[-1].children[q - 1])
        return line, tuple(chain)

    def _suspend(self, pc: int, registers: bytes, children: tuple[Running, ...] = ()) -> Running:
        """Suspend a task here, without its dead registers."""
        slots, plain = self.code.live_slots(pc)
        kept = np.frombuffer(registers, np.int64)[slots].tobytes()
        return Running(pc, kept[:plain], self._instances.instances_of(kept[plain:]), children)

    def _registers(self, task: Running) -> bytes:
        """The whole register file of a task that rests."""
        registers = self._initial.copy()
        slots, _ = self.code.live_slots(task.pc)
        registers[slots] = np.frombuffer(task.kept + self._instances.numbers_of(task.instances), np.int64)
        return registers.tobytes()

    def _anonymous(self, running: Running, chain: Instance, own: dict[str, frozenset[Hashable]]) -> AnonymousState:
        """A task and those below it; consumes `own`, the part of the heap that belongs to each, by paths."""
        below = [self._anonymous(child, each, own) for child, each in self._with_chains(running, chain)]
        instances = tuple([anonymize(instance, chain) for instance in running.instances])
        return AnonymousState((running.pc, running.kept, instances, own.pop(path_of(chain), None)), tuple(below))

    def _memory(self, heap: Any, task: str, chain: Instance) -> NativeMemory:
        return NativeMemory(heap, self.code, self._instances, self.bound.towers, task, chain)


def of_plan(plan: Plan, bound: Elaborated, observed: Collection[str] = ()) -> Native:
    """The machine of a plan."""
    return Native(assemble(plan), bound, observed)
