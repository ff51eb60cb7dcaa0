"""The context of a rule beside its configuration: the heap μ, the stores of the enclosing contexts, and the levels.

A `RuleMemory` lives for one step. It records what the step touches, so that the rules carry no bookkeeping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault
from wingspan.buffers.frames import Cell, Frame, LinearCode, Rmw, advance, start
from wingspan.buffers.heap import alone, without
from wingspan.explorer.machine import CellAccess, Effect
from wingspan.lang import ir
from wingspan.lang.devices import Task
from wingspan.lang.ir import Instance
from wingspan.levels import Level, Tower
from wingspan.semantics.config import Chunk, Config, Context, Cursor, Handle, Hole, Scope, Store, Then

UNDECLARED = Handle("undeclared", "", 0)


@dataclass(slots=True, unsafe_hash=True)
class SharedName:
    """A variable as a cell: its name, the chain of the task whose store binds it, and which of its scopes that is."""

    name: Any
    owner: Instance
    scope: int

    def __str__(self) -> str:
        return str(self.name)


@dataclass(frozen=True)
class Facts:
    """Static facts about a program, known before it runs."""

    towers: Mapping[str, Tower]
    contended: frozenset[str]
    """the variables that parallel loops assign to"""
    written_once: frozenset[str]
    """the tensors no cell of which is written twice in a phase"""


NOTHING = Facts({}, frozenset(), frozenset())
"""The facts that suffice for the rules of parallel composition."""


class RuleMemory:
    """μ and the stores around one task, for one step of it; `outer` holds the spawning tasks, innermost first.

    μ is a `Heap`, or an `explorer.local.CellLog`.
    """

    C: Config
    """the configuration of the rule whose program is running"""
    premise: tuple[int, Config] | None = None
    """for ParLeft and ParRight: which of the contexts has stepped, and to what"""
    begun: Frame | None = None
    """for Payload and Child, which ask the level for the same: its program before the first access"""
    held: ir.Literal | None = None
    """for ShortCircuit and SerialFor, of which one applies: what the scalar holds that the step reads"""
    visible = False
    is_recording = False
    """whether the rule is to say what its metavariables stand for"""

    def __init__(self, heap: Any, facts: Facts, outer: Iterable[Config]) -> None:
        self.heap, self.facts, self.outer = heap, facts, tuple(outer)
        self.towers = facts.towers
        self.touches: list[CellAccess] = []

    def record_bindings(self, terms: Mapping[str, Any], done: bool = True) -> None:
        """Record bindings of the drawn rule's metavariables and phrases, and whether this step is all of it."""

    # ------------------------------------------------------------------------------------------------- stores

    def lookup(self, C: Config, name: Any) -> Any:
        """The value of a name in the nearest store that binds it, or None; nothing is recorded."""
        found = find_entry(C, name)
        if found is None:
            for config in self.outer:
                found = self._find_outside(config, name)
                if found is not None:
                    break
        return found

    def owner(self, C: Config, name: Any) -> Task:
        """The task whose store binds a name, the nearest of those that do."""
        return next(config.t for config in (C, *self.outer) if find_entry(config, name) is not None)

    def read(self, C: Config, name: str) -> Any:
        """The value of a variable or an index; a store of another task is shared, and the read is recorded."""
        found = find_entry(C, name)
        if found is not None:
            return found
        for config in self.outer:
            found = self._find_outside(config, name)
            if found is not None:
                self._touch_name(config, name, "read", found)
                return found
        return None

    def write(self, C: Config, name: Any, value: Any, effect: Effect | None = "write") -> Config:
        """C with the nearest store that binds the name changed; in another task's store the write is recorded."""
        changed = _assign(C, name, value)
        if changed is not None:
            return changed
        for k, config in enumerate(self.outer):
            if self._assign_outside(k, name, value):
                if effect is not None:
                    self._touch_name(config, name, effect, value)
                return C
        raise KeyError(name)

    def _find_outside(self, config: Config, name: Any) -> Any:
        """The value of a name in the stores of a task that this one descends from."""
        return find_entry(config, name)

    def _assign_outside(self, k: int, name: Any, value: Any) -> bool:
        """Change the nearest store of `outer[k]` that binds the name; False if none does."""
        changed = _assign(self.outer[k], name, value)
        if changed is None:
            return False
        self.outer = (*self.outer[:k], changed, *self.outer[k + 1 :])
        return True

    def _touch_name(self, config: Config, name: Any, effect: Effect, value: Any) -> None:
        cell = SharedName(name, config.t.chain, _scopes(config, name))
        shown = value.value if isinstance(value, ir.Literal) else value
        self.touches.append(CellAccess(cell, effect, str(cell), buffer="variable", value=shown))
        self.visible |= not isinstance(name, str) or name in self.facts.contended

    def look_at_chunk(self, C: Config, name: Chunk) -> None:
        """Record an atomic look at a chunk counter that leaves it as it is."""
        self.write(C, name, self.lookup(C, name), effect="look")

    # -------------------------------------------------------------------------------------------------- tensors

    def handle(self, C: Config, tensor: str) -> Handle:
        """The tensor's handle, by the nearest store that has one."""
        found: Handle | None = self.lookup(C, tensor)
        return UNDECLARED if found is None else found

    def is_root(self, F: ir.Fiber) -> bool:
        """Whether F is the root fiber of its tensor, as programs write it."""
        return F.level == self.towers[F.tensor].rank + 1

    def level(self, F: ir.Fiber) -> Level:
        """The storage level or leaf that F is a fiber of."""
        tower = self.towers[F.tensor]
        return tower.levels[tower.depths[F.level]]

    def extent(self, F: ir.Fiber) -> int:
        """The extent of the axis that F iterates over."""
        return self.towers[F.tensor].shape[F.level - 2]

    def open_fibers(self, C: Config) -> Iterator[ir.Fiber]:
        """The fibers that this task and those it descends from are updating."""
        for config in (C, *self.outer):
            for store in stores(config):
                for name, value in store.items():
                    if isinstance(value, Cursor) and value.updating:
                        yield name

    def instance(self, C: Config, F: ir.Fiber) -> Instance:
        """The instance that F lies in: the root fiber's is that of the tensor's handle."""
        return self.handle(C, F.tensor).instance if self.is_root(F) else F.instance

    def start(self, C: Config, code: LinearCode, tensor: str, instance: Instance, **inputs: Any) -> Frame:
        """A run of one of the tensor's procedures, before its first access."""
        fill = inputs.pop("z", None)
        if fill is None:
            fill = self.handle(C, tensor).fill
        return start(code, tensor, instance, {"z": fill, "task": C.t, **inputs})

    def perform_next(self, C: Config, frame: Frame) -> Frame:
        """Perform the next access of a run, if it has one left."""
        if frame.has_ended:
            return frame
        self.C = C
        return advance(frame, self)

    # ------------------------------------------------------------------------------------- cells (frames.Memory)

    def load(self, cell: Cell, position: int | None, index: int | None) -> Any:
        """Read a cell."""
        value = self.heap.get(cell, 0)
        self._touch(cell, "read", position, index, value)
        return value

    def look(self, cell: Cell, position: int | None, index: int | None) -> Any:
        """Read a cell atomically."""
        value = self.heap.get(cell, 0)
        self._touch(cell, "look", position, index, value)
        return value

    def store(self, cell: Cell, value: Any, position: int | None, index: int | None) -> None:
        """Write a cell."""
        self._touch(cell, "write", position, index, value)
        self.heap = self.heap.set(cell, value)

    def update(
        self, cell: Cell, change: Callable[[Any], Any], position: int | None, index: int | None, effect: Rmw
    ) -> None:
        """Read and write a cell in one step."""
        value = change(self.heap.get(cell, 0))
        self._touch(cell, effect, position, index, value)
        self.heap = self.heap.set(cell, value)

    def _touch(self, cell: Cell, effect: Effect, position: int | None, index: int | None, value: Any) -> None:
        tower = self.towers[cell.tensor]
        level = tower.levels[cell.depth].name
        number = tower.numbers[cell.depth]
        self.touches.append(CellAccess(cell, effect, cell.tensor, number, level, cell.buffer, position, index, value))
        if self.outer and not self.visible:
            self.visible = not self._private(cell)

    def _private(self, cell: Cell) -> bool:
        """Whether no other task that runs now could touch the cell, or none could write it.

        A tensor in read mode changes mode only in the scope that declared it, which has stopped here or belongs to this
        task.
        """
        tower = self.towers[cell.tensor]
        owner = tower.levels[cell.depth].key if (cell.depth, cell.buffer) in tower.private_buffers else ""
        return alone(cell, self.C.t.chain, owner) or self.handle(self.C, cell.tensor).mode == "read"

    def drop(self, tensor: str, instance: Instance) -> None:
        """Forget a private copy."""
        self.heap = without(self.heap, tensor, instance)


class RecordingMemory(RuleMemory):
    """A memory that records bindings of the metavariables of the rule that applies: see `rules/schema.py`."""

    is_recording = True
    done = True
    """whether the step is all of the rule, or one access of it, whose last premise is still to be shown"""

    def __init__(self, heap: Any, facts: Facts, outer: Iterable[Config]) -> None:
        super().__init__(heap, facts, outer)
        self.terms: dict[str, Any] = {}

    def record_bindings(self, terms: Mapping[str, Any], done: bool = True) -> None:
        self.terms, self.done = dict(terms), done


# ------------------------------------------------------------------------------------------------- stores in contexts


def stores(C: Config) -> Iterator[Store]:
    """The task's own stores, innermost first."""
    yield C.σ
    E: Context = C.E
    while E is not None:
        if isinstance(E, Scope):
            yield E.store
        E = E.E


def find_entry(C: Config, name: Any) -> Any:
    """The entry of a name in the nearest of the task's own stores that binds it; None if none does."""
    found = C.σ.get(name)
    if found is not None:
        return found
    E = C.E
    while E is not None:
        if type(E) is Scope:
            found = E.store.get(name)
            if found is not None:
                return found
        E = E.E
    return None


def _assign(C: Config, name: Any, value: Any) -> Config | None:
    """C with the nearest of its own stores that binds the name changed; None if none does."""
    if name in C.σ:
        return C.bind(name, value)
    E = _assign_in(C.E, name, value)
    return None if E is None else Config(C.s, C.t, C.σ, E)


def _assign_in(E: Context, name: Any, value: Any) -> Context:
    above: list[Then | Hole | Scope] = []
    while E is not None and not (isinstance(E, Scope) and name in E.store):
        above.append(E)
        E = E.E
    if E is None:
        return None
    assert isinstance(E, Scope)
    changed: Context = Scope(E.store.set(name, value), E.E)
    for part in reversed(above):
        match part:
            case Then(rest=rest):
                changed = Then(rest, changed)
            case Hole(node=node, k=k):
                changed = Hole(node, k, changed)
            case Scope(store=store):
                changed = Scope(store, changed)
    return changed


def _scopes(C: Config, name: Any) -> int:
    """Count the scopes of the task outside of the store that binds the name."""
    binding = [name in store for store in stores(C)]
    return len(binding) - 1 - binding.index(True)


def fault_unless(holds: bool, message: str, C: Config) -> None:
    """A Fault at the redex unless a premise holds."""
    if not holds:
        raise Fault(message, C.span)
