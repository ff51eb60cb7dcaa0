"""Plans on threads of the system: arrays into buffers, the run, and buffers as arrays.

An input's array is used as it is where the plan only reads the buffer, and copied where the plan writes it. Results are
views of the engine's memory, which lives as long as one of them does; then the engine uses it for its next run.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeVar, get_args

import numpy as np

from wingspan.errors import Fault, InputError, InternalError
from wingspan.lang.ir import Instance, Value
from wingspan.native import _engine
from wingspan.native.assemble import OPCODES, Code
from wingspan.native.faults import SPACE, explain, limit
from wingspan.plan.ir import Buffer, Group, Plan
from wingspan.plan.layout import DTYPES
from wingspan.tensors.frozen import Key, Stored

T = TypeVar("T")
Mode = Literal["plain", "seq_cst", "yields"]
"""How tasks see each other's accesses: as the hardware has it; in one order that all agree on; so, and now and then
a task lets others go first, so that rare orders happen.
"""

if len(OPCODES) != _engine.OPCODE_COUNT:
    raise InternalError("wingspan.native._engine is out of date: run `python setup.py build_ext --inplace`")

atexit.register(_engine.dismiss)


def controlled(code: Code) -> Callable[[int, bytes], tuple[int, bytes]]:
    """Runs private instructions, from one with these registers: where it stops, and with what registers.

    That is before a rest, before an instruction that needs help, and before one that is a fault (`faults.undefined`).
    """
    return _engine.Program(code.table, len(code.types)).settle


@dataclass(frozen=True)
class Limits:
    """What a run may use, in bytes."""

    memory: int = field(default_factory=lambda: os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 5 * 4)
    """memory in all, without what is taken from arrays as it is; four fifths of what the machine has"""
    reservation: int = 2**36
    """address space for each buffer; only what is written takes memory"""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("memory", self.memory, 1, 2**62),
            ("reservation", self.reservation, 2**12, 2**45),
        ):
            if not least <= value <= most:
                raise InputError(f"a {name} limit of {value} bytes", fix=f"give {least} to {most} bytes")


@contextmanager
def faulting() -> Iterator[None]:
    """A Fault where there is no memory."""
    try:
        yield
    except MemoryError:
        message, fix = limit(SPACE, 0)
        raise Fault(message, fix=fix) from None


class Engine:
    """A plan, ready to run any number of times."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self._program = _engine.Program(code.table, len(code.types))
        self._roots = {group.tensor: group for group in reversed(code.plan.groups) if group.parent is None}
        self._spare: list[tuple[int, _engine.Memory]] = []

    @faulting()
    def run(
        self,
        inputs: Mapping[str, Mapping[Key, Stored]],
        *,
        limits: Limits | None = None,
        mode: Mode = "plain",
        seed: int = 0,
    ) -> Results:
        """Run the plan on inputs in read mode, by tensor, depth of the level, buffer and instance.

        A Fault if the run meets one; KeyboardInterrupt and the like end it, too. No task goes on after that.
        """
        if mode not in get_args(Mode):
            raise InputError(f"there is no mode {mode}", fix=f"use {', '.join(get_args(Mode))}")
        lease = Lease(self._spare, limits or Limits())
        lease.open(self.code.plan)
        registers = self.code.initial
        for name, reg in self.code.plan.roots:
            root = lease.made(lease.memory.root(self._roots[name].id))
            registers = self.code.put(registers, reg, root)
            for key, stored in inputs.get(name, {}).items():
                self._set(lease, name, root, key, stored)
        registers, fault = self._program.run(lease.memory, registers, mode != "plain", mode == "yields", seed % 2**64)
        if fault is not None:
            raise explain(self.code, *fault)
        return Results(self.code, registers, lease)

    def _set(self, lease: Lease, tensor: str, root: int, key: Key, stored: Stored) -> None:
        """Let a buffer of an input hold what is stored."""
        depth, name, path = key
        group, instance = self._roots[tensor], root
        for tag, number in path:
            group = next(g for g in self.code.plan.groups if g.parent == group.id and g.tag == tag)
            instance = lease.made(lease.memory.child(group.id, instance, number))
        buffer = next((b for b in group.buffers if (b.depth, b.name) == (depth, name)), None)
        if buffer is None or not len(stored.values):
            return
        if buffer.hashed:
            at = np.arange(1, len(stored.values) + 1) if stored.at is None else stored.at
            values = stored.values.astype(np.int64) + stored.shift
            lease.made(lease.memory.scatter(instance, buffer.number, at.astype(np.int64), values), buffer)
        elif buffer not in self.code.written and _as_it_is(stored, buffer):
            lease.memory.borrow(instance, buffer.number, stored.values, stored.shift)
            lease.borrowed[instance, buffer.number] = stored
        else:
            contents = np.ascontiguousarray(stored.logical(DTYPES[buffer.width])).view(np.uint8)
            lease.made(lease.memory.fill(instance, buffer.number, contents), buffer)


def _as_it_is(stored: Stored, buffer: Buffer) -> bool:
    """Whether the engine can read an array where it is."""
    array = stored.values
    if stored.at is not None or not array.flags.c_contiguous or not array.flags.aligned or not array.dtype.isnative:
        return False
    match buffer.type:
        case "float":
            return array.dtype == np.float64 and not stored.shift
        case "bool":
            return array.dtype in (np.bool_, np.uint8) and not stored.shift
    return array.dtype in (np.int64, np.int32) or (array.dtype == np.uint8 and not stored.shift)


class Lease:
    """The memory of one run, for as long as anybody looks at it; then its engine has it back."""

    def __init__(self, spare: list[tuple[int, _engine.Memory]], limits: Limits) -> None:
        self.limits = limits
        self.borrowed: dict[tuple[int, int], Stored] = {}
        self._spare = spare
        self._opened = False

    def open(self, plan: Plan) -> None:
        """Take memory that was used before, or new memory. Other threads that run the same engine take it, too."""
        while True:
            try:
                reservation, self.memory = self._spare.pop()
            except IndexError:
                break
            self.memory.reset(self.limits.memory)
            if reservation == self.limits.reservation and self.memory.committed <= self.limits.memory:
                self._opened = True
                return
        groups = [(-1 if g.parent is None else g.parent, g.keys, _shapes(g)) for g in plan.groups]
        self.memory = _engine.Memory(groups, self.limits.memory, self.limits.reservation)
        self._opened = True

    def made(self, good: T, buffer: Buffer | None = None) -> T:
        """What was asked of the memory; a Fault if it could not give it."""
        if not good:
            kind, x, _ = self.memory.fault()
            message, fix = limit(kind, x, buffer)
            raise Fault(message, fix=fix)
        return good

    def __del__(self) -> None:
        if self._opened and not self._spare:
            self._spare.append((self.limits.reservation, self.memory))


def _shapes(group: Group) -> list[tuple[str, bool, int]]:
    return [(b.width, b.hashed, b.bound) for b in group.buffers]


class Results:
    """What a run left behind."""

    def __init__(self, code: Code, registers: bytes, lease: Lease) -> None:
        self._code, self._registers, self._lease = code, registers, lease

    @property
    def variables(self) -> dict[str, Value]:
        """The variables of the outermost scope; doubles as rationals."""
        return self._code.variables(self._registers)

    @property
    def fills(self) -> dict[str, Value]:
        """The fill value that each output ends with."""
        return self._code.fills(self._registers)

    def arrays(self, tensor: str) -> dict[Key, Stored]:
        """What the buffers of a tensor hold, as views of the engine's memory; arrays may end in cells not in use."""
        return {
            (buffer.depth, buffer.name, path): stored
            for instance, path, group in self._instances(tensor)
            for buffer in group.buffers
            if not buffer.scratch and len((stored := self._stored(instance, buffer)).values)
        }

    def _instances(self, tensor: str) -> Iterator[tuple[int, Instance, Group]]:
        """The instances of a tensor that the run has used, with what leads to them from its root."""
        found = {x: (self._code.plan.groups[g], parent, key) for x, g, parent, key in self._lease.memory.instances()}
        roots = {self._code.get(self._registers, reg) for name, reg in self._code.plan.roots if name == tensor}
        paths: dict[int, Instance | None] = {0: None}

        def path(x: int) -> Instance | None:
            if x not in paths:
                group, parent, key = found.get(x, (None, 0, 0))
                above = () if x in roots else path(parent)
                step = () if x in roots or group is None else ((group.tag, key),)
                paths[x] = None if above is None else (*above, *step)
            return paths[x]

        for x, (group, _, _) in found.items():
            if group.tensor == tensor and (leads := path(x)) is not None:
                yield x, leads, group

    def _stored(self, instance: int, buffer: Buffer) -> Stored:
        if (instance, buffer.number) in self._lease.borrowed:
            return self._lease.borrowed[instance, buffer.number]
        memory = self._lease.memory
        if buffer.hashed:
            entries = np.frombuffer(memory.entries(instance, buffer.number), np.int64).reshape(-1, 2)
            return Stored.scattered(entries[:, 0], entries[:, 1])
        array = np.asarray(memory.cells(instance, buffer.number, self._lease))
        return Stored(array.view(np.bool_) if buffer.type == "bool" else array)
