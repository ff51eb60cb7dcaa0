"""The files of `emit-c`: all or none. It replaces only files that wingspan wrote, and never one that it reads."""

from __future__ import annotations

import errno
import os
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from proofs_tests.effort import few
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.compiled.headers import HEADERS

PROGRAM = "A = Tensor(Dense(Element(0)))\nc = Tensor(Element(0))\nc .= 0\nfor i = _\n    c[] += A[i]\nend\nreturn c\n"
NAMES = ("sum.c", *HEADERS, "sum.inputs")


@pytest.fixture
def emit(tmp_path):
    """Prints the program as a command into a folder."""
    np.save(tmp_path / "A.npy", np.arange(4))
    (tmp_path / "sum.ws").write_text(PROGRAM)
    (tmp_path / "out").mkdir()
    api.load(tmp_path / "sum.ws")  # its tree is then kept, and nothing but what is printed is written

    def run(name: str = "sum.ws", folder: str = "out", force: bool = False) -> list[Path]:
        inputs = {"A": tmp_path / "A.npy"}
        return api.emit_c(tmp_path / name, tmp_path / folder, main=True, inputs=inputs, force=force)

    return run


def there(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_what_was_printed_is_replaced_by_what_is_printed_next(emit, tmp_path):
    emit()
    before = there(tmp_path / "out")
    (tmp_path / "sum.ws").write_text(PROGRAM.replace("+=", "*="))
    np.save(tmp_path / "A.npy", np.arange(5))
    assert [path.name for path in emit()] == list(NAMES)
    after = there(tmp_path / "out")
    assert after.keys() == before.keys() == set(NAMES)
    assert {name for name in NAMES if after[name] != before[name]} == {"sum.c", "sum.inputs"}


FOREIGN = (b"", b"int main;\n", b"int x;\n// Printed by wingspan\n")


@pytest.mark.parametrize(("name", "contents"), few(list(product(NAMES, FOREIGN)), 13))
def test_a_file_that_wingspan_did_not_write_is_replaced_by_force_alone(emit, tmp_path, name, contents):
    foreign = tmp_path / "out" / name
    foreign.write_bytes(contents)
    with pytest.raises(InputError) as refused:
        emit()
    assert refused.value.message == f"{foreign}: wingspan did not write this, and does not replace it"
    assert refused.value.fix is not None and "--force" in refused.value.fix
    assert there(tmp_path / "out") == {name: contents}
    emit(force=True)
    assert there(tmp_path / "out").keys() == set(NAMES) and foreign.read_bytes() != contents


def test_all_foreign_files_are_named_in_one_error(emit, tmp_path):
    for name in HEADERS:
        (tmp_path / "out" / name).write_text("mine\n")
    with pytest.raises(InputError) as refused:
        emit()
    assert refused.value.message.startswith(", ".join(str(tmp_path / "out" / name) for name in HEADERS))


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_program_is_never_replaced(emit, tmp_path, name, force):
    """Also if its first line is as that of a file that wingspan wrote."""
    text = f"# Printed by wingspan\n{PROGRAM}"
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as refused:
        emit(name, ".", force=force)
    assert refused.value.message == f"{tmp_path / name}: what is printed would replace this, which it is made from"
    assert there(tmp_path).keys() == {"sum.ws", "A.npy", name} and (tmp_path / name).read_text() == text


@pytest.mark.parametrize("bound", [True, False])
def test_an_input_is_never_replaced_though_it_has_another_name_there(emit, tmp_path, bound):
    """An input that is bound, and one that the program names."""
    text = PROGRAM if bound else PROGRAM.replace("Tensor(Dense(Element(0)))", 'Tensor(Dense(Element(0)), "A.npy")')
    (tmp_path / "sum.ws").write_text(text)
    os.symlink(tmp_path / "A.npy", tmp_path / "out" / "sum.inputs")
    with pytest.raises(InputError, match=r"A\.npy: what is printed would replace this"):
        api.emit_c(
            tmp_path / "sum.ws", tmp_path / "out", main=True, force=True,
            inputs={"A": tmp_path / "A.npy"} if bound else None,
        )  # fmt: skip


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_is_not_replaced(emit, tmp_path, force):
    (tmp_path / "out" / "sum.c").mkdir()
    with pytest.raises(InputError, match="a folder has this name"):
        emit(force=force)


def test_folders_are_made(emit, tmp_path):
    emit(folder="new/folder")
    assert (tmp_path / "new" / "folder" / "sum.c").is_file()


def test_a_file_is_no_folder(emit, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: not a folder"):
        emit(folder="file")


# ------------------------------------------------------------------------------------------------------ all or nothing


def fail_at(monkeypatch: pytest.MonkeyPatch, n: int, linking: bool) -> list[str]:
    """The n-th operation that changes the disk fails, as on a full one; the operations as they come.

    A file that cannot be written keeps half of what it should hold. `linking`: whether the file system has hard links.
    """
    done: list[str] = []
    write, link, replace = Path.write_bytes, os.link, os.replace

    def next_one(name: str) -> None:
        done.append(name)
        if len(done) == n:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write_bytes(path: Path, data: bytes) -> int:
        write(path, data[: len(data) // 2])
        next_one("write")
        return write(path, data)

    def linked(*args: object, **options: bool) -> None:
        if not linking:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        next_one("link")
        link(*args, **options)  # type: ignore[arg-type]

    def replaced(*args: object) -> None:
        next_one("replace")
        replace(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    monkeypatch.setattr(os, "link", linked)
    monkeypatch.setattr(os, "replace", replaced)
    return done


@pytest.mark.parametrize(
    ("before", "linking"), few([*product(["nothing", "some"], [True, False]), ("all", False), ("all", True)], 3)
)
def test_a_failing_write_changes_nothing_and_leaves_nothing_behind(emit, tmp_path, monkeypatch, before, linking):
    """Each of the writes fails in turn; the last attempt finds none to fail, and succeeds."""
    out = tmp_path / "out"
    if before != "nothing":
        emit()
        np.save(tmp_path / "A.npy", np.arange(7))
    if before == "some":
        (out / "program.h").unlink()
    for n in range(1, 40):
        old = there(out)
        np.save(tmp_path / "A.npy", np.arange(n))
        with monkeypatch.context() as patched:
            done = fail_at(patched, n, linking)
            try:
                emit()
            except InputError as error:
                assert error.message.endswith(": No space left on device") and error.fix is not None
                assert there(out) == old and len(list(out.iterdir())) == len(old), f"operation {n}: {done}"
            else:
                assert len(done) < n or done[n - 1] == "link"
                assert there(out).keys() == set(NAMES) and there(out) != old
        if len(done) < n:
            return
    pytest.fail("more operations than there should be")
