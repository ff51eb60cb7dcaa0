"""`convert` and `show`: files of tensors, one as another, and drawn."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from wingspan import Tensor

RUNS = "Dense(SparseRunList(Element(0)))"
MATRIX = np.array([[7, 0], [7, 5], [0, 5], [7, 4]])
NUMBERS = (".mtx", ".tns", ".npy", ".npz", ".h5")


@settings(
    derandomize=True, deadline=None, max_examples=many(30), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(NUMBERS), min_size=2, max_size=4, unique=True), st.booleans())
def test_a_tensor_goes_through_any_files(command, tmp_path_factory, suffixes, sparse):
    """Elements, extents and what is stored; the kind of the elements is that of the first file, or of the format."""
    folder = tmp_path_factory.mktemp("converted")
    form = RUNS if sparse else "Dense(Dense(Element(0)))"
    Tensor.from_numpy(form, MATRIX).save(folder / f"0{suffixes[0]}")
    for k, suffix in enumerate(suffixes[1:], start=1):
        done = command(
            "convert", str(folder / f"{k - 1}{suffixes[k - 1]}"), str(folder / f"{k}{suffix}"), "--format", form
        )
        assert done.status == 0 and done.out == f"{folder / f'{k}{suffix}'}: 4×2, {6 if sparse else 8} stored, {form}\n"
    last = Tensor.from_file(None, folder / f"{len(suffixes) - 1}{suffixes[-1]}")
    assert last.to_numpy().tolist() == MATRIX.tolist() and last.tower.kind == "int"


def test_a_file_is_replaced_only_if_that_is_said(command, tmp_path):
    """The message names the option; the file that is read is never replaced, nor one that cannot be written whole."""
    Tensor.from_numpy(RUNS, MATRIX).save(tmp_path / "a.npy")
    (tmp_path / "b.npz").write_bytes(b"old")
    words = ["convert", str(tmp_path / "a.npy"), str(tmp_path / "b.npz")]
    done = command(*words)
    assert done.status == 2 and "b.npz is there already" in done.err and "--force" in done.err
    assert (tmp_path / "b.npz").read_bytes() == b"old"
    assert command(*words, "--force").status == 0
    assert Tensor.from_file(None, tmp_path / "b.npz").to_numpy().tolist() == MATRIX.tolist()
    for again in (tmp_path / "a.npy", tmp_path / "b.npz"):
        done = command("convert", f"{again}:x" if again.suffix == ".npz" else str(again), str(again), "--force")
        assert done.status == 2 and "would be overwritten" in done.err
    (tmp_path / "c.mtx").write_bytes(b"old")
    np.save(tmp_path / "cube.npy", np.ones((2, 2, 2)))
    done = command("convert", str(tmp_path / "cube.npy"), str(tmp_path / "c.mtx"), "--force")
    assert done.status == 2 and "does not hold a tensor of rank 3" in done.err
    assert (tmp_path / "c.mtx").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "b.npz", "c.mtx", "cube.npy"]


def test_a_tensor_is_drawn_with_the_bytes_of_its_levels(command, tmp_path):
    """Runs as such; the bytes are those of the arrays that hold them, in all instances."""
    np.save(tmp_path / "a.npy", MATRIX)
    done = command("show", str(tmp_path / "a.npy"), "--format", RUNS)
    drawing, table = done.out.split("\n\n")
    assert drawing == str(Tensor.from_numpy(RUNS, MATRIX)) and "[1:2]: 7" in drawing
    assert re.sub(" +", " ", table).splitlines() == [
        "level bytes",
        "3 Dense 0",
        "2 SparseRunList 60 ptr 12, left 16, right 16, fill 8, prev 8",
        "1 Element 32 val 32",
        "all 92 6 elements are stored",
    ]
    made = command("show", str(tmp_path / "a.npy"), "--format", f"Dense(Isolate({RUNS[6:-1]}))", "--json").json
    assert (made["shape"], made["nnz"], made["levels"][1]["name"]) == ([4, 2], 6, "Isolate")
    assert made["levels"][2]["buffers"]["right"] == 16 and sum(made["levels"][1]["buffers"].values()) == 2
    shard = command("show", str(tmp_path / "a.npy"), "--format", f"Dense(Shard(dev, {RUNS[6:-1]}))", "--threads", "3")
    assert "[:, 1]  thread 1" in shard.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "none.npy"], "none.npy: no such file"),
        (["show", "a.npy", "--format", "Dense("], "error[syntax]"),
        (["show", "a.npy", "--format", "Dance(Element(0))"], "there is no format Dance"),
        (["show", "a.npy", "--format", "Dense(Element(0))"], "Dense(Element(0)) has 1 axis, the data has 2"),
        (["convert", "a.npy", "a.txt"], "a.txt: not a file that tensors are written to"),
        (["convert", "a.npy", "a.npy/b.npy"], "a.npy/b.npy: Not a directory"),
        (["convert", "a.npy", "b.arrow"], "b.arrow: a .arrow file does not hold a tensor of rank 2"),
        (["convert", "a.npy", "b.npz", "--format", "Dense(SparseList(Element(7)))"], "a tensor with fill value 7"),
    ],
)
def test_a_mistake_is_one_message(command, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", MATRIX)
    done = command(*words)
    assert (done.status, done.out) == (2, "") and message in done.err and "  fix  " in done.err
    assert [path.name for path in Path().iterdir()] == ["a.npy"]


def test_a_member_is_no_other_file_to_write_to(command, written, tmp_path):
    """`-o` does not replace the file of which `-i` reads a member."""
    np.savez(tmp_path / "two.npz", a=np.ones((2, 2)), b=np.ones(2))
    program = written("y = Tensor(Dense(Element(0.0)), 2)\ny .= 0\nfor i = _\n    y[i] += A[i, i]\nend\nreturn y\n")
    words = ["-i", f"A={tmp_path / 'two.npz'}:a", "-o", f"y={tmp_path / 'two.npz'}"]
    done = command("run", program, *words)
    assert done.status == 2 and "would be overwritten" in done.err
