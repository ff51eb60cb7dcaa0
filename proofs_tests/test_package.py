"""The names after `import wingspan`, and the cost of it."""

from __future__ import annotations

import ast
import subprocess
import sys

import click
import pytest

import wingspan
from proofs_tests.places import EXAMPLES, ROOT
from wingspan.cli import main
from wingspan.cli.group import MODULES, helps

HEAVY = ("islpy", "numpy", "scipy", "wingspan.native._engine")


def loaded_by(code: str) -> list[str]:
    """The heavy modules that a fresh process has loaded after the code."""
    said = f"{code}; import sys; print(*[name for name in {HEAVY} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout.split()


def test_what_is_not_asked_for_is_not_loaded() -> None:
    assert loaded_by("import wingspan; wingspan.ProgramError") == []


def test_the_heavy_modules_are_loaded_by_what_needs_them() -> None:
    """The names are right, so that the claim above is not empty."""
    run = f"wingspan.run({str(EXAMPLES / 'dependent_atomic.ws')!r}, engine='native')"
    assert loaded_by(f"import wingspan; {run}['c'].to_scipy()") == [*HEAVY]


@pytest.mark.parametrize("name", wingspan.__all__)
def test_what_the_package_exports_is_there(name: str) -> None:
    assert getattr(wingspan, name) is not None and name in dir(wingspan)


@pytest.mark.parametrize(
    ("words", "idle"),
    [
        (["--version"], ("numpy", "rich", "wingspan.lang", "wingspan.explorer")),
        (["--help"], ("numpy", "rich", "wingspan.lang", "wingspan.explorer")),
        (["explore", str(EXAMPLES / "dependent.ws"), "--json"], ("msgspec",)),
    ],
)
def test_a_verb_loads_what_it_needs(words: list[str], idle: tuple[str, ...]) -> None:
    """Each of the names is one that other verbs load; so a verb takes no time for what others do."""
    code = f"import sys; from wingspan.cli import main; main({words}, standalone_mode=False)"
    ended = f"try:\n    exec({code!r})\nexcept SystemExit:\n    pass\nprint('loaded', *sys.modules)"
    said = subprocess.run([sys.executable, "-c", f"import sys\n{ended}"], capture_output=True, text=True, check=True)
    loaded = said.stdout.splitlines()[-1].split()
    assert loaded[0] == "loaded" and not set(idle) & set(loaded)


def test_each_verb_is_in_the_module_that_says_so() -> None:
    for name, module in MODULES.items():
        found = main.get_command(click.Context(main), name)
        assert (
            found is not None and found.callback is not None and found.callback.__module__ == f"wingspan.cli.{module}"
        )
    assert set(main.commands) == set(MODULES)


def test_the_help_of_all_verbs_is_read_from_their_sources() -> None:
    found = {name: click.Command(name, help=text).get_short_help_str() for name, text in helps().items()}
    for name in MODULES:
        verb = main.get_command(click.Context(main), name)
        assert verb is not None and verb.get_short_help_str() == found.pop(name)
    assert found == {}


def test_what_the_package_does_not_have_is_an_error() -> None:
    assert not hasattr(wingspan, "explode")


def test_package_command_and_citation_tell_the_same_version(command) -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {wingspan.__version__}\n" in cited
    assert command("--version").out == f"wingspan {wingspan.__version__}\n"


@pytest.mark.parametrize("verb", [(), *((name,) for name in sorted(MODULES))])
def test_help_has_a_short_name(command, verb: tuple[str, ...]) -> None:
    assert command(*verb, "-h").out == command(*verb, "--help").out != ""


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "bench").glob("*.py")))
def test_scripts_import_names_that_exist(script: str) -> None:
    """Scripts are not type-checked, and most are run by hand."""
    for node in ast.walk(ast.parse((ROOT / "bench" / script).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("bench", "proofs_tests", "wingspan")):
            exec(ast.unparse(node), {})
