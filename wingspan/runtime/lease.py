"""The memory of runs on threads of the system: arrays into buffers, and buffers as arrays.

Results are views of the memory, which lives as long as one of them does; then it is used for the next run.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from wingspan.buffers.stored import Stored
from wingspan.errors import Fault, InputError
from wingspan.lang.ir import Instance
from wingspan.plan.ir import Buffer, Group, Plan, walk
from wingspan.plan.layout import DTYPES, Bounds, bounds
from wingspan.runtime import _memory
from wingspan.runtime.faults import SPACE, limit
from wingspan.tensors.frozen import Key

T = TypeVar("T")
Mode = Literal["plain", "seq_cst", "yields"]
"""How tasks see each other's accesses: as the hardware has it; in one order that all agree on; so, and now and then
a task lets others go first, so that rare orders happen.
"""

Spare = list[tuple[int, Bounds, _memory.Memory]]
"""Memory that no run has, with the reservation and the sizes of buffers that it was made for."""

atexit.register(_memory.dismiss)


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


USUAL = Limits()
"""What a run may use unless it is told otherwise."""


def ordering(mode: Mode) -> tuple[bool, bool]:
    """Whether accesses are sequentially consistent in a mode, and whether tasks let others go first."""
    if mode not in get_args(Mode):
        raise InputError(f"there is no mode {mode}", fix=f"use {', '.join(get_args(Mode))}")
    return mode != "plain", mode == "yields"


@contextmanager
def faulting() -> Iterator[None]:
    """A Fault where there is no memory."""
    try:
        yield
    except MemoryError:
        message, fix = limit(SPACE, 0)
        raise Fault(message, fix=fix) from None


class Lease:
    """The memory of one run of a plan, for as long as anybody looks at it; then it is spare again."""

    def __init__(
        self, spare: Spare, limits: Limits, plan: Plan, sizes: Bounds | None = None, racy: bool = True
    ) -> None:
        """Take memory that is spare, or new memory, for buffers of at most these sizes, or of those that the plan has.

        Other threads that run the same plan take it, too. All cells are 0, but for those of a plan that is not `racy`
        whose buffers are assigned.
        """
        self.limits, self.plan, self._racy = limits, plan, racy
        self._sizes = sizes or bounds(plan)
        self._borrowed: dict[tuple[int, int], Stored] = {}
        self._spare = spare
        self._opened = False
        self._open()
        self._groups = {group.tensor: group for group in reversed(plan.groups) if group.parent is None}
        self.roots = {name: self.made(self.memory.root(self._groups[name].id)) for name, _ in plan.roots}
        """the root instance of each tensor"""

    def _open(self) -> None:
        while True:
            try:
                reservation, sizes, self.memory = self._spare.pop()
            except IndexError:
                break
            self.memory.reset(self.limits.memory)
            enough = reservation == self.limits.reservation and _holds(sizes, self._sizes)
            if enough and self.memory.committed <= self.limits.memory:
                self._sizes, self._opened = sizes, True
                return
        groups = [
            (-1 if g.parent is None else g.parent, g.keys, self._shapes(g, sizes))
            for g, sizes in zip(self.plan.groups, self._sizes, strict=True)
        ]
        self.memory = _memory.Memory(groups, self.limits.memory, self.limits.reservation)
        self._opened = True

    def _shapes(self, group: Group, sizes: tuple[int, ...]) -> list[tuple[str, bool, int, bool]]:
        kept = [b.assigned and not self._racy for b in group.buffers]
        return [(b.width, b.hashed, size, k) for b, size, k in zip(group.buffers, sizes, kept, strict=True)]

    def made(self, good: T, buffer: Buffer | None = None) -> T:
        """What was asked of the memory; a Fault if it could not give it."""
        if not good:
            kind, x, _ = self.memory.fault()
            message, fix = limit(kind, x, buffer)
            raise Fault(message, fix=fix)
        return good

    def give(self, tensor: str, key: Key, stored: Stored, borrowed: Callable[[Buffer, Stored], Stored | None]) -> None:
        """Let a buffer of an input hold what is stored: what may be `borrowed` for it, or a copy where that is None."""
        depth, name, path = key
        groups, buffer = _place(self.plan, tensor, depth, name, tuple(tag for tag, _ in path))
        if buffer is None or not len(stored.values):
            return
        instance = self.roots[tensor]
        for group, (_, number) in zip(groups, path, strict=True):
            instance = self.made(self.memory.child(group, instance, number))
        if buffer.hashed:
            at = np.arange(1, len(stored.values) + 1) if stored.at is None else stored.at
            values = stored.values.astype(np.int64) + stored.shift
            self.made(self.memory.scatter(instance, buffer.number, at.astype(np.int64), values), buffer)
        elif (lent := borrowed(buffer, stored)) is not None:
            self.memory.borrow(instance, buffer.number, lent.values, lent.shift)
            self._borrowed[instance, buffer.number] = stored
        else:
            contents = np.ascontiguousarray(stored.logical(DTYPES[buffer.width])).view(np.uint8)
            self.made(self.memory.fill(instance, buffer.number, contents), buffer)

    def arrays(self, tensor: str) -> Arrays:
        """What the buffers of a tensor hold, as views of the memory; arrays may end in cells not in use."""
        return Arrays(self, tensor)

    def views(self, tensor: str) -> dict[Key, Stored]:
        """The same, at once."""
        return {
            (buffer.depth, buffer.name, path): stored
            for instance, path, group in self._instances(tensor)
            for buffer in group.buffers
            if not buffer.scratch and len((stored := self._stored(instance, buffer)).values)
        }

    def _instances(self, tensor: str) -> Iterator[tuple[int, Instance, Group]]:
        """The instances of a tensor that the run has used, with what leads to them from its root."""
        found = {x: (self.plan.groups[g], parent, key) for x, g, parent, key in self.memory.instances()}
        paths: dict[int, Instance | None] = {0: None, self.roots[tensor]: ()}

        def path(x: int) -> Instance | None:
            if x not in paths:
                group, parent, key = found.get(x, (None, 0, 0))
                above = path(parent)
                step = () if group is None else ((group.tag, key),)
                paths[x] = None if above is None else (*above, *step)
            return paths[x]

        for x, (group, _, _) in found.items():
            if group.tensor == tensor and (leads := path(x)) is not None:
                yield x, leads, group

    def _stored(self, instance: int, buffer: Buffer) -> Stored:
        if (instance, buffer.number) in self._borrowed:
            return self._borrowed[instance, buffer.number]
        if buffer.hashed:
            entries = np.frombuffer(self.memory.entries(instance, buffer.number), np.int64).reshape(-1, 2)
            return Stored.scattered(entries[:, 0], entries[:, 1])
        array = np.asarray(self.memory.cells(instance, buffer.number, self))
        return Stored(array.view(np.bool_) if buffer.type == "bool" else array)

    def __del__(self) -> None:
        if self._opened and not self._spare:
            self._spare.append((self.limits.reservation, self._sizes, self.memory))


class Arrays(Mapping[Key, Stored]):
    """What a run has left of a tensor in its memory, looked up when somebody asks: many results are only handed on."""

    def __init__(self, lease: Lease, tensor: str) -> None:
        self._lease, self._tensor = lease, tensor

    @cached_property
    def _views(self) -> dict[Key, Stored]:
        return self._lease.views(self._tensor)

    def __getitem__(self, key: Key) -> Stored:
        return self._views[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)


Place = tuple[tuple[int, ...], Buffer | None]


def _place(plan: Plan, tensor: str, depth: int, name: str, tags: tuple[str, ...]) -> Place:
    """The groups on the way to a buffer of an input, and the buffer, if anybody looks at it. Kept in the plan."""
    known: dict[Any, Place] = plan.__dict__.setdefault("_places", {})
    key = tensor, depth, name, tags
    if key not in known:
        group, way = next(g for g in plan.groups if g.tensor == tensor and g.parent is None), []
        for tag in tags:
            group = next(g for g in plan.groups if g.parent == group.id and g.tag == tag)
            way.append(group.id)
        buffer = next((b for b in group.buffers if (b.depth, b.name) == (depth, name)), None)
        seen = tensor in plan.outputs or any(s.ref.buffer == buffer for s in walk(plan.body) if hasattr(s, "ref"))
        known[key] = tuple(way), buffer if seen else None
    return known[key]


def _holds(have: Bounds, need: Bounds) -> bool:
    """Whether there is room for buffers of some sizes where there is for those of others."""
    pairs = (pair for sizes in zip(have, need, strict=True) for pair in zip(*sizes, strict=True))
    return have == need or all(room == 0 or 0 < size <= room for room, size in pairs)
