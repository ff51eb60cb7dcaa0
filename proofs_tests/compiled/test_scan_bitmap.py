"""The bits of words as lists, as `scan_bitmap.h` makes them, and kernels whose workspaces are read as lists."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.compiled.two_lists import HERE, processor
from proofs_tests.effort import few
from proofs_tests.places import EXAMPLES
from wingspan.compiled.build import INCLUDES, compiler

pytestmark = needs_compiler

NEEDS = {"avx512f", "avx512bw", "avx512_vbmi2"}
RANDOM = np.random.default_rng(5)


@pytest.mark.skipif(not processor() >= NEEDS, reason="the processor does not have what scan_bitmap.h takes")
@pytest.mark.parametrize("options", ["-O3", "-O0"])
def test_the_bits_of_words_are_listed(tmp_path: Path, options: str) -> None:
    """Words with any number of bits, one, all; 64 cells are written at most."""
    words = [0, 1, -1, 2**63 - 1, -(2**63), *(1 << k for k in range(63)), *((1 << k) - 1 for k in range(63))]
    words += [int(sum(1 << int(k) for k in RANDOM.choice(64, n, replace=False))) - 2**63 for n in range(63)]
    given = np.array([[word, before] for word in words for before in (0, 64, 2**31 - 129)], np.int64)
    made = tmp_path / "scan_bitmap"
    strict = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fwrapv", options)
    vectors = ("-mavx512f", "-mavx512bw", "-mavx512vbmi2", "-mpopcnt")
    subprocess.run([*compiler(), *strict, *vectors, *INCLUDES, str(HERE / "scan_bitmap.c"), "-o", made], check=True)
    done = subprocess.run([made], input=given.tobytes(), capture_output=True, check=True)
    found = np.frombuffer(done.stdout, np.int32).reshape(len(given), 67)
    for (word, before), (n, *cells) in zip(given.tolist(), found.tolist(), strict=True):
        bits = [k for k in range(64) if word >> k & 1]
        assert cells[1 : n + 1] == [before + k + 1 for k in bits], word
        assert n == len(bits) and cells[0] == cells[65] == -7, "what is beside the list is not written"


def matrix(n: int, columns: int, entries: int) -> scipy.sparse.csc_array:
    """Columns with so many entries each, as far as there are rows, and one that is empty."""
    made = np.zeros((n, columns))
    for j in range(1, columns):
        made[RANDOM.permutation(n)[:entries], j] = RANDOM.integers(1, 9, min(n, entries))
    return scipy.sparse.csc_array(made)


@pytest.mark.parametrize("options", few(["", "-mno-avx512f"], 1))
@pytest.mark.parametrize("threads", [1, 2])
def test_products_of_all_extents(threads: int, options: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Columns that are full, nearly empty, and in between, so that each way to keep a workspace is taken, in turns."""
    if options:
        monkeypatch.setenv("CC", f"{compiler()[0]} {options}")
    params = {"nt": threads, "sch": "dynamic_schedule(1)"}
    kernel = wingspan.compile(EXAMPLES / "spgemm_gustavson.ws", params=params)
    for n in (0, 1, 63, 64, 65, 4095, 4096, 4097):
        A = scipy.sparse.hstack([matrix(n, 4, n), matrix(n, 4, 1), matrix(n, 12, 40)], format="csc")
        B = scipy.sparse.csc_array(RANDOM.integers(0, 3, (20, 24)) * (RANDOM.random((20, 24)) < np.linspace(0, 1, 24)))
        found, expected = kernel(A=A, B=B.astype(float)).to_scipy(), (A @ B).tocsc()
        expected.sort_indices()
        for name in ("indptr", "indices", "data"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), (n, name)
