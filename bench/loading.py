"""Time to convert sparse and dense arrays to tensors, and tensors back to arrays.

    python bench/loading.py [FOLDER] [--entries N,…] [--repeat N]

The default formats of ranks 2 and 3 with so many entries each, from SciPy's COO in no order; dense arrays; an image
with as many pixels in every level that holds one; files of each suffix; formats of all levels and modifiers around
50,000 entries; `.mtx` files by SciPy; the tensors in FOLDER, `.npz` files with `coords`, `data` and `shape`.
Prints and keeps seconds of the processor, the least of the repeats, which other work on the machine disturbs less than
the clock's. Appends a record with machine and commit to bench/results/loading.jsonl.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import records  # noqa: E402
from wingspan import Tensor  # noqa: E402
from wingspan.tensors.files import FORMATS  # noqa: E402

DEFAULT = {2: "Dense(SparseList(Element(0.0)))", 3: "Dense(SparseList(SparseList(Element(0.0))))"}
FEW = 50_000
FORMS = (
    "SparseList(SparseList(SparseList(Element(0.0))))",
    "SparseDict(SparseDict(SparseDict(Element(0.0))))",
    "SparseList(SparseList(SparseByteMap(Element(0.0))))",
    "SparseList(Dense(SparseList(Element(0.0))))",
    "Dense(Mutex(SparseList(SparseList(Atomic(0.0)))))",
    "Dense(Shard(dev, SparseList(SparseList(Element(0.0)))))",
    "Merge(dev, SparseDict(SparseList(SparseList(Element(0.0)))))",
    "Dense(Isolate(SparseList(SparseList(Element(0.0)))))",
)
"""The other formats of rank 3."""


IMAGE = tuple(f"Dense({level}(Element(0)))" for level in (
    "Dense", "SparseList", "SparseDict", "SparseByteMap", "SparseBand", "SparseBlockList", "SparseRunList", "RunList"
))  # fmt: skip
"""The formats of an image."""


def image(pixels: int) -> np.ndarray:
    """Rectangles on a background, of one colour each."""
    random, side = np.random.default_rng(0), round(pixels**0.5)
    made = np.zeros((side, side), dtype=np.uint8, order="F")
    for _ in range(side // 3):
        (i, j), (high, wide) = random.integers(0, side, 2), random.integers(1, 40, 2)
        made[i : i + high, j : j + wide] = random.integers(1, 255)
    return made


def entries(number: int, rank: int) -> Any:
    """A COO array with so many entries, a few fewer where two meet, in no order."""
    random = np.random.default_rng(rank)
    extent = max(round((number * 1000) ** (1 / rank)), 2)
    at = random.integers(0, extent, (rank, number), dtype=np.int32)
    at = np.unique(at, axis=1) if number <= FEW else at[:, _first(at, extent)]
    at = at[:, random.permutation(at.shape[1])]
    return scipy.sparse.coo_array((random.random(at.shape[1]), tuple(at)), shape=(extent,) * rank)


def _first(at: np.ndarray, extent: int) -> np.ndarray:
    """The columns to take so that no two are equal."""
    key = np.zeros(at.shape[1], dtype=np.int64)
    for axis in at:
        key = key * extent + axis
    return np.unique(key, return_index=True)[1]


def cases(folder: str | None, sizes: list[int]) -> Iterator[tuple[str, str, Any]]:
    """The arrays to measure, each with its name and its format."""
    for rank, form in DEFAULT.items():
        for number in sizes:
            yield f"COO of rank {rank}", form, entries(number, rank)
    for rank, form in DEFAULT.items():
        extent = round((4 * sizes[0]) ** (1 / rank))
        dense = np.random.default_rng(0).random((extent,) * rank)
        yield f"dense array of rank {rank}, a quarter of it zeros", form, dense * (dense > 0.25)
    for form in IMAGE:
        yield "image", form, image(sizes[-1])
    some = entries(FEW, 3)
    for form in FORMS:
        yield "COO of rank 3", form, some
    for path in sorted(Path(folder).glob("*.npz")) if folder else ():
        with np.load(path) as arrays:
            if "coords" in arrays:
                made = scipy.sparse.coo_array((arrays["data"], tuple(arrays["coords"])), shape=tuple(arrays["shape"]))
                yield path.stem, DEFAULT[3], made


def seconds(run: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """The least time of the processor that a call took, and its result."""
    least, found = float("inf"), None
    for _ in range(repeat):
        took, found = records.timed(run)
        least = min(least, took)
    return least, found


def through_files(number: int, repeat: int) -> Iterator[dict[str, Any]]:
    """The time to write a matrix, or an image of as many pixels, to files of each suffix, and to read them."""
    matrix = Tensor.from_scipy(DEFAULT[2], entries(number, 2))
    for suffix in FORMATS:
        tensor = matrix
        if suffix in (".npy", ".png", ".pgm"):
            tensor = Tensor.from_numpy(IMAGE[0], image(number))
        elif suffix == ".ppm":
            planes = np.stack([image(number)] * 3, axis=2)
            tensor = Tensor.from_numpy(f"Dense({IMAGE[0]})", planes)
        elif suffix in (".arrow", ".arrows"):
            tensor = Tensor.from_numpy("RunList(Element(0))", image(number).ravel(order="F"))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"t{suffix}"
            save, _ = seconds(partial(tensor.save, path), repeat)
            load, again = seconds(partial(Tensor.from_file, str(tensor.tower), path), repeat)
            if again.nnz != tensor.nnz:
                raise SystemExit(f"{suffix}: other elements came back")
        print(f"{load:8.3f} s to read  {save:8.3f} s to write  {tensor.nnz:>10,} entries  {suffix}: {tensor.tower}")
        yield {"what": suffix, "form": str(tensor.tower), "entries": tensor.nnz, "load_s": load, "save_s": save}
    yield by_scipy(matrix, repeat)


def by_scipy(tensor: Tensor, repeat: int) -> dict[str, Any]:
    """SciPy's time to write a matrix to a `.mtx` file, and to read it."""
    matrix = tensor.to_scipy()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.mtx"
        save, _ = seconds(partial(scipy.io.mmwrite, path, matrix, symmetry="general"), repeat)
        load, _ = seconds(partial(scipy.io.mmread, path), repeat)
    print(f"{load:8.3f} s to read  {save:8.3f} s to write  {matrix.nnz:>10,} entries  .mtx, by SciPy")
    return {"what": ".mtx, by SciPy", "form": "COO", "entries": matrix.nnz, "load_s": load, "save_s": save}


def main() -> None:
    """Measure, print and keep."""
    parser = records.options(__doc__)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--entries", default="272115,10000000")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    measured = []
    for name, form, data in cases(options.folder, [int(n) for n in options.entries.split(",")]):
        sparse = scipy.sparse.issparse(data)
        make = partial(Tensor.from_scipy if sparse else Tensor.from_numpy, form, data, devices={"dev": 2})
        load, tensor = seconds(make, options.repeat)
        back, out = seconds(tensor.to_scipy, options.repeat)
        if not np.array_equal(np.sort(out.data[out.data != 0]), np.sort(data.data if sparse else data[data != 0])):
            raise SystemExit(f"{name}, {form}: other elements came back")
        stored = tensor.nnz
        measured.append({"what": name, "form": form, "entries": stored, "load_s": load, "back_s": back})
        print(f"{load:8.3f} s to load  {back:8.3f} s back  {stored:>10,} entries  {name}: {form}", flush=True)
    measured += through_files(int(options.entries.split(",")[-1]), options.repeat)
    records.append("loading", {"load": records.load(), "records": measured})


if __name__ == "__main__":
    main()
