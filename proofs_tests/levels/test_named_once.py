"""No level is named outside of wingspan/levels: other packages ask levels, and get names from `levels.usual`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from proofs_tests.places import ROOT
from wingspan.levels import REGISTRY

NAMES = frozenset(REGISTRY) | {level.__name__ for level in REGISTRY.values()}
WORDS = re.compile(r"\w+")

BELOW = "it is below the levels, and its message shows a definition"
LEMMAS = "its lemmas are about the text of this very level"
EXCEPTIONS: dict[str, tuple[str, frozenset[str]]] = {
    "lang/mistakes.py": (BELOW, frozenset({"Dense", "Element"})),
    "lang/data.py": (BELOW, frozenset({"Pattern"})),
    "lang/definitions.py": ("the grammar has this format's number of axes", frozenset({"SparseCOO"})),
    "cli/tensors.py": ("the help of an option shows a format", frozenset({"Dense", "SparseRunList", "Element"})),
    "proof/footprints.py": (LEMMAS, frozenset({"Merge"})),
    "proof/lemmas.py": (LEMMAS, frozenset({"SparseDict", "Merge"})),
}
"""The modules that name levels all the same: why, and which. `testing` makes programs and formats, so it names all."""

MODULES = [
    path.relative_to(ROOT / "wingspan").as_posix()
    for path in sorted((ROOT / "wingspan").rglob("*.py"))
    if path.relative_to(ROOT / "wingspan").parts[0] not in ("levels", "testing")
]


def named(text: str) -> Iterator[str]:
    """The levels that a module imports, or has in a string that is no docstring."""
    if NAMES.isdisjoint(WORDS.findall(text)):
        return
    tree = ast.parse(text)
    bodies = [getattr(node, "body", None) for node in ast.walk(tree)]
    statements = [statement for body in bodies if isinstance(body, list) for statement in body]
    documents = {id(statement.value) for statement in statements if isinstance(statement, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("wingspan.levels"):
            yield from (alias.name for alias in node.names if alias.name in NAMES)
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "levels":
            yield from {node.attr} & NAMES
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield from NAMES.intersection(WORDS.findall(node.value))


@pytest.mark.parametrize("package", sorted({Path(module).parts[0] for module in MODULES}))
def test_no_level_is_named_outside_of_its_package(package: str) -> None:
    """Ask the level (`discipline`, `layout`, `cost`, …), or take a name from `levels.usual`."""
    for module in (module for module in MODULES if Path(module).parts[0] == package):
        found = frozenset(named((ROOT / "wingspan" / module).read_text(encoding="utf-8")))
        assert found == EXCEPTIONS.get(module, ("", frozenset()))[1], module


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from wingspan.levels.dense import Dense", {"Dense"}),
        ("from wingspan import levels\nlevels.Dense", {"Dense"}),
        ("fix = f'use Element({0})'", {"Element"}),
        ("if level.name == 'SparseHash': pass", {"SparseHash"}),
        ("from wingspan.plan.ir import Atomic", set()),
        ("from wingspan.levels.base import Gated", set()),
        ("class A:\n    'As Dense.'\n    x: int\n    'As Dense.'", set()),
        ("s = 'SparseLists'", set()),
    ],
)
def test_names_are_found(text: str, names: set[str]) -> None:
    assert set(named(text)) == names
