"""The types of registers say what machines, C and passes need to know, so that nobody decides by their names."""

from __future__ import annotations

import ast
import copy
import pickle
from pathlib import Path

import pytest

import wingspan
from wingspan.lang.kinds import KINDS
from wingspan.lang.registers import BOOL, FLOAT, INSTANCE, INT

TYPES = (INT, FLOAT, BOOL, INSTANCE)
PACKAGE = Path(wingspan.__file__).parent


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_copies_of_a_type_are_the_type(type_) -> None:
    assert pickle.loads(pickle.dumps(type_)) is copy.deepcopy(type_) is type_


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (INT, (0, -1, 2**63 - 1, -(2**63))),
        (FLOAT, (0.0, -0.0, 0.5, float("inf"), float("nan"))),
        (BOOL, (False, True)),
        (INSTANCE, (0, 3)),
    ],
    ids=str,
)
def test_words_hold_values(type_, values) -> None:
    """Each word has 8 bytes, is found by its number, and gives the value back, with its Python type and sign."""
    words = b"".join(map(type_.pack, values))
    assert len(words) == 8 * len(values)
    assert [repr(type_.unpack(words, at)) for at in range(len(values))] == [repr(value) for value in values]
    assert type_.unpack(bytes(8)) == type_.zero


def comparisons_with_names(path: Path) -> list[str]:
    """The comparisons and patterns of a module with names of types."""
    names = {type_.name for type_ in TYPES} | KINDS.keys()
    places = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            sides = ast.unparse(node.left), *map(ast.unparse, node.comparators)
            texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            about = any(side.endswith((".type", "kind", "kinds")) or "kind(" in side for side in sides)
            if about and names.intersection(text for text in texts if isinstance(text, str)):
                places.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    return places


@pytest.mark.parametrize("package", ["plan", "compiled", "native", "runtime"])
def test_machines_and_passes_do_not_decide_by_names_of_types(package: str) -> None:
    """Ask the type instead, as in `reg.type.is_integer`, so that a new one is a record and no search."""
    assert [place for path in sorted((PACKAGE / package).rglob("*.py")) for place in comparisons_with_names(path)] == []
