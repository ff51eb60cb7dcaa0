"""The paper's structured experiments on images, beside other libraries: a histogram of colours, a sum, and an overlap.

    python bench/structured.py FOLDER [--repeat N]

FOLDER has images as bench/images.py makes them. `histogram.ws` counts the colours of each from its three planes as run
lists, all scan lines one after the other. `structured_add.ws` adds its red plane to the green one, both halved so that
their sum fits a byte; as a program on sets of pixels, it finds those that are bright in both planes. Elements are
bytes: those of our run lists, of NumPy's arrays, of OpenCV's, which counts colours in single precision, and Arrow's.
Arrow adds no run-end encoded arrays, so they are decoded, added and encoded. All are called in this one process, in
turns, and must agree. On one thread the processor's time counts, on two the clock, without those that use one.
Prints milliseconds, least and median, and how many times as long as ours each peer takes, and appends all to
results/structured.jsonl, from which `python bench/performance.py` makes docs/performance.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import wingspan  # noqa: E402
from bench import records  # noqa: E402
from bench.images import background  # noqa: E402
from bench.kernels import compared, measured  # noqa: E402
from bench.peers import Call  # noqa: E402

EXAMPLES = ROOT / "examples"
BINS = 256
WIDE, BYTES, SET = "RunList(Element(0))", "RunList(Element(0, u8))", "RunList(Pattern())"
"""Run lists as the programs declare them, as they do here, and as sets."""
SUM, BOTH = "A[i, j] + B[i, j]", "A[i, j] && B[i, j]"
SHARES = 64
"""An image is dealt to two threads in so many shares as they come: two equal ones may hold unequal many runs."""
BRIGHT = 128
"""The least value of a bright pixel."""
LIBRARIES = {"cv2": "OpenCV", "pyarrow": "Arrow", "pyroaring": "pyroaring"}
"""Modules, and what they are called; all are in the extra `peers`."""


def program(name: str, changes: dict[str, str]) -> wingspan.Program:
    """An example with other formats, or another operation."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    for old, new in changes.items():
        if old not in text:
            raise SystemExit(f"examples/{name} has no {old}")
        text = text.replace(old, new)
    return wingspan.parse(text)


def kernel(made: wingspan.Program, threads: int, planes: dict[str, wingspan.Tensor], **sizes: int) -> Callable[[], Any]:
    """A program on planes, parallel over their last axis; a histogram has `n` bins of each colour."""
    share = max(1, next(iter(planes.values())).shape[-1] // SHARES)
    schedule = "static_schedule()" if threads == 1 else f"dynamic_schedule({share})"
    called = wingspan.compile(made, params={"nt": threads, "sch": schedule, **sizes})
    return lambda: called(**planes)


def histograms(pixels: np.ndarray, threads: int) -> Iterator[tuple[str, Call]]:
    """Calls that count colours. Results are pairs of colours, as numbers, and counts."""
    red, green, blue = (np.ascontiguousarray(pixels[..., k]) for k in range(3))
    planes = {
        name: wingspan.Tensor.from_numpy(BYTES, plane.reshape(-1))
        for name, plane in zip("RGB", (red, green, blue), strict=True)
    }

    counting = kernel(program("histogram.ws", {WIDE: BYTES}), threads, planes, n=BINS)
    yield "ours", Call(counting, lambda made: filled(made.to_numpy()))

    def keys() -> np.ndarray:
        return (red.astype(np.int32) << 8 | green) << 8 | blue

    if threads == 1:
        yield "np.unique", Call(lambda: np.unique(keys(), return_counts=True), lambda found: found)
        yield "np.bincount", Call(lambda: np.bincount(keys().reshape(-1), minlength=BINS**3), filled)
    if find_spec("pyarrow") and threads == 1:
        import pyarrow.compute

        counted = Call(lambda: pyarrow.compute.value_counts(pyarrow.array(keys().reshape(-1))), by_value)
        yield "Arrow", counted
    if find_spec("cv2"):
        import cv2

        cv2.setNumThreads(threads)
        image = np.ascontiguousarray(pixels)
        span = [0, BINS] * 3
        yield "OpenCV", Call(lambda: cv2.calcHist([image], [0, 1, 2], None, [BINS] * 3, span), filled)


def by_value(counts: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values that Arrow counts, in order, and their counts."""
    values, found = (np.asarray(counts.field(name)) for name in ("values", "counts"))
    order = np.argsort(values)
    return values[order], found[order]


def filled(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bins that count something, and their counts."""
    at = np.flatnonzero(counts)
    return at, counts.reshape(-1)[at].astype(np.int64)


def sums(pixels: np.ndarray, threads: int) -> Iterator[tuple[str, Call]]:
    """Calls that add two planes. Scan lines are columns, as in `from_file`."""
    A, B = (np.ascontiguousarray(pixels[..., k].T // 2) for k in (0, 1))
    planes = {name: wingspan.Tensor.from_numpy(f"Dense(Sparse{BYTES})", plane) for name, plane in (("A", A), ("B", B))}
    added = kernel(program("structured_add.ws", {WIDE: BYTES}), threads, planes)
    yield "ours", Call(added, lambda made: (made.to_numpy(),))
    if threads == 1:
        yield "np.add", Call(lambda: np.add(A, B), lambda found: (found,))
    if find_spec("pyarrow") and threads == 1:
        import pyarrow.compute as arrow

        runs = [arrow.run_end_encode(plane.reshape(-1, order="F")) for plane in (A, B)]

        def through_arrays() -> Any:
            return arrow.run_end_encode(arrow.add(*map(arrow.run_end_decode, runs)))

        def decoded(found: Any) -> tuple[np.ndarray]:
            return (np.asarray(arrow.run_end_decode(found)).reshape(A.shape, order="F"),)

        yield "Arrow", Call(through_arrays, decoded)
    if find_spec("cv2"):
        import cv2

        cv2.setNumThreads(threads)
        yield "OpenCV", Call(lambda: cv2.add(A, B), lambda found: (found,))


def overlaps(pixels: np.ndarray, threads: int) -> Iterator[tuple[str, Call]]:
    """Calls that find the pixels that are bright in two planes."""
    A, B = (np.asfortranarray(pixels[..., k].T >= BRIGHT) for k in (0, 1))
    planes = {name: wingspan.Tensor.from_numpy(f"Dense(Sparse{SET})", plane) for name, plane in (("A", A), ("B", B))}
    meeting = kernel(program("structured_add.ws", {WIDE: SET, SUM: BOTH, "C .= 0": "C .= false"}), threads, planes)
    yield "ours", Call(meeting, lambda made: (np.flatnonzero(made.to_numpy().T),))
    if threads == 1:
        yield "np.logical_and", Call(lambda: np.logical_and(A, B), lambda found: (np.flatnonzero(found.T),))
    if find_spec("pyroaring") and threads == 1:
        from pyroaring import BitMap

        sets = [BitMap(np.flatnonzero(plane.T).astype(np.uint32)) for plane in (A, B)]
        for each in sets:
            each.run_optimize()
        yield "pyroaring", Call(lambda: sets[0] & sets[1], lambda found: (np.array(found.to_array()),))


def runs(pixels: np.ndarray) -> int:
    """The number of runs of equal pixels, other than zeros, in the scan lines of the sum of two planes."""
    total = pixels[..., 0] // 2 + pixels[..., 1] // 2
    begins = np.ones(total.shape, dtype=np.bool_)
    begins[:, 1:] = total[:, 1:] != total[:, :-1]
    return int((begins & (total != 0)).sum())


KERNELS = {"histogram": histograms, "add": sums, "overlap": overlaps}


def agree(made: dict[str, Call]) -> None:
    """SystemExit unless all results are equal; OpenCV's counts are in single precision."""
    (_, ours), *others = made.items()
    expected = ours.result(ours.run())
    for name, call in others:
        found = call.result(call.run())
        kind = np.float32 if name == "OpenCV" else np.int64
        if not all(np.array_equal(a.astype(kind), b.astype(kind)) for a, b in zip(expected, found, strict=True)):
            raise SystemExit(f"{name}: another result")


def main() -> None:
    """Measure, print and keep."""
    parser = records.options(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    images = sorted(options.folder.glob("*.png"), key=lambda path: path.stat().st_size)
    if not images:
        parser.error(f"{options.folder} has no images: python bench/images.py {options.folder}")
    for module, name in LIBRARIES.items():
        if not find_spec(module):
            print(f"skipped: {name}: not installed (pip install 'wingspan[peers]')", file=sys.stderr)
    for path in images:
        pixels = np.asarray(Image.open(path).convert("RGB"))
        share = background(path)
        for name, peers in KERNELS.items():
            for threads in (1, 2):
                made: dict[str, Call] = dict(peers(pixels, threads))
                agree(made)
                times = measured(made, options.repeat, threads)
                title = f"{name} {path.name}, {pixels.shape[0] * pixels.shape[1]:,} pixels, {share:.1%} background"
                summary: dict[str, Any] = compared(title, threads, times)
                size = {"pixels": pixels.shape[0] * pixels.shape[1], "runs": runs(pixels)}
                about = {"kernel": name, "image": path.name, **size}
                load = records.load()
                records.append("structured", {**about, "threads": threads, "load": load, "least_median_calls": summary})


if __name__ == "__main__":
    main()
