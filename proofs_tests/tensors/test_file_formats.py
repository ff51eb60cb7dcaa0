"""What each format of files holds: read as its specification says, or refused by one message."""

from __future__ import annotations

import numpy as np
import pyarrow
import pyarrow.feather
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from proofs_tests.effort import many
from proofs_tests.tensors.refusals import refused
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
    if suffix == ".arrow":
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
