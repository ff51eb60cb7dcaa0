"""Mutants: how a mutation finds its place, what `--check` refuses, where there are some. To run them is slow."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from bench.mutants import ROOT, Mutant, Outcome, flaws, mutants, verdict
from bench.mutations import Misplaced, mutate

MODULE = '''
"""A module."""
LIMIT = 3
def f(x, y):
    # a comment
    if x and y:  # another one
        return (x +
                1)
    return x + 1 if y else LIMIT
class C:
    text = """
    def find(i):
        x = at[i]  # loaded
        return x + 1
    def other(i):
        return at[i] + 1
    """
    def f(self, x):
        match x:
            case int() | str():
                return 1
            case _:
                return x + 1
    @property
    def g(self): return self.f(2)
    @g.setter
    def g(self, value): self.x = value
'''


@pytest.mark.parametrize(
    ("function", "old", "new", "from_", "to"),
    [
        ("f", "x and y", "x or y", "if x and y", "if x or y"),
        ("f", "(x+1)if   y else LIMIT", "LIMIT", "x + 1 if y else LIMIT", "LIMIT"),
        ("f", "if x and y: ...", "...", "if x and y:  # another one\n", "if True:\n"),
        ("f", "if x and y: ...", "if not x: ...", "if x and y", "if not x"),
        ("f", "if x and y: ...", "", "if x and y:  # another one\n        return (x +\n                1)\n", ""),
        ("f", "def f(x, y): ...", "def f(x, y=1): ...", "def f(x, y)", "def f(x, y=1)"),
        ("LIMIT", "3", "4", "LIMIT = 3", "LIMIT = 4"),
        ("C.f", "x + 1", "x", "return x + 1\n    @", "return x\n    @"),
        ("C.f", "case int() | str(): ...", "case int(): ...", "int() | str()", "int()"),
        ("C.f", "return 1", "", "return 1\n", "pass\n"),
        ("C.g", "self.x = value", "pass", "self.x = value", "pass"),
        ("C.text.find", "x + 1", "x", "return x + 1\n    def other", "return x\n    def other"),
        ("C.text.other", "return at[i] + 1", "x = 1\nreturn x", "return at[i] + 1", "x = 1\n        return x"),
        ("", "LIMIT = 3", "LIMIT = 5", "LIMIT = 3", "LIMIT = 5"),
    ],
)
def test_a_mutation_changes_the_tree_in_its_function_alone(
    function: str, old: str, new: str, from_: str, to: str
) -> None:
    """Of a module whose text is changed by hand, the tree is the same; a level's operations are compared as trees."""
    assert MODULE.count(from_) == 1
    by_hand = MODULE.replace(from_, to)
    if new == "...":
        by_hand = by_hand.replace("    if True:\n        return (x +\n                1)\n", "    return x + 1\n")
    assert trees(mutate(MODULE, ".py", function, old, new)) == trees(by_hand)


def trees(text: str) -> list[str]:
    """The tree of a module, and those of the operations in the class C."""
    module = ast.parse(text)
    holder = next(node for node in module.body if isinstance(node, ast.ClassDef)).body[0]
    assert isinstance(holder, ast.Assign) and isinstance(holder.value, ast.Constant)
    operations = ast.dump(ast.parse("if True:" + str(holder.value.value)))
    holder.value.value = ""
    return [ast.dump(module), operations]


@pytest.mark.parametrize(
    ("function", "old", "new", "message"),
    [
        ("g", "x", "y", "there is no g"),
        ("C.text.lost", "x", "y", "there is no C.text.lost"),
        ("C.f", "x and y", "x", "occurs 0 times in C.f"),
        ("f", "x", "y", "occurs 3 times in f"),
        ("", "x + 1", "x", "occurs 4 times in the file"),
        ("f", "x and y", "(x  and y)", "its new code is the old one"),
    ],
)
def test_a_mutation_without_one_place_is_an_error(function: str, old: str, new: str, message: str) -> None:
    with pytest.raises(Misplaced, match=message):
        mutate(MODULE, ".py", function, old, new)


HEADER = """
#define MORE(x) \\
    ((x) + 1)
bool grow(int x);
bool grow(int x)
{
#if MORE
    return x + 1;
#endif
}
static int one(int x) { return x + 1; }
int after(int x) { return grow(x) + 1; }
"""

CYTHON = """
cdef class Space:
    cdef int go(self, int x) except -1:
        return x + 1

    def way(self):
        return self.go(1) + 1
def go(x):
    return x
"""


@pytest.mark.parametrize(
    ("suffix", "text", "function", "old", "place"),
    [
        (".h", HEADER, "MORE", "+ 1", 0), (".h", HEADER, "grow", "+ 1", 1), (".h", HEADER, "one", "+ 1", 2),
        (".h", HEADER, "after", "+ 1", 3), (".pyx", CYTHON, "Space.go", "+ 1", 0),
        (".pyx", CYTHON, "Space.way", "+ 1", 1), (".pyx", CYTHON, "go", "return x", 1),
    ],
)  # fmt: skip
def test_a_mutation_of_text_is_in_its_function_alone(
    suffix: str, text: str, function: str, old: str, place: int
) -> None:
    """It takes the place with this number of those where the old text is."""
    parts = text.split(old)
    by_hand = old.join(parts[: place + 1]) + "new" + old.join(parts[place + 1 :])
    assert mutate(text, suffix, function, old, "new") == by_hand


@pytest.mark.parametrize(
    ("suffix", "text", "function", "message"),
    [
        (".h", HEADER, "shrink", "shrink is defined 0 times"),
        (".h", HEADER, "", "occurs 4 times in the file"),
        (".pyx", CYTHON, "Space.stop", "Space.stop is defined 0 times"),
    ],
)
def test_a_mutation_of_text_without_one_place_is_an_error(suffix: str, text: str, function: str, message: str) -> None:
    with pytest.raises(Misplaced, match=message):
        mutate(text.replace("return x\n", "return x + 1\n"), suffix, function, "+ 1", "")


# ---------------------------------------------------------------------------------------------------------- the table

FIRST = Mutant(
    "explorer", "first", "wingspan/explorer/bounds.py", "self.deadline", "None", "", ("explorer/test_races.py",)
)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(old="no_such_name"), "occurs 0 times"),
        (dict(file="wingspan/nowhere.py"), "No such file"),
        (dict(tests=()), "first: it names no test"),
        (dict(tests=("explorer/test_nothing.py",)), "there is no test explorer/test_nothing.py"),
        (dict(tests=("explorer/test_races.py::test_nothing[1]",)), "there is no test explorer/test_races.py::test_n"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_mutant_is_reported(wrong: dict, message: str) -> None:
    mutant = Mutant(**{**FIRST.__dict__, **wrong})
    assert any(message in flaw for flaw in flaws([mutant], ROOT))


def test_two_mutants_of_one_name_are_reported() -> None:
    assert next(flaws([FIRST, FIRST], ROOT)) == "first: 2 mutants have this name"


def test_what_is_tested_in_each_place_has_mutants() -> None:
    """Each level, pass, choice, and module of rules; each package but the smallest ones. `usual` has names alone."""
    files = {mutant.file for mutant in mutants()}
    modules = [
        path
        for folder in ("levels", "plan/passes", "choices", "semantics/rules")
        for path in sorted((ROOT / "wingspan" / folder).glob("*.py"))
        if path.name not in ("__init__.py", "usual.py")
        and (folder != "semantics/rules" or "@rule(" in path.read_text(encoding="utf-8"))
    ]
    assert len(modules) > 40
    assert [path.name for path in modules if str(path.relative_to(ROOT)) not in files] == []
    packages = {path.parent.name for path in (ROOT / "wingspan").glob("*/__init__.py")}
    assert packages <= {Path(file).parts[1] for file in files}


def test_a_digest_is_of_the_mutant_and_its_tests() -> None:
    """Equal for the same mutant, another one when its code or its tests change."""
    first = mutants()[0]
    other = Mutant(**{**first.__dict__, "new": "other"})
    fewer = Mutant(**{**first.__dict__, "tests": ("explorer/test_races.py",)})
    digests = [mutant.digest(ROOT) for mutant in (first, other, fewer)]
    assert len(set(digests)) == 3 and first.digest(ROOT) == digests[0]


@pytest.mark.parametrize(
    ("equivalent", "killed_by", "well"),
    [("", "test_x", True), ("", None, False), ("because", None, True), ("because", "test_x", False)],
)
def test_all_is_well_if_killed_or_explained(equivalent: str, killed_by: str | None, well: bool) -> None:
    mutant = Mutant("rules", "m", "f", "", "", "", (), equivalent=equivalent)
    assert verdict(mutant, Outcome("m", "", killed_by, 0.0))[1] == well
    assert not verdict(mutant, None)[1]
