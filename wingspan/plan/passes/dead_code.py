"""A plan without the registers that only pass a value on: it does the same, and is easier to read.

A register that is replaced is set once, to a constant or to a register that is set once, and so is a task's own:
neither changes any more. No load is moved, so no cell's value is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wingspan.plan import ir as plan
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, Op, Origin, Plan, Reg, Stmt, walk
from wingspan.plan.roles import ROLES
from wingspan.plan.uses import defs, reads, registers, with_blocks, yields


def dead_code(made: Plan) -> Plan:
    """The plan with registers that are set once read from where they come, and unread ones left out."""
    positive, again = _threads(made), True
    while again and (copies := _copies(made)):
        replacing = Replace(copies.get, positive)
        made, again = replacing.plan(made), replacing.decided
    unread = _unread(made)
    return Replace(dict.fromkeys(unread, Const(0)).get, set()).plan(made) if unread else made


def _copies(made: Plan) -> dict[str, Expr]:
    """The registers that are set once, to a constant or to another such register, and what they are.

    Whatever reads a register comes after what sets it, so the other one still holds the same.
    """
    counts: Counter[str] = Counter()
    candidates: list[plan.Set] = []
    for s in walk(made.body):
        for reg in defs(s):
            counts[reg.name] += 1
        if isinstance(s, plan.Set) and isinstance(s.value, Const | Reg):
            candidates.append(s)
    copies: dict[str, Expr] = {}
    for s in candidates:
        if counts[s.reg.name] == 1:
            match s.value:
                case Const():
                    copies[s.reg.name] = s.value
                case Reg(name=name) if counts[name] <= 1:
                    copies[s.reg.name] = copies.get(name, s.value)
    return copies


def _threads(made: Plan) -> set[str]:
    """The registers with the number of a thread, which is at least 1."""
    return {s.task.name for s in walk(made.body) if isinstance(s, plan.Par)}


class Replace:
    """Replaces registers, drops the statements that set them, and works out again what has become certain."""

    def __init__(self, replacement: Callable[[str], Expr | None], positive: set[str]) -> None:
        self.replacement, self.positive = replacement, positive
        self.decided = False
        """whether a value or a condition has become certain, so that there may be more copies"""
        self.origins: dict[int, Origin] = {}

    def plan(self, made: Plan) -> Plan:
        variables = tuple((name, self.part(reg)) for name, reg in made.variables)
        whole = tuple((name, self.part(reg)) for name, reg in made.whole)
        fills = tuple((name, self.part(z)) for name, z in made.fills)
        return replace(made, body=self.block(made.body), variables=variables, whole=whole, fills=fills)

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, plan.Set) and self.replacement(s.reg.name) is not None:
                continue
            changed = self.rewrite(s)
            match changed:
                case plan.If(condition=Const(value=holds), then=then, otherwise=otherwise):
                    self.decided = True
                    out += self.block(then if holds else otherwise)
                case plan.Set(value=Const() | Reg()) if changed is not s:
                    self.decided = True
                    out.append(changed)
                case plan.Check(condition=Const(value=True)):
                    pass
                case _:
                    out.append(with_blocks(changed, self.block))
        return tuple(out)

    def rewrite(self, s: Stmt) -> Stmt:
        """A statement, the blocks inside of it apart; the same object if it reads nothing that is replaced."""
        for name in reads(s):
            if name in self.positive or self.replacement(name) is not None:
                made: Stmt = self.rewrite_parts(s)
                return made
        return s

    def rewrite_parts(self, node: Any) -> Any:
        """A statement or a part of one; the same object if nothing in it changes."""
        changes = {}
        for name in ROLES[type(node)].reads:
            before = getattr(node, name)
            after = self.part(before)
            if after is not before:
                changes[name] = after
        return replace(node, **changes) if changes else node

    def part(self, value: Any) -> Any:
        kind = type(value)
        if kind is Reg:
            return self.replacement(value.name) or value
        if kind is Const or value is None or kind is str:
            return value
        if kind is Op:
            args = self.part(value.args)
            if value.op == ">" and args[1] == Const(0) and getattr(args[0], "name", None) in self.positive:
                return Const(True)
            return value if args is value.args else op(value.op, *args)
        if kind is tuple:
            parts = tuple(map(self.part, value))
            return value if all(a is b for a, b in zip(value, parts, strict=True)) else parts
        if kind is Origin:
            return self.origin(value)
        return self.rewrite_parts(value)

    def origin(self, origin: Origin) -> Origin:
        """Many statements share an origin."""
        known = self.origins.get(id(origin))
        if known is None:
            indices, ends = self.part(origin.indices), self.part(origin.ends)
            same = indices is origin.indices and ends is origin.ends
            known = origin if same else replace(origin, indices=indices, ends=ends)
            self.origins[id(origin)] = known
        return known


def _unread(made: Plan) -> list[str]:
    """The registers that are set and never read, but for setting others that are not read."""
    needs: dict[str, list[str]] = {}
    read = [reg.name for e in made.ends for reg in registers(e)]
    for s in walk(made.body):
        if isinstance(s, plan.Set):
            needs.setdefault(s.reg.name, []).extend(reads(s))
        else:
            read += reads(s)
        read += (reg.name for reg in yields(s))
    alive: set[str] = set()
    waiting = read
    while waiting:
        name = waiting.pop()
        if name not in alive:
            alive.add(name)
            waiting += needs.get(name, ())
    return [name for name in needs if name not in alive]
