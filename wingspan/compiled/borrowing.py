"""The inputs that printed C reads where their owners have them, and the buffers that count from 0, as SciPy does."""

from __future__ import annotations

from wingspan.plan import ir as plan
from wingspan.plan.ir import Group, Plan, PlanBuffer, walk
from wingspan.plan.kernels import CommonRuns
from wingspan.plan.uses import refs, written_refs


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


UNCONVERTED = (
    plan.AtomicLoad, plan.AtomicUpdate, plan.Swap, plan.FetchChunk, plan.Acquire, plan.Release, plan.Sort, CommonRuns
)  # fmt: skip
"""Statements that take the number in a cell as it is."""


def zero_based(made: Plan, results: bool) -> frozenset[tuple[int, int]]:
    """The buffers whose cells hold numbers that count from 0, by group and number: of inputs that are read in place,
    and for `results` the indices of lists, so that SciPy may have them as they are. A plan counts from 1: C converts.

    Pointers of results do not: a cell that nothing was stored to holds 0.
    """
    lent = borrowed_inputs(made)
    unconverted = {ref.buffer for s in walk(made.body) if isinstance(s, UNCONVERTED) for ref in refs(s)}

    def counts_from_zero(b: PlanBuffer) -> bool:
        if b.tensor in lent:
            return from_zero(b)
        made_here = results and b.assigned and not b.hashed and b.tensor not in made.inputs and b not in unconverted
        return made_here and b.layout == "pointers" and b.name == "idx"

    return frozenset((b.group, b.number) for group in made.groups for b in group.buffers if counts_from_zero(b))
