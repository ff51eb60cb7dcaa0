"""Files of other folders that verbs read: wheels have each of them, and the repository has each of them once."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from proofs_tests.places import ROOT
from wingspan.cli import package_data
from wingspan.cli.group import MODULES
from wingspan.play.programs import SHIPPED as PLAYED

FOLDERS = ("wingspan", "proofs_tests", "bench", "docs", "examples")
SUFFIXES = (".csv", ".h", ".json", ".jsonl", ".lark", ".md", ".py", ".svg", ".toml", ".ws")


def in_wheels() -> list[str]:
    """The files that setup.py puts into wheels."""
    for node in ast.parse((ROOT / "setup.py").read_text("utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name("SHIPPED")], value=paths):
                return list(ast.literal_eval(paths))
    raise AssertionError("setup.py has no SHIPPED")


def read_by(module: str) -> set[str]:
    """The files that a module of verbs reads."""
    path = ROOT / "wingspan" / "cli" / f"{module}.py"
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    texts = [call.args[0] for call in calls if ast.unparse(call.func) == "read_shipped"]
    return {str(ast.literal_eval(text)) for text in texts}


def test_wheels_have_what_verbs_read_and_nothing_else() -> None:
    assert set(in_wheels()) == set(PLAYED).union(*map(read_by, set(MODULES.values())))
    assert all((ROOT / path).is_file() for path in in_wheels())


def test_copies_in_a_wheel_do_not_replace_each_other_or_a_module() -> None:
    names = [Path(path).name for path in in_wheels()]
    assert len(set(names)) == len(names)
    assert [name for name in names if (ROOT / "wingspan" / "cli" / name).exists()] == []


def test_an_installed_package_reads_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout reads the file itself."""
    assert package_data.read_shipped("docs/errors.md") == (ROOT / "docs" / "errors.md").read_text("utf-8")
    monkeypatch.setattr(package_data, "HERE", tmp_path)
    (tmp_path / "errors.md").write_text("the copy", "utf-8")
    assert package_data.read_shipped("docs/errors.md") == "the copy"


def test_no_file_of_the_repository_is_a_copy_of_another() -> None:
    by_text: dict[bytes, list[str]] = defaultdict(list)
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES):
        if text := path.read_bytes():
            by_text[text].append(str(path.relative_to(ROOT)))
    assert len(by_text) > 500
    assert [names for names in by_text.values() if len(names) > 1] == []
