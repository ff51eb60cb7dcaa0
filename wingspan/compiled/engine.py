"""Plans as compiled C, run on threads in the memory that the register machine runs in, too."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from wingspan.compiled import build
from wingspan.compiled.emit_c import Site, borrowed, with_sites
from wingspan.compiled.inputs import cells
from wingspan.elaborate import Elaborated
from wingspan.errors import Fault
from wingspan.lang import algebra
from wingspan.lang.ir import Value
from wingspan.plan.ir import Atomic, Buffer, Check, Compute, Expr, Plan
from wingspan.plan.layout import Bounds
from wingspan.plan.pipeline import lower
from wingspan.runtime import faults
from wingspan.runtime.faults import at, limit, operator
from wingspan.runtime.handed import Handed, Inputs
from wingspan.runtime.lease import USUAL, Lease, Limits, faulting
from wingspan.runtime.results import Results, decoded, exact, left
from wingspan.runtime.spare import Spare
from wingspan.tensors.frozen import Stored
from wingspan.tensors.tensor import Tensor


class Engine:
    """A plan as compiled C, ready to run any number of times.

    Only a plan of what `wingspan check` accepts may run: C trusts that no tasks race.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.source, self._sites = with_sites(plan)
        library = build.library(self.source)
        library.ws_printed_body.restype = ctypes.c_void_p
        self._body: int = library.ws_printed_body()
        self._ends = [e.type for e in plan.ends]
        self._spare = Spare()
        self.inputs = Inputs(plan, partial(_lends, borrowed(plan)))

    @faulting
    def run(
        self,
        given: Sequence[Handed],
        *,
        parameters: Mapping[str, int] | None = None,
        sizes: Bounds | None = None,
        limits: Limits | None = None,
    ) -> Results:
        """Run the plan on inputs in read mode, which `inputs` hands over.

        `parameters` are the plan's, by name, and `sizes` are those that its buffers may have then: see
        `layout.bounds`. A Fault if the run meets one; KeyboardInterrupt and the like end it.
        """
        lease = Lease(self._spare, limits or USUAL, self.plan, given, sizes, racy=False)
        numbers = [(parameters or {})[name] for name, _ in self.plan.parameters]
        words, fault = lease.memory.run(self._body, struct.pack(f"<{len(numbers)}q", *numbers), len(self._ends))
        if fault is not None:
            raise self._fault(lease, *fault)
        return Results(lease.arrays, *left(self.plan, [decoded(type_, words, k) for k, type_ in enumerate(self._ends)]))

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


class Compiled:
    """A bound program with its inputs, compiled; it may run any number of times.

    The plan is that of the register machine.
    """

    def __init__(self, bound: Elaborated) -> None:
        self.bound, self.engine = bound, Engine(lower(bound))
        self.given = [self.engine.inputs.of(name, tensor) for name, tensor in bound.inputs.items()]

    def run(self, *, limits: Limits | None = None) -> tuple[dict[str, Tensor], dict[str, Value]]:
        """Run once: every tensor updated or returned, and the variables of the outermost scope.

        The tensors look at the memory of the run. A Fault if the run meets one.
        """
        results = self.engine.run(self.given, limits=limits)
        return results.tensors(self.bound.towers), results.variables


def _lends(lent: Collection[str], buffer: Buffer, stored: Stored) -> Stored | None:
    """An array that C can read where it is: of columns, whose indices and pointers count from 0 there."""
    return Stored(cells(buffer, stored, borrowed=True)) if buffer.tensor in lent else None


def _told(lease: Lease, about: Sequence[Expr]) -> list[Any]:
    """The values of expressions where a run has stopped."""
    words = lease.memory.told(len(about))
    return [exact(decoded(e.type, words, k)) for k, e in enumerate(about)]
