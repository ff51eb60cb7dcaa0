"""A failure to read or write a file is reported, and each file is whole or as it was."""

from __future__ import annotations

import io
import os
import resource
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from proofs_tests.effort import few
from proofs_tests.tensors.spoiled import PROGRAM, VERBS, refused
from wingspan import InputError, Tensor
from wingspan.api import binding
from wingspan.base import reading
from wingspan.lang import parser
from wingspan.tensors import files
from wingspan.tensors.files import read_file


class Failing:
    """A function of which one call fails."""

    def __init__(self, real: Callable[..., Any], call: int, error: BaseException) -> None:
        self.real, self.left, self.error = real, call, error

    def __call__(self, *words: Any, **named: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise self.error
        return self.real(*words, **named)

    def __get__(self, owner: Any, kind: Any) -> Any:
        return lambda *words, **named: self(owner, *words, **named)


class Raw(io.FileIO):
    """A file of which reads may fail."""

    def readinto(self, into: Any) -> Any:
        return super().readinto(into)


DENIED = PermissionError(13, "Permission denied")
BROKEN = OSError(5, "Input/output error")
READS: list[tuple[Any, str, BaseException]] = [
    (os, "open", DENIED),
    (os, "fstat", BROKEN),
    (Raw, "readinto", BROKEN),
    (Raw, "readinto", MemoryError()),
    (reading.InSteps, "read", MemoryError()),
    (reading.InSteps, "readline", MemoryError()),
    (np, "frombuffer", MemoryError()),
    (np, "isfinite", MemoryError()),
    (scipy.sparse, "coo_array", MemoryError()),
    (scipy.sparse, "csc_array", MemoryError()),
    (zipfile, "ZipFile", MemoryError()),
]


@pytest.mark.parametrize("suffix", files.SUFFIXES)
def test_whatever_fails_while_a_file_is_read_is_what_the_message_says(suffix, tmp_path, monkeypatch):
    """Every call that opens, reads or allocates fails in turn, once."""
    path = tmp_path / f"A{suffix}"
    monkeypatch.setattr(io, "FileIO", Raw)
    form, array = "Dense(SparseList(Element(0.0)))", np.array([[1.5, 0], [0, 2]])
    if suffix in (".arrow", ".arrows"):
        form, array = "RunList(Element(0.0))", array[0]
    elif suffix in (".png", ".pgm", ".ppm"):
        form, array = "Dense(Dense(Element(0)))", array.astype(int)
    if suffix == ".ppm":
        form, array = f"Dense({form})", array.repeat(3).reshape(2, 2, 3)
    Tensor.from_numpy(form, array).save(path)
    failures = 0
    for owner, name, error in READS:
        for call in range(1, 100):
            with monkeypatch.context() as patched:
                failing = Failing(getattr(owner, name), call, error)
                patched.setattr(owner, name, failing)
                try:
                    read_file(path)
                except InputError as raised:
                    said = "memory ran out while reading it" if isinstance(error, MemoryError) else error.args[1]
                    assert raised.message == f"{path}: {said}" and raised.fix
                    failures += 1
            if failing.left > 0:
                break
        else:
            raise AssertionError(f"{name} is called without end")
    assert failures >= {".mtx": 8, ".npz": 8}.get(suffix, 5)


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


SQUARES = "y = Tensor(SparseList(SparseList(Element(0.0))), 30, 30)\ny .= 0\nfor i = _\n    for j = _\n" \
          "        y[j, i] += i * j / 7\n    end\nend\nreturn y\n"  # fmt: skip
PIXELS = SQUARES.replace("Element(0.0)", "Element(0)").replace("i * j / 7", "i * i * j * j * j % 251")
VECTOR = "y = Tensor(Dense(Element(0.0)), 900)\ny .= 0\nfor i = _\n    y[i] += i / 7\nend\nreturn y\n"
LARGE = {
    ".arrow": VECTOR,
    ".arrows": VECTOR,
    ".png": PIXELS.replace("30", "60"),
    ".pgm": PIXELS.replace("30", "60"),
    ".ppm": PIXELS.replace(
        "SparseList(SparseList(Element(0))), 30, 30", "Dense(Dense(Dense(Element(0)))), 30, 30, 3"
    ).replace("[j, i]", "[j, i, 2]"),
}
"""Programs whose results the files of a suffix hold, if that is not every one."""


@contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """As on a full disk, nothing beyond so many bytes of a file can be written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(("suffix", "size"), few(list(product(files.SUFFIXES, [0, 60, 1000])), 13))
def test_a_disk_that_is_full_is_reported_and_the_old_file_kept(suffix, size, command, written, tmp_path):
    """The disk fills up anywhere in the file. The result is printed before."""
    path, folder = written(LARGE.get(suffix, SQUARES)), tmp_path / "made"
    folder.mkdir()
    shown = command("run", path, "--engine", "native").out
    words = ["run", path, "--engine", "native", "-o", f"y={folder / f'y{suffix}'}", "--force"]
    with files_limited_to(size):
        refused(command(*words), f"y{suffix}: File too large", shown)
        assert not outputs(folder)
    (folder / f"y{suffix}").write_bytes(b"old")
    with files_limited_to(size):
        refused(command(*words), f"y{suffix}: File too large", shown)
    assert outputs(folder) == {f"y{suffix}": b"old"}
    assert command(*words).status == 0 and len(outputs(folder)[f"y{suffix}"]) > 1000


OLD = b"// Printed by wingspan\nold"
"""A file that an older wingspan may have printed, so that a newer one replaces it."""


def test_a_disk_that_is_full_leaves_old_c_files(command, written, tmp_path):
    path, folder = written(SQUARES), tmp_path / "made"
    folder.mkdir()
    (folder / "program.c").write_bytes(OLD)
    with files_limited_to(500):
        refused(command("emit-c", path, "-o", str(folder)), "program.c: File too large")
    assert outputs(folder) == {"program.c": OLD}


WRITES: list[tuple[Any, str, BaseException]] = [
    (tempfile, "mkdtemp", OSError(28, "No space left on device")),
    (Path, "open", OSError(24, "Too many open files")),
    (os, "fsync", BROKEN),
    (os, "replace", DENIED),
    (os, "replace", MemoryError()),
]
WRITTEN = {
    "run": ["--engine", "native", "-o", "y=made/y.npy", "-o", "x=made/x.mtx", "--force"],
    "emit-c": ["-o", "made"],
    "explore": ["--graph", "made/g.dot", "--force"],
}


@pytest.mark.parametrize("verb", WRITTEN)
def test_whatever_fails_while_files_are_written_each_is_whole_or_as_it_was(
    verb, command, written, tmp_path, monkeypatch
):
    """Every call fails in turn; one message says why, and nothing else is left in the folder."""
    monkeypatch.chdir(tmp_path)
    program = PROGRAM.replace("return y", "x = Tensor(Dense(Dense(Element(0))), [1 2])\nreturn y, x")
    path, folder = written(program), Path("made")
    folder.mkdir()
    written_whole = command(verb, path, *WRITTEN[verb])
    assert written_whole.status == 0
    whole = outputs(folder)
    for file in folder.iterdir():
        file.write_bytes(OLD)
    failures = 0
    for owner, name, error in WRITES:
        for call in range(1, 20):
            with monkeypatch.context() as patched:
                failing = Failing(getattr(owner, name), call, error)
                patched.setattr(owner, name, failing)
                done = command(verb, path, *WRITTEN[verb])
            assert all(data in (OLD, whole[name]) for name, data in outputs(folder).items())
            if failing.left > 0:
                assert done.status == 0
                break
            if "is not written: memory ran out" in done.err:  # a verdict stands without its graph
                assert done.status == (0 if verb == "explore" else 2)
                failures += 1
                continue
            if done.status == 0:  # the limits of control groups are read where that is possible
                assert owner is Path
                continue
            about = "memory ran out" if isinstance(error, MemoryError) else error.args[1]
            assert done.out.splitlines()[:1] in ([], written_whole.out.splitlines()[:1])
            refused(done, about, done.out)
            failures += 1
    assert failures >= len(WRITES) and outputs(folder) == whole


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_so_if_memory_runs_out(verb, command, written, monkeypatch):
    """Memory runs out anywhere: here in the parser, and in the binding of the program."""
    path = written(PROGRAM)
    for owner, name in ((parser, "parse"), (binding, "elaborate")):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, Failing(getattr(owner, name), 1, MemoryError()))
            if (verb, name) != ("fmt", "elaborate"):
                refused(command(verb, path, *VERBS[verb]), "error[memory]: memory ran out")


@pytest.mark.parametrize("stream", ["closed", "full"])
def test_without_standard_error_the_exit_status_still_says_it(stream, command, monkeypatch):
    full = io.StringIO()
    monkeypatch.setattr(full, "write", Failing(full.write, 1, OSError(28, "No space left on device")))
    monkeypatch.setattr(sys, "stderr", full if stream == "full" else None)
    assert command("run", "none.ws").status == 2
    if stream == "closed":
        sys.stderr.close()  # the one that stood in for it
