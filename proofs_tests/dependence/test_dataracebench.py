"""Loops of DataRaceBench that read what they update: `explore` and `check` agree with its labels.

The kernels of DataRaceBench (Liao, Lin, Asplund, Schordan, Karlin, "DataRaceBench", SC 2017; LLNL/dataracebench) are
written anew, for few indices that count from 1. What is not about the dependence, such as printing, is left out. Names
begin with the number there; kernels with a number of iterations that is given at run time are named beside the others.
"""

from __future__ import annotations

import pytest

from proofs_tests.effort import few
from wingspan import api

VECTOR = "a = Tensor(Dense(Element(0)), 6)\na .= 1\n"
MATRIX = "b = Tensor(Dense(Dense(Element(0))), 3, 3)\nb .= 1\n"
ADI = """
X = Tensor(Dense(Dense(Element(0.0))), 3, 2)
B = Tensor(Dense(Dense(Element(0.0))), 3, 2)
X .= 4
B .= 1
"""
JACOBI = """
A = Tensor(Dense(Element(0.0)), 4)
C = Tensor(Dense(Element(0.0)), 4)
A .= 3
C .= 0
for t = 1:2
    for i = parallel(2:3)
        C[i] = A[i - 1] + A[i] + A[i + 1]
    end
    for i = parallel(2:3)
        A[i] = C[i]
    end
end
"""

RACES = {
    "DRB001, 002: the next element": VECTOR + "for i = parallel(1:3); a[i] = a[i + 1] + 1; end",
    "DRB003, 004: the next row": MATRIX + "for i = parallel(1:2); for j = 1:3; b[i, j] += b[i + 1, j]; end; end",
    "DRB018, 019: where to append": (
        f"{VECTOR}last = Tensor(Element(0))\nlast .= 0\n"
        "for i = parallel(1:2); a[last[] + 1] = i; last[] = last[] + 1; end"
    ),
    "DRB021, 022: a sum": (
        "v = Tensor(Dense(Element(0)), [1, 2, 3])\ns = Tensor(Element(0))\ns .= 0\n"
        "for i = parallel(1:3); s[] = s[] + v[i] * v[i]; end"
    ),
    "DRB029, 030: the element before": VECTOR + "for i = parallel(1:3); a[i + 1] = a[i] + 1; end",
    "DRB031, 032: the row and the column before": (
        MATRIX + "for i = parallel(2:3); for j = 2:3; b[i, j] = b[i - 1, j - 1]; end; end"
    ),
    "DRB033, 034: twice the index": VECTOR + "for i = parallel(1:3); a[2 * i] = a[i] + 1; end",
    "DRB035, 036: a variable": VECTOR + "x = 1\nfor i = parallel(1:3); a[i] = x; x = a[i] + i; end",
    "DRB037, 038: the column before": (
        MATRIX + "for i = 1:2; for j = parallel(2:3); b[i, j] = b[i, j - 1]; end; end"
    ),
    "DRB039, 040: one element for all": VECTOR + "for i = parallel(1:3); a[i] = a[i] + a[1]; end",
}  # fmt: skip

SAFE = {
    "DRB043: sweeps along rows": (
        f"{ADI}for j = parallel(1:2); for i = 2:3\n"
        "X[i, j] = X[i, j] - X[i - 1, j] / B[i - 1, j]\nB[i, j] = B[i, j] - 1 / (2 * B[i - 1, j]); end; end"
    ),
    "DRB045: each element by itself": VECTOR + "for i = parallel(1:4); a[i] = a[i] + 1; end",
    "DRB046, 113: each element of a matrix": (
        MATRIX + "for i = parallel(1:3); for j = 1:3; b[i, j] = b[i, j] + 1; end; end"
    ),
    "DRB053: the next row, one row after another": (
        MATRIX + "for i = 1:2; for j = parallel(1:3); b[i, j] += b[i + 1, j]; end; end"
    ),
    "DRB054: the row before, one row after another": (
        MATRIX + "for i = 2:3; for j = parallel(2:3); b[i, j] = b[i - 1, j - 1]; end; end"
    ),
    "DRB055: Jacobi with two arrays": JACOBI,
    "DRB063: the next element of the same row": (
        MATRIX + "for i = parallel(1:3); for j = 1:2; b[i, j] = b[i, j + 1]; end; end"
    ),
    "DRB064: the element before in the same row": (
        MATRIX + "for i = parallel(1:3); for j = 2:3; b[i, j] = b[i, j - 1]; end; end"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", few(list(RACES), 10))
def test_a_kernel_that_is_labelled_to_race_races(name: str) -> None:
    """`check` finds it unsafe, and the explorer shows a race between a read and an update, or two updates."""
    program = api.parse(RACES[name])
    assert api.check(program).verdict == "unsafe"
    found = api.explore(program).verdict
    assert found.complete and found.races
    assert any(side.operation.startswith("read") for race in found.races for side in (race.first, race.second))


@pytest.mark.parametrize("name", few(list(SAFE), 8))
def test_a_kernel_that_is_labelled_not_to_race_is_accepted(name: str) -> None:
    """And no interleaving races, or has another result."""
    program = api.parse(SAFE[name])
    assert api.check(program).verdict == "safe"
    found = api.explore(program).verdict
    assert found.complete and not found.races and len(found.results) == 1
