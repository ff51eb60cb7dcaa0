"""Bound programs as compiled C, run on threads in the memory that the register machine runs in, too."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

from wingspan.compiled import build
from wingspan.compiled.emit_c import Site, borrowed, read_only, with_sites
from wingspan.compiled.inputs import cells
from wingspan.elaborate import Elaborated
from wingspan.errors import Fault
from wingspan.lang import algebra
from wingspan.lang.ir import Value
from wingspan.plan.ir import Atomic, Buffer, Check, Compute, Expr
from wingspan.plan.pipeline import lower
from wingspan.runtime import _memory, faults
from wingspan.runtime.faults import at, limit, operator
from wingspan.runtime.lease import Lease, Limits, faulting
from wingspan.runtime.memory import buffers, result
from wingspan.runtime.results import decoded, exact, left
from wingspan.tensors.frozen import Stored
from wingspan.tensors.tensor import Tensor


class Compiled:
    """A bound program with its inputs, compiled; it may run any number of times.

    The plan is that of the register machine. Only what `wingspan check` accepts may run: C trusts that no tasks race.
    """

    def __init__(self, bound: Elaborated) -> None:
        self.bound, self.plan = bound, lower(bound)
        self.source, self._sites = with_sites(self.plan)
        library = build.library(self.source)
        library.ws_printed_body.restype = ctypes.c_void_p
        self._body: int = library.ws_printed_body()
        self._inputs = {name: buffers(name, tensor) for name, tensor in bound.inputs.items()}
        self._read_only = read_only(self.plan)
        self._lent = borrowed(self.plan)
        self._spare: list[tuple[int, _memory.Memory]] = []

    @faulting()
    def run(self, *, limits: Limits | None = None) -> tuple[dict[str, Tensor], dict[str, Value]]:
        """Run once: every tensor updated or returned, and the variables of the outermost scope.

        The tensors look at the memory of the run. A Fault if the run meets one; KeyboardInterrupt and the like end it.
        """
        lease = Lease(self._spare, limits or Limits(), self.plan)
        for name, arrays in self._inputs.items():
            for key, stored in arrays.items():
                lease.give(name, key, stored, self._borrowed)
        ends = self.plan.ends
        words, fault = lease.memory.run(self._body, len(ends))
        if fault is not None:
            raise self._fault(lease, *fault)
        variables, fills = left(self.plan, [decoded(e.type, words, k) for k, e in enumerate(ends)])
        tensors = {name: self._result(lease, name, fills[name]) for name in self.bound.outputs}
        return tensors, variables

    def _result(self, lease: Lease, name: str, fill: Value) -> Tensor:
        if name in self._read_only:
            return self.bound.inputs[name]
        return result(self.bound.towers[name], lease.arrays(name), fill)

    def _borrowed(self, buffer: Buffer, stored: Stored) -> Stored | None:
        """An array that C can read where it is: of columns, whose indices and pointers count from 0 there."""
        return Stored(cells(buffer, stored, borrowed=True)) if buffer.tensor in self._lent else None

    def _fault(self, lease: Lease, kind: int, values: bytes, where: int, about: tuple[int, int] | None) -> Fault:
        """What made a run stop."""
        site = self._sites[where] if where >= 0 else Site(None, "", "")
        noted = struct.unpack("<2q", values)
        match kind, site.statement:
            case (faults.OPERATOR, Atomic(op=op) as s):
                return operator(s, op, noted)
            case (faults.OPERATOR, Compute(op=op, args=args) as s):
                return operator(s, op, _told(lease, args))
            case (faults.CHECK, Check(message=message, values=named) as s):
                told = _told(lease, [e for _, e in named])
                shown = {name: algebra.show(value) for (name, _), value in zip(named, told, strict=True)}
                return at(s, message.format(**shown))
        buffer = None if about is None else self.plan.groups[about[0]].buffers[about[1]]
        return at(site.statement, *limit(kind, noted[0], buffer))


def _told(lease: Lease, about: Sequence[Expr]) -> list[Any]:
    """The values of expressions where a run has stopped."""
    words = lease.memory.told(len(about))
    return [exact(decoded(e.type, words, k)) for k, e in enumerate(about)]
