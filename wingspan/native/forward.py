"""A plan whose statements read, in place of a register, what that was set to last, where it is certain.

Registers that are set in several places are read where they come from, too, which `tidy` cannot do.
"""

from __future__ import annotations

from dataclasses import replace

from wingspan.native.plan import Const, Expr, Origin, Par, Plan, Reg, Set, Stmt, When, While, walk
from wingspan.native.tidy import Replace
from wingspan.native.uses import sets

Known = dict[str, Expr]
"""The registers that hold a constant, or the same as another register does now, and which."""


def forward(made: Plan) -> Plan:
    """The plan with constants and copies of registers read where they come from; tests that become certain are gone."""
    return replace(made, body=_block(made.body, {}))


class _Read(Replace):
    """Replaces what a statement reads; reports may go on to tell what the replaced registers hold."""

    def origin(self, origin: Origin) -> Origin:
        return origin


def _block(body: tuple[Stmt, ...], known: Known) -> tuple[Stmt, ...]:
    """A block that begins with `known`, which then tells what is known at its end."""
    return tuple(each for s in body for each in _statement(s, known))


def _statement(s: Stmt, known: Known) -> tuple[Stmt, ...]:
    if isinstance(s, While):
        _forget(known, *(reg for inner in walk((s,)) for reg in sets(inner)))
        test = _block(s.test, known)
        return (While(test, _Read(known, set()).part(s.condition), _block(s.body, dict(known))),)
    s = _Read(known, set()).changed(s)
    match s:
        case When(condition=Const(value=holds), then=then, otherwise=otherwise):
            return _block(then if holds else otherwise, known)
        case When(condition=condition, then=then, otherwise=otherwise):
            at_end = dict(known), dict(known)
            s = When(condition, _block(then, at_end[0]), _block(otherwise, at_end[1]))
            known.clear()
            known |= {name: value for name, value in at_end[0].items() if at_end[1].get(name) is value}
        case Par(task=task, body=body):
            inside = dict(known)
            _forget(inside, task)
            s = replace(s, body=_block(body, inside))
            _forget(known, task, *s.joined)
        case Set(reg=reg, value=value):
            _forget(known, reg)
            if isinstance(value, Const | Reg) and value != reg:
                known[reg.name] = value
        case _:
            _forget(known, *sets(s))
    return (s,)


def _forget(known: Known, *changed: Reg) -> None:
    """These registers, and copies of them, may hold anything now."""
    names = {reg.name for reg in changed}
    for name in [name for name, value in known.items() if name in names or getattr(value, "name", None) in names]:
        del known[name]
