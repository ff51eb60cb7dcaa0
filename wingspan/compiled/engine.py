"""Plans as compiled C, run on threads in the memory that the register machine runs in, too."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault
from wingspan.base.libraries import np
from wingspan.buffers.stored import Stored
from wingspan.compiled import cache
from wingspan.compiled.borrowing import borrowed_inputs, zero_based
from wingspan.compiled.inputs import cells
from wingspan.compiled.plan_cache import PrintedPlan
from wingspan.compiled.sites import Site
from wingspan.elaborate import Elaborated
from wingspan.lang import algebra
from wingspan.lang.ir import Value
from wingspan.levels import Tower
from wingspan.plan.ir import AtomicUpdate, Check, Compute, Expr, Group, Plan, PlanBuffer
from wingspan.plan.layout import Bounds, bounds, without_bounds
from wingspan.runtime import faults
from wingspan.runtime._lending import MOST_INPUTS, Lender, Lent
from wingspan.runtime.engine import PlanEngine
from wingspan.runtime.faults import fault_at, limit, operator_fault
from wingspan.runtime.lease import USUAL, BufferLayout, Lease, Limits, Mode, Setting, memory_fault, ordering
from wingspan.runtime.memory_reuse import MemoryPool
from wingspan.runtime.plan_inputs import PlanInput, PlanInputs
from wingspan.runtime.results import Results, ScalarResults, exact, scalar_results
from wingspan.tensors.tensor import Tensor


@dataclass(frozen=True)
class Code:
    """A plan as compiled C: the text, the address of what runs it, the places where a run may fail, and its groups.

    The groups are those of the plan, and then those that only C has.
    """

    source: str
    body: int
    sites: Sequence[Site]
    groups: Sequence[Group]


def code_of(plan: Plan, racy: bool = False) -> Code:
    """A plan as a library of its own, which is kept. InputError if there is no compiler."""
    (code,) = codes_of([plan], cache.library, racy)
    return code


def codes_of(plans: Sequence[Plan], library: Callable[[str], ctypes.CDLL], racy: bool = False) -> list[Code]:
    """Plans that share a library, which is made of the text."""
    from wingspan.compiled.emit_c import together  # not for plans that are printed already

    source, about = together(plans, racy)
    bodies = _bodies(library(source), len(plans))
    return [Code(source, body, *each) for body, each in zip(bodies, about, strict=True)]


def _bodies(library: ctypes.CDLL, count: int) -> list[int]:
    """The addresses of the functions that run the plans of a library."""
    return [body or 0 for body in (ctypes.c_void_p * count).in_dll(library, "ws_bodies")]


def engine_of(printed: PrintedPlan) -> CompiledEngine:
    """The engine for a plan that is printed already. InputError if there is no compiler."""
    (body,) = _bodies(cache.library(printed.source), 1)
    return CompiledEngine(printed.plan, Code(printed.source, body, printed.sites, printed.groups))


class CompiledEngine(PlanEngine):
    """A plan as compiled C, ready to run any number of times.

    C trusts that no tasks race, as `wingspan check` finds out. A plan whose tasks may race is compiled as `racy`: then
    each access is checked, and made in the order that the run asks for, as by the register machine.
    """

    def __init__(self, plan: Plan, code: Code | None = None, *, racy: bool = False) -> None:
        """`code`: the plan's, if it is there already."""
        self.plan, self._racy = plan, racy
        self._code = code or code_of(plan, racy)
        self.source = self._code.source
        self._laid = replace(plan, groups=tuple(self._code.groups))
        self._more = bounds(self._laid)[len(plan.groups) :]
        self._ends = [e.type for e in plan.ends]
        self._pool = MemoryPool()
        self._before = b"", ScalarResults({}, {})
        self._layout = BufferLayout(self._laid, racy, frozenset() if racy else zero_based(plan, results=True))
        self.inputs = PlanInputs(plan, partial(_lends, frozenset() if racy else borrowed_inputs(plan)))

    def lender(self, towers: Mapping[str, Tower], alike: Collection[str] = ()) -> Lender | None:
        """The lender of the caller's arrays for inputs in these levels; None if the plan cannot read all in place.

        It also finds out whether the inputs `alike` store elements at the same places.
        """
        inputs = [self.inputs.in_place(name, tower) for name, tower in towers.items()]
        found = [each for each in inputs if each is not None]
        return Lender(found, alike, np) if len(found) == len(inputs) <= MOST_INPUTS else None

    def _start(self, parameters: Mapping[str, int]) -> bytes:
        numbers = [parameters[name] for name, _ in self.plan.parameters]
        return struct.pack(f"<{len(numbers)}q", *numbers)

    def _reserve(self, sizes: Bounds) -> Bounds:
        """With that of the buffers that only C has; where tasks may race, no size is known before."""
        return (*(without_bounds(self.plan) if self._racy else sizes), *self._more)

    def run(
        self,
        given: Sequence[PlanInput],
        setting: Setting | None = None,
        *,
        limits: Limits | None = None,
        mode: Mode = "plain",
        seed: int = 0,
        lent: Lent | None = None,
    ) -> Results:
        """Run the plan on inputs in read mode, which `inputs` hands over, or the `lender` lends.

        `setting` is for a plan with parameters. `mode` and `seed` matter where tasks may race. A Fault if the run meets
        one; KeyboardInterrupt and the like end it.
        """
        start, sizes, least = setting or self.usual
        how = ordering(mode)
        try:
            lease = Lease(self._pool, limits or USUAL, self._layout, given, sizes, least, lent)
            words, fault = lease.memory.run(self._code.body, start, len(self._ends), *how, seed % 2**64)
        except MemoryError:
            raise memory_fault(self.plan) from None
        if fault is not None:
            failure = self._fault(lease, *fault)
            lease.abandon(fault[0])
            try:
                raise failure
            finally:
                del failure  # else its traceback refers to itself, and keeps the memory of the run
        return Results(lease.arrays, *self._scalar_results(words))

    def _scalar_results(self, words: bytes) -> ScalarResults:
        """The values left in the words of a run; often the same as after the run before."""
        before, found = self._before
        if words != before:
            found = scalar_results(self.plan, [type_.unpack(words, k) for k, type_ in enumerate(self._ends)])
            self._before = words, found
        return found

    def _fault(self, lease: Lease, kind: int, values: bytes, where: int, about: tuple[int, int] | None) -> Fault:
        """The fault that stopped a run."""
        site = self._code.sites[where] if where >= 0 else Site(None, "", "")
        noted = struct.unpack("<2q", values)
        match kind, site.statement:
            case (faults.OPERATOR, AtomicUpdate(op=op) as s):
                return operator_fault(s, op, noted)
            case (faults.OPERATOR, Compute(op=op, args=args) as s):
                return operator_fault(s, op, _report_values(lease, args))
            case (faults.CHECK, Check(message=message, values=named) as s):
                exact = _report_values(lease, [e for _, e in named])
                shown = {name: algebra.show(value) for (name, _), value in zip(named, exact, strict=True)}
                return fault_at(s, message.format(**shown))
        buffer = None if about is None else self._laid.groups[about[0]].buffers[about[1]]
        return fault_at(site.statement, *limit(kind, noted[0], buffer, self._laid.groups, lease.limits.reservation))


class Compiled:
    """A bound program with its inputs, compiled; it may run any number of times.

    The plan is that of the register machine.
    """

    def __init__(self, bound: Elaborated, engine: CompiledEngine | None = None, *, racy: bool = False) -> None:
        """`engine`: what runs the program, if it is there already."""
        self.bound, self.engine = bound, engine or _engine_for(bound, racy)
        self.given = [self.engine.inputs.from_tensor(name, tensor) for name, tensor in bound.inputs.items()]

    def run(
        self, *, limits: Limits | None = None, mode: Mode = "plain", seed: int = 0
    ) -> tuple[dict[str, Tensor], dict[str, Value]]:
        """Run once: every tensor updated or returned, and the variables of the outermost scope.

        The tensors look at the memory of the run. A Fault if the run meets one.
        """
        results = self.engine.run(self.given, limits=limits, mode=mode, seed=seed)
        return results.tensors(self.bound.towers), results.variables


def _engine_for(bound: Elaborated, racy: bool) -> CompiledEngine:
    from wingspan.plan.pipeline import lower  # not for plans that are there already

    return CompiledEngine(lower(bound), racy=racy)


def _lends(lent: Collection[str], buffer: PlanBuffer, stored: Stored) -> Stored | None:
    """An array that C can read where it is: of columns, whose indices and pointers count from 0 there."""
    return Stored(cells(buffer, stored, borrowed=True)) if buffer.tensor in lent else None


def _report_values(lease: Lease, about: Sequence[Expr]) -> list[Any]:
    """The values of expressions where a run has stopped."""
    words = lease.memory.word_bytes(len(about))
    return [exact(e.type.unpack(words, k)) for k, e in enumerate(about)]
