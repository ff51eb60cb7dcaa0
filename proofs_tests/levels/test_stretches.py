"""Levels whose entries are stretches of indices: what a stretch is, how one grows, and how a cursor goes on in it."""

from __future__ import annotations

from itertools import groupby, product

import numpy as np
import pytest

from proofs_tests.towers import ByHand, broken, frozen, member, tower
from wingspan.buffers import procedures
from wingspan.levels import REGISTRY
from wingspan.tensors.tensor import Tensor
from wingspan.testing.formats import BOUNDED, STORAGE, fit_to_format

STRETCHED = [name for name in (*STORAGE, *BOUNDED) if REGISTRY[name].stretch]
EVERY = list(product((0, 4, 7), repeat=4))
"""All vectors of four elements with fill value 0, which are all fill, one run, values in turns and all others."""


def runs(values: list[int], gaps: bool) -> list[tuple[int, int, int]]:
    """(first, last, value) of the runs of equal values; those of fill only if they are stored in `gaps`."""
    found, first = [], 1
    for value, group in groupby(values):
        size = len(list(group))
        found += [(first, first + size - 1, value)] if value or (gaps and any(values)) else []
        first += size
    return found


def read(h: ByHand) -> list[tuple[int, int, int]]:
    """(first, last, value) of the stretches of the root fiber."""
    reader = h.tensor()._reader()
    return [(a, b, int(reader.value(q, inside))) for a, b, q, inside in reader.stretches(2, 1, ())]


@pytest.mark.parametrize("name", ["SparseRunList", "RunList"])
def test_runs_are_as_long_as_can_be(name: str) -> None:
    """However the same elements are written: one by one, fill among them, or fill alone."""
    for values in EVERY:
        h = frozen(f"{name}(Element(0))", np.array(values))
        assert read(h) == runs(list(values), name == "RunList") and broken(h) == []
        h = ByHand(tower(f"{name}(Element(0))", 4)).whole("declare")
        h.update_all({(i,): v for i, v in enumerate(values, 1)}).whole("freeze")
        every = [(first, last, value) for first, last, value in runs([v + 1 for v in values], True)]
        assert read(h) == [(first, last, value - 1) for first, last, value in every] and broken(h) == []


@pytest.mark.parametrize("name", STRETCHED)
def test_arrays_become_the_same_stretches(name: str) -> None:
    """All at once what the operations make of the elements one by one."""
    form = f"{name}(Element(0))"
    for array in EVERY:
        values = fit_to_format(form, np.array(array), "0")
        packed = Tensor.from_numpy(form, values)._reader()
        assert list(packed.stretches(2, 1, ())) == list(frozen(form, values).tensor()._reader().stretches(2, 1, ()))


def test_fill_that_was_written_and_a_gap_are_one_run() -> None:
    """Before the gap and behind it."""
    for written, expected in (
        ({1: 0, 4: 7}, [(1, 3, 0), (4, 4, 7)]),
        ({2: 7, 4: 0}, [(1, 1, 0), (2, 2, 7), (3, 4, 0)]),
    ):
        h = ByHand(tower("RunList(Element(0))", 4)).whole("declare")
        h.update_all({(i,): v for i, v in written.items()}).whole("freeze")
        assert read(h) == expected and broken(h) == []


def test_holes_of_a_band_are_made_anew() -> None:
    """A band of an earlier life had elements there."""
    h = ByHand(tower("SparseBand(Element(0))", 4)).whole("declare")
    h.update_all({(i,): 5 for i in range(1, 5)}).whole("freeze", "declare").update_all({(1,): 6, (4,): 6})
    assert h.whole("freeze").elements() == {(1,): 6, (2,): 0, (3,): 0, (4,): 6}


def test_holes_between_merged_bands_are_made_anew() -> None:
    """A merged band of an earlier life had elements there, and no copy has any now."""
    h = ByHand(tower("Merge(dev, SparseBand(Element(0)))", 4), op="+")
    for indices in ((1, 2), (3, 4)), ((1,), (4,)):
        h.whole("declare")
        for t, mine in enumerate(indices, 1):
            h.task = member(dev=t)
            h.whole("checkout").update_all({(i,): 5 for i in mine}).whole("commit")
        h.whole("freeze")
    assert h.elements() == {(1,): 5, (2,): 0, (3,): 0, (4,): 5} and broken(h) == []


def test_a_gap_is_a_run_of_fill_only_if_the_fiber_is_written() -> None:
    """A visit in vain leaves no runs; an index after a gap leaves the gap, and what is behind it, too."""
    h = ByHand(tower("Dense(RunList(Element(0)))", 5, 3)).whole("declare")
    cursor = h.run(procedures.open_(h.tower, 2), position=1, start=1).result()
    for index in (2, 4):
        cursor = h.run(procedures.enter(h.tower, 2), **cursor, index=index).result()
        cursor.pop("position")
        cursor = h.run(procedures.leave(h.tower, 2, False), **cursor, index=index).result()
    h.run(procedures.close(h.tower, 2), **cursor)
    h.update_all({(3, 2): 8}).whole("freeze")
    assert h.elements() == {(i, 2): 8 * (i == 3) for i in range(1, 6)} and broken(h) == []
    assert h.buffer(1, "ptr", 4) == [1, 1, 4, 4] and h.buffer(1, "right", 3) == [2, 3, 5]


def test_blocks_are_as_long_as_can_be() -> None:
    for values in EVERY:
        h = frozen("SparseBlockList(Element(0))", np.array(values))
        stored = [i for i, v in enumerate(values, 1) if v]
        ends = [i for i in stored if i + 1 not in stored]
        assert h.buffer(0, "idx", len(ends)) == ends and h.cell(0, "fill", 1) == len(ends) and broken(h) == []


def test_columns_are_compared_whole() -> None:
    """Runs of columns that differ in one element, in the first one and in the last one."""
    array = np.array([[1, 1, 2, 2, 2], [0, 0, 0, 3, 3]])
    for form in ("RunList(Dense(Element(0)))", "SparseRunList(Dense(Mutex(Element(0))))"):
        for flipped in (array, array[::-1]):
            h = frozen(form, flipped)
            stretches = [(a, b) for a, b, _, _ in h.tensor()._reader().stretches(3, 1, ())]
            assert stretches == [(1, 2), (3, 3), (4, 5)] and broken(h) == []
            assert h.tensor().to_numpy().tolist() == flipped.tolist()


@pytest.mark.parametrize("name", STRETCHED)
def test_a_cursor_goes_on_inside_of_a_stretch(name: str) -> None:
    """From every start: the stretch at index(c) ends at stop(c), its children are one or side by side, and after
    next(c, i) for any i in it the next index is i + 1, or that of another stretch.
    """
    for array in EVERY:
        h = frozen(f"{name}(Element(0))", fit_to_format(f"{name}(Element(0))", np.array(array), "0"))
        stored = [i for (i,) in h.elements()]
        for begin in range(1, 6):
            cursor = h.run(procedures.unfurl(h.tower, 2), position=1, start=begin).result()
            i = h.run(procedures.index(h.tower, 2), **cursor).result()["index"]
            assert i == next((k for k in stored if k >= begin), 0)
            if i == 0:
                continue
            last = h.run(procedures.stop(h.tower, 2), **cursor).result()["index"]
            children = [
                h.run(procedures.child(h.tower, 2), **cursor, index=k).result()["position"] for k in range(i, last + 1)
            ]
            step = REGISTRY[name].stretch == "block"
            assert children == [children[0] + k * step for k in range(len(children))] and children[0] > 0
            for k in range(i, last + 1):
                moved = h.run(procedures.next_(h.tower, 2), **cursor, index=k).result()
                following = h.run(procedures.index(h.tower, 2), **moved).result()["index"]
                assert following == next((at for at in stored if at > k), 0)


def test_runs_are_drawn_as_such_and_their_indices_count() -> None:
    t = Tensor.from_numpy("Dense(RunList(Element(0)))", [[0, 7], [0, 7], [0, 0]])
    assert str(t).splitlines() == [
        "Dense(RunList(Element(0)))  3×2", "├─ [:, 1]", "└─ [:, 2]", "   ├─ [1:2]: 7", "   └─ 3: 0",
    ]  # fmt: skip
    assert t.nnz == 3 and list(t.entries()) == [((1, 2), 7), ((2, 2), 7), ((3, 2), 0)]
    t = Tensor.from_numpy("SparseRunList(Dense(Element(0)))", [[0, 7, 7], [0, 5, 5]])
    assert str(t).splitlines()[1:] == ["└─ [:, 2:3]", "   ├─ 1: 7", "   └─ 2: 5"] and t.nnz == 4
