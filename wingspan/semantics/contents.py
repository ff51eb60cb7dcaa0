"""The tensors and names of the root task in a state, where they can be read as they are.

A tensor whose format finds positions at run time can be read only while it is in read mode. One whose positions are
computed can be read at any time.
"""

from __future__ import annotations

from wingspan.base.errors import Fault
from wingspan.lang import ir
from wingspan.levels import Tower
from wingspan.semantics.config import Handle, ProgramState
from wingspan.semantics.memory import stores
from wingspan.tensors.cells import Cells
from wingspan.tensors.frozen import collect
from wingspan.tensors.tensor import Tensor
from wingspan.tensors.walk import invariants


def root_variables(state: ProgramState) -> dict[str, ir.Value]:
    """The values of the root task's variables and loop indices; of one name that of the innermost scope."""
    known: dict[str, ir.Value] = {}
    for store in stores(state.root):
        for name, bound in store.items():
            value = bound.value if isinstance(bound, ir.Literal) else bound
            if isinstance(name, str) and isinstance(value, ir.Value):
                known.setdefault(name, value)
    return known


def root_handle(state: ProgramState, tensor: str) -> Handle | None:
    """The root task's handle of a tensor, if it is declared."""
    handle = next((store[tensor] for store in stores(state.root) if tensor in store), None)
    return handle if isinstance(handle, Handle) and handle.mode != "undeclared" else None


def has_positions(tower: Tower) -> bool:
    """Whether each index has a position, so that the tensor can be read at any time."""
    return all(level.leaf or level.lookup for level in tower.levels)


def is_at_rest(state: ProgramState, tensor: str, tower: Tower, handle: Handle) -> bool:
    """Whether its cells can be read as they are."""
    return has_positions(tower) or (handle.mode == "read" and not is_under_way(ir.Thaw, state, tensor))


def is_under_way(kind: type[ir.Declare | ir.Freeze | ir.Thaw], state: ProgramState, tensor: str) -> bool:
    """Whether a declaration or a change of mode of the tensor has begun, and has not ended."""
    s = state.root.s
    return isinstance(s, kind) and s.tensor == tensor and s.frame is not None


def resting_tensor(state: ProgramState, tensor: str, tower: Tower) -> Tensor:
    """A tensor whose cells can be read as they are. A Fault says why they cannot."""
    handle = root_handle(state, tensor)
    if handle is None:
        raise Fault(f"{tensor} is not declared here")
    if not is_at_rest(state, tensor, tower, handle):
        raise Fault(f"{tensor} is being updated here, and its format can be read only when it is frozen")
    cells = {
        cell._replace(tensor=""): 0 if isinstance(value, str) else value  # a lock that a task holds
        for cell, value in state.heap.items()
        if cell.tensor == tensor
    }
    wrong = invariants(collect(tower, cells)) if tower.rank else None
    if wrong:
        raise Fault(f"{tensor} is not readable: {wrong}")
    return Tensor(tower, Cells(cells), handle.fill)
