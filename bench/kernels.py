"""How fast kernels are, called from Python, beside the libraries that one would call instead.

    python bench/kernels.py [FOLDER] [--only NAME,…] [--kernels spgemm,spadd,hadamard,spmspv] [--repeat N]
                            [--threads 1,2]

FOLDER has matrices as SciPy's save_npz writes them; without it some are generated. Every engine is called in this one
process, call by call in turns, so that ratios hold on a machine with other work. On one thread the processor's time
counts, on more the clock. A round is not timed at first; then calls are repeated until they have taken their share of
time. All results are compared with SciPy's. Memory of results is freed between calls, and used again by whoever keeps
it.

`A ∘ B`, `A + B` are measured on operands whose patterns differ (`shuffled`: the rows of B are those of A, permuted) and
are equal: with index arrays that both share (`shared`), and with arrays of their own (`equal`).

Prints milliseconds and how many times as long as ours each peer takes, least and median, and the load of the machine,
and appends all to results/kernels.jsonl, from which `python bench/performance.py` makes docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import wingspan  # noqa: E402
from bench import peers, records  # noqa: E402
from bench.peers import Call, Inputs  # noqa: E402

EXAMPLES = ROOT / "examples"
PROGRAMS = {
    "spgemm": "spgemm_gustavson.ws",
    "spadd": "spadd.ws",
    "hadamard": "hadamard.ws",
    "spmspv": "spmspv.ws",
}
SCHEDULES = {
    "spgemm": "dynamic_schedule(64)",
    "spadd": "dynamic_schedule(1024)",
    "hadamard": "dynamic_schedule(1024)",
    "spmspv": "dynamic_schedule(4096)",
}
"""How many columns a thread takes at a time: more where one is less work; in a sparse vector each take is a search."""
BUDGET = 0.5
"""Seconds that all rounds of an engine may take together, on an input."""


def generated() -> Iterator[tuple[str, Any]]:
    """Matrices to measure on where there are no others: an even one, a skewed one, a mesh."""
    rng = np.random.default_rng(1)
    n, entries = 30_000, 240_000
    yield "uniform", from_entries(n, rng.integers(0, n, entries), rng.integers(0, n, entries))
    skewed = (n * rng.random((2, entries)) ** 3).astype(np.int64)
    yield "skewed", from_entries(n, *skewed)
    line = scipy.sparse.eye_array(200, k=1) + scipy.sparse.eye_array(200) + scipy.sparse.eye_array(200, k=-1)
    yield "mesh", scipy.sparse.csc_array(scipy.sparse.kron(line, line))


def from_entries(n: int, rows: np.ndarray, columns: np.ndarray) -> Any:
    """A square matrix with an element of 1 for each different entry."""
    made = scipy.sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)).tocsc()
    made.data[:] = 1.0
    return made


def matrices(folder: str | None, only: str | None) -> Iterator[tuple[str, Any]]:
    """Names and square matrices, in CSC with sorted columns and 32-bit indices; stored zeros are left out."""
    for name, matrix in generated() if folder is None else saved(Path(folder)):
        if (only is None or name in only.split(",")) and matrix.shape[0] == matrix.shape[1]:
            made = scipy.sparse.csc_array(matrix).astype(np.float64)
            made.eliminate_zeros()
            made.sort_indices()
            made.indptr, made.indices = made.indptr.astype(np.int32), made.indices.astype(np.int32)
            yield name, made


def saved(folder: Path) -> Iterator[tuple[str, Any]]:
    """The matrices in a folder."""
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as arrays:
            if "format" in arrays:
                yield path.stem, scipy.sparse.load_npz(path)


def operands(kernel: str, A: Any) -> Iterator[tuple[str, Inputs]]:
    """What a kernel is measured on, and how that is called."""
    rng = np.random.default_rng(2)
    if kernel == "spgemm":
        yield "", {"A": A, "B": A}
    elif kernel == "spmspv":
        n = A.shape[1]
        at = np.sort(rng.choice(n, max(n // 10, 1), replace=False)).astype(np.int32)
        parts = np.ones(len(at)), at, np.array([0, len(at)], np.int32)
        yield "", {"A": A, "x": scipy.sparse.csc_array(parts, shape=(n, 1))}
    else:
        shuffled = A[rng.permutation(A.shape[0])]
        shuffled.sort_indices()
        shuffled.indptr, shuffled.indices = shuffled.indptr.astype(np.int32), shuffled.indices.astype(np.int32)
        yield "shuffled", {"A": A, "B": shuffled}
        for name, copy in (("shared", False), ("equal", True)):
            arrays = A.data + 1, A.indices, A.indptr
            yield name, {"A": A, "B": scipy.sparse.csc_array(arrays, shape=A.shape, copy=copy)}


def ours(kernel: str, given: Inputs, threads: int) -> Call:
    """The kernel on Tensors, which have copies of SciPy's arrays."""
    params = {"nt": threads, "sch": SCHEDULES[kernel]}
    called = wingspan.compile(EXAMPLES / PROGRAMS[kernel], params=params)
    forms = called.inputs
    vectors = {"x": lambda x: scipy.sparse.coo_array((x.data, (x.indices,)), shape=(x.shape[0],))}
    tensors = {
        name: wingspan.Tensor.from_scipy(forms[name], vectors.get(name, lambda m: m)(matrix))
        for name, matrix in given.items()
    }

    def result(made: wingspan.Tensor) -> Any:
        if len(made.shape) == 2:
            return made.to_scipy()
        return scipy.sparse.csc_array(made.to_numpy().reshape(-1, 1))

    return Call(lambda: called(**tensors), result)


def calls(kernel: str, given: Inputs, threads: int, installed: dict[str, Any]) -> dict[str, Call]:
    """Whom to measure, by name, ours first; their results have been compared with SciPy's."""
    made = {"ours": ours(kernel, given, threads)}
    for peer in installed.values():
        made.update(peer(kernel, given, threads))
    (_, reference), *_ = peers.scipy_calls(kernel, given, 1)
    expected = reference.run()
    for name, call in made.items():
        found = call.run()
        if abs(call.result(found) - expected).max() > 1e-9 * abs(expected).max():
            raise SystemExit(f"{name}: a wrong result of {kernel}")
        call.free(found)
    return made


def measured(made: dict[str, Call], repeat: int, threads: int) -> dict[str, list[float]]:
    """Milliseconds of each call, in `repeat` rounds."""
    clock = time.process_time if threads == 1 else time.perf_counter
    times: dict[str, list[float]] = {name: [] for name in made}
    for turn in range(repeat + 1):
        for name, call in made.items():
            spent = 0.0
            while spent < BUDGET / repeat or not spent:
                began, at = clock(), time.perf_counter()
                found = call.run()
                took = clock() - began
                spent += max(time.perf_counter() - at, 1e-9)
                if turn:
                    times[name].append(1e3 * took)
                call.free(found)
                del found
                if not turn:
                    break
    return times


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--only", metavar="NAME,…")
    parser.add_argument("--kernels", default=",".join(PROGRAMS))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", default="1,2")
    options = parser.parse_args()
    installed = peers.found()
    for name, matrix in matrices(options.folder, options.only):
        for kernel in options.kernels.split(","):
            for how, given in operands(kernel, matrix):
                for threads in map(int, options.threads.split(",")):
                    times = measured(calls(kernel, given, threads, installed), options.repeat, threads)
                    report(kernel, how, name, matrix, threads, times)


def report(kernel: str, how: str, name: str, matrix: Any, threads: int, times: dict[str, list[float]]) -> None:
    """Print and keep what was measured of one input."""
    what = "processor time" if threads == 1 else "wall time"
    load = os.getloadavg()[0]
    title = f"{kernel} {how}".strip()
    print(f"{title} {name}: {matrix.nnz} entries, {threads} threads, {what}, load {load:.1f}", flush=True)
    least, middle = min(times["ours"]), statistics.median(times["ours"])
    for engine, some in times.items():
        told = f"{min(some):>9.3f} {statistics.median(some):>9.3f} ms {len(some):>5} calls"
        ratio = f"{min(some) / least:>6.2f} {statistics.median(some) / middle:>6.2f} × ours"
        print(f"  {engine:<14}{told}  {ratio if engine != 'ours' else ''}".rstrip(), flush=True)
    summary = {engine: [min(some), statistics.median(some), len(some)] for engine, some in times.items()}
    about = {"kernel": kernel, "operands": how, "matrix": name, "entries": matrix.nnz, "threads": threads}
    records.append("kernels", {**about, "load": round(load, 2), "least_median_calls": summary})


if __name__ == "__main__":
    main()
