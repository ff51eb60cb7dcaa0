"""The precision of the table of stabilities: which of the dependences that a level lacks make tasks conflict.

The theorem says that no dependence in S makes two tasks conflict. Here z3 is asked about the others, level by level: an
entry that is not in S is *needed* if two accesses of that kind may conflict, at the level or in a modifier around it.
One that is not needed is there for something else (the order of visits, a claim), or rejects programs in vain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from wingspan.base.dataclass import dataclass
from wingspan.dependence.stability import own_support, protect
from wingspan.levels.base import Dependence, Level, Modifier
from wingspan.proof.footprints import Context, Subject
from wingspan.proof.steps import Conflict, LevelSteps, MeetingState

KINDS: tuple[Dependence, ...] = ("node", "sibling", "cousin")


@dataclass(frozen=True)
class Entry:
    """A dependence that a level in some modifiers, outermost first, lacks; and a conflict, if it is needed."""

    level: str
    word: tuple[str, ...]
    kind: Dependence
    conflict: Conflict | None

    @property
    def is_needed(self) -> bool:
        """Whether two tasks may conflict if the test accepts this dependence here."""
        return self.conflict is not None


def missing_dependences(
    steps: LevelSteps, levels: Sequence[Level], modifiers: Sequence[Modifier], most: int
) -> Iterator[Entry]:
    """Every dependence that levels in up to so many modifiers lack."""
    for level in levels:
        for number in range(most + 1):
            for word in product(modifiers, repeat=number):
                support = own_support(level)
                for modifier in reversed(word):
                    support = protect(support, modifier, True)
                for kind in KINDS:
                    if kind not in support.kinds and not (level.leaf and kind == "sibling"):
                        names = tuple(modifier.name for modifier in word)
                        yield Entry(level.name, names, kind, conflict(steps, word, level, kind))


def conflict(steps: LevelSteps, word: Sequence[Modifier], level: Level, kind: Dependence) -> Conflict | None:
    """A conflict of two tasks that meet by such a dependence, the modifiers being entered with the level or before."""
    contexts: tuple[Context, ...] = ("late", "early")
    for context in contexts:
        states = {MeetingState(position="apart" if kind == "cousin" else "same")}
        for modifier in word:
            outcomes = [
                steps.outcome(Subject(modifier, "late" if modifier.bind_on_use else context), state, "cousin")
                for state in states
            ]
            found = next((outcome.conflict for outcome in outcomes if outcome.conflict), None)
            if found is not None:
                return found
            states = {state for outcome in outcomes for state in outcome.below if not state.safe}
        for state in states:
            if state.one == state.other == "visit":
                found = steps.outcome(Subject(level, "leaf" if level.leaf else "level"), state, kind).conflict
                if found is not None:
                    return found
    return None
