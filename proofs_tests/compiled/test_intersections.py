"""The intersection of two lists by `intersection.h` is NumPy's: by AVX-512, by AVX2, and entry by entry."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from proofs_tests.compiled import needs_compiler
from proofs_tests.compiled.two_lists import HAD, RANDOM, VARIANTS, answers, cases
from proofs_tests.effort import EFFORT, few
from proofs_tests.places import EXAMPLES
from proofs_tests.printed_c import PrintedC
from wingspan import api
from wingspan.compiled.emit_c import emit_c, together
from wingspan.elaborate import Elaborated
from wingspan.plan.pipeline import lower
from wingspan.testing import compare

pytestmark = needs_compiler


@pytest.mark.parametrize(("variant", "options"), few(list(product(HAD, ["-O3", "-O0"])), len(HAD)))
def test_all_pairs_are_found_and_nothing_beyond_the_lists_is_read(tmp_path: Path, variant: str, options: str) -> None:
    """In order, each once; then a cursor is at its end."""
    found = answers(tmp_path, "intersection.c", variant, options, given := cases())
    for x, y, shift in given:
        _, of_x, of_y = np.intersect1d(x.astype(np.int64) + shift, y, assume_unique=True, return_indices=True)
        expected = [len(of_x), *np.stack([of_x + 1, of_y + 1], axis=1).ravel(), 1]
        assert found[: len(expected)].tolist() == expected, (x.tolist(), y.tolist(), shift)
        found = found[len(expected) :]
    assert not len(found)


# --------------------------------------------------------------------------------------------------------- programs

PRODUCT = "c .= 0\nfor i = _\n    c[i] = A[i] * B[i]\nend\nreturn c"
SQUARE = "c .= 0\nfor i = _\n    c[i] = A[i] * A[i]\nend\nT .= 0\nfor i = _\n    T[i] = {}\nend\nreturn T"
PROGRAMS = {
    "a result and an input": "c = Tensor(SparseList(Element(0.0)))\nT = Tensor(SparseList(Element(0.0)))\n"
    + SQUARE.format("c[i] * B[i]"),
    "a sum of products": "c = Tensor(Element(0.0))\nc .= 0\nfor i = _\n    c[] += A[i] * B[i]\nend\nreturn c",
    "a product of three": f"c = Tensor(SparseList(Element(0.0)))\n{PRODUCT}".replace("* B[i]", "* B[i] * D[i]"),
    "an input and a result": "c = Tensor(SparseList(Element(0.0)))\nT = Tensor(SparseList(Element(0.0)))\n"
    + SQUARE.format("B[i] * c[i]"),
    "a product of vectors": f"c = Tensor(SparseList(Element(0.0)))\n{PRODUCT}",
    "two that are in a third": f"c = Tensor(SparseList(Element(0.0)))\n{PRODUCT}".replace(
        "B[i]", "B[i] * (A[i] + D[i])"
    ),
}
"""Results and inputs beside each other first: they count from different numbers."""
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


@pytest.mark.parametrize(("name", "variant"), few(EACH, 2))
def test_loops_over_two_lists_agree(name: str, variant: str) -> None:
    """Whether a list is an input, which counts from 0, or a result, which counts from 1; with the reference."""
    for n in (0, 500) if EFFORT < 1 else (0, 1, 33, 500):
        one = bound(PROGRAMS[name], n)
        compared = compare(one, [api.engine("reference"), PrintedC(("-O1", "-Wall", "-Wextra", *VARIANTS[variant]))])
        assert compared.difference is None, compared.difference


@pytest.mark.parametrize("name", PROGRAMS)
def test_c_compares_the_lists_of_loops_over_two(name: str) -> None:
    """And of no others: of three, it passes by one entry after the other, without the time of `intersection.h`.

    In a printed file, results count from 1, and in what `wingspan` calls itself from 0, as inputs do.
    """
    plan = lower(bound(PROGRAMS[name], 20))
    shifts = {"a result and an input": ", -1)", "an input and a result": ", 1)"}
    for text, differing in ((emit_c(plan), shifts), (together([plan])[0], {})):
        assert ("ws_next_pair(&" in text) == ('#include "intersection.h"' in text) == (name != "a product of three")
        assert name == "a product of three" or differing.get(name, ", 0)") in text


def test_ctrl_c_is_looked_for_before_each_loop_over_pairs() -> None:
    """Of a loop that is in another one."""
    given = {"A": np.eye(9), "B": np.eye(9)}
    text = emit_c(lower(api.bind(EXAMPLES / "hadamard.ws", inputs=given, params={"nt": 2, "sch": "static_schedule()"})))
    lines = [line.strip() for line in text.splitlines()]
    at = next(k for k, line in enumerate(lines) if line.startswith("while (ws_next_pair("))
    assert lines[at - 2] == "WS_GO_ON;"
