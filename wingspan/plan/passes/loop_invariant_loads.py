"""Loads of a loop that read the same cell in every round, done once before it, if it has a round.

    while j <= n:                             if j <= n:
        x = B.val[q]                              x = B.val[q]
        y = C.val[p + j]              →           while j <= n:
        …                                             y = C.val[p + j]
        j = j + 1                                     …

Elements are loaded where the program reads them, which is in the innermost loop. What moves is a load of a cell that
nobody writes meanwhile, not even the loop, which may declare and fill a workspace in every round; by registers that the
loop does not change, which every round would do before anything could fault or branch. So the same cells are loaded
under the same conditions, only less often. The tensor has to be frozen, in the same phase as the loop: elements of one
that is read while it or another task updates it are loaded in every round. To C compilers a store to a double may
change any double, so they cannot do this by themselves. It gained 2 % of SpGEMM and MTTKRP as C, and 6 % of MTTKRP on
the register machine.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from wingspan.plan.ir import Compute, Expr, If, Load, Plan, Set, Stmt, Store, While, walk
from wingspan.plan.kernels import BitmapLoop
from wingspan.plan.uses import reads, registers, rewrite_outwards, sets_in, with_blocks, written_refs


def loop_invariant_loads(made: Plan) -> Plan:
    """The plan that loads such cells before its loops, from the innermost to the outermost."""
    return replace(made, body=rewrite_outwards(made.body, _hoist))


def _hoist(s: Stmt) -> tuple[Stmt, ...]:
    loop = s.loop if isinstance(s, BitmapLoop) else s
    if isinstance(loop, While) and not loop.test and (moved := _hoistable_loads(loop)):
        before = (_before(load, loop) for load in moved)
        return (If(loop.condition, (*before, with_blocks(s, partial(_without, moved)))),)
    return (s,)


def _without(moved: list[Load], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The block of a loop without the loads that are done before it."""
    return tuple(s for s in body if not any(s is load for load in moved))


def _hoistable_loads(loop: While) -> list[Load]:
    """The loads that can be done before a loop."""
    count = sets_in(loop.body)
    changing = {ref.buffer for s in walk(loop.body) for ref in written_refs(s)}
    found: list[Load] = []
    seen: set[str] = {reg.name for reg in registers(loop.condition)}
    for s in loop.body:
        if not isinstance(s, Set | Load | Store | Compute):
            break
        still = isinstance(s, Load) and s.ref.frozen and s.ref.buffer not in changing
        if isinstance(s, Load) and still and count[s.reg] == 1 and s.reg.name not in seen:
            place = (e for e in (s.place.position, s.place.index) if e is not None)
            by = {s.ref.instance, *(reg for e in (s.index, *place) for reg in registers(e))}
            if not any(count[reg] for reg in by):
                found.append(s)
                del count[s.reg]
                continue
        seen |= reads(s)
    return found


def _before(load: Load, loop: While) -> Load:
    """A load as it stands before a loop: reports do not name the loop's index, which it does not depend on."""
    changed = sets_in(loop.body)

    def still(named: tuple[tuple[str, Expr], ...]) -> tuple[tuple[str, Expr], ...]:
        return tuple((name, e) for name, e in named if not any(changed[reg] for reg in registers(e)))

    origin = replace(load.origin, indices=still(load.origin.indices), ends=still(load.origin.ends))
    return replace(load, origin=origin)
