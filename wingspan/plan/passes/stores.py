"""A plan without the stores whose cells are stored again before anybody looks, which only safe programs can spare."""

from __future__ import annotations

from dataclasses import replace

from wingspan.plan.ir import Compute, Load, Plan, Set, Stmt, Store
from wingspan.plan.uses import registers, sets, with_blocks


def needed(made: Plan) -> Plan:
    """The plan without stores that a later one of the same block makes good, where only loads from other buffers,
    and what tasks keep to themselves, come between.
    """
    return replace(made, body=_block(made.body))


def _block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    kept = (s for k, s in enumerate(body) if not (isinstance(s, Store) and _again(s, body[k + 1 :])))
    return tuple(with_blocks(s, _block) for s in kept)


def _again(first: Store, later: tuple[Stmt, ...]) -> bool:
    """Whether the statements store to the cell before one that may read it, or change which cell it is."""
    place = {first.ref.instance, *registers(first.index)}
    for s in later:
        match s:
            case Store(ref=ref, index=index) if (ref, index) == (first.ref, first.index):
                return True
            case Load(ref=ref) if ref.buffer == first.ref.buffer:
                return False
            case Set() | Load() | Store() | Compute():
                if place & set(sets(s)):
                    return False
            case _:
                return False
    return False
