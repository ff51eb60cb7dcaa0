"""Instances that a task needs throughout, looked up once, when it begins: those of its own thread."""

from __future__ import annotations

from dataclasses import replace

from wingspan.native.plan import Child, Par, Plan, Reg, Set, Stmt, When, While


def hoist(made: Plan) -> Plan:
    """The plan in which every task looks up its own thread's copies of a tensor before all else, each once."""
    return replace(made, body=_block(made.body, frozenset(reg for _, reg in made.roots)))


def _block(body: tuple[Stmt, ...], roots: frozenset[Reg]) -> tuple[Stmt, ...]:
    """A block with the tasks that it starts."""
    return tuple(_within(s, roots) for s in body)


def _within(s: Stmt, roots: frozenset[Reg]) -> Stmt:
    match s:
        case When(condition=condition, then=then, otherwise=otherwise):
            return When(condition, _block(then, roots), _block(otherwise, roots))
        case While(test=test, condition=condition, body=body):
            return While(_block(test, roots), condition, _block(body, roots))
        case Par():
            found: dict[tuple[Reg, int], Child] = {}
            body = _taken(_block(s.body, roots), s.task, roots, found)
            return replace(s, body=(*found.values(), *body))
    return s


def _taken(
    body: tuple[Stmt, ...], task: Reg, roots: frozenset[Reg], found: dict[tuple[Reg, int], Child]
) -> tuple[Stmt, ...]:
    """A block of a task in which other names of what is found replace the looking up."""
    out: list[Stmt] = []
    for s in body:
        match s:
            case Child(parent=parent, group=group) if s.key == task and parent in roots:
                first = found.setdefault((parent, group), s)
                out += [] if first is s else [Set(s.reg, first.reg, s.origin)]
            case When(condition=condition, then=then, otherwise=otherwise):
                then, otherwise = _taken(then, task, roots, found), _taken(otherwise, task, roots, found)
                out.append(When(condition, then, otherwise))
            case While(test=test, condition=condition, body=inner):
                test, inner = _taken(test, task, roots, found), _taken(inner, task, roots, found)
                out.append(While(test, condition, inner))
            case _:
                out.append(s)
    return tuple(out)
