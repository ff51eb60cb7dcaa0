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
    copied = (s.value.name for s in walk(made.body) if isinstance(s, Set) and isinstance(s.value, Reg))
    return replace(made, body=_Forward(frozenset(copied)).block(made.body, {}))


class _Read(Replace):
    """Replaces what a statement reads; reports may go on to tell what the replaced registers hold."""

    def origin(self, origin: Origin) -> Origin:
        return origin


class _Forward:
    """`copied` are the names of the registers that others are set to: when one changes, what is known of these ends."""

    def __init__(self, copied: frozenset[str]) -> None:
        self.copied = copied

    def block(self, body: tuple[Stmt, ...], known: Known) -> tuple[Stmt, ...]:
        """A block that begins with `known`, which is changed to what is known at its end."""
        read = _Read(known, set())
        out: list[Stmt] = []
        for s in body:
            self.statement(s, known, read, out)
        return tuple(out)

    def statement(self, s: Stmt, known: Known, read: _Read, out: list[Stmt]) -> None:
        if isinstance(s, While):
            self.forget(known, *(reg for inner in walk((s,)) for reg in sets(inner)))
            test = self.block(s.test, known)
            out.append(While(test, read.part(s.condition), self.block(s.body, dict(known))))
            return
        s = read.changed(s)
        match s:
            case Set(reg=reg, value=value):
                self.forget(known, reg)
                if isinstance(value, Const | Reg) and value != reg:
                    known[reg.name] = value
            case When(condition=Const(value=holds), then=then, otherwise=otherwise):
                out += self.block(then if holds else otherwise, known)
                return
            case When(condition=condition, then=then, otherwise=otherwise):
                at_end = dict(known)
                s = When(condition, self.block(then, at_end), self.block(otherwise, known))
                for name in [name for name, value in known.items() if at_end.get(name) is not value]:
                    del known[name]
            case Par(task=task, body=body):
                inside = dict(known)
                self.forget(inside, task)
                s = replace(s, body=self.block(body, inside))
                self.forget(known, task, *s.joined)
            case _:
                self.forget(known, *sets(s))
        out.append(s)

    def forget(self, known: Known, *changed: Reg) -> None:
        """These registers, and copies of them, may hold anything now."""
        names = {reg.name for reg in changed}
        for name in names:
            known.pop(name, None)
        if not names.isdisjoint(self.copied):
            for name in [name for name, value in known.items() if getattr(value, "name", None) in names]:
                del known[name]
