"""Cost of a kernel's result as an array of SciPy, beside the kernel, and beside a mere copy of it.

    python bench/handover.py [FOLDER] [--only NAME,…] [--repeat N] [--threads 1,2]

A call returns a Tensor, which is a view of the memory of the run. `to_scipy` copies it where several threads have made
its columns, or where indices count from 1. `copy` is NumPy's copy of the three arrays of the same result, on one
thread: new arrays can hardly be had for less. Times are by the clock, in one process and in turns, and are appended to
results/handover.jsonl, from which bench/performance.py makes a table.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import records  # noqa: E402
from bench.kernels import ours  # noqa: E402
from bench.problems import arrays, operands  # noqa: E402

KERNELS = ("spgemm", "spadd")


def copied(matrix: Any) -> tuple[Any, ...]:
    """The arrays of a matrix in CSC, copied."""
    return matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()


def handed(kernel: str, given: Any, threads: int, repeat: int) -> dict[str, Any]:
    """The least milliseconds of a kernel, of `to_scipy` on its result, and of a copy; how many entries it has."""
    call = ours(kernel, given, threads)
    times: dict[str, list[float]] = {"ours": [], "to_scipy": [], "copy": []}
    entries = 0
    for _ in range(repeat + 1):
        took, tensor = records.timed(call.run, time.perf_counter)
        times["ours"].append(took)
        took, matrix = records.timed(tensor.to_scipy, time.perf_counter)
        times["to_scipy"].append(took)
        took, copies = records.timed(partial(copied, matrix), time.perf_counter)
        times["copy"].append(took)
        entries = matrix.nnz
        del tensor, matrix, copies
    return {**{name: 1e3 * min(some[1:]) for name, some in times.items()}, "made": entries}


def main() -> None:
    """Measure, print and keep."""
    parser = records.options(__doc__)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--only", metavar="NAME,…")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--threads", default="1,2")
    options = parser.parse_args()
    for name, array in arrays(options.folder, options.only):
        for kernel in KERNELS:
            for _, given in islice(operands(kernel, array), 1):
                for threads in map(int, options.threads.split(",")):
                    found = handed(kernel, given, threads, options.repeat)
                    print(kernel, name, f"threads: {threads}", found, flush=True)
                    about = {"kernel": kernel, "matrix": name, "threads": threads, "load": records.load()}
                    records.append("handover", {**about, **found})


if __name__ == "__main__":
    main()
