"""Files of each format: read as its specification says, or refused by one message."""

from __future__ import annotations

import io

import numpy as np
import pyarrow
import pyarrow.feather
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from proofs_tests.effort import many
from proofs_tests.tensors.refusals import refused
from proofs_tests.tensors.spoiled import archive
from wingspan import InputError, Tensor, api
from wingspan.tensors.files import FORMATS, read_file

derandomized = settings(derandomize=True, deadline=None, max_examples=many(60))


# ------------------------------------------------------------------------------------------------------------- members


def test_members_are_named_after_a_colon(tmp_path):
    """Of a file of arrays, an image, a file of columns and a file of groups; also by programs."""
    np.savez(tmp_path / "two.npz", a=np.arange(3), b=np.ones((2, 2)))
    np.savez(tmp_path / "one.npz", **{"x:y": np.arange(2)})  # type: ignore[arg-type]  # NumPy's stubs see a keyword
    Image.fromarray(np.arange(24, dtype=np.uint8).reshape(2, 4, 3)).save(tmp_path / "page.png")
    pyarrow.feather.write_feather(pyarrow.table({"x": [1, 2], "y": [3, 4]}), tmp_path / "t.arrow")
    assert read_file(tmp_path / "two.npz:a").tolist() == [0, 1, 2]
    assert read_file(tmp_path / "one.npz:x:y").tolist() == [0, 1]
    assert read_file(tmp_path / "page.png:green").T.tolist() == [[1, 4, 7, 10], [13, 16, 19, 22]]
    assert read_file(tmp_path / "t.arrow:y").tolist() == [3, 4]
    lines = Tensor.from_file("RunList(Element(0))", f"{tmp_path / 'page.png'}:green")
    assert lines.to_numpy().tolist() == [*range(1, 23, 3)]
    (tmp_path / "p.ws").write_text(
        'A = Tensor(Dense(Element(0)), "two.npz:a")\nx = Scalar(0.0)\nx .= 0\n'
        "x[] += A[3] + B[1, 2] + G[4, 2]\nreturn x\n"
    )
    inputs = {"B": tmp_path / "two.npz:b", "G": tmp_path / "page.png:green"}
    assert api.run(tmp_path / "p.ws", inputs=inputs).tensors["x"].to_numpy() == 2 + 1 + 22


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("two.npz", "it holds no sparse array, but a, b; name one after a colon"),
        ("two.npz:c", "it has no array c, but a, b"),
        ("one.mtx:a", "a .mtx file has no members"),
        ("page.png:blue", "it has no plane blue"),
        ("t.arrow", "it has 2 columns, so name one after a colon: x, y"),
        ("t.arrow:z", "it has no column z, but x, y"),
        ("m.h5:a/b", "it holds no a"),
        ("a:b", "not a file that tensors are read from"),
    ],
)
def test_a_member_that_is_not_there_is_refused(tmp_path, name, message):
    np.savez(tmp_path / "two.npz", a=np.arange(3), b=np.ones((2, 2)))
    (tmp_path / "one.mtx").write_text("%%MatrixMarket matrix array real general\n1 1\n1\n")
    Image.fromarray(np.ones((2, 2), dtype=np.uint8)).save(tmp_path / "page.png")
    pyarrow.feather.write_feather(pyarrow.table({"x": [1, 2], "y": [3, 4]}), tmp_path / "t.arrow")
    Tensor.from_numpy("Dense(Element(0))", [1, 2]).save(tmp_path / "m.h5")
    refused(tmp_path / name, message)


def test_a_column_is_a_vector_where_one_is_asked_for(tmp_path):
    """A .mtx file holds nothing else that could be one; a matrix of two columns is none."""
    (tmp_path / "v.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 1 1\n2 1 5\n")
    (tmp_path / "m.mtx").write_text("%%MatrixMarket matrix array integer general\n1 2\n1\n2\n")
    assert Tensor.from_file("SparseList(Element(0.0))", tmp_path / "v.mtx").to_numpy().tolist() == [0, 5, 0]
    assert Tensor.from_file("Dense(Dense(Element(0.0)))", tmp_path / "v.mtx").shape == (3, 1)
    with pytest.raises(InputError, match="has 1 axis, the data has 2"):
        Tensor.from_file("Dense(Element(0))", tmp_path / "m.mtx")


# --------------------------------------------------------------------------------------------------------------- arrow


def test_arrow_files_of_others(tmp_path):
    """Runs in chunks, plain columns, nulls."""
    ree = pyarrow.RunEndEncodedArray.from_arrays(
        pyarrow.array([2, 5], pyarrow.int16()), pyarrow.array([7, 0], pyarrow.int8())
    )
    plain = pyarrow.array([1.5, 2, 0, 4, 5])
    nulls = pyarrow.array([1, None, 3, 4, 5])
    table = pyarrow.table(
        {
            "r": pyarrow.chunked_array([ree, ree.slice(1, 3)]),
            "p": pyarrow.chunked_array([plain, plain[:3]]),
            "n": pyarrow.chunked_array([nulls, nulls[:3]]),
        }
    )
    with pyarrow.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as out:
        out.write_table(table)
    runs = Tensor.from_file("RunList(Element(0))", tmp_path / "t.arrow:r")
    assert runs.to_numpy().tolist() == [7, 7, 0, 0, 0, 7, 0, 0] and len(runs.cells.values) > 0
    assert "[3:5]: 0" in str(runs)
    assert Tensor.from_file("Dense(Element(0.0))", tmp_path / "t.arrow:p").to_numpy().tolist() == [
        1.5,
        2,
        0,
        4,
        5,
        1.5,
        2,
        0,
    ]
    refused(tmp_path / "t.arrow:n", "it has nulls")
    data = (tmp_path / "t.arrow").read_bytes()
    (tmp_path / "half.arrow").write_bytes(data[: len(data) // 2])
    refused(tmp_path / "half.arrow", "not a .arrow file in order: ")


def test_a_stream_of_arrow_is_read_under_either_suffix(tmp_path):
    """In several batches; what is cut short, even between two of them, is refused."""
    table = pyarrow.table({"x": pyarrow.array([1.5, 2, 0])})
    stream = io.BytesIO()
    with pyarrow.ipc.new_stream(stream, table.schema) as out:
        out.write_table(table)
        first = stream.tell()
        out.write_table(table)
    for suffix in (".arrow", ".arrows"):
        path = tmp_path / f"t{suffix}"
        path.write_bytes(stream.getvalue())
        assert Tensor.from_file("Dense(Element(0.0))", path).to_numpy().tolist() == [1.5, 2, 0] * 2
        assert Tensor.from_file("Dense(Element(0.0))", f"{path}:x").shape == (6,)
        for end in (first, len(stream.getvalue()) - 8, 100):
            path.write_bytes(stream.getvalue()[:end])
            refused(path, f"not a {suffix} file in order: it is a stream without the mark of its end")
        path.write_bytes(b"FEA1" + bytes(40))
        refused(path, "it begins neither as a file nor as a stream of Arrow does")
    Tensor.from_numpy("RunList(Element(0))", [7, 7, 0]).save(tmp_path / "r.arrows")
    with pyarrow.ipc.open_stream((tmp_path / "r.arrows").read_bytes()) as opened:
        assert opened.read_all()["values"].chunk(0).run_ends.to_pylist() == [2, 3]


# -------------------------------------------------------------------------------------------------------- pydata/sparse


@pytest.mark.deep  # loads the library
@settings(derandomize=True, deadline=None, max_examples=many(40))
@given(data=st.data())
def test_gcxs_files_of_pydata_are_read(tmp_path_factory, data):
    """Of rank 1 to 4, with any compressed axes, extents 0 and 1, and a fill value that the format must have."""
    import sparse

    path = tmp_path_factory.mktemp("gcxs") / "t.npz"
    shape = tuple(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4)))
    rank, fill = len(shape), data.draw(st.sampled_from([0.0, 1.0, np.inf]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    array = np.where(rng.random(shape) < 0.5, fill, rng.integers(0, 4, shape).astype(float))
    axes = data.draw(st.sets(st.integers(0, rank - 1), min_size=1, max_size=max(rank - 1, 1)))
    made = sparse.COO.from_numpy(array, fill_value=fill)
    made = sparse.GCXS.from_coo(made, compressed_axes=tuple(sorted(axes)) if rank > 1 else None)
    sparse.save_npz(path, made, compressed=data.draw(st.booleans()))
    form = f"{'SparseList(' * rank}Element({'Inf' if fill == np.inf else fill}){')' * rank}"
    tensor = Tensor.from_file(form, path)
    assert tensor.to_numpy().tolist() == array.tolist()
    assert tensor.nnz == (array != fill).sum()
    with pytest.raises(InputError, match="fill value"):
        Tensor.from_file(form.replace("Inf" if fill == np.inf else str(fill), "2.0"), path)


GCXS = {
    "format": np.array("gcxs"), "shape": np.array([3, 2, 2]), "data": np.ones(2), "indices": np.array([0, 5]),
    "indptr": np.array([0, 1, 2]), "compressed_axes": np.array([1]), "fill_value": np.array(0.0),
}  # fmt: skip
"""A tensor whose second axis is compressed; the other two have six places together."""


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"indices": np.array([0, 6])}, "indices has elements that are not in 0:5"),
        ({"indices": np.array([0, -1])}, "indices has elements that are not in 0:5"),
        ({"indptr": np.array([0, 3, 2])}, "indptr has elements that are not in 0:2"),
        ({"indptr": np.array([0, 2, 1])}, "its pointers"),
        ({"indptr": np.array([0, 1])}, r"its shape is \(3, 2, 2\), and those of its arrays are"),
        ({"compressed_axes": np.array([0])}, r"its shape is \(3, 2, 2\), and those of its arrays are"),
        ({"compressed_axes": np.array([3])}, r"its shape is \(3, 2, 2\), and its compressed axes are \(3,\)"),
        ({"compressed_axes": np.array([1, 1])}, r"its compressed axes are \(1, 1\)"),
        ({"compressed_axes": np.array([-1])}, r"its compressed axes are \(-1,\)"),
        ({"shape": np.array([3, 2, -2])}, r"its shape is \(3, 2, -2\)"),
        ({"fill_value": None}, "it holds no sparse array: fill_value is missing"),
        ({"fill_value": np.zeros(2)}, r"'fill_value': \(2,\)"),
        ({"shape": np.array([2**40, 2, 2**40]), "indptr": np.array([0, 1, 2])}, "not a .npz file in order: "),
        ({"data": np.ones(2, dtype=complex)}, "data has complex128 elements"),
    ],
)
def test_a_gcxs_file_out_of_order_is_refused(members, message, tmp_path):
    """And read if nothing is changed."""
    assert Tensor.from_file(None, archive(tmp_path / "t.npz", **GCXS)).nnz == 2
    with pytest.raises(InputError, match=message) as raised:
        Tensor.from_file(None, archive(tmp_path / "t.npz", **(GCXS | members)))
    assert raised.value.message.startswith(f"{tmp_path / 't.npz'}: ") and raised.value.fix


# ------------------------------------------------------------------------------------------------- what cannot be held


def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch):
    import sys

    Tensor.from_numpy("Dense(Element(0))", [1]).save(tmp_path / "m.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    refused(tmp_path / "m.h5", "needs h5py, which is not installed")
    with pytest.raises(InputError, match=r"m.h5: a .h5 file needs h5py") as raised:
        Tensor.from_numpy("Dense(Element(0))", [1]).save(tmp_path / "m.h5")
    assert "pip install 'wingspan[hdf5]'" in raised.value.render()


@derandomized
@given(st.data())
def test_nothing_but_bytes_of_the_file_decides(tmp_path_factory, data):
    """Files with a few bytes changed, cut or doubled are read, or refused by one message that says what to do."""
    suffix = data.draw(st.sampled_from([suffix for suffix in FORMATS if suffix not in (".h5", ".ppm")]))
    form, array = "Dense(Dense(Element(0)))", np.array([[7, 0, 0], [7, 7, 255]])
    if suffix in (".arrow", ".arrows"):
        form, array = "RunList(Element(0))", array.ravel()
    path = tmp_path_factory.mktemp("spoiled") / f"t{suffix}"
    Tensor.from_numpy(form, array).save(path)
    content = bytearray(path.read_bytes())
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=3)):
        content[at] = byte
    end = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:end] + content[: data.draw(st.integers(0, 3))])
    try:
        Tensor.from_file(form, path).validate()
    except InputError as error:
        assert error.fix and len(error.message) < 1000
