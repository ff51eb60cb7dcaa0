"""Expressions that are watched: in each state what the reference says of the elements that the fibertrees have."""

from __future__ import annotations

import re
import sys
from io import BytesIO, TextIOWrapper
from typing import Any

import jsonschema
import numpy as np
import pytest

from proofs_tests.places import EXAMPLES
from proofs_tests.trace.walks import OPEN, A, B
from wingspan import api
from wingspan.api.watching import StateExpression
from wingspan.base.errors import InputError
from wingspan.trace import SCHEMA, Session, Trace, document

DEPENDENT = str(EXAMPLES / "dependent.ws")
SHARED = "x = 3\nc = Tensor(Dense(Element(0)), 2)\nc .= 0\nfor i = parallel(1:2)\nx = x * 2\nc[i] += x\nend\n"


def test_values_are_those_of_the_cells_in_every_state() -> None:
    """Two elements of a dense vector, alone and together."""
    made = document(DEPENDENT, watches=["c[3]", "c[1] + 2 * c[3]", "c[3] == 1 && c[1] == 0"])
    jsonschema.validate(made, SCHEMA)
    assert made["watches"] == ["c[3]", "c[1] + 2 * c[3]", "c[3] == 1 && c[1] == 0"]
    for state in made["states"]:
        if state["trees"] == [None]:
            assert set(state["watched"]) == {"c is not declared here"}
            continue
        cells = {made["cells"][cell]["name"]: int(value) for cell, value in state["cells"]}
        one, three = cells["c.val[1]"], cells["c.val[3]"]
        both = "true" if three == 1 and one == 0 else "false"
        assert state["watched"] == [str(three), str(one + 2 * three), both]
    assert {state["watched"][0] for state in made["states"]} == {"c is not declared here", "0", "1", "2"}


def test_sparse_tensors_are_read_while_they_are_updated_and_at_the_end_hold_the_result() -> None:
    """A sum of matrices: at the end each element is the sum; on the way it is that or nothing."""
    trace = Trace(EXAMPLES / "spadd.ws", ["C[2, 1]", "A[2, 1] + B[2, 1]", "C[2, 2]"], **OPEN["spadd.ws"])
    last = list(trace.ahead(trace.nodes[0], most=60)[0])[-1]
    seen = {tuple(trace.watches.values(trace.nodes[number].state)) for number in range(last)}
    total = f"{A[1][0] + B[1][0]}"
    assert {values[1] for values in seen} == {total}
    assert {values[0] for values in seen} <= {"0.0", total} and len({values[0] for values in seen}) == 2


def test_elements_are_those_of_the_fibertrees_also_of_what_a_race_has_spoiled() -> None:
    """In each of some states, in most of which a sparse matrix is being updated."""
    made: Any = document(EXAMPLES / "quiz_cousin_race.ws", watches=["C[1, 1]", "C[1, 2]"], max_states=60)
    kinds: set[Any] = set()
    for state in made["states"]:
        if state["trees"][0] is None:
            assert set(state["watched"]) == {"C is not declared here"}
            continue
        tree = made["trees"][state["trees"][0]]
        if "unreadable" in tree:
            kinds.add("unreadable")
            assert all(value.endswith(tree["unreadable"]) for value in state["watched"])
            continue
        elements = {
            column["first"]: element["value"] for column in tree["children"] for element in column["fiber"]["children"]
        }
        assert state["watched"] == [elements.get(1) or "0", elements.get(2) or "0"]
        kinds |= {(tree.get("updating"), *elements)}
    assert {"unreadable", (True,), (True, 1), (True, 2)} <= kinds


def test_variables_of_the_root_task_are_known_and_others_have_no_value() -> None:
    trace = Trace(api.parse(SHARED), ["x", "x + c[1]", "i", "c[x]"])
    values = [trace.watches.values(node.state) for node in trace.nodes[:1]]
    assert values == [["3", "3", "i has no value", "c has the indices 1:2 on axis 1, got 3"]]


def test_a_boolean_counts_as_a_number_as_in_a_program() -> None:
    """The kinds of the names in a state do not matter; an expression without a value in a program has none here."""
    texts = ["1 == b", "b == b", "b + 1", "b & (x > 4)", "true * x", "b || x"]
    trace = Trace(api.parse("x = 3\nb = x > 2\ny = 1\n"), texts)
    node = trace.nodes[0]
    while edge := next(iter(trace.edges(node)), None):
        assert edge.target is not None
        node = edge.target
    assert trace.watches.values(node.state) == ["true", "true", "2", "false", "3", "|| needs booleans, got 3"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "cannot watch"),
        ("c[~1]", "cannot watch c[~1]: c[~1] is missing where ~ leaves the axis"),
        ("missing", "cannot watch missing: missing is missing, and a value is needed here"),
        ("c[1", "cannot watch c[1: "),
        ("x = 1", "cannot watch x = 1: "),
        ("1) + (2", "cannot watch"),
        ("1)\ny = (2", "it is no expression"),
        ("d[1]", "there is no tensor d"),
        ("c[1, 2]", "c has 1 axis but 2 subscripts"),
    ],
)
def test_what_cannot_be_watched_is_one_message(text: str, told: str) -> None:
    if text == "1) + (2":  # is one expression
        assert Trace(DEPENDENT, [text]).watches.values(Trace(DEPENDENT).nodes[0].state) == ["3"]
        return
    with pytest.raises(InputError, match=re.escape(told)):
        Trace(DEPENDENT, [text])


def test_the_stepper_and_pages_show_them(command, monkeypatch, tmp_path) -> None:
    """After each command of the plain form, once the tensor is declared; on a page that is saved, too."""
    page = tmp_path / "p.html"
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(f"n\nn\nn\nn\nn\n1\n1\ns {page}\n".encode()), "utf-8"))
    out = command("step", DEPENDENT, "--plain", "--watch", "c[1] == 1").out
    assert re.findall(r"^c\[1\] == 1: (\w+)$", out, re.MULTILINE) == ["false", "false", "true"]
    assert page.stat().st_size > 50_000
    done = command("explore", DEPENDENT, "--watch", "c[1]")
    assert done.status == 2 and "--watch is for --html" in done.err
    done = command("explore", DEPENDENT, "--watch", "d[1]", "--html", str(tmp_path / "q.html"))
    assert done.status == 2 and "there is no tensor d" in done.err and not (tmp_path / "q.html").exists()


OWN = """
dev = cpu(:dev, 2)
c = Tensor(Dense(Element(0)), 2)
c .= 0
for i = parallel(1:2, dev)
    c[i] += 1
end
x = 3
y = x + 1
"""


def test_interleavings_to_a_watched_state_can_be_followed_step_by_step(command, monkeypatch, tmp_path) -> None:
    """Steps that may change what is watched are visible, as for `explore` and `replay`: in a session, and on a page."""
    path = tmp_path / "own.ws"
    path.write_text(OWN)
    found = api.explore(api.parse(OWN), reach="x == 3").verdict.properties[0].interleaving
    assert found is not None and found.endswith("0")
    out = command("step", str(path), "--plain", "--watch", "x == 3", "--interleaving", found).out
    assert re.findall(r"^x == 3: (\w+)$", out, re.MULTILINE) == ["true"]
    with pytest.raises(InputError, match="which cannot step"):
        Session(Trace(api.parse(OWN))).go(found)
    done = command("step", str(path), "--plain", "--watch", "c[1]", "--interleaving", "1,2")
    assert done.status == 2 and "steps that change what is watched count, too" in done.err
    made: Any = document(api.parse(OWN), ways=[found], watches=["x == 3", "i"])
    values = [state["watched"] for state in made["states"]]
    assert ["true", "i has no value"] in values and ["x has no value", "i has no value"] in values


def test_races_and_results_by_number_are_reached_while_something_is_watched(command, monkeypatch) -> None:
    """Their interleavings name the steps that are visible for the sake of what is watched."""
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b""), "utf-8"))
    for named in ("--race", "--result"):
        done = command("step", DEPENDENT, "--plain", "--watch", "c[1]", named, "1")
        assert done.status == 0 and re.search(r"^c\[1\]: \d$", done.out, re.MULTILINE)


def test_a_page_of_an_exploration_shows_the_steps_that_change_what_is_watched(command, tmp_path) -> None:
    path = tmp_path / "own.ws"
    path.write_text(OWN)
    states: list[int] = []
    for watch in (), ("--watch", "x"):
        out = command("explore", str(path), "--html", str(tmp_path / f"{len(states)}.html"), *watch).out
        states.append(int(re.findall(r"complete: (\d+) states", out)[0]))
    assert states[0] < states[1]


TABLES = """
A = Tensor(Dense(Dense(Element(0))), [1 2 0; 4 0 0])
b = Tensor(Dense(Element(0)), [1, 1, 0])
e = Tensor(Dense(Element(0)), 0)
e .= 0
x = 1
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("all(b[i] >= 0)", True),
        ("all(b[i] >= 1)", False),
        ("any(b[i] == 0)", True),
        ("any(b[i] == 7)", False),
        ("all(A[i, j] >= 0)", True),
        ("all(b[j] == any(A[i, j] > 0))", True),
        ("all(b[j] == all(A[i, j] > 0))", False),
        ("any(all(A[i, j] == 0))", False),
        ("any(j == 3 && all(A[i, j] == 0))", True),
        ("all(b[i] >= 0) && any(b[i] > 0)", True),
        ("all(e[i] == 1)", True),
        ("any(e[i] == 1)", False),
        ("all(b[i] <= x)", True),
        ("all(x == 1)", True),
        ("any(coalesce(b[~x] == i, b[i] == 9))", True),
    ],
)
def test_quantifiers_range_over_the_axes_of_their_own_names(text: str, value: bool) -> None:
    program = api.bind(api.parse(TABLES))
    elements = {"A": [[1, 2, 0], [4, 0, 0]], "b": [1, 1, 0], "e": []}
    arrays = {name: np.array(held, dtype=object) for name, held in elements.items()}
    assert StateExpression(text, program).value(arrays, {"x": 1}) is value


def test_a_name_runs_over_axes_of_one_extent() -> None:
    with pytest.raises(InputError, match="i is a subscript of axes of extents 2 and 3"):
        StateExpression("all(A[i, i] == 0)", api.bind(api.parse(TABLES)))
