"""Places that are used again: an ordered level appends a child only once something below it has been written.

Until then the next index has the same child. Most levels below are assembled again with it, and begin anew. A
SparseDict keeps the children that it has numbered, and a Merge the fibers of its copies; so what is below these may
have been entered, numbered or claimed at an earlier index, of the same fiber or of an earlier one.
"""

from __future__ import annotations

from wingspan.dependence.relations import TRUE, Relation, equal_indices
from wingspan.dependence.sets import AccessIteration
from wingspan.dependence.sites import UpdateSite
from wingspan.lang import ir
from wingspan.levels import Tower
from wingspan.levels.base import Discipline, Leaf


def reusing_ancestor(tower: Tower, depth: int) -> int | None:
    """The depth of the nearest `once` level above, if what it leaves unwritten is found again by the level at a depth.

    The first level below it that does not just pass on that a child is assembled decides.
    """
    above = max((d for d in range(depth) if tower.levels[d].once), default=None)
    for level in tower.levels[above + 1 : depth + 1] if above is not None else ():
        if level.discipline in (Discipline.INSTANCE, Discipline.CLAIM):
            return None
        if level.discipline is Discipline.COPY or level.numbers_arrivals:
            return above
    return None


def may_stay_unwritten(site: UpdateSite, tower: Tower, depth: int, letter: str) -> Relation:
    """Condition: a site need not write below a child of the level at a depth (T21): its loops may be empty, say.

    The letter is that of the iteration in which it enters the child.
    """
    side, number = AccessIteration("v", site.loops, site, 0), len(site.loops)
    value = site.value
    assert value is not None
    cancelled = site.op == "=" or any(isinstance(node, ir.Access | ir.Choice) for node in value.walk())
    leaf = tower.levels[-1]
    if cancelled or site.conditions or not side.has_affine_ranges(number) or (isinstance(leaf, Leaf) and leaf.implied):
        return TRUE
    child = range(site.unfurls(tower.numbers[depth]) + 1)
    return ~side.exists(equal_indices(child, child, f"v{letter}") & side.in_ranges(number))
