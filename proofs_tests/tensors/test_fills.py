"""Elements that an array or a file does not store have one value for every reader, and no format changes that."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import wingspan
from proofs_tests.effort import many
from proofs_tests.tensors.pydata import coordinates
from proofs_tests.tensors.test_binsparse import described, h5
from proofs_tests.towers import COUNTS, tower
from wingspan import InputError, Tensor, api, with_fill
from wingspan.tensors.files import read_file
from wingspan.testing.formats import arrays, formats, tensors

derandomized = settings(derandomize=True, deadline=None, max_examples=many(60))

CSC = "Dense(SparseList(Element({})))"
DISTANCES = np.array([[math.inf, 5.0], [0.0, math.inf]])
GRAPH = scipy.sparse.csc_array(([5.0, 0.0], ([0, 1], [1, 0])), shape=(2, 2))
"""The same, where an edge that is not there is infinitely long; one has length 0."""

LEAST = """
    A = Tensor(Dense(SparseList(Element(Inf))){data})
    least = Tensor(Dense(Element(Inf)))
    least .= Inf
    for j = _
        for i = _
            least[i] <<min>>= A[i, j]
        end
    end
    return least
"""
"""The length of the shortest edge of each vertex."""

SUMS = """
    A = Tensor(Dense(SparseList(Element({}))))
    y = Tensor(Dense(Element(0.0)))
    y .= 0.0
    for j = _
        for i = _
            y[i] += A[i, j]
        end
    end
    return y
"""

ONES = coordinates(np.array([[1.0, 5.0], [1.0, 1.0]]), 1.0)


def saved(folder: Path, suffix: str) -> Path:
    """The graph in a file that has no fill value."""
    path = folder / f"graph{suffix}"
    Tensor.from_scipy(CSC.format(0.0), GRAPH).save(path)
    return path


# ------------------------------------------------------------------------------------------------------------ one rule


@derandomized
@given(st.data(), st.sampled_from(["csc", "csr", "coo", "lil", "dok", "dia", "bsr"]))
def test_no_format_changes_what_a_sparse_array_does_not_store(data: Any, kind: str) -> None:
    """Blocks, bands, runs and dense levels too: the elements are those of the dense array, or it is refused."""
    form, fill = data.draw(formats(rank=2))
    array = data.draw(arrays(2, fill))
    assume(array.size)
    form = form.replace("Pattern()", "Element(false)")
    matrix = scipy.sparse.coo_array(array).asformat(kind)
    if tower(form).fill == 0:
        assert np.array_equal(Tensor.from_scipy(form, matrix, devices=COUNTS).to_numpy(), array)
    else:
        with pytest.raises(InputError, match="its fill value is"):
            Tensor.from_scipy(form, matrix, devices=COUNTS)


@derandomized
@given(st.data(), st.sampled_from(["csc", "csr", "coo", "lil", "dok"]))
def test_a_fill_value_that_is_given_is_that_of_what_is_not_stored(data: Any, kind: str) -> None:
    """In every format whose fill value it is; a zero that is stored stays one."""
    form, fill = data.draw(formats(rank=2))
    array = data.draw(arrays(2, fill))
    assume(array.size)
    form, value = form.replace("Pattern()", "Element(false)"), tower(form).fill
    places = np.nonzero(array != np.float64(value) if array.dtype.kind == "f" else array != value)
    matrix = scipy.sparse.coo_array((array[places], places), shape=array.shape).asformat(kind)
    assume(matrix.nnz == len(places[0]))  # LIL and DOK drop zeros
    assert np.array_equal(Tensor.from_scipy(form, with_fill(matrix, value), devices=COUNTS).to_numpy(), array)


@pytest.mark.parametrize("make", [scipy.sparse.csc_array, scipy.sparse.csr_array, scipy.sparse.coo_matrix])
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_one_program_has_one_result_for_one_matrix(make: Any, engine: str) -> None:
    """As a NumPy array, with a fill value that is given, and as a Tensor; with SciPy's own one it is refused."""
    program, matrix = api.parse(LEAST.format(data="")), make(GRAPH)
    for data in (DISTANCES, with_fill(matrix, math.inf), Tensor.from_numpy("Dense(Dense(Element(0.0)))", DISTANCES)):
        assert api.run(program, engine=engine, inputs={"A": data}).tensors["least"].to_numpy().tolist() == [5.0, 0.0]
    with pytest.raises(InputError, match=r"(?m)^error\[input\]: A: its fill value is 0\.0, that of Dense.* is Inf$"):
        api.run(program, engine=engine, inputs={"A": matrix})


@pytest.mark.parametrize("make", [scipy.sparse.csc_array, scipy.sparse.csr_array])
def test_kernels_have_the_same_rule(make: Any) -> None:
    """Also where they use the arrays in place, and where an example gives the format."""
    kernel = wingspan.compile(api.parse(LEAST.format(data="")), engine="native")
    assert kernel(A=with_fill(make(GRAPH), math.inf)).to_numpy().tolist() == [5.0, 0.0]
    with pytest.raises(InputError, match=r"its fill value is 0\.0") as raised:
        kernel(A=make(GRAPH))
    assert "FILE:fill=Inf, or with_fill(A, Inf) in Python" in str(raised.value.fix)
    text = "x = Scalar(0.0)\nx .= 0.0\nfor j = _\nfor i = _\nx[] += A[i, j]\nend\nend\nreturn x"
    for example in (ONES, with_fill(make(np.ones((2, 2), np.int64)), 1.0)):
        kernel = wingspan.compile(api.parse(text), inputs={"A": example}, engine="native")
        assert kernel.inputs["A"] == CSC.format("1.0" if example is ONES else "1")
    assert float(wingspan.compile(api.parse(text), inputs={"A": ONES}, engine="native")(A=ONES)) == 8.0


def test_expressions_have_the_fill_value_of_their_inputs() -> None:
    """Einsums and lazy arrays; integers become doubles for a fill value that is none."""
    for matrix in (GRAPH, GRAPH.astype(np.int64)):
        filled = with_fill(matrix, math.inf)
        assert wingspan.einsum("y[i] <<min>>= A[i, j]", A=filled).to_numpy().tolist() == [5.0, 0.0]
        np.testing.assert_array_equal(np.asarray(wingspan.lazy(filled) + 1), DISTANCES + 1)
    whole = wingspan.einsum("B[j, i] = A[i, j]", A=with_fill(GRAPH, 2.5))
    assert whole.to_numpy().tolist() == [[2.5, 0.0], [5.0, 2.5]]


def test_a_tensor_with_another_fill_value_stores_what_differs() -> None:
    """As long as there is room to look at every element; a boolean is no number."""
    program = api.parse(SUMS.format(1.0))
    assert api.run(program, inputs={"A": Tensor.from_sparse(CSC.format(1.0), ONES)}).tensors[
        "y"
    ].to_numpy().tolist() == [6, 2]
    zeros = Tensor.from_scipy(CSC.format(0.0), GRAPH)
    assert api.run(program, inputs={"A": zeros}).tensors["y"].to_numpy().tolist() == [5, 0]
    huge = Tensor.from_scipy("SparseList(SparseList(Element(0.0)))", scipy.sparse.coo_array((10**6, 10**6)))
    with pytest.raises(InputError, match=r"(?m)its fill value is 0\.0, that of Dense.* is 1\.0$"):
        api.bind(program, inputs={"A": huge})
    truths = Tensor.from_numpy("Dense(SparseList(Element(true)))", np.ones((2, 2), dtype=bool))
    with pytest.raises(InputError, match="true is not a"):
        api.bind(api.parse(SUMS.format(1).replace("0.0", "0")), inputs={"A": truths})


@pytest.mark.parametrize(
    ("array", "fill", "message"),
    [
        (np.zeros((2, 2)), 1, "a fill value for a ndarray, which is no sparse array"),
        ("graph.mtx", math.inf, "a fill value for a str"),
        (Tensor.from_scipy(CSC.format(0.0), GRAPH), 1, "a fill value for a Tensor"),
        (GRAPH, True, "its elements are numbers, and its fill value is true"),
        (scipy.sparse.csc_array((2, 2), dtype=bool), 0, "its elements are booleans, and its fill value is 0"),
        (GRAPH, "Inf", "a str is no fill value"),
        (GRAPH, None, "a NoneType is no fill value"),
        (GRAPH, 2**63, "does not fit a 64-bit integer"),
    ],
)
def test_what_has_no_fill_value_is_refused(array: Any, fill: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Tensor.from_scipy(CSC.format("1.0"), with_fill(array, fill))


def test_kinds_are_not_mixed_where_nothing_is_stored() -> None:
    """An array of one value throughout, which nothing else would refuse."""
    truths = coordinates(np.ones((2, 2), dtype=bool), True)
    nothing = scipy.sparse.csc_array((2, 2), dtype=bool)
    for make, form, array in ((Tensor.from_sparse, "1", truths), (Tensor.from_scipy, "0", nothing)):
        with pytest.raises(InputError, match=r"its fill value is (true|false), that of") as raised:
            make(CSC.format(form), array)
        assert "with_fill" not in str(raised.value.fix)


@pytest.mark.parametrize("form", ["Element(0.1)", "Element(0.1, f32)"])
def test_a_fill_value_is_rounded_as_that_of_the_format(form: str) -> None:
    """Of narrow elements too, in either width; an einsum takes the width of the elements."""
    filled = with_fill(scipy.sparse.csc_array((2, 2), dtype=np.float32), 0.1)
    found = Tensor.from_scipy(f"Dense(SparseList({form}))", filled).to_numpy()
    assert found.tolist() == [[found.dtype.type(0.1)] * 2] * 2
    assert wingspan.einsum("y[i] <<min>>= A[i, j]", A=filled).to_numpy().tolist() == [np.float32(0.1)] * 2


def test_what_is_spoiled_or_given_to_others_is_one_error() -> None:
    spoiled = scipy.sparse.csc_array(GRAPH)
    spoiled.data = [1, 2]
    with pytest.raises(InputError, match="in order: data is no array"):
        Tensor.from_scipy(CSC.format("1.0"), with_fill(spoiled, 1))
    with pytest.raises(InputError, match="A: no elements"):
        wingspan.compile(api.parse("x = A[1, 1]"), inputs={"A": spoiled}, engine="native")
    with pytest.raises(InputError, match="a SciPy sparse array is not a dense one"):
        Tensor.from_numpy(CSC.format("1.0"), with_fill(GRAPH, 1))


# ---------------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("suffix", [".mtx", ".tns", ".npz", ".h5"])
def test_files_have_the_same_rule(tmp_path: Path, suffix: str, command: Any) -> None:
    """As inputs, in programs, in expressions and for the command line: what is not stored is 0, or what is given."""
    path = saved(tmp_path, suffix)
    program, filled = api.parse(LEAST.format(data="")), f"{path}:fill=Inf"
    inside = tmp_path / "least.ws"
    inside.write_text(LEAST.format(data=f', "{path.name}:fill=Inf"'))
    found = [
        Tensor.from_file(CSC.format("Inf"), filled).to_numpy(),
        Tensor.from_file(None, Path(filled)).to_numpy(),
        api.run(program, inputs={"A": filled}).tensors["least"].to_numpy(),
        api.run(inside).tensors["least"].to_numpy(),
        wingspan.einsum("y[i] <<min>>= A[i, j]", A=filled).to_numpy(),
    ]
    assert [each.tolist() for each in found] == [DISTANCES.tolist()] * 2 + [[5.0, 0.0]] * 3
    assert set(api.binding.files_of(inside, {"A": filled})) == {inside, path}
    with pytest.raises(InputError, match=r"its fill value is 0(\.0)?, that of Dense"):
        Tensor.from_file(CSC.format("Inf"), path)
    out = tmp_path / "out.h5"
    refused = command("convert", str(path), str(out), "--format", CSC.format("Inf"))
    assert refused.status == 2 and "FILE:fill=Inf" in refused.err and not out.exists()
    assert command("convert", filled, str(out), "--format", CSC.format("Inf")).status == 0
    assert Tensor.from_file(None, out).to_numpy().tolist() == DISTANCES.tolist()
    inside.write_text(LEAST.format(data=""))
    assert command("run", str(inside), "-i", f"A={filled}").out == command("run", str(inside), "-i", f"A={out}").out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("graph.mtx:fill=", "'' is no fill value"),
        ("graph.mtx:fill=ten", "'ten' is no fill value"),
        ("graph.mtx:fill=0, u8", "'0, u8' is no fill value"),
        ("graph.mtx:fill=(1.0, 2)", "is no fill value"),
        ("graph.mtx:fill=1e400", "is no fill value"),
        ("graph.mtx:fill=true", "its elements are numbers, and its fill value is true"),
        ("dense.npy:fill=1", "a fill value for a ndarray"),
        ("none.mtx:fill=1", "no such file"),
    ],
)
def test_a_fill_value_that_a_file_cannot_have_is_refused(tmp_path: Path, name: str, message: str) -> None:
    saved(tmp_path, ".mtx")
    np.save(tmp_path / "dense.npy", np.ones((2, 2)))
    with pytest.raises(InputError, match=message.replace("(", r"\(")) as raised:
        Tensor.from_file(None, tmp_path / name)
    assert raised.value.message.startswith(str(tmp_path))


def test_files_of_pydata_keep_their_fill_value(tmp_path: Path) -> None:
    """Also for sums of rows that store one element, or none; the format must have it."""
    path = tmp_path / "ones.npz"
    np.savez(path, **ONES.nodes())
    assert Tensor.from_file(None, path).to_numpy().tolist() == [[1, 5], [1, 1]]
    assert wingspan.einsum("y[i] += A[i, j]", A=path).to_numpy().tolist() == [6, 2]
    assert api.run(api.parse(SUMS.format(1.0)), inputs={"A": path}).tensors["y"].to_numpy().tolist() == [6, 2]
    with pytest.raises(InputError, match=r"its fill value is 1\.0, that of .* is 0\.0"):
        api.run(api.parse(SUMS.format(0.0)), inputs={"A": path})
    parts = dict(np.load(path))
    np.savez(path, **{**parts, "fill_value": np.ones(2)})
    with pytest.raises(InputError, match="fill_value is no number"):
        read_file(path)


@settings(derandomized, max_examples=many(100))
@given(made=tensors(), suffix=st.sampled_from([".npy", ".npz", ".mtx", ".tns", ".h5", ".arrow", ".pgm"]))
def test_results_come_back_from_files_with_their_fill_value(tmp_path_factory: Any, made: Any, suffix: str) -> None:
    """Read without a format: every element, and from files that store fill values that one, too."""
    form, array = made
    path = tmp_path_factory.mktemp("fills") / f"t{suffix}"
    tensor = Tensor.from_numpy(form, array, devices=COUNTS)
    try:
        tensor.save(path)
    except InputError as error:
        assert "does not hold" in error.message
        return
    back = Tensor.from_file(None, path)
    array = array.reshape(-1, 1) if suffix == ".mtx" and array.ndim == 1 else array
    assert np.array_equal(back.to_numpy(), array)
    if suffix == ".h5":
        assert back.fill == tensor.fill and isinstance(back.fill, bool) == isinstance(tensor.fill, bool)


@pytest.mark.parametrize("fill", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("level", ["Dense", "SparseList", "SparseRunList"])
def test_fill_values_that_are_not_finite_come_back(tmp_path: Path, level: str, fill: float) -> None:
    text = {math.inf: "Inf", -math.inf: "-Inf"}.get(fill, "NaN")
    array = np.array([[fill, 1.5, -0.0], [fill, fill, math.inf]])
    Tensor.from_numpy(f"Dense({level}(Element({text})))", array).save(tmp_path / "t.h5")
    back = Tensor.from_file(None, tmp_path / "t.h5")
    np.testing.assert_array_equal(back.to_numpy(), array)
    np.testing.assert_equal(float(back.fill), fill)


def test_triangles_are_mirrored_without_wrapping(tmp_path: Path) -> None:
    """The negative of the least integer of a width is none of that width."""
    for values, mirrored in (([-128], 128), ([-(2**63)], None)):
        dtype = np.int8 if mirrored else np.int64
        parts = {"indices_0": np.array([1]), "indices_1": np.array([0]), "values": np.array(values, dtype)}
        text = described("COO", parts, (2, 2), structure="skew_symmetric_lower")
        path = h5(tmp_path / "s.h5", text, **parts)
        if mirrored is None:
            with pytest.raises(InputError, match="the negative of an element does not fit a 64-bit integer"):
                read_file(path)
        else:
            assert read_file(path).array.toarray().tolist() == [[0, mirrored], [-mirrored, 0]]
