"""Bound programs as compiled C, run on threads in the memory that the register machine runs in, too."""

from __future__ import annotations

import ctypes
import struct
from math import isfinite
from typing import Any

import numpy as np

from wingspan.compiled import build
from wingspan.compiled.emit_c import Site, columns, from_zero, read_only, with_sites
from wingspan.elaborate import Elaborated
from wingspan.errors import Fault
from wingspan.lang import algebra
from wingspan.lang.ir import Value
from wingspan.plan.ir import Atomic, Buffer, Check, Compute, Expr
from wingspan.plan.layout import DTYPES
from wingspan.plan.pipeline import lower
from wingspan.runtime import _memory
from wingspan.runtime.faults import at, limit, operator
from wingspan.runtime.lease import Lease, Limits, faulting
from wingspan.runtime.memory import buffers, result
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
        roots = {g.tensor: g for g in reversed(self.plan.groups) if g.parent is None}
        self._columns = {name for name in self._read_only if columns(roots[name])}
        self._ends = (*self.plan.variables, *self.plan.whole, *self.plan.fills)
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
        left, fault = lease.memory.run(self._body, len(self._ends), False, False, 0)
        if fault is not None:
            raise self._fault(lease, *fault)
        values = [_value(e, left[8 * k : 8 * k + 8]) for k, (_, e) in enumerate(self._ends)]
        first, last = len(self.plan.variables), len(self.plan.variables) + len(self.plan.whole)
        variables = {name: values[k] for k, (name, _) in enumerate(self.plan.variables)}
        whole = [name for k, (name, _) in enumerate(self.plan.whole) if values[first + k]]
        variables |= {name: int(variables[name]) for name in whole}
        fills = {name: values[last + k] for k, (name, _) in enumerate(self.plan.fills)}
        tensors = {name: self._result(lease, name, fills[name]) for name in self.bound.outputs}
        return tensors, variables

    def _result(self, lease: Lease, name: str, fill: Value) -> Tensor:
        if name in self._read_only:
            return self.bound.inputs[name]
        return result(self.bound.towers[name], lease.arrays(name), fill)

    def _borrowed(self, buffer: Buffer, stored: Stored) -> Stored | None:
        """An array that C can read where it is: of columns, whose indices and pointers count from 0 there."""
        if buffer.tensor not in self._columns:
            return None
        cells = stored.minus_1() if from_zero(buffer) else stored.logical(DTYPES[buffer.width])
        return Stored(np.ascontiguousarray(cells, dtype=DTYPES[buffer.width]))

    def _fault(self, lease: Lease, kind: int, values: bytes, where: int, about: tuple[int, int] | None) -> Fault:
        """What made a run stop."""
        site = self._sites[where] if where >= 0 else Site(None, "", "")
        noted = struct.unpack("<2q", values)
        match kind, site.statement:
            case (1, Atomic(op=op) as s):
                return operator(s, op, noted)
            case (1, Compute(op=op, args=args) as s):
                told = lease.memory.told(len(args))
                return operator(s, op, [_value(e, told[8 * k : 8 * k + 8]) for k, e in enumerate(args)])
            case (2, Check(message=message, values=named) as s):
                told = lease.memory.told(len(named))
                shown = {name: algebra.show(_value(e, told[8 * k : 8 * k + 8])) for k, (name, e) in enumerate(named)}
                return at(s, message.format(**shown))
        buffer = None if about is None else self.plan.groups[about[0]].buffers[about[1]]
        return at(site.statement, *limit(kind, noted[0], buffer))


def _value(e: Expr, word: bytes) -> Any:
    """The value of an expression from its 8 bytes; a double as the rational that it is, if it is finite."""
    if e.type == "float":
        (double,) = struct.unpack("<d", word)
        return algebra.exact(double) if isfinite(double) else double
    (value,) = struct.unpack("<q", word)
    return bool(value) if e.type == "bool" else value
