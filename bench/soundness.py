"""The three level dependence tests against the explorer, on random programs of several shapes: sound? how precise?

    python bench/soundness.py [--programs N] [--states N] [--jobs N] [--scheduler ADDRESS] [--results FILE]
                              [--publish] [--so-far]

Finished batches are kept in bench/results/soundness.jsonl, so that a run that was killed continues; batches that were
computed from other sources are dropped. With `--scheduler`, the workers of a Dask scheduler run them, in this folder or
with it in PYTHONPATH. Prints two tables; `--publish` writes their rows to docs/data, and the tables of docs/theory.md.
`--so-far` takes what is kept, whatever sources it was computed from. The exit status is 1 if `repaired` or `exact`
accepts a program that is not safe, faults that values cause excepted; these programs are printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from bench.parts import computed, interrupted, kept_parts, spreading  # noqa: E402
from proofs_tests import theory, theory_page  # noqa: E402
from proofs_tests.generated import table, write_rows  # noqa: E402
from proofs_tests.shapes import SHAPES, program  # noqa: E402
from proofs_tests.soundness import Tally  # noqa: E402
from wingspan.base.errors import InputError  # noqa: E402
from wingspan.testing.finished_parts import FinishedParts, fingerprint  # noqa: E402

RESULTS = HERE / "results" / "soundness.jsonl"
SOURCES = ("lang", "levels", "elaborate", "dependence", "semantics", "explorer")
WORDS = ("advice", "changes", "explain", "findings", "witnesses")
"""Modules of the tests that only report what was found."""
BATCH = 125
FIRST_SEED = 1_000_000
"""The test suite uses smaller ones."""


@dataclass(frozen=True)
class Batch:
    """Programs of one shape, explored up to a number of states."""

    shape: int
    start: int
    states: int

    @property
    def key(self) -> str:
        return f"{SHAPES[self.shape].__name__} / {self.start} / {self.states}"


def batches(programs: int, states: int) -> Iterator[Batch]:
    """At least so many programs, all shapes in turn."""
    for start in range(0, -(-programs // len(SHAPES)), BATCH):
        for shape in range(len(SHAPES)):
            yield Batch(shape, start, states)


def run(batch: Batch) -> Tally:
    """The tally of a batch."""
    found, shape = Tally(), SHAPES[batch.shape]
    for seed in range(batch.start, batch.start + BATCH):
        found.note(program(shape, FIRST_SEED + seed), batch.states)
    theory.forget()
    return found


def sources() -> list[Path]:
    """The files that the results depend on."""
    files = [path for folder in SOURCES for path in sorted((ROOT / "wingspan" / folder).rglob("*.py"))]
    files += [ROOT / "proofs_tests" / f"{name}.py" for name in ("scopes", "drafts", "shapes", "soundness")]
    return [path for path in files if path.stem not in WORDS]


def totals(parts: dict[str, Any], states: int) -> dict[str, Tally]:
    """The tally of each shape that has batches, explored up to so many states."""
    found: dict[str, Tally] = {}
    for key, tally in parts.items():
        shape, _, bound = key.split(" / ")
        if int(bound) == states:
            found.setdefault(shape.replace("_", " "), Tally()).add(Tally(**tally))
    order = [shape.__name__.replace("_", " ") for shape in SHAPES]
    return {name: found[name] for name in order if name in found}


def work(missing: list[Batch], done: int, kept: FinishedParts, options: argparse.Namespace) -> None:
    """Run the batches that are missing."""
    columns = (TextColumn("batches"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("", total=done + len(missing), completed=done)
        for batch, tally in computed(run, missing, options):
            kept.add(batch.key, asdict(tally))
            progress.update(bar, advance=1)


def publish(found: dict[str, Tally], write: bool) -> None:
    """Print the counts, and write them to docs/data, and the tables of the page, if so wanted."""
    for path, rows in (
        (theory_page.SHAPES, theory_page.shape_rows(found)),
        (theory_page.REASONS, theory_page.reason_rows(found)),
    ):
        print(table(list(rows[0]), [list(row.values()) for row in rows]), end="\n\n")
        if write:
            write_rows(path, rows)
    number, sometimes = (sum(getattr(tally, name) for tally in found.values()) for name in ("programs", "sometimes"))
    print(f"{number:,} programs. Accepted by `repaired`, and faulting in some interleavings only: {sometimes:,}.")
    if write:
        theory_page.write_page()


def main() -> int:
    """Run what is missing, print the table, and write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=4_000)
    parser.add_argument("--states", type=int, default=1_500, help="the bound of each exploration")
    spreading(parser)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--publish", action="store_true", help="rewrite docs/data and docs/theory.md")
    parser.add_argument("--so-far", action="store_true", help="run nothing, and show what is kept")
    options = parser.parse_args()
    parts = kept_parts(options.results)
    if not options.so_far:
        chosen = list(batches(options.programs, options.states))
        kept = FinishedParts(options.results, fingerprint(sources()))
        missing = [batch for batch in chosen if batch.key not in kept.parts]
        try:
            work(missing, len(chosen) - len(missing), kept, options)
        except (KeyboardInterrupt, InputError) as error:
            return interrupted(error)
        parts = kept.parts
    found = totals(parts, options.states)
    publish(found, options.publish)
    unsound = [each for tally in found.values() for each in tally.unsound]
    for each in unsound:
        print(each)
    return int(bool(unsound))


if __name__ == "__main__":
    from bench.soundness import main  # so that workers find by name what they are sent

    sys.exit(main())
