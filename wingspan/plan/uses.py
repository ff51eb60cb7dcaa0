"""What a statement of a plan sets and uses, and the blocks inside of it changed."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from wingspan.plan import ir as plan
from wingspan.plan.ir import Expr, Op, Par, Plan, Reg, Stmt, When, While, walk


def registers(e: Expr) -> Iterator[Reg]:
    """The registers of an expression."""
    if isinstance(e, Reg):
        yield e
    elif isinstance(e, Op):
        for arg in e.args:
            yield from registers(arg)


def sets(s: Stmt) -> tuple[Reg, ...]:
    """The registers that a statement itself sets."""
    match s:
        case plan.Set(reg=reg) | plan.Compute(reg=reg) | plan.Load(reg=reg) | plan.Swap(reg=reg) | plan.Claim(reg=reg):
            return (reg,)
        case plan.Child(reg=reg) | plan.Fresh(reg=reg):
            return (reg,)
        case Par(task=task, joined=joined):
            return (task, *joined)
        case plan.Meet(lists=lists):
            return tuple(each.at for each in lists)
        case plan.Unite(lists=lists, at=at, loads=loads):
            return (*(each.at for each in lists), at, *(load.reg for load, _ in loads))
        case plan.Coincide(lists=lists, into=into, loads=loads):
            return (*(reg for x in lists for reg in x.regs), into.at, into.index, *(load.reg for load in loads))
        case plan.Unpack(count=count):
            return (count,)
        case plan.Tile(front=front):
            return (front,)
    return ()


def refs(s: Stmt) -> Iterator[plan.Ref]:
    """The buffers that a statement itself accesses."""
    if ref := getattr(s, "ref", None):
        yield ref
    elif isinstance(s, plan.Meet | plan.Unite):
        yield from (each.ref for each in s.lists)
        yield from (load.ref for load, _ in getattr(s, "loads", ()))
    elif isinstance(s, plan.Coincide):
        yield from (ref for x in (*s.lists, s.into) for ref in (x.left, x.right))
        yield from (each.ref for each in s.loads)


def operands(s: Stmt) -> Iterator[Expr]:
    """The expressions that a statement itself works with, blocks inside of it apart; instances among them."""
    yield from (ref.instance for ref in refs(s))
    match s:
        case plan.Compute(args=args):
            yield from args
        case plan.Check(condition=condition, values=values):
            yield from (condition, *(value for _, value in values))
        case plan.Store(index=index, value=value):
            yield from (index, value)
        case plan.Atomic(index=index, value=value, times=times):
            yield from (index, value)
            if times is not None:
                yield times
        case plan.Swap(index=index, old=old, value=value):
            yield from (index, old, value)
        case plan.Claim(stop=stop, step=step):
            yield from (stop, step)
        case plan.Child(parent=parent, key=key):
            yield from (parent, key)
        case plan.Drop(reg=reg):
            yield reg
        case plan.Meet(lists=lists) | plan.Unite(lists=lists):
            yield from (e for each in lists for e in (each.at, each.end))
        case plan.Coincide(lists=lists, into=into, loads=loads, last=last):
            yield from (e for x in lists for e in (*x.regs, x.end))
            yield from (into.at, into.first, into.index, last, *(load.index for load in loads))
        case plan.Unpack(count=count, word=word, before=before, condition=condition):
            yield from (count, word, before, condition)
        case While(condition=condition, rounds=rounds):
            yield condition
            if rounds is not None:
                yield rounds
        case (
            plan.Set(value=e) | plan.Load(index=e) | plan.Room(index=e) | plan.Prefetch(index=e) | plan.Acquire(index=e)
            | plan.Release(index=e) | plan.Sort(count=e) | When(condition=e)
        ):  # fmt: skip
            yield e
        case plan.Tile(first=first, last=last):
            yield from (first, last)
        case Par():
            yield s.tasks


def told(s: Stmt) -> Iterator[Expr]:
    """The expressions that only reports on a statement use."""
    if place := getattr(s, "place", None):
        yield from (e for e in (place.position, place.index) if e is not None)
    if origin := getattr(s, "origin", None):
        yield from (e for _, e in (*origin.indices, *origin.ends))


def how_often_read(made: Plan) -> Counter[str]:
    """How many statements and ends of a plan read each register, by its name."""
    count = reads_in(made.body)
    count.update(reg.name for e in made.ends for reg in registers(e))
    return count


def reads_in(body: tuple[Stmt, ...]) -> Counter[str]:
    """How many of these statements, and of those inside of them, read each register, by its name."""
    return Counter(name for s in walk(body) for name in reads(s))


def reads(s: Stmt) -> frozenset[str]:
    """The names of the registers that a statement itself reads or reports. The answer is kept in the statement."""
    known: frozenset[str] | None = s.__dict__.get("_reads")
    if known is None:
        found: set[str] = set()
        _collect(operands(s), found)
        if place := getattr(s, "place", None):
            _collect((place.position, place.index), found)
        if origin := getattr(s, "origin", None):
            found |= _told(origin)
        known = s.__dict__["_reads"] = frozenset(found)
    return known


def exposed(body: tuple[Stmt, ...], known: set[str]) -> set[str]:
    """The names of the registers that a block may read before it has set them; what it sets for sure becomes known."""
    found: set[str] = set()
    for s in body:
        if not isinstance(s, While):
            found |= reads(s) - known
        match s:
            case When(then=then, otherwise=otherwise):
                one, other = set(known), set(known)
                found |= exposed(then, one) | exposed(otherwise, other)
                known |= one & other
            case While(test=test, body=inner):
                once = set(known)
                found |= exposed(test, once)
                found |= reads(s) - once
                found |= exposed(inner, once)
            case _:
                for block in plan.parts(s):
                    found |= exposed(block, set(known))
        known |= {reg.name for reg in sets(s)}
    return found


def _told(origin: plan.Origin) -> frozenset[str]:
    """The names of the registers that an origin reports, kept in it: many statements share an origin."""
    known: frozenset[str] | None = origin.__dict__.get("_told")
    if known is None:
        found: set[str] = set()
        _collect([e for _, e in (*origin.indices, *origin.ends)], found)
        known = origin.__dict__["_told"] = frozenset(found)
    return known


def _collect(values: Iterable[Expr | None], found: set[str]) -> None:
    """Add the names of the registers of expressions."""
    for e in values:
        kind = type(e)
        if kind is Reg:
            found.add(e.name)  # type: ignore[union-attr]
        elif kind is Op:
            _collect(e.args, found)  # type: ignore[union-attr]


def renamed(node: Any, by: Mapping[Reg, Expr]) -> Any:
    """A statement, or a part or a block of some, with other registers, also where they are set; or an expression."""
    if isinstance(node, Reg):
        return by.get(node, node)
    if isinstance(node, tuple):
        return tuple(renamed(each, by) for each in node)
    if type(node).__module__ != plan.__name__ or isinstance(node, plan.Buffer):
        return node
    made = {part.name: renamed(getattr(node, part.name), by) for part in fields(node)}
    return replace(node, **made)


def with_blocks(s: Stmt, change: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Stmt:
    """A statement with the blocks inside of it changed; the same object if nothing in them is."""
    names = plan.BLOCKS.get(type(s))
    if names is None:
        return s
    changes = {}
    for name in names:
        before = getattr(s, name)
        after = change(before)
        if len(after) != len(before) or any(map(operator.is_not, after, before)):
            changes[name] = after
    return replace(s, **changes) if changes else s  # type: ignore[arg-type]
