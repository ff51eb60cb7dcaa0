"""Expressions that the register machine computes while the compiler works, which ends with the process."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wingspan
from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import few
from proofs_tests.places import ROOT
from wingspan.api import expressions
from wingspan.base import activity
from wingspan.compiled import background

pytestmark = needs_compiler

A = np.arange(3600.0).reshape(60, 60) % 7
"""A product of two takes 216,000 iterations, enough for C."""


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a script the compiler, which says its version at once. The folder, with an empty cache and a pipe `gate`.

    The process has computed nothing yet.
    """
    os.mkfifo(tmp_path / "gate")
    (tmp_path / "scratch").mkdir()
    real = shutil.which("cc") or ""

    def make(script: str) -> Path:
        path = tmp_path / "fake"
        path.write_text(f'#!/bin/sh\ncase "$*" in *--version*) echo {tmp_path};; *) {script};; esac\n')
        path.chmod(0o700)
        monkeypatch.setenv("CC", str(path))
        monkeypatch.setenv("REAL", real)
        return tmp_path

    monkeypatch.setenv("WINGSPAN_CACHE", str(tmp_path / "kept"))
    for memo in ("_choices", "_kernels", "_repeated", "_compiling"):
        monkeypatch.setattr(expressions, memo, {})
    return make


def product() -> Any:
    """The square of a matrix, checked against NumPy."""
    made = wingspan.einsum("C[i, j] += A[i, k] * B[k, j]", A=A, B=A, threads=1)
    assert np.array_equal(made.to_numpy(), A @ A)
    return made


def let_compiler_end(folder: Path) -> None:
    """Open the gate, and wait until the compiler has ended."""
    (folder / "gate").write_text("go\n")
    background.wait_for_all()


def test_the_register_machine_runs_calls_until_c_is_compiled(
    compiler: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls return although the compiler waits, which is called once."""
    folder = compiler('read go < "${0%/*}/gate"; echo called >> "${0%/*}/calls"; exec "$REAL" "$@"')
    shown: list[str] = []

    def show(words: str, forks: bool) -> AbstractContextManager[Any]:
        shown.append(words)
        return nullcontext(lambda words: None)

    monkeypatch.setattr(activity, "_show", [show])
    for _ in range(3):
        made = product()
        assert made.engine == "native" and "while C is compiled" in made.reason
    assert sum("while C is compiled" in words for words in shown) == 3
    let_compiler_end(folder)
    for _ in range(2):
        made = product()
        assert made.engine == "compiled" and "while C is compiled" not in made.reason
    assert (folder / "calls").read_text() == "called\n"


def test_who_asks_for_c_waits_for_it(compiler: Callable[[str], Path]) -> None:
    compiler('exec "$REAL" "$@"')
    made = wingspan.einsum("C[i, j] += A[i, k] * B[k, j]", A=A, B=A, threads=1, engine="compiled")
    assert made.engine == "compiled"


def test_a_compiler_that_fails_is_one_warning(compiler: Callable[[str], Path]) -> None:
    """The register machine goes on. Who asks for C gets the error."""
    folder = compiler('read go < "${0%/*}/gate"; echo "error: tired" >&2; exit 1')
    assert product().engine == "native"
    let_compiler_end(folder)
    with pytest.warns(RuntimeWarning, match=r"error: tired: the register machine runs this") as caught:
        made = product()
    assert made.engine == "native" and "compiled" not in made.reason
    assert [Path(each.filename).name for each in caught] == [Path(__file__).name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        product()
    assert not list((folder / "kept").glob("*.so"))


@pytest.mark.parametrize("end", few(["signal.raise_signal(15)", "signal.raise_signal(2)", "sys.exit(7)"], 1))
def test_the_compiler_ends_with_the_process_and_leaves_nothing(compiler: Callable[[str], Path], end: str) -> None:
    """By itself, by Ctrl-C, by SIGTERM. The compiler and a process of its own keep the pipe open while they run."""
    folder = compiler('exec 3> "${0%/*}/gate"; sleep 60 & touch left; echo begun >&3; wait')
    script = (
        "import signal, sys, numpy, wingspan\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "A = numpy.ones((60, 60))\n"
        "made = wingspan.einsum('C[i, j] += A[i, k] * B[k, j]', A=A, B=A, threads=1)\n"
        f"assert made.engine == 'native'; sys.stdin.readline(); {end}\n"
    )
    environment = {**os.environ, "TMPDIR": str(folder / "scratch")}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=environment, **pipes) as process:
        assert process.stdin is not None
        with (folder / "gate").open() as said:
            assert said.readline() == "begun\n"
            assert len(list((folder / "scratch").iterdir())) == 1
            process.stdin.write(b"\n")
            process.stdin.flush()
            ended, _, _ = select.select([said], [], [], 30)
            assert ended and said.read() == "", "a process that the compiler has started still has the pipe open"
        assert process.wait(timeout=60) == (7 if "exit" in end else -signal.SIGTERM if "15" in end else -signal.SIGINT)
    assert not list((folder / "scratch").iterdir())
    assert not [path for path in (folder / "kept").iterdir() if path.suffix in (".so", ".draft", ".lock")]
