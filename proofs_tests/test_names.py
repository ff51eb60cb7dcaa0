"""Names of the package: verb phrases or precise nouns. Docstrings of all: imperatives or noun phrases."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest

from proofs_tests.places import ROOT
from proofs_tests.sources import Module, docstrings, modules, read

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
QUOTED = re.compile(rf"[\"'][…. \n]*{RELATIVE.pattern}", re.IGNORECASE)
"""A string that begins so. Parsing takes a second; nine modules of ten have none."""
OTHERS = ("proofs_tests", "bench")


def below(path: str) -> str:
    return path.removeprefix("wingspan/")


def is_vague(name: str) -> bool:
    word = name.strip("_").lower()
    return word in VAGUE or (word.endswith("ed") and "_" not in word and word not in NOUNS)


def vague_names(module: Module, public: set[str]) -> list[str]:
    return [name for name in module.functions if is_vague(name.rpartition(".")[2]) and name not in public]


def relative_clauses(docstrings: list[tuple[int, str]]) -> list[int]:
    """The lines of docstrings that begin with a free relative clause."""
    return [line for line, text in docstrings if RELATIVE.match(text.lstrip("…. \n"))]


def test_the_registry_of_public_names_is_used() -> None:
    """A public name that is gone, or that is no longer vague, leaves the list."""
    for path, names in PUBLIC.items():
        assert names <= set(vague_names(modules()[f"wingspan/{path}"], set())), path


@pytest.mark.parametrize("name", ["told", "_kept", "found", "checked", "_joined", "late", "whole", "parts"])
def test_vague_names_and_participles_are_found(name: str) -> None:
    assert vague_names(read(f"class A:\n    def {name}(self): ..."), set()) == [f"A.{name}"]


@pytest.mark.parametrize("name", ["check", "live_slots", "is_checked", "seed", "_checked_init", "__reduced__x"])
def test_verbs_nouns_and_phrases_pass(name: str) -> None:
    assert vague_names(read(f"def {name}(): ..."), set()) == []


@pytest.mark.parametrize("text", ["What it does.", "How it is.", "…Where it is.", "They are.", "those of x"])
def test_free_relative_clauses_are_found(text: str) -> None:
    source = read(f'''
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
    assert relative_clauses(source.docstrings) == [2, 4, 8, 10, 12]


@pytest.mark.parametrize("text", ["Whether it is.", "Run it.", "The value that was returned."])
def test_imperatives_and_noun_phrases_pass(text: str) -> None:
    assert relative_clauses(read(f'def f():\n    """{text}"""').docstrings) == []


def test_functions_have_verb_phrases_or_precise_nouns_as_names() -> None:
    vague = {path: vague_names(module, PUBLIC.get(below(path), set())) for path, module in modules().items()}
    assert {path: names for path, names in vague.items() if names} == {}


def test_docstrings_begin_with_an_imperative_or_a_noun_phrase() -> None:
    """In tests and scripts, too."""
    others = {str(path): path.read_text("utf-8") for folder in OTHERS for path in (ROOT / folder).rglob("*.py")}
    every = {path: module.docstrings for path, module in modules().items()}
    every |= {path: docstrings(ast.parse(text)) for path, text in others.items() if QUOTED.search(text)}
    relative = {path: relative_clauses(texts) for path, texts in every.items()}
    assert {path: lines for path, lines in relative.items() if lines} == {} and len(others) > 400


def test_variables_have_precise_names() -> None:
    vague = {path: module.variables & VARIABLES for path, module in modules().items()}
    assert {path: names for path, names in vague.items() if names} == {}


def test_classes_have_different_names() -> None:
    defined = {
        (name.rpartition(".")[2], "a language" if below(path) in LANGUAGES else path)
        for path, module in modules().items()
        if not path.endswith("json_types.py")  # types of documents, named after what these describe
        for name in module.classes
    }
    places = Counter(name for name, _ in defined)
    assert {name for name, times in places.items() if times > 1} == WRAPPED


def test_the_glossary_translates_nothing_into_other_words_of_the_code() -> None:
    assert "in the code" not in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
