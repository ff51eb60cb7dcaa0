"""The optional part of the protocol between exploration and a machine: steps that depend on one task.

A *local* is all that a task has for itself: its code, registers and stores, and what it may look up in the tasks that
it descends from, which have stopped. A step of a task depends on its local and on the cells that it reads, so it is
computed once for each local and what these cells hold, and then looked up (`tables.h`). All that two tasks share, or
that outlives a task, is in cells.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from wingspan.base.dataclass import dataclass
from wingspan.explorer.machine import Blocked, Machine, Step, Symmetric

S = TypeVar("S")


class Tree(NamedTuple):
    """A task, and those that it has spawned and waits for, of which at least one has not ended."""

    local: Hashable
    below: tuple[Tree, ...] = ()
    ended: bool = False


class Region(Protocol):
    """A set of cells that become absent together; comparable, and hashable."""

    def includes(self, cell: Hashable) -> bool:
        """Whether a cell is one of them."""
        ...


@dataclass(slots=True)
class CellLog:
    """The cells during one step of one task. It records what the step reads, changes and drops, in order."""

    cells: Mapping[Hashable, Any]
    reads: dict[Hashable, Any] = field(default_factory=dict)
    """the values that the step has read before it wrote there; absent cells have none"""
    changes: list[tuple[Any, Any]] = field(default_factory=list)
    written: dict[Hashable, Any] = field(default_factory=dict)
    dropped: list[Region] = field(default_factory=list)

    def get(self, cell: Hashable, default: Any = None) -> Any:
        """The value of a cell."""
        if cell in self.written:
            written = self.written[cell]
            return default if written is ABSENT else written
        if any(region.includes(cell) for region in self.dropped):
            return default
        if cell not in self.reads:
            self.reads[cell] = self.cells.get(cell, ABSENT)
        found = self.reads[cell]
        return default if found is ABSENT else found

    def set(self, cell: Hashable, value: Any) -> CellLog:
        """Write a cell."""
        self.written[cell] = value
        self.changes.append((cell, value))
        return self

    def drop(self, region: Region) -> CellLog:
        """Let the cells of a region become absent."""
        self.written = {cell: value for cell, value in self.written.items() if not region.includes(cell)}
        self.dropped.append(region)
        self.changes.append((region, DROPPED))
        return self


ABSENT: Any = object()
"""The value of a cell that was never written, or is forgotten."""

DROPPED: Any = object()
"""The mark of a change that drops a region of cells."""


@runtime_checkable
class LocalMachine(Machine[S], Protocol[S]):
    """A machine whose steps depend on one task and the cells that it reads."""

    def local_initial(self) -> tuple[Tree, Mapping[Any, Any]]:
        """The tasks and the cells before the first step."""
        ...

    def local_step(self, local: Hashable, cells: CellLog) -> Step[Tree] | Blocked:
        """The next step of a task that has not ended and waits for no other."""
        ...

    def local_join(self, local: Hashable, ended: Sequence[Hashable]) -> Tree:
        """A task that has waited for others, now that all of these have ended: alone, and it may have ended, too."""
        ...

    def global_state(self, tree: Tree, cells: Mapping[Any, Any]) -> S:
        """The state that consists of these."""
        ...


@runtime_checkable
class SymmetricLocalMachine(LocalMachine[S], Symmetric[S], Protocol[S]):
    """A machine that can also remove the names of tasks from locals and cells. What is left of a state is that of
    `anonymize`.

    The values of cells name no tasks, except those that are the name of one task and nothing else.
    """

    def anonymize_local(self, local: Hashable) -> Hashable:
        """A local without the name of its task, and without the tasks that this descends from."""
        ...

    def split_cell(self, cell: Hashable) -> tuple[str, Hashable]:
        """The task that has a cell for itself, and the cell without its name. The root task has those of all tasks."""
        ...

    def named_task(self, value: Any) -> str | None:
        """The path of the task that a value is the name of; None if it is no name."""
        ...


COUNTERPARTS = {"initial": "local_initial", "step": "local_step", "tasks": "local_step", "fingerprint": "global_state"}
"""Methods of a machine, each with the one that says the same of locals and cells."""


def offers_local_steps(machine: Machine[Any]) -> bool:
    """Whether the steps of a machine can be looked up: not if, say, `step` has been overridden and `local_step` not."""
    if not isinstance(machine, LocalMachine) or COUNTERPARTS.keys() & vars(machine):
        return False

    def definer(name: str) -> type:
        return next((kind for kind in type(machine).__mro__ if name in vars(kind)), object)

    return all(issubclass(definer(local), definer(name)) for name, local in COUNTERPARTS.items())
