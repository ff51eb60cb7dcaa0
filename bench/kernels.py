"""Speed of kernels, called from Python, beside the libraries that one would call instead.

    python bench/kernels.py [FOLDER] [--only NAME,…] [--kernels spgemm,mttkrp,…] [--repeat N] [--threads 1,2]

FOLDER has matrices as SciPy's save_npz writes them, and tensors of rank 3 (`coords`, `data`, `shape`); without it some
are generated. Every engine is called in this one process, call by call in turns, so that ratios hold on a machine with
other work. On one thread the processor's time counts, on more the clock. A round is not timed at first; then calls are
repeated until they have taken their share of time. All results are compared with SciPy's. Memory of results is freed
between calls, and used again by whoever keeps it.

`A ∘ B`, `A + B` are measured on operands whose patterns differ (`shuffled`: the rows of B are those of A, permuted) and
are equal: with index arrays that both share (`shared`), and with arrays of their own (`equal`). MTTKRP has factors of
32 columns, dense or a quarter full. The outer and inner products and the nested one compute A·A, too, where A has few
enough rows for them.

Prints milliseconds and how many times as long as ours each peer takes, least and median, and the load of the machine,
and appends all to results/kernels.jsonl, from which `python bench/performance.py` makes docs/performance.md.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import wingspan  # noqa: E402
from bench import installed, peers, records  # noqa: E402
from bench.peers import Call, Inputs  # noqa: E402
from bench.problems import arrays, operands  # noqa: E402

EXAMPLES = ROOT / "examples"
PROGRAMS = {
    "spgemm": ("spgemm_gustavson.ws", 64),
    "spadd": ("spadd.ws", 1024),
    "hadamard": ("hadamard.ws", 1024),
    "spmspv": ("spmspv.ws", 4096),
    "mttkrp": ("mttkrp_rows.ws", 64),
    "mttkrp_sparse": ("mttkrp_sparse_rows.ws", 64),
    "outer": ("spgemm_outer.ws", 64),
    "inner": ("spgemm_inner.ws", 64),
    "nested": ("spgemm_nested.ws", 64),
    "inner_nested": ("inner_nested.ws", 0),
}
"""Programs, and how many columns a thread takes at a time: more where one is less work. In a sparse vector each take is
a search.
"""
BUDGET = 0.5
"""Seconds that all rounds of an engine may take together, on an input."""


def ours(kernel: str, given: Inputs, threads: int) -> Call:
    """The kernel on Tensors, which have copies of SciPy's arrays, or of their transposes."""
    program, chunk = PROGRAMS[kernel]
    nt = threads**2 if kernel == "nested" else threads
    params = {"nt": nt, "sch": f"dynamic_schedule({chunk})"} if chunk else {}
    called = wingspan.compile(EXAMPLES / program, params=params, threads=None if chunk else threads)
    tensors = {name: tensor(form, operand(name, given)) for name, form in called.inputs.items()}

    def result(made: wingspan.Tensor) -> Any:
        if len(made.shape) == 1:
            return scipy.sparse.csc_array(made.to_numpy().reshape(-1, 1))
        found = made.to_scipy() if "Sparse" in str(made.tower) else np.asarray(made)
        return found.T if kernel.startswith("mttkrp") else found

    return Call(lambda: called(**tensors), result)


def operand(name: str, given: Inputs) -> Any:
    """The operand of that name; a final T reverses its axes."""
    return given[name] if name in given else given[name.removesuffix("T")].T


def tensor(form: str, array: Any) -> wingspan.Tensor:
    """An operand in the form that a program takes; vectors come as matrices of one column."""
    if isinstance(array, np.ndarray):
        return wingspan.Tensor.from_numpy(form, array)
    if array.ndim == 2 and array.shape[1] == 1:
        array = scipy.sparse.coo_array((array.data, (array.indices,)), shape=array.shape[:1])
    return wingspan.Tensor.from_scipy(form, array)


def calls(kernel: str, given: Inputs, threads: int, engines: dict[str, Any]) -> dict[str, Call]:
    """The calls to measure, by name, ours first; their results have been compared with SciPy's."""
    made = {"ours": ours(kernel, given, threads)}
    for peer in engines.values():
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
    parser = records.options(__doc__)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--only", metavar="NAME,…")
    parser.add_argument("--kernels", default=",".join(PROGRAMS))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", default="1,2")
    options = parser.parse_args()
    engines = installed.found()
    for name, array in arrays(options.folder, options.only):
        for kernel in options.kernels.split(","):
            for how, given in operands(kernel, array):
                for threads in map(int, options.threads.split(",")):
                    times = measured(calls(kernel, given, threads, engines), options.repeat, threads)
                    report(kernel, how, name, array.nnz, threads, times)


def report(kernel: str, how: str, name: str, entries: int, threads: int, times: dict[str, list[float]]) -> None:
    """Print and keep what was measured of one input."""
    load = os.getloadavg()[0]
    summary = compared(f"{f'{kernel} {how}'.strip()} {name}: {entries} entries", threads, times)
    about = {"kernel": kernel, "operands": how, "matrix": name, "entries": entries, "threads": threads}
    records.append("kernels", {**about, "load": round(load, 2), "least_median_calls": summary})


def compared(title: str, threads: int, times: dict[str, list[float]]) -> dict[str, list[float]]:
    """Print times, and for each engine how long it takes beside ours: least, median and number, which are returned."""
    what = "processor time" if threads == 1 else "wall time"
    print(f"{title}, {threads} threads, {what}, load {os.getloadavg()[0]:.1f}", flush=True)
    least, middle = min(times["ours"]), statistics.median(times["ours"])
    for engine, some in times.items():
        told = f"{min(some):>9.3f} {statistics.median(some):>9.3f} ms {len(some):>5} calls"
        ratio = f"{min(some) / least:>6.2f} {statistics.median(some) / middle:>6.2f} × ours"
        print(f"  {engine:<22}{told}  {ratio if engine != 'ours' else ''}".rstrip(), flush=True)
    return {engine: [min(some), statistics.median(some), len(some)] for engine, some in times.items()}


if __name__ == "__main__":
    main()
