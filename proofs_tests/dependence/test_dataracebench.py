"""Loops of DataRaceBench that read what they update: `explore` and `check` agree with its labels.

The kernels of DataRaceBench (Liao, Lin, Asplund, Schordan, Karlin, "DataRaceBench", SC 2017; LLNL/dataracebench) are
written anew, for few indices that count from 1. What is not about the dependence, such as printing, is left out, and
vector lanes are tasks. Names begin with the numbers there; kernels with the same loop have one program.

All parallel loops there in which an array is read and updated have one, and all of these bind. Not written are tasks,
sections, `single` and `nowait`, a shared index of an inner loop, and the tiled 042, 044 and 056.
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
INDIRECT = """
base = Tensor(Dense(Element(0.0)), 5)
visited = Tensor(Dense(Element(0)), [{}])
base .= 0
for i = parallel(_)
    base[visited[i]] += 1
    base[visited[i] + 2] += 3
end
"""
SCORES = """
H = Tensor(Dense(Dense(Element(0))), 3, 3)
same = Tensor(Dense(Dense(Element(0))), [1 0 1; 0 1 0; 1 0 1])
best = Tensor(Element(0))
H .= 0
best .= 0
for d = 4:6
    for j = parallel(max(2, d - 3):min(3, d - 2))
        H[d - j, j] = max(H[d - j - 1, j - 1] + same[d - j, j], H[d - j - 1, j] - 1, H[d - j, j - 1] - 1, 0)
        {}
    end
end
"""
DIFFUSION = """
u = Tensor(Dense(Dense(Element(0.0))), 4, 2)
u .= 1
for p = 1:2
    for i = parallel(2:3)
        u[i, {}] = u[i, p] + 0.25 * (u[i - 1, p] + u[i + 1, p] - 2 * u[i, p])
    end
end
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
    "DRB005 to 008: places of two arrays that overlap": INDIRECT.format("1, 2, 3"),
    "DRB011, 012: a counter": (
        "v = Tensor(Dense(Element(0)), [3, -1, 4])\nleft = Tensor(Element(0))\nleft .= 3\n"
        "for i = parallel(1:3); if v[i] > 0; left[] = left[] - 1; end; end"
    ),
    "DRB014, 015: before the first column stands the last one": (
        VECTOR + "for i = parallel(1:2); for j = 1:3; a[3 * (i - 1) + j] = a[max(3 * (i - 1) + j - 1, 1)]; end; end"
    ),
    "DRB020, 028: a variable for all": VECTOR + "x = 0\nfor i = parallel(1:3); x = a[i] + i; a[i] = x; end",
    "DRB024, 025, 115: the element before, and another array": (
        VECTOR + "v = Tensor(Dense(Element(0)), [1, 2, 3])\nfor i = parallel(1:3); a[i + 1] = a[i] + v[i]; end"
    ),
    "DRB026: the next element, on a device": (
        VECTOR + "gpu = cpu(:gpu, 3)\nfor i = parallel(1:3, gpu); a[i] = a[i + 1] + 1; end"
    ),
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
    "DRB039, 040, 202: one element for all": VECTOR + "for i = parallel(1:3); a[i] = a[i] + a[1]; end",
    "DRB111: a variable that counts": (
        VECTOR + "j = 0\nfor i = parallel(1:3); j = j + 1; a[j] = a[j] + i; end"
    ),
    "DRB114: the element before, sometimes": (
        VECTOR + "n = 1\nfor i = parallel(1:3); if n > 0; a[i + 1] = a[i] + 1; end; end"
    ),
    "DRB138, 157, 207: further before": VECTOR + "for i = parallel(3:6); a[i] = a[i - 2] - 1; end",
    "DRB156: the element before, from the second on": VECTOR + "for i = parallel(2:4); a[i] = a[i - 1] + 1; end",
    "DRB161, 164: all elements, several times": (
        VECTOR + "for i = parallel(1:2); for j = 1:3; a[j] = a[j] + 1; end; end"
    ),
    "DRB180: one workspace for all": (
        f"{VECTOR}{MATRIX}for i = parallel(1:2); for j = 2:3; a[j] = b[j - 1, i] + b[j, i]; end\n"
        "for j = 2:3; b[j, i] = a[j]; end; end"
    ),
    "DRB181: Smith-Waterman with the best score": SCORES.format("best[] = max(best[], H[d - j, j])"),
    "DRB195, 197: diffusion in place": DIFFUSION.format("p"),
    "DRB204: twice the index ahead": VECTOR + "for i = parallel(1:3, cpu(3)); a[i + 1] = a[2 * i] + i; end",
    "DRB206: to twice the index": VECTOR + "for i = parallel(1:3); a[2 * i] = a[i + 3] + i; end",
}  # fmt: skip

SAFE = {
    "DRB043: sweeps along rows": (
        f"{ADI}for j = parallel(1:2); for i = 2:3\n"
        "X[i, j] = X[i, j] - X[i - 1, j] / B[i - 1, j]\nB[i, j] = B[i, j] - 1 / (2 * B[i - 1, j]); end; end"
    ),
    "DRB045, 047, 071, 104, 203: each element by itself": VECTOR + "for i = parallel(1:4); a[i] = a[i] + 1; end",
    "DRB046, 094, 096, 113: each element of a matrix": (
        MATRIX + "for i = parallel(1:3); for j = 1:3; b[i, j] = b[i, j] + 1; end; end"
    ),
    "DRB053: the next row, one row after another": (
        MATRIX + "for i = 1:2; for j = parallel(1:3); b[i, j] += b[i + 1, j]; end; end"
    ),
    "DRB054: the row before, one row after another": (
        MATRIX + "for i = 2:3; for j = parallel(2:3); b[i, j] = b[i - 1, j - 1]; end; end"
    ),
    "DRB055, 058, 194: Jacobi with two arrays": JACOBI,
    "DRB041, 060: a product": (
        f"{MATRIX}c = Tensor(Dense(Dense(Element(0))), 3, 3)\nc .= 0\n"
        "for j = parallel(1:3); for k = 1:2, i = 1:2; c[i, j] = c[i, j] + b[i, k] * b[k, j]; end; end"
    ),
    "DRB063: the next element of the same row": (
        MATRIX + "for i = parallel(1:3); for j = 1:2; b[i, j] = b[i, j + 1]; end; end"
    ),
    "DRB064: the element before in the same row": (
        MATRIX + "for i = parallel(1:3); for j = 2:3; b[i, j] = b[i, j - 1]; end; end"
    ),
    "DRB093: both loops at once": (
        MATRIX + "for i = parallel(1:2); for j = parallel(1:2); b[i, j] = b[i, j] + 1; end; end"
    ),
    "DRB112: a place for each": VECTOR + "for i = parallel(1:3); a[i] = a[i] + i; end",
    "DRB137: further before, so many at once": (
        VECTOR + "for k = 1:2; for i = parallel(2 * k + 1:2 * k + 2); a[i] = a[i - 2] - 1; end; end"
    ),
    "DRB155: one after another": VECTOR + "for i = 2:4; a[i] = a[i - 1] + 1; end",
    "DRB162, 163: a sum of each element": (
        "gpu = cpu(:gpu, 2)\na = Tensor(Merge(gpu, Dense(Element(0))), 2)\na .= 0\n"
        "for i = parallel(1:2, gpu); for j = 1:2; a[j] += 1; end; end"
    ),
    "DRB181 without the best score: Smith-Waterman": SCORES.format(""),
    "DRB196: diffusion between two rows": DIFFUSION.format("3 - p"),
    "DRB205: twice the index": VECTOR + "for i = parallel(1:3); a[2 * i] = a[2 * i] + i; end",
    "DRB208: each element, and another array": (
        VECTOR + "v = Tensor(Dense(Element(0)), [1, 2, 3])\nfor i = parallel(1:3); a[i] = a[i] + v[i]; end"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", few(list(RACES), 10))
def test_a_kernel_that_is_labelled_to_race_races(name: str) -> None:
    """`check` finds it unsafe, and the explorer shows a race between a read and an update, or two updates."""
    program = api.parse(RACES[name])
    assert api.check(program, budget=0).verdict == "unsafe"
    found = api.explore(program).verdict
    assert found.complete and found.races
    assert any(side.operation.startswith("read") for race in found.races for side in (race.first, race.second))


@pytest.mark.parametrize("name", few(list(SAFE), 8))
def test_a_kernel_that_is_labelled_not_to_race_is_accepted(name: str) -> None:
    """And no interleaving races, or has another result."""
    program = api.parse(SAFE[name])
    assert api.check(program, budget=0).verdict == "safe"
    found = api.explore(program).verdict
    assert found.complete and not found.races and len(found.results) == 1


def test_where_an_array_names_the_elements_check_only_accepts_what_any_array_allows() -> None:
    """DRB052 is labelled not to race, as the places in its array do not meet. `check` does not look at data; the
    explorer does.
    """
    program = api.parse(INDIRECT.format("1, 2"))
    assert api.check(program, budget=0).verdict == "unsafe"
    found = api.explore(program).verdict
    assert found.complete and not found.races and len(found.results) == 1
