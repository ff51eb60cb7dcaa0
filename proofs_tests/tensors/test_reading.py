"""Files in every condition are read, or refused by one message; so is whatever fails while they are read or written."""

from __future__ import annotations

import io
import os
import pickle
import resource
import struct
import subprocess
import sys
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from proofs_tests.places import ROOT
from wingspan import InputError, Tensor, api, program, reading
from wingspan.api import binding
from wingspan.lang import parser
from wingspan.tensors import files
from wingspan.tensors.files import matrix_market, numpy_files, read_file

BANNER = "%%MatrixMarket matrix coordinate real general\n"
PROGRAM = "y = Tensor(Dense(Element(0)), 2)\ny .= 0\nfor i = _\n    y[i] += i\nend\nreturn y\n"
VERBS: dict[str, list[str]] = {
    "check": [], "explore": [], "replay": ["--interleaving", "-"], "run": ["--engine", "semantics"], "diff": [],
    "race": ["--runs", "2"],
    "plan": [], "emit-c": [], "fmt": [],
}  # fmt: skip


def refused(done: Any, about: str) -> None:
    """One message on standard error, about a path, and exit status 2."""
    assert (done.status, done.out) == (2, ""), done
    assert done.err.startswith("error[") and about in done.err.splitlines()[0], done.err
    assert "defect" not in done.err and "Traceback" not in done.err


# ---------------------------------------------------------------------------------------------------------- conditions


def fifo(path: Path) -> None:
    os.mkfifo(path)


CONDITIONS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "no such file"),
    "directory": (lambda path: path.mkdir(), "a directory, not a file"),
    "pipe": (fifo, "neither a file nor a link to one"),
    "endless": (lambda path: path.symlink_to("/dev/zero"), "neither a file nor a link to one"),
    "broken link": (lambda path: path.symlink_to("nowhere"), "no such file"),
    "link to itself": (lambda path: path.symlink_to(path.name), "Too many levels of symbolic links"),
    "empty": (lambda path: path.touch(), ""),
    "zeros": (lambda path: path.write_bytes(bytes(5000)), ""),
    "a long line": (lambda path: path.write_bytes(b"x" * 3 * 2**20), ""),
    "not text": (lambda path: path.write_bytes(bytes(range(256)) * 9), ""),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_program_that_cannot_be_read_is_one_message(condition, verb, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, said = CONDITIONS[condition]
    make(Path("p.ws"))
    done = command(verb, "p.ws", *VERBS[verb])
    if condition in ("empty", "zeros"):
        assert (done.status, done.out) == (2, "") and "p.ws:1:1\n" in done.err
    else:
        refused(done, "p.ws: " + said)


@pytest.mark.parametrize("suffix", files.SUFFIXES)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_an_input_that_cannot_be_read_is_one_message(condition, suffix, command, written, tmp_path):
    make, said = CONDITIONS[condition]
    make(tmp_path / f"A{suffix}")
    path = tmp_path / f"A{suffix}"
    refused(command("run", written("x = A[1, 1]\n"), "-i", f"A={path}"), f"{path}: {said}")


@pytest.mark.parametrize("name", ["x" * 300, "p.ws/below"])
def test_names_that_the_system_refuses_are_one_message(name, command, written):
    path = written(PROGRAM, "p.ws")
    folder = str(Path(path).parent)
    for words in (
        ["run", f"{folder}/{name}"],
        ["run", written("x = A[1]\n", "q.ws"), "-i", f"A={folder}/{name}.npy"],
        ["run", path, "-o", f"y={folder}/{name}.npy"],
        ["run", path, "-o", f"y={folder}/{name}/y.npy"],
        ["explore", path, "--resume", f"{folder}/{name}"],
        ["explore", path, "--checkpoint", f"{folder}/{name}"],
        ["explore", path, "--graph", f"{folder}/{name}.dot"],
        ["emit-c", path, "-o", f"{folder}/{name}"],
    ):
        refused(command(*words), name)


def test_a_pipe_in_place_of_a_checkpoint_is_refused(command, written, tmp_path):
    """It would be waited for."""
    os.mkfifo(tmp_path / "kept")
    refused(command("explore", written(PROGRAM), "--resume", str(tmp_path / "kept")), "neither a file nor a link")


def test_a_name_with_a_nul_is_refused(command, written):
    """Only a program can write one."""
    refused(command("run", written('A = Tensor(Dense(Element(0.0)), "a\0.npy")\nx = A[1]\n')), "control characters")


def test_files_may_start_with_a_mark_and_end_lines_by_two_characters(command, written, tmp_path):
    plain = command("run", written(PROGRAM))
    (tmp_path / "marked.ws").write_bytes(b"\xef\xbb\xbf" + PROGRAM.replace("\n", "\r\n").encode())
    assert command("run", str(tmp_path / "marked.ws")) == plain
    text = BANNER + "% words\n\n2 2 2\n1 1 5\n\n2 1 -.5e1\n"
    for number, data in enumerate((text.encode(), b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())):
        (tmp_path / f"{number}.mtx").write_bytes(data)
        assert read_file(tmp_path / f"{number}.mtx").toarray().tolist() == [[5, 0], [-5, 0]]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_works_in_a_folder_that_is_deleted(verb, command, written, tmp_path, monkeypatch):
    """All but writing there."""
    path = written(PROGRAM)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    here.rmdir()
    done = command(verb, path, *VERBS[verb])
    if verb == "emit-c":
        refused(done, ".: No such file or directory")
    else:
        assert done.status == 0 and done.out and not done.err
    refused(command(verb, "program.ws", *VERBS[verb]), "program.ws: no such file")


def test_what_is_written_to_a_folder_that_is_deleted_is_one_message(command, written, tmp_path, monkeypatch):
    path = written(PROGRAM)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    here.rmdir()
    refused(command("run", path, "-o", "y=y.npy"), "y.npy: No such file or directory")
    refused(command("explore", path, "--checkpoint", "kept"), "kept: No such file or directory")
    refused(command("explore", path, "--graph", "g.dot"), "g.dot: No such file or directory")


# -------------------------------------------------------------------------------------------------------------- memory


@contextmanager
def within(most: int) -> Iterator[None]:
    """The block allocates at most so many bytes at a time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] <= most
    finally:
        tracemalloc.stop()


def archive(path: Path, **members: Any) -> Path:
    """A sparse array as `save_npz` writes one; members that are bytes stand as they are."""
    parts = {"format": np.array(b"csc"), "shape": np.array([3, 1]), "indptr": np.array([0, 2]),
             "indices": np.array([0, 2]), "data": np.array([1.0, 2.0])} | members  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, part in parts.items():
            if part is not None:
                file = io.BytesIO()
                np.save(file, part, allow_pickle=True) if not isinstance(part, bytes) else file.write(part)
                made.writestr(f"{name}.npy", file.getvalue())
    return path


MANY = 2_000_000
"""Elements of 8 bytes that are packed to some kilobytes."""


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"format": None, "data": np.zeros(MANY)}, "it holds no sparse array"),
        ({"format": np.array(b"lil"), "data": np.zeros(MANY)}, "its format is `lil`"),
        ({"data": np.zeros(MANY)}, r"it holds 2000000 elements, and 2 indices"),
        ({"data": np.zeros(MANY), "indices": np.full(MANY, 3)}, r"indices has elements that are not in 0:2"),
        ({"data": np.zeros(MANY), "indices": np.full(MANY, -1)}, r"indices has elements that are not in 0:2"),
        ({"indptr": np.zeros(MANY, dtype=int)}, r"its indptr has the shape \(2000000,\)"),
        ({"shape": np.array([1, MANY - 1]), "indptr": np.full(MANY, 9)}, r"indptr has elements that are not in 0:2"),
        ({"shape": np.zeros(MANY, dtype=int)}, "its shape is no list of extents"),
        ({"shape": np.array([3, -1])}, r"its shape is \(3, -1\)"),
        ({"format": np.full(MANY, b"csc")}, "format is no word"),
        ({"data": b"\x93NUMPY\2\0\0\0\0\x0f" + b" " * MANY}, "data does not start with the header"),
    ],
)
def test_a_small_npz_that_inflates_to_much_is_refused_before_it_does(members, message, tmp_path):
    path = archive(tmp_path / "A.npz", **members)
    assert path.stat().st_size < 100_000
    with within(6 << 20), pytest.raises(InputError, match=message) as raised:
        read_file(path)
    assert raised.value.message.startswith(f"{path}: ") and raised.value.fix


def test_what_is_in_an_npz_and_not_asked_for_is_not_read(tmp_path):
    path = archive(tmp_path / "A.npz", other=np.zeros(MANY))
    with within(6 << 20):
        assert read_file(path).toarray().tolist() == [[1.0], [0.0], [2.0]]


DECLARED = {
    "A.mtx": "its header announces 30000 entries, which takes 720 kB of memory; the limit is 500 kB",
    "B.mtx": "its header announces 300×300 elements, which takes 720 kB of memory; the limit is 500 kB",
    "A.npy": "it declares its array as 90000 float64, which takes 720 kB of memory; the limit is 500 kB",
    "A.npz": "indices as 45000 int64 and data as 45000 float64, which takes 720 kB of memory; the limit is 500 kB",
}


@pytest.mark.parametrize("name", DECLARED)
def test_a_file_that_takes_more_than_half_of_the_memory_is_refused_before_it_is_read(name, tmp_path, monkeypatch):
    """One message has the file, what it declares, and the limit."""
    path = tmp_path / name
    match name:
        case "A.mtx":
            path.write_text(BANNER + "9 9 30000\n" + "1 1 1\n" * 30_000)
        case "B.mtx":
            path.write_text(BANNER.replace("coordinate", "array") + "300 300\n" + "1.0\n" * 90_000)
        case "A.npy":
            np.save(path, np.zeros(90_000))
        case _:
            archive(path, indptr=np.array([0, 45_000]), indices=np.zeros(45_000, dtype=int), data=np.zeros(45_000))
    read_file(path)
    monkeypatch.setattr(reading, "available_memory", lambda: 1_000_000)
    with within(3 << 20), pytest.raises(InputError) as raised:
        read_file(path)
    assert raised.value.message.startswith(f"{path}: ") and DECLARED[name] in raised.value.message
    assert raised.value.diagnostics[0].topic == "memory"


def test_a_file_with_holes_is_not_read_if_this_machine_cannot_hold_it(tmp_path):
    """A terabyte is declared, and looks as if it were there."""
    market, array, text = tmp_path / "A.mtx", tmp_path / "A.npy", tmp_path / "p.ws"
    market.write_text(BANNER + "9 9 1000000000000\n1 1 5\n")
    head = np.lib.format.header_data_from_array_1_0(np.zeros(0)) | {"shape": (2**37 - 16,)}
    with array.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, head)
    text.touch()
    for path in (market, array, text):
        os.truncate(path, 2**40)
    declared = {market: "announces 1000000000000 entries", array: "it declares its array as 137438953456 float64"}
    for path, said in declared.items():
        with within(3 << 20), pytest.raises(InputError, match=said):
            read_file(path)
    with within(5 * program.LONGEST), pytest.raises(InputError, match="too long for a program"):
        api.load(text)


def test_the_memory_that_may_be_used_is_what_the_system_grants(tmp_path, monkeypatch):
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    monkeypatch.setattr(reading, "CGROUP", tmp_path / "memory.max")
    assert reading.available_memory() <= machine
    for text, most in (("max\n", machine), ("1000000\n", 1_000_000)):
        reading.CGROUP.write_text(text)
        assert reading.available_memory() <= most
    reading.CGROUP.unlink()
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (5_000_000, -1))
    assert reading.available_memory() == 5_000_000


LACKING = """
import resource, sys
from pathlib import Path
from wingspan import InputError
from wingspan.tensors.files import read_file
from wingspan.lang import parser
held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (4 << 20), -1))
try:
    read_file(Path(sys.argv[1]))
except InputError as error:
    print(error.render())
"""


def test_a_lack_of_memory_is_not_blamed_on_the_file(tmp_path):
    """Of address space, in truth: 4 MB are left."""
    path = tmp_path / "A.mtx"
    path.write_text(BANNER + "9 9 300000\n" + "1 1 1\n" * 300_000)
    made = subprocess.run([sys.executable, "-c", LACKING, path], capture_output=True, text=True, cwd=ROOT)
    assert made.stdout.splitlines()[0] == f"error[memory]: {path}: memory ran out while reading it", made


# --------------------------------------------------------------------------------------------------- lies about lengths


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
    """What is checked is what is kept: after the first step the file holds something else, and is not opened again."""
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


# --------------------------------------------------------------------------------------------------------------- faults


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
    if suffix == ".arrow":
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
LARGE = {
    ".arrow": "y = Tensor(Dense(Element(0.0)), 900)\ny .= 0\nfor i = _\n    y[i] += i / 7\nend\nreturn y\n",
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


@pytest.mark.parametrize("suffix", files.SUFFIXES)
@pytest.mark.parametrize("size", [0, 60, 1000])
def test_a_disk_that_is_full_is_reported_and_the_old_file_kept(suffix, size, command, written, tmp_path):
    """Wherever in the file that happens."""
    path, folder = written(LARGE.get(suffix, SQUARES)), tmp_path / "made"
    folder.mkdir()
    words = ["run", path, "--engine", "native", "-o", f"y={folder / f'y{suffix}'}", "--force"]
    with files_limited_to(size):
        refused(command(*words), f"y{suffix}: File too large")
        assert not outputs(folder)
    (folder / f"y{suffix}").write_bytes(b"old")
    with files_limited_to(size):
        refused(command(*words), f"y{suffix}: File too large")
    assert outputs(folder) == {f"y{suffix}": b"old"}
    assert command(*words).status == 0 and len(outputs(folder)[f"y{suffix}"]) > 1000


OLD = b"// Printed by wingspan\nold"
"""What an older wingspan may have printed, so that a newer one replaces it."""


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
    "run": ["-o", "y=made/y.npy", "-o", "x=made/x.mtx", "--force"],
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
    assert command(verb, path, *WRITTEN[verb]).status == 0
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
            refused(done, "memory ran out" if isinstance(error, MemoryError) else error.args[1])
            failures += 1
    assert failures >= len(WRITES) and outputs(folder) == whole


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_so_if_memory_runs_out(verb, command, written, monkeypatch):
    """Wherever that is: here in the parser, and where the program is bound."""
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
