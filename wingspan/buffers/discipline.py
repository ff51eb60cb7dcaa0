"""The dependences between tasks that levels support, and the disciplines by which modifiers protect them."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Literal

from wingspan.base.dataclass import dataclass

Dependence = Literal["node", "sibling", "cousin"]
EVERY: frozenset[Dependence] = frozenset({"node", "sibling", "cousin"})
NONE: frozenset[Dependence] = frozenset()


class Discipline(Enum):
    """The rule by which tasks update the fibers that a modifier wraps. Fiber p of the modifier is passed on as follows.

    Attributes:
        adds: the dependences that the modifier adds to what it wraps, by the figure "stability".
    """

    TRANSPARENT = "transparent"
    """as fiber p; the modifier accesses nothing that two tasks share"""
    LOCK = "lock"
    """as fiber p, to the task that holds a lock of its own, from `bind` to `unbind`"""
    SHARED_LOCK = "shared lock"
    """likewise, but other fibers may have the same lock"""
    INSTANCE = "instance"
    """as an instance of its own, to one visit at a time; a fiber that is loaded during a visit is a fault"""
    CLAIM = "claim"
    """as a fiber of an instance of the thread that reaches it first, with the next free number; only this thread of the
    device may update it until the tensor is declared again
    """
    COPY = "copy"
    """as fiber p of the thread's copy; freezing merges the copies"""

    @property
    def adds(self) -> frozenset[Dependence]:
        return _ADDS[self]

    @property
    def locks(self) -> bool:
        """Whether a task holds a lock while it updates a fiber."""
        return self in (Discipline.LOCK, Discipline.SHARED_LOCK)

    @property
    def is_gated(self) -> bool:
        """Whether instances belong to the threads of a device, so that the modifier is `Gated`."""
        return self in (Discipline.CLAIM, Discipline.COPY)


ONE_AT_A_TIME: frozenset[Dependence] = frozenset({"node", "sibling"})
APART: frozenset[Dependence] = frozenset({"cousin"})

_ADDS = {
    Discipline.TRANSPARENT: NONE,
    Discipline.LOCK: ONE_AT_A_TIME,
    Discipline.SHARED_LOCK: ONE_AT_A_TIME,
    Discipline.INSTANCE: APART,
    Discipline.CLAIM: APART,
    Discipline.COPY: EVERY,
}


@dataclass(frozen=True)
class Support:
    """The support of one level with the modifiers around it that were applied so far, innermost first."""

    kinds: frozenset[Dependence]
    turns: frozenset[Dependence]
    """the level's own `turns`, and whether it is visited `once`"""
    once: bool
    claimed: bool = False
    """whether its fibers belong to threads, so that taking turns does not help"""
    parted: bool = False
    """whether tasks that take turns in it reach instances of their own"""

    def within(self, discipline: Discipline, adds: frozenset[Dependence], nearest: bool) -> Support:
        """The support inside of a modifier of this discipline; `nearest`: it wraps this very level, not one above.

        - Instances and claims support only cousin at their own level: two tasks at one position both load it, or claim
          it. An enclosing lock lets the tasks take turns, which helps an instance; a claim it does not change.
        - A lock helps only where a fiber may be updated again, and in any order: with the `turns` of a level, and not
          with `once` levels. It lets tasks take turns in an isolated fiber, where they meet in the `once` levels below,
          unless something parts them there.
        """
        match discipline:
            case Discipline.LOCK | Discipline.SHARED_LOCK if self.once:
                return self if self.parted else replace(self, kinds=self.kinds - {"cousin"})
            case Discipline.LOCK | Discipline.SHARED_LOCK if not self.claimed:
                return replace(self, kinds=self.kinds | (adds & self.turns))
            case Discipline.INSTANCE | Discipline.CLAIM:
                claim = discipline is Discipline.CLAIM
                kinds = adds if nearest else self.kinds | adds
                claimed, parted = self.claimed or (nearest and claim), self.parted or nearest or claim
                return replace(self, kinds=kinds, claimed=claimed, parted=parted)
            case Discipline.COPY:
                return replace(self, kinds=EVERY, parted=True)
        return self
