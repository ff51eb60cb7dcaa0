"""Definitions, uses and accesses of plan statements, and rewrites of them, derived from the roles of their fields."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from wingspan.plan.ir import Expr, If, Op, Plan, Ref, Reg, Stmt, While, blocks, walk
from wingspan.plan.roles import ROLES, Role


def registers(e: Expr) -> Iterator[Reg]:
    """The registers of an expression."""
    if isinstance(e, Reg):
        yield e
    elif isinstance(e, Op):
        for arg in e.args:
            yield from registers(arg)


def defs(s: Stmt) -> tuple[Reg, ...]:
    """The registers that a statement itself sets."""
    found: list[Reg] = []
    for each in _members(s):
        for name in ROLES[type(each)].defs:
            found += _values(each, name)
    return tuple(found)


def yields(s: Stmt) -> tuple[Reg, ...]:
    """The registers that are read at the end of the blocks inside of a statement."""
    return tuple([reg for name in ROLES[type(s)].yields for reg in _values(s, name)])


def accesses(s: Stmt) -> list[tuple[Ref, Role]]:
    """The buffers that a statement itself accesses, each with its role."""
    return [(getattr(each, name), how) for each in _members(s) for name, how in ROLES[type(each)].refs]


def refs(s: Stmt) -> list[Ref]:
    """The buffers that a statement itself accesses."""
    return [ref for ref, _ in accesses(s)]


def written_refs(s: Stmt) -> list[Ref]:
    """The buffers of which a statement itself writes cells."""
    return [ref for ref, how in accesses(s) if how in ("write", "update")]


def uses(s: Stmt) -> list[Expr]:
    """The expressions that a statement itself evaluates, without those in blocks; instances of buffers included."""
    found: list[Expr] = []
    for each in _members(s):
        roles = ROLES[type(each)]
        for name, _ in roles.refs:
            found.append(getattr(each, name).instance)
        for name in roles.uses:
            found += _values(each, name)
    return found


def report_operands(s: Stmt) -> list[Expr]:
    """The expressions that are only needed for reports on a statement."""
    return [e for node in _reports(s) for name in ROLES[type(node)].uses for e in _values(node, name)]


def _members(s: Any) -> tuple[Any, ...]:
    """A statement, and the parts that it consists of."""
    names = ROLES[type(s)].parts
    if not names:
        return (s,)
    return (s, *(each for name in names for part in _values(s, name) for each in _members(part)))


def _reports(s: Stmt) -> list[Any]:
    """The places and origins of a statement and of its parts, which reports name."""
    return [getattr(each, name) for each in _members(s) for name in ROLES[type(each)].reports]


def _values(node: Any, name: str) -> Iterable[Any]:
    """The values in a field: one, none, or those of a tuple, which may come with their names."""
    value = getattr(node, name)
    if type(value) is not tuple:
        return () if value is None else (value,)
    return [each for item in value for each in (item if type(item) is tuple else (item,)) if type(each) is not str]


def how_often_read(made: Plan) -> Counter[str]:
    """The numbers of statements and ends of a plan that read each register, by name."""
    count = reads_in(made.body)
    count.update(reg.name for e in made.ends for reg in registers(e))
    return count


def reads_in(body: tuple[Stmt, ...]) -> Counter[str]:
    """The numbers of these statements, and of those inside of them, that read each register, by name."""
    return Counter(name for s in walk(body) for name in reads(s))


def sets_in(body: tuple[Stmt, ...]) -> Counter[Reg]:
    """The numbers of these statements, and of those inside of them, that set each register."""
    return Counter(reg for s in walk(body) for reg in defs(s))


def reads(s: Stmt) -> frozenset[str]:
    """The names of the registers that a statement itself reads or reports. The answer is kept in the statement."""
    known: frozenset[str] | None = s.__dict__.get("_reads")
    if known is None:
        found: set[str] = set()
        _collect(uses(s), found)
        known = s.__dict__["_reads"] = frozenset(found.union(*map(_report_registers, _reports(s))))
    return known


def upward_exposed(body: tuple[Stmt, ...], known: set[str]) -> set[str]:
    """The names of the registers that a block may read before it has set them; what it sets for sure becomes known."""
    found: set[str] = set()
    for s in body:
        if not isinstance(s, While):
            found |= reads(s) - known
        match s:
            case If(then=then, otherwise=otherwise):
                one, other = set(known), set(known)
                found |= upward_exposed(then, one) | upward_exposed(otherwise, other)
                known |= one & other
            case While(test=test, body=inner):
                once = set(known)
                found |= upward_exposed(test, once)
                found |= reads(s) - once
                found |= upward_exposed(inner, once)
            case _:
                for block in blocks(s):
                    found |= upward_exposed(block, set(known))
        known |= {reg.name for reg in defs(s)}
    return found


def _report_registers(node: Any) -> frozenset[str]:
    """The names of the registers in a place or an origin, cached in it: many statements share an origin."""
    known: frozenset[str] | None = node.__dict__.get("_report_registers")
    if known is None:
        found: set[str] = set()
        for name in ROLES[type(node)].uses:
            _collect(_values(node, name), found)
        known = node.__dict__["_report_registers"] = frozenset(found)
    return known


def _collect(values: Iterable[Expr], found: set[str]) -> None:
    """Add the names of the registers of expressions."""
    for e in values:
        kind = type(e)
        if kind is Reg:
            found.add(e.name)  # type: ignore[union-attr]
        elif kind is Op:
            _collect(e.args, found)  # type: ignore[union-attr]


def rename(node: Any, by: Mapping[Reg, Expr]) -> Any:
    """A statement, or a part or a block of some, with other registers, also where they are set; or an expression."""
    if isinstance(node, Reg):
        return by.get(node, node)
    if isinstance(node, tuple):
        return tuple(rename(each, by) for each in node)
    roles = ROLES.get(type(node))
    if roles is None or not roles.all:
        return node
    return replace(node, **{name: rename(getattr(node, name), by) for name in roles.all})


def with_blocks(s: Stmt, change: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Stmt:
    """A statement with the blocks inside of it changed; the same object if nothing in them is."""
    changes = {}
    for name in ROLES[type(s)].blocks:
        before = getattr(s, name)
        after = change(before)
        if len(after) != len(before) or any(map(operator.is_not, after, before)):
            changes[name] = after
    return replace(s, **changes) if changes else s  # type: ignore[arg-type]


def rewrite(body: tuple[Stmt, ...], change: Callable[[Stmt], Iterable[Stmt] | None]) -> tuple[Stmt, ...]:
    """A block with the statements that `change` has in place of each one; where it has None, it is asked about those
    inside.
    """
    out: list[Stmt] = []
    for s in body:
        instead = change(s)
        out += (with_blocks(s, lambda block: rewrite(block, change)),) if instead is None else instead
    return tuple(out)


def rewrite_outwards(body: tuple[Stmt, ...], change: Callable[[Stmt], Iterable[Stmt]]) -> tuple[Stmt, ...]:
    """A block with the statements that `change` has in place of each one, which it gets with the changes inside."""
    return tuple(each for s in body for each in change(with_blocks(s, lambda block: rewrite_outwards(block, change))))
