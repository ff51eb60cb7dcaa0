"""A plan whose statements read, in place of a register, what that was set to last, where it is certain.

Registers that are set in several places are read where they come from, too, which `dead_code` cannot do.

Registers are a task's own, and the value of one is forgotten where it or what it copies is set. No cell's value is
known: each load stays where it is, and reads what other tasks and earlier statements have left there.
"""

from __future__ import annotations

from dataclasses import replace

from wingspan.plan.ir import Const, Expr, If, Origin, Par, Plan, Reg, Set, Stmt, While
from wingspan.plan.passes.dead_code import Replace
from wingspan.plan.uses import sets_in, with_blocks


class KnownValues:
    """The registers that hold a constant, or the same as another register does now, and which.

    What becomes known in a branch lies on top of what was known before it.
    """

    def __init__(self, below: KnownValues | None = None) -> None:
        self.below = below
        self._here: dict[str, Expr | None] = {}
        """None for what is known below, and not here"""
        self._copies: dict[str, set[str]] = {}
        """the registers that were copies of a register at some time"""

    def get(self, name: str) -> Expr | None:
        """The value of a register, or None if it is unknown."""
        layer: KnownValues | None = self
        while layer is not None:
            if name in layer._here:
                return layer._here[name]
            layer = layer.below
        return None

    def learn(self, name: str, value: Expr | None) -> None:
        """A register holds a value from here on, None if it is not known."""
        self._here[name] = value
        if isinstance(value, Reg):
            self._copies.setdefault(value.name, set()).add(name)

    def forget(self, *changed: Reg) -> None:
        """These registers, and copies of them, may hold anything now."""
        for reg in changed:
            layer: KnownValues | None = self
            while layer is not None:
                for copy in layer._copies.get(reg.name, ()):
                    if getattr(self.get(copy), "name", None) == reg.name:
                        self.learn(copy, None)
                layer = layer.below
            self._copies.pop(reg.name, None)
            if self.get(reg.name) is not None:
                self.learn(reg.name, None)

    def join(self, one: KnownValues, other: KnownValues) -> None:
        """Keep the facts that hold at the end of both branches."""
        for name in one._here.keys() | other._here.keys():
            value = one.get(name)
            self.learn(name, value if other.get(name) is value else None)


def copy_propagation(made: Plan) -> Plan:
    """The plan with constants and copies of registers read where they come from; tests that become certain are gone."""
    return replace(made, body=_block(made.body, KnownValues()))


class _Read(Replace):
    """Replaces what a statement reads; reports may still name what the replaced registers hold."""

    def origin(self, origin: Origin) -> Origin:
        return origin


def _block(body: tuple[Stmt, ...], known: KnownValues) -> tuple[Stmt, ...]:
    """A block that begins with `known`, which is changed to what is known at its end."""
    read = _Read(known.get, set())
    out: list[Stmt] = []
    for s in body:
        _statement(s, known, read, out)
    return tuple(out)


def _statement(s: Stmt, known: KnownValues, read: _Read, out: list[Stmt]) -> None:
    if isinstance(s, While):
        rounds = read.part(s.rounds)
        known.forget(*sets_in((s,)))
        test = _block(s.test, known)
        out.append(
            replace(
                s, test=test, condition=read.part(s.condition), body=_block(s.body, KnownValues(known)), rounds=rounds
            )
        )
        return
    s = read.rewrite(s)
    match s:
        case Set(reg=reg, value=value):
            known.forget(reg)
            if isinstance(value, Const | Reg) and value != reg:
                known.learn(reg.name, value)
        case If(condition=Const(value=holds), then=then, otherwise=otherwise):
            out += _block(then if holds else otherwise, known)
            return
        case If(condition=condition, then=then, otherwise=otherwise):
            at_end = KnownValues(known), KnownValues(known)
            s = If(condition, _block(then, at_end[0]), _block(otherwise, at_end[1]))
            known.join(*at_end)
        case Par(task=task, body=body):
            inside = KnownValues(known)
            inside.forget(task)
            s = replace(s, body=_block(body, inside))
            known.forget(task, *s.joined)
        case _:
            known.forget(*sets_in((s,)))
            s = with_blocks(s, lambda block: _block(block, KnownValues(known)))
    out.append(s)
