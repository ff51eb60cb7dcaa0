"""The memory of runs on threads of the system: arrays into buffers, and buffers as arrays.

Results are views of the memory, which lives as long as one of them does; then it is used for the next run.
"""

from __future__ import annotations

import atexit
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Literal, NamedTuple, NoReturn, get_args

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, InputError
from wingspan.base.libraries import np
from wingspan.base.memory import available_memory
from wingspan.buffers.stored import Stored
from wingspan.lang.ir import Instance
from wingspan.plan.ir import Group, Plan, PlanBuffer
from wingspan.plan.layout import Bounds
from wingspan.runtime import _memory
from wingspan.runtime._lending import Lent
from wingspan.runtime.faults import MEMORY, SPACE, limit
from wingspan.runtime.memory_reuse import MemoryPool
from wingspan.runtime.plan_inputs import PlanInput
from wingspan.tensors._gather import Claimed
from wingspan.tensors.frozen import Key
from wingspan.tensors.gather import ListArrays

Mode = Literal["plain", "seq_cst", "yields"]
"""The memory order among tasks. `plain`: the hardware's. `seq_cst`: one order that all agree on.
`yields`: the same, and now and then a task lets others go first, so that rare orders happen.
"""
MODES = get_args(Mode)

ROOT = -1
"""The key of the root instance of a tensor."""

atexit.register(_memory.dismiss)


@dataclass(frozen=True)
class Limits:
    """Bounds of a run on threads, in bytes. InputError if a number is out of range."""

    memory: int = field(default_factory=lambda: available_memory() // 5 * 4)
    """all memory, without arrays that are used in place and results of earlier runs, but with spare memory (see
    `release`), which is freed if necessary; by default four fifths of what the process may have: the machine's memory,
    or less where a control group (a container) or `ulimit` says so
    """
    reservation: int = 2**36
    """address space for each buffer; only what is written takes memory"""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("memory", self.memory, 1, 2**62),
            ("reservation", self.reservation, 2**12, 2**45),
        ):
            if not least <= value <= most:
                raise InputError(f"a {name} limit of {value} bytes", fix=f"give {least} to {most} bytes")


class Setting(NamedTuple):
    """The state common to all runs of a plan with the same extents and numbers."""

    start: bytes
    """the initial values of the plan's parameters, as the engine takes them"""
    sizes: Bounds
    """the capacities of the buffers"""
    least: int = 0
    """the bytes that a run needs for certain: it does not begin to fill them if it may not use so many"""


USUAL = Limits()
"""The default limits of a run."""


def ordering(mode: Mode) -> tuple[bool, bool]:
    """Whether accesses are sequentially consistent in a mode, and whether tasks let others go first."""
    if mode not in MODES:
        raise InputError(f"there is no mode {mode}", fix=f"use {', '.join(MODES)}")
    return mode != "plain", mode == "yields"


def memory_fault(plan: Plan) -> Fault:
    """The fault of a run of a plan where there is no memory."""
    message, fix = limit(SPACE, 0, groups=plan.groups)
    return Fault(message, fix=fix)


class BufferLayout:
    """The buffers that runs of a plan have.

    Cells are 0 at first, except in assigned buffers of a plan that is not `racy`. Numbers count from 0 in the buffers
    that are `zero_based`, by group and number.
    """

    def __init__(self, plan: Plan, racy: bool = True, zero_based: Collection[tuple[int, int]] = ()) -> None:
        self.plan, self.racy, self.zero_based = plan, racy, zero_based
        self._columns: dict[tuple[str, int, str | None, tuple[str, str] | None], ColumnBuffers | None] = {}

    @cached_property
    def by_key(self) -> dict[tuple[str, int, str, str | None], PlanBuffer]:
        """The buffers of the roots of tensors, and of the instances right below these, by tensor, depth of the level,
        name, and tag of the instance, None of a root.
        """
        roots = {group.id for group in self.plan.groups if group.parent is None}
        every = [(g, b) for g in self.plan.groups if g.parent is None or g.parent in roots for b in g.buffers]
        found = [((b.tensor, b.depth, b.name, None if g.parent is None else g.tag), b) for g, b in every]
        return {key: b for key, b in found if not b.scratch}

    @cached_property
    def roots(self) -> dict[str, int]:
        """The group of the root of each tensor."""
        return {group.tensor: group.id for group in self.plan.groups if group.parent is None}

    def columns(self, tensor: str, depth: int, tag: str | None, claims: tuple[str, str] | None) -> ColumnBuffers | None:
        """The buffers of SparseLists at a depth around the leaf; None if one is not there, or has no numbers."""
        key = tensor, depth, tag, claims
        if key not in self._columns:
            wanted: list[tuple[int, str, str | None]] = [(1, name, None) for name in claims or ()]
            wanted += [(depth, "ptr", tag), (depth, "idx", tag), (depth + 1, "val", tag)]
            found = [b for at in wanted if (b := self.by_key.get((tensor, *at))) is not None and not b.hashed]
            made = None
            if len(found) == len(wanted):
                *first, ptr, idx, val = found
                least = int((idx.group, idx.number) not in self.zero_based)
                owners = (first[0].number, first[1].number) if first else None
                made = ColumnBuffers(self.roots[tensor], owners, ptr.group, (ptr.number, idx.number, val.number), least)
            self._columns[key] = made
        return self._columns[key]


class ColumnBuffers(NamedTuple):
    """The buffers that have the columns of a matrix, for `Memory.claimed_columns`."""

    root: int
    claims: tuple[int, int] | None
    group: int
    buffers: tuple[int, int, int]
    """the pointers, the indices and the elements"""
    least: int
    """the number that indices begin with"""


class Lease:
    """The memory of one run of a plan, for as long as a view of it exists; then it is spare again."""

    _opened = False

    def __init__(
        self,
        pool: MemoryPool,
        limits: Limits,
        layout: BufferLayout,
        given: Sequence[PlanInput],
        sizes: Bounds,
        least: int = 0,
        lent: Lent | None = None,
    ) -> None:
        """Take spare memory, or new memory, for buffers of at most these sizes.

        Other threads that run the same plan take it, too. Buffers hold what is given, or lent. A Fault if the run needs
        more than its limit for certain.
        """
        if least > limits.memory:
            message, fix = limit(MEMORY, least)
            raise Fault(message, fix=fix)
        self.limits, self.layout, self.plan, self._sizes = limits, layout, layout.plan, sizes
        self._lent = {handed.tensor: handed.lent for handed in given}
        self._pool = pool
        self._open()
        for handed in given:
            count = self.memory.hand(handed.pieces)
            if count < len(handed.pieces):
                raise self._refusal(handed.buffers[count])
        if lent is not None and not self.memory.lend(lent):
            raise self._refusal(None)

    def _open(self) -> None:
        while (block := self._pool.take()) is not None:
            reservation, sizes, memory = block
            enough = reservation == self.limits.reservation and _holds(sizes, self._sizes)
            if enough and memory.reset(self.limits.memory):
                self.memory, self._sizes, self._opened = memory, sizes, True
                return
            del block, memory  # before more is taken: address space may be what there is too little of
        groups = [
            (-1 if g.parent is None else g.parent, g.keys, self._shapes(g, sizes))
            for g, sizes in zip(self.plan.groups, self._sizes, strict=True)
        ]
        self.memory = _memory.Memory(groups, self.limits.memory, self.limits.reservation)
        self._opened = True

    def _shapes(self, group: Group, sizes: tuple[int, ...]) -> list[tuple[str, bool, int, bool]]:
        kept = [b.assigned and not self.layout.racy for b in group.buffers]
        return [(b.width, b.hashed, size, k) for b, size, k in zip(group.buffers, sizes, kept, strict=True)]

    def root(self, tensor: str) -> int:
        """The root instance of a tensor."""
        group = next(group for group in self.plan.groups if group.tensor == tensor and group.parent is None)
        instance = self.memory.root(group.id)
        if not instance:
            raise self._refusal(None)
        return instance

    def _refusal(self, buffer: PlanBuffer | None) -> Fault:
        """Describe the memory that could not be provided."""
        kind, x, _ = self.memory.fault()
        self.abandon(kind)
        message, fix = limit(kind, x, buffer, self.plan.groups, self.limits.reservation)
        return Fault(message, fix=fix)

    def abandon(self, kind: int) -> None:
        """Free the memory of a run that failed for lack of it: whoever keeps the exception would keep that, too."""
        if kind in (MEMORY, SPACE):
            self._opened = False
            del self.memory

    def arrays(self, tensor: str) -> Arrays:
        """The contents of a tensor's buffers, as views of the memory; arrays may end in cells not in use."""
        return Arrays(self, tensor)

    def lent(self, tensor: str) -> Mapping[Key, Stored]:
        """The arrays that a tensor's buffers read where their owners have them."""
        return self._lent.get(tensor, {})

    def buffers(self, tensor: str) -> Iterator[tuple[Key, int, PlanBuffer]]:
        """The buffers of a tensor that have cells, and the instance of each."""
        for instance, path, group in self._instances(tensor):
            counts = self.memory.counts(instance)
            for buffer in group.buffers:
                if counts[buffer.number] and not buffer.scratch:
                    yield (buffer.depth, buffer.name, path), instance, buffer

    def _instances(self, tensor: str) -> Iterator[tuple[int, Instance, Group]]:
        """The instances of a tensor that the run has used, with the path to each from the root."""
        found = {x: (self.plan.groups[g], parent, key) for x, g, parent, key in self.memory.instances()}
        paths: dict[int, Instance] = {}
        for x, (group, parent, key) in reversed(found.items()):  # a parent then comes before its children
            if group.tensor == tensor and group.parent is None and key == ROOT:
                paths[x] = ()
            elif parent in paths:
                paths[x] = (*paths[parent], (group.tag, key))
        yield from ((x, path, found[x][0]) for x, path in paths.items())

    def contents(self, instance: int, buffer: PlanBuffer) -> Stored:
        """The contents of a buffer, as a view of the memory."""
        if buffer.hashed:
            entries = np.frombuffer(self.memory.entries(instance, buffer.number), np.int64).reshape(-1, 2)
            return Stored.from_cells(entries[:, 0], entries[:, 1])
        return self._view(self.memory.cells(instance, buffer.number, self), buffer)

    def contents_near_root(self, tensor: str, depth: int, name: str, path: Instance) -> Stored | None:
        """The contents of a buffer of a tensor's root, or of an instance right below it; None if it is in another, has
        none, or is hashed.
        """
        tag, key = path[0] if path else (None, ROOT)
        buffer = self.layout.by_key.get((tensor, depth, name, tag)) if len(path) < 2 else None
        if buffer is None:
            return None
        cells = self.memory.cells_near_root(self.layout.roots[tensor], buffer.group, key, buffer.number, self)
        return None if cells is None else self._view(cells, buffer)

    def _view(self, cells: Any, buffer: PlanBuffer) -> Stored:
        array = np.asarray(cells)
        shift = int((buffer.group, buffer.number) in self.layout.zero_based)
        return Stored(array.view(np.bool_) if buffer.type.is_boolean else array, shift)

    def __reduce__(self) -> NoReturn:
        """The memory of a run cannot be copied; the results in it can, see `Arrays`."""
        raise TypeError("the memory of a run cannot be pickled")

    def __del__(self) -> None:
        if self._opened:
            self._pool.put(self.limits.reservation, self._sizes, self.memory)


class Arrays(Mapping[Key, Stored]):
    """The contents of a tensor in the memory of a run, looked up on demand: many results are only passed on."""

    def __init__(self, lease: Lease, tensor: str) -> None:
        self._lease, self._tensor = lease, tensor
        self._views: dict[Key, Stored] = {}
        """the arrays that somebody has asked for"""
        if lent := lease.lent(tensor):
            self._views = {key: stored for key, stored in lent.items() if key in self._buffers}

    @property
    def is_borrowed(self) -> bool | None:
        """False if all are in the memory of the run; None if some may not be."""
        return None if self._lease.lent(self._tensor) else False

    @cached_property
    def _buffers(self) -> dict[Key, tuple[int, PlanBuffer]]:
        return {key: (instance, buffer) for key, instance, buffer in self._lease.buffers(self._tensor)}

    def claimed_columns(
        self, depth: int, tag: str | None, claims: tuple[str, str] | None, columns: int, dtype: np.dtype[Any]
    ) -> tuple[Claimed, ListArrays] | None:
        """The columns of a matrix of SparseLists around the leaf, and the arrays of each list: see `gather`."""
        lease = self._lease
        layout = None if self._views else lease.layout.columns(self._tensor, depth, tag, claims)
        found = None if layout is None else lease.memory.claimed_columns(*layout, columns, dtype.itemsize, lease)
        if layout is None or found is None:
            return None
        made, instances = found
        _, idx, val = layout.buffers

        def arrays(number: int, entries: int) -> tuple[np.ndarray | None, np.ndarray]:
            instance = instances[number]
            values = np.asarray(lease.memory.cells(instance, val, lease))[:entries].view(dtype)
            rows = None if layout.least else np.asarray(lease.memory.cells(instance, idx, lease))[:entries]
            return rows, values

        return made, arrays

    def __getitem__(self, key: Key) -> Stored:
        found = self._views.get(key)
        if found is None:
            depth, name, path = key
            found = self._lease.contents_near_root(self._tensor, depth, name, path)
            found = self._views[key] = found or self._lease.contents(*self._buffers[key])
        return found

    def __iter__(self) -> Iterator[Key]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)

    def __reduce__(self) -> tuple[type[dict[Key, Stored]], tuple[dict[Key, Stored]]]:
        """Copies leave the memory of the run."""
        return dict, (dict(self),)


def _holds(have: Bounds, need: Bounds) -> bool:
    """Whether memory for buffers of some sizes has room for those of other sizes."""
    if have == need:
        return True
    pairs = (pair for sizes in zip(have, need, strict=True) for pair in zip(*sizes, strict=True))
    return all(room == 0 or 0 < size <= room for room, size in pairs)
