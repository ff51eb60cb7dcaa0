"""Calls as users make them: arrays of SciPy in, an array of SciPy out, beside SciPy's own operation.

    python bench/calls.py [FOLDER] [--only NAME,…] [--kernels spadd,spgemm,…] [--most ENTRIES] [--repeat N]
                          [--threads 1,2] [--keep]

A kernel that `wingspan.compile` has made is called with SciPy's arrays, and `to_scipy` of its result ends the call, as
far as SciPy has an array for the result; vectors and dense matrices become NumPy's. FOLDER has matrices as SciPy's
save_npz writes them; without it, random ones of 20×20 up to --most entries are used. `again` calls with the same arrays
each time, `new` with copies that are made before each call. Patterns of sums and Hadamard products are `other` or
`shared`. SciPy multiplies without sorting columns (`scipy`), and with (`scipy sorted`), as ours are.

Ours and SciPy's calls take turns in one process. Printed are microseconds, the median and the least by the clock and by
the processor's time, and how many times as long as ours SciPy takes by the clock: the median of the ratios of
neighbouring calls, and the ratio of the least times. --keep appends to results/calls.jsonl.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import wingspan  # noqa: E402
from bench import records  # noqa: E402
from bench.problems import arrays, from_entries, in_order, operands  # noqa: E402

EXAMPLES = ROOT / "examples"
SPMV = """
dev = cpu(:t, nt)
x = Tensor(Dense(Element(0.0)))
y = Tensor(Dense(Element(0.0)))
y .= 0
for i = parallel(_, dev, sch)
    for k = _
        y[i] += AT[k, i] * x[k]
return y
"""
PROGRAMS = {
    "spadd": (EXAMPLES / "spadd.ws", 1024),
    "hadamard": (EXAMPLES / "hadamard.ws", 1024),
    "spgemm": (EXAMPLES / "spgemm_gustavson.ws", 64),
    "spmspv": (EXAMPLES / "spmspv.ws", 4096),
    "mttkrp": (EXAMPLES / "mttkrp_rows.ws", 64),
    "spmv": (wingspan.parse(SPMV), 1024),
}
"""Programs, and how many columns a thread takes at a time."""

PLANNED = 0.4
"""Seconds that the repeated calls of one cell are to take, at least three of each."""

Call = Callable[..., Any]
Inputs = dict[str, Any]


def random_matrices(most: int) -> Iterator[tuple[str, Any]]:
    """Square matrices with 5 to 10 random entries in each column, and cubes for MTTKRP."""
    rng = np.random.default_rng(7)
    for n, entries in (
        (20, 100),
        (125, 1_000),
        (1_250, 10_000),
        (12_500, 100_000),
        (125_000, 1_000_000),
        (10**6, 10**7),
    ):
        if entries <= most:
            matrix = scipy.sparse.csc_array(from_entries((n, n), rng.integers(0, n, (2, entries))))
            yield f"random{entries}", in_order(matrix)
            shape = max(n // 10, 5), max(n // 100, 5), max(n // 10, 5)
            yield f"cube{entries}", from_entries(shape, [rng.integers(0, extent, entries) for extent in shape])


def cases(kernel: str, array: Any) -> Iterator[tuple[str, Inputs]]:
    """The inputs of a kernel made of an array, and how their patterns are related; none if the array does not suit."""
    rng = np.random.default_rng(3)
    if kernel == "spmv":
        if array.ndim == 2:
            yield "", {"A": scipy.sparse.csr_array(array), "x": rng.random(array.shape[1])}
        return
    for how, given in operands(kernel, array):
        if kernel == "spmspv":
            column = given["x"]
            vector = scipy.sparse.coo_array((column.data, (column.indices,)), shape=column.shape[:1])
            yield how, {**given, "vector": vector}
        elif how != "equal":
            yield {"shuffled": "other"}.get(how, how), dict(given)


def copied(given: Inputs) -> Inputs:
    """Copies of inputs; those that share arrays of indices or are one array still do."""
    made: dict[int, np.ndarray] = {}

    def copy(array: np.ndarray) -> np.ndarray:
        return made.setdefault(id(array), array.copy())

    def each(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return copy(x)
        if x.format == "coo":
            return scipy.sparse.coo_array((copy(x.data), tuple(map(copy, x.coords))), shape=x.shape)
        return type(x)((copy(x.data), copy(x.indices), copy(x.indptr)), shape=x.shape)

    found: dict[int, Any] = {}
    return {name: found.setdefault(id(x), each(x)) for name, x in given.items()}


def ours(kernel: str, threads: int) -> Call:
    """A call of ours."""
    program, chunk = PROGRAMS[kernel]
    called = wingspan.compile(program, params={"nt": threads, "sch": f"dynamic_schedule({chunk})"})

    def pair(A: Any, B: Any) -> Any:
        return called(A=A, B=B).to_scipy()

    def mttkrp(B: Any, C: Any, D: Any) -> Any:
        return called(BT=B.T, CT=C.T, DT=D.T).to_numpy().T

    def spmspv(A: Any, x: Any, vector: Any) -> Any:
        return called(A=A, x=vector).to_scipy()

    def spmv(A: Any, x: Any) -> Any:
        return called(AT=A.T, x=x).to_numpy()

    return {"mttkrp": mttkrp, "spmspv": spmspv, "spmv": spmv}.get(kernel, pair)


def by_scipy(kernel: str, sort: bool) -> Call:
    """The expression that a user of SciPy would write."""

    def product(A: Any, B: Any) -> Any:
        made = A @ B
        if sort:
            made.sort_indices()
        return made

    def mttkrp(B: Any, C: Any, D: Any) -> Any:
        i, k, l = B.coords
        selector = scipy.sparse.csr_array((B.data, (i, np.arange(B.nnz))), shape=(B.shape[0], B.nnz))
        return selector @ (C[k] * D[l])

    return {
        "spadd": lambda A, B: A + B,
        "hadamard": lambda A, B: A * B,
        "spgemm": product,
        "spmspv": lambda A, x, vector: A @ x,
        "spmv": lambda A, x: A @ x,
        "mttkrp": mttkrp,
    }[kernel]


def require_equal(kernel: str, mine: Any, other: Any) -> None:
    """Exit unless two results agree."""
    if kernel in ("spmspv", "spmv", "mttkrp"):
        mine, other = (np.ravel(each.toarray() if scipy.sparse.issparse(each) else each) for each in (mine, other))
    if abs(mine - other).max() > 1e-9 * abs(other).max():
        raise SystemExit(f"a wrong result of {kernel}")


def measured(calls: dict[str, Call], given: Inputs, new: bool, repeat: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds by the clock and by the processor of each call, in turns."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    turn, spent = 0, 0.0
    while turn < 3 or (turn < repeat and spent < PLANNED):
        for name, call in calls.items():
            taken = copied(given) if new else given
            busy, at = time.process_time(), time.perf_counter()
            result = call(**taken)
            found = time.perf_counter() - at, time.process_time() - busy
            del result, taken
            spent += found[0]
            times[name].append(found)
        turn += 1
    return times


def summary(times: dict[str, list[tuple[float, float]]]) -> dict[str, dict[str, float]]:
    """By name: microseconds by the clock and the processor, and how many times as long as ours it takes."""
    made = {}
    for name, some in times.items():
        clock, busy = zip(*some, strict=True)
        mine = [wall for wall, _ in times["ours"]]
        made[name] = {
            "median": 1e6 * statistics.median(clock),
            "least": 1e6 * min(clock),
            "busy_median": 1e6 * statistics.median(busy),
            "busy_least": 1e6 * min(busy),
            "ratio": statistics.median([x / y for x, y in zip(clock, mine, strict=True)]),
            "ratio_least": min(clock) / min(mine),
        }
    return made


def main() -> None:
    """Measure, print and keep."""
    parser = records.options(__doc__)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--only", metavar="NAME,…")
    parser.add_argument("--kernels", default=",".join(PROGRAMS))
    parser.add_argument("--most", type=int, default=10**6)
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    numbers = [int(threads) for threads in options.threads.split(",")]
    chosen = options.kernels.split(",")
    made = {(kernel, threads): ours(kernel, threads) for kernel in chosen for threads in numbers}
    every: dict[tuple[str, str, int, str], list[float]] = {}
    for name, array in (
        random_matrices(options.most) if options.folder is None else arrays(options.folder, options.only)
    ):
        if options.only is not None and name not in options.only.split(","):
            continue
        for kernel in chosen:
            for how, given in cases(kernel, array):
                for threads in numbers:
                    calls = {"ours": made[kernel, threads], "scipy": by_scipy(kernel, False)}
                    if kernel == "spgemm":
                        calls["scipy sorted"] = by_scipy(kernel, True)
                    require_equal(kernel, calls["ours"](**given), calls["scipy"](**given))
                    for new in (False, True):
                        found = summary(measured(calls, given, new, options.repeat))
                        again = "new" if new else "again"
                        report(kernel, how, name, array.nnz, threads, again, found, options.keep)
                        for peer in list(calls)[1:]:
                            every.setdefault((f"{kernel} {how}".strip(), peer, threads, again), []).append(
                                found[peer]["ratio"]
                            )
    for (kernel, peer, threads, again), ratios in every.items():
        mean = statistics.geometric_mean(ratios)
        print(
            f"{kernel:18} {peer:12} threads: {threads} {again:5} geometric mean {mean:6.2f}, least {min(ratios):6.2f}"
        )


def report(
    kernel: str, how: str, name: str, entries: int, threads: int, again: str, found: dict[str, Any], keep: bool
) -> None:
    """Print and keep what was measured of one cell."""
    mine = found["ours"]
    line = f"{f'{kernel} {how}'.strip():16} {name:14} threads: {threads} {again:5}"
    line += f" ours {mine['median']:10.0f} {mine['least']:10.0f} (busy {mine['busy_least']:10.0f})"
    for peer, each in list(found.items())[1:]:
        line += f"  {peer} {each['median']:10.0f}: {each['ratio']:5.2f} {each['ratio_least']:5.2f}"
    print(line, flush=True)
    if keep:
        about = {"kernel": kernel, "operands": how, "matrix": name, "entries": entries, "threads": threads}
        rounded = {peer: {key: round(value, 3) for key, value in each.items()} for peer, each in found.items()}
        records.append("calls", {**about, "inputs": again, "load": records.load(), "microseconds": rounded})


if __name__ == "__main__":
    main()
