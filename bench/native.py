"""Costs of the native engine: regions, threads, the register machine beside SciPy, differential tests, exploring.

    python bench/native.py [--repeat N] [QUESTION ...]

Whatever is compared is run in turn, round by round in one process; a ratio is the median over the rounds. Read ratios,
and only where nothing else runs: the load before each question is kept, too. Appends a record with machine and commit
to bench/results/native.jsonl.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import wingspan  # noqa: E402
from bench import records  # noqa: E402
from wingspan import api  # noqa: E402
from wingspan.api import Program  # noqa: E402
from wingspan.native.assemble import assemble  # noqa: E402
from wingspan.native.engine import NativeEngine  # noqa: E402
from wingspan.plan.pipeline import lower  # noqa: E402
from wingspan.tensors.tensor import Tensor  # noqa: E402
from wingspan.testing import campaign  # noqa: E402

EXAMPLES = ROOT / "examples"
SCHEDULES = {"static": "static_schedule()", "dynamic": "dynamic_schedule(64)"}
SMALL = [[1.0, 2.0, 0.0], [3.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [[0.0, 1.0, 2.0], [4.0, 5.0, 0.0], [1.0, 0.0, 1.0]]

Record = dict[str, Any]


def rounds(
    ways: Mapping[str, Callable[[], object]], repeat: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """The seconds of each way in each round, after one round that is not counted."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(repeat + 1):
        for name, run in ways.items():
            print(f"\r\033[K  {name}, round {number} of {repeat}", end="", file=sys.stderr, flush=True)
            found[name].append(records.timed(run, clock)[0])
    print("\r\033[K", end="", file=sys.stderr)
    return {name: seconds[1:] for name, seconds in found.items()}


def record(what: str, seconds: list[float], **more: Any) -> Record:
    """The minimum and the median, and what else is known."""
    return {"what": what, "min_s": min(seconds), "median_s": statistics.median(seconds)} | more


def ratio(above: list[float], below: list[float]) -> float:
    """The median of the ratios of the rounds."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def ready(program: Program | Path, inputs: Mapping[str, Any] | None = None, **params: Any) -> Callable[[], object]:
    """A run of a program that is compiled already."""
    return api.compiled(api.bind(program, inputs=inputs, params=params)).run


# ---------------------------------------------------------------------------------------------------------- questions


def regions(repeat: int, count: int = 5_000) -> Iterator[Record]:
    """Entering and leaving a parallel region, beside the same loop on no device. Each iteration is a single update."""

    def program(devices: tuple[int, ...], loop: str) -> Callable[[], object]:
        """As many regions one after the other, each dealt to these devices, the first outermost."""
        indices = ", ".join(f"i{k}" for k in range(len(devices)))
        lines = [f"d{k} = cpu(:d{k}, {n})" for k, n in enumerate(devices)]
        lines += [
            f"c = Tensor({'Dense(' * len(devices)}Element(0){')' * len(devices)})",
            "c .= 0",
            f"for r = 1:{count}",
        ]
        lines += [f"for i{k} = {loop.format(n=n, k=k)}" for k, n in enumerate(devices)]
        return ready(api.parse("\n".join([*lines, f"c[{indices}] += 1", *["end"] * (len(devices) + 1), "return c"])))

    for name, devices in {"1 thread": (1,), "2 threads": (2,), "4 threads": (4,), "2 by 2 threads": (2, 2)}.items():
        ways = {"regions": program(devices, "parallel(1:{n}, d{k})"), "loops": program(devices, "1:{n}")}
        found = rounds(ways, repeat)
        each = [1e6 * (a - b) / count for a, b in zip(found["regions"], found["loops"], strict=True)]
        times = ratio(found["regions"], found["loops"])
        yield record(
            f"region, {name}",
            found["regions"],
            least_us=min(each),
            median_us=statistics.median(each),
            times_a_loop=times,
        )


def threads(repeat: int) -> Iterator[Record]:
    """The same kernel on one thread and on two, by both schedules, and SciPy on the same work."""
    for name, (file, inputs, peer) in kernels().items():
        ways: dict[str, Callable[[], object]] = {
            f"{name}, {schedule}, {n}": ready(EXAMPLES / file, inputs, nt=n, sch=text)
            for schedule, text in SCHEDULES.items()
            for n in (1, 2)
        }
        found = rounds(ways | ({"SciPy": peer} if peer else {}), repeat)
        for schedule in SCHEDULES:
            one, two = (found[f"{name}, {schedule}, {n}"] for n in (1, 2))
            yield record(f"{name}, {schedule}, 1 thread", one)
            yield record(f"{name}, {schedule}, 2 threads", two, speed_up=ratio(one, two))
        if peer:
            slower = ratio(found[f"{name}, static, 1"], found["SciPy"])
            yield record(f"{name}, SciPy", found["SciPy"], machine_is_slower_by=slower)


def kernels() -> dict[str, tuple[str, dict[str, Any], Callable[[], object] | None]]:
    """Programs with inputs for which a run takes 0.1 to 2 seconds, and what SciPy does for the same result."""
    rng = np.random.default_rng(0)
    A = scipy.sparse.random_array((20_000, 20_000), density=8 / 20_000, format="csc", rng=rng)
    X, Y = (scipy.sparse.random_array((250_000, 250_000), density=8 / 250_000, format="csc", rng=rng) for _ in "XY")
    B = rng.random((100, 100, 100)) * (rng.random((100, 100, 100)) < 0.1)
    C, D = rng.random((100, 32)), rng.random((100, 32))

    def product() -> None:
        (A @ A).sort_indices()

    sparse = Tensor.from_numpy("Dense(SparseList(SparseList(Element(0.0))))", B)
    return {
        "SpGEMM": ("spgemm_gustavson.ws", {"A": A, "B": A}, product),
        "SpAdd": ("spadd.ws", {"A": X, "B": Y}, lambda: X + Y),
        "dense MTTKRP": ("mttkrp_dense.ws", {"B": sparse, "C": C, "D": D}, None),
    }


def merging(repeat: int) -> Iterator[Record]:
    """Bringing two copies of 10⁶ entries in all together: one thread does it, or two do. All else is the same."""
    A = scipy.sparse.random_array((50_000, 50_000), density=10 / 50_000, format="csc", rng=np.random.default_rng(0))
    for form in ("SparseList(SparseList(Element(0.0)))", "SparseDict(SparseDict(Element(0.0)))"):
        lines = ["dev = cpu(:dev, 2)", f"C = Tensor(Merge(dev, {form}))", "C .= 0", "for k = parallel(1:2, dev)"]
        lines += ["for j = _", "for i = _", "C[i, j] += A[i, j]", "end", "end", "end", "return C"]
        bound = api.bind(api.parse("\n".join(lines)), inputs={"A": A})
        plans = {"two": lower(bound), "one": lower(bound, dealt=False)}
        whole = plans["two"].body
        freezes = next(
            k for k, s in enumerate(whole) if (made := getattr(s, "origin", None)) and made.operation == "Freeze"
        )
        plans["copies"] = replace(plans["two"], body=whole[:freezes])
        engines = {name: NativeEngine(assemble(each)) for name, each in plans.items()}
        ways: dict[str, Callable[[], object]] = {
            name: lambda engine=engine, given=given: engine.run(given)  # type: ignore[misc]
            for name, engine in engines.items()
            for given in [[engine.inputs.from_tensor("A", bound.inputs["A"])]]
        }
        found = rounds(ways, repeat)
        one, two = ([a - b for a, b in zip(found[n], found["copies"], strict=True)] for n in ("one", "two"))
        yield record(f"merging {form.partition('(')[0]}s, 1 thread", one)
        yield record(f"merging {form.partition('(')[0]}s, 2 threads", two, speed_up=ratio(one, two))


def calls(repeat: int, count: int = 2_000) -> Iterator[Record]:
    """The cost of a call besides its work: the sum of matrices of 20 by 20 on one thread, and SciPy's own.

    The processor's time of the thread that calls.
    """
    A, B = (scipy.sparse.random_array((20, 20), density=0.2, format="csc", rng=seed) for seed in (1, 2))
    spadd = wingspan.compile(EXAMPLES / "spadd.ws", params={"nt": 1, "sch": SCHEDULES["static"]})
    S, T, U = (Tensor.from_scipy(spadd.inputs["A"], matrix) for matrix in (A, B, 2 * A))
    turns: Iterator[dict[str, Any]] = itertools.cycle([{"A": S, "B": T}, {"A": T, "B": S}])
    ways: dict[str, Callable[[], object]] = {
        "call, the same Tensors again": lambda: spadd(A=S, B=T),
        "call, the same Tensors again, with one pattern": lambda: spadd(A=S, B=U),
        "call, two pairs of Tensors in turns": lambda: spadd(**next(turns)),
        "call, SciPy arrays": lambda: spadd(A=A, B=B),
        "call, SciPy's sum": lambda: A + B,
    }

    def many(run: Callable[[], object]) -> None:
        for _ in range(count):
            run()

    found = rounds({name: partial(many, run) for name, run in ways.items()}, repeat, time.thread_time)
    for name, seconds in found.items():
        least, median = (1e6 * f(seconds) / count for f in (min, statistics.median))
        yield record(name, seconds, least_us=least, median_us=median)


def differential(repeat: int, examples: int = 50) -> Iterator[Record]:
    """Random programs through all engines."""
    oracles, subjects = ["semantics", "native-controlled", "reference"], ["native"]
    tallies = []
    for number in range(repeat):
        print(f"\r\033[K  differential testing, round {number + 1} of {repeat}", end="", file=sys.stderr, flush=True)
        tallies.append(campaign(oracles, subjects, examples=examples, first_seed=1000 * number))
    print("\r\033[K", end="", file=sys.stderr)
    rates = [tally.rate for tally in tallies]
    seconds = [tally.seconds for tally in tallies]
    cases = [tally.cases for tally in tallies]
    yield record("differential testing", seconds, cases=cases, cases_per_s=statistics.median(rates))


def exploring(repeat: int) -> Iterator[Record]:
    """Every interleaving of SpGEMM on 3×3 matrices with two tasks, on both machines."""
    given: dict[str, Any] = {
        "inputs": dict(zip("AB", SMALL, strict=True)),
        "params": {"nt": 2, "sch": SCHEDULES["static"]},
    }
    bound = api.bind(EXAMPLES / "spgemm_gustavson.ws", **given)
    states = {machine: api.explore(bound, machine=machine).verdict.states for machine in api.MACHINES}
    found = rounds({m: lambda m=m: api.explore(bound, machine=m) for m in api.MACHINES}, repeat)  # type: ignore[misc]
    for machine, seconds in found.items():
        rate = states[machine] / statistics.median(seconds)
        yield record(f"exploring, {machine}", seconds, states=states[machine], states_per_s=rate)


QUESTIONS: dict[str, Callable[[int], Iterator[Record]]] = {
    "regions": regions,
    "threads": threads,
    "merging": merging,
    "calls": calls,
    "differential": differential,
    "exploring": exploring,
}


def show(found: Record) -> str:
    """A record as a line."""
    more = [f"{name} {value:,.4g}" for name, value in found.items() if name not in ("what", "min_s", "median_s")]
    return f"{found['what']:<36} {found['min_s']:>9.4f} s {found['median_s']:>9.4f} s  {', '.join(more)}"


def main() -> None:
    """Measure, print and keep."""
    parser = records.options(__doc__)
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=f"all of {', '.join(QUESTIONS)} if none")
    parser.add_argument("--repeat", type=int, default=7)
    asked = parser.parse_args()
    if unknown := set(asked.questions) - set(QUESTIONS):
        parser.error(f"there is no question {', '.join(sorted(unknown))}; use {', '.join(QUESTIONS)}")
    kept: list[Record] = []
    print(f"{'':<36} {'minimum':>11} {'median':>11}")
    try:
        for name in asked.questions or QUESTIONS:
            load = records.load()
            for found in QUESTIONS[name](asked.repeat):
                print(show(found), flush=True)
                kept.append(found | {"load": load})
    except KeyboardInterrupt:
        print("\r\033[Kended early; what was measured is kept", file=sys.stderr)
    if kept:
        records.append("native", {"records": kept})


if __name__ == "__main__":
    main()
