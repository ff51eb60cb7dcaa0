"""The modules and objects that a command makes before its work: no more than that work needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import wingspan
from proofs_tests.places import ROOT
from wingspan.base import libraries
from wingspan.base.libraries import np, scipy

ENGINES = {"wingspan.plan", "wingspan.native", "wingspan.compiled", "wingspan.runtime"}
PAGES = {"wingspan.trace", "wingspan.views.page", "wingspan.views.json", "rich", "textual", "z3", "lark.tools"}
ARRAYS = {"numpy", "scipy"}
SHARED = {*ENGINES, *PAGES, *ARRAYS}
"""Modules that none of these verbs loads."""
HELPERS = {"difflib", "concurrent"}
STEPS = {"wingspan.semantics", "wingspan.reference", "wingspan.explorer.search", "wingspan.explorer._tables"}
PARSER = {"lark", "wingspan.lang.lark_parser"}
EXAMPLE = "examples/dependent.ws"


def modules_after(code: str) -> set[str]:
    """The modules that a process has loaded when the code ends."""
    lines = ["import sys", "try:", f"    {code}", "finally:", "    print('\\nmodules:', *sys.modules)"]
    made = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, cwd=ROOT)
    return {*made.stdout.rpartition("\nmodules:")[2].split()}


@pytest.mark.parametrize(
    ("words", "used", "unused"),
    [
        ("--version", "wingspan.cli", {"numpy", "rich", "wingspan.lang", "wingspan.explorer"}),
        ("--help", "wingspan.cli", {"numpy", "rich", "wingspan.lang", "wingspan.explorer"}),
        (f"explore {EXAMPLE} --json", "wingspan.views.json", {"msgspec"}),
        (f"explore {EXAMPLE}", "wingspan.semantics", {*SHARED, *HELPERS, *PARSER, "islpy", "wingspan.dependence"}),
        (f"check {EXAMPLE}", "islpy", {*SHARED, *PARSER, *STEPS}),
        (f"fmt {EXAMPLE}", "lark", {*SHARED, "islpy", "wingspan.dependence", "wingspan.semantics"}),
    ],
)
def test_a_verb_loads_what_it_uses(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch, words: str, used: str, unused: set[str]
) -> None:
    """On a program without files, which another process has parsed. `used` shows that the verb has done its work."""
    monkeypatch.chdir(ROOT)
    wingspan.load(EXAMPLE)
    found = modules_after(f"from wingspan.cli import main; main({words.split()!r})")
    assert used in found
    assert unused & found == set()


def test_importing_the_package_loads_neither_parser_nor_arrays() -> None:
    found = modules_after("import wingspan; wingspan.ProgramError")
    assert "wingspan" in found
    assert not {"lark", "islpy", "rich", "click", "wingspan.lang", "wingspan.api", *ENGINES, *ARRAYS} & found


def test_a_run_loads_the_libraries_that_the_names_above_mean(cache_folder: Path) -> None:
    run = "wingspan.run('examples/dependent_atomic.ws', engine='native')"
    found = modules_after(f"import wingspan; {run}['c'].to_scipy()")
    assert {
        "islpy",
        "lark",
        "wingspan.native._engine",
        "wingspan.api",
        *ENGINES - {"wingspan.compiled"},
        *ARRAYS,
    } <= found


# ---------------------------------------------------------------------------------------------------------- libraries


def test_what_a_deferred_library_has_is_the_library_s() -> None:
    assert np.ndarray is numpy.ndarray and np.asarray is numpy.asarray
    assert isinstance(scipy.sparse.coo_array(numpy.eye(2)), scipy.sparse.coo_array)


def test_what_it_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'numpy' has no attribute 'nothing'"):
        np.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_a_library_is_loaded_when_it_is_used() -> None:
    code = """
import sys
from wingspan.base.libraries import isl, np, scipy
before = {"islpy", "numpy", "scipy"} & {*sys.modules}
np.zeros(1)
print(before, "numpy" in sys.modules, "scipy" in sys.modules, "islpy" in sys.modules)
"""
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert made.stdout == "set() True False False\n", made


@pytest.mark.parametrize(
    ("message", "error"),
    [("libscipy_openblas64_.so: failed to map segment from shared object", MemoryError), ("no library", ImportError)],
)
def test_a_library_that_cannot_be_loaded_says_why(
    monkeypatch: pytest.MonkeyPatch, message: str, error: type[Exception]
) -> None:
    """Missing room for its code is a lack of memory."""

    def fail(name: str) -> None:
        raise ImportError(message)

    monkeypatch.setattr(libraries, "import_module", fail)
    with pytest.raises(error, match=message):
        np.nothing_of_it  # type: ignore[attr-defined]  # noqa: B018
