"""The level dependence test, Algorithm 1, for two updates under one parallel loop: printed, repaired and exact.

All three say for each level what the loop requires of it, W, and what the format supports, S; the pair is safe if
W ⊆ S at each level. They differ in how they compute W and S.
"""

from __future__ import annotations

from collections.abc import Iterator

from wingspan.base.dataclass import dataclass
from wingspan.dependence.accesses import UpdatePair
from wingspan.dependence.directions import carries
from wingspan.dependence.relations import TRUE, Relation
from wingspan.dependence.stability import figure
from wingspan.dependence.stability import repaired as repaired_stability
from wingspan.lang.devices import Device
from wingspan.levels import Tower
from wingspan.levels.base import EVERY, NONE, Dependence, Discipline

NODE: frozenset[Dependence] = frozenset({"node"})
FIBERWISE: frozenset[Dependence] = frozenset({"node", "sibling"})
"""The dependences between two updates of one fiber, in which tasks may take turns."""


@dataclass(frozen=True)
class Need:
    """The dependences that a pair of updates requires at a level, W, and that the format supports there, S."""

    number: int
    depth: int
    W: frozenset[Dependence]
    S: frozenset[Dependence]
    among: Relation = TRUE
    """a condition that the carried pairs in question satisfy"""

    @property
    def missing(self) -> frozenset[Dependence]:
        """W without S."""
        return self.W - self.S


def printed(pair: UpdatePair, tower: Tower) -> Iterator[Need]:
    """Algorithm 1 line by line, on concordant subscripts.

    Where it is undefined: at j = 1, race_index is race_position (a leaf has no index). `dep_test` answers a set of
    direction vectors, and p carries a dependence if one of them says so.
    """
    f, g, i_p = pair.one.subscripts, pair.other.subscripts, pair.loop.index
    S = figure(tower, _device(pair), lambda depth: pair.binds(tower, depth))
    for j in range(1, pair.rank + 2):
        race_position = carries(pair.one, pair.other, j, pair.p)
        race_index = race_position
        if j > 1:
            race_index = carries(pair.one, pair.other, j - 1, pair.p)
        W: frozenset[Dependence] = NONE
        skipped = i_p not in (*f[j - 1 :], *g[j - 1 :]) and i_p in (*f, *g)
        if not skipped:
            if not race_position:
                W |= {"cousin"}
            if race_position and not race_index:
                W |= {"sibling", "cousin"}
            if race_index:
                W |= EVERY
        yield Need(j, tower.depths[j], W, S[j])


def repaired(pair: UpdatePair, tower: Tower) -> Iterator[Need]:
    """Algorithm 1 made sound: levels that p's tasks do not touch are skipped, and no others.

    W_j has the kinds of dependences that some carried pair has at level j. A position that is loaded or claimed by two
    tasks before either has unfurled it counts as a sibling dependence, of a leaf as a node dependence.
    """
    S = repaired_stability(tower, _device(pair), lambda depth: pair.binds(tower, depth))
    for j in range(1, pair.rank + 2):
        if pair.updates(j):
            W = pair.kinds(j)
            if any(pair.binds(tower, depth) and pair.meets(tower, depth) for depth in tower.entry_modifiers(j)):
                W |= {"sibling" if j > 1 else "node"}
            yield Need(j, tower.depths[j], W, S[j])


def exact(pair: UpdatePair, tower: Tower) -> Iterator[Need]:
    """From the root to the leaf, the carried pairs that still meet, as sets.

    `live` are those that may touch one instance of a level at the same time, `met` those that touch one instance at
    all, be it in turns; None if there are no more. Only needs that the format does not meet are yielded.
    """
    live: Relation | None = TRUE
    met: Relation | None = TRUE
    for depth, level in enumerate(tower.levels):
        j, S = tower.numbers[depth], level.stability()
        inside = pair.binds(tower, depth) if level.modifier else pair.updates(j)
        ours = inside and level.device in (None, pair.loop.device)
        same = pair.same_position(j)
        match level.discipline:
            case Discipline.LOCK | Discipline.SHARED_LOCK if inside and live is not None:
                live &= pair.other_position(j)
            case Discipline.INSTANCE:
                if inside and live is not None and pair.meets(tower, depth, live):
                    yield Need(j, depth, pair.kinds(j, same & live) or NODE, S, live)
                live = None if inside or live is None else live & same
                met = None if met is None else met & same
            case Discipline.CLAIM if ours:
                if met is not None and pair.meets(tower, depth, met):
                    yield Need(j, depth, pair.kinds(j, same & met) or NODE, S, met)
                live = met = None
            case Discipline.COPY if ours:
                live = met = None
            case _ if inside and not level.modifier:
                lasting = FIBERWISE - level.turns
                if level.once and met is not None:
                    lasting = NONE if _reaches_ascending_positions(pair, tower, depth, met) else EVERY
                for among, harmful in ((met, lasting), (live, EVERY)):
                    if among is None or not harmful:
                        continue
                    W = pair.kinds(j, among) & harmful
                    if W - S:
                        yield Need(j, depth, W, S, among)
                        break


def _reaches_ascending_positions(pair: UpdatePair, tower: Tower, depth: int, met: Relation) -> bool:
    """Whether tasks that take turns reach ascending positions, whoever is first.

    Below a level that numbers its children as they are made that is so, if no two tasks reach one child.
    """
    above = [
        k for k in range(pair.rank + 1, tower.numbers[depth], -1) if tower.levels[tower.depths[k]].numbers_arrivals
    ]
    return bool(above) and not pair.is_feasible(above[-1], pair.same_position(above[-1] - 1) & met)


def _device(pair: UpdatePair) -> Device:
    device = pair.loop.device
    assert device is not None
    return device
