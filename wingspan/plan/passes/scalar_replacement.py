"""A plan whose tasks keep in registers what only they look at: cells of their own instances, during a loop.

A buffer with a single cell, such as the `fill` of a SparseList, is loaded before the loop and stored after it. That is
sound, whatever other tasks do, where nobody but the task can have the instance: one that it made for itself
(`AllocateInstance`), or the one with the task's number, if nothing in the parallel region reaches the buffer by another
way and no other region runs meanwhile. All loads and stores of that buffer in the loop become ones of the register, so
that none finds an older value in the cell. Elements that tasks share are no such cells. A run that fails leaves cells
as they were before the loop, and has no results.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from wingspan.plan.ir import AllocateInstance, Child, Const, Load, Par, Plan, Ref, Reg, Set, Stmt, Store, walk
from wingspan.plan.kernels import Loop
from wingspan.plan.uses import defs, refs, with_blocks

ONLY = Const(1)
"""the index of a single cell"""


def scalar_replacement(made: Plan) -> Plan:
    """The plan with such cells in registers, in the outermost loops of parallel regions that are in no other."""
    return replace(made, body=_around(made.body))


def _around(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(replace(s, body=_task(s, s.body)) if isinstance(s, Par) else with_blocks(s, _around) for s in body)


def _task(par: Par, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, Loop):
            out += _loop(par, s)
        else:
            out.append(s if isinstance(s, Par) else with_blocks(s, partial(_task, par)))
    return tuple(out)


def _loop(par: Par, loop: Loop) -> list[Stmt]:
    uses = [s for s in walk((loop,)) if isinstance(s, Load | Store)]
    refs = dict.fromkeys(s.ref for s in uses if _alone(par, loop, s.ref))
    before, after, body = [], [], loop
    for ref in refs:
        reg = Reg(f"{ref.instance.name} {ref.buffer.name}{ref.buffer.level}", ref.buffer.type)
        first = next(s for s in uses if s.ref == ref)
        before.append(Load(reg, ref, ONLY, first.place, first.origin))
        if any(isinstance(s, Store) and s.ref == ref for s in uses):
            after.append(Store(ref, ONLY, reg, first.place, first.origin))
        body = with_blocks(body, partial(_with_register, ref, reg))  # type: ignore[assignment]
    return [*before, body, *after]


def _alone(par: Par, loop: Loop, ref: Ref) -> bool:
    """Whether only the task itself can look at a cell during a loop, and only by loads and stores."""
    if ref.buffer.bound != 1 or ref.buffer.hashed or any(isinstance(s, Par) for s in walk((loop,))):
        return False
    made = [s for s in walk(par.body) if ref.instance in defs(s)]
    inside = any(ref.instance in defs(s) for s in walk((loop,)))
    own = len(made) == 1 and (
        isinstance(made[0], AllocateInstance) or (isinstance(made[0], Child) and made[0].key == par.task)
    )
    users = [s for s in walk(par.body) if any(other.buffer == ref.buffer for other in refs(s))]
    plain = all(isinstance(s, Load | Store) and (s.ref, s.index) == (ref, ONLY) for s in users)
    return own and plain and not inside


def _with_register(ref: Ref, reg: Reg, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A block in which the register stands for the cell."""
    out: list[Stmt] = []
    for s in body:
        match s:
            case Load(reg=to) if s.ref == ref:
                out.append(Set(to, reg, s.origin))
            case Store(value=value) if s.ref == ref:
                out.append(Set(reg, value, s.origin))
            case _:
                out.append(with_blocks(s, partial(_with_register, ref, reg)))
    return tuple(out)
