"""How fast printed plans are: Gustavson's SpGEMM (A·A) and SpAdd (A + A) beside SciPy, and MKL if it is installed.

    python bench/spgemm_c.py [FOLDER] [--only NAME,…] [--repeat N] [--kernels spgemm,spadd]

FOLDER has matrices as SciPy's save_npz writes them; without it some are generated. Engines take turns, call by call,
so that ratios hold on a machine with other work: each is a ratio of times of one run. All results have sorted columns;
stored zeros are left out of the matrices, since SciPy drops zeros from products, and others do not.

*Fresh* memory comes from the system in each call: SciPy's is given back before it by glibc's malloc_trim. *Warm* memory
is used again: glibc is told to keep all that is freed, and the printed program clears what it used when a result is
freed, which is in no engine's time. Each is compared with SciPy in the same memory, MKL with SciPy in warm memory. Each
turn begins with a call that is not timed. While others use the machine, only the minima mean something, and those on
two threads little. Minimum and median are printed, and kept with commit and machine in results/spgemm_c.jsonl.
"""

from __future__ import annotations

import argparse
import ctypes
import glob
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import records  # noqa: E402
from wingspan import api  # noqa: E402
from wingspan.testing.printed import Printed  # noqa: E402

EXAMPLES = ROOT / "examples"
PROGRAMS = {"spgemm": "spgemm_gustavson.ws", "spadd": "spadd.ws"}
SCHEDULES = {"static": "static_schedule()", "dynamic": "dynamic_schedule(64)"}


@dataclass(frozen=True)
class Engine:
    """What is timed, and what frees its result and gets ready for the next call, which is not."""

    run: Callable[[], Any]
    free: Callable[[Any], None] = lambda _: None
    ready: Callable[[], object] = lambda: None


LIBC = ctypes.CDLL(None)
TRIM_THRESHOLD, MMAP_MAX = -1, -4
"""glibc's names for how much freed memory it keeps, and how many arrays it asks the system for by themselves."""


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
    """Names and matrices, in CSC with sorted columns and 32-bit indices."""
    found = generated() if folder is None else _saved(Path(folder))
    for name, matrix in found:
        if only is None or name in only.split(","):
            matrix = scipy.sparse.csc_array(matrix)
            matrix.eliminate_zeros()
            matrix.sort_indices()
            matrix.indptr, matrix.indices = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
            yield name, matrix


def _saved(folder: Path) -> Iterator[tuple[str, Any]]:
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as arrays:
            if "format" not in arrays:
                continue
        yield path.stem, scipy.sparse.load_npz(path)


# ------------------------------------------------------------------------------------------------------------- engines


def printed(kernel: str, matrix: Any, threads: int, schedule: str) -> Printed:
    """The compiled plan of an example program."""
    inputs, params = {"A": matrix, "B": matrix}, {"nt": threads, "sch": SCHEDULES[schedule]}
    bound = api.bind(EXAMPLES / PROGRAMS[kernel], inputs=inputs, params=params)
    return Printed(bound, ("-O3", "-march=native"))


def checked(one: Printed) -> None:
    """One run, which must succeed."""
    if one.run():
        raise SystemExit(one.fault())


def moments(one: Printed) -> tuple[float, float]:
    """The sum of the elements of C, and the same weighted with their rows, whichever shards they are in."""
    arrays = one.arrays("C")
    counts = {key[2]: int(stored.values[0]) for key, stored in arrays.items() if key[1] == "fill"}
    total = weighted = 0.0
    for (_, name, path), stored in arrays.items():
        if name == "val" and counts[path]:
            rows = next(other.values for key, other in arrays.items() if key[1:] == ("idx", path))
            values = stored.values[: counts[path]]
            total, weighted = total + values.sum(), weighted + values @ rows[: counts[path]].astype(float)
    return total, weighted


def printed_run(one: Printed, new: bool) -> Engine:
    """Runs of a compiled plan: in new memory, or in what the run before left, which is cleared as that is freed."""

    def free(_: Any) -> None:
        if new:
            one.open()
        one.prepare()

    free(None)
    return Engine(lambda: checked(one), free)


def scipy_run(kernel: str, matrix: Any) -> Any:
    """SciPy's result, sorted."""
    result = matrix @ matrix if kernel == "spgemm" else matrix + matrix
    result.has_sorted_indices = kernel == "spadd"
    result.sort_indices()
    return result


class Mkl:
    """MKL's inspector-executor routines on the transposed problem, in CSR; its results put in order."""

    def __init__(self) -> None:
        found = glob.glob(f"{sys.prefix}/lib/libmkl_rt.so*")
        self.library = ctypes.CDLL(found[0], mode=ctypes.RTLD_GLOBAL) if found else None
        if self.library:
            self.library.MKL_Set_Interface_Layer(0)

    def engine(self, kernel: str, matrix: Any, threads: int) -> Engine:
        """Runs of one of its routines."""
        library, handle = self.library, ctypes.c_void_p()
        assert library is not None
        starts = matrix.indptr.ctypes.data
        arrays = starts, starts + 4, matrix.indices.ctypes.data, matrix.data.ctypes.data
        library.mkl_sparse_d_create_csr(ctypes.byref(handle), 0, *matrix.shape, *map(ctypes.c_void_p, arrays))

        def run() -> ctypes.c_void_p:
            library.MKL_Set_Num_Threads(threads)
            result = ctypes.c_void_p()
            if kernel == "spgemm":
                status = library.mkl_sparse_spmm(10, handle, handle, ctypes.byref(result))
            else:
                status = library.mkl_sparse_d_add(10, handle, ctypes.c_double(1), handle, ctypes.byref(result))
            if status or (kernel == "spgemm" and library.mkl_sparse_order(result)):
                raise SystemExit(f"MKL fails with status {status}")
            return result

        return Engine(run, library.mkl_sparse_destroy)


def engines(kernel: str, matrix: Any, mkl: Mkl) -> dict[str, Engine]:
    """What to measure, by name; results of the printed programs are compared with SciPy's first."""
    made = {
        "scipy warm @1": Engine(lambda: scipy_run(kernel, matrix)),
        "scipy fresh @1": Engine(lambda: scipy_run(kernel, matrix), ready=lambda: LIBC.malloc_trim(0)),
    }
    expected = scipy_run(kernel, matrix)
    for threads in (1, 2):
        for schedule in SCHEDULES:
            one = printed(kernel, matrix, threads, schedule)
            one.prepare()
            checked(one)
            if not np.allclose(moments(one), (expected.data.sum(), expected.data @ (expected.indices + 1.0)), 1e-9):
                raise SystemExit(f"{kernel} on {threads} threads, {schedule}: a wrong result")
            made[f"warm @{threads} {schedule}"] = printed_run(one, new=False)
            made[f"fresh @{threads} {schedule}"] = printed_run(printed(kernel, matrix, threads, schedule), new=True)
        if mkl.library and matrix.indptr.dtype == np.int32:
            made[f"mkl @{threads}"] = mkl.engine(kernel, matrix, threads)
    return made


# ----------------------------------------------------------------------------------------------------------- measuring


def measure(made: dict[str, Engine], repeat: int) -> dict[str, tuple[float, float]]:
    """The least and the median milliseconds of each engine, in `repeat` rounds that take half a second in all."""
    times: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(repeat):
        for name, engine in made.items():
            engine.free(engine.run())
            spent = 0.0
            while spent < 500 / repeat / len(made) or not spent:
                engine.ready()
                began = time.perf_counter()
                result = engine.run()
                times[name].append(1e3 * (time.perf_counter() - began))
                spent += times[name][-1]
                engine.free(result)
                del result
    return {name: (min(some), statistics.median(some)) for name, some in times.items()}


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--only", metavar="NAME,…")
    parser.add_argument("--kernels", default="spgemm,spadd")
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    LIBC.mallopt(TRIM_THRESHOLD, 2**31 - 1)
    LIBC.mallopt(MMAP_MAX, 0)
    mkl = Mkl()
    for name, matrix in matrices(options.folder, options.only):
        for kernel in options.kernels.split(","):
            times = measure(engines(kernel, matrix, mkl), options.repeat)
            print(f"{kernel} {name}: {matrix.shape[0]} rows, {matrix.nnz} entries", flush=True)
            for engine, (best, middle) in times.items():
                base = times["scipy fresh @1" if "fresh" in engine else "scipy warm @1"]
                told = f"{best:>9.1f} {middle:>9.1f} ms"
                print(f"  {engine:<18}{told}   {base[0] / best:>5.2f} {base[1] / middle:>5.2f} × SciPy", flush=True)
            about = {"kernel": kernel, "matrix": name, "entries": matrix.nnz, "repeat": options.repeat}
            records.append("spgemm_c", {**about, "min_median_ms": times})


if __name__ == "__main__":
    main()
