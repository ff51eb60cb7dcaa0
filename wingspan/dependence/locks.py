"""Locks: which one a task may ask for while it holds another, and whether tasks can wait in a circle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from wingspan.dependence.alike import distinct, limited
from wingspan.dependence.directions import common
from wingspan.dependence.protocol import Breach
from wingspan.dependence.sets import not_before, pairs_of, same
from wingspan.dependence.sites import Life, Site
from wingspan.levels import Discipline, Tower


@dataclass(frozen=True)
class Lock:
    """The locks of one modifier."""

    life: Life
    depth: int


@dataclass(frozen=True)
class Nested:
    """An update that asks for a lock while another holds one."""

    held: Lock
    asked: Lock
    holder: Site
    asker: Site


def deadlocks(sites: Iterable[Site], towers: Mapping[str, Tower]) -> Iterator[Breach]:
    """A circle of locks, or a lock that may be asked for by a task that holds it, or by one that it has spawned."""
    holders = [site for site in sites if next(locking(towers[site.tensor]), None) is not None]
    edges = list(_nested(limited(distinct(holders)), towers))
    for edge in edges:
        if edge.held == edge.asked:
            yield from _again(edge, towers[edge.holder.tensor])
    for loop in dict.fromkeys(loop for edge in edges for loop in edge.holder.loops if loop.spawns):
        inside = [edge for edge in edges if loop in edge.holder.loops and loop in edge.asker.loops]
        for edge in inside:
            back = _way(inside, edge.asked, edge.held) if edge.held != edge.asked else None
            if back is not None:
                reason = (
                    f"a task that holds {_name(edge.held, towers)} asks for {_name(edge.asked, towers)}, "
                    "and another does so the other way round"
                )
                yield Breach("deadlock", edge.asker, back[0].asker, edge.asked.depth, reason, loop)
                return


def _nested(sites: Sequence[Site], towers: Mapping[str, Tower]) -> Iterator[Nested]:
    """Within one update the locks nest from the root to the leaf; another comes in between as the loops do."""
    for one in sites:
        for a in locking(towers[one.tensor]):
            for other in sites:
                for b in locking(towers[other.tensor]):
                    if _holds(one, a, other, b, towers):
                        yield Nested(Lock(one.life, a), Lock(other.life, b), one, other)


def locking(tower: Tower) -> Iterator[int]:
    """The depths of the modifiers whose locks tasks take."""
    return (depth for depth, level in enumerate(tower.levels) if level.discipline and level.discipline.locks)


def _holds(one: Site, a: int, other: Site, b: int, towers: Mapping[str, Tower]) -> bool:
    """Whether the lock at depth a of the one's tensor is held when the other's at depth b is asked for.

    A lock is held while the loop runs that unfurls its level; a loop unfurls fibers in the order of the text.
    """
    i, j = towers[one.tensor].numbers[a], towers[other.tensor].numbers[b]
    held, asked = one.unfurls(i), other.unfurls(j)
    if one is other:
        return a < b
    if held >= common(one, other):
        return False
    if held != asked:
        return held < asked
    alike = one.life is other.life and one.subscripts[i - 2 :] == other.subscripts[j - 2 :]
    return a < b if alike else one.order < other.order


def _again(edge: Nested, tower: Tower) -> Iterator[Breach]:
    """Two locks of one modifier held together are no trouble if all tasks take them in ascending order.

    If fibers share locks, the second lock may be the first one.
    """
    shared = tower.levels[edge.held.depth].discipline is Discipline.SHARED_LOCK
    one, other, j = edge.holder, edge.asker, tower.numbers[edge.held.depth]
    pairs, p, q = pairs_of(one, other, one.unfurls(j)), one.position(j), other.position(j)
    upto = pairs.upto(one.unfurls(j), other.unfurls(j))
    where = f"{tower.levels[edge.held.depth].name} around level {j} of {one.tensor}"
    again = () if shared else (same(p, q),)
    if pairs.some(upto, *again):
        reason = f"a task that holds a lock of {where} asks for it again, and waits for itself"
        yield Breach("deadlock", one, other, edge.held.depth, reason, None, pairs, upto, again)
    elif any(loop.spawns for loop in one.loops[: common(one, other)]) and pairs.some(upto, not_before(p, q)):
        reason = f"a task that holds a lock of {where} asks for another one, not in ascending order"
        yield Breach("deadlock", one, other, edge.held.depth, reason, None, pairs, upto, (not_before(p, q),))


def _way(edges: list[Nested], start: Lock, stop: Lock) -> list[Nested] | None:
    """Edges that lead from one lock to another, as few as possible."""
    ways: list[tuple[Lock, list[Nested]]] = [(start, [])]
    seen = {start}
    while ways:
        here, way = ways.pop(0)
        for edge in edges:
            if edge.held == here and edge.asked == stop:
                return [*way, edge]
            if edge.held == here and edge.asked not in seen:
                seen.add(edge.asked)
                ways.append((edge.asked, [*way, edge]))
    return None


def _name(lock: Lock, towers: Mapping[str, Tower]) -> str:
    number = towers[lock.life.tensor].numbers[lock.depth]
    return f"a lock of {lock.life.tensor}, level {number}"
