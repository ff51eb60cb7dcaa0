"""The trace document: by its schema, and the same program as the explorer and `replay` see."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from textwrap import dedent
from typing import Any

import jsonschema
import pytest

from proofs_tests.effort import few
from proofs_tests.places import EXAMPLES
from proofs_tests.trace.walks import OPEN, each_small, example_document
from proofs_tests.views.showing import step_of
from wingspan import api
from wingspan.explorer import CellAccess, replay
from wingspan.explorer.races import OPERATIONS
from wingspan.lang.printer import term
from wingspan.results.outcome import Outcome
from wingspan.semantics.notation import configuration
from wingspan.semantics.rules import ALL
from wingspan.trace import SCHEMA, VERSION, Session, Trace, document
from wingspan.trace.document import MOMENTS
from wingspan.trace.memory import environment, show_contents

LARGEST = 450_000
"""Bytes of a document of 200 states as JSON, so that a page with it stays below."""


def test_the_schema_is_one_and_names_the_version() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["version"] == {"enum": [VERSION]}


@each_small
def test_documents_are_by_the_schema(name) -> None:
    """As JSON has them; and every number is a place in its table."""
    text = json.dumps(example_document(name), allow_nan=False)
    found = json.loads(text)
    jsonschema.validate(found, SCHEMA)
    assert set(found) == set(SCHEMA["properties"])
    if len(found["states"]) <= 200:
        assert len(json.dumps(found, ensure_ascii=False).encode()) < LARGEST
    for state in found["states"]:
        assert all(line < len(found["lines"]) for line in state["configuration"]["lines"])
        assert all(cell < len(found["cells"]) for cell, _ in state["cells"])
        assert len(state["trees"]) == len(found["tensors"])
    for edge in found["edges"]:
        assert max(edge["step"], *edge["then"], -1) < len(found["steps"])


def test_the_schema_refuses_what_is_no_document() -> None:
    found: Any = document(api.parse("x = 1"))
    for wrong in ({**found, "version": 2}, {**found, "states": []}, {k: v for k, v in found.items() if k != "edges"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


@each_small
def test_states_and_steps_are_those_of_the_explorer(name) -> None:
    """Each state with its races, waiting tasks and end, each step with its rule and fault; results and findings."""
    found = example_document(name)
    verdict = api.explore(api.bind(EXAMPLES / name, **OPEN.get(name, {})), strategy="graph", graph=True).verdict
    graph = verdict.graph
    assert graph is not None and found["complete"]
    assert (len(found["states"]), found["verdict"]) == (verdict.states, verdict.verdict)
    assert Counter(
        (len(state["races"]), len(state["waiting"]), state["result"] is not None) for state in found["states"]
    ) == Counter((len(node.races), len(node.waiting), node.outcome is not None) for node in graph.nodes)
    assert Counter(
        (step["task"], step["rule"], edge["fault"])
        for edge in found["edges"]
        for step in [found["steps"][edge["step"]]]
    ) == Counter((edge.task or "0", edge.rule, edge.fault) for edge in graph.edges)
    assert [(r["interleaving"], r["interleavings"]) for r in found["results"]] == [
        (r.interleaving, str(r.interleavings)) for r in verdict.results
    ]
    assert [finding["interleaving"] for finding in found["findings"]] == [
        *(race.interleaving for race in verdict.races),
        *(fault.interleaving for fault in verdict.faults),
        *(deadlock.interleaving for deadlock in verdict.deadlocks),
    ]


@each_small
def test_walks_through_the_document_are_replays(name) -> None:
    """Any sequence of steps in the document: tasks, rules, accesses, memory and result are those of `replay`."""
    found, random = example_document(name), Random(name)
    semantics = api.semantics(api.bind(EXAMPLES / name, **OPEN.get(name, {})))
    for _ in range(4):
        state, seen = found["states"][0], list(found["begin"])
        tasks: list[str] = []
        while state["enabled"] and len(tasks) < random.randrange(1, 40):
            edge = found["edges"][random.choice(state["enabled"])]
            tasks.append(found["steps"][edge["step"]]["task"])
            seen += [edge["step"], *edge["then"]]
            state = {"enabled": []} if edge["target"] is None else found["states"][edge["target"]]
        run = replay(semantics, ["" if task == "0" else task for task in tasks], finish=False)
        shown = [lane(found, found["steps"][number]) for number in seen]
        taken = [(step.task or "0", step.rule, list(map(accessed, step.footprint))) for step in run]
        assert shown == taken
        assert run.mismatch is None
        if state.keys() == {"enabled"}:
            assert run.end == "fault"
            continue
        assert {found["cells"][cell]["name"]: value for cell, value in state["cells"]} == {
            str(cell): show_contents(value) for cell, value in run.state.heap.items()
        }
        if state["result"] is not None:
            outcome = semantics.outcome(run.state)
            assert isinstance(outcome, Outcome)
            assert json.loads(json.dumps(outcome.values())) == found["results"][state["result"]]["values"]


@each_small
def test_moments_are_what_invisible_steps_find(name) -> None:
    """Memory, names and configuration before each of them, in walks of a session that takes them one by one."""
    found, random = example_document(name), Random(name)
    trace = Trace(api.bind(EXAMPLES / name, **OPEN.get(name, {})))
    assert len(found["before"]) == len(found["begin"]) and len(found["moments"]) <= MOMENTS
    for _ in range(4):
        session, moments, view = Session(trace), found["before"], found["states"][0]
        session.folded, session.left = False, len(session.invisible)
        while session.choices:
            if session.left and len(session.invisible) - session.left < len(moments):
                moment = found["moments"][moments[len(session.invisible) - session.left]]
                assert {found["cells"][cell]["name"]: value for cell, value in moment["cells"]} == {
                    str(cell): show_contents(value) for cell, value in session.state.heap.items()
                }
                lines, _ = configuration(session.state, trace.program.towers)
                assert [found["lines"][line] for line in moment["configuration"]["lines"]] == lines
                names = {store["task"]: store["names"] for store in map(found["stores"].__getitem__, moment["stores"])}
                assert names == {task or "0": names for task, names in environment(session.state)}
            taken = random.choice(session.choices)
            if not session.left:
                (edge,) = (e for e in view["enabled"] if step_of(found, e)["task"] == (taken.task or "0"))
                moments, target = found["edges"][edge]["before"], found["edges"][edge]["target"]
                if target is None:
                    break
                view = found["states"][target]
            session.choose(taken.key)


def lane(found: dict[str, Any], step: dict[str, Any]) -> tuple[str, str, list[Any]]:
    """A step as a line of a replay has it."""
    accesses = [(found["cells"][each["cell"]]["name"], each["operation"], each["value"]) for each in step["accesses"]]
    return step["task"], step["rule"], accesses


def accessed(touch: CellAccess) -> tuple[str, str, str | None]:
    """The same of an access; taking and giving back a lock has no value."""
    value = None if touch.effect in ("acquire", "release") else term(touch.value)
    return str(touch.cell), OPERATIONS[touch.effect], value


@each_small
def test_both_of_two_steps_that_race_name_the_other(name) -> None:
    found = example_document(name)
    for state in found["states"]:
        raced = {(one, other) for one in state["enabled"] for other in found["edges"][one]["raced"]}
        assert raced == {pair for one, other in state["races"] for pair in ((one, other), (other, one))}


COUNTED = """
    x = Tensor(Dense(Element(0)), 1)
    x .= 0
    for i = parallel(1:{n}, cpu(:t, {n}))
        x[1] += 1
    end
    return x
"""


@pytest.mark.parametrize("n", [2, 3])
def test_an_update_is_lost_exactly_where_a_count_is_too_small(n) -> None:
    """On every way through the states of n tasks that add 1 to one cell."""
    found: Any = document(api.parse(dedent(COUNTED.format(n=n))))
    ends: list[tuple[int, bool]] = []
    work = [(0, False)]
    while work:
        number, lost = work.pop()
        state = found["states"][number]
        if state["result"] is not None:
            ends.append((found["results"][state["result"]]["values"]["x"][0], lost))
        for place in state["enabled"]:
            edge = found["edges"][place]
            work.append((edge["target"], lost or edge["lost"] is not None))
    assert {count for count, _ in ends} == set(range(1, n + 1))
    assert all(lost == (count < n) for count, lost in ends)


@pytest.mark.parametrize("name", ["dependent_atomic.ws", "independent.ws"])
def test_updates_of_several_cells_and_atomic_ones_lose_nothing(name) -> None:
    found = example_document(name)
    assert not any(edge["lost"] for edge in found["edges"])
    assert not any(edge["raced"] for edge in found["edges"])


@pytest.mark.parametrize("most", few([1, 40, 5], 2))
def test_a_document_of_some_states_has_the_ways_to_all_findings(most) -> None:
    """It says that it is cut; a step that leads out of it has no target and no fault."""
    found, whole = (
        document(EXAMPLES / "quiz_mutex_cousins.ws", max_states=most),
        example_document("quiz_mutex_cousins.ws"),
    )
    assert [each["interleaving"] for each in found["findings"]] == [each["interleaving"] for each in whole["findings"]]
    assert found["results"] == whole["results"]
    jsonschema.validate(found, SCHEMA)
    assert not found["complete"]
    size = len(found["states"])
    assert size >= most
    assert all(number < size for finding in found["findings"] for number in finding["states"])
    assert any(edge["target"] is None and edge["fault"] is None for edge in found["edges"])
    targets = {edge["target"] for edge in found["edges"]} - {None}
    assert targets | {0} == set(range(size))


TREES = """
    A = Tensor(Dense(SparseList(Element(0))), [1 0 2; 0 3 0])
    s = Scalar(0)
    y = Tensor(Dense(Element(0)), 2)
    y .= 0
    s .= 0
    for i = 1:2
        y[i] += A[i, 2]
        s[] += A[i, 2]
    end
    return y, s
"""


def test_fibertrees_lead_to_the_elements() -> None:
    """Of an input from root to leaf, of an output while it is updated, of a scalar; with the cells of values."""
    found: Any = document(api.parse(dedent(TREES)))
    (state,) = found["states"]
    trees = {
        tensor["name"]: found["trees"][tree] for tensor, tree in zip(found["tensors"], state["trees"], strict=True)
    }
    cells = [cell["name"] for cell in found["cells"]]
    child = {"first": 2, "last": 2, "value": "3", "cell": cells.index("A.val[2]")}
    column = {"level": 2, "position": 2, "children": [child]}
    assert trees["A"]["children"][1] == {"first": 2, "last": 2, "fiber": column}
    assert [child["value"] for child in trees["y"]["children"]] == ["0", "3"]
    assert trees["s"]["value"] == "3"
    held = {cells[number]: value for number, value in state["cells"]}
    assert [cells[child["cell"]] for child in trees["y"]["children"]] == ["y.val[1]", "y.val[2]"]
    assert trees["s"]["value"] == held[cells[trees["s"]["cell"]]]


def test_a_program_without_parallel_loops_has_one_state() -> None:
    """No step of it can be observed; all of them stand before the first state."""
    found = document(api.parse("x = 1\ny = x + 1"))
    assert (len(found["states"]), found["edges"], found["tensors"]) == (1, [], [])
    rules = [found["steps"][number]["rule"] for number in found["begin"]]
    assert rules == ["WriteLocal", "Block", "ReadLocal", "Call", "WriteLocal"]
    assert found["results"][0]["values"] == {"x": 1, "y": 2}


def test_all_rules_are_drawn() -> None:
    rules = example_document("dependent.ws")["rules"]
    assert [rule["name"] for rule in rules] == list(ALL)
    assert sum(rule["figure"] for rule in rules) == 24
    assert all("─" in rule["unicode"] and rule["latex"][0].startswith(r"\frac{") for rule in rules)
