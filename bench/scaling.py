"""Scaling of kernels: random matrices that grow, one thread and two, and the memory of a result.

    python bench/scaling.py [--most ROWS] [--repeat N] [--threads 1,2]

Matrices have 8 entries in a column, drawn with a seed that is the number of rows. Times are those of bench/kernels.py,
least of all calls; memory is by how much a process of its own grows at most during its first call. All is appended to
results/scaling.jsonl, from which bench/performance.py makes a table and a plot.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import peers, records  # noqa: E402
from bench.kernels import calls, measured, ours  # noqa: E402
from bench.problems import from_entries, in_order, operands  # noqa: E402

KERNELS = ("spgemm", "spadd", "hadamard", "spmspv")
COLUMN = 8
"""Entries of a column."""


def matrix(rows: int) -> Any:
    """A random square matrix."""
    rng = np.random.default_rng(rows)
    return in_order(from_entries((rows, rows), rng.integers(0, rows, (2, COLUMN * rows))).tocsc())


def growth(run: Callable[[], Any]) -> int:
    """By how many bytes a process grows at most when it calls this for the first time."""
    ctypes.CDLL(None).malloc_trim(0)  # it would use again what this process has freed
    here, there = multiprocessing.get_context("fork").Pipe()

    def call() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        made = run()
        there.send(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - pages * resource.getpagesize())
        del made

    process = multiprocessing.get_context("fork").Process(target=call)
    process.start()
    grown: int = here.recv()
    process.join()
    return grown


def main() -> None:
    """Measure, print and keep."""
    parser = records.options(__doc__)
    parser.add_argument("--most", type=int, default=2**18, metavar="ROWS")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", default="1,2")
    options = parser.parse_args()
    rows = 2**10
    while rows <= options.most:
        A = matrix(rows)
        for kernel in KERNELS:
            how, given = next(operands(kernel, A))
            (_, scipy), *_ = peers.scipy_calls(kernel, given, 1)
            memory = {"ours": growth(ours(kernel, given, 1).run), "scipy": growth(scipy.run)}
            made = scipy.run().nnz
            for threads in map(int, options.threads.split(",")):
                times = measured(calls(kernel, given, threads, {"scipy": peers.scipy_calls}), options.repeat, threads)
                least = {name: min(some) for name, some in times.items()}
                print(kernel, rows, f"threads: {threads}", least, memory, flush=True)
                about = {"kernel": kernel, "operands": how, "rows": rows, "threads": threads, "made": made}
                records.append("scaling", {**about, **least, "memory": memory})
        rows *= 4


if __name__ == "__main__":
    main()
