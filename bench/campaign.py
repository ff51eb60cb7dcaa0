"""Random safe programs through all engines: rules, reference, the compiled plan step by step, and on threads.

    python bench/campaign.py [--engine native|compiled] [--programs N] [--jobs N] [--results FILE]

Every program runs on several inputs, on 1 to 4 threads, static and dynamic, twice; all must compute the same. On
threads it runs with these numbers as constants of the plan, and as parameters. With `--engine compiled` programs run as
C, which is compared with the reference and the register machine; 50 share a C file.
Finished batches are kept in bench/results/campaign.jsonl, so that a run that was killed goes on where it was; what
was found with other sources counts no longer. Prints the number of cases, each a program with one input, and how many
that is a second. The exit status is 1 if two runs differ; the smallest such case is printed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from bench.kept import Kept  # noqa: E402
from wingspan.comparison import Engine  # noqa: E402
from wingspan.plan.ir import Const  # noqa: E402
from wingspan.plan.passes import unite  # noqa: E402
from wingspan.testing import Disagreement, Tally, campaign  # noqa: E402
from wingspan.testing.left_open import LeftOpen  # noqa: E402

RESULTS = HERE / "results" / "campaign.jsonl"
BATCH = 100
FIRST_SEED = 1_000_000
"""The test suite draws from lower ones."""


ORACLES = {"native": ["semantics", "native-controlled", "reference"], "compiled": ["reference", "native"]}
"""What each engine that runs on threads is compared with."""
SUBJECTS: dict[str, list[str | Engine]] = {"native": ["native", LeftOpen()], "compiled": ["compiled"]}
"""What is compared: the register machine also with numbers of threads and chunk sizes as parameters."""


def batch(engine: str, number: int) -> tuple[int, Tally | str]:
    """One batch of programs: what was done, or how two engines differ. Lists are short: C merges any in blocks."""
    unite.LEAST = Const(1)
    try:
        done = campaign(ORACLES[engine], SUBJECTS[engine], examples=BATCH, repeat=2, first_seed=FIRST_SEED + number)
    except Disagreement as found:
        return number, str(found)
    return number, done


@contextmanager
def ending(pool: ProcessPoolExecutor) -> Iterator[ProcessPoolExecutor]:
    """A pool that begins no more batches once this is left. It notices if C that it runs ends its process."""
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def sources() -> list[Path]:
    """Everything that runs in a batch."""
    package = ROOT / "wingspan"
    return [path for path in sorted(package.rglob("*")) if path.suffix in (".py", ".pyx", ".h", ".lark")]


def main() -> int:
    """Do what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=ORACLES, default="native", help="what is compared")
    parser.add_argument("--programs", type=int, default=2_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    kept = Kept(options.results, sources())
    numbers = range(-(-options.programs // BATCH))
    names = [str(number) if options.engine == "native" else f"{options.engine} {number}" for number in numbers]
    missing = [number for number in numbers if names[number] not in kept.parts]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, TimeRemainingColumn()) as progress, ending(ProcessPoolExecutor(options.jobs)) as pool:
            bar = progress.add_task("batches", total=len(numbers), completed=len(numbers) - len(missing))
            for future in as_completed([pool.submit(batch, options.engine, number) for number in missing]):
                number, done = future.result()
                if isinstance(done, str):
                    print(f"batch {number}: {done}")
                    return 1
                kept.add(names[number], asdict(done))
                progress.update(bar, advance=1)
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from here", file=sys.stderr)
        return 130
    except BrokenProcessPool:
        left = [str(number) for number in missing if names[number] not in kept.parts]
        print(f"a process was ended by what it ran, in batch {' or '.join(left[: options.jobs])}", file=sys.stderr)
        return 1
    tallies = [Tally(**kept.parts[name]) for name in names]
    cases, seconds = sum(t.cases for t in tallies), sum(t.seconds for t in tallies)
    rate = cases / seconds if seconds else 0.0
    print(f"{cases} cases, {sum(t.runs for t in tallies)} runs, {sum(t.faults for t in tallies)} faults")
    print(f"{sum(t.texts for t in tallies)} programs, distinct within each batch")
    print(f"{rate:.1f} cases a second in each of {options.jobs} processes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
