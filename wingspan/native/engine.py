"""Plans on threads of the system: arrays into buffers, the run, and buffers as arrays.

An input's array is used in place if the plan only reads the buffer, and copied if the plan writes it. Results are
views of the engine's memory, which lives as long as one of them does; then the engine uses it for its next run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from wingspan.base.libraries import np
from wingspan.buffers.stored import Stored
from wingspan.lang.widths import BY_DTYPE
from wingspan.native import _engine
from wingspan.native.code import RegisterCode
from wingspan.native.faults import explain_stop
from wingspan.plan.ir import PlanBuffer
from wingspan.runtime.engine import PlanEngine
from wingspan.runtime.lease import USUAL, BufferLayout, Lease, Limits, Mode, Setting, memory_fault, ordering
from wingspan.runtime.memory_reuse import MemoryPool
from wingspan.runtime.plan_inputs import PlanInput, PlanInputs
from wingspan.runtime.results import Results


def controlled_runner(code: RegisterCode) -> Callable[[int, bytes], tuple[int, bytes]]:
    """Runs private instructions from given registers: returns the instruction it stops at, and the registers there.

    It stops before a rest, before an instruction that needs help, and before one that faults (`faults.undefined`).
    """
    return _engine.Program(code.table, len(code.types)).settle


class NativeEngine(PlanEngine):
    """A plan, ready to run any number of times."""

    def __init__(self, code: RegisterCode) -> None:
        self.code, self.plan = code, code.plan
        self._program = _engine.Program(code.table, len(code.types))
        self._pool, self._layout = MemoryPool(), BufferLayout(self.plan)
        self.inputs = PlanInputs(self.plan, partial(_lends, code.written_buffers))

    def _start(self, parameters: Mapping[str, int]) -> bytes:
        return (self.code.with_parameters(parameters) if parameters else self.code).initial

    def run(
        self,
        given: Sequence[PlanInput],
        setting: Setting | None = None,
        *,
        limits: Limits | None = None,
        mode: Mode = "plain",
        seed: int = 0,
    ) -> Results:
        """Run the plan on inputs in read mode, which `inputs` provides; `setting` is for a plan with parameters.

        Raises the Fault that a run meets; KeyboardInterrupt and the like end it, too. No task continues after that.
        """
        registers, sizes, least = setting or self.usual
        how = ordering(mode)
        try:
            lease = Lease(self._pool, limits or USUAL, self._layout, given, sizes, least)
            for name, reg in self.code.plan.roots:
                registers = self.code.with_register(registers, reg, lease.root(name))
            registers, fault = self._program.run(lease.memory, registers, *how, seed % 2**64)
        except MemoryError:
            raise memory_fault(self.plan) from None
        if fault is not None:
            lease.abandon(fault[0])
            raise explain_stop(self.code, lease.limits.reservation, *fault)
        return Results(lease.arrays, *self.code.scalar_results(registers))


def _lends(written: Collection[PlanBuffer], buffer: PlanBuffer, stored: Stored) -> Stored | None:
    """An array that the engine can read in place."""
    return stored if buffer not in written and _as_it_is(stored, buffer) else None


def _as_it_is(stored: Stored, buffer: PlanBuffer) -> bool:
    """Whether the engine can read an array in place."""
    array = stored.values
    if stored.at is not None or not array.flags.c_contiguous or not array.flags.aligned or not array.dtype.isnative:
        return False
    if buffer.type.is_double:
        return array.dtype in (np.float64, np.float32) and not stored.shift
    if buffer.type.is_boolean:
        return array.dtype in (np.bool_, np.uint8) and not stored.shift
    narrow = array.dtype.kind in "iu" and array.dtype.name in BY_DTYPE
    return array.dtype in (np.int64, np.int32) or (narrow and not stored.shift)
