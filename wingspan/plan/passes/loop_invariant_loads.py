"""Loads of a loop that read the same cell in every round, and instances that are the same, found once before it, if it
has a round.

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
the register machine. An instance is looked up once where a loop goes through one copy of a `Merge`, so that C compilers
add copies by vector instructions: two of 262,144 doubles take 1.5 ms instead of 2.3.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TypeAlias

from wingspan.plan.ir import Child, Compute, Expr, If, Load, Plan, Reg, Set, Stmt, Store, While, walk
from wingspan.plan.kernels import BitmapLoop
from wingspan.plan.uses import reads, registers, rewrite_outwards, sets_in, with_blocks, written_refs

Movable: TypeAlias = "Load | Child"


def loop_invariant_loads(made: Plan) -> Plan:
    """The plan that loads such cells before its loops, from the innermost to the outermost."""
    return replace(made, body=rewrite_outwards(made.body, _hoist))


def _hoist(s: Stmt) -> tuple[Stmt, ...]:
    loop = s.loop if isinstance(s, BitmapLoop) else s
    if isinstance(loop, While) and not loop.test and (moved := _invariant(loop)):
        before = (_before(load, loop) for load in moved)
        return (If(loop.condition, (*before, with_blocks(s, partial(_without, moved)))),)
    return (s,)


def _without(moved: list[Movable], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The block of a loop without what is done before it."""
    return tuple(s for s in body if not any(s is load for load in moved))


def _invariant(loop: While) -> list[Movable]:
    """The loads and instances that can be found before a loop."""
    count = sets_in(loop.body)
    changing = {ref.buffer for s in walk(loop.body) for ref in written_refs(s)}
    found: list[Movable] = []
    seen: set[str] = {reg.name for reg in registers(loop.condition)}
    for s in loop.body:
        if not isinstance(s, Set | Load | Store | Compute | Child):
            break
        still = isinstance(s, Child) or (isinstance(s, Load) and s.ref.frozen and s.ref.buffer not in changing)
        alone = isinstance(s, Load | Child) and count[s.reg] == 1 and s.reg.name not in seen
        if isinstance(s, Load | Child) and alone and still and not any(count[reg] for reg in _operands(s)):
            found.append(s)
            del count[s.reg]
            continue
        seen |= reads(s)
    return found


def _operands(s: Movable) -> set[Reg]:
    """The registers that say which cell, and report where it is, or which instance."""
    if isinstance(s, Child):
        return {s.parent, *registers(s.key)}
    place = (e for e in (s.place.position, s.place.index) if e is not None)
    return {s.ref.instance, *(reg for e in (s.index, *place) for reg in registers(e))}


def _before(load: Movable, loop: While) -> Movable:
    """It as it stands before a loop: reports do not name the loop's index, which it does not depend on."""
    changed = sets_in(loop.body)

    def still(named: tuple[tuple[str, Expr], ...]) -> tuple[tuple[str, Expr], ...]:
        return tuple((name, e) for name, e in named if not any(changed[reg] for reg in registers(e)))

    origin = replace(load.origin, indices=still(load.origin.indices), ends=still(load.origin.ends))
    return replace(load, origin=origin)
