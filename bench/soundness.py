"""The three level dependence tests against the explorer, on random programs of several shapes: sound? how precise?

    python bench/soundness.py [--programs N] [--states N] [--jobs N] [--scheduler ADDRESS] [--results FILE]
                              [--docs FILE] [--so-far]

Finished batches are kept in bench/results/soundness.jsonl, so that a run that was killed continues; batches that were
computed from other sources are dropped. With `--scheduler`, the workers of a Dask scheduler run them, in this folder or
with it in PYTHONPATH. Prints two tables, and writes them into FILE if --docs is given. The exit status is
1 if `repaired` or `exact` accepts a program that is not safe, faults that values cause excepted; these programs are
printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from bench.parts import computed, interrupted, spreading  # noqa: E402
from proofs_tests import soundness, theory, theory_page  # noqa: E402
from proofs_tests.shapes import SHAPES, program  # noqa: E402
from proofs_tests.soundness import Tally  # noqa: E402
from wingspan.base.errors import InputError  # noqa: E402
from wingspan.testing.kept import Kept, fingerprint  # noqa: E402

RESULTS = HERE / "results" / "soundness.jsonl"
BEGIN, END = "<!-- soundness: python bench/soundness.py --docs docs/theory.md -->", "<!-- end of soundness -->"
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


def totals(chosen: list[Batch], kept: Kept) -> dict[str, Tally]:
    """The tally of each shape."""
    found = {shape.__name__: Tally() for shape in SHAPES}
    for batch in chosen:
        found[SHAPES[batch.shape].__name__].add(Tally(**kept.parts.get(batch.key, {})))
    return {name.replace("_", " "): tally for name, tally in found.items()}


def work(missing: list[Batch], done: int, kept: Kept, options: argparse.Namespace) -> None:
    """Run the batches that are missing."""
    columns = (TextColumn("batches"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("", total=done + len(missing), completed=done)
        for batch, tally in computed(run, missing, options):
            kept.add(batch.key, asdict(tally))
            progress.update(bar, advance=1)


def main() -> int:
    """Run what is missing, print the table, and write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=4_000)
    parser.add_argument("--states", type=int, default=1_500, help="the bound of each exploration")
    spreading(parser)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--docs", type=Path, help="the page whose table is rewritten")
    parser.add_argument("--so-far", action="store_true", help="run nothing, and print what is there")
    options = parser.parse_args()
    chosen = list(batches(options.programs, options.states))
    kept = Kept(options.results, fingerprint(sources()))
    missing = [batch for batch in chosen if batch.key not in kept.parts]
    if not options.so_far:
        try:
            work(missing, len(chosen) - len(missing), kept, options)
        except (KeyboardInterrupt, InputError) as error:
            return interrupted(error)
    found = totals(chosen, kept)
    number, sometimes = (sum(getattr(tally, name) for tally in found.values()) for name in ("programs", "sometimes"))
    told = (
        f"{number:,} programs, each explored up to {options.states:,} states. Accepted by `repaired`, and faulting "
        f"because of values in some interleavings only: {sometimes:,}.\n"
    )
    text = f"{soundness.table(found)}\n\n{told}\n### What is rejected, and for what\n\n{soundness.precision(found)}\n"
    print(text)
    if options.docs is not None:
        theory_page.rewrite(options.docs, text, BEGIN, END)
    unsound = [each for tally in found.values() for each in tally.unsound]
    for each in unsound:
        print(each)
    return int(bool(unsound))


if __name__ == "__main__":
    from bench.soundness import main  # so that workers find by name what they are sent

    sys.exit(main())
