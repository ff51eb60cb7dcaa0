"""Random safe programs through all engines: rules, reference, the compiled plan step by step, and on threads.

    python bench/campaign.py [--programs N] [--jobs N] [--results FILE]

Every program runs on several inputs, on 1 to 4 threads, static and dynamic, twice; all must compute the same. On
threads it runs with these numbers as constants of the plan, and as parameters.
Finished batches are kept in bench/results/campaign.jsonl, so that a run that was killed goes on where it was; what
was found with other sources counts no longer. Prints the number of cases, each a program with one input, and how many
that is a second. The exit status is 1 if two runs differ; the smallest such case is printed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from dataclasses import asdict
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from bench.kept import Kept  # noqa: E402
from wingspan.testing import Disagreement, Tally, campaign  # noqa: E402
from wingspan.testing.left_open import LeftOpen  # noqa: E402

RESULTS = HERE / "results" / "campaign.jsonl"
BATCH = 250
FIRST_SEED = 1_000_000
"""The test suite draws from lower ones."""


def batch(number: int) -> tuple[int, Tally | str]:
    """One batch of programs: what was done, or how two engines differ."""
    try:
        done = campaign(
            ["semantics", "native-controlled", "reference"], ["native", LeftOpen()],
            examples=BATCH, repeat=2, first_seed=FIRST_SEED + number,
        )  # fmt: skip
    except Disagreement as found:
        return number, str(found)
    return number, done


def sources() -> list[Path]:
    """Everything that runs in a batch."""
    package = ROOT / "wingspan"
    return [path for path in sorted(package.rglob("*")) if path.suffix in (".py", ".pyx", ".h", ".lark")]


def main() -> int:
    """Do what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=2_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    kept = Kept(options.results, sources())
    numbers = range(-(-options.programs // BATCH))
    missing = [number for number in numbers if str(number) not in kept.parts]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, TimeRemainingColumn()) as progress, multiprocessing.Pool(options.jobs) as pool:
            bar = progress.add_task("batches", total=len(numbers), completed=len(numbers) - len(missing))
            for number, done in pool.imap_unordered(batch, missing):
                if isinstance(done, str):
                    print(f"batch {number}: {done}")
                    return 1
                kept.add(str(number), asdict(done))
                progress.update(bar, advance=1)
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from here", file=sys.stderr)
        return 130
    tallies = [Tally(**kept.parts[str(number)]) for number in numbers]
    cases, seconds = sum(t.cases for t in tallies), sum(t.seconds for t in tallies)
    rate = cases / seconds if seconds else 0.0
    print(f"{cases} cases, {sum(t.runs for t in tallies)} runs, {sum(t.faults for t in tallies)} faults")
    print(f"{sum(t.texts for t in tallies)} programs, distinct within each batch")
    print(f"{rate:.1f} cases a second in each of {options.jobs} processes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
