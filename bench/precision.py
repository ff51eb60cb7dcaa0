"""Precision of the table of stabilities, by z3: which of the dependences that it lacks make tasks conflict.

    python bench/precision.py [--modifiers N] [--docs FILE]

Prints a table, and writes it into FILE if --docs is given. It takes some ten seconds.

The theorem says that no dependence in S makes two tasks conflict. Here z3 is asked about the others, level by level: an
entry that is not in S is *needed* if two accesses of that kind may conflict, at the level or in a modifier around it.
One that is not needed is there for something else (the order of visits, a claim), or rejects programs in vain.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from proofs_tests.generated import rewrite  # noqa: E402
from wingspan.dependence.stability import own_support, protect  # noqa: E402
from wingspan.levels.base import Dependence, Level, Modifier  # noqa: E402
from wingspan.proof import subjects  # noqa: E402
from wingspan.proof.footprints import Context, Subject  # noqa: E402
from wingspan.proof.solver import Prover  # noqa: E402
from wingspan.proof.steps import Conflict, LevelSteps, MeetingState  # noqa: E402

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


def cell(entries: list[Entry]) -> str:
    """The number of needed entries of all; the buffer that tasks conflict in, if there is one entry only."""
    if not entries:
        return "supported"
    needed = sum(entry.is_needed for entry in entries)
    if len(entries) > 1:
        return f"{needed} of {len(entries)}"
    found = entries[0].conflict
    return "no conflict" if found is None else f"`{found.buffer}`"


def table(entries: Iterable[Entry], leaves: Collection[str]) -> str:
    """A row for each level: bare, by kind; in modifiers, all kinds; and those that are not needed, by name."""
    by_level: dict[str, list[Entry]] = {}
    for entry in entries:
        by_level.setdefault(entry.level, []).append(entry)
    rows = []
    for name, some in by_level.items():
        bare = [[entry for entry in some if not entry.word and entry.kind == kind] for kind in KINDS]
        cells = [
            "–" if name in leaves and kind == "sibling" else cell(each) for kind, each in zip(KINDS, bare, strict=True)
        ]
        wrapped = [entry for entry in some if entry.word]
        idle = sorted(
            {
                f"{'('.join((*entry.word, name))}{')' * len(entry.word)}: {entry.kind}"
                for entry in some
                if not entry.is_needed and len(entry.word) <= 1
            }
        )
        rows.append(f"| {name} | {' | '.join(cells)} | {cell(wrapped)} | {', '.join(idle) or '–'} |")
    every = [entry for some in by_level.values() for entry in some]
    head = f"| level | {' | '.join(KINDS)} | in modifiers, needed | not needed, up to one modifier |"
    total = (
        f"{len(every):,} entries that are not in S, of which {sum(entry.is_needed for entry in every):,} are needed."
    )
    return "\n".join([head, "|" + "---|" * (len(KINDS) + 3), *rows, "", total])


def main() -> int:
    """Ask, print the table, and write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modifiers", type=int, default=1, help="around a level, at most")
    parser.add_argument("--docs", type=Path, help="the page whose table is rewritten")
    options = parser.parse_args()
    levels, modifiers = subjects()
    entries = missing_dependences(LevelSteps(Prover()), levels, modifiers, options.modifiers)
    text = table(entries, {level.name for level in levels if level.leaf}) + "\n"
    print(text)
    if options.docs is not None:
        rewrite(options.docs, {"precision": text})
    return 0


if __name__ == "__main__":
    sys.exit(main())
