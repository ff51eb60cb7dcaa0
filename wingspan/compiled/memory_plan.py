"""The memory of a C function, planned before the function is printed: its variables, and its pointers to cells."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Literal

from wingspan.base.dataclass import dataclass
from wingspan.compiled.deferred import Branch, DeferredReserve, deferred_reserves
from wingspan.compiled.printing import Printing
from wingspan.compiled.registers import Declared, place_declarations, within
from wingspan.plan import ir as plan
from wingspan.plan.ir import PlanBuffer, Ref, Reg, Stmt
from wingspan.plan.passes.hoist_bounds_checks import full_capacity
from wingspan.plan.roles import Role
from wingspan.plan.uses import accesses

Reserve = Literal["nothing", "all", "in branches", "one by one"]
"""The cells to reserve where a function learns of an instance: none, as it writes none; all that its stores may write;
none yet, as the branches that write reserve all; or what is there, so that each store asks for more."""


@dataclass(frozen=True)
class Pointer:
    """A variable for the cells of a buffer, which a function accesses unchecked."""

    buffer: PlanBuffer
    reserve: Reserve


@dataclass(frozen=True)
class MemoryPlan:
    """The places where a function declares its registers, and its facts about instances."""

    declared: Declared
    nullable: frozenset[Reg]
    """the instances that are NULL on some paths through the function, or are so from the beginning"""
    pointers: Mapping[Reg, tuple[Pointer, ...]]
    """of each instance; none if accesses are checked since tasks may race"""
    deferred: Mapping[Branch, tuple[Ref, ...]]
    """the buffers whose cells a branch reserves"""


def memory_plan(
    printing: Printing,
    body: tuple[Stmt, ...],
    given: tuple[Reg, ...],
    ends: Iterable[Reg],
    apart: Mapping[int, tuple[Reg, ...]],
    nullable: Iterable[Reg],
) -> MemoryPlan:
    """Plan the memory of a function that is called with the registers `given`, of which some are `nullable`.

    `ends` are read after it. `apart` are the registers that each function apart shares, by the `id` of its statement.
    """
    variables = place_declarations(body, given, ends, apart)
    unset = {reg for reg in variables.first if reg.type.is_instance}
    nullable = unset.union(nullable) & {*variables.first, *given}
    if printing.racy:
        return MemoryPlan(variables, frozenset(nullable), {}, {})
    deferred = deferred_reserves(body, apart, printing.roots, _reserved_at_once)
    pointers = {
        x: tuple(
            Pointer(b, _reserve(Ref(b, x), how, deferred))
            for b, how in sorted(buffers.items(), key=lambda item: item[0].number)
            if not b.hashed and how != {"update"}
        )
        for x, buffers in _used_buffers(body, apart, printing.useful).items()
    }
    return MemoryPlan(variables, frozenset(nullable), pointers, deferred.branches)


def _used_buffers(
    body: tuple[Stmt, ...], apart: Container[int], useful: Container[Reg]
) -> dict[Reg, dict[PlanBuffer, set[Role]]]:
    """For each instance the buffers that a function accesses itself, with the roles of these accesses."""
    found: dict[Reg, dict[PlanBuffer, set[Role]]] = {}
    for s in within(body, apart):
        if not (isinstance(s, plan.Load) and s.reg not in useful):
            for ref, how in _accesses(s):
                found.setdefault(ref.instance, {}).setdefault(ref.buffer, set()).add(how)
    return found


def _reserve(ref: Ref, how: set[Role], deferred: DeferredReserve) -> Reserve:
    if "write" not in how:
        return "nothing"
    if full_capacity(ref.buffer) is None:
        return "one by one"
    return "in branches" if ref in deferred.refs else "all"


def _reserved_at_once(s: Stmt) -> Iterator[Ref]:
    """The buffers whose cells a statement itself writes, and which have room for all of them at once."""
    for ref, how in _accesses(s):
        if how == "write" and not ref.buffer.hashed and full_capacity(ref.buffer) is not None:
            yield ref


def _accesses(s: Stmt) -> Iterator[tuple[Ref, Role]]:
    """The buffers that a statement itself accesses, each with its role. A sort of few numbers writes without a call."""
    return ((ref, "write" if sorts_few(s) else how) for ref, how in accesses(s))


FEW = 64
"""Numbers are sorted in place, by insertion, in a buffer that has room for no more."""


def sorts_few(s: Stmt) -> bool:
    """Whether a statement sorts so few numbers that C does so where it stands."""
    return isinstance(s, plan.Sort) and s.ref.buffer.width == "i64" and 0 < s.ref.buffer.bound <= FEW
