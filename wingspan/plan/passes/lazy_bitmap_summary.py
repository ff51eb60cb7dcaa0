"""Copies of a bitmap, one for each thread, that keep no summary up to date where nothing is known of them. ::

    flat[1] = select(likely > …, 2, …)      →      flat[1] = select(likely == 0, 1, select(likely > …, 2, …))

A SparseByteMap has a word for each 64 indices, and a summary of these words. It is updated with each word (`flat` 0),
or made when freezing (1); declaring chooses by the number of updates that are likely. It is 0 for a copy that a Merge
has just made: then each update reads and writes the summary, and waits for the update before. Such a copy is frozen
once in a phase, when all its updates are known to have ended, and to summarize it then reads one word in 64 indices.
What the level holds is the same with either, since freezing summarizes the words as they are then: no value is kept. It
gained 7 to 26 % of A·x, without the call. Copies that were not empty before, and workspaces that a task declares again
and again, are left to what is known of them.
"""

from __future__ import annotations

from dataclasses import replace

from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Load, Plan, Stmt, Store, walk
from wingspan.plan.uses import registers, rewrite


def lazy_bitmap_summary(made: Plan) -> Plan:
    """The plan with such copies."""
    merged = {g.id for g in made.groups if any(b.layout == "copies" for b in g.buffers)}
    copies = {g.id for g in made.groups if g.parent in merged}
    loads = [s for s in walk(made.body) if isinstance(s, Load) and _is(s, "expected", copies)]
    likely = {s.reg for s in loads}

    def change(s: Stmt) -> tuple[Stmt, ...] | None:
        match s:
            case Store(value=value) if _is(s, "summary", copies) and (known := likely.intersection(registers(value))):
                (reg,) = known
                return (replace(s, value=op("select", op("==", reg, Const(0)), Const(1), value)),)
        return None

    return replace(made, body=rewrite(made.body, change)) if likely else made


def _is(s: Load | Store, role: str, groups: set[int]) -> bool:
    """Whether a statement accesses a buffer with this role in one of the groups."""
    return s.ref.buffer.role == role and s.ref.buffer.group in groups
