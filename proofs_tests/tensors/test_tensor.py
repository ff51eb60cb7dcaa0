"""Tensors come from and go to arrays and files, whole or with a message; a drawn fibertree is their `repr`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.towers import COUNTS, same, tower, zero_filled
from wingspan import InputError, ParseError, ProgramError, Tensor, api, parse
from wingspan.buffers.stored import Stored
from wingspan.lang.algebra import exact
from wingspan.tensors import gather
from wingspan.tensors._gather import PIECES
from wingspan.tensors.frozen import Frozen, collect
from wingspan.tensors.tensor import entries_of, from_exact, load
from wingspan.tensors.walk import columns
from wingspan.testing.formats import VALUES, dtype_of, tensors, worth

derandomized = settings(derandomize=True, deadline=None, max_examples=many(60))
CSC = "Dense(SparseList(Element(0.0)))"


# ------------------------------------------------------------------------------------------------------ NumPy and exact


@derandomized
@given(tensors())
def test_exact_arrays_go_there_and_back(made):
    """Doubles as rationals, from any format to any other."""
    form, array = made
    tensor = Tensor.from_numpy(form, array, devices=COUNTS)
    out = tensor.to_exact()
    assert out.dtype == object and all(not isinstance(v, float) for v in out.flat)
    assert same(from_exact(tower(form, *array.shape), out), array)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "uint64", "float16", "float32", "float64", "bool", "object"]
)
def test_every_dtype_of_integers_doubles_and_booleans_loads(dtype):
    array = np.array([[1, 0], [0, 1]]).astype(dtype)
    fill = {"b": "false", "f": "0.0"}.get(array.dtype.kind, "0")
    tensor = Tensor.from_numpy(f"Dense(SparseList(Element({fill})))", array)
    assert tensor.to_numpy().tolist() == array.tolist() and tensor.nnz == 2


def test_arrays_of_other_orders_and_lists_load():
    array = np.arange(6).reshape(2, 3)
    for given_ in (array, np.asfortranarray(array), array[::-1, ::2], array.tolist()):
        assert same(Tensor.from_numpy("Dense(SparseList(Element(0)))", given_), np.asarray(given_))


def test_elements_are_compared_with_the_fill_value_exactly():
    """A double equals no integer beyond 2^53 that it is not, and a boolean no number."""
    big = 2**53
    assert dict(entries_of(np.array([big, big + 1]), float(big))) == {(2,): big + 1}
    assert dict(entries_of(np.array([0.5, 1.0]), Fraction(1, 2))) == {(2,): 1.0}
    assert dict(entries_of(np.array([1.0, 0.25]), Fraction(1, 3))) == {(1,): 1.0, (2,): 0.25}
    assert dict(entries_of(np.array([0, 1]), 0.5)) == {(1,): 0, (2,): 1}
    assert dict(entries_of(np.array([1 / 3]), Fraction(1, 3))) == {(1,): 1 / 3}
    assert dict(entries_of(np.array([0, 1], dtype=object), False)) == {(1,): 0, (2,): 1}
    assert dict(entries_of(np.array([False, True]), False)) == {(2,): True}


REFUSED = {
    "Inf is not a 64-bit integer, which Dense": ("Dense(Element(0))", [1.0, np.inf]),
    "NaN is not a 64-bit integer": ("Element(0)", np.array(np.nan, dtype=object)),
    "does not hold complex128 elements": (CSC, [[1j]]),
    "does not hold <U1 elements": (CSC, [["a"]]),
    "does not hold a str: 'a'": (CSC, np.array([["a"]], dtype=object)),
    "does not hold a NoneType": (CSC, [[None]]),
    "does not hold datetime64": (CSC, np.zeros((1, 1), "M8[s]")),
    "elements": (CSC, np.zeros((1, 1), "i4,i4")),
    "does not hold (float128|float96) elements": (CSC, np.zeros((1, 1), np.longdouble)),
    "not an array": (CSC, [[1, 2], [3]]),
    "has 2 axes, the data has 1": (CSC, [1.0]),
    "true is not a double": (CSC, [[True]]),
    "1 is not a boolean": ("Dense(Element(false))", [1]),
    "1.5 is not a 64-bit integer, which Dense": ("Dense(Element(0))", [1.5]),
    "18446744073709551615 does not fit": ("Dense(Element(0))", np.array([2**64 - 1], dtype=np.uint64)),
    "overflow: 18446744073709551616": ("Dense(Element(0))", [2**64]),
    "is not a dense one": (CSC, scipy.sparse.eye_array(2)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_arrays_that_a_tensor_cannot_hold_are_refused(message):
    form, array = REFUSED[message]
    with pytest.raises(InputError, match=message):
        Tensor.from_numpy(form, array)


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ("Dense(Element(0)", ParseError),
        ("Dense(Element(0)), 3", InputError),
        ("Dense(Element(0))); x = (1", InputError),
        ("Heap(Element(0))", ProgramError),
        ("Dense(3)", ProgramError),
        ("Element(Element(0))", ProgramError),
        ("Shard(nowhere, Element(0))", ProgramError),
        ("Shard(Element(0))", ProgramError),
    ],
)
def test_what_is_no_format_is_refused(form, error):
    with pytest.raises(error):
        Tensor.from_numpy(form, [1])


# ---------------------------------------------------------------------------------------------------------------- SciPy


@derandomized
@given(tensors().filter(zero_filled))
def test_scipy_arrays_go_there_and_back(made):
    """Through each of SciPy's formats, with the same stored elements."""
    form, array = made
    tensor = Tensor.from_numpy(form, array, devices=COUNTS)
    out = tensor.to_scipy()
    assert out.nnz == tensor.nnz and out.dtype == array.dtype
    for kind in ("csc", "csr", "coo", "lil", "dok", "bsr") if array.ndim == 2 and array.size else ("coo",):
        back = Tensor.from_scipy(form, out.asformat(kind), devices=COUNTS)
        assert same(back, array)


@st.composite
def triples(draw) -> tuple[str, scipy.sparse.coo_array, np.ndarray]:
    """An unsorted COO array with duplicates, its fill value, and what it means."""
    fill = draw(st.sampled_from(["0", "0.0", "false"]))
    shape = (3, 2)
    size = draw(st.integers(0, 8))
    small = VALUES[fill].map(lambda v: v if abs(v) < 1e9 else type(v)(1))
    values: np.ndarray = np.array(draw(st.lists(small, min_size=size, max_size=size)), dtype=dtype_of(fill))
    at = [np.array(draw(st.lists(st.integers(0, n - 1), min_size=size, max_size=size)), dtype=int) for n in shape]
    dense = np.full(shape, exact(worth(fill)), dtype=object)
    for i, j, value in zip(*at, values.tolist(), strict=True):
        dense[i, j] = dense[i, j] or value if fill == "false" else dense[i, j] + exact(value)
    return fill, scipy.sparse.coo_array((values, tuple(at)), shape=shape), dense


@derandomized
@given(triples(), st.sampled_from(["coo", "csr", "csc"]))
def test_unsorted_arrays_are_sorted_and_duplicates_summed(made, kind):
    """Exactly, of booleans by or; the array itself stays as it is; what is stored as zero stays stored."""
    fill, coo, dense = made
    matrix = coo if kind == "coo" else coo.asformat(kind)
    before = matrix.data.copy()
    tensor = Tensor.from_scipy(f"SparseList(SparseList(Element({fill})))", matrix)
    assert (matrix.data == before).all()
    assert {at for at, _ in tensor.entries()} == {(int(i) + 1, int(j) + 1) for i, j in zip(*coo.coords, strict=True)}
    assert np.allclose(tensor.to_numpy().astype(float), dense.astype(float))
    if kind == "coo":
        assert (tensor.to_exact() == dense).all()


def test_unsorted_columns_are_sorted():
    matrix = scipy.sparse.csc_array(([3, 1, 2], [2, 0, 1], [0, 2, 3]), shape=(3, 2))
    tensor = Tensor.from_scipy("Dense(SparseList(Element(0)))", matrix)
    assert list(tensor.entries()) == [((1, 1), 1), ((3, 1), 3), ((2, 2), 2)]
    assert matrix.indices.tolist() == [2, 0, 1]


def test_sums_of_small_integers_do_not_wrap():
    matrix = scipy.sparse.coo_array((np.array([100, 100], dtype=np.int8), ([0, 0], [1, 1])), shape=(1, 2))
    assert Tensor.from_scipy("Dense(SparseList(Element(0)))", matrix).to_numpy().tolist() == [[0, 200]]


def test_zeros_that_a_sparse_source_stores_stay_stored():
    """And a dense source has none."""
    matrix = scipy.sparse.csc_array(([0.0, 2.0], [0, 1], [0, 2]), shape=(2, 1))
    assert Tensor.from_scipy(CSC, matrix).nnz == 2
    assert Tensor.from_numpy(CSC, matrix.toarray()).nnz == 1


MATRIX = np.array([[0, 2.0, 0], [1, 0, 3], [0, 0, 4], [5, 0, 0]])


def test_a_masked_array_is_refused_unless_nothing_is_masked():
    """Every entry of arrays: tensors, inputs of programs and of kernels, `einsum`, lazy arrays."""
    given_ = np.ma.array([1.0, 2.0], mask=[False, True])
    program = parse("x = Scalar(0.0)\nx .= 0\nfor i = _\nx[] += A[i]\nend\nreturn x")
    kernel = api.compile(program, inputs={"A": np.ones(2)})
    ways = {
        "Tensor": lambda data: Tensor.from_numpy("Dense(Element(0.0))", data).to_numpy().sum(),
        "run": lambda data: api.run(program, inputs={"A": data})["x"],
        "kernel": lambda data: kernel(A=data),
        "einsum": lambda data: api.einsum("x[] += A[i]", A=data),
        "lazy": lambda data: api.compute(api.lazy(data).sum()),
    }
    for way in ways.values():
        with pytest.raises(InputError, match="some elements are masked, and every element") as caught:
            way(given_)
        assert caught.value.fix == "use .filled(0)"
        assert float(way(np.ma.array([1.0, 2.0], mask=[False, False]))) == float(way(given_.filled(2))) == 3


@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_of_masked_arrays_are_refused_as_these_are(kind):
    """NumPy makes an array of them that has lost the masks, at any depth; so it is with a scalar that is masked."""
    row, whole = np.ma.array([1.0, 2.0], mask=[False, True]), np.ma.array([1.0, 2.0])
    program = parse("x = Scalar(0.0)\nx .= 0\nfor i = _\nfor j = _\nx[] += A[j, i]\nend\nend\nreturn x")
    dense = "Dense(Element(0.0))"
    ways = {
        "Tensor": lambda data: Tensor.from_numpy(f"Dense({dense})", data).to_numpy().sum(),
        "run": lambda data: api.run(program, inputs={"A": data})["x"],
        "einsum": lambda data: api.einsum("x[] += A[i, j]", A=data),
    }
    for way in ways.values():
        with pytest.raises(InputError, match="some elements are masked"):
            way(kind([whole, row]))
        assert float(way(kind([whole, whole]))) == 6
    for data in (kind([1.0, np.ma.masked]), kind([kind([row])])):
        with pytest.raises(InputError, match="some elements are masked"):
            Tensor.from_numpy(dense, data)


SPARSE = {
    **{name: getattr(scipy.sparse, f"{name}_array")(MATRIX) for name in ("csc", "csr", "coo", "dia", "lil", "dok")},
    **{f"{name} matrix": getattr(scipy.sparse, f"{name}_matrix")(MATRIX) for name in ("csc", "dia", "bsr")},
    "bsr of blocks": scipy.sparse.bsr_array(MATRIX, blocksize=(2, 3)),
    "bsr without blocks": scipy.sparse.bsr_array((4, 3), blocksize=(2, 3)),
    "dia without diagonals": scipy.sparse.dia_array((4, 3)),
    "coo of rank 1": scipy.sparse.coo_array(MATRIX[1]),
    "coo of rank 3": scipy.sparse.coo_array(np.arange(8.0).reshape(2, 2, 2)),
    "csr of rank 1": scipy.sparse.csr_array(MATRIX[1]),
}


@pytest.mark.parametrize("name", SPARSE)
def test_every_sparse_array_of_scipys_loads(name):
    """Its format and its rank are arbitrary; `data` has two axes in dia, and three in bsr."""
    matrix = SPARSE[name]
    form = "Dense(" * (len(matrix.shape) - 1) + "SparseList(Element(0.0))" + ")" * (len(matrix.shape) - 1)
    program = parse(f"A = Tensor({form})\nreturn A")
    for tensor in (Tensor.from_scipy(form, matrix), api.bind(program, inputs={"A": matrix}).inputs["A"]):
        assert np.array_equal(tensor.to_numpy(), matrix.toarray())


REPLACED = [
    ("csc", "data", np.ones((4, 2)), "data is no array of 1 axis"),
    ("csc", "data", np.array(3.0), "data is no array of 1 axis"),
    ("csr", "data", None, "data is no array of 1 axis"),
    ("csr", "data", np.ones(5, dtype=object), "data holds objects"),
    ("csr", "data", np.arange(9.0), "indices and data differ in length"),
    ("csr", "indices", np.ones(5), "indices holds no integers"),
    ("csr", "indices", [1, 0, 2, 2, 0], "indices is no array of 1 axis"),
    ("csc", "indptr", np.zeros((4, 1), dtype=int), "indptr is no array of 1 axis"),
    ("csr of rank 1", "indices", np.array([7, 8]), "an index is out of bounds"),
    ("coo", "data", np.ones((5, 2)), "data is no array of 1 axis"),
    ("coo", "coords", (np.ones(5), np.ones(5, dtype=int)), r"coords\[0\] holds no integers"),
    ("coo", "coords", (np.ones(5, dtype=int),), "got 1, expected 2"),
    ("dia", "data", np.ones(5), "data is no array of 2 axes"),
    ("dia", "offsets", np.array([0]), "it has 1 offsets for 4 diagonals"),
    ("bsr of blocks", "data", np.ones(12), "data is no array of 3 axes"),
    ("bsr of blocks", "indices", np.array([9, 9]), "an index is out of bounds"),
    ("bsr of blocks", "indptr", np.array([0]), "it has 1 pointers for 2 fibers"),
    ("csr", "data", np.ma.array(np.ones(5), mask=[False, True, False, False, False]), "data is masked"),
    ("lil", "rows", np.array([[7], [0, 2], [2], [0]], dtype=object), "index 7 exceeds|out of bounds|row index"),
    ("lil", "rows", np.array([[7], [], [], []], dtype=object), r"rows\[1\] and data\[1\] differ in length"),
    ("lil", "rows", np.array([[1], [0], [2], [0]], dtype=object), "rows is no array of 4 lists"),
    ("lil", "data", np.array([2.0, 1.0, 4.0, 5.0]), "data is no array of 4 lists"),
    ("lil", "data", [[2.0], [1.0, 3.0], [4.0], [5.0]], "data is no array of 4 lists"),
]


@pytest.mark.parametrize(("name", "part", "value", "message"), REPLACED)
def test_a_sparse_array_whose_parts_were_replaced_is_one_error(name, part, value, message):
    """Also where SciPy's own conversion would read beyond its arrays."""
    matrix = SPARSE[name].copy()
    setattr(matrix, part, value)
    form = f"{'Dense(' if matrix.ndim == 2 else ''}SparseList(Element(0.0)){')' if matrix.ndim == 2 else ''}"
    for load_it in (
        Tensor.from_scipy,
        lambda form, data: api.bind(parse(f"A = Tensor({form})\nreturn A"), inputs={"A": data}),
    ):
        with pytest.raises(InputError, match=f"not a SciPy sparse array in order: .*({message})"):
            load_it(form, matrix)


def test_a_list_is_no_sparse_array():
    with pytest.raises(InputError, match="a list is not a SciPy sparse array"):
        Tensor.from_scipy(CSC, [[1.0]])


def test_what_is_neither_text_nor_a_format_is_refused():
    for form in (None, 3):
        with pytest.raises(InputError, match=f"{form} is not a format"):
            Tensor.from_numpy(form, [1])  # type: ignore[arg-type]  # that is what is refused


@pytest.mark.parametrize(("form", "array"), [("Element(0)", 3), ("Dense(Element(2))", [1])])
def test_what_scipy_cannot_hold(form, array):
    with pytest.raises(InputError, match=r"SciPy's sparse arrays have .*, and \S+ has (none|2)") as error:
        Tensor.from_numpy(form, array).to_scipy()
    assert form in error.value.message and error.value.fix == "use to_coo() or to_numpy()"


# ----------------------------------------------------------------------------------------------------------- fibertrees


def test_the_drawing_shows_every_fiber():
    """Levels, extents, subscripts, threads, and what is not claimed."""
    form = "Dense(Shard(dev, SparseList(SparseByteMap(Element(0)))))"
    array = np.zeros((2, 2, 2), dtype=int)
    array[0, 1, 1], array[1, 1, 1] = 7, -8
    assert str(Tensor.from_numpy(form, array, devices={"dev": 2})) == (
        "Dense(Shard(dev, SparseList(SparseByteMap(Element(0)))))  2×2×2\n"
        "├─ [:, :, 1]  unclaimed\n"
        "└─ [:, :, 2]  thread 1\n"
        "   └─ [:, 2, 2]\n"
        "      ├─ 1: 7\n"
        "      └─ 2: -8"
    )


@pytest.mark.parametrize("form", ["Dense(Element(0))", "SparseList(Element(0))", "SparseByteMap(Element(0))"])
@pytest.mark.parametrize(
    ("length", "lines", "last"), [(12, 12, "└─ 12: 12"), (13, 13, "└─ … 1 more"), (30, 13, "└─ … 18 more")]
)
def test_long_fibers_are_cut(form, length, lines, last):
    _, *drawn = str(Tensor.from_numpy(form, range(1, length + 1))).splitlines()
    assert len(drawn) == lines and drawn[-1] == last and drawn[11].startswith("└─" if length == 12 else "├─")


def test_a_matrix_that_stores_everything_is_drawn_as_a_grid():
    """Columns are aligned; what the terminal has no room for is counted; a dot stands where no fiber is held."""
    form = "Dense(Dense(Element(0)))"
    assert str(Tensor.from_numpy(form, [[1, -20], [3, 4]])) == f"{form}  2×2\n  1  -20\n  3    4"
    *_, row, end = str(Tensor.from_numpy(form, np.full((13, 40), 7))).splitlines()
    assert row == "  7" * 12 + "  …" and end == "  … 1 more row and 28 more columns"
    kept = Tensor.from_numpy("Dense(Isolate(Dense(Element(0))))", [[0, 1, 0], [0, 2, 0]])
    assert str(kept).splitlines()[1:] == ["  ·  1  ·", "  ·  2  ·"]
    assert kept.to_numpy().tolist() == [[0, 1, 0], [0, 2, 0]]


def test_drawings_of_little():
    assert str(Tensor.from_numpy("Atomic(false)", True)) == "Atomic(false): true"
    assert str(Tensor.from_numpy("Dense(Element(0.5))", [])) == "Dense(Element(0.5))  0"
    assert str(Tensor.from_numpy("SparseList(Element(0.5))", [0.5])) == "SparseList(Element(0.5))  1"


def test_a_fill_value_that_is_not_the_formats_is_told():
    made = load(tower("SparseList(Element(0))", 2), [((1,), 3)])
    assert str(Tensor(made.tower, made.cells, 9)) == "SparseList(Element(0))  2  fill 9\n└─ 1: 3"
    assert Tensor(made.tower, made.cells, 9).to_numpy().tolist() == [3, 9]


def test_doubles_beyond_the_largest_are_infinite():
    """Results are exact, so they can be larger than any double."""
    tensor = load(tower("Dense(Element(0.0))", 2), [((1,), Fraction(10) ** 400), ((2,), Fraction(1, 3))])
    assert tensor.to_numpy().tolist() == [np.inf, 1 / 3] and "1: 1e+400" in str(tensor)


def test_a_hundred_thousand_elements_load():
    """Sorted, into the levels that append, and read again."""
    matrix = scipy.sparse.random_array((2000, 3000), density=1e5 / 6e6, rng=7)
    tensor = Tensor.from_scipy("Dense(SparseList(Element(0.0)))", matrix)
    assert tensor.nnz == 100_000 and abs(tensor.to_scipy() - matrix).max() == 0


def test_what_takes_room_for_every_index_is_refused_when_it_is_too_large():
    """A file may announce any shape; levels that store only what is there take it."""
    large = scipy.sparse.coo_array(([1.5], ([6], [10**14])), shape=(7, 10**15))
    with pytest.raises(InputError, match=r"Dense of Dense.* would have 1000000000000000 positions"):
        Tensor.from_scipy("Dense(SparseList(Element(0.0)))", large)
    assert dict(Tensor.from_scipy("SparseDict(SparseList(Element(0.0)))", large).entries()) == {(7, 10**14 + 1): 1.5}


GATED = [
    "Dense(Shard(dev, SparseList(Element(0.0))))",
    "Dense(Shard(far, Mutex(SparseList(Atomic(0)))))",
    "Dense(Isolate(SparseList(Element(0))))",
    "Merge(dev, Dense(SparseList(Element(0.0))))",
    "SparseByteMap(Shard(dev, SparseList(Element(false))))",
    "SparseDict(SparseList(Element(0)))",
    "Dense(SparseList(Element(0.0)))",
]


@pytest.mark.parametrize("form", GATED)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (5, 7), (2, 300)])
def test_columns_in_several_instances_are_put_in_order(form: str, shape: tuple[int, int], monkeypatch: Any) -> None:
    """Some empty, some full, some of one element, copied by several threads; more instances than are put side by side
    are left alone.
    """
    monkeypatch.setattr(gather, "PART", 3)
    monkeypatch.setattr(gather, "processors", lambda: 4)
    random = np.random.default_rng(2)
    array = random.integers(1, 5, shape) * (random.random(shape) < random.choice([0, 0.5, 1], (1, shape[1])))
    array = array.astype(bool) if "false" in form else array
    tensor = Tensor.from_numpy(form, array, devices={"dev": 2, "far": 3})
    found = columns(tensor.data if isinstance(tensor.data, Frozen) else collect(tensor.tower, tensor.data.values))
    if form.startswith("Dense(Isolate") and (array != 0).any(axis=0).sum() > PIECES:
        assert found is None
        return
    assert found is not None and np.array_equal(found.toarray(), array) and found.dtype == tensor.to_numpy().dtype
    assert np.array_equal(found.indptr, scipy.sparse.csc_array(array).indptr) and found.has_sorted_indices


@pytest.mark.parametrize("width", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("at", "index"), [(0, 0), (0, 2), (1, 1), (1, 5), (2, 5), (3, 2), (3, 3), (4, -1), (5, 2**31 - 1)]
)
def test_columns_whose_indices_are_not_in_order_are_left_to_the_operations(width: type, at: int, index: int) -> None:
    """In any place of any instance: none is out of bounds, and they ascend."""
    array = np.array([[1, 0, 4], [2, 0, 0], [0, 3, 5], [0, 6, 0]])
    made = Tensor.from_numpy("Dense(Isolate(SparseList(Element(0))))", array)
    data = made.data if isinstance(made.data, Frozen) else collect(made.tower, made.data.values)
    idx = {key: stored.logical(np.dtype(width)) for key, stored in data.arrays.items() if key[1] == "idx"}
    whole = Frozen(made.tower, {**data.arrays, **{key: Stored(values) for key, values in idx.items()}})
    found = columns(whole)
    assert found is not None and np.array_equal(found.toarray(), array)
    list(idx.values())[at // 2][at % 2] = index
    assert columns(Frozen(made.tower, {**data.arrays, **{key: Stored(values) for key, values in idx.items()}})) is None


@pytest.mark.parametrize("order", [[1, 2, 3], [2, 3, 1]])
def test_columns_that_one_instance_has_in_order_are_not_copied(order: list[int]) -> None:
    """As one thread of a kernel leaves them, with cells that are not in use; others are put in order in a copy."""
    made = Tensor.from_numpy("Dense(Shard(dev, SparseList(Element(0.0))))", np.eye(3), devices={"dev": 1})
    assert isinstance(made.data, Frozen)
    values = np.array([1.0, 2.0, 3.0, 0.0])
    lists = {"ptr": np.array([1, 2, 2, 4]), "idx": np.array([2, 1, 3, 7])}
    arrays = {**made.data.arrays, (1, "ptr", ()): Stored(np.array(order))}
    arrays |= {(2, name, (("dev", 1),)): Stored(array) for name, array in lists.items()}
    arrays[3, "val", (("dev", 1),)] = Stored(values)
    found = Tensor(made.tower, Frozen(made.tower, arrays), 0).to_scipy()
    columns = np.array([[0.0, 0, 2], [1, 0, 0], [0, 0, 3]])
    assert np.array_equal(found.toarray(), columns[:, [k - 1 for k in order]])
    assert np.shares_memory(found.data, values) == (order == [1, 2, 3])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 2], [3]], "row 2 has 1 element, and row 1 has 2 elements"),
        ([[], [3]], "row 2 has 1 element, and row 1 has 0 elements"),
        ([[1, 2], 3], "row 2 is no row, and row 1 has 2 elements"),
        ((1, [2]), "row 2 has 1 element, and row 1 is no row"),
        ([[[1, 2], [3, 4]], [[5, 6], [7]]], "row 2, 2 has 1 element, and row 1, 1 has 2 elements"),
        ([[[1]], [[2], [3]]], "row 2 has 2 elements, and row 1 has 1 element"),
        ([np.ones(2), np.ones(3)], "row 2 has 3 elements, and row 1 has 2 elements"),
        ([np.ones((2, 2)), [[1, 2], np.ones(3)]], "row 2, 2 has 3 elements, and row 1, 1 has 2 elements"),
    ],
)
def test_rows_of_several_lengths_are_named_with_their_lengths(rows, message):
    with pytest.raises(InputError) as error:
        Tensor.from_numpy("Dense(Dense(Element(0)))", rows)
    assert error.value.message == f"not an array: {message}" and error.value.fix == "give rows of one length"


def test_what_holds_itself_is_no_array():
    rows: list = [[], []]
    rows[0].append(rows)
    rows[1].append(rows)
    with pytest.raises(InputError, match=r"(?m)^error\[input\]: not an array$"):
        Tensor.from_numpy("Dense(Dense(Element(0)))", rows)


@pytest.mark.parametrize("path", ["A.npy", Path("A.npy")])
def test_a_path_is_no_array(path):
    with pytest.raises(InputError) as error:
        Tensor.from_numpy("Dense(Element(0))", path)
    assert error.value.render() == "error[input]: a path is no array\n  fix  use Tensor.from_file"
