"""The compiler: which one is taken, and what is said of those that do not work, in which each fault has a script."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proofs_tests.compiled import needs_compiler
from proofs_tests.places import ROOT
from wingspan import InputError, InternalError, api
from wingspan.compiled import build, cache

TEXT = "x = 1 + 1"
SOURCE = "int ws_answer(void) { return 1; }\n"
BROKEN = "int f(void) { return x; }"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes a shell script the compiler."""

    def make(text: str) -> str:
        path = tmp_path / "fake"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        monkeypatch.setenv("CC", str(path))
        return str(path)

    return make


@pytest.mark.parametrize("named", ["", "no-such-compiler"])
def test_no_compiler_is_one_error(cache_folder: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("CC", named)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="there is no C compiler"):
        api.run(api.parse(TEXT), engine="compiled")


def test_the_compiler_of_the_extra_is_the_last_resort(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that CC names comes first, and nothing in its place; then the system's."""

    def installed(name: str) -> None:
        if name != "ziglang":
            raise PackageNotFoundError

    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(build, "distribution", installed)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if name == "clang" else None)
    assert build.compiler() == ("/bin/clang",)
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert build.compiler() == (sys.executable, "-P", "-m", "ziglang", "cc")
    monkeypatch.setenv("CC", "no-such-compiler")
    assert build.compiler() == ()


ZIGLANG = """\
import os, sys
os.write(2, b"the installed one\\n")
sys.exit(1)
"""


def test_a_module_of_the_current_folder_is_not_taken_for_the_compiler(
    tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor for a library, where `python -m wingspan` imports one: the folder may be anybody's."""
    theirs, installed = tmp_path / "theirs", tmp_path / "installed"
    for folder in (theirs, installed, installed / "ziglang", installed / "ziglang-0.dist-info"):
        folder.mkdir()
    (installed / "ziglang" / "__init__.py").touch()
    (installed / "ziglang" / "__main__.py").write_text(ZIGLANG)
    (installed / "ziglang-0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: ziglang\nVersion: 0\n")
    for name in ("ziglang", "filelock", "click", "platformdirs"):
        (theirs / f"{name}.py").write_text("raise SystemExit('theirs')")
    (theirs / "program.ws").write_text(TEXT)
    made = subprocess.run(
        [sys.executable, "-m", "wingspan", "run", "program.ws", "--engine", "compiled"],
        cwd=theirs, capture_output=True, text=True,
        env={**os.environ, "PATH": "", "CC": "", "PYTHONPATH": f"{ROOT}{os.pathsep}{installed}"},
    )  # fmt: skip
    assert made.stderr.startswith(f"error[compiled]: {sys.executable} -P -m ziglang cc is no C compiler that works: ")
    assert "the installed one" in made.stderr and "theirs" not in made.stderr


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
def test_a_command_that_does_not_compile_is_one_error(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch, named: str, said: str
) -> None:
    monkeypatch.setenv("CC", named)
    with pytest.raises(InputError, match=said):
        cache.library(SOURCE)


@needs_compiler
def test_a_file_that_a_working_compiler_refuses_is_our_defect(cache_folder: Path) -> None:
    with pytest.raises(InternalError, match=r"does not compile what wingspan prints: program\.c:1:\d+: error"):
        cache.library(BROKEN)


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_a_compiler_of_another_language_compiles_c(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "g++")
    assert api.run(api.parse(TEXT), engine="compiled")["x"] == 2


REFUSING = "case $1 in --version) exit;; esac; echo 'program.c:1:1: error: no such thing as int' >&2; exit 1"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "is no C compiler that works: exit status 0, and no library"),
        (": > program.so", "is no C compiler that works: exit status 0, and no library"),
        ("echo ELF > program.so", "is no C compiler that works: its library cannot be loaded: file too short"),
        ("cp %s program.so", "is no C compiler that works: its library is not that of the file it was given"),
        ("cp %s.arm program.so", "is no C compiler that works: its library cannot be loaded: .*"),
        (r"printf 'error \377\200\033[31m' >&2; exit 1", r"is no C compiler that works: error ��\\x1b\[31m"),
        (r"printf '\377' ; exit 1", "is no C compiler that works: �"),
        (REFUSING, "is no C compiler that works: program.c:1:1: error: no such thing as int"),
        ("kill -9 $$", "was ended by SIGKILL"),
        ("kill -11 $$", "was ended by SIGSEGV"),
        ("echo 'program.c:1:1: internal compiler error: oh' >&2; exit 4", "internal compiler error: oh"),
        ("echo 'x: fatal error: Killed signal terminated program cc1' >&2; exit 1", "Killed signal terminated"),
    ],
)
@needs_compiler
def test_each_fault_of_a_compiler_is_one_error_and_nothing_is_kept(
    tmp_path: Path, cache_folder: Path, fake, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    if "%s" in script:
        other = tmp_path / "other.so"
        library = build.compile_library(build.compiler(), SOURCE)
        other.write_bytes(library)
        Path(f"{other}.arm").write_bytes(library[:18] + b"\x28" + library[19:])  # the machine of an ELF header
        script = script.replace("%s", str(other))
    path = fake(script)
    with pytest.raises(InputError) as raised:
        cache.library(SOURCE)
    text = raised.value.render()
    assert text.startswith(f"error[compiled]: {path} ")
    with pytest.raises(InputError, match=said):
        raise InputError(text)
    assert raised.value.fix is not None and "name another one: CC" in raised.value.fix
    assert not list(cache_folder.iterdir())


def test_a_compiler_that_the_system_cannot_run_is_one_error(cache_folder: Path, fake) -> None:
    path = Path(fake(""))
    path.write_bytes(b"\0\1\2")
    with pytest.raises(InputError, match=f"{path} cannot be run: Exec format error"):
        cache.library(SOURCE)


@needs_compiler
def test_a_full_disk_is_not_blamed_on_the_compiler(cache_folder: Path, tmp_path: Path) -> None:
    """Files of this process and its children may have 10,000 bytes, and a library has more."""
    script = (
        "import resource, sys; from wingspan import InputError; from wingspan.compiled import build\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, -1))\n"
        "try: build.compile_library(build.compiler(), sys.argv[1])\n"
        "except InputError as error: print(error.render())"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    made = subprocess.run(
        [sys.executable, "-c", script, SOURCE], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert made.stdout == (
        f"error[compiled]: {tmp_path}: File too large\n  fix  make room there, or name another folder: TMPDIR\n"
    )
    assert not list(tmp_path.iterdir())


def test_a_signal_that_arrives_while_the_compiler_starts_ends_it_too(cache_folder: Path, fake, monkeypatch) -> None:
    fake("exec sleep 60")
    started: list[subprocess.Popen[bytes]] = []

    def start(words: tuple[str, ...], **options: Any) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(words, **options))
        signal.raise_signal(signal.SIGINT)
        return started[0]

    monkeypatch.setattr(build, "subprocess", SimpleNamespace(Popen=start, DEVNULL=subprocess.DEVNULL))
    with pytest.raises(KeyboardInterrupt):
        build.compile_library(build.compiler(), "")
    assert started[0].returncode == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_compiler_too_and_leaves_nothing(
    tmp_path: Path, cache_folder: Path, fake, number: int
) -> None:
    """The compiler says that it runs, and a process that it has started, by a pipe, which both keep open."""
    pipe, scratch = tmp_path / "pipe", tmp_path / "scratch"
    scratch.mkdir()
    os.mkfifo(pipe)
    fake(f"exec 3> {pipe}; sleep 60 & touch left; echo begun >&3; wait")
    script = (
        "import signal, sys; from wingspan.compiled import build\n"
        f"signal.signal({int(number)}, signal.default_int_handler if {number == signal.SIGINT} else signal.SIG_DFL)\n"
        "try: build.compile_library(build.compiler(), '')\n"
        "except KeyboardInterrupt: sys.exit(99)"
    )
    environment = {**os.environ, "TMPDIR": str(scratch)}
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=environment)
    with pipe.open() as said:
        assert said.readline() == "begun\n"
        assert len(list(scratch.iterdir())) == 1
        process.send_signal(number)
        ended, _, _ = select.select([said], [], [], 20)
        assert ended and said.read() == "", "a process that the compiler has started still has the pipe open"
    assert process.wait(timeout=60) == (99 if number == signal.SIGINT else -number)
    assert not list(scratch.iterdir())
