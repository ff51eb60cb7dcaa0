"""The union of two lists by `union.h` is NumPy's; kernels that use it agree with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.compiled.two_lists import HAD, RANDOM, answers, cases
from proofs_tests.effort import few
from wingspan.base.errors import Fault

pytestmark = needs_compiler


@pytest.mark.skipif("AVX-512" not in HAD, reason="the processor does not have what union.h takes")
@pytest.mark.parametrize("options", few(["-O3", "-O0"], 1))
def test_all_indices_are_found_and_nothing_beyond_the_lists_is_read(tmp_path: Path, options: str) -> None:
    """In order, each once, with the entries of both lists; up to the largest index that lists have."""
    given = cases()
    largest = np.int32(2**31 - 1)
    given += [(largest - x, largest - y, 0) for x in map(tail, range(34)) for y in (tail(0), tail(1), tail(17))]
    found = answers(tmp_path, "union.c", "AVX-512", options, given)
    for x, y, shift in given:
        wide = [x.astype(np.int64) + max(shift, 0), y.astype(np.int64) - min(shift, 0)]
        both = np.union1d(*wide)
        entries = [np.where(np.isin(both, each), np.searchsorted(each, both) + 1, 0) for each in wide]
        expected = [len(both), *np.stack([both, *entries], axis=1).ravel()]
        assert found[: len(expected)].tolist() == expected, (x.tolist(), y.tolist(), shift)
        found = found[len(expected) :]
    assert not len(found)


def tail(n: int) -> np.ndarray:
    """n numbers from 0 on, not all of them, the largest first."""
    return np.sort(RANDOM.choice(2 * n, n, replace=False))[::-1].astype(np.int32)


# --------------------------------------------------------------------------------------------------------- programs

SUMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "a sum": ("A[i] + B[i]", lambda A, B: A + B),
    "a difference": ("A[i] - B[i]", lambda A, B: A - B),
    "multiples": ("2 * A[i] + B[i] * 3", lambda A, B: 2 * A + 3 * B),
    "a maximum": ("max(A[i], B[i])", np.maximum),
    "one element twice": ("min(A[i], B[i]) - B[i]", lambda A, B: np.minimum(A, B) - B),
}
VECTOR = "for i = _\n    C[i] = {}\nend\n"
RESULTS = {
    "a result and an input": ("C1[i] - B[i]", lambda A, B: A),
    "an input and a result": ("A[i] - C2[i]", lambda A, B: B),
}
LENGTHS = (0, 1, 7, 8, 9, 16, 17, 33, 500)


def kernel(text: str, z: str) -> wingspan.Kernel:
    """For vectors of any length, in lists with a fill value of zero."""
    vectors = "".join(f"{name} = Tensor(SparseList(Element({z})))\n" for name in ("A", "B", "C") if f"{name}[" in text)
    declared = f"C .= {z}\n" if "C[" in text else ""
    return wingspan.compile(wingspan.parse(vectors + declared + text.replace("{z}", z)))


def vector(n: int, of: int, kind: type) -> np.ndarray:
    """n numbers, of which so many in ten are not zero."""
    return RANDOM.integers(1, 9, n).astype(kind) * (RANDOM.integers(0, 10, n) < of)


@pytest.mark.parametrize("kind", few([float, int], 1))
def test_kernels_that_go_through_two_lists_agree_with_numpy(kind: type) -> None:
    """Whether a list is an input, which counts from 0, or a result, which counts from 1; of 7 in all or fewer, too.

    A loop for each of them is in one program, which is compiled once.
    """
    sums = {f"C{k}": each for k, each in enumerate((SUMS | RESULTS).values(), 1)}
    z = "0.0" if kind is float else "0"
    heads = [f"{C} = Tensor(SparseList(Element({z})))\n{C} .= {z}\n" for C in sums]
    loops = [VECTOR.format(text).replace("C[i] =", f"{C}[i] =") for C, (text, _) in sums.items()]
    made = kernel("".join([*heads, *loops, f"return {', '.join(sums)}"]), z)
    assert made.source.count("ws_union_block(") == len(sums)
    for n in LENGTHS:
        for share_of_a, share_of_b in [(5, 8), (1, 10), (10, 10), (0, 4), (0, 0)]:
            A, B = vector(n, share_of_a, kind), vector(n, share_of_b, kind)
            for (text, expected), found in zip(sums.values(), made(A=A, B=B), strict=True):
                assert np.array_equal(found.to_numpy(), expected(A, B)), (text, n, A.tolist(), B.tolist())


def test_a_fault_in_a_block_is_the_one_of_the_loop() -> None:
    """Integers that are too large stop the run where both lists have them."""
    made = kernel(VECTOR.format("A[i] + B[i]") + "return C", "0")
    A, B = np.arange(40), np.arange(40)
    A[30] = B[31] = 2**63 - 1
    A[31] = 0
    with pytest.raises(Fault, match="overflow: 9223372036854775837 "):
        made(A=A, B=B)
    B[30] = 0
    assert made(A=A, B=B).to_numpy()[30:32].tolist() == [2**63 - 1] * 2


def test_sums_that_cancel_are_stored() -> None:
    """As by the rules, which do not look at values."""
    made = kernel(VECTOR.format("A[i] - B[i]") + "return C", "0.0")
    A = vector(100, 10, float)
    assert made(A=A, B=A.copy()).nnz == 100
