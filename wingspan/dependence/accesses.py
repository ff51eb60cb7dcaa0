"""Two accesses to one tensor under one parallel loop, of which one updates it, and the conditions on their iterations.

The *carried pairs* of a parallel loop p are pairs of iterations of the loops around the two updates that agree outside
of p and differ on p: what two tasks of one run of p may execute at the same time.
"""

from __future__ import annotations

from functools import cached_property

from wingspan.base.dataclass import dataclass
from wingspan.dependence.relations import TRUE, Relation, differs, equal_indices, unequal_indices
from wingspan.dependence.sets import Depths, Pairs, pairs_of
from wingspan.dependence.sites import EnclosingLoop, UpdateSite
from wingspan.levels import Tower
from wingspan.levels.base import Dependence


@dataclass(frozen=True, eq=False)
class UpdatePair:
    """Two accesses to one tensor (or one, twice), in the order of the text, inside of the parallel loop number p.

    At least one of them updates it.
    """

    one: UpdateSite
    other: UpdateSite
    p: int

    @cached_property
    def pairs(self) -> Pairs:
        """Pairs of iterations that agree outside of p."""
        return pairs_of(self.one, self.other, self.p)

    @property
    def loop(self) -> EnclosingLoop:
        """p"""
        return self.one.loops[self.p]

    @property
    def rank(self) -> int:
        """m"""
        return self.one.rank

    def upto(self, number: int) -> Depths:
        """The loops around the accesses to a level: those down to the one that unfurls it, all of them for a leaf.

        A level is reached also where no loop further in has an iteration, and no condition holds (T10).
        """
        return self.pairs.down_to(self.one.unfurls(number), self.other.unfurls(number))

    def same_position(self, number: int) -> Relation:
        """Condition: both reach one position at the level with this number: f_j … f_m agree (section 3.2)."""
        return equal_indices(self.one.position(number), self.other.position(number))

    def other_position(self, number: int) -> Relation:
        """Condition: they reach different positions at the level with this number."""
        return unequal_indices(self.one.position(number), self.other.position(number))

    def carries_pair(self, number: int) -> Relation:
        """Condition: p carries the pair, to a level; an element is updated only if the conditions hold (T10)."""
        return differs(self.p) & (self.pairs.guards if number == 1 else TRUE)

    def is_feasible(self, number: int, condition: Relation) -> bool:
        """Whether some carried pair that reaches a level satisfies a condition."""
        return self.pairs.is_feasible(self.upto(number), self.carries_pair(number) & condition)

    def kinds(self, number: int, among: Relation = TRUE) -> frozenset[Dependence]:
        """The dependences that carried pairs have at a level (W, T3), among those that satisfy a condition."""
        key = number, among
        if key not in self._kinds:
            kinds = self.kind_constraints(number).items()
            self._kinds[key] = frozenset(kind for kind, each in kinds if self.is_feasible(number, each & among))
        return self._kinds[key]

    @cached_property
    def _kinds(self) -> dict[tuple[int, Relation], frozenset[Dependence]]:
        """The answers so far, which are the same for all formats."""
        return {}

    def kind_constraints(self, number: int) -> dict[Dependence, Relation]:
        """Conditions: the pair has a node, sibling or cousin dependence at a level (section 3.2).

        A node dependence is at one position and index, a sibling at one position and two indices, a cousin at two
        positions. A leaf has no index: positions are all there is (T2).
        """
        if number == 1:
            return {"node": self.same_position(1), "cousin": self.other_position(1)}
        return {
            "node": self.same_position(number - 1),
            "sibling": self.same_position(number) & self.other_position(number - 1),
            "cousin": self.other_position(number),
        }

    def updates(self, number: int) -> bool:
        """Whether p's tasks touch the storage of a level for both updates: a loop from p on inwards unfurls it (T1)."""
        return self.one.unfurls(number) >= self.p and self.other.unfurls(number) >= self.p

    def meets(self, tower: Tower, depth: int, among: Relation = TRUE) -> bool:
        """Whether some carried pair, among some, makes a modifier take effect at one position."""
        upto = self.pairs.down_to(binding_loop(self.one, tower, depth), binding_loop(self.other, tower, depth))
        return self.pairs.is_feasible(upto, differs(self.p) & self.same_position(tower.numbers[depth]) & among)

    def binds(self, tower: Tower, depth: int) -> bool:
        """Whether the modifier at a depth takes effect in p's tasks for both updates (T6)."""
        return binding_loop(self.one, tower, depth) >= self.p and binding_loop(self.other, tower, depth) >= self.p


def binding_loop(site: UpdateSite, tower: Tower, depth: int) -> int:
    """The loop that makes a modifier take effect: over the parent's index, or the one that unfurls its level.

    Past the last loop: the update of the element itself.
    """
    number = tower.numbers[depth]
    return site.unfurls(number if depth in tower.use_modifiers(number) else number + 1)
