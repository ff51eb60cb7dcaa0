"""Names of the package: verb phrases or precise nouns. Docstrings of all: imperatives or noun phrases."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import wingspan
from proofs_tests.places import ROOT

PACKAGE = Path(wingspan.__file__).parent

VAGUE = {
    "told", "held", "kept", "given", "known", "found", "alike", "late", "some", "whole", "parts", "twos", "apart",
    "made", "begun", "taken", "left", "lost", "written", "seen", "shown", "chosen", "dealt", "spelt", "sought",
    "tell", "hear", "what", "how", "who", "why", "where", "there", "here", "few", "often", "matters", "room",
}  # fmt: skip
"""Names that do not say what a function does or returns. Participles in -ed are found by their ending."""

VARIABLES = {"told", "those"}
"""Names that no parameter or local has."""

NOUNS = {"need", "feed", "seed", "speed", "embed", "proceed", "exceed"}

PUBLIC = {
    "buffers/stored.py": {"computed"},
    "explorer/interleaving.py": {"Replay.followed"},
    "api/machines.py": {"compiled"},
    "api/arrays.py": {"where"},
    "tensors/tensor.py": {"Tensor.stored"},
    "levels/registry.py": {"registered"},
    "dependence/level_test.py": {"printed", "repaired"},
    "dependence/stability.py": {"repaired"},
    "proof/__init__.py": {"Proof.refuted"},
    "testing/cases.py": {"accepted"},
}
"""Public names that users know, and the names of tests."""

LANGUAGES = {"lang/ir.py", "buffers/ops.py", "plan/ir.py", "plan/kernels.py", "testing/litmus.py"}
"""Modules of syntax trees. They share words, such as `Load`, as the languages do, and are named where they are used."""

WRAPPED = {"Program", "Function"}
"""Nodes of the language, and the public objects around them."""

RELATIVE = re.compile(r"(wh(at|o|om|ose|ich|en|ere|y)(ever)?|how|that|those|they)\b", re.IGNORECASE)
"""The first word of a free relative clause, or a pronoun without a noun before it."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def trees() -> Iterator[tuple[str, ast.Module]]:
    """All modules of the package, by their paths; no two at a time, since they take 100 MB."""
    return ((str(path.relative_to(PACKAGE)), parse(path)) for path in sorted(PACKAGE.rglob("*.py")))


def definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """All functions and classes below a node, each with its qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield f"{prefix}{child.name}", child
            yield from definitions(child, f"{prefix}{child.name}.")
        else:
            yield from definitions(child, prefix)


def is_vague(name: str) -> bool:
    word = name.strip("_").lower()
    return word in VAGUE or (word.endswith("ed") and "_" not in word and word not in NOUNS)


def is_relative(text: object) -> bool:
    return isinstance(text, str) and RELATIVE.match(text.lstrip("…. \n")) is not None


def vague_names(source: ast.Module, public: set[str]) -> list[str]:
    functions = ((name, node) for name, node in definitions(source) if not isinstance(node, ast.ClassDef))
    return [name for name, node in functions if is_vague(node.name) and name not in public]


def variables(source: ast.Module) -> set[str]:
    """The names of all parameters and variables."""
    names = {node.id for node in ast.walk(source) if isinstance(node, ast.Name)}
    return names | {node.arg for node in ast.walk(source) if isinstance(node, ast.arg)}


def relative_docstrings(source: ast.Module) -> list[int]:
    """The lines of docstrings, those of constants and fields among them, that begin with a free relative clause."""
    texts = (node.value for node in ast.walk(source) if isinstance(node, ast.Expr))
    return sorted(text.lineno for text in texts if isinstance(text, ast.Constant) and is_relative(text.value))


def test_the_registry_of_public_names_is_used() -> None:
    """A public name that is gone, or that is no longer vague, leaves the list."""
    for module, names in PUBLIC.items():
        vague = {name for name, node in definitions(parse(PACKAGE / module)) if is_vague(node.name)}
        assert names <= vague, module


@pytest.mark.parametrize("name", ["told", "_kept", "found", "checked", "_joined", "late", "whole", "parts"])
def test_vague_names_and_participles_are_found(name: str) -> None:
    assert vague_names(ast.parse(f"class A:\n    def {name}(self): ..."), set()) == [f"A.{name}"]


@pytest.mark.parametrize("name", ["check", "live_slots", "is_checked", "seed", "_checked_init", "__reduced__x"])
def test_verbs_nouns_and_phrases_pass(name: str) -> None:
    assert vague_names(ast.parse(f"def {name}(): ..."), set()) == []


@pytest.mark.parametrize("text", ["What it does.", "How it is.", "…Where it is.", "They are.", "those of x"])
def test_free_relative_clauses_are_found(text: str) -> None:
    source = ast.parse(f'''
"""{text}"""
LIMIT = 1
"""
{text}
"""
def f():
    """{text}"""
class A:
    """{text}"""
    field: int = 0
    """{text}"""
''')
    assert relative_docstrings(source) == [2, 4, 8, 10, 12]


@pytest.mark.parametrize("text", ["Whether it is.", "Run it.", "The value that was returned."])
def test_imperatives_and_noun_phrases_pass(text: str) -> None:
    assert relative_docstrings(ast.parse(f'def f():\n    """{text}"""')) == []


def test_functions_have_verb_phrases_or_precise_nouns_as_names() -> None:
    vague = {module: vague_names(tree, PUBLIC.get(module, set())) for module, tree in trees()}
    assert {module: names for module, names in vague.items() if names} == {}


@pytest.mark.parametrize("folder", ["wingspan", "proofs_tests", "bench"])
def test_docstrings_begin_with_an_imperative_or_a_noun_phrase(folder: str) -> None:
    relative = {str(path): relative_docstrings(parse(path)) for path in (ROOT / folder).rglob("*.py")}
    assert {path: lines for path, lines in relative.items() if lines} == {}


def test_variables_have_precise_names() -> None:
    vague = {module: variables(tree) & VARIABLES for module, tree in trees()}
    assert {module: names for module, names in vague.items() if names} == {}


def test_classes_have_different_names() -> None:
    defined = Counter(
        (node.name, "a language" if module in LANGUAGES else module)
        for module, tree in trees()
        if not module.endswith("json_types.py")  # types of documents, named after what these describe
        for _, node in definitions(tree)
        if isinstance(node, ast.ClassDef)
    )
    places = Counter(name for name, _ in defined)
    assert {name for name, times in places.items() if times > 1} == WRAPPED


def test_the_glossary_translates_nothing_into_other_words_of_the_code() -> None:
    assert "in the code" not in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
