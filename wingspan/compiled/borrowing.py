"""The inputs that printed C reads where their owners have them, and how these count."""

from __future__ import annotations

from wingspan.plan.ir import Buffer, Group, Load, Plan, Prefetch, walk


def read_only(made: Plan) -> frozenset[str]:
    """The inputs that a plan does not write."""
    writes = (s for s in walk(made.body) if hasattr(s, "ref") and not isinstance(s, Load | Prefetch))
    written = {s.ref.buffer.tensor for s in writes}
    return frozenset(made.inputs) - written


def columns(group: Group) -> bool:
    """Whether a tensor has levels, of which those that need buffers are SparseLists."""
    if not group.buffers:  # of a leaf that stores nothing
        return False
    *lists, leaf = group.buffers
    of_list = all(b.level_name == "SparseList" for b in lists)
    return group.parent is None and leaf.level_name in ("Element", "Atomic") and of_list


def borrowed(made: Plan) -> frozenset[str]:
    """The inputs that C reads where their owners have them."""
    roots = {g.tensor: g for g in reversed(made.groups) if g.parent is None}
    return frozenset(name for name in read_only(made) if columns(roots[name]))


def from_zero(b: Buffer) -> bool:
    """Whether a cell of a read-only input in columns holds a number that counts from 0."""
    return b.name in ("ptr", "idx")
