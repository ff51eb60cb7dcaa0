"""Arrays as tensors and back: without copying where they fit, the same cells and elements as by the dictionary."""

from __future__ import annotations

from array import array as stdlib_array
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import few, many
from proofs_tests.towers import same, tower
from wingspan import InputError, Tensor, api
from wingspan.buffers.frames import Cell
from wingspan.buffers.stored import Stored
from wingspan.levels import Tower
from wingspan.runtime.memory import buffers, result
from wingspan.tensors.arrays import at_hand, entries_of, frozen, require_array
from wingspan.tensors.frozen import Columns, Frozen, Key, collect, disorder
from wingspan.tensors.tensor import Cells, load
from wingspan.testing.formats import formats, rank_of, tensors

derandomized = settings(derandomize=True, deadline=None, max_examples=many(80))
CSC, DENSE = "Dense(SparseList(Element(0.0)))", "Dense(Dense(Element(0.0)))"
PTR: Key = (1, "ptr", ())
IDX: Key = (1, "idx", ())
VAL: Key = (2, "val", ())
SUMS = f"""
A = Tensor({CSC})
y = Tensor(Dense(Element(0.0)))
y .= 0.0
for j = _
    for i = _
        y[j] += A[i, j]
    end
end
"""


def by_cells(form: str, data) -> Tensor:
    """The tensor as the operations of its levels write it, element by element."""
    made = tower(form, *data.shape)
    return load(made, entries_of(data, made.fill))


def through_arrays(tensor: Tensor) -> Tensor:
    """The tensor as an engine would hand it over: every buffer of its dictionary as an array."""
    return result(tensor.tower, dict(collect(tensor.tower, tensor.cells.values).arrays), tensor.fill)


def agree(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors store the same elements, and say so in every way."""
    exact = bool((one.to_exact() == other.to_exact()).all())
    sparse = not one.shape or one.fill != 0 or np.array_equal(one.to_scipy().toarray(), other.to_scipy().toarray())
    return list(one.entries()) == list(other.entries()) and one.nnz == other.nnz and exact and sparse


# --------------------------------------------------------------------------------------------- equal to the dictionary


@derandomized
@given(tensors())
def test_tensors_of_all_formats_go_through_arrays(made):
    """Elements, sums, drawings: whatever the format, and all cells but zeros."""
    form, array = made
    tensor = by_cells(form, array)
    back = through_arrays(tensor)
    assert agree(back, tensor) and same(back, array) and str(back) == str(tensor)
    names = {(depth, buffer.name) for depth, level in enumerate(back.tower.levels) for buffer in level.buffers}
    known = {c: v for c, v in tensor.cells.values.items() if v and (c.depth, c.buffer) in names}
    assert {c: v for c, v in back.cells.values.items() if v} == known


@settings(derandomized, max_examples=many(120))
@given(tensors(least=1), st.data())
def test_spoiled_arrays_read_as_the_operations_read_them(made, data):
    """A race may have written any number anywhere; what is read then must not depend on how it is read."""
    form, array = made
    arrays = {key: Stored(s.values.copy(), s.shift, s.at) for key, s in buffers("T", by_cells(form, array)).items()}
    numbers = [key for key, s in arrays.items() if s.values.dtype == np.int64 and key[1] != "val" and len(s.values)]
    assume(numbers)
    values = arrays[data.draw(st.sampled_from(sorted(numbers)))].values
    values[data.draw(st.integers(0, len(values) - 1))] = data.draw(st.integers(0, 9))
    spoiled = result(tower(form, *array.shape), arrays, 0)
    cells = Cells(Frozen(spoiled.tower, arrays).dictionary())
    assert list(spoiled.entries()) == list(Tensor(spoiled.tower, cells, 0).entries())


@pytest.mark.parametrize("rows", [[2, 2], [3, 1], [1, 4], [0, 1]])
def test_a_spoiled_list_ends_where_a_loop_would(rows):
    """An index twice, descending, beyond the extent, or none."""
    arrays: dict[Key, np.ndarray | Stored] = {PTR: np.array([1, 3]), IDX: np.array(rows), VAL: np.array([5.0, 6.0])}
    spoiled = result(tower(CSC, 3, 1), arrays, 0)
    cells = Cells(Frozen(spoiled.tower, {key: Stored(np.asarray(a)) for key, a in arrays.items()}).dictionary())
    assert list(spoiled.entries()) == list(Tensor(spoiled.tower, cells, 0).entries()) and spoiled.nnz < 2


@derandomized
@given(tensors(modified=False, storage=("Dense", "SparseList")), st.data())
def test_a_tensor_binds_to_any_format_with_what_it_stores(made, data):
    """Also to its own, as it is."""
    form, array = made
    tensor = Tensor.from_numpy(form, array)
    others = formats(rank=rank_of(form), modified=False).map(lambda each: each[0].partition("Element")[0])
    left_out = ("Atomic", "Pattern", "RunList")  # below runs there are elements that were written to be compared
    prefix = data.draw(others.filter(lambda text: not any(name in text for name in left_out)))
    fill = form.rstrip(")").rpartition("(")[2] or "false"
    wanted = data.draw(st.sampled_from([form, f"{prefix}Element({fill}{')' * (prefix.count('(') + 1)}"]))
    bound = api.bind(api.parse(f"A = Tensor({wanted})\nreturn A"), inputs={"A": tensor}).inputs["A"]
    assert filled(bound) == filled(load(tower(wanted, *array.shape), list(tensor.entries())))


def filled(tensor: Tensor) -> dict[Cell, Any]:
    """The cells that hold something else than zero, which a cell that was never written holds."""
    return {cell: value for cell, value in tensor.cells.values.items() if value}


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([0.1, 0.2], Fraction(0.1) + Fraction(0.2)),
        ([2.0**53, 1.0], 2**53 + 1),
        ([2**62, 2**62 - 1], 2**63 - 1),
        ([3, 4], 7),
        ([1.5e308, 1.5e308], 2 * Fraction(1.5e308)),
        ([True, True], True),
    ],
)
def test_sums_of_duplicates_are_exact(values, total):
    """By SciPy where it does that, which is when they are small and whole."""
    fill = {int: "0", float: "0.0", bool: "false"}[type(values[0])]
    for kind in ("coo", "csr", "csc"):
        parts = (
            (values, ([1, 1], [0, 0])) if kind == "coo" else (values, [1, 1] if kind == "csc" else [0, 0], [0, 0, 2])
        )
        matrix = {"coo": scipy.sparse.coo_array, "csr": scipy.sparse.csr_array, "csc": scipy.sparse.csc_array}[kind]
        tensor = Tensor.from_scipy(f"Dense(SparseList(Element({fill})))", matrix(parts, shape=(2, 2)))
        assert [value for _, value in tensor.entries()] == [total]
        assert isinstance(tensor.data, Frozen) == (total in (7, True))


def test_unsorted_columns_are_sorted():
    """The caller's array stays as it is."""
    unsorted = scipy.sparse.csc_array(([3.0, 1.0], [1, 0], [0, 2]), shape=(2, 1))
    held = buffers("A", Tensor.from_scipy(CSC, unsorted))
    assert held[IDX].values.tolist() == [0, 1] and held[VAL].values.tolist() == [1.0, 3.0]
    assert unsorted.indices.tolist() == [1, 0]


def test_integers_that_doubles_do_not_hold_stay_exact():
    big = np.array([2**53 + 1, 1])
    assert Tensor.from_numpy("Dense(Element(0.0))", big).to_exact().tolist() == [2**53 + 1, 1]
    assert isinstance(Tensor.from_numpy("Dense(Element(0.0))", big - 1).data, Frozen)


# -------------------------------------------------------------------------------------------------------------- copies


@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_csc_that_is_borrowed_is_not_copied(width):
    """Neither by from_scipy nor by bind, whatever the width of its indices, which go on counting from 0."""
    matrix = scipy.sparse.csc_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
    matrix.indices, matrix.indptr = matrix.indices.astype(width), matrix.indptr.astype(width)
    borrowing = Tensor.from_scipy(CSC, matrix, borrow=True)
    bound = api.bind(api.parse(SUMS), inputs={"A": borrowing}).inputs["A"]
    as_matrix = Tensor.from_scipy(CSC, scipy.sparse.csc_matrix(matrix), borrow=True)
    for tensor in (borrowing, bound, as_matrix):
        held = buffers("A", tensor)
        parts = {PTR: matrix.indptr, IDX: matrix.indices, VAL: matrix.data}
        assert all(np.shares_memory(held[key].values, array) for key, array in parts.items())
        assert [held[key].shift for key in parts] == [1, 1, 0]
        assert not any(held[key].values.flags.writeable for key in parts)


@pytest.mark.parametrize(
    ("form", "array"),
    [
        (DENSE, np.asfortranarray(np.ones((2, 3)))),
        ("Dense(Atomic(0))", np.arange(3)),
        ("Dense(Element(false))", np.ones(2, bool)),
    ],
)
def test_a_dense_array_in_column_major_order_that_is_borrowed_is_not_copied(form, array):
    tensor = Tensor.from_numpy(form, array, borrow=True)
    (held,) = buffers("A", tensor).values()
    assert np.shares_memory(held.values, array) and not held.values.flags.writeable
    out = tensor.to_numpy()
    assert not np.shares_memory(out, array) and out.flags.writeable
    bound = api.bind(api.parse(f"A = Tensor({form})\nreturn A"), inputs={"A": tensor}).inputs["A"]
    assert bound is tensor


def binding(form: str, data) -> Tensor:
    """The input A of a bound program."""
    return api.bind(api.parse(f"A = Tensor({form})\nreturn A"), inputs={"A": data}).inputs["A"]


@pytest.mark.parametrize(
    ("form", "data"),
    [
        (DENSE, np.asfortranarray(np.ones((2, 3)))),
        (DENSE, np.ones((1, 3))),
        ("Dense(Element(0))", np.arange(1, 7)[::2]),
        ("Dense(Element(0))", stdlib_array("q", [1, 2, 3])),
        ("Dense(Element(0))", np.arange(1, 4, dtype=np.int32)),
        ("Element(0.0)", np.array(2.5)),
        (CSC, scipy.sparse.csc_array(np.eye(3))),
        (CSC, scipy.sparse.csr_array(np.eye(3))),
        (CSC, scipy.sparse.coo_array(np.eye(3))),
        ("SparseList(Element(0.0))", scipy.sparse.coo_array(np.ones(3))),
        (DENSE, scipy.sparse.dia_array(np.eye(3))),
        ("SparseDict(SparseDict(Element(0.0)))", scipy.sparse.csc_array(np.eye(3))),
        ("Dense(SparseList(SparseList(Element(0.0))))", scipy.sparse.coo_array(([1.0, 2.0], [[0, 1]] * 3))),
    ],
)
def test_whoever_changes_arrays_later_changes_no_tensor(form, data):
    """Neither one that was made of them, nor a bound program, before or after its cells have been asked for."""
    sparse = scipy.sparse.issparse(data)
    made = (Tensor.from_scipy if sparse else Tensor.from_numpy)(form, data)
    tensors = [made, binding(form, data), binding(form, made)]
    before = tensors[0].to_exact().tolist()
    cells = [dict(buffers("A", tensor)) for tensor in tensors]
    kept = [{key: stored.values.copy() for key, stored in each.items()} for each in cells]
    names = (
        ["data", *{"csc": ("indices", "indptr"), "csr": ("indices", "indptr")}.get(data.format, ())] if sparse else []
    )
    parts = [getattr(data, name) for name in names] if sparse else [np.asarray(data)]
    for array in [*parts, *(data.coords if sparse and data.format == "coo" else ())]:
        array[...] = 7
    for each, copies in zip(cells, kept, strict=True):
        assert all(np.array_equal(each[key].values, copies[key]) for key in copies)
    assert all(tensor.to_exact().tolist() == before for tensor in tensors)


@pytest.mark.parametrize("form", [DENSE, CSC])
def test_a_result_that_is_bound_is_not_what_was_handed_out(form):
    """An engine's arrays are handed out to be read; a program that has them as its input has its own."""
    text = f"C = Tensor({form}, 2, 2)\nC .= 0.0\nfor j = 1:2\nfor i = 1:2\nC[i, j] = i + 2.5 * j\nend\nend\nreturn C"
    made = api.run(api.parse(text), engine="native").tensors["C"]
    bound = binding(form, made)
    handed_out = made.to_numpy() if form == DENSE else made.to_scipy().data
    assert not handed_out.flags.writeable
    handed_out.flags.writeable = True
    handed_out[...] = 0.0
    assert bound.to_numpy().tolist() == [[3.5, 6.0], [4.5, 7.0]]


COUNTED: dict[str, tuple[Tower, dict[Key, np.ndarray | Stored]]] = {
    "csc": (tower(CSC, 2, 2), {PTR: np.array([1, 3, 4]), IDX: np.array([1, 2, 2])}),
    "in place": (tower(CSC, 2, 2), {PTR: np.array([1, 3, 4]), IDX: Stored(np.array([0, 1, 1]), 1)}),
    "vector": (
        tower("SparseList(Element(0.0))", 3),
        {(0, "ptr", ()): np.array([1, 4]), (0, "idx", ()): np.array([1, 2, 3])},
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_scipy_does_not_change_the_result_that_it_is_made_of(name):
    """Memory shared with it is read-only: SciPy would move its elements, and not its indices. A copy can be written."""
    levels, arrays = COUNTED[name]
    tensor = result(levels, {**arrays, (len(levels.levels) - 1, "val", ()): np.array([0.0, 2.0, 3.0])}, 0)
    before, made = tensor.to_numpy().tolist(), tensor.to_scipy()
    for change in (lambda: made.data.fill(7), made.eliminate_zeros):
        with suppress(ValueError):  # of COO it makes other arrays
            change()
        assert tensor.to_numpy().tolist() == before
    with pytest.raises(ValueError, match="read-only"):
        tensor.to_scipy().data[0] = 7
    copy = tensor.to_scipy().copy()
    copy.data[...] = 7
    assert tensor.to_numpy().tolist() == before and (copy.data == 7).all()


def test_numpy_does_not_change_the_result_that_it_is_made_of():
    tensor = result(tower(DENSE, 2, 2), {VAL: np.array([0.0, 2.0, 3.0, 0.0])}, 0)
    made = tensor.to_numpy()
    with pytest.raises(ValueError, match="read-only"):
        made += 1
    assert tensor.to_exact().tolist() == [[0, 3], [2, 0]]


def test_results_are_handed_over_without_copying():
    """Dense elements, and the values of CSC; arrays longer than what is in use are cut."""
    values = np.arange(7.0)
    out = result(tower(DENSE, 2, 3), {VAL: values}, 0).to_numpy()
    assert np.shares_memory(out, values) and out.tolist() == [[0, 2, 4], [1, 3, 5]]
    flags = np.array([0, 1, 1], dtype=np.uint8)
    truths = result(tower("Dense(Element(false))", 3), {(1, "val", ()): flags}, False).to_numpy()
    assert np.shares_memory(truths, flags) and truths.tolist() == [False, True, True]
    arrays: dict[Key, np.ndarray | Stored] = {
        PTR: np.array([1, 3, 4, 0]),
        IDX: np.array([1, 2, 2, 0], dtype=np.int32),
        VAL: values[:4],
    }
    matrix = result(tower(CSC, 2, 2), arrays, 0).to_scipy()
    assert np.shares_memory(matrix.data, values) and matrix.toarray().tolist() == [[0, 0], [1, 2]]


def test_a_result_of_shards_is_one_matrix():
    """Column 2 is the first of thread 1, column 1 the first of thread 2, and column 3 is unclaimed."""
    made = tower("Dense(Shard(dev, SparseList(Element(0.0))))", 3, 3)
    arrays: dict[Key, np.ndarray | Stored] = {
        (1, "ptr", ()): np.array([1, 1, 0]),
        (1, "owner", ()): np.array([2, 1, 0]),
    }
    for t, rows in ((1, [2]), (2, [1, 3])):
        inside = (("dev", t),)
        arrays[2, "ptr", inside], arrays[2, "idx", inside] = np.array([1, len(rows) + 1]), np.array(rows)
        arrays[3, "val", inside] = np.array([10.0 * t + i for i in rows])
    tensor = result(made, arrays, 0)
    assert tensor.to_scipy().toarray().tolist() == [[21, 0, 0], [0, 12, 0], [23, 0, 0]]
    assert list(tensor.entries()) == [((1, 1), 21), ((3, 1), 23), ((2, 2), 12)]


def test_what_a_dictionary_would_not_hold_binds_as_an_array(monkeypatch):
    """The limit is on what is made for every index, not on what is there already."""
    monkeypatch.setattr("wingspan.tensors.tensor.LARGEST", 5)
    array = np.ones(6)
    tensor = Tensor.from_numpy("Dense(Element(0.0))", array)
    bound = api.bind(api.parse("A = Tensor(Dense(Element(0.0)))\nreturn A"), inputs={"A": tensor}).inputs["A"]
    assert bound.nnz == 6 and bound.to_numpy().tolist() == [1.0] * 6 and "… " not in str(bound)
    with pytest.raises(InputError, match="would have 6 positions, and 5 is the most"):
        _ = bound.cells
    assert Tensor.from_numpy("SparseByteMap(Element(0.0))", array).nnz == 6
    with pytest.raises(InputError, match="would have 6 positions, and 5 is the most"):
        Tensor.from_numpy("SparseByteMap(Element(0.0))", array.astype(object))
    with pytest.raises(InputError, match="would have 6 positions, and 5 is the most"):
        Tensor.from_scipy("Dense(Element(0.0))", scipy.sparse.coo_array(([1.0], ([0],)), shape=(6,)))


# ------------------------------------------------------------------------------------------------------------- refused


def matrix_with(kind: str = "csc", **parts: list[int]) -> scipy.sparse.sparray:
    """A matrix whose arrays have been changed after it was made."""
    parts_of = [1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 3]
    csc = kind == "csc"
    matrix = scipy.sparse.csc_array(parts_of, shape=(3, 2)) if csc else scipy.sparse.csr_array(parts_of, shape=(2, 3))
    for name, values in parts.items():
        setattr(matrix, name, np.array(values, dtype=np.int32))
    return matrix


SPOILED = {
    "do not begin at the first entry": {"indptr": [1, 2, 3]},
    "pointers do not ascend": {"indptr": [0, 4, 3]},
    "announce 5 entries, and there are 3": {"indptr": [0, 2, 5]},
    "it has 4 pointers for 2 fibers": {"indptr": [0, 2, 3, 3]},
    "an index is out of bounds": {"indices": [0, 3, 1]},
    "index is out of bounds": {"indices": [0, -1, 1]},
}


@pytest.mark.parametrize("message", SPOILED)
@pytest.mark.parametrize("kind", ["csc", "csr"])
def test_spoiled_sparse_arrays_are_refused(message, kind):
    matrix = matrix_with(kind, **SPOILED[message])
    for form in (CSC, DENSE, "SparseDict(SparseByteMap(Element(0.0)))"):
        with pytest.raises(InputError, match=f"not a SciPy sparse array in order: .*{message}"):
            Tensor.from_scipy(form, matrix)


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 2, "the indices of a fiber do not ascend"),
        (1, 0, "the indices of a fiber do not ascend"),
        (2, 3, "an index is out of bounds"),
    ],
)
def test_a_borrowed_array_that_is_spoiled_later_is_refused_before_anything_runs(at, value, message):
    """By all engines in the same words, and by whoever binds the tensor again; also if it has been run before."""
    matrix = matrix_with()
    tensor = Tensor.from_scipy(CSC, matrix, borrow=True)
    bound = api.bind(api.parse(SUMS), inputs={"A": tensor})
    for engine in api.ENGINES:
        assert api.run(bound, engine=engine).tensors["y"].to_numpy().tolist() == [3.0, 3.0]
    matrix.indices[at] = value
    ways: list[Callable[[], object]] = [partial(api.run, bound, engine=engine) for engine in api.ENGINES]
    ways.append(partial(api.explore, bound))
    for refusing in ways:
        with pytest.raises(InputError, match=rf"^error\[input\]: A: not a tensor in order: {message}"):
            refusing()
    with pytest.raises(InputError, match=rf"^error\[input\]: A: not a tensor in order: {message}"):
        api.bind(api.parse(SUMS), inputs={"A": tensor})


@pytest.mark.parametrize("at", [0, 2])
def test_a_borrowed_array_that_is_spoiled_later_is_not_handed_out(at, tmp_path):
    """Every reader of the tensor reports it; a copy is not spoiled."""
    matrix = matrix_with()
    tensor, copy = (Tensor.from_scipy(CSC, matrix, borrow=borrow) for borrow in (True, False))
    ways: dict[str, Callable[[Tensor], object]] = {
        "to_numpy": Tensor.to_numpy,
        "to_scipy": Tensor.to_scipy,
        "to_coo": Tensor.to_coo,
        "to_exact": Tensor.to_exact,
        "str": str,
        "npz": lambda tensor: tensor.save(tmp_path / "A.npz"),
        "mtx": lambda tensor: tensor.save(tmp_path / "A.mtx"),
        "npy": lambda tensor: tensor.save(tmp_path / "A.npy"),
    }
    for way in ways.values():
        way(tensor)
    matrix.indices[at] = 77
    for way in ways.values():
        with pytest.raises(InputError, match=r"not a tensor in order: Dense\(.*: an index is out of bounds"):
            way(tensor)
        way(copy)


@pytest.mark.parametrize(("first", "second"), few(list(product(["i4", "i8", "i2", "u4"], ["i4", "i8", "i2"])), 4))
def test_only_lists_in_order_pass(first, second):
    """Against the invariant, fiber by fiber, for all lists of two fibers and up to three entries, in both countings.

    Integers of 32 and 64 bits are looked through in one pass, others by NumPy.
    """
    lists = [indices for size in range(4) for indices in product(range(4), repeat=size)]
    for pointers, indices, children in product(product(range(4), repeat=3), lists, (1, 3)):
        fibers = [indices[a:b] for a, b in pairwise(pointers)]
        good = pointers[0] == 0 and sorted(pointers) == list(pointers) and pointers[-1] <= min(len(indices), children)
        good = good and all(list(fiber) == sorted(set(fiber)) and 3 not in fiber for fiber in fibers)
        ptr, idx = np.array(pointers, first), np.array(indices, second)
        assert (disorder(Stored(ptr, 1), Stored(idx, 1), children, 2, 3) is None) == good
        assert (disorder(Stored(ptr + 1), Stored(idx + 1), children, 2, 3) is None) == good


BLOCK = 8192
"""Entries that the check looks at together."""


def test_long_lists_pass_only_if_every_entry_is_in_order():
    """Any entry may be spoiled, in fibers of any length: also the first and the last one of a block of entries."""
    sizes = [5, 0, BLOCK - 6, 1, 1, 0, 3 * BLOCK, 2, BLOCK - 2, 7]
    ptr = np.cumsum([0, *sizes], dtype=np.int32)
    idx = np.concatenate([np.arange(size) * 2 for size in sizes]).astype(np.int32)
    extent = int(idx.max()) + 1

    def passes():
        return disorder(Stored(ptr, 1), Stored(idx, 1), len(idx), len(sizes), extent) is None

    assert passes()
    begins = set(ptr.tolist())
    for k in sorted({at + d for at in (0, *range(BLOCK, len(idx), BLOCK), *begins) for d in (-2, -1, 0, 1)}):
        if 0 <= k < len(idx):
            good = idx[k]
            for bad in (-1, extent, *([] if k in begins else [idx[k - 1]])):
                idx[k] = bad
                assert not passes(), (k, bad)
            idx[k] = good
    assert passes()


FORMS = ["Dense(SparseList(Element(0.0)))", "Dense(Dense(Element(0.0)))", "Dense(SparseList(Element(0)))"]
FORMS += ["Dense(Dense(Element(false)))", "SparseList(Element(0.0))", "Dense(Element(0.0))", "SparseDict(Element(0.0))"]


def arrays_of_all_kinds():
    """SciPy's and NumPy's arrays in order, and out of it, in other types, orders and formats."""
    whole = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 3.0]])
    yield from (whole, np.asfortranarray(whole), whole.T, whole[:, ::-1], whole.astype(int), whole > 0, whole[0])
    yield from (whole.astype(np.float32), whole.astype(">f8"), np.full((2, 3), np.inf), whole[:0], np.array(1.0))
    csc = scipy.sparse.csc_array(whole)
    yield from (csc, scipy.sparse.csc_matrix(whole), csc.tocsr(), csc.tocoo(), csc.astype(int), csc.astype(bool))
    yield from (csc.astype(np.float32), scipy.sparse.csc_array((0, 3)), scipy.sparse.csc_array((3, 0)))
    for name, changes in {
        "data": [np.array([1.0, np.nan, 2.0]), np.ones(4), np.ones(2), np.ones((3, 1)), np.ones(6)[::2]],
        "indices": [np.array([0, 1, 2]), np.array([-1, 1, 0]), np.zeros(6, int)[::2], np.array([0.0, 1.0, 1.0])],
        "indptr": [np.array([0, 1, 2]), np.array([0, 2, 1, 3]), np.array([1, 1, 2, 3]), np.array([0, 1, 2, 3], "u4")],
    }.items():
        for change in changes:
            spoiled = csc.copy()
            setattr(spoiled, name, change)
            yield spoiled
    unsorted = scipy.sparse.csc_array((np.ones(3), np.array([1, 0, 0]), np.array([0, 2, 3])), shape=(2, 2))
    twice = scipy.sparse.csc_array((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    yield from (unsorted, twice)


def test_arrays_at_hand_are_what_they_would_be_if_they_were_checked():
    """In any other case nothing is taken; and what is, is the caller's own, not to be written."""
    taken = 0
    for form, data in product(FORMS, arrays_of_all_kinds()):
        made = tower(form, *data.shape)
        found = at_hand(made, data)
        if found is None:
            continue
        taken += 1
        expected = frozen(made, require_array(data))
        assert expected is not None and expected.arrays.keys() == found.arrays.keys()
        for key, stored in expected.arrays.items():
            other = found.arrays[key]
            np.testing.assert_array_equal(other.values, stored.values, f"{form} {data}")
            assert other.shift == stored.shift
            assert other.values.dtype == stored.values.dtype and not other.values.flags.writeable
        held = data.data if scipy.sparse.issparse(data) else data
        assert held.size == 0 or np.shares_memory(found.arrays[len(made.levels) - 1, "val", ()].values, held)
    assert taken == 10


def test_only_dense_levels_over_one_list_are_arrays_in_one_piece():
    forms = {"Element(0)", "Dense(Atomic(0))", "SparseList(Element(0))", "Dense(Dense(SparseList(Element(0))))"}
    others = {"SparseList(Dense(Element(0)))", "Dense(Mutex(Element(0)))", "SparseDict(Element(0))"}
    for form in forms | others:
        made = tower(form, *(2,) * (form.count("(") - 1 - form.count("Mutex")))
        assert (Columns.from_tower(made) is not None) == (form in forms)
