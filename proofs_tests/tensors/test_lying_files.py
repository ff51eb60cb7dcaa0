"""Files whose headers lie about their lengths, or that change while they are read."""

from __future__ import annotations

import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.tensors.spoiled import BANNER, archive, within
from proofs_tests.tensors.test_failing_files import DENIED, Failing
from wingspan import InputError
from wingspan.tensors.files import matrix_market, numpy_files, read_file


def test_nothing_is_unpickled(tmp_path):
    """Neither from `.npy` nor from any member of `.npz`."""

    class Bomb:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "unpickled",)

    np.save(tmp_path / "A.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="its array has object elements"):
        read_file(tmp_path / "A.npy")
    (tmp_path / "B.npy").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match="does not start with the header"):
        read_file(tmp_path / "B.npy")
    for name in ("format", "shape", "indptr", "indices", "data"):
        with pytest.raises(InputError, match=f"{name} has object elements"):
            read_file(archive(tmp_path / "A.npz", **{name: np.array([Bomb()], dtype=object)}))
    assert not (tmp_path / "unpickled").exists()


def npy(shape: str, data: bytes, descr: str = "'<f8'") -> bytes:
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy("(2,)", bytes(17)), "should be 2 float64 elements in 16 bytes, and has 17 bytes"),
        (npy("(2,)", bytes(15)), "should be 2 float64 elements in 16 bytes, and has 15 bytes"),
        (npy("(4294967296, 4294967296)", bytes(8)), "should be 4294967296×4294967296 float64 elements"),
        (npy("(-1, -1)", bytes(8)), r"its array has the shape \(-1, -1\)"),
        (npy("(99999999999999999999, 0)", b""), "its array has the shape"),
        (npy("(1,)", bytes(8), "[('a', '<f8')]"), r"its array has \[\('a', '<f8'\)\] elements"),
        (npy("(1,)", bytes(16), "'<f16'"), "its array has float128 elements"),
        (npy("()", b"", "'|S0'"), r"its array has \|S0 elements"),
        (npy("(2,)", b"\1\2", "'|b1'"), "booleans that are neither 0 nor 1"),
        (npy("-" * 4000 + "1", b""), "does not start with the header"),
        (b"\x93NUMPY\2\0\xff\xff\xff\xff{", "does not start with the header"),
        (b"\x93NUMPY\x09\0", "does not start with the header"),
    ],
)
def test_an_npy_whose_header_does_not_fit_it_is_refused(data, message, tmp_path):
    (tmp_path / "A.npy").write_bytes(data)
    with within(2 << 20), pytest.raises(InputError, match=message):
        read_file(tmp_path / "A.npy")


def test_an_npz_whose_directory_lies_is_refused(tmp_path):
    """About how long a member is, packed or not, how it is packed, and what it sums to."""
    path = archive(tmp_path / "A.npz", indices=None, data=None)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_BZIP2) as made:
        made.writestr("data.npy", npy("(2,)", bytes(16)))
        made.writestr("indices.npy", npy("(2,)", bytes(16), "'<i8'"))
    with pytest.raises(InputError, match="packed by a method that NumPy does not use"):
        read_file(path)
    whole = archive(path).read_bytes()
    entry = whole.rindex(b"PK\1\2")
    for offset, value, message in (
        (16, 7, "Bad CRC-32"),
        (20, 2**31, "data cannot be .* bytes long, packed to 2147483648"),
        (24, 2**31, "data cannot be 2147483648 bytes long"),
        (24, 145, "float64 elements in 16 bytes, and has 17 bytes"),
        (24, 60, "Bad CRC-32"),
        (42, 2**31, "Truncated file header"),
    ):
        path.write_bytes(whole[: entry + offset] + struct.pack("<I", value) + whole[entry + offset + 4 :])
        with within(2 << 20), pytest.raises(InputError, match=message):
            read_file(path)


def test_a_file_that_changes_while_it_is_read_is_read_once(tmp_path, monkeypatch):
    """The checked contents are the kept ones: after the first step the file changes, and is not opened again."""
    opening = Failing(os.open, -1, DENIED)
    monkeypatch.setattr(os, "open", opening)
    path = tmp_path / "A.mtx"
    path.write_text(BANNER + "2 2 1\n1 1 5\n")
    read_head = matrix_market._head

    def changing(file):
        made = read_head(file)
        path.write_text(BANNER + "2 2 1\n2 2 7\n")
        return made

    monkeypatch.setattr(matrix_market, "_head", changing)
    assert read_file(path).toarray().tolist() == [[5, 0], [0, 0]]
    assert opening.left == -2


@pytest.mark.parametrize("change", [-1, 1])
def test_an_npy_that_changes_its_length_while_it_is_read_is_refused(change, tmp_path, monkeypatch):
    """By a byte, when its length has been compared with the header."""
    path = tmp_path / "A.npy"
    np.save(path, np.zeros(2000))
    compared = numpy_files._require_memory

    def changing(arrays: Any) -> None:
        compared(arrays)
        os.truncate(path, path.stat().st_size + change)

    monkeypatch.setattr(numpy_files, "_require_memory", changing)
    with pytest.raises(InputError, match=r"ends before its last element|more follows the last element"):
        read_file(path)
