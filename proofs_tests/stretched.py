"""Kernels over runs, blocks, bands and intervals, what they may cost, and data for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wingspan import api
from wingspan.elaborate import Elaborated

Data = Callable[[int, int, int], np.ndarray]
"""A matrix of so many rows and stretches in each column, by a number of its own."""

COLUMNS = 4


def image(n: int, r: int, seed: int) -> np.ndarray:
    """Columns of r runs, none of fill, with neighbours that differ; each matrix has its own ends."""
    random = np.random.default_rng(seed)
    made = np.zeros((n, COLUMNS), dtype=np.int64)
    for j in range(COLUMNS):
        ends = np.sort(random.choice(np.arange(1, n), r - 1, replace=False))
        made[:, j] = np.repeat(np.arange(r) % 3 + 1 + seed, np.diff([0, *ends, n]))
    return made


def sparse(n: int, r: int, seed: int) -> np.ndarray:
    """The same with every second run all fill."""
    made = image(n, 2 * r, seed)
    return np.where(made % 2 == 0, made, 0)


def stored(n: int, r: int, seed: int) -> np.ndarray:
    """Columns with r elements side by side, all equal, from another row on in each column."""
    made = np.zeros((n, COLUMNS), dtype=np.int64)
    for j in range(COLUMNS):
        made[j + seed : j + seed + r, j] = 2 + j
    return made


def masks(n: int, r: int, seed: int) -> np.ndarray:
    return sparse(n, r, seed) > 0


def symmetric(n: int, r: int, seed: int) -> np.ndarray:
    """A square of n rows and columns in which only the first r have elements."""
    made = np.zeros((n, n), dtype=np.int64)
    made[:r, :r] = 3
    return made


def square(n: int, r: int, seed: int) -> np.ndarray:
    """A square of r + 1 rows and columns."""
    return np.arange((r + 1) ** 2).reshape(r + 1, r + 1)


def blocks(n: int, r: int, seed: int) -> np.ndarray:
    """Blocks of 2 by 2: r of them in each column of blocks."""
    made = np.zeros((2, 2, n // 2, COLUMNS), dtype=np.int64)
    made[:, :, :r, :] = 5
    return made


@dataclass(frozen=True)
class Kernel:
    """A program over columns, what its inputs hold, and what it may cost: so much for each stretch, and each column.

    `columns` and `work` are how many columns and stretches there are, or elements that have to be visited, `rows` few
    and many.
    """

    text: str
    data: dict[str, Data]
    each: int
    column: int = 40
    columns: Callable[[int], int] = lambda n: COLUMNS
    work: Callable[[int], int] = lambda r: COLUMNS * r
    rows: tuple[int, int] = (100, 10_000)


def over(forms: dict[str, str], made: dict[str, str], body: str, ends: str = "_") -> str:
    """A program that goes through columns j, and in these through i."""
    head = [f"{name} = Tensor({form})" for name, form in forms.items()]
    head += [f"{name} = Tensor({form})" for name, form in made.items()]
    head += [f"{name} .= {'false' if 'Pattern' in form else 0}" for name, form in made.items()]
    loop = f"for j = parallel(_, dev)\nfor i = {ends}\n{body}\nend\nend"
    return "\n".join(["dev = cpu(:t, 2)", *head, loop, f"return {', '.join(made)}"])


RUN, SPARSE, SET = "Dense(RunList(Element(0)))", "Dense(SparseRunList(Element(0)))", "Dense(SparseRunList(Pattern()))"
ROWS = "Dense(Shard(dev, {}))"
OWN_RUNS, OWN_SPARSE = (ROWS.format(f"{level}(Element(0))") for level in ("RunList", "SparseRunList"))
OWN_SET = ROWS.format("SparseRunList(Pattern())")
SHARED = "Atomic(0)"

KERNELS = {
    "sum of two images": Kernel(
        over({"A": RUN, "B": RUN}, {"C": OWN_RUNS}, "C[i, j] = A[i, j] + B[i, j]"), {"A": image, "B": image}, 20
    ),
    "sum over a background": Kernel(
        over({"A": SPARSE, "B": SPARSE}, {"C": OWN_SPARSE}, "C[i, j] = A[i, j] + B[i, j]"),
        {"A": sparse, "B": sparse}, 24,
    ),
    "histogram": Kernel(
        over({"R": RUN, "G": RUN, "B": RUN},
             {"h": "Merge(dev, SparseDict(SparseDict(SparseDict(Element(0))))), 9, 9, 9"},
             "r = R[i, j] + 1\ng = G[i, j] + 1\nb = B[i, j] + 1\nh[r, g, b] += 1"),
        {"R": image, "G": image, "B": image}, 50, 150,
    ),
    "sum and largest": Kernel(
        over({"A": RUN}, {"s": SHARED, "m": SHARED}, "s[] += A[i, j]\nm[] <<max>>= A[i, j]"), {"A": image}, 6
    ),
    "blend": Kernel(
        over({"A": RUN, "B": RUN}, {"C": OWN_RUNS}, "C[i, j] = min(max((3 * A[i, j] + B[i, j]) ÷ 4, 0), 255)"),
        {"A": image, "B": image}, 20,
    ),
    "threshold": Kernel(
        over({"A": RUN}, {"C": OWN_SET}, "if A[i, j] > 2\nC[i, j] = true\nend"), {"A": image}, 6
    ),
    "intersection of sets": Kernel(
        over({"A": SET, "B": SET}, {"C": OWN_SET}, "if A[i, j] && B[i, j]\nC[i, j] = true\nend"),
        {"A": masks, "B": masks}, 9,
    ),
    "union of sets, counted": Kernel(
        over({"A": SET, "B": SET}, {"C": OWN_SET, "s": SHARED},
             "if A[i, j] || B[i, j]\nC[i, j] = true\ns[] += 1\nend"),
        {"A": masks, "B": masks}, 9,
    ),
    "upper triangle times a vector": Kernel(
        over({"A": "Dense(Dense(Element(0)))", "v": "Dense(Element(0))"}, {"y": "Dense(Atomic(0))"},
             "if i <= j\ny[i] += A[i, j] * v[j]\nend"),
        {"A": square, "v": lambda n, r, seed: np.arange(r + 1)}, 2, 25,
        lambda n: 1, lambda r: (r + 1) * (r + 2) // 2,
    ),
    "intervals times a vector": Kernel(
        over({"A": "Dense(SparseInterval(Element(0)))", "v": "Dense(Element(0))"}, {"y": "Dense(Atomic(0))"},
             "y[i] += A[i, j] * v[j]"),
        {"A": stored, "v": lambda n, r, seed: np.arange(COLUMNS)}, 3,
    ),
    "bands times a vector": Kernel(
        over({"A": "Dense(SparseBand(Element(0)))", "v": "Dense(Element(0))"}, {"y": "Dense(Element(0))"},
             "y[j] += A[i, j] * v[i]"),
        {"A": stored, "v": lambda n, r, seed: np.arange(n)}, 5,
    ),
    "blocks times a vector": Kernel(
        "dev = cpu(:t, 2)\nA = Tensor(Dense(SparseList(Dense(Dense(Element(0))))))\n"
        "v = Tensor(Dense(Dense(Element(0))))\n"
        "y = Tensor(Dense(Dense(Element(0))))\ny .= 0\nfor j = parallel(_, dev)\nfor i = _\nfor k = _\nfor l = _\n"
        "y[l, j] += A[l, k, i, j] * v[k, i]\nend\nend\nend\nend\nreturn y",
        {"A": blocks, "v": lambda n, r, seed: np.ones((2, n // 2), dtype=np.int64)}, 18,
    ),
    "common blocks": Kernel(
        over({"A": "Dense(SparseBlockList(Element(0)))", "B": "Dense(SparseBlockList(Element(0)))"},
             {"C": ROWS.format("SparseBlockList(Element(0))")}, "C[i, j] = A[i, j] * B[i, j]"),
        {"A": stored, "B": stored}, 8,
    ),
    "stencil with borders": Kernel(
        over({"A": RUN}, {"C": OWN_RUNS},
             "C[i, j] = coalesce(A[~(i - 1), j], 0) + A[i, j] + coalesce(A[~(i + 1), j], 0)"),
        {"A": image}, 24,
    ),
    "ragged rows": Kernel(
        over({"A": "Dense(SparseBand(Element(0)))", "B": "Dense(SparseBand(Element(0)))"},
             {"y": "Dense(Element(0))", "C": ROWS.format("SparseBand(Element(0))")},
             "y[j] += A[i, j]\nC[i, j] = A[i, j] + B[i, j]"),
        {"A": stored, "B": stored}, 12,
    ),
    "symmetric times a vector, from one half": Kernel(
        over({"A": "Dense(SparseList(Element(0)))", "v": "Dense(Element(0))"}, {"y": "Dense(Atomic(0))"},
             "if i < j\ny[i] += A[i, j] * v[j]\ny[j] += A[i, j] * v[i]\nend\nif i == j\ny[i] += A[i, j] * v[i]\nend"),
        {"A": symmetric, "v": lambda n, r, seed: np.arange(n)}, 9, 12,
        lambda n: n, lambda r: r * (r + 1) // 2, (100, 400),
    ),
}  # fmt: skip


def bound(kernel: Kernel, n: int, r: int) -> Elaborated:
    """The program on data of n rows and r stretches a column."""
    inputs = {name: make(n, r, seed) for seed, (name, make) in enumerate(kernel.data.items())}
    return api.bind(api.parse(kernel.text), inputs=inputs)
