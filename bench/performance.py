"""Writes docs/performance.md and its plots from what kernels.py, scaling.py, handover.py and structured.py measured.

    python bench/performance.py

Needs matplotlib: pip install 'wingspan[peers]'.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

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
LIBRARIES = {
    name: name for name in ("np.unique", "np.bincount", "np.add", "np.logical_and", "OpenCV", "Arrow", "pyroaring")
}
"""Who counts colours, adds images and intersects sets of pixels."""
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

HEAD = """# How fast kernels are

`make bench-kernels FOLDER=…` measures this and writes it: calls from Python, of kernels that `wingspan.compile` makes
of the programs in examples/, beside the libraries that one would call instead. A number above 1 says how many times
as long as ours a library takes; below 1, it is faster. All call in one process, in turns; the least of all calls
counts: processor time on one thread, the clock on two. Results have sorted columns, but for those of *MKL, unsorted*.
What a call from Python costs by itself is part of our time. Threads take 64 columns at a time of products,
1,024 of SpAdd and Hadamard, 4,096 of SpMSpV.

MTTKRP has factors of rank 32, dense or a quarter full. *C by hand* is a loop nest that we wrote for the dense one as
TACO's own schedule for it generates it, and *plain* the same without its workspace, both compiled with TACO's flags
(bench/mttkrp.c): TACO itself is in no package registry. The outer, inner and nested products compute A·A from programs
of examples/ for smaller matrices; on n threads, the nested one has n by n. They, and the dense nested inner product of
the first 200 rows and columns, are here to be seen, not to win.

"""

MISSED = """## What is missed, and why

The aim was what prototypes written by hand in C had reached, driven from C. Measured on one thread by the time of the
processor, on two by the clock, with nothing beside; 1.25 times as long counts as reached. The figures are those of the
tables below. Shares of the time are of experiments by hand in the printed C, side by side with it in one process, on a
busy machine with AVX2 (Zen 3), unless another is named.

- **Small calls.** Sums with a pattern that operands share take 33 to 133 µs. On one thread they are 24 times as fast as
  MKL, where 30 was aimed at, which counts as reached, and 17.7 and 13.7 times as GraphBLAS and Eigen, where 25 and 20
  was; Hadamard products are 11.4 times as fast as GraphBLAS (18) and 13.1 as Eigen (15: reached). On two threads it is
  22.7 beside MKL (34), and 16.5 and 11.2 beside GraphBLAS (22, 18). `numpy.add` of the same doubles into an array that
  is there takes 22 to 140 µs where we take 33 to 164, with the call from Python, which costs 7 µs: so no loop could be
  1.5 times as fast.
- **SpMSpV** is 1.54 times as fast on one thread as MKL, where 1.5 was aimed at, and 2.7 and 2.0 times as GraphBLAS and
  Eigen, where 3.9 and 4.5 was. It takes 11 to 92 µs, of which the call is 7. Without any note of which elements are
  set, which is wrong, the loop over entries would still take 79 to 93 % of its time, 63 % on bcsstk13: it waits for
  memory and for branches that columns of few entries make hard to predict. A byte for each element instead of a bit
  gained 14 % on bcsstk13 and nothing on p2p-Gnutella31. To ask of each element whether it is set, so that no memory
  needs to be cleared, took 1.2 to 1.9 times as long. Eigen's factor of 4.5 is out of reach of a call from Python: on
  half of these inputs Eigen itself takes 20 to 65 µs.
- **SpMSpV on two threads** takes longer than on one: it is 1.1 and 2.0 times as fast as MKL and GraphBLAS, where 2.4
  and 4.9 was aimed at. A second thread can save half of the work at most, which is 6 to 55 µs. To wake it, and to merge
  two vectors, takes as long: beside other work, wiki-Vote took 18 µs on one thread and 96 on two, without the call.
- **Hadamard, other pattern**, beside Eigen: 2.03, where 3.3 was aimed at, with AVX-512. Of the time of 4elt,
  p2p-Gnutella31 and email-Enron, 76, 78 and 90 % goes into comparing lists of indices; writing the result takes nothing
  that can be measured, and the rest is the fixed cost of each column.
- **SpAdd, other pattern, on two threads**: 2.96 and 2.48 times as fast as MKL and GraphBLAS, where 6 and 4 was aimed
  at. One thread takes 0.25 to 2.5 ms, and two gain 1.41. Of two threads' time on 4elt, 73 of 80 parts are the loop that
  merges columns, equally shared (`perf`, on the machine of these tables): the same loop takes longer where both
  processors run it. If two threads gained 2, these would be 4.2 and 3.5: the aim was set where MKL and GraphBLAS gained
  less from their second thread.
- **MTTKRP, dense, on two threads**: 1.58 times as fast as the C by hand on two threads; 1.6 would count as reached, and
  2 was what the prototype reached beside TACO. Two threads gain 2.01, so the rest is the loop of one thread. A loop by
  hand that keeps sixteen sums in registers and fetches rows before it needs them takes 0.56 to 0.73 of the time of
  `passes/tile.py`, which does both. The rest is most where rows have few elements, as two in NELL-995: there a sixth of
  the time goes into zeros for the result, which one thread stores before the others begin.
"""

HANDED = """
## Results as arrays of SciPy

A call returns a Tensor, which is a view of the memory of the run: that is part of the time of the kernel, and nothing
is copied. `to_scipy` copies what each thread has made into one array, on all processors, and makes indices count from
0; `copy` is NumPy's copy of the arrays of the result (`python bench/handover.py FOLDER`). Both are shares of the time
of the kernel. The aim was a tenth: for most results, even a copy takes longer, so whoever does not need new arrays
should go on with the Tensor. Where columns have few entries, `to_scipy` takes longest to find them.
"""

IMAGES_MISSED = """
### What is missed on images, and why

The aim was to be ahead of NumPy and OpenCV on each image, and to gain 1.8 on two threads on the largest. Each page is
taken with one pixel of a display for one of CSS, and with two by two (`@2x`). Histograms are ahead on all, and that of
the largest image gains 1.96.

- **Sums.** Ours is ahead of `np.add` and OpenCV on nine of ten images, up to 10.8 times, and takes 1.7 times as long on
  the smallest. It costs what the runs cost, 1.2 to 1.4 ns each, and there is a run for every 26 to 94 pixels. `np.add`
  needs 0.04 ms for the smallest image, whose arrays fit a cache: 0.9 ns for each of its 48,000 runs. Two planes of an
  image have most runs in common, and these are taken [16 at once](native.md#how-fast-the-printed-c-is). That made sums
  2.6 to 2.9 times as fast, and needs AVX-512: without, they take 3.5 to 3.8 ns for each run, and are behind on the five
  smaller images. The sum of two planes without common runs takes 1.2 times as long as if none were sought.
- **Intersections** of sets take up to 14 times as long as in pyroaring. Bright runs of text have 1.5 to 1.9
  pixels at one pixel for each of CSS. So pyroaring keeps more than nine of ten blocks of the three larger of these
  images as sorted arrays of 16-bit numbers, and intersects these with vector instructions. Ours goes through the runs
  of the two sets one by one.
- **Two threads.** The largest sum gains 1.87, and smaller ones down to 1.23. Equal shares of an image hold unequal many
  runs, so threads take 64 shares as they come. Adding on two threads takes both together 0.03 ms (smallest image) to
  0.1 ms more than one thread alone. What takes this time is not known.
"""


def newest(name: str, *keys: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The last of the results called `name` for all values of these keys; none if nothing was measured."""
    path = RESULTS / f"{name}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {tuple(one[key] for key in keys): one for one in map(json.loads, lines)}


def ratios(record: dict[str, Any], peers: Mapping[str, str] = PEERS) -> dict[str, float]:
    """How many times as long as ours each peer took, at least."""
    least = {engine: times[0] for engine, times in record["least_median_calls"].items()}
    return {peer: least[peer] / least["ours"] for peer in peers if peer in least}


def table(first: str, rows: list[tuple[str, dict[str, float]]], peers: Mapping[str, str] = PEERS) -> Iterator[str]:
    """The lines of a table: how each row begins, and its ratios, in a column for each peer that has some."""
    there = [peer for peer in peers if any(peer in cells for _, cells in rows)]
    yield f"| {' | '.join([first, *(peers[peer] for peer in there)])} |"
    yield "|" + "---|" * (first.count("|") + 1 + len(there))
    for begin, cells in rows:
        yield f"| {' | '.join([begin, *(f'{cells[peer]:.2f}' if peer in cells else '–' for peer in there)])} |"


def means(records: list[dict[str, Any]]) -> dict[str, float]:
    """The geometric means of the ratios of several matrices."""
    every = [ratios(record) for record in records]
    return {
        peer: geometric_mean([r[peer] for r in every if peer in r]) for peer in PEERS if any(peer in r for r in every)
    }


def scaling(records: dict[tuple[str, str, str, int], dict[str, Any]], some: list[dict[str, Any]]) -> float:
    """How many times as long ours takes on one thread as on those of the records, in the geometric mean."""
    pairs = ((records.get((r["kernel"], r["operands"], r["matrix"], 1)), r) for r in some)
    ours = [[r["least_median_calls"]["ours"][0] for r in pair if r] for pair in pairs]
    return geometric_mean([times[0] / times[1] for times in ours if len(times) == 2] or [1.0])


def page(records: dict[tuple[str, str, str, int], dict[str, Any]]) -> Iterator[str]:
    """The lines of the page."""
    yield HEAD.rstrip()
    about = {(one["machine"], one["cores"], one["commit"]) for one in records.values()}
    loads = [one["load"] for one in records.values()]
    told = "; ".join(f"{machine}, {cores} cores, commit {commit}" for machine, cores, commit in sorted(about, key=str))
    yield f"\nMeasured on {told}; load average {min(loads):.1f} to {max(loads):.1f}.\n"
    yield MISSED.rstrip()
    for threads in sorted({key[3] for key in records}):
        yield f"\n## {threads} thread{'s' * (threads > 1)}\n"
        found = {
            title: [one for key, one in records.items() if key[:2] == which and key[3] == threads]
            for which, title in KERNELS.items()
        }
        found = {title: some for title, some in found.items() if some}
        scaled = f" | ours, 1 → {threads} threads" if threads > 1 else ""
        yield "Geometric means over all matrices or tensors.\n"
        yield from table(
            f"kernel{scaled}",
            [
                (f"{title} | {scaling(records, some):.2f}" if scaled else title, means(some))
                for title, some in found.items()
            ],
        )
        yield f"\n![Geometric means, threads: {threads}](performance/threads{threads}.svg)"
        for title, some in found.items():
            yield f"\n### {title}\n"
            lines = [
                (f"{r['matrix']} | {r['entries']} | {r['least_median_calls']['ours'][0]:.3f}", ratios(r)) for r in some
            ]
            yield from table("array | entries | ours, ms", sorted(lines, key=lambda line: line[0]))
    yield from growing()
    yield from handed()
    yield from images()


def handed() -> Iterator[str]:
    """The part about results as arrays of SciPy."""
    found = newest("handover", "kernel", "matrix", "threads")
    if not found:
        return
    yield HANDED
    yield "| kernel | matrix | entries of the result | threads | ours, ms | to_scipy | copy |"
    yield "|---|---|---|---|---|---|---|"
    for (kernel, matrix, threads), one in sorted(found.items()):
        shares = " | ".join(f"{one[name] / one['ours']:.2f}" for name in ("to_scipy", "copy"))
        yield f"| {kernel} | {matrix} | {one['made']} | {threads} | {one['ours']:.3f} | {shares} |"


def images() -> Iterator[str]:
    """The part about the paper's structured experiments."""
    found = newest("structured", "kernel", "threads", "image")
    if not found:
        return
    yield "\n## Images\n"
    yield "Screenshots of this documentation, of which at least 90 % is background: `python bench/images.py FOLDER`,"
    yield "then `python bench/structured.py FOLDER`. Elements are bytes, in our run lists as in the arrays of NumPy,"
    yield "OpenCV and Arrow. Sets of pixels are lists of runs without elements, arrays of booleans, and pyroaring's"
    yield "sets after `run_optimize`. Arrow adds no run-end encoded arrays: they are decoded, added and encoded. NumPy,"
    yield "Arrow and pyroaring work on one thread here."
    loads = [one["load"] for one in found.values()]
    commits = ", ".join(sorted({one["commit"] for one in found.values()}))
    yield f"\nMeasured at commit {commits}; load average {min(loads):.1f} to {max(loads):.1f}."
    for kernel, title in STRUCTURED.items():
        for threads in (1, 2):
            some = sorted((one for key, one in found.items() if key[:2] == (kernel, threads)), key=_pixels)
            rows = [(_row(r, found.get((kernel, 1, r["image"]))), ratios(r, LIBRARIES)) for r in some]
            if rows:
                yield f"\n### {title}, threads: {threads}\n"
                scaled = " | 1 → 2 threads" if threads > 1 else ""
                yield from table(f"image | pixels | ours, ms{scaled}", rows, LIBRARIES)
            if (kernel, threads) == ("add", 1) and all("runs" in one for one in some):
                yield from by_run(some)
    yield IMAGES_MISSED.rstrip()


def by_run(some: list[dict[str, Any]]) -> Iterator[str]:
    """What a sum costs for each run, and for each pixel."""
    ours = [1e6 * _ours(one) / one["runs"] for one in some]
    theirs = [1e6 * one["least_median_calls"]["np.add"][0] / one["pixels"] for one in some]
    pixels = [one["pixels"] / one["runs"] for one in some]
    yield f"\nOurs takes {min(ours):.1f} to {max(ours):.1f} ns for each run of the result, `np.add`"
    yield f"{min(theirs):.3f} to {max(theirs):.3f} ns for each pixel, least where its three arrays fit a cache."
    yield f"These images have {min(pixels):.0f} to {max(pixels):.0f} pixels to a run, however much of them is"
    yield "background: text has many edges. The more pixels there are to a run, and the less of NumPy's arrays is in a"
    yield "cache, the better is ours beside it."


def _row(record: dict[str, Any], alone: dict[str, Any] | None) -> str:
    """How the line of an image begins; on several threads with how many times as fast it is as on one."""
    begin = f"{record['image']} | {record['pixels']:,} | {_ours(record):.3f}"
    if record["threads"] == 1:
        return begin
    return f"{begin} | {_ours(alone) / _ours(record):.2f}" if alone else f"{begin} | –"


def _pixels(record: dict[str, Any]) -> int:
    return int(record["pixels"])


def _ours(record: dict[str, Any]) -> float:
    return float(record["least_median_calls"]["ours"][0])


def growth() -> list[dict[str, Any]]:
    """The last measurement of each kernel, number of rows and number of threads on growing matrices."""
    found = newest("scaling", "kernel", "rows", "threads")
    return [found[key] for key in sorted(found)]


def growing() -> Iterator[str]:
    """The part about growing matrices."""
    some = growth()
    if not some:
        return
    yield "\n## Growing matrices\n"
    yield "Random matrices with 8 entries in a column (`python bench/scaling.py`). Memory: by how much a process grows"
    yield "in its first call, on one thread. An entry takes 12 bytes, and we take pages of 2 MB.\n"
    yield "![Time for each row](performance/rows.svg)\n"
    yield "| kernel | rows | entries of the result | ours, ms | 2 threads, ms | SciPy, ms | ours, MB | SciPy, MB |"
    yield "|---|---|---|---|---|---|---|---|"
    for one in (one for one in some if one["threads"] == 1):
        other = next(
            (o for o in some if (o["kernel"], o["rows"], o["threads"]) == (one["kernel"], one["rows"], 2)), None
        )
        two = f"{other['ours']:.3f}" if other else "–"
        times = f"{one['ours']:.3f} | {two} | {one['scipy']:.3f}"
        memory = " | ".join(f"{one['memory'][who] / 1e6:.1f}" for who in ("ours", "scipy"))
        yield f"| {one['kernel']} | {one['rows']} | {one['made']} | {times} | {memory} |"


def rows_plot() -> bytes:
    """Nanoseconds for each row on growing matrices, as SVG."""
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


def plot(records: dict[tuple[str, str, str, int], dict[str, Any]], threads: int) -> bytes:
    """The geometric means of one number of threads, as SVG."""
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
    figure.tight_layout()
    PLOTS.mkdir(exist_ok=True)
    path = PLOTS / "made.svg"
    figure.savefig(path, metadata={"Date": None})
    made = path.read_bytes()
    path.unlink()
    pyplot.close(figure)
    return made


def main() -> None:
    """Write the page and its plots, all or none."""
    matplotlib.rcParams["svg.hashsalt"] = "wingspan"
    records = newest("kernels", "kernel", "operands", "matrix", "threads")
    plots = {PLOTS / f"threads{n}.svg": plot(records, n) for n in sorted({key[3] for key in records})}
    if growth():
        plots[PLOTS / "rows.svg"] = rows_plot()
    write_together({PAGE: ("\n".join(page(records)) + "\n").encode(), **plots})


if __name__ == "__main__":
    main()
