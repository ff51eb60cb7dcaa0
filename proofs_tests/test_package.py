"""The names after `import wingspan`, and those of the command."""

from __future__ import annotations

import ast

import click
import pytest

import wingspan
from proofs_tests.places import ROOT
from wingspan.cli import main
from wingspan.cli.group import MODULES, helps


@pytest.mark.parametrize("name", wingspan.__all__)
def test_what_the_package_exports_is_there(name: str) -> None:
    assert getattr(wingspan, name) is not None and name in dir(wingspan)


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
