"""Steps in words: the stepper, pages, replays and pictures all print these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from wingspan.base.errors import Span
from wingspan.explorer.machine import CellAccess
from wingspan.explorer.races import OPERATIONS
from wingspan.lang import ir
from wingspan.lang.algebra import show

T = TypeVar("T")

VERBS = {
    "read": "reads", "atomic read": "atomically reads", "write": "writes", "atomic update": "atomically updates",
    "acquire": "takes", "release": "gives back",
}  # fmt: skip
"""The verb for each kind of access by a task."""


def describe_access(touch: CellAccess) -> str:
    """An access of a step: `writes c.val[3] = 1`, `takes c.lock[1]`."""
    does = f"{VERBS[OPERATIONS[touch.effect]]} {touch.cell}"
    return does if touch.effect in ("acquire", "release") else f"{does} = {show(touch.value)}"


def describe_accesses(touches: Sequence[CellAccess]) -> str:
    """All accesses of a step; empty if it has none."""
    return "; ".join(map(describe_access, touches))


def place(span: Span | None, indices: Sequence[tuple[str, object]]) -> str:
    """The place of a step, in words: `line 6, i = 3`."""
    line = [] if span is None else [f"line {span.line}"]
    return ", ".join([*line, *(f"{name} = {index}" for name, index in indices)])


def written_loops(program: ir.Node) -> set[str]:
    """The indices of the loops of a program as written."""
    return {node.index for node in program.walk() if isinstance(node, ir.For)}


def written_indices(indices: Sequence[tuple[str, T]], program: ir.Node) -> list[tuple[str, T]]:
    """The indices in force whose loops stand in the program as written."""
    loops = written_loops(program)
    return [(name, at) for name, at in indices if name in loops]
