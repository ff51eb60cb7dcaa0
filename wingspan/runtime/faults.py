"""Messages for failures that may occur in any run and belong to no rule."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from typing import Any

from wingspan.base.errors import AssertionFault, Fault, InternalError
from wingspan.lang import algebra
from wingspan.lang.algebra import INT64
from wingspan.lang.widths import WIDTHS
from wingspan.plan.ir import AtomicUpdate, Check, Group, PlanBuffer, Stmt
from wingspan.plan.layout import DTYPES

OPERATOR, CHECK, NO_CELL, NARROW, READ_ONLY, MEMORY, NO_CHILD, THREADS, DEADLOCK, SPACE = range(1, 11)
"""The kinds of failures, as numbered in runtime.h."""


SPACE_OF_PROCESS = 2**46
"""Bytes of address space that buffers may have together: half of what 64-bit processors give a process."""


RAISE = "raise the limit of the process: ulimit -v"
MOST = 2**36
"""Bytes of the largest reservation that is advised, which is the default."""


def affordable(groups: Sequence[Group]) -> int:
    """A reservation for each buffer, a power of 2 in bytes, with which all have address space."""
    counts: dict[int, int] = {}
    for group in groups:
        counts[group.id] = 1 if group.parent is None else counts[group.parent] * max(group.keys, 1)
    buffers = [(counts[g.id], b.bound * DTYPES[b.width].itemsize) for g in groups for b in g.buffers if not b.hashed]
    limits = [n // 2 for n, _ in map(resource.getrlimit, (resource.RLIMIT_AS, resource.RLIMIT_DATA)) if n >= 0]
    space, found = min([SPACE_OF_PROCESS, *limits]), MOST
    while found > 2**12 and 2 * sum(n * (min(size, found) if size else found) for n, size in buffers) > space:
        found //= 2  # address space is taken in pieces, each twice as large as the one before: half may stay unused
    return found


def limit(
    kind: int, x: int, buffer: PlanBuffer | None = None, groups: Sequence[Group] = (), reservation: int = 0
) -> tuple[str, str]:
    """The message and the remedy for a failure that belongs to no rule.

    `groups` are those of the plan, and `reservation` is what each buffer should have, in bytes.
    """
    name = "memory" if buffer is None else _name(buffer)
    racy = "tasks may race for it: see `wingspan check`"
    if kind == NO_CELL and buffer is not None and (x < 1 or 0 < buffer.bound < x):
        return f"{name} has no cell {x}", racy
    less = affordable(groups)
    reserve = f"reserve less for each buffer: --reserve {_size(less)}"
    if kind == NO_CELL and buffer is not None and groups and not _shares(groups[buffer.group]):
        need = x * DTYPES[buffer.width].itemsize
        if 0 < need <= reservation:
            fix = reserve if need <= less else RAISE
            return f"out of memory: the system has no address space left for {name} at cell {x}", fix
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
        SPACE: ("out of memory: the system has no address space left", reserve if less < MOST else RAISE),
    }
    return messages[kind]


def _shares(group: Group) -> bool:
    """Whether the instances of a group, of which there may be very many, share what a buffer may reserve."""
    return group.parent is not None and group.keys == 0


def _size(n: int) -> str:
    """A power of 2 from 4096 on, in bytes, as `--reserve` takes it."""
    power = (n.bit_length() - 1) // 10
    return f"{n >> 10 * power}{' KMGT'[power]}"


def operator_fault(s: Stmt, op: str, operands: Sequence[Any]) -> Fault:
    """The fault of an operator that is not defined for these operands."""
    try:
        if op == "muladd":
            x, n, v = operands
            raise overflow_fault("+" if n > 0 else "-", x, v)
        if isinstance(s, AtomicUpdate):
            x, v = operands
            raise overflow_fault(op, x, v, s.ref.buffer) if s.times is not None else unfit_fault(s.ref.buffer, op, x, v)
        if op == "int":
            algebra.convert(operands[0], "int")
        else:
            algebra.apply("-" if op == "neg" else op, *operands)
    except Fault as fault:
        return fault_at(s, fault.message)
    raise InternalError(f"the engine stops at {s}, which is no fault")


def overflow_fault(op: str, x: int, v: int, buffer: PlanBuffer | None = None) -> Fault:
    """The fault of the first of many updates (+ or -) of x by v whose result does not fit the cell of a buffer."""
    held, step = INT64 if buffer is None else WIDTHS[buffer.width].range, v if op == "+" else -v
    fit = (held[-1] - x if step > 0 else x - held[0]) // abs(step)
    return unfit_fault(buffer, op, x + fit * step, v)


def unfit_fault(buffer: PlanBuffer | None, op: str, x: int, v: int) -> Fault:
    """The fault of an update of x by v whose result does not fit the cell of a buffer, or 64 bits."""
    try:
        made = algebra.apply(op, x, v)
    except Fault as fault:
        return fault
    if buffer is None or WIDTHS[buffer.width].holds(made):
        raise InternalError(f"{x} {op} {v} does not overflow")
    return Fault(f"{buffer.place}{made} does not fit {buffer.width}")


def fault_at(s: Any, message: str, fix: str | None = None) -> Fault:
    """A Fault at a statement, if there is one."""
    if s is None:
        return Fault(message, fix=fix)
    kind = AssertionFault if isinstance(s, Check) and s.origin.operation == "Assert" else Fault
    return kind(s.origin.prefix + message, s.origin.span, fix=fix)


def _name(buffer: PlanBuffer) -> str:
    if buffer.depth < 0:
        return buffer.tensor
    return f"{buffer.place}{buffer.name}"
