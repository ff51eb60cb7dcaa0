"""What a user has after `import wingspan`, and what that costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import wingspan
from proofs_tests.places import ROOT
from wingspan.cli import main

HEAVY = ("islpy", "numpy", "scipy", "wingspan.native._engine")


def loaded_by(code: str) -> list[str]:
    """Which of the heavy modules a fresh process has loaded after the code."""
    said = f"{code}; import sys; print(*[name for name in {HEAVY} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout.split()


def test_what_is_not_asked_for_is_not_loaded() -> None:
    assert loaded_by("import wingspan; wingspan.ProgramError") == []


def test_the_heavy_modules_are_loaded_by_what_needs_them() -> None:
    """The names are right, so that the claim above is not empty."""
    assert loaded_by("import wingspan; wingspan.run") == [*HEAVY]


@pytest.mark.parametrize("name", wingspan.__all__)
def test_what_the_package_exports_is_there(name: str) -> None:
    assert getattr(wingspan, name) is not None and name in dir(wingspan)


def test_what_the_package_does_not_have_is_an_error() -> None:
    assert not hasattr(wingspan, "explode")


def test_package_command_and_citation_tell_the_same_version(command) -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {wingspan.__version__}\n" in cited
    assert command("--version").out == f"wingspan {wingspan.__version__}\n"


@pytest.mark.parametrize("verb", [(), *((name,) for name in main.commands)])
def test_help_has_a_short_name(command, verb: tuple[str, ...]) -> None:
    assert command(*verb, "-h").out == command(*verb, "--help").out != ""
