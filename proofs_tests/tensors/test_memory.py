"""Files that would take more memory than there is are refused before they are read."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from proofs_tests.places import ROOT
from proofs_tests.tensors.spoiled import BANNER, archive, within
from wingspan import InputError, api, program
from wingspan.base import memory, reading
from wingspan.tensors.files import read_file

MANY = 2_000_000
"""Elements of 8 bytes that are packed to some kilobytes."""


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"format": None, "data": np.zeros(MANY)}, "it holds no sparse array"),
        ({"format": np.array(b"lil"), "data": np.zeros(MANY)}, "its format is `lil`"),
        ({"data": np.zeros(MANY)}, r"it holds 2000000 elements, and 2 indices"),
        ({"data": np.zeros(MANY), "indices": np.broadcast_to(3, MANY)}, r"indices has elements that are not in 0:2"),
        ({"data": np.zeros(MANY), "indices": np.broadcast_to(-1, MANY)}, r"indices has elements that are not in 0:2"),
        ({"indptr": np.zeros(MANY, dtype=int)}, r"its indptr has the shape \(2000000,\)"),
        (
            {"shape": np.array([1, MANY - 1]), "indptr": np.broadcast_to(9, MANY)},
            r"indptr has elements that are not in 0:2",
        ),
        ({"shape": np.zeros(MANY, dtype=int)}, "its shape is no list of 1 to 64 integers"),
        ({"shape": np.array([3, -1])}, r"its shape is \(3, -1\)"),
        ({"format": np.broadcast_to(b"csc", MANY)}, "format is no word"),
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


V1 = "memory/a/b/memory.limit_in_bytes", "memory/a/memory.limit_in_bytes", "memory/memory.limit_in_bytes"
V2 = "a/b/memory.max", "a/memory.max", "memory.max"


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Lets the process be in control groups with limits, which stand in files."""

    def limited(lines: str, files: dict[str, str]) -> None:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        (tmp_path / "cgroup").write_text(lines)
        monkeypatch.setattr(memory, "GROUPS", tmp_path / "cgroup")
        monkeypatch.setattr(memory, "MOUNTED", tmp_path)

    return limited


@pytest.mark.parametrize("others", ["max\n", "9223372036854771712\n"])
@pytest.mark.parametrize(
    ("lines", "file"),
    [
        *((f"4:cpu,memory:/a/b\n0::/{'x' * (name == V1[2])}\n", name) for name in V1),
        *(("1:name=systemd:/a/b\n0::/a/b\n", name) for name in V2),
    ],
)
def test_the_memory_that_may_be_used_is_at_most_that_of_each_control_group(groups, lines, file, others):
    """Of the process itself and of those around it, in both versions; in a container only the outermost is there."""
    groups(lines, {name: others for name in (*V1, *V2)} | {file: "1000000\n"})
    assert memory.available_memory() == 1_000_000


def test_the_memory_that_may_be_used_is_what_the_system_grants(groups, monkeypatch):
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    groups("1:cpu:/a\n0::/none\n", {"memory.max": "max\n", "memory/memory.limit_in_bytes": "5000\n"})
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (-1, -1))
    assert memory.available_memory() == machine
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (5_000_000, -1))
    assert memory.available_memory() == 5_000_000


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
