"""Instances that a task needs throughout, looked up once, when it begins: those of its own thread.

A thread's instance is the same one as long as its tasks run, whatever these do. Its cells are loaded where they were.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from wingspan.plan.ir import Child, Par, Plan, Reg, Set, Stmt
from wingspan.plan.uses import rewrite, rewrite_outwards


def hoist(made: Plan) -> Plan:
    """The plan in which every task looks up its own thread's copies of a tensor before all else, each once."""
    return replace(made, body=rewrite_outwards(made.body, partial(_hoist_children, {reg for _, reg in made.roots})))


def _hoist_children(roots: set[Reg], par: Stmt) -> tuple[Stmt, ...]:
    """A task in which other names of what is found replace the looking up."""
    if not isinstance(par, Par):
        return (par,)
    task, found = par.task, dict[tuple[Reg, int], Child]()

    def change(s: Stmt) -> tuple[Stmt, ...] | None:
        match s:
            case Child(parent=parent, group=group) if s.key == task and parent in roots:
                first = found.setdefault((parent, group), s)
                return () if first is s else (Set(s.reg, first.reg, s.origin),)
            case Par():
                return (s,)
        return None

    body = rewrite(par.body, change)
    return (replace(par, body=(*found.values(), *body)),)
