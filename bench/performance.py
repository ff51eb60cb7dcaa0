"""Writes docs/performance.md and its plots from results/kernels.jsonl: the last measurement of each kernel and matrix.

    python bench/performance.py

Needs matplotlib: pip install 'wingspan[peers]'.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from wingspan.written import write_together  # noqa: E402

PAGE = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "performance"
PEERS = {
    "scipy": "SciPy",
    "mkl": "MKL",
    "mkl unsorted": "MKL, unsorted",
    "graphblas": "GraphBLAS",
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
}

HEAD = """# How fast kernels are

`make bench-kernels FOLDER=…` measures this and writes it: calls from Python, of kernels that `wingspan.compile` makes
of the programs in examples/, beside the libraries that one would call instead. A number above 1 says how many times
as long as ours a library takes; below 1, it is faster. All call in one process, in turns; the least of all calls
counts: processor time on one thread, the clock on two. Results have sorted columns, but for those of *MKL, unsorted*.
What a call from Python costs by itself, some 70 µs, is part of our time. Threads take 64 columns at a time of SpGEMM,
1,024 of SpAdd and Hadamard, 4,096 of SpMSpV.

"""


def last() -> dict[tuple[str, str, str, int], dict[str, Any]]:
    """The last record of each kernel, operands, matrix and number of threads."""
    found = {}
    with (ROOT / "bench" / "results" / "kernels.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            found[one["kernel"], one["operands"], one["matrix"], one["threads"]] = one
    return found


def ratios(record: dict[str, Any]) -> dict[str, float]:
    """How many times as long as ours each peer took, at least."""
    least = {engine: times[0] for engine, times in record["least_median_calls"].items()}
    return {peer: least[peer] / least["ours"] for peer in PEERS if peer in least}


def row(title: str, cells: dict[str, float], more: str = "") -> str:
    """A line of a table."""
    told = (f"{cells[peer]:.2f}" if peer in cells else "–" for peer in PEERS)
    return f"| {title} | {more}{' | '.join(told)} |"


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
    titles = " | ".join(PEERS.values())
    for threads in sorted({key[3] for key in records}):
        yield f"\n## {threads} thread{'s' * (threads > 1)}\n"
        more = f"ours, 1 → {threads} threads | " if threads > 1 else ""
        yield "Geometric means over all matrices.\n"
        yield f"| kernel | {more}{titles} |\n|---|{'---|' * (len(PEERS) + (threads > 1))}"
        for (kernel, how), title in KERNELS.items():
            some = [one for key, one in records.items() if key[:2] == (kernel, how) and key[3] == threads]
            if some:
                yield row(title, means(some), f"{scaling(records, some):.2f} | " if more else "")
        yield f"\n![Geometric means, threads: {threads}](performance/threads{threads}.svg)"
        for (kernel, how), title in KERNELS.items():
            some = [one for key, one in records.items() if key[:2] == (kernel, how) and key[3] == threads]
            if some:
                yield f"\n### {title}\n\n| matrix | entries | ours, ms | {titles} |\n|---|---|---|{'---|' * len(PEERS)}"
                for one in sorted(some, key=lambda one: one["matrix"]):
                    ours = one["least_median_calls"]["ours"][0]
                    yield row(one["matrix"], ratios(one), f"{one['entries']} | {ours:.3f} | ")


def plot(records: dict[tuple[str, str, str, int], dict[str, Any]], threads: int) -> bytes:
    """The geometric means of one number of threads, as SVG."""
    figure, axes = pyplot.subplots(figsize=(9, 4))
    titles = []
    for (kernel, how), title in KERNELS.items():
        some = [one for key, one in records.items() if key[:2] == (kernel, how) and key[3] == threads]
        if some:
            for offset, (peer, ratio) in enumerate(means(some).items()):
                number = list(PEERS).index(peer)
                at = len(titles) + 0.2 * offset - 0.3
                axes.bar(at, ratio - 1, 0.18, bottom=1, color=f"C{number}", label=PEERS[peer])
            titles.append(title)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel("their time / ours")
    axes.set_xticks(range(len(titles)), titles, rotation=20, ha="right")
    known = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    axes.legend(known.values(), known.keys(), fontsize="small")
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
    records = last()
    plots = {PLOTS / f"threads{n}.svg": plot(records, n) for n in sorted({key[3] for key in records})}
    write_together({PAGE: ("\n".join(page(records)) + "\n").encode(), **plots})


if __name__ == "__main__":
    main()
