"""The folder of compiled programs: whole, for the user alone, made once, while others delete them, in bounded space."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from proofs_tests.compiled import needs_compiler
from proofs_tests.places import ROOT
from wingspan import InputError
from wingspan.compiled import build, cache

SOURCE = "int ws_answer(void) { return %d; }\n"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of the compiler."""
    made: list[str] = []
    compile_library = build.compile_library

    def counted(command: tuple[str, ...], source: str) -> bytes:
        made.append(source)
        return compile_library(command, source)

    monkeypatch.setattr(build, "compile_library", counted)
    return made


def answer(number: int) -> int:
    """The number that the library of a source returns."""
    return int(cache.library(SOURCE % number).ws_answer())


def path_of(number: int) -> Path:
    return cache.folder() / f"{cache._key(build.compiler(), SOURCE % number)}.so"


@needs_compiler
def test_what_was_compiled_is_not_compiled_again(cache_folder: Path, calls: list[str]) -> None:
    assert [answer(number) for number in (41, 42, 41, 42)] == [41, 42, 41, 42]
    assert len(calls) == 2 and len(cache.entries()) == 2
    assert cache_folder.stat().st_mode & 0o777 == 0o700


@needs_compiler
@pytest.mark.parametrize("spoil", [lambda data: data[:100], lambda data: b"", lambda data: data[:-1] + b"\1"])
def test_what_is_spoiled_is_compiled_anew(
    cache_folder: Path, calls: list[str], spoil: Callable[[bytes], bytes]
) -> None:
    assert answer(5) == 5
    whole = path_of(5).read_bytes()
    path_of(6).write_bytes(spoil(whole))  # no library of this name was loaded before
    calls.clear()
    assert answer(6) == 6 and len(calls) == 1
    assert len(path_of(6).read_bytes()) == len(whole)


@needs_compiler
def test_the_library_of_another_program_is_compiled_anew(cache_folder: Path, calls: list[str]) -> None:
    """Its digest is valid, as that of whatever a compiler made before it was checked."""
    assert answer(5) == 5
    path_of(6).write_bytes(path_of(5).read_bytes())
    calls.clear()
    assert answer(6) == 6 and len(calls) == 1


@needs_compiler
def test_all_that_a_library_depends_on_tells_it_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {cache._key(("cc",), "a"), cache._key(("cc",), "b"), cache._key(("cc", "-m64"), "a")}
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-g"))
    known.add(cache._key(("cc",), "a"))
    monkeypatch.setattr(cache, "_processor", lambda: "another one")
    known.add(cache._key(("cc",), "a"))
    monkeypatch.setattr(build, "version", lambda command: "a newer one")
    known.add(cache._key(("cc",), "a"))
    assert len(known) == 6


@needs_compiler
def test_several_processes_compile_it_once(cache_folder: Path) -> None:
    """Each waits for the one that does; what they keep is whole, and nothing else stays."""
    script = (
        "import sys; from wingspan.compiled import build, cache; compiled = build.compile_library\n"
        "build.compile_library = lambda *given: print('compiled', flush=True) or compiled(*given)\n"
        "assert cache.library(sys.argv[1]).ws_answer() == 6"
    )
    command = [sys.executable, "-c", script, SOURCE % 6]
    begun = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate(timeout=100)[0] for process in begun]
    assert [process.returncode for process in begun] == [0] * 3
    assert "".join(said) == "compiled\n" and [path.suffix for path in cache_folder.iterdir()] == [".so"]


# ------------------------------------------------------------------------------------------------------ while deleting


@needs_compiler
@pytest.mark.parametrize("moment", ["found", "compiled", "drafted", "listed"])
def test_clearing_at_any_moment_harms_nobody(cache_folder: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """Just after a library was found whole, after it was compiled or drafted, and after its file was listed."""
    cleared: list[str] = []

    def clear_first(owner: object, name: str) -> None:
        before = getattr(owner, name)

        def replaced(*given: object) -> object:
            if not cleared:
                cleared.append(moment)  # before, since `clear` lists files, too
                cache.clear()
            return before(*given)

        monkeypatch.setattr(owner, name, replaced)

    if moment in ("found", "listed"):
        assert answer(7) == 7
    match moment:
        case "found":
            clear_first(ctypes, "CDLL")
        case "compiled":
            clear_first(cache, "sha256")
        case "drafted":
            clear_first(os, "replace")
        case "listed":
            clear_first(Path, "stat")
            cache.entries()
    assert answer(7) == 7 and cleared == [moment]


@needs_compiler
def test_processes_compile_while_another_one_clears(cache_folder: Path) -> None:
    script = (
        "import sys; from wingspan.compiled import cache\n"
        "for n in range(3): assert cache.library(sys.argv[1] % n).ws_answer() == n"
    )
    command = [sys.executable, "-c", script, SOURCE]
    begun = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    while any(process.poll() is None for process in begun):
        cache.clear()
    assert [process.communicate()[1] for process in begun] == ["", ""]


@needs_compiler
def test_no_lock_stays(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(1) == 1
    monkeypatch.setenv("CC", "false")
    with pytest.raises(InputError):
        answer(2)
    assert [path.suffix for path in cache_folder.iterdir()] == [".so"]


# --------------------------------------------------------------------------------------------------------------- size


@needs_compiler
def test_what_was_used_least_recently_goes_first(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for three, the fourth takes the place of the one that was not asked for again."""
    paths = [path_of(number) for number in range(4)]
    for number, path in enumerate(paths[:3]):
        assert answer(number) == number
        os.utime(path, (number, number))
    assert answer(0) == 0  # used again, so 1 is the oldest
    monkeypatch.setenv("WINGSPAN_CACHE_SIZE", str(3 * paths[0].stat().st_size + 1000))
    assert answer(3) == 3
    assert [path.exists() for path in paths] == [True, False, True, True]


@needs_compiler
def test_what_killed_processes_left_goes_too(cache_folder: Path) -> None:
    """A file that may still be in use stays, even when all is cleared."""
    old, new = (cache.folder() / f"{digit * 32}.0123.draft" for digit in "ab")
    foreign = cache_folder / "notes.draft"
    for path in (old, new, foreign):
        path.touch()
    for path in (old, foreign):
        os.utime(path, (0, 0))
    assert answer(1) == 1
    assert not old.exists() and new.exists() and foreign.exists()
    assert cache.clear() == 1
    assert sorted(cache_folder.iterdir()) == sorted([new, foreign])


def test_a_size_that_is_none_is_one_error(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINGSPAN_CACHE_SIZE", "much")
    with pytest.raises(InputError, match="WINGSPAN_CACHE_SIZE: much is not a size"):
        answer(1)
    monkeypatch.setenv("WINGSPAN_CACHE_SIZE", "")
    assert cache.limit() == 2**29


# ------------------------------------------------------------------------------------------------------------- folder


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(cache_folder: Path) -> None:
    cache_folder.mkdir(mode=0o700)
    os.chown(cache_folder, 12345, -1)
    with pytest.raises(InputError, match="belongs to somebody else"):
        cache.folder()


def test_a_folder_that_is_open_to_others_is_refused(cache_folder: Path) -> None:
    cache_folder.mkdir()
    cache_folder.chmod(0o755)
    with pytest.raises(InputError, match="is open to others") as raised:
        cache.folder()
    assert raised.value.fix is not None and "WINGSPAN_CACHE" in raised.value.fix


def test_a_folder_that_cannot_be_made_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WINGSPAN_CACHE", str(tmp_path / "file" / "kept"))
    with pytest.raises(InputError, match="cannot be kept here: Not a directory"):
        cache.folder()


@needs_compiler
@pytest.mark.parametrize("name", [".", "kept"])
def test_a_folder_may_be_named_from_the_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A name without a slash would be looked for where the system keeps its libraries."""
    tmp_path.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WINGSPAN_CACHE", name)
    assert [answer(8), answer(8)] == [8, 8]


def refused(error: int) -> Callable[..., None]:
    """A call of the system that fails."""

    def call(*given: object, **options: object) -> None:
        raise OSError(error, os.strerror(error))

    return call


@needs_compiler
@pytest.mark.parametrize(
    ("owner", "name", "said", "fix"),
    [
        ("os", "open", "cannot be kept here: Read-only file system", "name another folder: WINGSPAN_CACHE"),
        (
            "pathlib.Path", "write_bytes", "cannot be kept here: No space left on device",
            "make room there, or name another folder: WINGSPAN_CACHE",
        ),
    ],
)  # fmt: skip
def test_a_folder_that_takes_nothing_is_named_with_the_remedy(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch, owner: str, name: str, said: str, fix: str
) -> None:
    """A lock or a library cannot be written; a library that lies there already is used all the same."""
    assert answer(1) == 1
    build.version(build.compiler())
    error = 30 if "Read-only" in said else 28
    made = build.compile_library(build.compiler(), SOURCE % 2)
    monkeypatch.setattr(build, "compile_library", lambda *given: made)
    monkeypatch.setattr(f"{owner}.{name}", refused(error))
    monkeypatch.setattr(os, "utime", refused(error))
    with pytest.raises(InputError, match=f"{cache_folder}: compiled programs {said}") as raised:
        answer(2)
    assert raised.value.fix == fix
    assert answer(1) == 1


@needs_compiler
def test_a_folder_whose_files_do_not_run_is_named(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = os.statvfs(ROOT)
    flags = [*about[:8], about.f_flag | os.ST_NOEXEC, about.f_namemax]
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(flags))
    with pytest.raises(InputError, match=f"{cache_folder}: compiled programs cannot run from here") as raised:
        answer(1)
    assert raised.value.fix == "name another folder: WINGSPAN_CACHE"


@needs_compiler
def test_the_command_lists_and_clears(cache_folder: Path, command) -> None:
    assert command("cache").out == f"{cache_folder}: nothing is kept\n"
    assert (answer(1), answer(2)) == (1, 2)
    assert command("cache").out.startswith(f"{cache_folder}: 2 compiled programs, ")
    assert command("cache", "--clear").out == f"{cache_folder}: 2 compiled programs deleted\n"
    assert not list(cache_folder.iterdir())
