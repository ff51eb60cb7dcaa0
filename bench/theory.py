"""The three level dependence tests against ground truth, on every program of small scope.

    python bench/theory.py [--scope small|full|levels] [--only WORDS] [--minutes M] [--jobs N]
                           [--scheduler ADDRESS] [--results FILE] [--so-far]

Ground truth is the trace oracle for all programs, and the explorer for the smallest scope and a sample of the rest.
Finished chunks are kept in bench/results/theory.jsonl, so that a run that was killed goes on where it was; what was
found with other sources counts no longer. With `--scheduler`, the workers of a Dask scheduler do the chunks, in this
folder or with it in PYTHONPATH. Chunks are done in a random order, a chunk of each scope in turn, so that a
run that is stopped, say after so many minutes, has judged a sample of all. The scope `levels` has runs, blocks and
coordinates, `full` has not; both rewrite their rows in docs/data, and the tables of docs/theory.md. `--so-far` does so
from what is kept, whatever sources it was found with. The exit status is 1 if `repaired` or `exact`
accepts a program that is not safe, or if oracle and explorer disagree.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from bench.parts import computed, interrupted, kept_parts, spreading  # noqa: E402
from proofs_tests import scopes, theory, theory_page  # noqa: E402
from proofs_tests.generated import table, write_rows  # noqa: E402
from proofs_tests.scopes import Nest  # noqa: E402
from proofs_tests.theory import Tally  # noqa: E402
from wingspan.base.errors import InputError  # noqa: E402
from wingspan.levels.base import Level  # noqa: E402
from wingspan.levels.sparse_coo import SparseCOO  # noqa: E402
from wingspan.testing.finished_parts import FinishedParts, fingerprint  # noqa: E402

RESULTS = HERE / "results" / "theory.jsonl"
SOURCES = ("lang", "levels", "elaborate", "dependence", "semantics", "explorer")
WORDS = ("advice", "changes", "explain", "findings", "witnesses")
"""Modules of the test that only say what it has found."""


@dataclass(frozen=True)
class Scope:
    """Nests times formats: all formats with up to `most` modifiers, or `sample` random ones with `least` to `most`."""

    name: str
    rank: int
    loops: tuple[int, ...]
    """of the nests around one access; none: two accesses"""
    most: int
    least: int = 0
    sample: int = 0
    op: str = "+"
    schedules: tuple[str, ...] = (scopes.STATIC, scopes.DYNAMIC)
    devices: tuple[int, ...] = (1, 2)
    explore: int = 0
    """so many random programs go to the explorer too; -1: all of them"""
    wide: bool = False
    """nests with two accesses and wide shifts"""
    arriving: bool = False
    """only formats with an ordered level below one that numbers its fibers on arrival"""
    storage: tuple[type[Level], ...] = scopes.STORAGE
    """the storage levels of the formats"""

    def nests(self, devices: int) -> list[Nest]:
        """The nests with so many devices; one without a parallel loop counts as one with one device."""
        if self.wide:
            found = scopes.wide(self.rank, self.schedules)
        elif self.loops:
            found = [n for loops in self.loops for n in scopes.singles(self.rank, loops, self.schedules, self.op)]
        else:
            found = scopes.pairs(self.rank, self.schedules)
        return [nest for nest in found if max(1, nest.devices) == devices]

    def formats(self, devices: int) -> Iterator[Level]:
        if not self.sample:
            every = scopes.formats(self.rank, devices, self.most, self.storage)
            return filter(scopes.arriving, every) if self.arriving else every
        choose = random.Random(f"{self.name}, {devices}")
        numbers = range(self.least, self.most + 1)
        drawn = (choose.choice(numbers) for _ in range(self.sample))
        return (scopes.random_format(self.rank, devices, number, choose, self.storage) for number in drawn)

    def format_count(self, devices: int) -> int:
        """The number of formats, counted without making them where that is possible."""
        if not self.sample and (self.arriving or self.storage != scopes.STORAGE):
            return sum(1 for _ in self.formats(devices))
        return self.sample or scopes.format_count(self.rank, devices, self.most)

    @property
    def programs(self) -> int:
        """The number of programs."""
        return sum(len(self.nests(devices)) * self.format_count(devices) for devices in self.devices)


ONE_STATIC = (scopes.STATIC,)
COORDINATES = (SparseCOO,)
EVERY = (*scopes.STORAGE, *scopes.STRETCHED, SparseCOO)
SMALL = (
    Scope("rank 1, one access in 1 or 2 loops", 1, (1, 2), most=1, explore=60),
    Scope("rank 1, one access in 1 loop, more modifiers", 1, (1,), most=2),
    Scope("rank 2, one access in 2 loops", 2, (2,), most=3, sample=25, explore=20),
    Scope("rank 2, two accesses", 2, (), most=1, sample=6, explore=20),
    Scope("rank 1, two accesses, wide shifts", 1, (), most=1, devices=(1,), explore=20, wide=True),
    Scope("rank 2, numbered on arrival", 2, (), 1, schedules=ONE_STATIC, devices=(1,), wide=True, arriving=True),
    Scope("rank 2, runs, blocks and coordinates", 2, (2,), most=2, sample=25, explore=20, storage=EVERY),
    Scope("rank 2, coordinates", 2, (2,), most=1, devices=(1,), explore=20, storage=COORDINATES),
)
FULL = (
    Scope("smallest: rank 1, one access in 1 or 2 loops", 1, (1, 2), most=1, devices=(1,), explore=-1),
    Scope("rank 1, one access in up to 3 loops", 1, (1, 2, 3), most=3, devices=(1,), explore=400),
    Scope("rank 1, two accesses", 1, (), most=3, devices=(1,), explore=400),
    Scope("rank 1, one access that overwrites", 1, (1, 2), most=2, op="=", explore=200),
    Scope("rank 2, one access in up to 3 loops", 2, (1, 2, 3), most=2, devices=(1,), explore=400),
    Scope("rank 2, two accesses", 2, (), most=2, devices=(1,), explore=400),
    Scope("rank 3, one access in 3 loops, static", 3, (3,), most=1, schedules=ONE_STATIC, devices=(1,), explore=200),
    Scope("rank 3, one access, sample", 3, (1, 2, 3), least=0, most=4, sample=200, explore=200),
    Scope("rank 2, one access, sample", 2, (1, 2, 3), least=3, most=4, sample=200, explore=200),
    Scope("rank 2, two accesses, sample", 2, (), least=3, most=4, sample=200, explore=200),
    Scope("rank 1, one access, nested devices", 1, (1, 2, 3), most=3, devices=(2,), explore=400),
    Scope("rank 1, two accesses, nested devices", 1, (), most=3, devices=(2,), explore=400),
    Scope("rank 2, one access, nested devices", 2, (1, 2, 3), most=2, devices=(2,), explore=400),
    Scope("rank 2, two accesses, nested devices", 2, (), most=2, devices=(2,), explore=400),
    Scope(
        "rank 3, one access, nested devices, static", 3, (3,), most=1, schedules=ONE_STATIC, devices=(2,), explore=200
    ),
    Scope("rank 1, two accesses, wide shifts", 1, (), most=2, devices=(1,), explore=200, wide=True),
    Scope("rank 2, two accesses, wide shifts, sample", 2, (), most=2, sample=60, devices=(1,), explore=200, wide=True),
    Scope(
        "rank 2, numbered on arrival, wide shifts", 2, (), most=1, devices=(1,), explore=400, wide=True, arriving=True
    ),
)
"""Towers of Dense, SparseList, SparseByteMap and SparseDict."""
LEVELS = (
    Scope("rank 1, runs and blocks", 1, (1, 2), most=2, explore=400, storage=scopes.STRETCHED),
    Scope("rank 1, two accesses, runs and blocks", 1, (), most=1, explore=200, storage=scopes.STRETCHED),
    Scope("rank 2, one access, all levels, sample", 2, (1, 2, 3), most=3, sample=200, explore=200, storage=EVERY),
    Scope("rank 2, two accesses, all levels, sample", 2, (), most=2, sample=200, explore=200, storage=EVERY),
    Scope("rank 3, one access, all levels, sample", 3, (1, 2, 3), most=3, sample=200, explore=200, storage=EVERY),
    Scope("rank 2, one access, coordinates", 2, (1, 2, 3), most=2, explore=400, storage=COORDINATES),
    Scope("rank 2, two accesses, coordinates", 2, (), most=2, devices=(1,), explore=200, storage=COORDINATES),
    Scope(
        "rank 2, two accesses, wide shifts, coordinates",
        2,
        (),
        most=1,
        devices=(1,),
        explore=200,
        wide=True,
        storage=COORDINATES,
    ),
)
SCOPES = {"small": SMALL, "full": FULL, "levels": LEVELS}
PUBLISHED = ("full", "levels")
"""The scopes whose counts are in docs/data."""

FORMATS, EXPLORED = 12, 20
"""Formats, or programs for the explorer, in a chunk."""


@dataclass(frozen=True)
class Chunk:
    """A part of a scope that one process does in one go."""

    scope: Scope
    devices: int
    start: int
    explored: bool = False

    @property
    def key(self) -> str:
        return f"{self.scope.name} / {'explored' if self.explored else self.devices} / {self.start}"


def chunks(scope: Scope) -> Iterator[Chunk]:
    """All of a scope."""
    for devices in scope.devices:
        for start in range(0, scope.format_count(devices), FORMATS):
            yield Chunk(scope, devices, start)
    for start in range(0, scope.programs if scope.explore < 0 else scope.explore, EXPLORED):
        yield Chunk(scope, 0, start, explored=True)


@cache
def nests(scope: Scope, devices: int) -> list[Nest]:
    return scope.nests(devices)


def run(chunk: Chunk) -> Tally:
    """The tally of a chunk."""
    scope = chunk.scope
    if not chunk.explored:
        roots = islice(scope.formats(chunk.devices), chunk.start, chunk.start + FORMATS)
        return theory.tally(nests(scope, chunk.devices), roots)
    found = Tally()
    for nest, root in islice(programs(scope), chunk.start, chunk.start + EXPLORED):
        found.explore(nest, root)
    theory.forget()
    return found


def programs(scope: Scope) -> Iterator[tuple[Nest, Level]]:
    """All programs of a scope, or an endless random choice of them, each device count as often as it occurs."""
    if scope.explore < 0:
        for devices in scope.devices:
            for root in scope.formats(devices):
                for nest in nests(scope, devices):
                    yield nest, root
        return
    choose = random.Random(f"{scope.name}, explored")
    weights = [len(nests(scope, devices)) for devices in scope.devices]
    while True:
        (devices,) = choose.choices(scope.devices, weights)
        nest = choose.choice(nests(scope, devices))
        number = choose.randint(scope.least, scope.most)
        root = scopes.random_format(scope.rank, devices, number, choose, scope.storage)
        if scopes.arriving(root) or not scope.arriving:
            yield nest, root


# ------------------------------------------------------------------------------------------------ results that are kept


def sources() -> list[Path]:
    """The sources that the results depend on: of the judged code and of its judges, except those of messages."""
    files = [path for folder in SOURCES for path in sorted((ROOT / "wingspan" / folder).rglob("*.py"))]
    files += [ROOT / "proofs_tests" / f"{name}.py" for name in ("scopes", "theory", "trace_memory", "trace_oracle")]
    return [path for path in files if path.stem not in WORDS]


def total(parts: dict[str, Any], scope: Scope) -> Tally:
    """The sum of all chunks of a scope that are finished."""
    found = Tally()
    for chunk in chunks(scope):
        found.add(Tally(**parts.get(chunk.key, {})))
    return found


def mixed(chosen: tuple[Scope, ...]) -> list[Chunk]:
    """All chunks: one of each scope in turn, those of a scope in a random order, always the same one."""
    rows = []
    for scope in chosen:
        rows.append(list(chunks(scope)))
        random.Random(f"{scope.name}, chunks").shuffle(rows[-1])
    return [chunk for chunk in chain.from_iterable(zip_longest(*rows)) if chunk is not None]


def work(chosen: tuple[Scope, ...], kept: FinishedParts, options: argparse.Namespace) -> None:
    """Do the chunks that are missing, those that are done in time."""
    every = mixed(chosen)
    missing = [chunk for chunk in every if chunk.key not in kept.parts]
    done, end = len(every) - len(missing), time.monotonic() + 60 * options.minutes
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn()) as progress:
        bar = progress.add_task("chunks", total=done + len(missing), completed=done)
        for chunk, tally in computed(run, missing, options):
            kept.add(chunk.key, asdict(tally))
            progress.update(bar, advance=1, description=chunk.scope.name)
            if time.monotonic() > end:
                break


def publish(scope: str, totals: dict[str, Tally]) -> None:
    """Print the counts of a scope. Write those of published scopes to docs/data, and the tables of the page."""
    counts = theory_page.scope_rows(scope, totals, {each.name: each.programs for each in SCOPES[scope]})
    failures = theory_page.failure_rows(scope, totals)
    print(table(list(counts[0]), [list(row.values()) for row in counts]))
    for row in failures:
        print("\n{test}, {outcome}, {class}: {programs:,} programs, the smallest:\n{smallest program}".format(**row))
    if scope in PUBLISHED:
        write_rows(theory_page.SCOPES, counts, scopes=scope)
        write_rows(theory_page.FAILURES, failures, scopes=scope)
        theory_page.write_page()


def main() -> int:
    """Do what is missing, print the counts, and publish them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scope", choices=sorted(SCOPES), default="small")
    parser.add_argument("--only", default="", help="only what has these words in its name; the tables show all")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    spreading(parser)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--so-far", action="store_true", help="do nothing more, and show what is kept")
    options = parser.parse_args()
    chosen = SCOPES[options.scope]
    parts = kept_parts(options.results)
    if not options.so_far:
        kept = FinishedParts(options.results, fingerprint(sources()))
        try:
            work(tuple(scope for scope in chosen if options.only in scope.name), kept, options)
        except (KeyboardInterrupt, InputError) as error:
            return interrupted(error)
        parts = kept.parts
    totals = {scope.name: total(parts, scope) for scope in chosen}
    totals = {name: tally for name, tally in totals.items() if tally.programs or tally.explored}
    if not totals:
        print(f"nothing is kept of scope {options.scope}", file=sys.stderr)
        return 2
    publish(options.scope, totals)
    return int(any(theory_page.surprising(tally) for tally in totals.values()))


if __name__ == "__main__":
    from bench.theory import main  # so that workers find by name what they are sent

    sys.exit(main())
