"""Precision of the table of stabilities, by z3: which of the dependences that it lacks make tasks conflict.

    python bench/precision.py [--modifiers N] [--docs FILE]

Prints a table, and writes it into FILE if --docs is given. It takes some ten seconds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from proofs_tests.generated import rewrite  # noqa: E402
from wingspan.proof import subjects  # noqa: E402
from wingspan.proof.precision import KINDS, Entry, missing_dependences  # noqa: E402
from wingspan.proof.solver import Prover  # noqa: E402
from wingspan.proof.steps import LevelSteps  # noqa: E402


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
