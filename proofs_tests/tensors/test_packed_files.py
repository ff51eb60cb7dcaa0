"""Text files that gzip packs: read and written as others are, within the same bounds."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from proofs_tests.tensors.refusals import refused
from proofs_tests.tensors.spoiled import BANNER, within
from wingspan import InputError, Tensor
from wingspan.base import reading
from wingspan.tensors import files
from wingspan.tensors.files import read_file

PACKED = (".mtx.gz", ".tns.gz")
CSC = "Dense(SparseList(Element(0.0)))"


@pytest.mark.parametrize("suffix", PACKED)
def test_a_packed_file_holds_what_a_file_holds(tmp_path, suffix):
    """In parts that were packed one by one, too; the same tensor is written as the same bytes."""
    tensor = Tensor.from_numpy(CSC, [[0, 2.5, 0], [1, 0, 0.1]])
    path, plain = tmp_path / f"t{suffix}", tmp_path / f"t{suffix[:4]}"
    tensor.save(path)
    first = path.read_bytes()
    tensor.save(path)
    tensor.save(plain)
    assert path.read_bytes() == first and gzip.decompress(first) == plain.read_bytes()
    text = plain.read_bytes()
    path.write_bytes(gzip.compress(text[:30]) + gzip.compress(text[30:]) + b"\0" * 8)
    assert np.array_equal(Tensor.from_file(CSC, path).to_numpy(), tensor.to_numpy())


@pytest.mark.parametrize("suffix", PACKED)
def test_a_packed_file_out_of_order_is_refused(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    text = (BANNER + "1 1 1\n" if suffix == ".mtx.gz" else "") + "1 1 2.5\n" * (suffix == ".tns.gz" or 1)
    path.write_text(text)
    refused(path, "it is not packed by gzip\n  fix  name it without .gz, or pack it")
    packed = gzip.compress(text.encode())
    for spoiled in (packed[:-9], packed[:12], packed[:-8] + b"\0" * 8, packed + b"more", packed[:11] + b"\xff" * 9):
        path.write_bytes(spoiled)
        refused(path, "it is cut short, or damaged\n  fix  pack it again")
    path.write_bytes(gzip.compress(b"\x1f\x8b" + packed))
    refused(path, "it is packed by gzip, not UTF-8 text")
    path.write_bytes(gzip.compress(b"1 1 x\n"))
    refused(path, f"not a {suffix} file in order: line 1 is `1 1 x`")
    with pytest.raises(InputError, match=f"a {suffix} file has no members"):
        read_file(tmp_path / f"t{suffix}:a")
    with pytest.raises(InputError, match=f"a {suffix} file does not hold booleans"):
        Tensor.from_numpy("Dense(Element(false))", [True]).save(tmp_path / f"b{suffix}")


BOMBS = {
    "entries of a tensor": (".tns.gz", "", "1 1 1\n"),
    "comments of a tensor": (".tns.gz", "", "# words\n"),
    "more entries than a header announces": (".mtx.gz", f"{BANNER}1 1 1\n", "1 1 1\n"),
    "a line that does not end": (".mtx.gz", BANNER, "%"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_inflates_to_more_than_memory_holds_is_refused_before_it_is_there(tmp_path, monkeypatch, bomb):
    """12 MB in 20 kB, where 8 MB may be used; of one step and what is made of it, several are there at a time."""
    suffix, head, line = BOMBS[bomb]
    monkeypatch.setattr(reading, "STEP", 1 << 16)
    monkeypatch.setattr(files.text, "STEP", 1 << 16)
    monkeypatch.setattr(files.matrix_market, "STEP", 1 << 16)
    monkeypatch.setattr(reading, "available_memory", lambda: 8 << 20)
    path = tmp_path / f"t{suffix}"
    path.write_bytes(gzip.compress((head + line * ((12 << 20) // len(line))).encode()))
    assert path.stat().st_size < 1 << 17
    with within(8 << 20):
        refused(path, "")


def test_a_header_announces_no_more_entries_than_a_packed_file_can_hold(tmp_path):
    """A byte inflates to 1,032 at most; what a header announces beyond that takes no memory."""
    path = tmp_path / "t.mtx.gz"
    path.write_bytes(gzip.compress(f"{BANNER}9 9 1000000000000\n1 1 1\n".encode()))
    with within(8 << 20):
        refused(path, "its header announces 1000000000000 entries, and 1 follow")
