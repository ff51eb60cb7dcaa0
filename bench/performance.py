"""Writes the data files, tables and plots of docs/performance.md from what other scripts here measured.

    python bench/performance.py

These are calls.py, kernels.py, scaling.py, handover.py and structured.py. The plots need matplotlib (extra `peers`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from math import log10
from pathlib import Path
from statistics import geometric_mean
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from proofs_tests.generated import DATA, csv_of, rewrite, table  # noqa: E402
from wingspan.base.writing import write_together  # noqa: E402

PAGE = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "performance"
RESULTS = ROOT / "bench" / "results"
PEERS = {
    "scipy": "SciPy",
    "mkl": "MKL",
    "mkl unsorted": "MKL, unsorted",
    "graphblas": "GraphBLAS",
    "eigen": "Eigen",
    "hand-written C": "C by hand",
    "hand-written C, plain": "C by hand, plain",
}
CALLED = {
    ("spadd", "other"): "SpAdd, other pattern",
    ("spadd", "shared"): "SpAdd, shared pattern",
    ("hadamard", "other"): "Hadamard, other pattern",
    ("hadamard", "shared"): "Hadamard, shared pattern",
    ("spgemm", ""): "SpGEMM, A·A",
    ("spmspv", ""): "SpMSpV",
    ("spmv", ""): "SpMV",
    ("mttkrp", ""): "MTTKRP, dense",
}
"""The calls with arrays of SciPy, by kernel and operands."""
LIBRARIES = {
    name: name for name in ("np.unique", "np.bincount", "np.add", "np.logical_and", "OpenCV", "Arrow", "pyroaring")
}
"""The libraries that count colours, add images and intersect sets of pixels."""
STRUCTURED = {
    "histogram": "Histogram of colours",
    "add": "Sum of two planes",
    "overlap": "Pixels that are bright in both of two planes",
}
KERNELS = {
    ("spgemm", ""): "SpGEMM, A·A",
    ("spadd", "shuffled"): "SpAdd, other pattern",
    ("spadd", "shared"): "SpAdd, shared pattern",
    ("spadd", "equal"): "SpAdd, equal pattern",
    ("hadamard", "shuffled"): "Hadamard, other pattern",
    ("hadamard", "shared"): "Hadamard, shared pattern",
    ("hadamard", "equal"): "Hadamard, equal pattern",
    ("spmspv", ""): "SpMSpV",
    ("mttkrp", ""): "MTTKRP, dense",
    ("mttkrp_sparse", ""): "MTTKRP, sparse",
    ("outer", ""): "Outer product",
    ("inner", ""): "Inner product",
    ("nested", ""): "Nested product",
    ("inner_nested", ""): "Nested inner product, dense",
}


Record = dict[str, Any]
Key = tuple[str, str, str, int]


def newest(name: str, *keys: str) -> dict[tuple[Any, ...], Record]:
    """The last of the results called `name` for all values of these keys; none if nothing was measured."""
    path = RESULTS / f"{name}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {tuple(one[key] for key in keys): one for one in map(json.loads, lines)}


def ratios(record: Record, peers: Mapping[str, str] = PEERS) -> dict[str, float]:
    """The least ratio of each peer's time to ours."""
    least = {engine: times[0] for engine, times in record["least_median_calls"].items()}
    return {peer: least[peer] / least["ours"] for peer in peers if peer in least}


def means(records: list[Record]) -> dict[str, float]:
    """The geometric means of the ratios of several matrices."""
    every = [ratios(record) for record in records]
    return {
        peer: geometric_mean([r[peer] for r in every if peer in r]) for peer in PEERS if any(peer in r for r in every)
    }


def scaling(records: dict[Key, Record], some: list[Record]) -> float:
    """The speed-up of ours from one thread to the threads of the records, in the geometric mean."""
    pairs = ((records.get((r["kernel"], r["operands"], r["matrix"], 1)), r) for r in some)
    ours = [[r["least_median_calls"]["ours"][0] for r in pair if r] for pair in pairs]
    return geometric_mean([times[0] / times[1] for times in ours if len(times) == 2] or [1.0])


def kernels() -> dict[Key, Record]:
    """The measurements of kernels, by kernel, operands, matrix and number of threads."""
    return newest("kernels", "kernel", "operands", "matrix", "threads")


# ----------------------------------------------------------------------------------------------------------- data files


def kernel_rows() -> list[dict[str, object]]:
    """A row for each kernel, number of threads and array: our time, and how many times as long each peer takes."""
    records = kernels()
    return [
        {
            "kernel": title,
            "threads": threads,
            "array": record["matrix"],
            "entries": record["entries"],
            **timed(record, PEERS),
        }
        for threads in sorted({key[3] for key in records})
        for which, title in KERNELS.items()
        for record in sorted(chosen(records, which, threads), key=lambda record: str(record["matrix"]))
    ]


def scaling_rows() -> list[dict[str, object]]:
    """A row for each kernel and number of rows of random matrices: times, and memory on one thread."""
    found = newest("scaling", "kernel", "rows", "threads")
    return [
        {
            "kernel": kernel,
            "rows": rows,
            "entries of the result": one["made"],
            "ours, ms": f"{one['ours']:.3f}",
            "2 threads, ms": f"{found[kernel, rows, 2]['ours']:.3f}" if (kernel, rows, 2) in found else "",
            "SciPy, ms": f"{one['scipy']:.3f}",
            "ours, MB": f"{one['memory']['ours'] / 1e6:.1f}",
            "SciPy, MB": f"{one['memory']['scipy'] / 1e6:.1f}",
        }
        for (kernel, rows, threads), one in sorted(found.items())
        if threads == 1
    ]


def call_rows() -> list[dict[str, object]]:
    """A row for each kernel, array, number of threads and kind of inputs: our time, and how many times as long SciPy
    takes, with and without sorting; by the processor's time on one thread, by the clock on more.
    """
    found = newest("calls", "kernel", "operands", "matrix", "threads", "inputs")
    rows = []
    for (kernel, operands, matrix, threads, inputs), one in found.items():
        time = "busy_least" if threads == 1 else "least"
        least = {name: each[time] for name, each in one["microseconds"].items()}
        rows.append(
            {
                "kernel": CALLED[kernel, operands],
                "threads": threads,
                "array": matrix,
                "entries": one["entries"],
                "inputs": inputs,
                "ours, µs": f"{least['ours']:.0f}",
                "SciPy": f"{least['scipy'] / least['ours']:.2f}",
                "SciPy, sorted": f"{least['scipy sorted'] / least['ours']:.2f}" if "scipy sorted" in least else "",
            }
        )
    return rows


def handover_rows() -> list[dict[str, object]]:
    """A row for each kernel, matrix and number of threads: `to_scipy` and `copy` as multiples of the kernel's time."""
    return [
        {
            "kernel": kernel,
            "matrix": matrix,
            "entries of the result": one["made"],
            "threads": threads,
            "ours, ms": f"{one['ours']:.3f}",
            **{name: f"{one[name] / one['ours']:.2f}" for name in ("to_scipy", "copy")},
        }
        for (kernel, matrix, threads), one in sorted(newest("handover", "kernel", "matrix", "threads").items())
    ]


def structured_rows() -> list[dict[str, object]]:
    """A row for each operation on images, number of threads and image, as for kernels."""
    return [
        {
            "operation": title,
            "threads": threads,
            "image": record["image"],
            "pixels": record["pixels"],
            **timed(record, LIBRARIES),
        }
        for kernel, title in STRUCTURED.items()
        for threads in (1, 2)
        for record in images(kernel, threads)
    ]


FILES: Mapping[str, Callable[[], list[dict[str, object]]]] = {
    "calls": call_rows,
    "kernels": kernel_rows,
    "scaling": scaling_rows,
    "handover": handover_rows,
    "structured": structured_rows,
}
"""The data files in docs/data, by name."""


def timed(record: Record, peers: Mapping[str, str]) -> dict[str, str]:
    """Our time, and the ratios of all peers, empty where one was not measured."""
    found = ratios(record, peers)
    ours = {"ours, ms": f"{ours_ms(record):.3f}"}
    return ours | {name: f"{found[peer]:.2f}" if peer in found else "" for peer, name in peers.items()}


# --------------------------------------------------------------------------------------------------- tables of the page


def measured() -> str:
    """The machines on which kernels were measured, and their load."""
    records = kernels().values()
    about = sorted({(one["machine"], one["cores"], one["commit"]) for one in records}, key=str)
    loads = [one["load"] for one in records]
    where = "; ".join(f"{machine}, {cores} cores, commit {commit}" for machine, cores, commit in about)
    return f"Measured on {where}; load average {min(loads):.1f} to {max(loads):.1f}."


def mean_ratios(threads: int) -> str:
    """The geometric means of each kernel over all arrays; on several threads also what these gain."""
    records = kernels()
    found = {title: chosen(records, which, threads) for which, title in KERNELS.items()}
    every = {title: means(some) for title, some in found.items() if some}
    peers = [peer for peer in PEERS if any(peer in cells for cells in every.values())]
    gain = [f"ours, 1 → {threads} threads"] if threads > 1 else []
    return table(
        ["kernel", *gain, *(PEERS[peer] for peer in peers)],
        (
            [title, *(f"{scaling(records, found[title]):.2f}" for _ in gain), *(ratio(cells, peer) for peer in peers)]
            for title, cells in every.items()
        ),
    )


def called() -> str:
    """The time of SciPy as a multiple of ours, by size: the least ratio of new inputs, or the same ones again."""
    rows = [(magnitude(row["entries"]), row) for row in call_rows()]
    sizes = sorted({size for size, _ in rows})
    lines = []
    for title, threads, peer in product(CALLED.values(), (1, 2), ("SciPy", "SciPy, sorted")):
        which = title, threads
        found = [(size, str(row[peer])) for size, row in rows if (row["kernel"], row["threads"]) == which and row[peer]]
        if found:
            cells = (min((cell for size, cell in found if size == n), key=float, default="–") for n in sizes)
            lines.append([title, threads, peer, *cells])
    records = newest("calls", "kernel", "operands", "matrix", "threads", "inputs").values()
    loads = [one["load"] for one in records]
    text = table(["kernel", "threads", "beside", *(f"{n:,}" for n in sizes)], lines)
    return (
        f"{text}\n\nLoad average {min(loads):.1f} to {max(loads):.1f} on {max(one['cores'] for one in records)} cores."
    )


def magnitude(entries: Any) -> int:
    """The nearest power of ten."""
    return int(10 ** round(log10(entries)))


def largest() -> str:
    """The growing matrices with the most rows, for each kernel."""
    rows = {str(row["kernel"]): row for row in scaling_rows()}  # the last of each
    return table(list(next(iter(rows.values()))), (row.values() for row in rows.values()))


def handed() -> str:
    """The range of each kernel over all matrices."""
    rows = handover_rows()
    groups = dict.fromkeys((row["kernel"], row["threads"]) for row in rows)
    return table(
        ["kernel", "threads", "to_scipy", "copy"],
        (
            [*key, *(extent(row[name] for row in rows if (row["kernel"], row["threads"]) == key) for name in COPIES)]
            for key in groups
        ),
    )


def imaged() -> str:
    """The range of each operation beside each library over all images; and what two threads gain."""
    found = newest("structured", "kernel", "threads", "image")
    rows = structured_rows()
    lines = []
    for kernel, title in STRUCTURED.items():
        for library in LIBRARIES:
            some = [extent(r[library] for r in rows if (r["operation"], r["threads"]) == (title, n)) for n in (1, 2)]
            if some != ["–", "–"]:
                lines.append([title, library, *some])
        gains = (ours_ms(found[kernel, 1, one["image"]]) / ours_ms(one) for one in images(kernel, 2))
        lines.append([title, "ours on 1 thread", "–", extent(f"{gain:.2f}" for gain in gains)])
    loads = [one["load"] for one in found.values()]
    commits = ", ".join(sorted({one["commit"] for one in found.values()}))
    about = f"Measured at commit {commits}; load average {min(loads):.1f} to {max(loads):.1f}."
    return f"{table(['operation', 'beside', '1 thread', '2 threads'], lines)}\n\n{about}"


def by_run() -> str:
    """The cost of a sum of two planes for each run, and of NumPy's for each pixel."""
    some = images("add", 1)
    heads = ["", "ours, ns for each run", "`np.add`, ns for each pixel", "pixels to a run"]
    ours = [f"{1e6 * ours_ms(one) / one['runs']:.1f}" for one in some]
    theirs = [f"{1e6 * one['least_median_calls']['np.add'][0] / one['pixels']:.3f}" for one in some]
    return table(
        heads,
        [["sum of two planes", *map(extent, (ours, theirs, (f"{one['pixels'] / one['runs']:.0f}" for one in some)))]],
    )


COPIES = ("to_scipy", "copy")
TABLES: Mapping[str, Callable[[], str]] = {
    "measured": measured,
    "calls": called,
    "1 thread": lambda: mean_ratios(1),
    "2 threads": lambda: mean_ratios(2),
    "growing": largest,
    "handover": handed,
    "images": imaged,
    "runs": by_run,
}
"""The generated parts of the page, by name."""


def chosen(records: Mapping[Key, Record], which: tuple[str, str], threads: int) -> list[Record]:
    """The measurements of a kernel and kind of operands."""
    return [one for key, one in records.items() if key[:2] == which and key[3] == threads]


def images(kernel: str, threads: int) -> list[Record]:
    """The measurements of an operation on images, by size."""
    found = newest("structured", "kernel", "threads", "image")
    return sorted(
        (one for key, one in found.items() if key[:2] == (kernel, threads)), key=lambda one: int(one["pixels"])
    )


def extent(cells: Iterable[object]) -> str:
    """The least and the most of some numbers, as they are written."""
    some = sorted((str(cell) for cell in cells if cell), key=float)
    return f"{some[0]} to {some[-1]}" if some else "–"


def ratio(cells: Mapping[str, float], peer: str) -> str:
    """A ratio, or a dash."""
    return f"{cells[peer]:.2f}" if peer in cells else "–"


def ours_ms(record: Record) -> float:
    """The least of our times, in milliseconds."""
    return float(record["least_median_calls"]["ours"][0])


# ---------------------------------------------------------------------------------------------------------------- plots


def growth() -> list[Record]:
    """The last measurement of each kernel, number of rows and number of threads on growing matrices."""
    found = newest("scaling", "kernel", "rows", "threads")
    return [found[key] for key in sorted(found)]


def rows_plot() -> bytes:
    """Nanoseconds for each row on growing matrices, as SVG."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 4))
    lines: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for one in growth():
        lines.setdefault((one["kernel"], one["threads"]), []).append((one["rows"], 1e6 * one["ours"] / one["rows"]))
    colors = {kernel: f"C{k}" for k, kernel in enumerate(dict.fromkeys(kernel for kernel, _ in lines))}
    for (kernel, threads), points in lines.items():
        style = "-" if threads == 1 else "--"
        axes.plot(*zip(*points, strict=True), style, color=colors[kernel], label=f"{kernel}, threads: {threads}")
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="ns for each row")
    axes.legend(fontsize="small")
    return drawn(figure)


def plot(records: dict[Key, Record], threads: int) -> bytes:
    """The geometric means of one number of threads, as SVG."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 4))
    titles: list[str] = []
    for (kernel, how), title in KERNELS.items():
        some = [one for key, one in records.items() if key[:2] == (kernel, how) and key[3] == threads]
        if some:
            for offset, (peer, ratio) in enumerate(means(some).items()):
                number = list(PEERS).index(peer)
                at = len(titles) + 0.15 * offset - 0.3
                axes.bar(at, ratio - 1, 0.13, bottom=1, color=f"C{number}", label=PEERS[peer])
            titles.append(title)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel("their time / ours")
    axes.set_xticks(range(len(titles)), titles, rotation=20, ha="right")
    known = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    axes.legend(known.values(), known.keys(), fontsize="small")
    return drawn(figure)


def drawn(figure: Any) -> bytes:
    """A figure as SVG."""
    from matplotlib import pyplot

    figure.tight_layout()
    PLOTS.mkdir(exist_ok=True)
    path = PLOTS / "made.svg"
    figure.savefig(path, metadata={"Date": None})
    made = path.read_bytes()
    path.unlink()
    pyplot.close(figure)
    return made


def main() -> None:
    """Write data files, tables and plots."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "wingspan"
    records = kernels()
    plots = {PLOTS / f"threads{n}.svg": plot(records, n) for n in sorted({key[3] for key in records})}
    plots[PLOTS / "rows.svg"] = rows_plot()
    write_together(plots)
    write_together({DATA / f"{name}.csv": csv_of(rows()) for name, rows in FILES.items()})
    rewrite(PAGE, {name: make() for name, make in TABLES.items()})


if __name__ == "__main__":
    main()
