"""Instances that a task needs throughout, looked up once, when it begins: those of its own thread.

A thread's instance is the same one as long as its tasks run, whatever these do. Its cells are loaded where they were.
"""

from __future__ import annotations

from dataclasses import replace

from wingspan.plan.ir import Child, Par, Plan, Reg, Set, Stmt
from wingspan.plan.uses import with_blocks


def hoist(made: Plan) -> Plan:
    """The plan in which every task looks up its own thread's copies of a tensor before all else, each once."""
    return replace(made, body=_block(made.body, frozenset(reg for _, reg in made.roots)))


def _block(body: tuple[Stmt, ...], roots: frozenset[Reg]) -> tuple[Stmt, ...]:
    """A block with the tasks that it starts."""
    return tuple(_within(s, roots) for s in body)


def _within(s: Stmt, roots: frozenset[Reg]) -> Stmt:
    inner = with_blocks(s, lambda block: _block(block, roots))
    if not isinstance(inner, Par):
        return inner
    found: dict[tuple[Reg, int], Child] = {}
    body = _hoist_children(inner.body, inner.task, roots, found)
    return replace(inner, body=(*found.values(), *body))


def _hoist_children(
    body: tuple[Stmt, ...], task: Reg, roots: frozenset[Reg], found: dict[tuple[Reg, int], Child]
) -> tuple[Stmt, ...]:
    """A block of a task in which other names of what is found replace the looking up."""
    out: list[Stmt] = []
    for s in body:
        match s:
            case Child(parent=parent, group=group) if s.key == task and parent in roots:
                first = found.setdefault((parent, group), s)
                out += [] if first is s else [Set(s.reg, first.reg, s.origin)]
            case Par():
                out.append(s)
            case _:
                out.append(with_blocks(s, lambda block: _hoist_children(block, task, roots, found)))
    return tuple(out)
