"""Files in every condition are read, or refused by one message; so is whatever fails while they are read or written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from proofs_tests.tensors.spoiled import BANNER, PROGRAM, VERBS, refused
from wingspan.tensors import files
from wingspan.tensors.files import read_file


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
