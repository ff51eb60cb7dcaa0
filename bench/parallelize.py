"""The choices of `wingspan parallelize` for the paper's listings, measured beside placements written by hand.

    python bench/parallelize.py [--threads N] [--only NAME,…] [--repeat N] [--seconds S]
    python bench/parallelize.py --costs

For each listing: `parallelize` with `measure`, and then its choice, the listing and the serial program in turn, the
fastest run of each. All is appended to results/parallelize.jsonl, and the newest of each listing and number of threads
is written as the table of docs/how-to/parallelize.md. `--costs` prints the costs of wingspan/choices/estimate.py and of
levels beside those on this machine: processor time of all threads, so that other processes disturb little.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import records  # noqa: E402
from bench.kernels import EXAMPLES, operand, tensor  # noqa: E402
from bench.problems import from_entries, in_order  # noqa: E402
from proofs_tests.generated import rewrite  # noqa: E402
from wingspan import api  # noqa: E402
from wingspan.choices.estimate import COSTS  # noqa: E402
from wingspan.levels import REGISTRY  # noqa: E402

PAGE = ROOT / "docs" / "how-to" / "parallelize.md"
SLOWER = 1.1
"""The choice should never take longer than the listing by more than this."""


def matrix(n: int, entries: int, seed: int) -> Any:
    """A square CSC matrix with about so many entries, skewed as graphs are."""
    rng = np.random.default_rng(seed)
    return in_order(from_entries((n, n), (n * rng.random((2, entries)) ** 1.5).astype(np.int64)).tocsc())


def problems() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """A listing, its operands, and the parameters that are not about threads."""
    rng = np.random.default_rng(3)
    A, B = matrix(30_000, 240_000, 1), matrix(30_000, 240_000, 2)
    small, other = matrix(4_000, 30_000, 1), matrix(4_000, 30_000, 2)
    yield "spadd", {"A": A, "B": B}, {}
    yield "hadamard", {"A": A, "B": B}, {}
    yield "spgemm_gustavson", {"A": A, "B": B}, {}
    yield "spgemm_inner", {"A": small[:1_500, :1_500], "B": other[:1_500, :1_500]}, {}
    yield "spgemm_outer", {"A": small, "B": other}, {}
    yield "spgemm_nested", {"A": small, "B": other}, {}
    x = scipy.sparse.random_array((30_000, 1), density=0.1, rng=rng, format="csc")
    yield "spmspv", {"A": A, "x": x}, {}
    shape = 1_000, 300, 1_000
    cube = from_entries(shape, [rng.integers(0, extent, 60_000) for extent in shape])
    yield "mttkrp_rows", {"B": cube, "C": rng.random((300, 32)), "D": rng.random((1_000, 32))}, {}
    yield "inner_nested", dict(zip("AB", rng.random((2, 200, 200)), strict=True)), {}
    pixels = np.repeat(rng.integers(0, 64, (3, 20_000)), 10, axis=1)
    yield "histogram", dict(zip("RGB", pixels, strict=True)), {"n": 64}


def bound(program: api.Program, given: dict[str, Any], params: dict[str, Any], threads: int | None = None) -> Any:
    """A program with its inputs, in the formats that it takes."""
    towers = api.bind(program, params=params, symbolic=True)
    inputs = {name: tensor(str(towers.towers[name]), operand(name, given)) for name in towers.open}
    return api.bind(program, inputs=inputs, params=params, threads=threads)


def least(runs: dict[str, Any], repeat: int, seconds: float) -> dict[str, float]:
    """The milliseconds of the fastest run of each, all run in turn."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    began = time.perf_counter()
    while len(min(times.values(), key=len)) < repeat or time.perf_counter() - began < seconds:
        for name, made in runs.items():
            times[name].append(1e3 * records.timed(made.run, time.perf_counter)[0])
    return {name: min(some) for name, some in times.items()}


def compare(name: str, given: dict[str, Any], params: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """One listing beside the choice."""
    program, threads = api.load(EXAMPLES / f"{name}.ws"), options.threads
    about = {"nt": threads, "sch": "static_schedule()"} if name != "inner_nested" else {}
    listing = bound(program, given, {**params, **about}, None if about else threads)
    inputs = dict(listing.inputs)
    found = api.parallelize(program, inputs=inputs, params=params, threads=threads, measure=True)
    programs = {"listing": listing, "chosen": bound(found.program, given, params)}
    programs["serial"] = bound(found.serial.program, given, params)
    times = least({key: api.compiled_c(each) for key, each in programs.items()}, options.repeat, options.seconds)
    return {
        "listing": name, "threads": threads, "load": os.getloadavg()[0], "placements": len(found.candidates) - 1,
        "choice": found.candidates[0].placement.description, "expected": found.candidates[0].expected, "ms": times,
    }  # fmt: skip


def table() -> str:
    """The newest measurement of each listing, as Markdown."""
    newest: dict[tuple[str, int], dict[str, Any]] = {}
    lines = (ROOT / "bench" / "results" / "parallelize.jsonl").read_text(encoding="utf-8").splitlines()
    for one in map(json.loads, lines):
        newest[one["listing"], one["threads"]] = one
    rows = ["| listing | threads | safe | choice | listing, ms | choice, ms | ratio | serial, ms |", "|" + "---|" * 8]
    for (name, threads), one in sorted(newest.items()):
        ms = one["ms"]
        ratio = ms["chosen"] / ms["listing"]
        times = (
            f"{ms['listing']:.2f} | {ms['chosen']:.2f} | {ratio:.2f}{' (!)' * (ratio > SLOWER)} | {ms['serial']:.2f}"
        )
        rows.append(f"| {name} | {threads} | {one['placements']} | `{one['choice']}` | {times} |")
    loads = sorted(one["load"] for one in newest.values())
    about = f"Load of the machine while this was measured: {loads[0]:.1f} to {loads[-1]:.1f}."
    if loads[-1] > len(os.sched_getaffinity(0)):
        about += "\nMore was running than there are processors, so these times say little."
    return "\n".join([*rows, "", about, ""])


# --------------------------------------------------------------------------------------------------------------- costs

HEAD = "dev = cpu(:t, 2)\nx = Tensor(Dense(Element(0.0)))\nr = Tensor(Dense(Element(0)))\n"
SCATTER = HEAD + "c = Tensor({form}, {cells})\nc .= 0\nfor i = {range}\nc[r[i]] += x[i]\nend\nreturn c"
ROWS = "dev = cpu(:t, 2)\nX = Tensor(Dense(Dense(Element(0.0))))\nC = Tensor({form})\nC .= 0\n"
ROWS += "for j = {range}\nfor i = _\nC[i, j] += X[i, j]\nend\nend\nreturn C"
N, CELLS, FIBERS = 1_000_000, 1_000, 50_000
PARALLEL = "parallel(_, dev)"


def spent(text: str, **inputs: Any) -> float:
    """The least processor time of a run, in seconds."""
    made = api.compiled_c(api.bind(api.parse(text), inputs=inputs))
    return min(records.timed(made.run)[0] for _ in range(8))


def costs() -> None:
    """Print what modifiers, merging, chunks and hash tables take, in updates of a dense element."""
    rng = np.random.default_rng(4)
    x, r = rng.random(N), rng.integers(1, CELLS + 1, N)

    def scatter(form: str, range: str = "_", at: Any = r, cells: int = CELLS) -> float:
        return spent(SCATTER.format(form=form, range=range, cells=cells), x=x, r=at) / N

    unit = scatter("Dense(Element(0.0))")
    print(f"one update: {1e9 * unit:.2f} ns")

    def say(name: str, took: float, stated: float) -> None:
        print(f"{name:14} {took / unit:8.1f}   stated {stated:8.1f}", flush=True)

    def visit(name: str) -> float:
        return REGISTRY[name].cost.visit

    for name, form in (("Atomic", "Dense(Atomic(0.0))"), ("Mutex", "Dense(Mutex(Element(0.0)))")):
        say(name, scatter(form, PARALLEL) - unit, visit(name))
    for name in ("SparseDict", "SparseByteMap"):
        say(name, scatter(f"{name}(Element(0.0))") - unit, visit(name))
    dealt = [
        scatter("Dense(Atomic(0.0))", f"parallel(_, dev, {h}_schedule({c}))")
        for h, c in (("dynamic", 1), ("static", ""))
    ]
    say("chunk", dealt[0] - dealt[1], COSTS["chunk"])
    wide = rng.integers(1, 100_001, N)
    for name in ("Dense", "SparseByteMap", "SparseDict"):
        alone = scatter(f"{name}(Element(0.0))", "_", wide, 100_000)
        merged = scatter(f"Merge(dev, {name}(Element(0.0)))", PARALLEL, wide, 100_000)
        say(name, (merged - alone) * N / 200_000, REGISTRY[name].cost.merged)
    X = np.asfortranarray(rng.random((2, FIBERS)))

    def rows(form: str, range: str = PARALLEL) -> float:
        return spent(ROWS.format(form=form, range=range), X=X) / FIBERS

    alone = rows("Dense(SparseList(Element(0.0)))", "_")
    say("Shard", rows("Dense(Shard(dev, SparseList(Element(0.0))))") - alone, visit("Shard"))
    say("Isolate", rows("Dense(Isolate(SparseList(Element(0.0))))") - alone, visit("Isolate"))
    say(
        "SparseList",
        (rows("Dense(Merge(dev, SparseList(Element(0.0))))") - alone) / 2,
        REGISTRY["SparseList"].cost.merged,
    )


def main() -> None:
    """Measure, print, keep, and write the table."""
    parser = records.options(__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", metavar="NAME,…")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each listing is compared at least")
    parser.add_argument("--costs", action="store_true")
    options = parser.parse_args()
    if options.costs:
        costs()
        return
    for name, given, params in problems():
        if options.only is None or name in options.only.split(","):
            found = compare(name, given, params, options)
            print(json.dumps(found), flush=True)
            records.append("parallelize", found)
    rewrite(PAGE, {"listings": table()})


if __name__ == "__main__":
    main()
