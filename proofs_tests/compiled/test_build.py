"""Where compiled programs are kept: whole, for the user alone, made once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proofs_tests.places import ROOT
from wingspan import InputError, InternalError, api
from wingspan.compiled import build

TEXT = "x = 1 + 1"
SOURCE = "int ws_answer(void) { return %d; }\n"

needs_compiler = pytest.mark.skipif(not build.compiler(), reason="there is no C compiler")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder."""
    monkeypatch.setenv("WINGSPAN_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of the compiler."""
    made: list[str] = []
    compiled = build._compiled

    def counted(command: tuple[str, ...], source: str) -> bytes:
        made.append(source)
        return compiled(command, source)

    monkeypatch.setattr(build, "_compiled", counted)
    return made


@needs_compiler
def test_what_was_compiled_is_not_compiled_again(kept: Path, calls: list[str]) -> None:
    for number in (41, 42, 41, 42):
        assert build.library(SOURCE % number).ws_answer() == number
    assert len(calls) == 2 and len(list(build.entries())) == 2
    assert kept.stat().st_mode & 0o777 == 0o700


@needs_compiler
@pytest.mark.parametrize("spoil", [lambda data: data[:100], lambda data: b"", lambda data: data[:-1] + b"\1"])
def test_what_is_spoiled_is_compiled_anew(kept: Path, calls: list[str], spoil) -> None:
    command = build.compiler()
    path = build.folder() / f"{build._key(command, SOURCE % 5)}.so"
    path.write_bytes(spoil(build._compiled(command, SOURCE % 5)))
    build._digest(path).write_bytes(build._sum(build._compiled(command, SOURCE % 5)))
    calls.clear()
    assert build.library(SOURCE % 5).ws_answer() == 5
    assert len(calls) == 1 and build._whole(path)


@needs_compiler
def test_all_that_a_library_depends_on_tells_it_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {build._key(("cc",), "a"), build._key(("cc",), "b"), build._key(("cc", "-m64"), "a")}
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-g"))
    known.add(build._key(("cc",), "a"))
    monkeypatch.setattr(build, "_processor", lambda: "another one")
    known.add(build._key(("cc",), "a"))
    monkeypatch.setattr(build, "_version", lambda command: "a newer one")
    known.add(build._key(("cc",), "a"))
    assert len(known) == 6


@needs_compiler
def test_several_processes_compile_it_once(kept: Path) -> None:
    """Each waits for the one that does; what they keep is whole."""
    script = (
        "import sys; from wingspan.compiled import build; compiled = build._compiled\n"
        "build._compiled = lambda *given: print('compiled', flush=True) or compiled(*given)\n"
        "assert build.library(sys.argv[1]).ws_answer() == 6"
    )
    command = [sys.executable, "-c", script, SOURCE % 6]
    begun = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate(timeout=100)[0] for process in begun]
    assert [process.returncode for process in begun] == [0] * 4
    assert "".join(said) == "compiled\n" and len(list(build.entries())) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(kept: Path) -> None:
    kept.mkdir(mode=0o700)
    os.chown(kept, 12345, -1)
    with pytest.raises(InputError, match="belongs to somebody else"):
        build.folder()


def test_a_folder_that_is_open_to_others_is_refused(kept: Path) -> None:
    kept.mkdir()
    kept.chmod(0o755)
    with pytest.raises(InputError, match="is open to others") as raised:
        build.folder()
    assert raised.value.fix is not None and "WINGSPAN_CACHE" in raised.value.fix


def test_a_folder_that_cannot_be_made_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WINGSPAN_CACHE", str(tmp_path / "file" / "kept"))
    with pytest.raises(InputError, match="cannot be kept here: Not a directory"):
        build.folder()


@pytest.mark.parametrize("named", ["", "no-such-compiler"])
def test_no_compiler_is_one_error(kept: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("CC", named)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="there is no C compiler"):
        api.run(api.parse(TEXT), engine="compiled")


@needs_compiler
def test_the_command_lists_and_clears(kept: Path, command) -> None:
    assert command("cache").out == f"{kept}: nothing is kept\n"
    build.library(SOURCE % 1)
    build.library(SOURCE % 2)
    assert command("cache").out.startswith(f"{kept}: 2 compiled programs, ")
    assert command("cache", "--clear").out == f"{kept}: 2 compiled programs deleted\n"
    assert not list(kept.iterdir())


def test_the_compiler_of_the_extra_is_the_last_resort(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that CC names comes first, and nothing in its place; then the system's."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(build, "find_spec", lambda name: name == "ziglang" or None)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if name == "clang" else None)
    assert build.compiler() == ("/bin/clang",)
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert build.compiler() == (sys.executable, "-m", "ziglang", "cc")
    monkeypatch.setenv("CC", "no-such-compiler")
    assert build.compiler() == ()


@needs_compiler
@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("gcc -nonsense", r"is no C compiler that works: .*nonsense"),
        ("false", "is no C compiler that works: exit status 1, and no library"),
        ("true", "is no C compiler that works: exit status 0, and no library"),
        ("'", "CC is no command: No closing quotation"),
    ],
)
def test_what_is_named_and_does_not_compile_is_told(
    kept: Path, monkeypatch: pytest.MonkeyPatch, named: str, said: str
) -> None:
    """It is not our defect; a file that a compiler refuses that works is."""
    with pytest.raises(InternalError, match=r"does not compile what wingspan prints: .*error"):
        build.library("int f(void) { return x; }")
    monkeypatch.setenv("CC", named)
    with pytest.raises(InputError, match=said):
        build.library(SOURCE % 1)
