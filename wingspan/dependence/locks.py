"""Locks: which one a task may ask for while it holds another, and whether tasks can wait in a circle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from wingspan.base.dataclass import dataclass
from wingspan.dependence.directions import common_loops
from wingspan.dependence.protocol import Violation
from wingspan.dependence.relations import TRUE, equal_indices, not_before
from wingspan.dependence.representatives import representatives, require_comparable
from wingspan.dependence.sets import pairs_of
from wingspan.dependence.sites import Life, UpdateSite
from wingspan.levels import Discipline, Tower


@dataclass(frozen=True)
class ModifierLocks:
    """The locks of one modifier."""

    life: Life
    depth: int


@dataclass(frozen=True)
class NestedLocks:
    """An update that asks for a lock while another holds one."""

    outer: ModifierLocks
    inner: ModifierLocks
    holder: UpdateSite
    asker: UpdateSite


def deadlocks(sites: Iterable[UpdateSite], towers: Mapping[str, Tower]) -> Iterator[Violation]:
    """A circle of locks, or a lock that may be asked for by a task that holds it, or by one that it has spawned."""
    holders = [site for site in sites if next(locking_depths(towers[site.tensor]), None) is not None]
    edges = list(_nested_locks(require_comparable(representatives(holders)), towers))
    for edge in edges:
        if edge.outer == edge.inner:
            yield from _repeated_locks(edge, towers[edge.holder.tensor])
    for loop in dict.fromkeys(loop for edge in edges for loop in edge.holder.loops if loop.spawns):
        inside = [edge for edge in edges if loop in edge.holder.loops and loop in edge.asker.loops]
        for edge in inside:
            back = _path(inside, edge.inner, edge.outer) if edge.outer != edge.inner else None
            if back is not None:
                reason = (
                    f"a task that holds {_name(edge.outer, towers)} asks for {_name(edge.inner, towers)}, "
                    "and another does so the other way round"
                )
                yield Violation("deadlock", edge.asker, back[0].asker, edge.inner.depth, reason, loop)
                return


def _nested_locks(sites: Sequence[UpdateSite], towers: Mapping[str, Tower]) -> Iterator[NestedLocks]:
    """Within one update the locks nest from the root to the leaf; another comes in between as the loops do."""
    for one in sites:
        for a in locking_depths(towers[one.tensor]):
            for other in sites:
                for b in locking_depths(towers[other.tensor]):
                    if _is_nested(one, a, other, b, towers):
                        yield NestedLocks(ModifierLocks(one.life, a), ModifierLocks(other.life, b), one, other)


def locking_depths(tower: Tower) -> Iterator[int]:
    """The depths of the modifiers whose locks tasks take."""
    return (depth for depth, level in enumerate(tower.levels) if level.discipline and level.discipline.locks)


def _is_nested(one: UpdateSite, a: int, other: UpdateSite, b: int, towers: Mapping[str, Tower]) -> bool:
    """Whether the lock at depth a of the one's tensor is held when the other's at depth b is asked for.

    A lock is held while the loop runs that unfurls its level; a loop unfurls fibers in the order of the text.
    """
    i, j = towers[one.tensor].numbers[a], towers[other.tensor].numbers[b]
    first, second = one.unfurls(i), other.unfurls(j)
    if one is other:
        return a < b
    if first >= common_loops(one, other):
        return False
    if first != second:
        return first < second
    alike = one.life is other.life and one.subscripts[i - 2 :] == other.subscripts[j - 2 :]
    return a < b if alike else one.order < other.order


def _repeated_locks(edge: NestedLocks, tower: Tower) -> Iterator[Violation]:
    """Two locks of one modifier held together are no trouble if all tasks take them in ascending order.

    If fibers share locks, the second lock may be the first one.
    """
    shared = tower.levels[edge.outer.depth].discipline is Discipline.SHARED_LOCK
    one, other, j = edge.holder, edge.asker, tower.numbers[edge.outer.depth]
    pairs, p, q = pairs_of(one, other, one.unfurls(j)), one.position(j), other.position(j)
    upto = pairs.down_to(one.unfurls(j), other.unfurls(j))
    where = f"{tower.levels[edge.outer.depth].name} around level {j} of {one.tensor}"
    again, unordered = TRUE if shared else equal_indices(p, q), not_before(p, q)
    if pairs.is_feasible(upto, again):
        reason = f"a task that holds a lock of {where} asks for it again, and waits for itself"
        yield Violation("deadlock", one, other, edge.outer.depth, reason, None, pairs, upto, again)
    elif any(loop.spawns for loop in one.loops[: common_loops(one, other)]) and pairs.is_feasible(upto, unordered):
        reason = f"a task that holds a lock of {where} asks for another one, not in ascending order"
        yield Violation("deadlock", one, other, edge.outer.depth, reason, None, pairs, upto, unordered)


def _path(edges: list[NestedLocks], start: ModifierLocks, stop: ModifierLocks) -> list[NestedLocks] | None:
    """Edges that lead from one lock to another, as few as possible."""
    ways: list[tuple[ModifierLocks, list[NestedLocks]]] = [(start, [])]
    seen = {start}
    while ways:
        here, way = ways.pop(0)
        for edge in edges:
            if edge.outer == here and edge.inner == stop:
                return [*way, edge]
            if edge.outer == here and edge.inner not in seen:
                seen.add(edge.inner)
                ways.append((edge.inner, [*way, edge]))
    return None


def _name(lock: ModifierLocks, towers: Mapping[str, Tower]) -> str:
    number = towers[lock.life.tensor].numbers[lock.depth]
    return f"a lock of {lock.life.tensor}, level {number}"
