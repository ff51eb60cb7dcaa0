"""The fibertree of each tensor of a state, also while tasks are updating it.

A level that keeps no place for each index can be read only when it is frozen. So while it is updated, the tree is the
one that would be read if all loops ended here: the rules end them, and the level's own operations freeze a copy of its
cells. What has not been recorded yet, as the entry that a task is in, is in the buffers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from itertools import islice
from typing import Any

from wingspan.base.errors import Fault
from wingspan.base.libraries import np
from wingspan.buffers import procedures
from wingspan.buffers.frames import Cell
from wingspan.explorer.run import run
from wingspan.lang import ir
from wingspan.lang.printer import term
from wingspan.levels import Tower
from wingspan.semantics.config import Handle, ProgramState
from wingspan.semantics.contents import is_at_rest, is_under_way, resting_tensor, root_handle
from wingspan.semantics.machine import Semantics
from wingspan.semantics.stopped import stop_loops
from wingspan.tensors.cells import CellReader, Cells
from wingspan.tensors.frozen import collect
from wingspan.tensors.tensor import Tensor
from wingspan.tensors.walk import invariants

MOST = 64
"""A fiber has no more children here; `more` says that it has."""

Tree = dict[str, Any]
"""A fiber: {level, position, children}, a child {first, last, fiber or value}: the indices that lead to it. A value
that has a cell is with it. The root fiber may be `updating`, and say what is `unreadable`."""


def fibertrees(
    state: ProgramState, machine: Semantics, number_of: Callable[[Cell], Hashable] = lambda cell: cell
) -> dict[str, Tree | None]:
    """The tree of each tensor of the root task, None of one that is undeclared; cells are named by `number_of`."""
    resting: ProgramState | Fault | None = None
    made: dict[str, Tree | None] = {}
    for tensor, tower in machine.towers.items():
        handle = root_handle(state, tensor)
        if handle is None:
            made[tensor] = None
        elif is_at_rest(state, tensor, tower, handle):
            made[tensor] = _Reading(state, state, tensor, tower, handle, number_of).tree()
        else:
            resting = resting or _resting(state, machine)
            made[tensor] = _updating(state, resting, tensor, tower, handle, number_of)
    return made


def contents(state: ProgramState, machine: Semantics, tensor: str) -> np.ndarray:
    """The elements that the tree of a tensor has, as an array of exact values. A Fault says why it cannot be read."""
    tower, handle = machine.towers[tensor], root_handle(state, tensor)
    if handle is None or is_at_rest(state, tensor, tower, handle):
        return resting_tensor(state, tensor, tower).to_exact()
    resting = _resting(state, machine)
    if isinstance(resting, Fault):
        raise resting
    reading = _Reading(state, resting, tensor, tower, handle)
    if not is_under_way(ir.Freeze, state, tensor):
        reading.freeze()
    if reading.wrong:
        raise Fault(f"{tensor} is not readable: {reading.wrong}")
    return Tensor(tower, Cells(reading.values), handle.fill).to_exact()


def _resting(state: ProgramState, machine: Semantics) -> ProgramState | Fault:
    try:
        return run(machine, begin=stop_loops(state))
    except Fault as fault:
        return fault


def _updating(
    state: ProgramState,
    resting: ProgramState | Fault,
    tensor: str,
    tower: Tower,
    handle: Handle,
    number_of: Callable[[Cell], Hashable],
) -> Tree:
    nothing: Tree = {"level": tower.rank + 1, "position": 1, "children": [], "updating": True}
    if isinstance(resting, Fault):
        return nothing | {"unreadable": resting.message}
    reading = _Reading(state, resting, tensor, tower, handle, number_of)
    if not is_under_way(ir.Freeze, state, tensor):
        try:
            reading.freeze()
        except Fault as fault:
            return nothing | {"unreadable": fault.message}
    return reading.tree() | {"updating": True}


class _Reading:
    """The cells of a tensor in a state in which it can be read; `before` is the one that is shown."""

    def __init__(
        self,
        before: ProgramState,
        state: ProgramState,
        tensor: str,
        tower: Tower,
        handle: Handle,
        number_of: Callable[[Cell], Hashable] = lambda cell: cell,
    ) -> None:
        self.tower, self.handle, self.number_of = tower, handle, number_of
        self.values = {
            cell._replace(tensor=""): 0 if isinstance(value, str) else value  # a lock that a task holds
            for cell, value in state.heap.items()
            if cell.tensor == tensor
        }
        self.reader = CellReader(tower, self.values, handle.fill)
        self.leaf = {
            (cell.instance, cell.offset): (cell, value)
            for cell, value in before.heap.items()
            if cell.tensor == tensor and cell.depth == tower.depths[1] and cell.buffer == "val"
        }

    def tree(self) -> Tree:
        """The tensor from its root fiber down, and which invariant of a level is broken."""
        rank = self.tower.rank
        if rank == 0:
            return {"level": 1, "position": 1, "children": [], **self._value(1, ())}
        return self._fiber(rank + 1, 1, ()) | ({"unreadable": self.wrong} if self.wrong else {})

    def freeze(self) -> None:
        """End the updates of the tensor here, in this copy of its cells."""
        self.reader.run(procedures.whole_tensor_code(self.tower, "freeze", self.handle.op), self.handle.instance)

    @cached_property
    def wrong(self) -> str | None:
        """The invariant of a level that is broken."""
        return invariants(collect(self.tower, self.values)) if self.tower.rank else None

    def _fiber(self, number: int, position: int, instance: ir.Instance) -> Tree:
        found = list(islice(self.reader.stretches(number, position, instance), MOST + 1))
        children = []
        for first, last, child, inside in found[:MOST]:
            about: Tree = {"first": first, "last": last}
            if child == 0:
                about["value"] = None
            elif number == 2:
                about |= self._value(child, inside)
            else:
                about["fiber"] = self._fiber(number - 1, child, inside)
            children.append(about)
        made = {"level": number, "position": position, "children": children}
        return made | ({"more": True} if len(found) > MOST else {})

    def _value(self, position: int, instance: ir.Instance) -> Tree:
        """An element, and its cell if that holds it: freezing may have brought it there."""
        value = self.reader.value(position, instance)
        cell, held = self.leaf.get((instance, position), (None, None))
        here = cell is not None and (held == value) is True
        return {"value": term(value), **({"cell": self.number_of(cell)} if here and cell is not None else {})}
