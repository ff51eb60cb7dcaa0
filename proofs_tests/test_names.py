"""Names and docstrings of the package: verb phrases or precise nouns; imperatives or noun phrases; class names once."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
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

TWICE = {
    "Access", "Acquire", "Around", "Atomic", "Buffer", "Builder", "Call", "Check", "Claim", "Const",
    "Coordinates", "Data", "Edge", "Ending", "Engine", "Fiber", "Function", "If", "Kernel", "Known", "Lanes",
    "Layout", "Leaf", "Load", "Node", "Op", "Options", "Par", "Place", "Point", "Program", "Proof", "Ref",
    "Reg", "Release", "Runs", "Scope", "Set", "Sort", "Spawn", "State", "Store", "Swap", "Tensor", "While",
}  # fmt: skip
"""Classes of one name that are still to be renamed, in the languages of programs, buffers and plans above all."""

RELATIVE = re.compile(r"(What|How|Where|That|Those|Who|Whom|Whose|Which|When|Why|Whatever|Whoever|Wherever)\b")
"""The first word of a free relative clause."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def modules() -> list[str]:
    return sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"))


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


def is_relative(text: str | None) -> bool:
    return text is not None and RELATIVE.match(text.lstrip("…. ")) is not None


def faults(source: ast.Module, public: set[str]) -> list[str]:
    found = ["<module>: docstring"] if is_relative(ast.get_docstring(source)) else []
    for name, node in definitions(source):
        if not isinstance(node, ast.ClassDef) and is_vague(node.name) and name not in public:
            found.append(f"{name}: name")
        if is_relative(ast.get_docstring(node)):
            found.append(f"{name}: docstring")
    return found


def test_the_registry_of_public_names_is_used() -> None:
    """A public name that is gone, or that is no longer vague, leaves the list."""
    for module, names in PUBLIC.items():
        vague = {name for name, node in definitions(tree(module)) if is_vague(node.name)}
        assert names <= vague, module


@pytest.mark.parametrize("name", ["told", "_kept", "found", "checked", "_joined", "late", "whole", "parts"])
def test_vague_names_and_participles_are_found(name: str) -> None:
    assert faults(ast.parse(f"class A:\n    def {name}(self): ..."), set()) == [f"A.{name}: name"]


@pytest.mark.parametrize("name", ["check", "live_slots", "is_checked", "seed", "_checked_init", "__reduced__x"])
def test_verbs_nouns_and_phrases_pass(name: str) -> None:
    assert faults(ast.parse(f"def {name}(): ..."), set()) == []


@pytest.mark.parametrize("text", ["What it does.", "How it is.", "…Where it is.", "Those of x."])
def test_free_relative_clauses_are_found(text: str) -> None:
    source = ast.parse(f'"""{text}"""\ndef f():\n    """{text}"""')
    assert faults(source, set()) == ["<module>: docstring", "f: docstring"]


@pytest.mark.parametrize("text", ["Whether it is.", "Run it.", "The value that was returned."])
def test_imperatives_and_noun_phrases_pass(text: str) -> None:
    assert faults(ast.parse(f'def f():\n    """{text}"""'), set()) == []


@pytest.mark.parametrize("module", modules())
def test_functions_and_docstrings_say_what_they_do(module: str) -> None:
    assert faults(tree(module), PUBLIC.get(module, set())) == []


def test_classes_have_different_names() -> None:
    classes = Counter(
        node.name
        for module in modules()
        if not module.endswith("json_types.py")  # types of documents, named after what these describe
        for _, node in definitions(tree(module))
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, times in classes.items() if times > 1} == TWICE, "remove from TWICE names that occur once"


def test_the_glossary_translates_nothing_into_other_words_of_the_code() -> None:
    assert "in the code" not in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
