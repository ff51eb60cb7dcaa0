"""The table of docs/levels.md: accesses to buffers of a program that merges two copies, by the extent of the axis."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proofs_tests.effort import few
from proofs_tests.plan.test_looplets import counts
from wingspan import api
from wingspan.testing.formats import MERGED

PAGE = Path(__file__).parents[2] / "docs" / "levels.md"
EXTENTS = (64, 128, 256)
MERGING = """
dev = cpu(:t, 2)
T = Tensor(Merge(dev, {level}), {shape})
T .= 0
for k = parallel(1:2, dev)
    for i = 3:{last}
        T[{subscripts}] += k
    end
end
"""


def measured(name: str, n: int) -> int:
    """The accesses where each of two threads updates four elements, or the one that a point has."""
    axes = 2 if name == "SparseCOO" else 1
    level = "SparseCOO(2, Element(0))" if axes == 2 else f"{name}(Element(0))"
    shape, subscripts = ", ".join([str(n)] * axes), ", ".join(["i"] * axes)
    text = MERGING.format(level=level, shape=shape, subscripts=subscripts, last=3 if name == "SparsePoint" else 6)
    return sum(counts(api.bind(api.parse(text))).values())


def table() -> dict[str, tuple[int, ...]]:
    """The rows of the page."""
    text = PAGE.read_text(encoding="utf-8").split("<!-- merging costs -->")[1].split("<!-- end of merging costs -->")[0]
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", text, re.MULTILINE)
    return {name: tuple(int(cell.replace(",", "")) for cell in cells) for name, *cells in rows}


@pytest.mark.parametrize("name", few([*MERGED, "SparsePoint", "SparseCOO"], 3))
def test_merging_costs_what_the_page_says(name: str) -> None:
    assert table()[name] == tuple(measured(name, n) for n in EXTENTS)


def test_only_levels_with_something_for_every_index_cost_by_the_extent() -> None:
    """Dense by the index, SparseByteMap by the word of 64; all others by what is stored."""
    costs = table()
    for name, (small, middle, large) in costs.items():
        assert (large - middle) == 2 * (middle - small), name
        assert (large == small) == (name not in ("Dense", "SparseByteMap")), name
