"""A plan whose tasks keep in registers what only they look at: cells of their own instances, during a loop.

A buffer with a single cell, such as the `fill` of a SparseList, is loaded before the loop and stored after it. That is
sound, whatever other tasks do, where nobody but the task can have the instance: one that it made for itself
(`AllocateInstance`), or the one with the task's number, if nothing in the parallel region reaches the buffer by another
way and no other region runs meanwhile. All loads and stores of that buffer in the loop become ones of the register, so
that none finds an older value in the cell. Elements that tasks share are no such cells. A run that fails leaves cells
as they were before the loop, and has no results.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from wingspan.plan.ir import AllocateInstance, Child, Const, Load, Par, Plan, Ref, Reg, Set, Stmt, Store, walk
from wingspan.plan.kernels import Loop
from wingspan.plan.uses import defs, refs, rewrite, sets_in

ONLY = Const(1)
"""the index of a single cell"""


def scalar_replacement(made: Plan) -> Plan:
    """The plan with such cells in registers, in the outermost loops of parallel regions that are in no other."""
    return replace(made, body=rewrite(made.body, _region))


def _region(par: Stmt) -> tuple[Stmt, ...] | None:
    def change(s: Stmt) -> Iterable[Stmt] | None:
        return _loop(par, s) if isinstance(s, Loop) else (s,) if isinstance(s, Par) else None  # type: ignore[arg-type]

    return (replace(par, body=rewrite(par.body, change)),) if isinstance(par, Par) else None


def _loop(par: Par, loop: Loop) -> list[Stmt]:
    uses = [s for s in walk((loop,)) if isinstance(s, Load | Store)]
    refs = dict.fromkeys(s.ref for s in uses if _alone(par, loop, s.ref))
    before, after = [], []
    body: tuple[Stmt, ...] = (loop,)
    for ref in refs:
        reg = Reg(f"{ref.instance.name} {ref.buffer.name}{ref.buffer.level}", ref.buffer.type)
        first = next(s for s in uses if s.ref == ref)
        before.append(Load(reg, ref, ONLY, first.place, first.origin))
        if any(isinstance(s, Store) and s.ref == ref for s in uses):
            after.append(Store(ref, ONLY, reg, first.place, first.origin))
        body = rewrite(body, partial(_with_register, ref, reg))
    return [*before, *body, *after]


def _alone(par: Par, loop: Loop, ref: Ref) -> bool:
    """Whether only the task itself can look at a cell during a loop, and only by loads and stores."""
    if ref.buffer.bound != 1 or ref.buffer.hashed or any(isinstance(s, Par) for s in walk((loop,))):
        return False
    made = [s for s in walk(par.body) if ref.instance in defs(s)]
    own = len(made) == 1 and (
        isinstance(made[0], AllocateInstance) or (isinstance(made[0], Child) and made[0].key == par.task)
    )
    users = [s for s in walk(par.body) if any(other.buffer == ref.buffer for other in refs(s))]
    plain = all(isinstance(s, Load | Store) and (s.ref, s.index) == (ref, ONLY) for s in users)
    return own and plain and ref.instance not in sets_in((loop,))


def _with_register(ref: Ref, reg: Reg, s: Stmt) -> tuple[Stmt, ...] | None:
    """A statement in which the register stands for the cell."""
    match s:
        case Load(reg=to) if s.ref == ref:
            return (Set(to, reg, s.origin),)
        case Store(value=value) if s.ref == ref:
            return (Set(reg, value, s.origin),)
    return None
