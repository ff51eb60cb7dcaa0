"""The public interface in Python: names as on the command line, keywords that type checkers know, results as values."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import wingspan
from proofs_tests.places import EXAMPLES, ROOT
from wingspan.explorer.search import Search, SearchOptions

RACY, SAFE = (EXAMPLES / name for name in ("dependent.ws", "dependent_atomic.ws"))
VERBS = {"check", "diff", "explore", "judge", "plan", "prove", "replay", "run", "schema", "step", "stress"}
VERBS |= {"parallelize"}
"""The verbs of the command line that are functions of the same name, besides `emit_c`."""


def test_verbs_are_functions_of_the_package() -> None:
    assert {*VERBS, "emit_c", "bind", "compile", "parse", "load", "Search"} <= {*wingspan.__all__}


def test_plan_is_the_verb_although_a_package_has_that_name() -> None:
    import wingspan.plan.ir
    from wingspan.plan import ir

    assert sys.modules["wingspan.plan.ir"] is ir
    assert wingspan.plan(SAFE).startswith("  c.val")


def test_the_options_of_explore_are_those_of_a_search() -> None:
    """Each under its name; of its type, or for files what names one."""
    have, want = get_type_hints(SearchOptions), get_type_hints(Search)
    files = {"checkpoint", "resume"}
    assert [*have] == [field.name for field in fields(Search)]
    assert {name: kind for name, kind in have.items() if name not in files} == {
        name: kind for name, kind in want.items() if name not in files
    }
    assert all(have[name] == have["checkpoint"] and type(None) in have[name].__args__ for name in files)


def test_a_misspelt_option_of_explore_is_one_error() -> None:
    with pytest.raises(wingspan.InputError, match="no option max_state") as caught:
        wingspan.explore(RACY, max_state=3)  # type: ignore[call-arg]
    assert caught.value.fix == "did you mean max_states?"


CALLS = {
    "wingspan.explore(program, max_states=3, strategy='dpor', checkpoint='a', first=True)": None,
    "wingspan.explore(program, max_state=3)": '"max_state"',
    "wingspan.explore(program, max_states='three')": '"max_states"',
    "wingspan.run(program, engine=3)": '"engine"',
    "wingspan.check(program, test='exakt')": '"test"',
    "wingspan.plan(program).splitlines()": None,
    "wingspan.Tensor.from_numpy('Dense(Element(0))', [1]).to_dict()['nnz']": None,
    "wingspan.stress(program, run=3)": '"run"',
}
"""Calls, and what a type checker says of them."""


@pytest.mark.deep  # a checker reads the whole package
def test_type_checkers_know_the_keywords(tmp_path: Path) -> None:
    from mypy import api as mypy  # takes memory, and no other test needs it

    file = tmp_path / "calls.py"
    file.write_text("\n".join(["import wingspan", "program = wingspan.parse('x = 1')", *CALLS]))
    said, _, _ = mypy.run([str(file), "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary"])
    found = {int(line.split(":")[1]): line for line in said.splitlines() if ": error:" in line}
    for number, (call, word) in enumerate(CALLS.items(), start=3):
        assert (number in found) == (word is not None), (call, said)
        assert word is None or word in found[number]


def test_a_run_gives_tensors_and_variables_by_name() -> None:
    text = "x = 1.0 / 4\nC = Tensor(Dense(Element(0)), [1, 2])\nreturn C"
    made = wingspan.run(wingspan.parse(text), engine="semantics")
    assert made["x"] == 0.25 and isinstance(made["x"], float)
    assert np.asarray(made["C"]).tolist() == [1, 2]
    assert [*made] == ["C", "x"] and "x" in made and "y" not in made
    with pytest.raises(KeyError, match="no y, but C, x"):
        made["y"]


def test_a_tensor_is_an_array_and_one_without_axes_a_number() -> None:
    matrix = wingspan.Tensor.from_numpy("Dense(SparseList(Element(0.0)))", [[0, 2.5], [1, 0]])
    assert np.asarray(matrix).tolist() == [[0, 2.5], [1, 0]]
    assert np.asarray(matrix, dtype=int).tolist() == [[0, 2], [1, 0]]
    assert float(wingspan.Tensor.from_numpy("Element(0.0)", 2.5)) == 2.5
    assert float(wingspan.Tensor.from_numpy("Atomic(false)", True)) == 1.0
    with pytest.raises(TypeError, match="2×2"):
        float(matrix)


@pytest.mark.parametrize("path", ["file.ws", "a folder/file.ws", Path("file.ws"), Path("file")])
def test_a_path_in_place_of_a_text_names_load(path: Any) -> None:
    """And other objects that are no text say so; a text may end in a comment that names a file."""
    with pytest.raises(wingspan.InputError) as error:
        wingspan.parse(path)
    assert error.value.message == "this is the path of a program, not its text"
    assert error.value.fix == "read it by wingspan.load(path)"
    wrong: Any
    for wrong, name in ((None, "NoneType"), (b"x = 1", "bytes"), (wingspan.parse("x = 1"), "Program")):
        with pytest.raises(wingspan.InputError, match=f"a program is text, and this is a {name}"):
            wingspan.parse(wrong)
    assert str(wingspan.parse("x = 1 # as in file.ws")).strip() == "x = 1"


def test_a_text_in_place_of_the_path_of_a_log_names_parse_log() -> None:
    with pytest.raises(wingspan.InputError) as error:
        wingspan.judge("1 write c\n2 write c\n")
    assert error.value.message == "this is the text of a log, not the path of one"
    assert error.value.fix == "read it by wingspan.accesses.parse_log(text)"
