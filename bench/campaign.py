"""Random safe programs through all engines: rules, reference, the compiled plan step by step, and on threads.

    python bench/campaign.py [--engine native|compiled] [--programs N] [--jobs N] [--scheduler ADDRESS] [--results FILE]

Every program runs on several inputs, on 1 to 4 threads, static and dynamic, twice; all must compute the same. On
threads it runs with these numbers as constants of the plan, and as parameters. With `--engine compiled` programs run as
C, which is compared with the reference and the register machine; 50 share a C file.
Finished batches are kept in bench/results/campaign.jsonl, so that a run that was killed goes on where it was; what
was found with other sources counts no longer. With `--scheduler`, the workers of a Dask scheduler run the batches, in
this folder or with it in PYTHONPATH. Prints the number of cases, each a program with one input, and how many
that is a second. The exit status is 1 if two runs differ; the smallest such case is printed.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from bench.parts import computed, interrupted, spreading  # noqa: E402
from wingspan.base.errors import InputError  # noqa: E402
from wingspan.plan.ir import Const  # noqa: E402
from wingspan.plan.passes import tile, union  # noqa: E402
from wingspan.results.comparison import Engine  # noqa: E402
from wingspan.testing import Disagreement, Tally, campaign  # noqa: E402
from wingspan.testing.cases import WIDER, safe_programs  # noqa: E402
from wingspan.testing.finished_parts import FinishedParts, fingerprint, sources  # noqa: E402
from wingspan.testing.left_open import LeftOpen  # noqa: E402

RESULTS = HERE / "results" / "campaign.jsonl"
BATCH = 100
FIRST_SEED = 1_000_000
"""The test suite draws from lower ones."""


ORACLES = {"native": ["semantics", "native-controlled", "reference"], "compiled": ["reference", "native"]}
"""The engines that each engine on threads is compared with."""
SUBJECTS: dict[str, list[str | Engine]] = {"native": ["native", LeftOpen()], "compiled": ["compiled"]}
"""The engines to compare: the register machine also with numbers of threads and chunk sizes as parameters."""


def batch(engine: str, number: int) -> Tally | str:
    """One batch of programs: what was done, or how two engines differ. Every second one has reads under conditions.

    Lists and rows are short: C merges any in blocks, and keeps two cells of a row in registers.
    """
    union.LEAST, tile.WIDTH = Const(1), 2
    programs = safe_programs(WIDER) if number % 2 else None
    first = FIRST_SEED + number
    try:
        done = campaign(
            ORACLES[engine], SUBJECTS[engine], programs=programs, examples=BATCH, repeat=2, first_seed=first
        )
    except Disagreement as found:
        return str(found)
    return done


def main() -> int:
    """Do what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=ORACLES, default="native", help="what is compared")
    parser.add_argument("--programs", type=int, default=2_000)
    spreading(parser)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    kept = FinishedParts(options.results, fingerprint(sources("wingspan")))
    numbers = range(-(-options.programs // BATCH))
    names = [str(number) if options.engine == "native" else f"{options.engine} {number}" for number in numbers]
    missing = [number for number in numbers if names[number] not in kept.parts]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, TimeRemainingColumn()) as progress:
            bar = progress.add_task("batches", total=len(numbers), completed=len(numbers) - len(missing))
            run = partial(batch, options.engine)
            for number, done in computed(run, missing, options):
                if isinstance(done, str):
                    print(f"batch {number}: {done}")
                    return 1
                kept.add(names[number], done.data())
                progress.update(bar, advance=1)
    except (KeyboardInterrupt, InputError) as error:
        return interrupted(error)
    tallies = [Tally.of(kept.parts[name]) for name in names]
    cases, seconds = sum(t.cases for t in tallies), sum(t.seconds for t in tallies)
    rate = cases / seconds if seconds else 0.0
    print(f"{cases} cases, {sum(t.runs for t in tallies)} runs, {sum(t.faults for t in tallies)} faults")
    print(f"{sum(t.texts for t in tallies)} programs, distinct within each batch")
    print(f"{rate:.1f} cases a second in each process")
    return 0


if __name__ == "__main__":
    from bench.campaign import main  # so that workers find by name what they are sent

    sys.exit(main())
