"""The engine's faults in the words of the language: the same message as every other engine's."""

from __future__ import annotations

import struct

from wingspan.base.errors import Fault, InternalError
from wingspan.lang import algebra
from wingspan.native.code import RegisterCode
from wingspan.plan.ir import AtomicUpdate, Check, Compute, Stmt
from wingspan.runtime import faults
from wingspan.runtime.faults import fault_at, limit, operator_fault
from wingspan.runtime.results import exact


def undefined_fault(code: RegisterCode, s: Stmt | None, registers: bytes) -> Fault:
    """The fault of a `Compute` that is not defined, or a `Check` that does not hold, with these registers."""
    match s:
        case Check(message=message, values=values):
            return fault_at(s, message.format(**{name: algebra.show(code.value(registers, e)) for name, e in values}))
        case Compute(op=op, args=args):
            return operator_fault(s, op, [exact(code.value(registers, e)) for e in args])
    raise InternalError(f"the engine stops at {s}, which is no fault")


def explain_stop(code: RegisterCode, reservation: int, kind: int, values: bytes, pc: int, registers: bytes) -> Fault:
    """The fault of a run that stopped at an instruction, -1 being before the first: `kind` with its two values.

    `reservation` is the address space that each buffer should have.
    """
    s = code.statements[pc] if pc >= 0 else None
    x, y = struct.unpack("<2q", values)
    match kind, s:
        case (faults.OPERATOR, AtomicUpdate(op=op)):
            return operator_fault(s, op, [x, y])
        case (faults.OPERATOR | faults.CHECK, _):
            return undefined_fault(code, s, registers)
    buffer = s.ref.buffer if s is not None and hasattr(s, "ref") else None
    return fault_at(s, *limit(kind, x, buffer, code.plan.groups, reservation))
