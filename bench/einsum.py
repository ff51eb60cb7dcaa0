"""Speed of the programs that `wingspan.einsum` chooses, beside programs written by hand.

    python bench/einsum.py [--repeat N] [--threads N] [--keep]

Random inputs of fixed sizes. Both programs run as C on tensors that are ready, in turns; the least time of each counts:
processor time on one thread, the clock on more. `call` is the whole of a call of `einsum` with the arrays of SciPy and
NumPy, as a share of the chosen program: it reads the expression, finds the choice that it made before, checks the
arrays and moves those that lie in another order. `choosing` is what the first call takes, in seconds, with the C
compiler. The second table has products of three matrices, and of two and a vector, with so many elements in each row:
how many times as long the best program takes that is a single nest of loops. --keep appends to
bench/results/einsum.jsonl.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import wingspan  # noqa: E402
from bench import records  # noqa: E402
from wingspan import Tensor  # noqa: E402
from wingspan.choices.contractions import enumerate_contractions  # noqa: E402
from wingspan.choices.reading import read_einsum  # noqa: E402

SPMV = """
dev = cpu(:t, nt)
y = Tensor(Dense(Element(0.0)))
x = Tensor(Dense(Element(0.0)))
y .= 0
for i = parallel(_, dev, sch)
    for k = _
        y[i] += AT[k, i] * x[k]
return y
"""
SDDMM = """
dev = cpu(:t, nt)
CT = Tensor(Dense(Shard(dev, SparseList(Element(0.0)))))
UT = Tensor(Dense(Dense(Element(0.0))))
VT = Tensor(Dense(Dense(Element(0.0))))
CT .= 0
for i = parallel(_, dev, sch)
    for j = _
        for k = _
            CT[j, i] += ST[j, i] * UT[k, i] * VT[k, j]
return CT
"""


def sparse(rows: int, columns: int, each: int) -> Any:
    """A random CSR matrix with so many elements in each row."""
    random = np.random.default_rng(rows)
    at = np.sort(random.integers(0, columns, (rows, each)), axis=1)
    return scipy.sparse.csr_array((random.random(at.size), at.ravel(), np.arange(rows + 1) * each), (rows, columns))


def cases() -> dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]]:
    """By name: an expression and its inputs; the program by hand, and its inputs."""
    form = "Dense(SparseList(Element(0.0)))"
    A, S = sparse(100_000, 100_000, 10), sparse(4096, 4096, 8)
    A.sum_duplicates()
    S.sum_duplicates()
    AT, ST = (Tensor.from_scipy(form, matrix.T) for matrix in (A, S))
    random = np.random.default_rng(1)
    x, U, V = random.random(100_000), random.random((4096, 32)), random.random((4096, 32))
    at = tuple(random.integers(0, n, 200_000) for n in (2000, 500, 500))
    T = scipy.sparse.coo_array((random.random(200_000), at), shape=(2000, 500, 500))
    T.sum_duplicates()
    BT = Tensor.from_scipy("Dense(SparseList(SparseList(Element(0.0))))", T.transpose((2, 1, 0)))
    C, D = random.random((500, 32)), random.random((500, 32))
    gustavson, rows = (
        (ROOT / "examples" / name).read_text("utf-8") for name in ("spgemm_gustavson.ws", "mttkrp_rows.ws")
    )
    return {
        "SpMV": ("y[i] += A[i, k] * x[k]", {"A": A, "x": x}, SPMV, {"AT": AT, "x": x}),
        "SpGEMM": ("C[i, j] += A[i, k] * B[k, j]", {"A": S, "B": S}, gustavson, {"A": ST, "B": ST}),
        "SDDMM": (
            "C[i, j] += S[i, j] * U[i, k] * V[j, k]", {"S": S, "U": U, "V": V},
            SDDMM, {"ST": ST, "UT": U.T, "VT": V.T},
        ),
        "MTTKRP": (
            "M[i, r] += B[i, k, l] * C[k, r] * D[l, r]", {"B": T, "C": C, "D": D},
            rows, {"BT": BT, "CT": C.T, "DT": D.T},
        ),
    }  # fmt: skip


def least(calls: list[Callable[[], Any]], repeat: int, clock: Callable[[], float]) -> list[float]:
    """The least milliseconds of each call, made in turns."""
    found = [float("inf")] * len(calls)
    for _ in range(repeat):
        for k, call in enumerate(calls):
            found[k] = min(found[k], 1e3 * records.timed(call, clock)[0])
    return found


def own(given: Mapping[str, Any]) -> dict[str, Tensor]:
    """The inputs as tensors that share nothing, so that a call need not check them again."""
    made = {}
    for name, data in given.items():
        if isinstance(data, np.ndarray) or all(level.name in ("Dense", "Element") for level in data.tower.levels):
            array = np.asarray(data)
            made[name] = Tensor.from_numpy(f"{'Dense(' * array.ndim}Element(0.0){')' * array.ndim}", array)
        else:
            made[name] = Tensor.from_scipy(str(data.tower), data.to_scipy())
    return made


def measured(name: str, threads: int, repeat: int) -> dict[str, Any]:
    """The times of one kernel, in milliseconds."""
    text, arrays, program, given = cases()[name]
    choose = partial(wingspan.einsum, text, threads=threads, engine="compiled", **arrays)
    choosing, made = records.timed(choose, time.perf_counter)
    chosen = wingspan.compile(made.program)
    params = {"nt": threads, "sch": "static_schedule()"}
    hand = wingspan.compile(wingspan.parse(program, name), params=params)
    tensors, inputs = own(given), own(made.inputs)
    np.testing.assert_allclose(made.to_numpy(), np.asarray(hand.call(tensors)).T)
    clock = time.process_time if threads == 1 else time.perf_counter
    calls = [
        lambda: chosen.call(inputs),
        lambda: hand.call(tensors),
        choose,
    ]
    ours, by_hand, whole = least(calls, repeat, clock)
    return {
        "kernel": name, "threads": threads, "chosen_ms": ours, "by_hand_ms": by_hand, "ratio": by_hand / ours,
        "call": whole / ours, "choosing_s": choosing, "reason": made.reason,
    }  # fmt: skip


CHAINS = {
    "A·B·C": "D[i, l] += A[i, k] * B[k, j] * C[j, l]",
    "A·B·x": "y[i] += A[i, k] * B[k, j] * x[j]",
}
SIZES = [(2000, 4), (2000, 16), (1000, 50), (500, 100)]
"""Rows, and elements in each."""


def chained(name: str, rows: int, each: int, repeat: int) -> dict[str, Any]:
    """The times of a product of several factors on one thread, as chosen and by a single nest of loops."""
    given: dict[str, Any] = {
        factor: scipy.sparse.random_array((rows, rows), density=each / rows, format="csr", rng=seed)
        for seed, factor in enumerate("ABC")
    }
    given["x"] = np.ones(rows)
    inputs = {factor: array for factor, array in given.items() if f"{factor}[" in CHAINS[name]}
    made = wingspan.einsum(CHAINS[name], threads=1, engine="compiled", **inputs)
    single = enumerate_contractions(*read_einsum(wingspan.parse(CHAINS[name]).tree, inputs), apart=False)[0]
    text, taken = single.program()
    tensors = {factor: operand.tensor(order) for factor, (operand, order) in taken.items()}
    chosen, whole = wingspan.compile(made.program), wingspan.compile(wingspan.parse(text, name))
    calls = [lambda: chosen.call(made.inputs), lambda: whole.call(tensors)]
    ours, alone = least(calls, repeat, time.process_time)
    return {
        "kernel": name, "threads": 1, "rows": rows, "each": each, "chosen_ms": ours, "single_nest_ms": alone,
        "ratio": alone / ours, "reason": made.reason,
    }  # fmt: skip


def main() -> None:
    """Measure all kernels, and print them."""
    parser = records.options(__doc__)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args()
    print("| kernel | chosen, ms | by hand | call | choosing, s |\n|---|---|---|---|---|")
    for name in cases():
        found = measured(name, asked.threads, asked.repeat) | {"load": os.getloadavg()[0]}
        numbers = (f"{found[key]:.{digits}f}" for key, digits in
                   (("chosen_ms", 3), ("ratio", 2), ("call", 2), ("choosing_s", 1)))  # fmt: skip
        print(f"| {name} | {' | '.join(numbers)} |", flush=True)
        print(found["reason"], file=sys.stderr)
        if asked.keep:
            records.append("einsum", found)
    print("\n| product | rows | in each | chosen, ms | single nest |\n|---|---|---|---|---|")
    for name in CHAINS:
        for rows, each in SIZES:
            found = chained(name, rows, each, asked.repeat) | {"load": os.getloadavg()[0]}
            print(f"| {name} | {rows} | {each} | {found['chosen_ms']:.3f} | {found['ratio']:.2f} |", flush=True)
            if asked.keep:
                records.append("einsum", found)


if __name__ == "__main__":
    main()
