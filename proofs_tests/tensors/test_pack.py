"""Entries of any rank become buffers and entries again all at once, and the buffers hold what the operations write."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.towers import COUNTS, ByHand, broken, elements_of, member, same, tower
from wingspan import Tensor, with_fill
from wingspan.buffers.frames import Cell
from wingspan.buffers.stored import Stored
from wingspan.levels import Discipline
from wingspan.tensors.arrays import entries_of
from wingspan.tensors.frozen import Frozen, Key
from wingspan.tensors.pack import TensorEntries, in_order
from wingspan.tensors.tensor import load
from wingspan.testing.formats import dtype_of, formats, rank_of, tensors

derandomized = settings(derandomize=True, deadline=None, max_examples=many(200))
SPARSE = ("SparseList", "SparseDict")
"""Storage levels that take room for entries only."""


def cells(tensor: Tensor) -> dict[Cell, Any]:
    """The cells that hold something, of what is read: the merged level of a Merge, under the key 0, and the Shards of
    thread 1. The first cell of ptr is 1 in each frozen level, which levels without fibers need not be. Below runs there
    are elements that were written to be compared; which of them are read, the entries tell.
    """
    levels, values = tensor.tower.levels, tensor.cells.values
    keyed = [depth for depth, level in enumerate(levels) if level.key]
    scratch = any(level.stretch == "run" for level in levels)

    def read(cell: Cell) -> Cell | None:
        if scratch and levels[cell.depth].leaf:
            return None
        level = levels[cell.depth]
        if level.discipline is Discipline.COPY or cell.buffer not in [b.name for b in level.buffers]:
            return None
        if (cell.buffer, cell.offset) == ("ptr", 1) and not level.modifier:
            return None
        instance = list(cell.instance)
        for k, (depth, (tag, key)) in enumerate(zip(keyed, cell.instance, strict=False)):
            if levels[depth].discipline is Discipline.COPY:
                if key != values.get(Cell("", depth, "now", cell.instance[:k], 1), 0):
                    return None
                instance[k] = tag, 0
            if levels[depth].discipline is Discipline.CLAIM and key != 1:
                return None
        return cell._replace(instance=tuple(instance))

    return {at: value for cell, value in values.items() if value and (at := read(cell)) is not None}


# -------------------------------------------------------------------------------------------- beside the operations


@derandomized
@given(tensors(), st.sampled_from(["dense", "coo", "csr", "csc", "lil"]))
def test_buffers_hold_what_the_operations_write(made, kind):
    """Cell by cell, for any tower: the operations run on entry after entry are the definition."""
    form, array = made
    fill = tower(form).fill
    if kind != "dense" and array.ndim:
        data = scipy.sparse.coo_array((array[stored := array != fill], np.nonzero(stored)), shape=array.shape)
        data = data.asformat(kind) if array.ndim == 2 and array.size and fill == 0 else data
        packed = Tensor.from_scipy(form, with_fill(data, fill), devices=COUNTS)
    else:
        data = array
        packed = Tensor.from_numpy(form, data, devices=COUNTS)
    by_operations = load(tower(form, *array.shape), entries_of(data, fill))
    assert isinstance(packed.data, Frozen) and cells(packed) == cells(by_operations)
    entries = list(packed.entries())
    assert entries == list(by_operations.entries()) and str(packed) == str(by_operations)
    assert packed.nnz == len(entries)


@derandomized
@given(tensors())
def test_a_packed_tensor_keeps_its_invariants(made):
    """As the levels' docstrings state them, and when it has been thawed and frozen again."""
    form, array = made
    h = ByHand(tower(form, *array.shape))
    packed = Tensor.from_numpy(form, array, devices=COUNTS)
    h.cells.values = {cell._replace(tensor="T"): value for cell, value in packed.cells.values.items()}
    assert broken(h) == [] and same(h.tensor(), array)
    h.whole("thaw", "checkout", "commit", "freeze")
    assert broken(h) == [] and same(h.tensor(), array)


@pytest.mark.parametrize("around", ["{}", "Isolate({})", "Mutex({})"])
@pytest.mark.parametrize("below", ["Dense", "SparseList", "SparseByteMap", "SparseDict"])
def test_other_threads_find_their_shards_empty(around: str, below: str) -> None:
    """Loaded elements are all thread 1's; another thread begins with a level without fibers, and adds to that."""
    form = f"Dense({around.format(f'Shard(dev, {below}(Element(3)))')})"
    first, second = np.array([[5, 3], [3, 3]]), np.array([[3, 7], [3, 8]])
    h = ByHand(tower(form, 2, 2), task=member(dev=2))
    packed = Tensor.from_numpy(form, first, devices=COUNTS)
    h.cells.values = {cell._replace(tensor="T"): value for cell, value in packed.cells.values.items()}
    h.whole("thaw", "checkout").update_all(elements_of(second, 3)).whole("commit", "freeze")
    assert same(h.tensor(), np.array([[5, 7], [3, 8]])) and broken(h) == []


# ---------------------------------------------------------------------------------------------- beside a dictionary

EXTENTS = st.sampled_from([0, 1, 2, 3, 5, 64, 65, 2**31 - 1, 2**31, 2**40])


def zero_filled(made: tuple[str, str]) -> bool:
    """Whether SciPy has the fill value, and every element of the kind can be stored."""
    form, fill = made
    return fill.partition(",")[0] in ("0", "0.0", "false") and "Pattern" not in form


@st.composite
def coos(draw) -> tuple[str, scipy.sparse.coo_array]:
    """A format without full levels, and a COO array for it: any rank, in no order, with duplicates and stored zeros."""
    rank = draw(st.integers(1, 5))
    form, fill = draw(formats(rank=rank, storage=SPARSE).filter(zero_filled))
    shape = tuple(draw(st.lists(EXTENTS, min_size=rank, max_size=rank)))
    size = draw(st.integers(0, 12)) if all(shape) else 0
    at = [draw(st.lists(st.sampled_from([0, n // 2, max(n - 1, 0)]), min_size=size, max_size=size)) for n in shape]
    some = {"false": st.booleans(), "0": st.sampled_from([0, 1, -2, 2**40]), "0.0": VALUES}
    value = some.get(fill, st.sampled_from([0, 1]))  # of narrow ones every sum fits
    values = draw(st.lists(value, min_size=size, max_size=size))
    every: np.ndarray = np.array([*zip(values, values, strict=True)], dtype=dtype_of(fill)).reshape(size, 2)
    return form, scipy.sparse.coo_array(
        (every[:, 0], tuple(np.array(axis, dtype=np.int64) for axis in at)), shape=shape
    )


VALUES = st.sampled_from([0.0, 1.0, 0.1, -0.3, 2.0**60, 1e300])


def summed(coo: scipy.sparse.coo_array) -> dict[tuple[int, ...], Any]:
    """The sums of the elements of a COO array, by their subscripts from 1, exactly."""
    found: dict[tuple[int, ...], Any] = {}
    for *at, value in zip(*(axis.tolist() for axis in coo.coords), coo.data.tolist(), strict=True):
        subscripts = tuple(i + 1 for i in at)
        if isinstance(value, bool):
            found[subscripts] = found.get(subscripts, False) or value
        else:
            found[subscripts] = found.get(subscripts, 0) + (Fraction(value) if isinstance(value, float) else value)
    return found


@derandomized
@given(coos())
def test_sparse_arrays_of_any_rank_are_what_a_dictionary_says(made):
    """Sorted, with exact sums of duplicates, of booleans `or`; stored zeros stay; the array is left as it is."""
    form, coo = made
    before = [part.copy() for part in (coo.data, *coo.coords)]
    coo.data.flags.writeable = False
    tensor = Tensor.from_scipy(form, coo, devices=COUNTS)
    expected = summed(coo)
    assert list(tensor.entries()) == sorted(expected.items(), key=lambda entry: entry[0][::-1])
    assert tensor.nnz == len(expected) and tensor.shape == coo.shape
    assert all(np.array_equal(*pair) for pair in zip(before, (coo.data, *coo.coords), strict=True))
    if len(coo.shape) != 2:
        out = tensor.to_scipy()
        assert {at: float(value) for at, value in summed(out).items()} == {
            at: float(value) for at, value in expected.items()
        }


@derandomized
@given(tensors(least=1), st.sampled_from(["C", "F", "strided", "reversed", "read-only"]))
def test_dense_arrays_in_any_order_in_memory_are_what_numpy_says(made, order):
    form, array = made
    given_ = {
        "C": lambda: np.ascontiguousarray(array),
        "F": lambda: np.asfortranarray(array),
        "strided": lambda: np.repeat(array, 2, axis=0)[::2],
        "reversed": lambda: np.flip(np.flip(array).copy()),
        "read-only": array.copy,
    }[order]()
    given_.flags.writeable = False
    tensor = Tensor.from_numpy(form, given_, devices=COUNTS)
    assert same(tensor, array)
    fill = tensor.fill
    assert {at: v for at, v in tensor.entries() if v != fill} == elements_of(array, fill)


def test_sixteen_axes_load() -> None:
    """As many as a tensor may have, the last one first."""
    at = np.random.default_rng(1).integers(0, 3, (16, 200))
    coo = scipy.sparse.coo_array((np.arange(200) + 1, tuple(at)), shape=(3,) * 16)
    form = "SparseList(" * 8 + "SparseDict(" * 8 + "Element(0)" + ")" * 16
    expected = summed(coo)
    assert list(Tensor.from_scipy(form, coo).entries()) == sorted(expected.items(), key=lambda entry: entry[0][::-1])


@pytest.mark.parametrize("form", ["SparseDict(SparseDict(Element(0)))", "SparseList(SparseDict(Mutex(Element(0))))"])
def test_positions_that_64_bits_do_not_hold_are_left_to_the_operations(form: str) -> None:
    """The key of index i in fiber p is (p - 1) · n + i, whatever n is."""
    n = 2**62
    coo = scipy.sparse.coo_array(([1, 2, 3], ([n - 1, 5, n - 1], [0, 1, 2])), shape=(n, 3))
    tensor = Tensor.from_scipy(form, coo)
    assert not isinstance(tensor.data, Frozen)
    assert dict(tensor.entries()) == {(n, 1): 1, (6, 2): 2, (n, 3): 3}
    assert isinstance(Tensor.from_scipy(form, coo.T).data, Frozen)


# ------------------------------------------------------------------------------------------------------- the parts


@pytest.mark.parametrize("n", [2**20, 2**31, 2**40])
def test_huge_subscripts_are_put_in_order(n: int) -> None:
    """Keys with the numbers of the entries in 64 bits, without them, and subscripts axis by axis."""
    order = in_order([np.array([0, n - 1, 5]), np.array([n - 1, 0, 0])], (n, n))
    assert order is not None and order.tolist() == [2, 1, 0]


@derandomized
@given(st.data())
def test_subscripts_are_put_in_order(data):
    """The last axis first, whether their keys fit in 64 bits, with the numbers of the entries or without, or do not."""
    shape = tuple(data.draw(st.lists(EXTENTS.filter(bool), min_size=1, max_size=4)))
    size = data.draw(st.integers(0, 6))
    at = [data.draw(st.lists(st.sampled_from([0, n // 2, n - 1]), min_size=size, max_size=size)) for n in shape]
    subscripts = [np.array(axis, dtype=np.int64) for axis in at]
    order = in_order(subscripts, shape)
    wanted = sorted(zip(*reversed(at), strict=True))
    sorted_ = [axis if order is None else axis[order] for axis in subscripts]
    assert list(zip(*(axis.tolist() for axis in reversed(sorted_)), strict=True)) == wanted
    assert sorted(range(size) if order is None else order.tolist()) == list(range(size))


def test_entries_are_a_tree() -> None:
    """An element for each node, the last axis first; without elements there is a root that has no children."""
    at = [np.array([2, 0, 3, 2]), np.array([0, 0, 3, 3])]
    entries = TensorEntries.from_subscripts(at, (4, 4), np.array([1.5, 2.5, 3.5, 4.5]))
    assert [p.tolist() for p in entries.pointers] == [[0, 2], [0, 2, 4]]
    assert [i.tolist() for i in entries.indices] == [[0, 3], [0, 2, 2, 3]]
    assert entries.values.tolist() == [2.5, 1.5, 4.5, 3.5]
    nothing = TensorEntries.from_subscripts([axis[:0] for axis in at], (4, 4), np.zeros(0))
    assert [p.tolist() for p in nothing.pointers] == [[0, 0], [0]]


@derandomized
@given(st.lists(st.integers(-4, 9), max_size=6), st.integers(0, 2), st.integers(0, 1), st.booleans())
def test_cells_are_taken_from_what_is_stored(places, shift, base, scattered):
    """Cells not in use hold zero; as slices, by number and from hashed buffers."""
    values = np.array([7, 0, 5, 9], dtype=np.int32)
    at = np.array([1, 3, 4, 8]) if scattered else np.arange(1, 5)
    held = dict(zip(at.tolist(), (values + shift).tolist(), strict=True))
    stored = Stored(values, shift, at if scattered else None)
    for wanted in (places, sorted(places), range(len(places)), range(2, 2 + len(places)), [0, 2, 1, 3]):
        found = stored.take(np.array(wanted, dtype=np.int64), base)
        assert found.tolist() == [held.get(place + 1, 0) - base for place in wanted]


def test_runs_are_counted_without_taking_them_apart() -> None:
    """A trillion elements in two runs, which no memory holds one by one."""
    n = 10**12
    runs = {"ptr": Stored.of(1, 3), "right": Stored.of(5, n), "fill": Stored.of(2), "prev": Stored.of(1)}
    buffers: dict[Key, Stored] = {(0, name, ()): stored for name, stored in runs.items()}
    buffers[1, "val", ()] = Stored.of(7, 0)
    levels = tower("RunList(Element(0))", n)
    assert Tensor(levels, Frozen(levels, buffers), 0).nnz == n


# ------------------------------------------------------------------------------------------------- no steps for entries


def steps(run: Callable[[], object]) -> int:
    """The number of Python's instructions in a call."""
    count = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "form",
    [
        "Dense(SparseList(SparseList(Element(0.0))))",
        "SparseList(SparseDict(SparseByteMap(Atomic(0.0))))",
        "Dense(Shard(dev, SparseByteMap(Mutex(Dense(Element(0.0))))))",
        "Merge(dev, SparseDict(SparseList(SparseList(Mutex(Element(0.0))))))",
        "Isolate(Dense(SparseList(Merge(far, SparseList(Element(0.0))))))",
    ],
)
def test_an_entry_takes_no_step_in_python(form: str) -> None:
    """Neither on the way in, from sparse and dense arrays, nor on the way out."""
    taken = []
    for entries in (50, 2000):
        random = np.random.default_rng(entries)
        at = tuple(random.integers(0, 16, (3, entries)))
        coo = scipy.sparse.coo_array((np.ones(entries), at), shape=(16, 16, 16))
        dense = coo.toarray()
        tensor = Tensor.from_scipy(form, coo, devices=COUNTS)
        ways: list[Callable[[], object]] = [
            partial(Tensor.from_scipy, form, coo, devices=COUNTS),
            partial(Tensor.from_numpy, form, dense, devices=COUNTS),
            tensor.to_scipy,
            tensor.to_numpy,
        ]
        taken.append([steps(way) for way in ways])
    assert rank_of(form) == 3 and all(many_ < 1.1 * few for few, many_ in zip(*taken, strict=True)), taken
