"""Two updates of one tensor under one parallel loop, and what can be asked of them.

The *carried pairs* of a parallel loop p are pairs of iterations of the loops around the two updates that agree outside
of p and differ on p: what two tasks of one run of p may execute at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from wingspan.dependence.sets import Numbers, Pairs, apart, differ, pairs_of, same
from wingspan.dependence.sites import Loop, Site
from wingspan.levels import Tower
from wingspan.levels.base import Dependence


@dataclass(frozen=True, eq=False)
class Together:
    """Two updates of one tensor (or one, twice), in the order of the text, inside of the parallel loop number p."""

    one: Site
    other: Site
    p: int

    @cached_property
    def pairs(self) -> Pairs:
        """Pairs of iterations that agree outside of p."""
        return pairs_of(self.one, self.other, self.p)

    @property
    def loop(self) -> Loop:
        """p"""
        return self.one.loops[self.p]

    @property
    def rank(self) -> int:
        """m"""
        return self.one.rank

    def upto(self, number: int) -> Numbers:
        """The loops around the accesses to a level: those down to the one that unfurls it, all of them for a leaf.

        A level is reached also where no loop further in has an iteration, and no condition holds.
        """
        return self.pairs.upto(self.one.unfurls(number), self.other.unfurls(number))

    def same(self, number: int) -> str:
        """Both reach one position at the level with this number."""
        return same(self.one.position(number), self.other.position(number))

    def apart(self, number: int) -> str:
        """They reach different positions there."""
        return apart(self.one.position(number), self.other.position(number))

    def carried(self, number: int) -> tuple[str, ...]:
        """What makes a pair that reaches a level a carried one; an element is updated only if the conditions hold."""
        return differ(self.p), *(self.pairs.guards() if number == 1 else ())

    def some(self, number: int, *constraints: str) -> bool:
        """Whether some carried pair that reaches a level satisfies constraints."""
        return self.pairs.some(self.upto(number), *self.carried(number), *constraints)

    def kinds(self, number: int, *constraints: str) -> frozenset[Dependence]:
        """The dependences that carried pairs have at a level, among those that satisfy constraints."""
        key = number, constraints
        if key not in self._kinds:
            kinds = (kind for kind, told in self.told(number).items() if self.some(number, *told, *constraints))
            self._kinds[key] = frozenset(kinds)
        return self._kinds[key]

    @cached_property
    def _kinds(self) -> dict[tuple[int, tuple[str, ...]], frozenset[Dependence]]:
        """Those that have been asked for: they are the same for all formats."""
        return {}

    def told(self, number: int) -> dict[Dependence, tuple[str, ...]]:
        """What makes a dependence node, sibling or cousin at a level. At a leaf positions are all there is."""
        if number == 1:
            return {"node": (self.same(1),), "cousin": (self.apart(1),)}
        return {
            "node": (self.same(number - 1),),
            "sibling": (self.same(number), self.apart(number - 1)),
            "cousin": (self.apart(number),),
        }

    def updates(self, number: int) -> bool:
        """Whether p's tasks touch the storage of a level for both updates: p, or a loop inside of it, unfurls it."""
        return self.one.unfurls(number) >= self.p and self.other.unfurls(number) >= self.p

    def meets(self, tower: Tower, depth: int, *constraints: str) -> bool:
        """Whether some carried pair makes a modifier take effect at one position."""
        upto = self.pairs.upto(binder(self.one, tower, depth), binder(self.other, tower, depth))
        return self.pairs.some(upto, differ(self.p), self.same(tower.numbers[depth]), *constraints)

    def binds(self, tower: Tower, depth: int) -> bool:
        """Whether the modifier at a depth takes effect in p's tasks for both updates."""
        return binder(self.one, tower, depth) >= self.p and binder(self.other, tower, depth) >= self.p


def binder(site: Site, tower: Tower, depth: int) -> int:
    """Which of the loops makes a modifier take effect: over the parent's index, or the one that unfurls its level.

    Past the last loop: the update of the element itself.
    """
    number = tower.numbers[depth]
    return site.unfurls(number if depth in tower.use_modifiers(number) else number + 1)
