"""A file is written whole or not at all, and never over what the same command reads."""

from __future__ import annotations

import errno
import os
import resource
import stat
from pathlib import Path

import numpy as np
import pytest

from proofs_tests.failing import FILES, each_in_turn
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.base.writing import check_output, replacing, write_atomically
from wingspan.tensors.tensor import Tensor

OLD, NEW = b"old", b"new and longer"

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("error", [FULL, PermissionError(errno.EACCES, "denied"), MemoryError(), KeyboardInterrupt()])
@pytest.mark.parametrize("before", [OLD, None])
def test_whatever_fails_leaves_a_whole_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, before: bytes | None
) -> None:
    """An OSError is one clear error. Only the last call, for the folder, comes after the file has been replaced."""
    file, seen = tmp_path / "file", []
    for failing in each_in_turn(error):
        file.unlink(missing_ok=True)
        if before is not None:
            file.write_bytes(before)
        with monkeypatch.context() as patch:
            failing.within(patch, FILES)
            try:
                write_atomically(file, NEW)
            except InputError as raised:
                assert isinstance(error, OSError)
                assert (raised.message, bool(raised.fix)) == (f"{file}: {error.strerror}", True)
            except (MemoryError, KeyboardInterrupt) as raised:
                assert raised is error
        seen.append(file.read_bytes() if file.exists() else None)
        assert names(tmp_path) == (["file"] if seen[-1] is not None else [])
    assert len(seen) == (7 if before is None else 8)
    assert seen[-1] == NEW and set(seen) == {before, NEW}
    assert seen == sorted(seen, key=lambda contents: contents == NEW)


def test_a_full_disk_is_one_error(tmp_path: Path) -> None:
    """By a limit on the length of files, which the operating system keeps; for each of our formats, too."""
    write_atomically(tmp_path / "file", OLD)
    tensor = Tensor.from_numpy("Dense(Dense(Element(0.0)))", np.ones((300, 300)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        with pytest.raises(InputError, match=r"file: File too large"):
            write_atomically(tmp_path / "file", bytes(1000))
        for name in ("t.npy", "t.npz", "t.mtx"):
            with pytest.raises(InputError, match=rf"{name}: "):
                tensor.save(tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (names(tmp_path), (tmp_path / "file").read_bytes()) == (["file"], OLD)


def test_the_folder_is_made_to_last_after_the_name_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this order: what is in the file, its name, the folder."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(at: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(at).st_mode) else "file")
        fsync(at)

    def replaced(*paths: Path) -> None:
        done.append("name")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_atomically(tmp_path / "file", NEW)
    assert done == ["file", "name", "folder"]


def test_links_and_rights_stay(tmp_path: Path) -> None:
    """A new file has the rights that others get, too; one that is not to be written to is left alone."""
    file, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(file)
    mask = os.umask(0o027)
    try:
        write_atomically(link, OLD)
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        file.chmod(0o604)
        write_atomically(link, NEW)
        assert (stat.S_IMODE(file.stat().st_mode), link.is_symlink()) == (0o604, True)
        assert (file.read_bytes(), names(tmp_path)) == (NEW, ["file", "link"])
    finally:
        os.umask(mask)


def test_what_is_no_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "closed").write_bytes(OLD)
    monkeypatch.setattr(os, "access", lambda path, how: path != tmp_path / "closed")  # root may write anywhere
    for name, said in (
        ("pipe", "not a regular file"), ("folder", "Is a directory"), ("closed", "Permission denied"),
        ("closed/file", "Not a directory"),
    ):  # fmt: skip
        for attempt in (lambda path: write_atomically(path, NEW), check_output):
            with pytest.raises(InputError, match=f"{name}: {said}"):
                attempt(tmp_path / name)
    assert names(tmp_path) == ["closed", "folder", "pipe"]
    assert (tmp_path / "closed").read_bytes() == OLD


def test_who_has_opened_the_old_file_keeps_it(tmp_path: Path) -> None:
    """Also while the new one is being written."""
    file = tmp_path / "file"
    file.write_bytes(OLD)
    with file.open("rb") as reader:
        with replacing(file) as new:
            new.write(NEW)
            new.flush()
            assert file.read_bytes() == OLD
        assert (reader.read(), file.read_bytes()) == (OLD, NEW)


# ------------------------------------------------------------------------------------------ what no command overwrites


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a program, its inputs, and other names of them."""
    monkeypatch.chdir(tmp_path)
    Path("own.ws").write_text("c = Tensor(Dense(Element(0)), 1)\nc .= 0\nfor i = parallel(1:2)\n    c[1] += i\nend\n")
    np.save("B.npy", np.ones((2, 2)))
    Path("reads.ws").write_text('A = Tensor(Dense(Element(0)), "A.npy")\nx = A[1] + B[1, 1]\n')
    np.save("A.npy", np.ones(2, dtype=int))
    Path("link.dot").symlink_to("own.ws")
    os.link("own.ws", "same.dot")
    os.link("A.npy", "A.dot")
    Path("B.dot").symlink_to("B.npy")
    return tmp_path


READS = ["reads.ws", "-i", "B=B.npy"]


@pytest.mark.parametrize(
    "words",
    [
        ["explore", "own.ws", "--checkpoint", "own.ws"],
        ["explore", "own.ws", "--checkpoint", "link.dot"],
        ["explore", "own.ws", "--checkpoint", "../{here}/own.ws"],
        ["explore", "own.ws", "--graph", "link.dot"],
        ["explore", "own.ws", "--graph", "same.dot"],
        ["explore", *READS, "--graph", "A.dot"],
        ["explore", *READS, "--graph", "B.dot"],
        ["explore", *READS, "--checkpoint", "A.npy"],
        ["explore", "own.ws", "--checkpoint", "new.dot", "--graph", "new.dot"],
        ["explore", "own.ws", "--resume", "new.dot", "--graph", "new.dot"],
        ["run", *READS, "-o", "A=A.npy"],
        ["run", *READS, "-o", "A=B.npy"],
    ],
    ids=" ".join,
)
def test_no_command_writes_over_what_it_uses(command, folder: Path, words: list[str]) -> None:
    if words[0] == "run":
        Path("reads.ws").write_text(Path("reads.ws").read_text() + "return A\n")
    before = {name: Path(name).read_bytes() for name in names(folder)}
    done = command(*(word.format(here=folder.name) for word in words))
    assert (done.status, done.out) == (2, "")
    assert "would be overwritten, and the same command uses it" in done.err
    assert done.err.count("error[") == 1 and "\n  fix  name another file" in done.err
    assert {name: Path(name).read_bytes() for name in names(folder)} == before


def test_two_outputs_are_two_files(command, folder: Path) -> None:
    Path("two.ws").write_text(
        "a = Tensor(Dense(Element(0)), 1)\na .= 0\nb = Tensor(Dense(Element(0)), 1)\nb .= 0\na[1] += 1\nb[1] += 2\n"
    )
    done = command("run", "two.ws", "-o", "a=one.npy", "-o", "b=one.npy")
    assert (done.status, "would be overwritten" in done.err) == (2, True)
    assert command("run", "two.ws", "-o", "a=one.npy", "-o", "b=other.npy").status == 0


def test_the_search_in_python_does_not_either(folder: Path) -> None:
    before = Path("own.ws").read_bytes()
    with pytest.raises(InputError, match=r"own.ws would be overwritten, and the same command uses it"):
        api.explore("own.ws", checkpoint=Path("own.ws"))
    assert Path("own.ws").read_bytes() == before
