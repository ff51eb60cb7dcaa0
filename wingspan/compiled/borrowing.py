"""The inputs that printed C reads where their owners have them, and how these count."""

from __future__ import annotations

from wingspan.plan.ir import Group, Plan, PlanBuffer, walk
from wingspan.plan.uses import written_refs


def read_only(made: Plan) -> frozenset[str]:
    """The inputs that a plan does not write."""
    return frozenset(made.inputs) - {ref.buffer.tensor for s in walk(made.body) for ref in written_refs(s)}


IN_PLACE = frozenset(("pointers", "stretches", "runs", "values"))
"""The layouts of levels whose buffers may be read in place: if in order, every cell that a reader reaches exists."""


def readable(group: Group) -> bool:
    """Whether a tensor has levels, of which those that need buffers are lists of indices or of runs."""
    if not group.buffers:  # of a leaf that stores nothing
        return False
    return group.parent is None and all(b.layout in IN_PLACE for b in group.buffers)


def borrowed_inputs(made: Plan) -> frozenset[str]:
    """The inputs that C reads where their owners have them."""
    roots = {g.tensor: g for g in reversed(made.groups) if g.parent is None}
    return frozenset(name for name in read_only(made) if readable(roots[name]))


def from_zero(b: PlanBuffer) -> bool:
    """Whether a cell of an input that is read in place holds a number that counts from 0, as in SciPy's arrays.

    Both ends of runs count from 1: the last index of a run, counted so, is Arrow's end, counted from 0.
    """
    return b.layout == "pointers" and b.name in ("ptr", "idx")
