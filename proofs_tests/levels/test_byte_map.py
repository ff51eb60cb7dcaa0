"""SparseByteMap at the ends of its words: 64 indices to a word of flags, 64 words to one that says which are not 0."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.towers import ByHand, broken, tower
from wingspan.buffers import procedures
from wingspan.buffers.frames import Cell

derandomized = settings(derandomize=True, deadline=None, max_examples=many(640))

EXTENTS = (1, 2, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 8193)

Elements = dict[tuple[int, ...], int]


@st.composite
def phases(draw: st.DrawFn) -> tuple[int, int, list[Elements]]:
    """Extents and what each phase writes: few indices, near the ends of words or anywhere, or many in a row."""
    n, fibers = draw(st.sampled_from(EXTENTS)), draw(st.integers(1, 3))
    edges = [i for i in (1, 2, 63, 64, 65, 128, 129, 4096, 4097, n - 1, n) if 1 <= i <= n]
    index = st.sampled_from(edges) | st.integers(1, n)
    run = st.tuples(index, st.integers(1, 200)).map(lambda at: range(at[0], min(n, at[0] + at[1]) + 1))
    indices = st.lists(index, max_size=6) | run
    fiber = st.tuples(indices, st.integers(1, fibers))
    written = draw(st.lists(fiber, min_size=1, max_size=4))
    return n, fibers, [{(i, p): i % 7 - 3 for i in indices} for indices, p in written]


class Expecting(ByHand):
    """Has `likely` say that so many updates come, whatever the level has noted."""

    expected: int | None = None

    def load(self, cell: Cell, position: int | None, index: int | None) -> Any:
        return super().load(cell, position, index) if cell.buffer != "likely" or not self.expected else self.expected


MANY = 10**9


@derandomized
@given(phases(), st.data())
def test_what_is_written_is_read_back_and_forgotten(made: tuple[int, int, list[Elements]], data: st.DataObject) -> None:
    """In each phase what it has written, after thawing what was there as well, and no more; invariants hold.

    However many updates are likely, and whether they come or not.
    """
    n, fibers, written = made
    h = Expecting(tower("Dense(SparseByteMap(Element(0)))", n, fibers), op="+")
    expected: Elements = {}
    for k, elements in enumerate(written):
        thawed = k > 0 and data.draw(st.booleans())
        h.expected = data.draw(st.sampled_from([None, 1, n // 2 + 1, MANY]))
        h.whole("thaw" if thawed else "declare").update_all(elements, op="+").whole("freeze")
        before = expected if thawed else {}
        expected = {at: before.get(at, 0) + elements.get(at, 0) for at in {**before, **elements}}
        assert h.elements() == expected and broken(h) == []


@derandomized
@given(phases(), st.data())
def test_reading_begins_anywhere(made: tuple[int, int, list[Elements]], data: st.DataObject) -> None:
    n, fibers, written = made
    h = ByHand(tower("Dense(SparseByteMap(Element(0)))", n, fibers)).whole("declare")
    for elements in written:
        h.update_all(elements)
    h.whole("freeze")
    p = data.draw(st.integers(1, fibers))
    stored = sorted(i for elements in written for i, j in elements if j == p)
    start = data.draw(st.sampled_from([1, *stored, *(i + 1 for i in stored)]) | st.integers(1, n + 1))
    assert indices(h, p, start) == sorted({i for i in stored if i >= start})


def indices(h: ByHand, p: int, start: int) -> list[int]:
    """The indices of a fiber from one on, as a loop visits them."""
    cursor = h.run(procedures.unfurl(h.tower, 2), position=p, start=start).result()
    found = []
    while i := h.run(procedures.index(h.tower, 2), **cursor).result()["index"]:
        found.append(i)
        cursor = h.run(procedures.next_(h.tower, 2), **cursor, index=i).result()
    return found


FILLS = [0, 5, math.inf, math.nan, -0.0, 0.0]


@pytest.mark.parametrize("before", FILLS)
@pytest.mark.parametrize("after", FILLS)
def test_leaves_begin_with_the_fill_value_whatever_it_was_before(before: float, after: float) -> None:
    """min and +, which look at what is there, begin with it; 0.0 is not -0.0, and NaN is itself."""
    h = ByHand(tower("SparseByteMap(Element(0.0))", 70))
    for z in (before, after, after):
        h.z = z
        h.whole("declare").update_all({(2,): 1, (66,): 2}, op="=").whole("freeze")
        assert {at: v for at, v in h.elements().items() if at != (2,)} == {(66,): 2}
        h.whole("declare")
        for q in (1, 2, 65, 66, 70):
            assert same(h.cell(1, "val", q), z), (q, z)


def same(x: Any, y: Any) -> bool:
    return repr(float(x)) == repr(float(y))


def test_it_is_read_as_it_is_forgotten() -> None:
    """A drained fiber is as after declaring, but for what declaring decides."""
    elements = {(i,): i for i in (1, 3, 64, 65, 200, 4096, 4097)}
    h = ByHand(tower("SparseByteMap(Element(0))", 5000)).whole("declare").update_all(elements).whole("freeze")
    cursor = h.run(procedures.unfurl(h.tower, 2), position=1, start=1).result()
    for (i,) in elements:
        cursor = h.run(procedures.drain(h.tower, 2), **cursor, index=i).result()
        cursor = h.run(procedures.forget(h.tower, 2), **cursor).result()
        cursor = h.run(procedures.next_(h.tower, 2), **cursor, index=i).result()
    assert nonzero(h) == {"size": {1: 1}, "likely": {1: 10}}
    assert h.elements() == {} and broken(h) == []


def nonzero(h: ByHand) -> Mapping[str, Mapping[int, int]]:
    """The cells that are not 0, by buffer."""
    found: dict[str, dict[int, int]] = {}
    for cell, value in h.cells.values.items():
        if value:
            found.setdefault(cell.buffer, {})[cell.offset] = value
    return found


def test_many_words_are_summed_up_when_freezing_only() -> None:
    """Once many words of a phase were not 0, the next one leaves `top` alone; after a phase with few it does not, and
    one without any decides nothing.
    """
    h = ByHand(tower("SparseByteMap(Element(0))", 64 * 100))
    touched = []
    for end, step in ((6401, 64), (6401, 64), (1, 1), (6401, 64), (2, 1), (6401, 64)):
        h.log.clear()
        h.whole("declare")
        declared = len(h.log)
        h.update_all({(i,): 1 for i in range(1, end, step)})
        touched.append(any(buffer == "top" for _, buffer, _ in h.log[declared:]))
        h.whole("freeze")
        assert len(h.elements()) == len(range(1, end, step)) and broken(h) == []
    assert touched == [True, False, False, False, False, True]


@pytest.mark.parametrize(
    ("likely", "written"),
    [(0, {"tbl", "top"}), (25, {"tbl", "top"}), (26, {"tbl"}), (3200, {"tbl"}), (3201, {"flag"}), (MANY, {"flag"})],
)
def test_how_many_updates_are_likely_decides_what_they_write(likely: int, written: set[str]) -> None:
    """Also in the first phase, when no fiber has been there."""
    h = Expecting(tower("SparseByteMap(Element(0))", 64 * 100))
    h.expected = likely
    for _ in range(2):
        h.whole("declare")
        h.log.clear()
        h.update_all({(i,): 1 for i in (1, 64, 65, 6400)})
        assert {buffer for kind, buffer, _ in h.log if kind != "load"} - {"val", "size"} == written
        h.whole("freeze")
        assert h.elements() == {(i,): 1 for i in (1, 64, 65, 6400)} and broken(h) == []


@pytest.mark.parametrize("expected", [1, MANY])
def test_what_is_written_and_not_frozen_is_forgotten(expected: int) -> None:
    h = Expecting(tower("SparseByteMap(Element(0))", 70))
    h.expected = expected
    h.whole("declare").update_all({(1,): 3, (70,): 4}).whole("declare").update_all({(2,): 5}).whole("freeze")
    assert h.elements() == {(2,): 5} and broken(h) == []
