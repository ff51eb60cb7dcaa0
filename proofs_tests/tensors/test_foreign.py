"""Arrays of other libraries become tensors, and tensors become theirs again."""

from __future__ import annotations

from itertools import chain, combinations_with_replacement, product
from types import SimpleNamespace

import numpy as np
import pyarrow
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.tensors.pydata import compressed, coordinates
from proofs_tests.towers import COUNTS, same, tower
from wingspan import InputError, Tensor, api
from wingspan.tensors.foreign import RunArray, adopt
from wingspan.tensors.frozen import Frozen
from wingspan.testing.formats import arrays, formats, tensors

derandomized = settings(derandomize=True, deadline=None, max_examples=many(100))

# ------------------------------------------------------------------------------------------------------------- pydata


@pytest.mark.deep  # loads the library
def test_the_arrays_in_place_of_those_of_pydata_have_the_same_parts():
    import sparse

    array = np.array([1, 0, 0, 2, 0, 0, 3, 0]).reshape(2, 2, 2)
    coo = ((coordinates(array, fill), sparse.COO.from_numpy(array, fill_value=fill)) for fill in (0, 1))
    every = [(0,), (1,), (2,), (0, 2)]
    gcxs = ((compressed(array, *axes), sparse.GCXS.from_numpy(array, compressed_axes=axes)) for axes in every)
    for one, other in chain(coo, gcxs):
        ours, theirs = one.nodes(), other.get_nodes()
        assert ours.keys() == theirs.keys() and (one.ndim, one.dtype) == (other.ndim, other.dtype)
        for name, part in theirs.items():
            np.testing.assert_array_equal(ours[name], part)


@pytest.mark.deep  # loads the library
@derandomized
@given(st.data(), st.sampled_from(["COO", "GCXS", "DOK"]))
def test_arrays_of_pydata_are_read(data, kind):
    """COO, GCXS with any compressed axes, and DOK, of rank 1 to 4, with the fill value of the format."""
    import sparse

    rank = data.draw(st.integers(1, 4))
    form, fill = data.draw(formats(rank=rank, storage=("Dense", "SparseList", "SparseDict", "SparseRunList")))
    array = data.draw(arrays(rank, fill, extent=3))
    value = tower(form).fill
    if array.dtype.kind == "f" or "Pattern" in form:
        array = np.abs(array) % 2 == 1 if "Pattern" in form else array
    made = sparse.COO.from_numpy(array, fill_value=array.dtype.type(value))
    if kind == "GCXS":
        axes = data.draw(st.sets(st.integers(0, rank - 1), min_size=1, max_size=max(rank - 1, 1)))
        made = sparse.GCXS.from_coo(made, compressed_axes=tuple(sorted(axes)) if rank > 1 else None)
    if kind == "DOK":
        made = sparse.DOK.from_coo(made)
    assert same(Tensor.from_sparse(form, made, devices=COUNTS), array)


@pytest.mark.parametrize("axis", [0, 1])
def test_matrices_of_pydata_may_be_compressed_along_either_axis(axis):
    matrix = np.array([[1.5, 0, 2], [0, 0, 3]])
    made = compressed(matrix, axis)
    assert same(Tensor.from_sparse("SparseList(SparseList(Element(0.0)))", made), matrix)


def test_a_pydata_array_is_an_input():
    """Also one whose fill value must be named; what is no such array, or out of order, is refused."""
    made = coordinates(np.array([[1.5, 0], [0, 2]]))
    assert (
        api.run(api.parse("x = Scalar(0.0)\nx .= 0\nx[] += A[1, 1]\nreturn x"), inputs={"A": made})
        .tensors["x"]
        .to_numpy()
        == 1.5
    )
    with pytest.raises(InputError, match=r"its fill value is 1.0, that of Dense\(Dense\(Element\(0.0\)\)\) is 0.0"):
        Tensor.from_sparse("Dense(Dense(Element(0.0)))", coordinates(np.ones((2, 2)), 1.0))
    with pytest.raises(InputError, match="a list is not an array of pydata/sparse"):
        Tensor.from_sparse("Dense(Element(0.0))", [1])
    made.coords[0, 1] = 7
    with pytest.raises(InputError, match="not a"):
        Tensor.from_sparse("Dense(SparseList(Element(0.0)))", made)


@pytest.mark.parametrize("shape", [(2, 4), (2, 2, 2)])
@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("indptr", [0, 10**8, 8], "its pointers do not ascend"),
        ("indptr", [0, -5, 8], "its pointers do not ascend"),
        ("indptr", [0, 4], "index pointer size 2 should be 3"),
        ("indptr", [0.5, 4, 8], "its indices and pointers are no integers"),
        ("indptr", None, "its indices and pointers are no integers"),
        ("indices", [0, 1, 2, 3, 0, 1, 2, 4], "an index is out of bounds"),
        ("indices", [0], "indices and data should have the same size"),
        ("data", np.ones((2, 4)), "data, indices, and indptr should be 1-D"),
    ],
)
def test_spoiled_compressed_arrays_of_pydata_are_refused(shape, part, value, message):
    """By what is wrong with them; compiled code of that library would go where the pointers say."""
    made = compressed(np.ones(shape), 0)
    setattr(made, part, None if value is None else np.array(value))
    form = f"Dense({'SparseList(' * (len(shape) - 1)}Element(0.0){')' * len(shape)}"
    with pytest.raises(InputError, match=f"in order: {message}"):
        Tensor.from_sparse(form, made)


@pytest.mark.deep  # loads the library
def test_a_spoiled_number_of_pydata_is_refused():
    import sparse

    made = sparse.COO.from_numpy(np.array(2.0))
    made.data = np.ones(7)
    with pytest.raises(InputError, match="not a sparse array in order"):
        Tensor.from_sparse("Element(0.0)", made)


# -------------------------------------------------------------------------------------------------------------- SciPy


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"])
@pytest.mark.parametrize("form", ["Dense(SparseBand(Element(0.0)))", "SparseList(SparseBlockList(Element(0.0)))"])
def test_every_format_of_scipy_is_read(kind, form):
    """Arrays and matrices; DIA as bands, too."""
    matrix = np.array([[1, 2, 0, 0], [0, 3, 4, 0], [0, 0, 5, 6], [0, 0, 0, 7]], dtype=float)
    for suffix in ("array", "matrix"):
        made = getattr(scipy.sparse, f"{kind}_{suffix}")(matrix)
        assert same(Tensor.from_scipy(form, made), matrix)


def test_blocks_have_axes_of_their_own():
    """Four axes are asked for by a format with four: column and row in a block, column and row of the block."""
    matrix = np.kron(np.array([[1, 0, 2], [0, 3, 0]]), np.arange(1, 7).reshape(2, 3))
    blocks = scipy.sparse.bsr_array(matrix, blocksize=(2, 3))
    blocks = scipy.sparse.bsr_array((blocks.data[::-1], blocks.indices[::-1].copy(), [0, 1, 3]), shape=matrix.shape)
    tensor = Tensor.from_scipy("Dense(SparseList(Dense(Dense(Element(0)))))", blocks)
    assert tensor.shape == (3, 2, 3, 2) and tensor.nnz == 18
    dense, expected = tensor.to_numpy(), blocks.toarray()
    for c, r, j, i in np.ndindex(tensor.shape):
        assert dense[c, r, j, i] == expected[2 * i + r, 3 * j + c]
    assert same(Tensor.from_scipy("Dense(SparseList(Element(0)))", blocks), expected)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("indices", [0, 5, 0, 1], "an index is out of bounds"),
        ("indptr", [0, 3, 2], "its pointers do not ascend"),
        ("indptr", [0, -5, 4], "its pointers do not ascend"),
        ("indptr", [0, 2, 1], "its pointers do not ascend"),
        ("indptr", [5, 1, 4], "its pointers do not begin at the first entry"),
        ("indptr", [0, 2, 2**30], "its pointers announce 1073741824 entries, and there are 4"),
    ],
)
def test_spoiled_blocks_are_refused(part, value, message):
    """In the same words whether blocks have axes of their own, and before NumPy or SciPy take them apart."""
    blocks = scipy.sparse.bsr_array(np.ones((4, 4)), blocksize=(2, 2))
    setattr(blocks, part, np.array(value, dtype=np.int32))
    for form in ("Dense(SparseList(Dense(Dense(Element(0.0)))))", "Dense(SparseList(Element(0.0)))"):
        with pytest.raises(InputError, match=f"not a SciPy sparse array in order: {message}"):
            Tensor.from_scipy(form, blocks)


# -------------------------------------------------------------------------------------------------------------- Arrow

LEAVES = [("Element(0)", "int8"), ("Element(0)", "int64"), ("Element(0.0)", "float64"), ("Element(false)", "bool")]
FORMS = ["RunList({})", "SparseRunList({})", "RunList(Mutex({}))", "SparseList({})", "Dense({})", "SparseInterval({})"]


@derandomized
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), max_size=6),
    st.sampled_from(FORMS),
    st.sampled_from(["int16", "int32", "int64"]),
    st.sampled_from(LEAVES),
    st.data(),
)
def test_runs_of_arrow_are_runs(runs, form, ends, leaf, data):
    """With neighbours that are equal, slices, and any width; in every format, and back."""
    if "Interval" in form:
        runs = [(n, 2 * (k == 1)) for k, (n, _) in enumerate(runs)]
    lengths, values = [n for n, _ in runs], [v for _, v in runs]
    kind = np.dtype(leaf[1])
    array = pyarrow.RunEndEncodedArray.from_arrays(
        pyarrow.array(np.cumsum(lengths), getattr(pyarrow, ends)()), pyarrow.array(np.array(values, dtype=kind))
    )
    first = data.draw(st.integers(0, len(array)))
    array = array.slice(first, data.draw(st.integers(0, len(array) - first)))
    expected = np.repeat(np.array(values, dtype=kind), lengths)[first : first + len(array)]
    tensor = Tensor.from_arrow(form.format(leaf[0]), array)
    assert tensor.to_numpy().tolist() == expected.tolist()
    tensor.validate()
    back = tensor.to_arrow()
    assert np.asarray(back.to_pylist()).tolist() == expected.tolist()
    assert hasattr(back, "run_ends") == ("Run" in form or "Interval" in form)


@pytest.mark.parametrize("first", range(6))
def test_parts_of_runs_are_runs(first):
    """A part may begin and end anywhere, also in the middle of a run, and after a slice of a slice."""
    array = pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([2, 3, 6]), pyarrow.array([7, 0, 9]))
    expected = [7, 7, 0, 9, 9, 9]
    for length in range(7 - first):
        part = array.slice(first).slice(0, length)
        assert Tensor.from_arrow("RunList(Element(0))", part).to_numpy().tolist() == expected[first : first + length]


def test_only_nulls_within_a_part_matter():
    """A part of a run that is null has nulls, and no other part has; so with plain arrays."""
    array = pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([2, 4, 6]), pyarrow.array([7, None, 9]))
    plain = pyarrow.array([7, 7, None, None, 9, 9])
    for first, end in combinations_with_replacement(range(7), 2):
        expected, length = plain.to_pylist()[first:end], end - first
        for form, whole in (("RunList(Element(0))", array), ("SparseList(Element(0))", plain)):
            if None in expected:
                with pytest.raises(InputError, match="it has nulls"):
                    Tensor.from_arrow(form, whole.slice(first, length))
            else:
                assert Tensor.from_arrow(form, whole.slice(first, length)).to_numpy().tolist() == expected


def test_runs_of_arrow_are_not_copied():
    """A trillion elements in three runs; neighbours that are equal are joined."""
    ends, values = np.array([5, 10**6, 10**12]), np.array([7, 0, 9])
    array = pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array(ends), pyarrow.array(values))
    tensor = Tensor.from_arrow("RunList(Element(0))", array)
    assert isinstance(tensor.data, Frozen) and tensor.nnz == 10**12
    held = [stored.values for stored in tensor.data.arrays.values()]
    assert any(np.shares_memory(each, ends) for each in held) and any(np.shares_memory(each, values) for each in held)
    assert str(tensor).splitlines()[1:] == ["├─ [1:5]: 7", "├─ [6:1000000]: 0", "└─ [1000001:1000000000000]: 9"]
    assert np.shares_memory(np.asarray(tensor.to_arrow().values), values)
    joined = pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([2, 3, 4]), pyarrow.array([1, 1, 0]))
    assert Tensor.from_arrow("RunList(Element(0))", joined).to_arrow().run_ends.to_pylist() == [3, 4]


def test_runs_in_no_chunks_are_runs():
    """So is a column of a file that has no elements; NumPy's view of it would need more of Arrow than its arrays."""
    column = pyarrow.chunked_array([], pyarrow.run_end_encoded(pyarrow.int64(), pyarrow.float64()))
    found = adopt(column, "it", 1, 0)
    assert isinstance(found, RunArray) and found.shape == (0,) and found.values.dtype == np.float64


@derandomized
@given(tensors(storage=("Dense", "RunList", "SparseRunList", "SparseInterval")))
def test_vectors_in_runs_have_runs(made):
    """Vectors of fill have runs, too, and no other tensor has some."""
    form, array = made
    found = Tensor.from_numpy(form, array, devices=COUNTS).runs()
    assert (found is not None) == (array.ndim == 1 and any(level in form for level in ("Run", "Interval")))
    if found is not None:
        assert found.dense().tolist() == array.tolist() and (np.diff(found.ends, prepend=0) > 0).all()


@pytest.mark.parametrize(
    ("ends", "values", "length", "message"),
    [
        ([2, 2], [1, 2], 2, "its run ends do not ascend"),
        ([0, 2], [1, 2], 2, "its run ends do not ascend"),
        ([2], [1, 2], 2, "its run ends do not ascend"),
        ([2], [1], 3, "its last run ends too early"),
    ],
)
def test_spoiled_runs_are_refused(ends, values, length, message):
    """Any object that claims to be an array of Arrow's is checked."""

    class Spoiled(SimpleNamespace):
        def __len__(self):
            return length

    array = Spoiled(run_ends=np.array(ends), values=pyarrow.array(values), offset=0, null_count=0)
    with pytest.raises(InputError, match=message):
        Tensor.from_arrow("RunList(Element(0.0))", array)


def test_what_is_no_vector_of_arrow_is_refused():
    nulls = pyarrow.array([1, None])
    with pytest.raises(InputError, match="it has nulls"):
        Tensor.from_arrow("RunList(Element(0))", pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([1, 2]), nulls))
    for array in (pyarrow.array([1.5, None]), pyarrow.chunked_array([[1.5], [None]])):
        with pytest.raises(InputError, match="it has nulls"):
            Tensor.from_arrow("Dense(Element(0.0))", array)
        with pytest.raises(InputError, match="it has nulls"):
            api.einsum("x[] += A[i]", A=array)
    with pytest.raises(InputError, match="a list is not an array of Arrow"):
        Tensor.from_arrow("RunList(Element(0))", [1])
    for form, array, has in (("Dense(RunList(Element(0)))", [[1]], "2 axes"), ("Element(0)", 1, "0 axes")):
        with pytest.raises(InputError) as error:
            Tensor.from_numpy(form, array).to_arrow()
        assert error.value.message == f"an array of Arrow has one axis, and {form} has {has}"
        assert error.value.fix == "use to_numpy()"


def test_runs_as_long_as_can_be():
    """Joined where neighbours are equal; a run alone, and none, stay."""
    joined = RunArray(np.array([1, 2, 5, 6]), np.array([3, 3, 4, 4])).longest()
    assert (joined.ends.tolist(), joined.values.tolist(), joined.shape) == ([2, 6], [3, 4], (6,))
    assert RunArray(np.array([], dtype=int), np.array([])).longest().shape == (0,)


@pytest.mark.parametrize("form", ["csc", "csr", "bsr", "coo"])
@pytest.mark.filterwarnings("error")
def test_indices_and_pointers_of_scipy_may_be_unsigned(form):
    """Of 64 bits, too, in every pair of types; those that 64 bits with a sign do not hold are out of bounds."""
    matrix = np.array([[1, 0, 0, 2], [0, 0, 3, 0]])
    names = {"coo": ("row", "col")}.get(form, ("indices", "indptr"))
    for types in product(("uint8", "int32", "int64", "uint64"), repeat=2):
        made = getattr(scipy.sparse, f"{form}_array")(matrix)
        parts = [getattr(made, name).astype(kind) for name, kind in zip(names, types, strict=True)]
        if form == "coo":
            made.coords = tuple(parts)
        else:
            made.indices, made.indptr = parts
        for levels in (
            "Dense(SparseList(Element(0)))",
            "SparseList(SparseList(Element(0)))",
            "Dense(Dense(Element(0)))",
        ):
            assert same(Tensor.from_scipy(levels, made), matrix), (types, levels)
        if types[0] == "uint64":
            parts[0][0] = 2**64 - 1
            with pytest.raises(InputError, match="not a SciPy sparse array in order"):
                Tensor.from_scipy("SparseList(SparseList(Element(0)))", made)


@pytest.mark.parametrize("form", ["csc", "csr"])
@pytest.mark.parametrize("types", [("int32", "int64"), ("int64", "int32"), ("uint8", "uint64"), ("uint8", "int32")])
def test_duplicates_are_summed_exactly_whatever_the_types_of_indices_are(form, types):
    """Beyond 2⁵³, by exact numbers, one after the other; and the last index of a type of 8 bits is 256 from 1."""
    values, indices, pointers = np.array([2.0**62, 1, -(2.0**62)]), np.array([255, 255, 255]), np.array([0, 3])
    made = getattr(scipy.sparse, f"{form}_array")((256, 1) if form == "csc" else (1, 256))
    made.data, made.indices, made.indptr = values, indices.astype(types[0]), pointers.astype(types[1])
    tensor = Tensor.from_scipy("SparseList(SparseList(Element(0.0)))", made)
    assert list(tensor.entries()) == [((256, 1) if form == "csc" else (1, 256), 1)]


@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("borrow", [False, True])
@pytest.mark.filterwarnings("error")
def test_the_largest_index_of_a_narrow_type_is_within_bounds_or_refused(kind, borrow):
    """Counted from 1, it does not fit the type."""
    last = int(np.iinfo(kind).max)
    for extent in (100, last, last + 1):
        made = scipy.sparse.csc_array((extent, 1))
        made.data, made.indptr, made.indices = np.array([1.0, 2.0]), np.array([0, 2]), np.array([0, last], dtype=kind)
        for form in ("Dense(SparseList({}))", "SparseList(SparseList({}))", "Dense(Dense({}))"):
            form = form.format("Element(0.0)")
            if extent > last:
                assert Tensor.from_scipy(form, made, borrow=borrow).to_numpy()[last, 0] == 2
            else:
                with pytest.raises(InputError, match="an index is out of bounds"):
                    Tensor.from_scipy(form, made, borrow=borrow)


@pytest.mark.parametrize("offset", [-3, 5, 2**32 + 1, -(2**32), 2**63 - 1, -(2**63)])
def test_a_diagonal_outside_of_a_matrix_has_no_elements(offset):
    """Also where SciPy, which keeps offsets in 32 bits, would take it for another one."""
    made = scipy.sparse.dia_array((2, 4))
    made.data, made.offsets = np.array([[1.0, 2, 0, 0], [9, 9, 9, 9]]), np.array([0, offset])
    expected = np.array([[1.0, 0, 0, 0], [0, 2, 0, 0]])
    assert same(Tensor.from_scipy("SparseList(SparseList(Element(0.0)))", made), expected)
