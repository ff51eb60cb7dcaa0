"""Mistakes to seed in the levels and in the recursion of stabilities, and what the theorem says of each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wingspan.dependence.stability import ModifierEffect, protect
from wingspan.levels.base import EVERY, Level, Modifier, Support
from wingspan.levels.isolate import Isolate
from wingspan.levels.mutex import Mutex
from wingspan.levels.shard import Shard


@dataclass(frozen=True)
class Mistake:
    """A kind too many in a level's stability, or an edit of its text; and who finds it, none if it is harmless."""

    level: str
    kinds: str = ""
    edits: tuple[tuple[str, str], ...] = ()
    found: str = "induction"
    why: str = ""
    """the reason that it is harmless"""

    @property
    def name(self) -> str:
        what = f"+{self.kinds}" if self.kinds else " → ".join(part.strip().replace("\n", ";") for part in self.edits[0])
        return f"{self.level}: {what}"

    def seeded(self, of: type[Level]) -> type[Level]:
        """The class with the mistake."""
        more: dict[str, object] = {}
        if self.kinds:
            kinds = of.stability(of.__new__(of)) | set(self.kinds.split())
            more["stability"] = lambda self: kinds
        text = of.operations
        for old, new in self.edits:
            assert old in text, f"{of.__name__} has no text {old}"
            text = text.replace(old, new)
        return type(of.__name__, (of,), {**more, "operations": text})


def edited(level: str, old: str, new: str, found: str = "induction", why: str = "") -> Mistake:
    return Mistake(level, edits=((old, new),), found=found, why=why)


COARSER = "tasks at one position still have the lock of it, and others wait more often"

MISTAKES = (
    *(
        Mistake(level, kinds)
        for level, kinds in (
            ("Element", "node"),
            ("SparseList", "node"),
            ("SparseList", "sibling"),
            ("SparseList", "cousin"),
            ("SparseDict", "node"),
            ("SparseDict", "sibling"),
            ("SparseDict", "cousin"),
            ("SparseByteMap", "node"),
            ("SparseByteMap", "sibling"),
            ("SparseByteMap", "cousin"),
            ("SparsePoint", "node"),
            ("SparsePoint", "sibling"),
            ("SparseInterval", "node"),
            ("SparseInterval", "sibling"),
            ("SparseBand", "cousin"),
            ("SparseBand", "node"),
            ("SparseBlockList", "cousin"),
            ("SparseRunList", "cousin"),
            ("RunList", "cousin"),
            ("RunList", "sibling"),
            ("SparseCOO", "cousin"),
            ("SparseCOO", "node"),
            ("Isolate", "node"),
            ("Isolate", "sibling"),
            ("Shard", "node"),
            ("Shard", "sibling"),
        )
    ),
    Mistake("Mutex", "cousin", found="", why="protect takes no more than the turns of a level, and cousins take none"),
    edited("Dense", "return (c.p - 1) * n + i", "return i"),
    edited("Dense", "return (c.p - 1) * n + i", "return (c.p - 1) * n + (i + 1) // 2"),
    edited("Dense", "return (c.p - 1) * n + i", "return (c.p - 1) * (n - 1) + i"),
    edited("Dense", "while q <= p * n:", "while q <= p * n + 1:"),
    edited("Atomic", "atomic(val, p, v)", "val[p] = combine(val[p], v)"),
    edited("Atomic", "atomic(written, p, 1)", "written[p] = 1"),
    edited(
        "Element",
        "        if overwrites:\n            val[p] = fit(v)",
        "        if overwrites:\n            val[1] = fit(v)",
    ),
    edited("SparsePoint", "idx[c.p]", "idx[1]"),
    edited("SparsePoint", "def enter(c, i):\n        return c.p", "def enter(c, i):\n        return 1"),
    edited(
        "SparsePoint",
        "def assemble(p):\n        idx[p] = 0",
        "def assemble(p):\n        idx[1] = 0",
        found="",
        why="no level that tasks enter without a lock assembles a point: runs take none below them",
    ),
    edited("SparseInterval", "return 2 if n > 1 else n", "return 1"),
    edited(
        "SparseInterval",
        "        if n > 1:\n            if c.before > 0:\n",
        "        if True:\n            if c.before > 0:\n",
    ),
    edited("SparseInterval", "left[c.p] = i", "left[1] = i"),
    edited("SparseInterval", "right[c.p] = c.last", "right[c.p + 1] = c.last"),
    edited(
        "Mutex",
        "        acquire(lock, p)\n        return p\n    def unbind(p):\n        release(lock, p)",
        "        return p\n    def unbind(p):\n        pass",
    ),
    edited(
        "Mutex",
        "        acquire(lock, p)\n",
        "        acquire(lock, p)\n        release(lock, p)\n        acquire(lock, p + 1)\n",
        found="InternalError",
    ),
    Mistake(
        "Mutex",
        edits=(("acquire(lock, p)", "acquire(lock, 1)"), ("release(lock, p)", "release(lock, 1)")),
        found="",
        why=COARSER,
    ),
    Mistake(
        "Mutex",
        edits=(("acquire(lock, p)", "acquire(lock, p + p)"), ("release(lock, p)", "release(lock, p + p)")),
        found="",
        why="other cells, and still one for each position",
    ),
    Mistake(
        "Mutex",
        edits=(("acquire(lock, p)", "acquire(lock, p // 2)"), ("release(lock, p)", "release(lock, p // 2)")),
        found="",
        why=COARSER,
    ),
    edited("Isolate", "return p, 1", "return 1, 1"),
    edited("Isolate", "        there = state[p]\n", "        there = state[1]\n"),
    edited("Isolate", "check(there < 2,", "check(there < 1,", found="overlaps"),
    edited("Shard", "return t, q\n    def bind_read", "return 1, q\n    def bind_read"),
    edited(
        "Shard",
        "            q = used[t] + 1\n            used[t] = q\n            owner[p] = t",
        "            q = used[1] + 1\n            used[1] = q\n            owner[p] = t",
    ),
    edited(
        "Shard",
        "            owner[p] = t\n            ptr[p] = q\n            child[t]",
        "            ptr[p] = q\n            child[t]",
        found="claims",
    ),
    edited("Shard", "child[t].thaw(used[t])", "child[1].thaw(used[t])"),
    edited("Merge", "return t, p", "return 1, p"),
    edited(
        "Merge",
        "                child[t].assemble(q)\n            used[t] = p",
        "                child[t].assemble(q)\n            used[1] = p",
    ),
    edited("Merge", "child[now[1]].assemble(p)", "child[1].assemble(p)"),
    edited("Merge", "merged = threads + 1 - now[1]", "merged = threads - now[1]", found="L1 the merged level"),
    edited(
        "Merge",
        "        now[1] = 0\n        kept[1] = 0",
        "        now[1] = threads\n        kept[1] = 0",
        found="L1 the merged level",
    ),
    edited("SparseDict", "            tbl[(c.p - 1) * n + i] = c.q\n", "", found="L2 numbered children"),
    edited("SparseDict", "            fill[1] = c.q\n", "", found="L2 numbered children"),
    edited(
        "SparseDict",
        "            key[c.q] = (c.p - 1) * n + i\n",
        "            key[c.q] = i\n",
        found="L2 numbered children",
    ),
    edited(
        "SparseDict",
        "            c.seen = set[c.q]\n",
        "            c.seen = set[c.q]\n            child.assemble(c.q)\n",
        found="L3 new children",
    ),
    edited("SparseList", "prev[1] = c.p", "prev[1] = c.p + 1", found="order"),
    edited("SparseBand", "prev[1] = p\n", "prev[1] = p + 1\n", found="order"),
)


# ------------------------------------------------------------------------------------------------- in the recursion


def isolate_keeps(support: Support, modifier: Modifier, own: bool) -> Support:
    """Isolate adds to what its own level supports, as printed."""
    found = protect(support, modifier, own)
    return replace(found, kinds=found.kinds | support.kinds) if isinstance(modifier, Isolate) else found


def shard_keeps(support: Support, modifier: Modifier, own: bool) -> Support:
    """Shard does."""
    found = protect(support, modifier, own)
    return replace(found, kinds=found.kinds | support.kinds) if isinstance(modifier, Shard) else found


def mutex_parts(support: Support, modifier: Modifier, own: bool) -> Support:
    """A Mutex helps cousins, too."""
    found = protect(support, modifier, own)
    return replace(found, kinds=EVERY) if isinstance(modifier, Mutex) else found


def isolate_locks(support: Support, modifier: Modifier, own: bool) -> Support:
    """An isolated fiber is for all tasks that come to it."""
    return (
        replace(protect(support, modifier, own), kinds=EVERY)
        if isinstance(modifier, Isolate)
        else protect(support, modifier, own)
    )


def claims_take_turns(support: Support, modifier: Modifier, own: bool) -> Support:
    """A Mutex helps a claim. No race: the lock is there. The second thread faults, as the lemma `claims` says."""
    return protect(replace(support, claimed=False), modifier, own)


def lists_take_turns(support: Support, modifier: Modifier, own: bool) -> Support:
    """A Mutex helps an ordered level. No race either: what faults is the order of visits."""
    return replace(protect(replace(support, once=False), modifier, own), once=support.once)


def isolated_below(support: Support, modifier: Modifier, own: bool) -> Support:
    """Below an Isolate, levels support everything. Its own level lets no two tasks into one fiber without a lock."""
    found = protect(support, modifier, own)
    return replace(found, kinds=EVERY) if isinstance(modifier, Isolate) and not own else found


STEPS: dict[ModifierEffect, bool] = {
    isolate_keeps: True, shard_keeps: True, mutex_parts: True, isolate_locks: True, claims_take_turns: False,
    lists_take_turns: False, isolated_below: False,
}  # fmt: skip
"""Mistakes in `protect`, and whether tasks race for them."""
