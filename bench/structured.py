"""The paper's structured experiments on images: a histogram of colours, and the sum of two images, beside NumPy's.

    python bench/structured.py FOLDER [--repeat N]

FOLDER has images as bench/images.py makes them. `histogram.ws` counts the colours of each from its three planes as run
lists, all scan lines one after the other; `structured_add.ws` adds its red plane to the green one, both halved so that
their sum fits a byte. Elements of all are bytes: those of our run lists, of NumPy's arrays and of OpenCV's, which
counts the colours in single precision. All are called in this one process, in turns, and must agree. On one
thread the processor's time counts, on two the clock. Prints milliseconds, least and median, and how many times as long
as ours each peer takes, and appends all to results/structured.jsonl.
"""

from __future__ import annotations

import argparse
import os
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
WIDE, BYTES = "RunList(Element(0))", "RunList(Element(0, u8))"
"""Run lists as the programs declare them, and as they do here."""


def kernel(program: str, threads: int, *, bins: int | None = None, **planes: wingspan.Tensor) -> Callable[[], Any]:
    """A program on planes of bytes, dealt evenly; a histogram has so many bins of each colour."""
    sizes = {} if bins is None else {"n": bins}
    text = (EXAMPLES / program).read_text(encoding="utf-8").replace(WIDE, BYTES)
    called = wingspan.compile(wingspan.parse(text), params={"nt": threads, "sch": "static_schedule()", **sizes})
    return lambda: called(**planes)


def histograms(pixels: np.ndarray, threads: int) -> Iterator[tuple[str, Call]]:
    """Who counts colours. Results are pairs of colours, as numbers, and counts."""
    red, green, blue = (np.ascontiguousarray(pixels[..., k]) for k in range(3))
    planes = {
        name: wingspan.Tensor.from_numpy(BYTES, plane.reshape(-1))
        for name, plane in zip("RGB", (red, green, blue), strict=True)
    }

    yield "ours", Call(kernel("histogram.ws", threads, bins=BINS, **planes), lambda made: filled(made.to_numpy()))

    def keys() -> np.ndarray:
        return (red.astype(np.int32) << 8 | green) << 8 | blue

    yield "np.unique", Call(lambda: np.unique(keys(), return_counts=True), lambda found: found)
    yield "np.bincount", Call(lambda: np.bincount(keys().reshape(-1), minlength=BINS**3), filled)
    if find_spec("cv2"):
        import cv2

        cv2.setNumThreads(threads)
        image = np.ascontiguousarray(pixels)
        span = [0, BINS] * 3
        yield "OpenCV", Call(lambda: cv2.calcHist([image], [0, 1, 2], None, [BINS] * 3, span), filled)


def filled(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bins that count something, and their counts."""
    at = np.flatnonzero(counts)
    return at, counts.reshape(-1)[at].astype(np.int64)


def sums(pixels: np.ndarray, threads: int) -> Iterator[tuple[str, Call]]:
    """Who adds two planes. Scan lines are columns, as in `from_file`."""
    A, B = (np.ascontiguousarray(pixels[..., k].T // 2) for k in (0, 1))
    planes = {name: wingspan.Tensor.from_numpy(f"Dense(Sparse{BYTES})", plane) for name, plane in (("A", A), ("B", B))}
    yield "ours", Call(kernel("structured_add.ws", threads, **planes), lambda made: (made.to_numpy(),))
    yield "np.add", Call(lambda: np.add(A, B), lambda found: (found,))
    if find_spec("cv2"):
        import cv2

        cv2.setNumThreads(threads)
        yield "OpenCV", Call(lambda: cv2.add(A, B), lambda found: (found,))


KERNELS = {"histogram": histograms, "add": sums}


def agree(made: dict[str, Call]) -> None:
    """SystemExit unless all results are equal."""
    (_, ours), *others = made.items()
    expected = ours.result(ours.run())
    for name, call in others:
        found = call.result(call.run())
        if not all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True)):
            raise SystemExit(f"{name}: another result")


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    images = sorted(options.folder.glob("*.png"), key=lambda path: path.stat().st_size)
    if not images:
        parser.error(f"{options.folder} has no images: python bench/images.py {options.folder}")
    if not find_spec("cv2"):
        print("skipped: OpenCV: not installed (pip install 'wingspan[peers]')", file=sys.stderr)
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
                about = {"kernel": name, "image": path.name, "pixels": pixels.shape[0] * pixels.shape[1]}
                load = round(os.getloadavg()[0], 2)
                records.append("structured", {**about, "threads": threads, "load": load, "least_median_calls": summary})


if __name__ == "__main__":
    main()
