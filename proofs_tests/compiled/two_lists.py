"""Two lists of indices, and what the headers that go through them in blocks find, compiled for several processors."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wingspan.compiled.build import INCLUDES, compiler

HERE = Path(__file__).parent
RANDOM = np.random.default_rng(11)
LARGEST = 2**31 - 3


def processor() -> set[str]:
    """The processor's capabilities, if the system reports them."""
    try:
        return set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        return set()


VARIANTS = {
    "entry by entry": (),
    "AVX2": ("-mavx2", "-mno-avx512f"),
    "AVX-512": ("-mavx2", "-mavx512f", "-mbmi2", "-mpopcnt"),
}
NEEDS = {"entry by entry": set(), "AVX2": {"avx2"}, "AVX-512": {"avx2", "avx512f", "bmi2"}}
HAD = [name for name in VARIANTS if NEEDS[name] <= processor()]


Lists = tuple[np.ndarray, np.ndarray, int]
"""Two lists of ascending indices, and by how much those of the first are to be larger."""


def ascending(n: int, among: int) -> np.ndarray:
    """n different indices, up to some number or a little more."""
    return np.sort(RANDOM.choice(max(among, n), n, replace=False)).astype(np.int32)


def pairs_of_lists(n: int, k: int) -> Iterator[Lists]:
    """Lists of n and k indices: many in common, few, those of the shorter list, none; and large indices."""
    yield ascending(n, 2 * max(n, k)), ascending(k, 2 * max(n, k)), 0
    yield ascending(n, 20 * max(n, k)), ascending(k, 20 * max(n, k)), 1
    both = ascending(max(n, k), 3 * max(n, k))
    yield np.sort(RANDOM.choice(both, n, replace=False)), np.sort(RANDOM.choice(both, k, replace=False)), 0
    yield both[:n], both[:k], 0
    yield 2 * ascending(n, 100), 2 * ascending(k, 100) + 1, 0
    yield ascending(n, 100) + 1, ascending(k, 100) + 200, -1
    yield LARGEST - ascending(n, 150)[::-1], LARGEST - ascending(k, 150)[::-1], 0


def cases() -> list[Lists]:
    """Lists of up to 70 indices, at all lengths, and of lengths that are very different."""
    lengths = [(n, k) for n in range(71) for k in {0, 1, n, *RANDOM.integers(0, 71, 9).tolist()}]
    lengths += [(n, 3000) for n in (1, 2, 7, 8, 9, 16, 17, 40)] + [(3000, n) for n in (1, 3, 8, 15, 16, 33)]
    return [case for n, k in lengths for case in pairs_of_lists(n, k)]


def answers(folder: Path, source: str, variant: str, options: str, given: list[Lists]) -> np.ndarray:
    """The output of a program in this folder about lists. A read beyond a list would end it."""
    made = folder / Path(source).stem
    strict = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fwrapv", options)
    subprocess.run([*compiler(), *strict, *VARIANTS[variant], *INCLUDES, str(HERE / source), "-o", made], check=True)
    words = [np.concatenate([[len(x), len(y), shift], x, y]).astype(np.int32).tobytes() for x, y, shift in given]
    done = subprocess.run([made], input=b"".join(words), capture_output=True, check=False)
    assert done.returncode == 0, f"{variant}: exit status {done.returncode}"
    return np.frombuffer(done.stdout, np.int32)
