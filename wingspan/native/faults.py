"""The engine's faults in the words of the language: the same message as every other engine's."""

from __future__ import annotations

import struct

from wingspan.base.errors import Fault, InternalError
from wingspan.lang import algebra
from wingspan.native.code import Code
from wingspan.plan.ir import Atomic, Check, Compute, Stmt
from wingspan.runtime import faults
from wingspan.runtime.faults import at, limit, operator
from wingspan.runtime.results import exact


def undefined(code: Code, s: Stmt | None, registers: bytes) -> Fault:
    """The fault of a `Compute` that is not defined, or a `Check` that does not hold, with these registers."""
    match s:
        case Check(message=message, values=values):
            return at(s, message.format(**{name: algebra.show(code.value(registers, e)) for name, e in values}))
        case Compute(op=op, args=args):
            return operator(s, op, [exact(code.value(registers, e)) for e in args])
    raise InternalError(f"the engine stops at {s}, which is no fault")


def explain(code: Code, reservation: int, kind: int, values: bytes, pc: int, registers: bytes) -> Fault:
    """The fault of a run that stopped at an instruction, -1 being before the first: `kind` with its two values.

    `reservation` is the address space that each buffer should have.
    """
    s = code.statements[pc] if pc >= 0 else None
    x, y = struct.unpack("<2q", values)
    match kind, s:
        case (faults.OPERATOR, Atomic(op=op)):
            return operator(s, op, [x, y])
        case (faults.OPERATOR | faults.CHECK, _):
            return undefined(code, s, registers)
    buffer = s.ref.buffer if s is not None and hasattr(s, "ref") else None
    return at(s, *limit(kind, x, buffer, code.plan.groups, reservation))
