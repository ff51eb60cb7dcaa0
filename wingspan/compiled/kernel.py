"""Bound programs as compiled C, run on threads in the memory that the register machine runs in, too."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from wingspan.compiled import build
from wingspan.compiled.emit_c import Site, columns, from_zero, read_only, with_sites
from wingspan.elaborate import Elaborated
from wingspan.errors import Fault
from wingspan.lang import algebra
from wingspan.lang.ir import Value
from wingspan.plan.ir import Buffer, Expr
from wingspan.plan.layout import DTYPES
from wingspan.plan.pipeline import lower
from wingspan.runtime import _memory
from wingspan.runtime.faults import CHECK, OPERATOR, limit
from wingspan.runtime.lease import Lease, Limits, faulting
from wingspan.runtime.memory import buffers, result
from wingspan.tensors.frozen import Stored
from wingspan.tensors.tensor import Tensor


class Compiled:
    """A bound program with its inputs, compiled; it may run any number of times.

    The plan is that of the register machine. Only what `wingspan check` accepts may run: C trusts that tasks do not race.
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
        x, *_ = noted = struct.unpack("<2q", values)
        if kind in (OPERATOR, CHECK):
            told = lease.memory.told(len(site.types))
            return Fault(_message(site, noted, told), site.span)
        buffer = None if about is None else self.plan.groups[about[0]].buffers[about[1]]
        message, fix = limit(kind, x, buffer)
        return Fault(message, site.span, fix=fix)


def _value(e: Expr, word: bytes) -> Any:
    """A result from its 8 bytes; doubles as rationals."""
    if e.type == "float":
        return algebra.exact(struct.unpack("<d", word)[0])
    (value,) = struct.unpack("<q", word)
    return bool(value) if e.type == "bool" else value


def _message(site: Site, noted: Sequence[int], told: bytes) -> str:
    """The message of a place, with its values; those of type I are what the runtime has noted of the fault."""
    shown = []
    for k, kind in enumerate(site.types):
        word = told[8 * k : 8 * k + 8]
        if kind == "I":
            shown.append(str(noted[k]))
        elif not word:
            shown.append("…")
        else:
            (value,) = struct.unpack("<d" if kind == "f" else "<q", word)
            shown.append(algebra.show(bool(value) if kind == "b" else value))
    message = site.message
    for k, text in enumerate(shown):
        message = message.replace(f"{{{k}}}", text)
    return message
