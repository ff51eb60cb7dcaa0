"""Numbers given on arrival: a level that can only append needs fibers to be entered in the order of their visits.

`protocol.order` compares the visits of a `once` level by logical positions: the indices of the loops. What the level
compares are physical positions. Below SparseDict, which numbers children when they are first entered, and below Shard,
which numbers fibers when they are first claimed, the two may differ: an access is entered when its iteration begins,
and the same iteration may enter and visit another fiber before it visits this one.

Claim: if visits come in logical order, and no fiber is entered before another that is logically smaller and that is
visited, then visits come in physical order. Let x be visited before y. Then x is logically smaller than y. Every entry
of y, the first one included, comes after the entry that belongs to the visit of x; so x has the smaller number.

An ordered level further out uses a child again in which nothing was written (`reuse`). So the same is asked of fibers
within that child, at whichever of its indices they were entered.

Two things excuse an entry z that may come before that of a smaller x:

- z's own thread has surely entered the same fiber as x before z (`_surely_before`);
- tasks take turns, and no fiber is entered in two turns (`_entered_in_two_turns`). Then each turn enters and visits
  fibers of its own, and the numbers follow the turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

from wingspan.dependence.accesses import binder
from wingspan.dependence.alike import limited
from wingspan.dependence.directions import common
from wingspan.dependence.protocol import (
    Breach,
    dealt_alike,
    isolated,
    level_name,
    never_one_thread,
    opened,
    place,
    renewed,
)
from wingspan.dependence.reuse import reused_below, unwritten
from wingspan.dependence.sets import Side, apart, differ, not_before, pairs_of, same
from wingspan.dependence.sites import Loop, Site
from wingspan.lang import ir
from wingspan.levels import Tower
from wingspan.levels.base import Gated
from wingspan.levels.isolate import Isolate
from wingspan.levels.merge import Merge
from wingspan.levels.mutex import Mutex


@dataclass(frozen=True)
class Arrivals:
    """A level that numbers fibers on arrival, at a depth of a tower, and when an update enters one."""

    tower: Tower
    depth: int
    within: int | None = None
    """the depth of a level that uses a child again: only fibers at one place within that child are compared"""

    def path(self, site: Site) -> tuple[int, ...]:
        """The loops whose indices identify an entered fiber: one that a modifier wraps, or a storage level's child."""
        number = self._number - (not self._modifier)
        return place(site, self.tower, number, self.within)

    def loop(self, site: Site) -> int:
        """Which loop enters fibers: in every iteration, or when it is opened if the level is late."""
        return binder(site, self.tower, self.depth) if self._modifier else site.unfurls(self._number)

    def events(self, site: Site) -> int:
        """How many loops distinguish the entries."""
        return opened(site, self._number) if self._late else self.loop(site) + 1

    def shared(self, loop: Loop) -> bool:
        """Whether the tasks of a parallel loop enter fibers of one instance."""
        above = self.tower.levels[: self.depth + 1]
        return loop.spawns and not any(isinstance(level, Gated) and level.device == loop.device for level in above)

    def renewed(self, one: Site, other: Site) -> int:
        """How many loops two entries agree on if the level has not begun anew in between."""
        return max(renewed(site, self.tower, self.depth) for site in (one, other))

    def together(self, one: Site, other: Site, counted: bool) -> tuple[str, ...]:
        """That two entries are of one instance: in one isolated fiber, and by one thread if each has its own."""
        alone = [
            k
            for k in range(min(common(one, other), self.events(one), self.events(other)))
            if counted and one.loops[k].parallel and not self.shared(one.loops[k]) and never_one_thread(one.loops[k])
        ]
        found = isolated(one, other, self.tower, self.depth, self.within)
        if self.within is not None:
            found = *found, *isolated(one, other, self.tower, self.within)
        return *found, same(alone, alone)

    def first(self, one: Site) -> tuple[str, ...]:
        """When an entry, x, leaves its fiber to a later one."""
        return () if self.within is None else (unwritten(one, self.tower, self.within, "x"),)

    def before(self, one: Site, other: Site) -> list[str]:
        """That an entry of `one`, w, is to y's fiber as its place was when x was entered, in the copy of x's thread."""
        there = [f"w{i} = y{j}" for i, j in zip(self.path(one), self.path(other), strict=True)]
        alike = set() if self.within is None else {*one.position(self.tower.numbers[self.within] - 1)}
        copied = {level.device for level in self.tower.levels[: self.depth] if isinstance(level, Merge)}
        for k, loop in enumerate(one.loops[: self.loop(one) + 1]):
            if loop.spawns and loop.device in copied:
                alike |= {k} if dealt_alike(loop, one) else {*range(k + 1)}
        return [*there, *(f"w{i} = x{i}" for i in sorted(alike))]

    def turn(self, site: Site, p: int) -> int:
        """How many loops distinguish the turns of loop p's tasks; a turn ends when the outermost lock is released."""
        locks = [d for d in range(self.depth) if isinstance(self.tower.levels[d], Mutex)]
        taken = [k for k in (binder(site, self.tower, d) for d in locks) if k >= p]
        return min((k + site.loops[k].parallel for k in taken), default=p + 1)

    @property
    def _number(self) -> int:
        return self.tower.numbers[self.depth]

    @property
    def _modifier(self) -> bool:
        return self.tower.levels[self.depth].modifier

    @property
    def _late(self) -> bool:
        return self._modifier and self.depth in self.tower.use_modifiers(self._number)


def breaches(sites: Sequence[Site], tower: Tower, counted: bool) -> Iterator[Breach]:
    """Fibers of a `once` level are entered in the order of their visits where that decides on their positions."""
    for depth, level in enumerate(tower.levels):
        above = _deciding(tower, depth) if level.once else None
        if above is not None:
            within = reused_below(tower, above)
            levels = [Arrivals(tower, above), *([] if within is None else [Arrivals(tower, above, within)])]
            for (one, other), arrivals in product(product(limited(sites), repeat=2), levels):
                yield from _entered_too_early(sites, one, other, arrivals, depth, counted)


def _deciding(tower: Tower, depth: int) -> int | None:
    """The level above that decides on the order of positions, if it does so by arrival.

    A `once` level numbers its children in the order in which it is visited itself, and an isolated fiber is alone.
    """
    for d in reversed(range(depth)):
        level = tower.levels[d]
        if level.once or isinstance(level, Isolate):
            return None
        if level.numbers_arrivals:
            return d
    return None


def _entered_too_early(
    sites: Sequence[Site], one: Site, other: Site, level: Arrivals, depth: int, counted: bool
) -> Iterator[Breach]:
    """When x, an entry of `one`, may come before y, an entry of `other` to a smaller fiber."""
    start = level.renewed(one, other)
    if start > common(one, other):
        return
    pairs, upto = pairs_of(one, other, start), (level.events(one), level.events(other))
    p, q = level.path(one), level.path(other)
    larger = (apart(p, q), not_before(p, q), *level.together(one, other, counted), *level.first(one))
    for k, told in _earlier(one, other, level, start):
        if k is not None and level.shared(one.loops[k]) and not _entered_in_two_turns(sites, level, one.loops[k]):
            continue
        for later in _visited_later(sites, one, other, level, depth, start):
            constraints = (*told, *larger, *_not_surely_before(one, other, level, start, k), *later)
            if pairs.some(upto, *constraints):
                numbers, appends = level_name(level.tower, level.depth), level_name(level.tower, depth)
                reason = (
                    f"{numbers} numbers fibers in the order of entry, and {appends} would visit them in another order"
                )
                yield Breach("order", one, other, depth, reason, None, pairs, upto, constraints)
                return


def _earlier(one: Site, other: Site, level: Arrivals, start: int) -> Iterator[tuple[int | None, tuple[str, ...]]]:
    """When x may come before y: by which loop, None if by the text."""
    a, b = level.loop(one), level.loop(other)
    inside = common(one, other)
    stop = min(inside, level.events(one), level.events(other))
    for k in range(start, stop):
        yield k, (same(range(k), range(k)), differ(k) if level.shared(one.loops[k]) else f"x{k} < y{k}")
    if a < b if min(a, b) < inside and a != b else one.order < other.order:
        yield None, (same(range(stop), range(stop)),)


def _not_surely_before(one: Site, other: Site, level: Arrivals, start: int, k: int | None) -> tuple[str, ...]:
    """That x's thread need not have entered y's fiber before x, by the same access, after the loops up to k."""
    side, stop = Side("w", one.loops, one, start), level.events(one)
    ranges = list(side.ranges(level.loop(one) + 1))
    cancelled = any(isinstance(node, ir.Access) for node in one.statement.value.walk())
    serial = [j for j in range(0 if k is None else k + 1, stop) if not one.loops[j].parallel]
    if k is None or cancelled or one.conditions or None in ranges or not serial:
        return ()
    earlier = [" and ".join([*(f"w{i} = x{i}" for i in range(j)), f"w{j} < x{j}"]) for j in serial]
    return ("not " + _some(side, *ranges, *level.before(one, other), f"({' or '.join(earlier)})"),)


def _visited_later(
    sites: Sequence[Site], one: Site, other: Site, level: Arrivals, depth: int, start: int
) -> Iterator[tuple[str, ...]]:
    """That x's fiber is visited where y's is, which goes without saying unless a Merge in between begins anew."""
    if all(renewed(site, level.tower, depth) <= start for site in sites):
        yield ()
        return
    for site in sites:
        side, agree = (
            Side("v", site.loops, site, start),
            max(renewed(each, level.tower, depth) for each in (site, other)),
        )
        if agree <= common(site, other):
            there = [f"v{i} = x{j}" for i, j in zip(level.path(site), level.path(one), strict=True)]
            yield (_some(side, *side.ranges(level.events(site)), *there, *(f"v{k} = y{k}" for k in range(agree))),)


def _some(side: Side, *constraints: str | None) -> str:
    """That there is an iteration of a third access, as far as the constraints are known."""
    return f"(exists {', '.join(side.names)} : {' and '.join(told for told in constraints if told is not None)})"


def _entered_in_two_turns(sites: Sequence[Site], level: Arrivals, loop: Loop) -> bool:
    """Whether some fiber is entered in two turns of a loop's tasks, or in one and outside of the loop."""
    for one, other in combinations_with_replacement(sites, 2):
        start = level.renewed(one, other)
        a, b = (_turn(site, level, loop) for site in (one, other))
        if start > common(one, other):
            continue
        alike = a == b and a <= common(one, other)
        told = (
            same(level.path(one), level.path(other)),
            *level.together(one, other, False),
            *([apart(range(a), range(a))] if alike else []),
        )
        if pairs_of(one, other, start).some((level.events(one), level.events(other)), *told):
            return True
    return False


def _turn(site: Site, level: Arrivals, loop: Loop) -> int:
    """How many loops distinguish a site's turns; every entry outside of the loop counts as one."""
    return level.turn(site, site.loops.index(loop)) if loop in site.loops else level.events(site)
