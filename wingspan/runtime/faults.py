"""Messages for failures that may occur in any run and belong to no rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wingspan.errors import Fault, InternalError
from wingspan.lang import algebra
from wingspan.lang.algebra import INT64
from wingspan.lang.widths import WIDTHS
from wingspan.plan.ir import Atomic, Buffer, Stmt

OPERATOR, CHECK, NO_CELL, NARROW, READ_ONLY, MEMORY, NO_CHILD, THREADS, DEADLOCK, SPACE = range(1, 11)
"""The kinds of failures, as numbered in runtime.h."""


def limit(kind: int, x: int, buffer: Buffer | None = None) -> tuple[str, str]:
    """The message and the remedy for a failure that belongs to no rule."""
    name = "memory" if buffer is None else _name(buffer)
    racy = "tasks may race for it: see `wingspan check`"
    if kind == NO_CELL and buffer is not None and (x < 1 or 0 < buffer.bound < x):
        return f"{name} has no cell {x}", racy
    messages = {
        NO_CELL: (
            f"{name} has outgrown the address space reserved for it at cell {x}",
            "raise the reservation: --reserve",
        ),
        NARROW: (f"{x} does not fit a cell of {name}", racy),
        READ_ONLY: (f"{name} is read only", racy),
        MEMORY: (
            f"out of memory: the run needs {x} bytes, which is more than its limit",
            "raise the memory limit: --max-memory",
        ),
        NO_CHILD: (f"there is no copy with number {x}", racy),
        THREADS: (f"the system cannot start {x} more thread{'s' * (x != 1)}", "use devices with fewer threads"),
        DEADLOCK: (f"deadlock: all tasks wait for locks, one of them for {name} of {x}", "see `wingspan explore`"),
        SPACE: ("out of memory: the system has no address space left", "reserve less for each buffer: --reserve"),
    }
    return messages[kind]


def operator(s: Stmt, op: str, operands: Sequence[Any]) -> Fault:
    """The fault of an operator that is not defined for these operands."""
    try:
        if op == "muladd":
            x, n, v = operands
            raise overflow("+" if n > 0 else "-", x, v)
        if isinstance(s, Atomic):
            x, v = operands
            raise overflow(op, x, v, s.ref.buffer) if s.times is not None else unfit(s.ref.buffer, op, x, v)
        if op == "int":
            algebra.convert(operands[0], "int")
        else:
            algebra.apply("-" if op == "neg" else op, *operands)
    except Fault as fault:
        return at(s, fault.message)
    raise InternalError(f"the engine stops at {s}, which is no fault")


def overflow(op: str, x: int, v: int, buffer: Buffer | None = None) -> Fault:
    """The fault of the first of many updates (+ or -) of x by v whose result does not fit the cell of a buffer."""
    held, step = INT64 if buffer is None else WIDTHS[buffer.width].range, v if op == "+" else -v
    fit = (held[-1] - x if step > 0 else x - held[0]) // abs(step)
    return unfit(buffer, op, x + fit * step, v)


def unfit(buffer: Buffer | None, op: str, x: int, v: int) -> Fault:
    """The fault of an update of x by v whose result does not fit the cell of a buffer, or 64 bits."""
    try:
        made = algebra.apply(op, x, v)
    except Fault as fault:
        return fault
    if buffer is None or WIDTHS[buffer.width].holds(made):
        raise InternalError(f"{x} {op} {v} does not overflow")
    return Fault(f"{buffer.place}{made} does not fit {buffer.width}")


def at(s: Any, message: str, fix: str | None = None) -> Fault:
    """A Fault at a statement, if there is one."""
    if s is None:
        return Fault(message, fix=fix)
    return Fault(s.origin.prefix + message, s.origin.span, fix=fix)


def _name(buffer: Buffer) -> str:
    if buffer.depth < 0:
        return buffer.tensor
    return f"{buffer.place}{buffer.name}"
