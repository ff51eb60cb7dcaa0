"""Numbering on arrival: a level that can only append needs fibers to be entered in the order of their visits.

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

- z's own thread has certainly entered the same fiber as x before z (`_may_be_first_entry`);
- tasks take turns, and no fiber is entered in two turns (`_has_fiber_in_two_turns`). Then each turn enters and visits
  fibers of its own, and the numbers follow the turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product

from wingspan.base.dataclass import dataclass
from wingspan.dependence import protocol, relations
from wingspan.dependence.accesses import binding_loop
from wingspan.dependence.directions import common_loops
from wingspan.dependence.locks import locking_depths
from wingspan.dependence.protocol import Violation, common_prefix, has_fixed_schedule, in_one_isolated_fiber, level_name
from wingspan.dependence.relations import TRUE, Relation, TermComparison, agree, equal_indices, index, unequal_indices
from wingspan.dependence.representatives import require_comparable
from wingspan.dependence.reuse import may_stay_unwritten, reusing_ancestor
from wingspan.dependence.sets import AccessIteration, pairs_of
from wingspan.dependence.sites import EnclosingLoop, UpdateSite
from wingspan.lang import ir
from wingspan.levels import Tower
from wingspan.levels.base import Discipline, Gated


@dataclass(frozen=True)
class InsertionOrder:
    """A level that numbers fibers on arrival, at a depth of a tower, and when an update enters one."""

    tower: Tower
    depth: int
    within: int | None = None
    """the depth of a level that uses a child again: only fibers at one place within that child are compared"""

    def fiber_loops(self, site: UpdateSite) -> tuple[int, ...]:
        """The loops whose indices identify an entered fiber: one that a modifier wraps, or a storage level's child."""
        number = self._number - (not self._is_modifier)
        return protocol.position_loops(site, self.tower, number, self.within)

    def entering_loop(self, site: UpdateSite) -> int:
        """The loop that enters fibers: in every iteration, or when it begins if the level is late."""
        return binding_loop(site, self.tower, self.depth) if self._is_modifier else site.unfurls(self._number)

    def entry_depth(self, site: UpdateSite) -> int:
        """The number of loops that distinguish the entries."""
        return protocol.visit_depth(site, self._number) if self._is_late else self.entering_loop(site) + 1

    def is_shared(self, loop: EnclosingLoop) -> bool:
        """Whether the tasks of a parallel loop enter fibers of one instance."""
        above = self.tower.levels[: self.depth + 1]
        return loop.spawns and not any(isinstance(level, Gated) and level.device == loop.device for level in above)

    def common_prefix(self, one: UpdateSite, other: UpdateSite) -> int:
        """The number of loops that two entries agree on if the level has not begun anew in between."""
        return max(common_prefix(site, self.tower, self.depth) for site in (one, other))

    def in_one_instance(self, one: UpdateSite, other: UpdateSite, counted: bool) -> Relation:
        """Condition: two entries are of one instance: in one isolated fiber, and by one thread if each has its own."""
        alone = [
            k
            for k in range(min(common_loops(one, other), self.entry_depth(one), self.entry_depth(other)))
            if counted
            and one.loops[k].parallel
            and not self.is_shared(one.loops[k])
            and protocol.has_thread_per_iteration(one.loops[k])
        ]
        fiber = in_one_isolated_fiber(one, other, self.tower, self.depth, self.within)
        if self.within is not None:
            fiber &= in_one_isolated_fiber(one, other, self.tower, self.within)
        return fiber & agree(alone)

    def leaves_its_fiber(self, one: UpdateSite) -> Relation:
        """Condition: an entry of `one`, x, may leave its fiber to a later one (T21)."""
        return TRUE if self.within is None else may_stay_unwritten(one, self.tower, self.within, "x")

    def enters_other_fiber(self, one: UpdateSite, other: UpdateSite) -> Relation:
        """Condition: entry w of `one` creates y's fiber, of `other`, in the same copy that x's thread used."""
        there = equal_indices(self.fiber_loops(one), self.fiber_loops(other), "wy")
        same = set() if self.within is None else {*one.position(self.tower.numbers[self.within] - 1)}
        copied = {level.device for level in self.tower.levels[: self.depth] if level.discipline is Discipline.COPY}
        for k, loop in enumerate(one.loops[: self.entering_loop(one) + 1]):
            if loop.spawns and loop.device in copied:
                same |= {k} if has_fixed_schedule(loop, one) else {*range(k + 1)}
        return there & equal_indices(sorted(same), sorted(same), "wx")

    def turn_depth(self, site: UpdateSite, p: int) -> int:
        """The loops that distinguish turns of loop p's tasks; a turn ends when the outermost lock is released."""
        locks = [d for d in locking_depths(self.tower) if d < self.depth]
        taken = [k for k in (binding_loop(site, self.tower, d) for d in locks) if k >= p]
        return min((k + site.loops[k].parallel for k in taken), default=p + 1)

    @property
    def _number(self) -> int:
        return self.tower.numbers[self.depth]

    @property
    def _is_modifier(self) -> bool:
        return self.tower.levels[self.depth].modifier

    @property
    def _is_late(self) -> bool:
        return self._is_modifier and self.depth in self.tower.use_modifiers(self._number)


def violations(sites: Sequence[UpdateSite], tower: Tower, counted: bool) -> Iterator[Violation]:
    """Fibers of a `once` level are entered in the order of their visits where that decides on their positions."""
    for depth, level in enumerate(tower.levels):
        above = _deciding_level(tower, depth) if level.once else None
        if above is not None:
            within = reusing_ancestor(tower, above)
            levels = [InsertionOrder(tower, above), *([] if within is None else [InsertionOrder(tower, above, within)])]
            for (one, other), order in product(product(require_comparable(sites), repeat=2), levels):
                yield from _early_entries(sites, one, other, order, depth, counted)


def _deciding_level(tower: Tower, depth: int) -> int | None:
    """The level above that decides on the order of positions, if it does so by arrival.

    A `once` level numbers its children in the order in which it is visited itself, and an isolated fiber is alone.
    """
    for d in reversed(range(depth)):
        level = tower.levels[d]
        if level.once or level.discipline is Discipline.INSTANCE:
            return None
        if level.numbers_arrivals:
            return d
    return None


def _early_entries(
    sites: Sequence[UpdateSite], one: UpdateSite, other: UpdateSite, level: InsertionOrder, depth: int, counted: bool
) -> Iterator[Violation]:
    """Find an entry x of `one` that may come before y, an entry of `other` to a smaller fiber."""
    start = level.common_prefix(one, other)
    if start > common_loops(one, other):
        return
    pairs, upto = pairs_of(one, other, start), (level.entry_depth(one), level.entry_depth(other))
    p, q = level.fiber_loops(one), level.fiber_loops(other)
    larger = unequal_indices(p, q) & relations.not_before(p, q)
    larger &= level.in_one_instance(one, other, counted) & level.leaves_its_fiber(one)
    for k, earlier in _entry_orders(one, other, level, start):
        if k is not None and level.is_shared(one.loops[k]) and not _has_fiber_in_two_turns(sites, level, one.loops[k]):
            continue
        for later in _later_visits(sites, one, other, level, depth, start):
            condition = earlier & larger & _may_be_first_entry(one, other, level, start, k) & later
            if pairs.is_feasible(upto, condition):
                numbers, appends = level_name(level.tower, level.depth), level_name(level.tower, depth)
                reason = (
                    f"{numbers} numbers fibers in the order of entry, and {appends} would visit them in another order"
                )
                yield Violation("order", one, other, depth, reason, None, pairs, upto, condition)
                return


def _entry_orders(
    one: UpdateSite, other: UpdateSite, level: InsertionOrder, start: int
) -> Iterator[tuple[int | None, Relation]]:
    """Conditions: x may come before y (T19), in the order of a loop, or of the text (None)."""
    a, b = level.entering_loop(one), level.entering_loop(other)
    inside = common_loops(one, other)
    stop = min(inside, level.entry_depth(one), level.entry_depth(other))
    for k in range(start, stop):
        order = relations.differs(k) if level.is_shared(one.loops[k]) else relations.compares(k, "<")
        yield k, agree(range(k)) & order
    if a < b if min(a, b) < inside and a != b else one.order < other.order:
        yield None, agree(range(stop))


def _may_be_first_entry(
    one: UpdateSite, other: UpdateSite, level: InsertionOrder, start: int, k: int | None
) -> Relation:
    """Condition: no earlier iteration w of x's thread, inside of loop k, has certainly entered y's fiber (T19)."""
    side, stop, number = (
        AccessIteration("w", one.loops, one, start),
        level.entry_depth(one),
        level.entering_loop(one) + 1,
    )
    assert one.value is not None
    cancelled = any(isinstance(node, ir.Access) for node in one.value.walk())
    serial = [j for j in range(0 if k is None else k + 1, stop) if not one.loops[j].parallel]
    if k is None or cancelled or one.conditions or not side.has_affine_ranges(number) or not serial:
        return TRUE
    earlier = relations.any_of(
        equal_indices(range(j), range(j), "wx") & TermComparison(index("w", j), "<", index("x", j)) for j in serial
    )
    return ~side.exists(side.in_ranges(number) & level.enters_other_fiber(one, other) & earlier)


def _later_visits(
    sites: Sequence[UpdateSite], one: UpdateSite, other: UpdateSite, level: InsertionOrder, depth: int, start: int
) -> Iterator[Relation]:
    """Conditions: some access visits x's fiber where y's is visited.

    That goes without saying unless a Merge in between begins anew.
    """
    if all(common_prefix(site, level.tower, depth) <= start for site in sites):
        yield TRUE
        return
    for site in sites:
        side, prefix = (
            AccessIteration("v", site.loops, site, start),
            max(common_prefix(s, level.tower, depth) for s in (site, other)),
        )
        if prefix <= common_loops(site, other):
            there = equal_indices(level.fiber_loops(site), level.fiber_loops(one), "vx")
            in_time = equal_indices(range(prefix), range(prefix), "vy")
            yield side.exists(side.in_ranges(level.entry_depth(site)) & there & in_time)


def _has_fiber_in_two_turns(sites: Sequence[UpdateSite], level: InsertionOrder, loop: EnclosingLoop) -> bool:
    """Whether some fiber is entered in two turns of a loop's tasks, or in one and outside of the loop."""
    for one, other in combinations_with_replacement(sites, 2):
        start = level.common_prefix(one, other)
        a, b = (_turn_depth(site, level, loop) for site in (one, other))
        if start > common_loops(one, other):
            continue
        same = a == b and a <= common_loops(one, other)
        condition = equal_indices(level.fiber_loops(one), level.fiber_loops(other)) & level.in_one_instance(
            one, other, False
        )
        if same:
            condition &= unequal_indices(range(a), range(a))
        if pairs_of(one, other, start).is_feasible((level.entry_depth(one), level.entry_depth(other)), condition):
            return True
    return False


def _turn_depth(site: UpdateSite, level: InsertionOrder, loop: EnclosingLoop) -> int:
    """The number of loops that distinguish a site's turns; every entry outside of the loop counts as one."""
    return level.turn_depth(site, site.loops.index(loop)) if loop in site.loops else level.entry_depth(site)
