"""What two lists have in common, as `meet.h` finds it, is what NumPy finds: by AVX-512, by AVX2, and entry by entry."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from proofs_tests.effort import few
from proofs_tests.places import EXAMPLES
from wingspan import api
from wingspan.compiled.build import INCLUDES, compiler
from wingspan.compiled.emit_c import emit_c, together
from wingspan.elaborate import Elaborated
from wingspan.plan.pipeline import lower
from wingspan.testing import compare
from wingspan.testing.printed import PrintedC

pytestmark = pytest.mark.skipif(not compiler(), reason="there is no C compiler")

HERE = Path(__file__).parent
RANDOM = np.random.default_rng(11)
LARGEST = 2**31 - 3


def processor() -> set[str]:
    """What the processor can do, where the system reports it."""
    try:
        return set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        return set()


VARIANTS = {
    "entry by entry": (),
    "AVX2": ("-mavx2", "-mno-avx512f"),
    "AVX-512": ("-mavx2", "-mavx512f"),
}
NEEDS = {"entry by entry": set(), "AVX2": {"avx2"}, "AVX-512": {"avx2", "avx512f"}}
HAD = [name for name in VARIANTS if NEEDS[name] <= processor()]


# ------------------------------------------------------------------------------------------------------------ meet.h

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


@pytest.mark.parametrize(("variant", "options"), few(list(product(HAD, ["-O3", "-O0"])), len(HAD)))
def test_all_pairs_are_found_and_nothing_beyond_the_lists_is_read(tmp_path: Path, variant: str, options: str) -> None:
    """In order, each once; then a cursor is at its end. A read beyond a list would end the command."""
    strict = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fwrapv", options)
    command = [*compiler(), *strict, *VARIANTS[variant], *INCLUDES, str(HERE / "meet.c"), "-o", str(tmp_path / "meet")]
    subprocess.run(command, check=True)
    given = cases()
    words = [np.concatenate([[len(x), len(y), shift], x, y]).astype(np.int32).tobytes() for x, y, shift in given]
    done = subprocess.run([str(tmp_path / "meet")], input=b"".join(words), capture_output=True, check=False)
    assert done.returncode == 0, f"{variant}: exit status {done.returncode}"
    answers = np.frombuffer(done.stdout, np.int32)
    for x, y, shift in given:
        _, of_x, of_y = np.intersect1d(x.astype(np.int64) + shift, y, assume_unique=True, return_indices=True)
        expected = [len(of_x), *np.stack([of_x + 1, of_y + 1], axis=1).ravel(), 1]
        found, answers = answers[: len(expected)], answers[len(expected) :]
        assert found.tolist() == expected, (x.tolist(), y.tolist(), shift)
    assert not len(answers)


# --------------------------------------------------------------------------------------------------------- programs

PRODUCT = "c .= 0\nfor i = _\n    c[i] = A[i] * B[i]\nend\nreturn c"
SQUARE = "c .= 0\nfor i = _\n    c[i] = A[i] * A[i]\nend\nT .= 0\nfor i = _\n    T[i] = {}\nend\nreturn T"
PROGRAMS = {
    "a product of vectors": f"c = Tensor(SparseList(Element(0.0)))\n{PRODUCT}",
    "a sum of products": "c = Tensor(Element(0.0))\nc .= 0\nfor i = _\n    c[] += A[i] * B[i]\nend\nreturn c",
    "a product of three": f"c = Tensor(SparseList(Element(0.0)))\n{PRODUCT}".replace("* B[i]", "* B[i] * D[i]"),
    "two that are in a third": f"c = Tensor(SparseList(Element(0.0)))\n{PRODUCT}".replace(
        "B[i]", "B[i] * (A[i] + D[i])"
    ),
    "a result and an input": "c = Tensor(SparseList(Element(0.0)))\nT = Tensor(SparseList(Element(0.0)))\n"
    + SQUARE.format("c[i] * B[i]"),
    "an input and a result": "c = Tensor(SparseList(Element(0.0)))\nT = Tensor(SparseList(Element(0.0)))\n"
    + SQUARE.format("B[i] * c[i]"),
}
EACH = [(name, HAD[(k + j) % len(HAD)]) for k, name in enumerate(PROGRAMS) for j in range(len(HAD))]


def sparse(n: int, of: int) -> np.ndarray:
    """A vector of n quarters; so many in ten are stored."""
    return RANDOM.integers(1, 9, n) / 4 * (RANDOM.integers(0, 10, n) < of)


def bound(program: str, n: int) -> Elaborated:
    """A program with vectors of this length."""
    vectors = {"A": sparse(n, 5), "B": sparse(n, 8), "D": sparse(n, 4)}
    read = [name for name in vectors if f"{name}[" in program]
    declared = "".join(f"{name} = Tensor(SparseList(Element(0.0)))\n" for name in read)
    return api.bind(api.parse(declared + program), inputs={name: vectors[name] for name in read})


@pytest.mark.parametrize(("name", "variant"), few(EACH, 3))
def test_loops_over_two_lists_agree(name: str, variant: str) -> None:
    """Whether a list is an input, which counts from 0, or a result, which counts from 1; with the reference."""
    for n in (0, 1, 33, 500):
        one = bound(PROGRAMS[name], n)
        compared = compare(one, [api.engine("reference"), PrintedC(("-O1", "-Wall", "-Wextra", *VARIANTS[variant]))])
        assert compared.difference is None, compared.difference


@pytest.mark.parametrize("name", PROGRAMS)
def test_c_compares_the_lists_of_loops_over_two(name: str) -> None:
    """And of no others: of three, it passes by one entry after the other. Only the former take the time of `meet.h`."""
    plan = lower(bound(PROGRAMS[name], 20))
    shifts = {"a result and an input": ", -1)", "an input and a result": ", 1)"}
    for text in emit_c(plan), together([plan])[0]:
        assert ("ws_meet(&" in text) == ('#include "meet.h"' in text) == (name != "a product of three")
        assert name == "a product of three" or shifts.get(name, ", 0)") in text


def test_ctrl_c_is_looked_for_before_each_loop_over_pairs() -> None:
    """Of a loop that is in another one."""
    given = {"A": np.eye(9), "B": np.eye(9)}
    text = emit_c(lower(api.bind(EXAMPLES / "hadamard.ws", inputs=given, params={"nt": 2, "sch": "static_schedule()"})))
    lines = [line.strip() for line in text.splitlines()]
    at = next(k for k, line in enumerate(lines) if line.startswith("while (ws_meet("))
    assert lines[at - 2] == "WS_GO_ON;"
