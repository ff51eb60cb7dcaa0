"""Files of tensors: they go there and back, and what is out of order is refused by one message."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.towers import COUNTS, same, zero_filled
from wingspan import InputError, Tensor
from wingspan.tensors import files
from wingspan.tensors.files import read_file
from wingspan.testing.formats import tensors

derandomized = settings(derandomize=True, deadline=None, max_examples=many(60))
CSC = "Dense(SparseList(Element(0.0)))"
BANNER = "%%MatrixMarket matrix coordinate real general\n"


@settings(derandomized, max_examples=many(40))
@given(made=tensors(), suffix=st.sampled_from([".npy", ".npz", ".mtx", ".tns", ".h5", ".arrow", ".arrows"]))
def test_files_go_there_and_back(tmp_path_factory, made, suffix):
    """Or are refused with what to do instead; nothing else is left in the folder."""
    form, array = made
    folder = tmp_path_factory.mktemp("files")
    path = folder / f"t{suffix}"
    tensor = Tensor.from_numpy(form, array, devices=COUNTS)
    rank, zeros, numbers = array.ndim, zero_filled(made), array.dtype != bool
    held = {
        ".npy": True,
        ".npz": zeros,
        ".mtx": zeros and rank <= 2 and numbers,
        ".tns": zeros and numbers,
        ".h5": rank > 0,
        ".arrow": rank == 1,
        ".arrows": rank == 1,
    }[suffix]
    if held:
        tensor.save(path)
        assert same(Tensor.from_file(form, path, devices=COUNTS), array)
        assert [p.name for p in folder.iterdir()] == [path.name]
    else:
        with pytest.raises(InputError, match=r"does not hold|holds") as raised:
            tensor.save(path)
        assert "fix" in raised.value.render() and not list(folder.iterdir())


VALUES = [0, 1, -7, 2**60], [0.0, 0.5, -(2.0**40)], [0.0, -(2.0**1000)]
"""Numbers that stand beside each other: sums of five of them are exact, since files have room for 64 bits."""


@derandomized
@given(data=st.data(), suffix=st.sampled_from([".npz", ".mtx", ".tns", ".h5"]))
def test_what_is_stored_stays_stored(tmp_path_factory, data, suffix):
    """Zeros too, of rank 1 to 4, with extents 0 and 1, and duplicates summed; integers stay integers."""
    rank = data.draw(st.integers(1, 2 if suffix == ".mtx" else 4))
    shape = tuple(data.draw(st.lists(st.sampled_from([0, 1, 2, 5, 2**40]), min_size=rank, max_size=rank)))
    size = data.draw(st.integers(0, 5)) if all(shape) else 0
    at = [data.draw(st.lists(st.sampled_from([0, n // 2, n - 1]), min_size=size, max_size=size)) for n in shape]
    value = data.draw(st.sampled_from([st.sampled_from(some) for some in VALUES]))
    leaf = data.draw(st.sampled_from(["SparseList", "SparseDict"]))
    values = np.array(data.draw(st.lists(value, min_size=size, max_size=size)), dtype=np.float64)
    values = values.astype(np.int64) if (values == np.trunc(values)).all() and (abs(values) < 2**62).all() else values
    fill = "0" if values.dtype == np.int64 else "0.0"
    form = f"{leaf}(" * rank + f"Element({fill})" + ")" * rank
    tensor = Tensor.from_scipy(form, scipy.sparse.coo_array((values, tuple(map(np.array, at))), shape=shape))
    path = tmp_path_factory.mktemp("stored") / f"t{suffix}"
    tensor.save(path)
    again = Tensor.from_file(form, path)
    assert again.shape == shape and list(again.entries()) == list(tensor.entries())


@pytest.mark.parametrize("suffix", [".npz", ".mtx", ".tns", ".h5"])
def test_files_take_room_for_entries_only(tmp_path, suffix):
    """Not for the columns of a matrix."""
    n = 2**40
    tensor = Tensor.from_scipy(
        "SparseList(SparseList(Element(0)))", scipy.sparse.coo_array(([5], ([7], [n - 1])), (9, n))
    )
    tensor.save(tmp_path / f"t{suffix}")
    again = Tensor.from_file("SparseList(SparseList(Element(0)))", tmp_path / f"t{suffix}")
    assert again.shape == (9, n) and dict(again.entries()) == {(8, n): 5}


def mtx(tmp_path, text):
    path = tmp_path / "t.mtx"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("coordinate pattern general\n2 2 1\n2 1\n", [[0, 0], [1, 0]]),
        ("coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n", [[1, 1], [1, 0]]),
        ("coordinate integer symmetric\n2 2 1\n2 1 7\n", [[0, 7], [7, 0]]),
        ("coordinate real skew-symmetric\n2 2 1\n2 1 7\n", [[0, -7], [7, 0]]),
        ("coordinate real general\n2 2 2\n1 2 3\n1 2 4.5\n", [[0, 7.5], [0, 0]]),
        ("array real general\n2 2\n1\n0\n3\n4\n", [[1, 3], [0, 4]]),
        ("array integer symmetric\n2 2\n1\n5\n3\n", [[1, 5], [5, 3]]),
        ("coordinate real general\n% words\n2 3 0\n", [[0, 0, 0], [0, 0, 0]]),
    ],
)
def test_matrix_market_files(tmp_path, text, expected):
    """Symmetric ones are expanded, patterns are ones, duplicates summed."""
    tensor = Tensor.from_file(CSC, mtx(tmp_path, "%%MatrixMarket matrix " + text))
    assert tensor.to_numpy().tolist() == expected
    assert tensor.nnz == np.count_nonzero(expected)


BAD_TEXTS = {
    "line 1 is ``, and should be `%%MatrixMarket matrix ": "",
    "line 1 is `1 2 3`, and should be `%%MatrixMarket matrix ": "1 2 3\n",
    "line 1 says `graph`, and should say general or symmetric or": BANNER.replace("general", "graph") + "1 1 0\n",
    "line 3 is `2`, and should be `rows columns entries`": BANNER + "%\n2\n",
    "its header announces 2 entries, and 1 follow": BANNER + "2 2 2\n1 1 5\n",
    "line 3 is `1 1 abc`, and should be `row column number`": BANNER + "2 2 1\n1 1 abc\n",
    "line 3 is `1 1 5 6`": BANNER + "2 2 1\n1 1 5 6\n",
    "line 3 is `1 1 5x`": BANNER + "2 2 1\n1 1 5x\n",
    "line 3 is `1 1`": BANNER + "2 2 1\n1 1\n",
    "line 3: row 3 is not in 1:2": BANNER + "2 2 1\n3 1 5\n",
    "line 4: column 0 is not in 1:2": BANNER + "2 2 2\n1 1 5\n1 0 5\n",
    "line 2 is `2 2 -1`, and should be `rows columns entries`": BANNER + "2 2 -1\n",
    "line 2: 99999999999999999999 does not fit a 64-bit integer": BANNER + "99999999999999999999 2 1\n1 1 5\n",
    "line 3: 9223372036854775808 does not fit a 64-bit integer":
        BANNER.replace("real", "integer") + "2 2 1\n1 1 9223372036854775808\n",
    "the negative of -9223372036854775808 does not fit a 64-bit integer":
        "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 -9223372036854775808\n",
    r"line 3 is `\\x1b\[31m`": BANNER + "2 2 1\n\x1b[31m\n",
    "its header announces 1 entries, and 2 follow": BANNER + "2 2 1\n1 1 5\n2 2 6\n",
    "announces 1000000000000000 entries, and 1 follow": BANNER + "2 2 1000000000000000\n1 1 5\n",
    "announces 10000000000000000 entries": BANNER.replace("coordinate", "array") + "100000000 100000000\n1\n",
    "line 3 is `1 1 1.5`, and should be `row column integer`": BANNER.replace("real", "integer") + "2 2 1\n1 1 1.5\n",
    "line 3 is `1 1 7`, and should be `row column`": BANNER.replace("real", "pattern") + "2 2 1\n1 1 7\n",
    "a symmetric matrix is square, and it has 2 rows and 3 columns":
        BANNER.replace("general", "symmetric") + "2 3 1\n2 1 7\n",
    "announces 1 entries, and 2 follow": "%%MatrixMarket matrix array integer skew-symmetric\n2 2\n0\n1\n",
    "an array has values, and a pattern has none": "%%MatrixMarket matrix array pattern general\n1 1\n1\n",
    "line 4: `-1e400` is larger than every double": BANNER + "2 2 2\n1 1 nan\n1 2 -1e400\n",
    "its numbers are complex": BANNER.replace("real", "complex") + "2 2 1\n1 1 5 0\n",
}  # fmt: skip


@pytest.mark.parametrize("message", BAD_TEXTS)
def test_a_matrix_market_file_out_of_order_is_refused(tmp_path, message):
    """By one message that names the file, the reason and what to do."""
    path = mtx(tmp_path, BAD_TEXTS[message])
    with pytest.raises(InputError, match=message) as raised:
        read_file(path)
    assert raised.value.message.startswith(f"{path}: ") and "\n  fix  " in raised.value.render()


def test_lines_of_a_matrix_market_file_are_no_longer_than_a_megabyte(tmp_path):
    """Neither in the header nor below it: no line takes the memory of a file."""
    for text in (BANNER + "%" * 2**20 + "\n1 1 1\n1 1 5\n", BANNER + "1 1 1\n1 1 " + "0" * 2**21 + "5\n"):
        with pytest.raises(InputError, match=r"line (2 )?is longer than 1048576 characters"):
            read_file(mtx(tmp_path, text))


def spoil(path, how):
    match how:
        case "directory":
            path.mkdir()
        case "garbage":
            path.write_bytes(b"\x93NUMPY PK\x03\x04 garbage")
        case "truncated":
            np.save(path, np.ones(9)) if path.suffix == ".npy" else np.savez(path, np.ones(9))
            path.write_bytes(path.read_bytes()[:140])
        case "objects":
            np.save(path, np.array([None]), allow_pickle=True)
        case "several":
            np.savez(path.with_suffix(".npz"), a=np.ones(2), b=np.ones(2))
            if path.suffix == ".npy":
                path.with_suffix(".npz").rename(path)
        case "text":
            path.write_text("words")


@pytest.mark.parametrize(
    ("name", "how", "message"),
    [
        ("t.mtx", "directory", "a directory, not a file"),
        ("t.npy", "directory", "a directory, not a file"),
        ("t.mtx", "missing", "no such file"),
        ("t.npy", "missing", "no such file"),
        ("t.npz", "missing", "no such file"),
        ("t.mtx", "garbage", "not a .mtx file in order"),
        ("t.npy", "garbage", "not a .npy file in order"),
        ("t.npz", "garbage", "not a .npz file in order: File is not a zip file"),
        ("t.npy", "truncated", "not a .npy file in order"),
        ("t.npz", "truncated", "not a .npz file in order"),
        ("t.npy", "objects", "not a .npy file in order: its array has object elements"),
        ("t.npy", "several", "it holds several arrays"),
        ("t.npz", "several", "it holds no sparse array"),
        ("t.csv", "text", "not a file that tensors are read from"),
        ("t", "text", "not a file that tensors are read from"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name, how, message):
    path = tmp_path / name
    spoil(path, how)
    with pytest.raises(InputError, match=message) as raised:
        read_file(path)
    assert raised.value.message.startswith(f"{path}: ")


def test_reading_warns_of_nothing(tmp_path, monkeypatch):
    """Warnings of a reader are not the caller's matter."""
    noisy = lambda *_: warnings.warn("noise", stacklevel=1) or np.ones((1, 1))  # noqa: E731
    monkeypatch.setitem(files.FORMATS, ".mtx", replace(files.FORMATS[".mtx"], read=noisy))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert read_file(mtx(tmp_path, BANNER + "1 1 1\n1 1 1\n")).tolist() == [[1]]
    assert not seen


def test_ranks_of_file_and_format_must_agree(tmp_path):
    path = mtx(tmp_path, BANNER + "3 2 1\n2 1 5\n")
    with pytest.raises(InputError, match="has 1 axis, the data has 2"):
        Tensor.from_file("SparseList(Element(0.0))", path)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    """A writer that fails half way leaves the old file, and nothing beside it."""
    tensor, path = Tensor.from_numpy(CSC, [[1.0]]), tmp_path / "t.npy"
    tensor.save(path)

    def fail(file, data):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(files.FORMATS, ".npy", replace(files.FORMATS[".npy"], write=fail))
    with pytest.raises(InputError, match="No space left on device"):
        tensor.save(path)
    assert np.load(path).tolist() == [[1.0]] and list(tmp_path.iterdir()) == [path]


def test_who_reads_the_old_file_keeps_it(tmp_path):
    """The new file takes its place at once, so no reader meets a half of it."""
    path = tmp_path / "t.npy"
    Tensor.from_numpy(CSC, [[1.0]]).save(path)
    with path.open("rb") as old:
        Tensor.from_numpy(CSC, [[2.0]]).save(path)
        assert (np.load(old).tolist(), np.load(path).tolist()) == ([[1.0]], [[2.0]])


@pytest.mark.parametrize("target", ["t.txt", "file/t.npy", "folder.npy"])
def test_what_cannot_be_written_is_refused(tmp_path, target):
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError) as raised:
        Tensor.from_numpy(CSC, [[1.0]]).save(tmp_path / target)
    assert "fix" in raised.value.render()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.npy"]
