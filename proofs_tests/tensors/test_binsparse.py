"""Files of Binsparse: every format that its specification names, or one message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.sparse
from hypothesis import settings

from proofs_tests.effort import many
from proofs_tests.tensors.refusals import refused
from wingspan import InputError, Tensor, api
from wingspan.tensors.files import read_file
from wingspan.tensors.foreign import Filled

derandomized = settings(derandomize=True, deadline=None, max_examples=many(60))


MATRIX = np.array([[1.0, 0, 2], [0, 0, 0], [3, 4, 0], [0, 0, 5]])


def h5(path: Path, text: dict[str, Any] | str, **arrays_: Any) -> Path:
    """A file as others write it."""
    with h5py.File(path, "w") as root:
        root.attrs["binsparse"] = text if isinstance(text, str) else json.dumps({"binsparse": text})
        for name, array in arrays_.items():
            root[name] = array
    return path


def parts(form: str) -> dict[str, Any]:
    """The arrays of a matrix in a predefined format, by SciPy."""
    csr, csc = scipy.sparse.csr_array(MATRIX), scipy.sparse.csc_array(MATRIX)
    rows, columns = np.nonzero(MATRIX)
    by_columns = np.nonzero(MATRIX.T)
    compressed = csc if form.endswith("C") and "S" in form else csr
    filled = np.flatnonzero(np.diff(compressed.indptr))
    match form:
        case "DMAT" | "DMATR":
            return {"values": MATRIX.ravel()}
        case "DMATC":
            return {"values": MATRIX.ravel("F")}
        case "CSR" | "CSC":
            return {"pointers_to_1": compressed.indptr, "indices_1": compressed.indices, "values": compressed.data}
        case "DCSR" | "DCSC":
            pointers = np.append(0, compressed.indptr[filled + 1])
            return {
                "indices_0": filled,
                "pointers_to_1": pointers,
                "indices_1": compressed.indices,
                "values": compressed.data,
            }
        case "COO" | "COOR":
            return {"indices_0": rows, "indices_1": columns, "values": MATRIX[rows, columns]}
    return {"indices_0": by_columns[0], "indices_1": by_columns[1], "values": MATRIX.T[by_columns]}


def described(form: str, made: dict[str, Any], shape: tuple[int, ...] = MATRIX.shape, **more: Any) -> dict[str, Any]:
    types = {name: np.asarray(array).dtype.name for name, array in made.items()}
    stored = len(made["values"])
    return {
        "version": "0.1",
        "format": form,
        "shape": shape,
        "number_of_stored_values": stored,
        "data_types": types,
    } | more


@pytest.mark.parametrize("form", ["DMAT", "DMATR", "DMATC", "CSR", "CSC", "DCSR", "DCSC", "COO", "COOR", "COOC"])
def test_binsparse_matrices_are_read_in_every_format(tmp_path, form):
    """As SciPy has them, with unsigned indices, too."""
    made = {name: array if name == "values" else array.astype(np.uint64) for name, array in parts(form).items()}
    tensor = Tensor.from_file("Dense(SparseList(Element(0.0)))", h5(tmp_path / "m.h5", described(form, made), **made))
    assert np.array_equal(tensor.to_numpy(), MATRIX)


@pytest.mark.parametrize("form", ["CSR", "DCSC", "COOC"])
def test_indices_and_pointers_may_count_from_one(tmp_path, form):
    """The base is the one of the metadata; a pointer or an index 0 is out of order then."""
    made = {name: array + (name != "values") for name, array in parts(form).items()}
    path = h5(tmp_path / "m.h5", described(form, made, index_base=1), **made)
    assert np.array_equal(Tensor.from_file("Dense(SparseList(Element(0.0)))", path).to_numpy(), MATRIX)
    refused(h5(tmp_path / "z.h5", described(form, parts(form), index_base=1), **parts(form)), "not a .h5 file in order")
    refused(h5(tmp_path / "t.h5", described(form, made, index_base=2), **made), "its indices count from 2, and not")


@pytest.mark.parametrize("version", ["0.1", "0.1.0", "0.1.3", "0.1.0-alpha.1", 0.1, None])
def test_every_spelling_of_the_version_is_read(tmp_path, version):
    """Also none; another version is refused."""
    text = described("CSC", parts("CSC"), version=version)
    if version is None:
        del text["version"]
    assert np.array_equal(read_file(h5(tmp_path / "m.h5", text, **parts("CSC"))).array.toarray(), MATRIX)
    for other in ("0.2", "0.10", "1.0.0", "0.1.x", "", [1]):
        refused(h5(tmp_path / "o.h5", text | {"version": other}, **parts("CSC")), "and 0.1 is read")


def test_the_version_that_a_file_names_is_chosen(tmp_path, command):
    """By default as the reference implementations name it; others have no such choice."""
    tensor, path = Tensor.from_numpy("Dense(SparseList(Element(0.0)))", MATRIX), tmp_path / "m.h5"
    for chosen, version in (
        ({}, "0.1.0"),
        ({"binsparse_version": "0.1"}, "0.1"),
        ({"binsparse_version": "0.1.0"}, "0.1.0"),
    ):
        tensor.save(path, **chosen)
        with h5py.File(path) as root:
            assert json.loads(root.attrs["binsparse"])["binsparse"]["version"] == version
        assert np.array_equal(Tensor.from_file("Dense(SparseList(Element(0.0)))", path).to_numpy(), MATRIX)
    with pytest.raises(InputError, match=r"m.h5: a .h5 file is not written as binsparse 2.0") as raised:
        tensor.save(path, binsparse_version="2.0")
    assert raised.value.fix == "use 0.1.0 or 0.1"
    with pytest.raises(InputError, match=r"m.npz: a .npz file has no version of binsparse"):
        tensor.save(tmp_path / "m.npz", binsparse_version="0.1")
    done = command("convert", str(path), str(tmp_path / "n.h5"), "--binsparse-version", "0.1")
    with h5py.File(tmp_path / "n.h5") as root:
        assert done.status == 0 and json.loads(root.attrs["binsparse"])["binsparse"]["version"] == "0.1"
    done = command("convert", str(path), str(tmp_path / "n.tns"), "--binsparse-version", "0.1")
    assert done.status == 2 and "fix  leave it out, or write a .h5 file" in done.err
    assert not (tmp_path / "n.tns").exists()


def test_binsparse_vectors_and_tensors_are_read(tmp_path):
    """Also in groups, with one value for all, booleans, fill values, one triangle, and levels in any order."""
    dense = {"values": np.arange(3)}
    assert read_file(h5(tmp_path / "d.h5", described("DVEC", dense, (3,)), **dense)).tolist() == [0, 1, 2]
    sparse = {"indices_0": np.array([1, 3]), "values": np.array([1], dtype=np.uint8)}
    text = described("CVEC", sparse, (5,), number_of_stored_values=2)
    text["data_types"]["values"] = "iso[bint8]"
    found = read_file(h5(tmp_path / "s.h5", text, **sparse))
    assert found.array.toarray().tolist() == [False, True, False, True, False] and found.array.dtype == bool
    filled = {**parts("CSC"), "fill_value": np.array([0.5])}
    assert Tensor.from_file(
        "Dense(SparseList(Element(0.5)))", h5(tmp_path / "f.h5", described("CSC", filled, fill=True), **filled)
    ).to_numpy()[1].tolist() == [0.5, 0.5, 0.5]
    half = {"indices_0": np.array([0, 2]), "indices_1": np.array([0, 1]), "values": np.array([1, 7])}
    for structure, mirrored in {"symmetric_lower": 7, "skew_symmetric_lower": -7}.items():
        text = described("COO", half, (3, 3), structure=structure)
        assert read_file(h5(tmp_path / "t.h5", text, **half)).array.toarray()[1, 2] == mirrored
    custom = {
        "transpose": [2, 0, 1],
        "level": {
            "level_desc": "sparse",
            "rank": 1,
            "level": {
                "level_desc": "dense",
                "rank": 1,
                "level": {"level_desc": "sparse", "rank": 1, "level": {"level_desc": "element"}},
            },
        },
    }
    levels = {
        "indices_0": np.array([4]),
        "pointers_to_2": np.array([0, 1, 3]),
        "indices_2": np.array([2, 0, 1]),
        "values": np.array([5, 6, 7]),
    }
    text = described("custom", levels, (2, 3, 5), custom=custom)
    with h5py.File(tmp_path / "c.h5", "w") as root:
        group = root.create_group("a/b")
        group.attrs["binsparse"] = json.dumps({"binsparse": text})
        for name, array in levels.items():
            group[name] = array
    tensor = Tensor.from_file("SparseDict(SparseDict(SparseDict(Element(0))))", tmp_path / "c.h5:a/b")
    assert dict(tensor.entries()) == {(1, 3, 5): 5, (2, 1, 5): 6, (2, 2, 5): 7}


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("Dense(Dense(Element(0.0)))", "DMATC"),
        ("Dense(SparseList(Element(0.0)))", "CSC"),
        ("Dense(SparseDict(Element(0.0)))", "CSC"),
        ("SparseList(SparseList(Element(0.0)))", "DCSC"),
        ("SparseDict(Dense(Element(0.0)))", "DCSC"),
    ],
)
def test_binsparse_files_have_the_format_of_the_levels(tmp_path, form, expected):
    """With arrays that are SciPy's where SciPy has the format."""
    Tensor.from_numpy(form, MATRIX).save(tmp_path / "m.h5")
    with h5py.File(tmp_path / "m.h5") as root:
        text = json.loads(root.attrs["binsparse"])["binsparse"]
        assert (text["format"], text["shape"], set(text["data_types"]) | {"binsparse"}) == (
            expected,
            [4, 3],
            {*root, "binsparse"},
        )
        if form != "SparseDict(Dense(Element(0.0)))":
            assert all(np.array_equal(root[name], array) for name, array in parts(expected).items())


SPOILED: dict[str, dict[str, Any]] = {
    "its shape is ()": {"shape": []},
    "its shape is (-1, 3)": {"shape": [-1, 3]},
    "its format is XYZ": {"format": "XYZ"},
    "its levels do not fit its 3 axes": {"shape": [4, 3, 1]},
    "pointers_to_1 does not ascend from 0 in 6 steps": {"shape": [5, 3], "format": "CSR"},
    "its metadata announce 4 stored values, and there are 5": {"number_of_stored_values": 4},
    "indices_1 has elements that are not in 0:2": {"shape": [3, 3]},
    "its numbers are complex": {"data_types": {"values": "complex[float64]"}},
    "its structure is hexagonal": {"structure": "hexagonal"},
    "its structure is ['symmetric_lower']": {"structure": ["symmetric_lower"]},
    "its metadata have no object `data_types`": {"data_types": 3},
    "its metadata have no array `shape`": {"shape": 3},
    "its metadata have no integer `number_of_stored_values`": {"number_of_stored_values": "5"},
    "its metadata have no string `values`": {"data_types": {"values": 3}},
    "its metadata have no string `fill_value`": {"fill": True},
    "its format is None": {"format": None},
    "its metadata have no object `level`": {"format": {"custom": {}}},
    "its metadata have no string `level_desc`": {"format": {"level": {}}},
    "its metadata have no integer `rank`": {"format": {"level": {"level_desc": "sparse", "rank": True}}},
    "its metadata have no array `transpose`": {"format": {"level": {"level_desc": "element"}, "transpose": 3}},
    "its levels do not fit its 2 axes": {
        "format": {
            "level": {"level_desc": "dense", "rank": 2, "level": {"level_desc": "element"}},
            "transpose": [0, "a"],
        }
    },
}


@pytest.mark.parametrize("message", SPOILED)
def test_a_binsparse_text_out_of_order_is_refused(tmp_path, message):
    made, change = parts("CSC"), SPOILED[message]
    text = described("CSC", made) | change
    if change.get("format") == "CSR":
        made = parts("CSR")
        text = described("CSR", made) | change
    refused(h5(tmp_path / "m.h5", text, **made), message)


def test_a_binsparse_file_is_not_trusted(tmp_path):
    """Links to other files, arrays that declare more than the file can hold, indices that do not ascend, no text."""
    made = parts("CSC")
    refused(h5(tmp_path / "j.h5", "{", **made), "not a .h5 file in order: ")
    refused(h5(tmp_path / "l.h5", "[1]", **made), "its metadata have no array `shape`")
    refused(h5(tmp_path / "w.h5", '{"binsparse": 3}', **made), "its metadata have no object `binsparse`")
    with h5py.File(h5(tmp_path / "t.h5", "{}", **made), "a") as root:
        root.attrs["binsparse"] = 3
    refused(tmp_path / "t.h5", "its attribute `binsparse` is no text")
    (tmp_path / "g.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(90))
    refused(tmp_path / "g.h5", "not a .h5 file in order: ")
    with h5py.File(tmp_path / "n.h5", "w"):
        pass
    refused(tmp_path / "n.h5", "it has no attribute `binsparse`")
    text = described("CSC", made)
    with h5py.File(h5(tmp_path / "x.h5", text, **made), "a") as root:
        del root["values"]
        root["values"] = h5py.ExternalLink(str(tmp_path / "j.h5"), "values")
    refused(tmp_path / "x.h5", "it holds no values")
    with h5py.File(h5(tmp_path / "e.h5", text, **made), "a") as root:
        del root["values"]
        root.create_dataset("values", (5,), "f8", external=[(str(tmp_path / "j.h5"), 0, 40)])
    refused(tmp_path / "e.h5", "values is in another file")
    with h5py.File(h5(tmp_path / "b.h5", text, **made), "a") as root:
        del root["indices_1"]
        root.create_dataset("indices_1", (10**12,), "i8", chunks=True)
    refused(tmp_path / "b.h5", "indices_1 cannot be 8000000000000 bytes long")
    one = {"values": np.ones(1)}
    equal = described("DVEC", one, (10**12,), number_of_stored_values=10**12) | {
        "data_types": {"values": "iso[float64]"}
    }
    refused(h5(tmp_path / "i.h5", equal, **one), "it declares 1000000000000 equal elements, which takes 8 TB")
    for name, array, what in (
        ("indices_1", [2, 0, 2, 0, 3], "indices_1 does not ascend"),
        ("pointers_to_1", [0, 3, 2, 5], "pointers_to_1 does not ascend from 0 in 4 steps"),
        ("values", ["a"] * 5, "values is no list of numbers"),
        ("values", np.ones((5, 1)), "values is no list of numbers"),
    ):
        refused(h5(tmp_path / "o.h5", text, **(made | {name: array})), what)


def test_a_fill_value_must_be_that_of_the_format(tmp_path):
    filled = {**parts("CSC"), "fill_value": np.array([0.5])}
    path = h5(tmp_path / "f.h5", described("CSC", filled, fill=True), **filled)
    assert isinstance(read_file(path), Filled)
    with pytest.raises(
        InputError, match=r"its fill value is 0.5, that of Dense\(SparseList\(Element\(0.0\)\)\) is 0.0"
    ) as raised:
        Tensor.from_file("Dense(SparseList(Element(0.0)))", path)
    assert "use Element(0.5)" in raised.value.render()
    with pytest.raises(InputError, match=r"A: its fill value is 0.5"):
        api.bind(api.parse("x = A[1, 1]"), inputs={"A": path})
