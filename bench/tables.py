"""Graphs of states by tables of local steps, compared with those of a search that asks the machine for each step.

    python bench/tables.py [--programs N] [--seconds S] [--jobs N] [--scheduler ADDRESS] [--results FILE] [--so-far]

Random programs as in the test suite, on both machines: states, edges, findings, counts and probabilities must be the
same. Of a program with more than 400 states the two beginnings of so many are compared. Finished batches are kept in
bench/results/tables.jsonl, so that a run that was killed, or that has used up its S seconds, goes on from there;
batches that were computed from other sources are dropped. `--so-far` prints what is kept, whatever its sources. The
exit status is 1 if two graphs differ; these programs are printed.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from bench import records  # noqa: E402
from bench.parts import computed, interrupted, kept_parts, spreading  # noqa: E402
from proofs_tests.explorer.plain import Plain  # noqa: E402
from proofs_tests.explorer.test_tables import graph, random_program, walked  # noqa: E402
from wingspan import api  # noqa: E402
from wingspan.base.errors import InputError  # noqa: E402
from wingspan.testing.finished_parts import FinishedParts, fingerprint, sources  # noqa: E402

RESULTS = HERE / "results" / "tables.jsonl"
BATCH = 50
FIRST_SEED = 1_000_000
"""The test suite uses smaller ones."""

Counts = dict[str, Any]
"""Numbers of programs, and of states and edges on both machines; programs whose graphs differ; processor time."""


def compare(number: int) -> Counts:
    """Compare the graphs of a batch of programs."""
    found: Counter[str] = Counter()
    different: list[str] = []
    began = time.process_time()
    gc.freeze()
    gc.disable()  # going through the states again and again takes more than half as long as finding them
    for seed in range(FIRST_SEED + number * BATCH, FIRST_SEED + (number + 1) * BATCH):
        gc.collect()
        text = random_program(seed)
        bound = api.bind(api.parse(text))
        for name in api.MACHINES:
            machine = api.machine_of(bound, name)
            tabled, plain = walked(machine), walked(Plain(machine))
            assert tabled.walker is not None and plain.walker is None
            if graph(tabled) != graph(plain):
                different.append(f"seed {seed}, {name}\n{text}")
            found += Counter(graphs=1, whole=int(not tabled.stopped_by), states=tabled.nodes, edges=tabled.edges)
        found["programs"] += 1
    gc.enable()
    gc.unfreeze()
    return {**found, "different": different, "seconds": round(time.process_time() - began, 1)}


def main() -> int:
    """Compare what is missing, and print the counts."""
    parser = records.options(__doc__)
    parser.add_argument("--programs", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no batch after so long")
    spreading(parser)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--so-far", action="store_true", help="run nothing, and show what is kept")
    options = parser.parse_args()
    parts = kept_parts(options.results)
    if not options.so_far:
        mark = fingerprint([*sources("wingspan"), ROOT / "proofs_tests/explorer/plain.py"])
        kept = FinishedParts(options.results, mark)
        end = time.monotonic() + options.seconds
        missing = [number for number in range(-(-options.programs // BATCH)) if str(number) not in kept.parts]
        try:
            for number, counts in computed(compare, missing, options):
                kept.add(str(number), counts)
                if time.monotonic() > end:
                    break
        except (KeyboardInterrupt, InputError) as error:
            return interrupted(error)
        parts = kept.parts
    total: Counter[str] = Counter()
    for counts in parts.values():
        total += Counter({name: number for name, number in counts.items() if name != "different"})
    different = [each for counts in parts.values() for each in counts["different"]]
    print(
        f"{total['programs']:,} of {options.programs:,} programs: {total['graphs']:,} graphs, {total['whole']:,} whole,"
        f" with {total['states']:,} states and {total['edges']:,} edges, in {total['seconds']:,.0f} s; "
        f"{len(different)} differ"
    )
    print(*different, sep="\n", end="\n" if different else "")
    return int(bool(different))


if __name__ == "__main__":
    from bench.tables import main  # so that workers find by name what they are sent

    sys.exit(main())
