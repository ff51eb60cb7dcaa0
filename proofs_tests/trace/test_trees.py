"""Fibertrees while tasks update: they hold what loops have left behind, and say what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random
from textwrap import dedent
from typing import Any

import pytest

from proofs_tests.effort import few, many
from proofs_tests.places import EXAMPLES
from proofs_tests.trace.walks import OPEN, PROGRAMS
from wingspan import api
from wingspan.explorer.machine import Step
from wingspan.lang.printer import term
from wingspan.semantics.config import ProgramState
from wingspan.trace import Session, Trace
from wingspan.trace.memory import environment
from wingspan.views.stepper import memory

ROWS, COLUMNS, FIRST = 2, 3, 2
"""Of a matrix whose columns are written in order, in two phases: the first has so many of them."""

APPENDED = """
    C = Tensor({format}, {rows}, {columns})
    s = Scalar(0)
    C .= 0
    s .= 0
    for j = 1:{first}
        for i = {i}
            C[i, j] += 10 * i + j
        end
    end
    for j = 1:{first}
        for i = 1:{rows}
            s[] += C[i, j]
        end
    end
    for j = {second}:{columns}
        for i = {i}
            C[i, j] += 10 * i + j
        end
    end
    return C, s
"""
FORMATS = [
    "Dense(SparseList(Element(0)))",
    "SparseList(SparseList(Element(0)))",
    "Dense(SparseDict(Element(0)))",
    "SparseDict(SparseDict(Element(0)))",
    "Dense(SparseByteMap(Element(0)))",
    "SparseCOO(2, Element(0))",
    "Dense(RunList(Element(0)))",
    "Dense(SparseRunList(Element(0)))",
    "Dense(SparseBand(Element(0)))",
    "Dense(SparseBlockList(Element(0)))",
    "Dense(SparsePoint(Element(0)))",
    "Dense(Isolate(SparseList(Element(0))))",
    "Isolate(SparseList(Mutex(SparseList(Element(0)))))",
    "SparseList(Dense(Element(0)))",
]


def elements(tree: dict[str, Any], below: tuple[int, ...] = ()) -> dict[tuple[int, ...], str]:
    """The values of a tree by their subscripts."""
    found: dict[tuple[int, ...], str] = {}
    for child in tree["children"]:
        for index in range(child["first"], child["last"] + 1):
            if "fiber" in child:
                found |= elements(child["fiber"], (index, *below))
            elif child["value"] is not None:
                found[index, *below] = child["value"]
    return found


def states(trace: Trace, seed: str, most: int = 10_000) -> Iterator[ProgramState]:
    """The states of one run, invisible steps too, each of a task picked at random."""
    random, machine = Random(seed), trace.machine
    state = machine.initial()
    yield state
    for _ in range(most):
        steps = [step for task in machine.tasks(state) if isinstance(step := machine.step(state, task), Step)]
        if not steps:
            return
        following = random.choice(steps).next
        if not isinstance(following, ProgramState):
            return
        state = following
        yield state


@pytest.mark.parametrize("form", few(FORMATS, 7))
def test_a_tree_that_is_updated_holds_the_iterations_so_far(form: str) -> None:
    """In each state of a loop nest, while the tensor is frozen, read and thawed too: each value of each iteration that
    has ended, perhaps the one of the iteration that ends now, and none that comes later.
    """
    rows = (2, 2) if "Point" in form else (1, ROWS)
    first = FIRST if form.startswith("Dense") else COLUMNS  # a list visits its root fiber once
    i = f"{rows[0]}:{rows[1]}"
    text = APPENDED.format(format=form, rows=ROWS, columns=COLUMNS, first=first, second=first + 1, i=i)
    order = [(i, j) for j in range(1, COLUMNS + 1) for i in range(rows[0], rows[1] + 1)]
    trace, updating, looked, last = Trace(api.parse(dedent(text))), 0, 0, 0
    for state in states(trace, form):
        tree = trace.trees(state)["C"]
        if tree is None:
            continue
        assert tree.get("unreadable") is None
        updating += "updating" in tree
        found = {at: value for at, value in elements(tree).items() if value != "0"}
        assert found == {(i, j): str(10 * i + j) for i, j in order[: len(found)]}
        assert len(found) >= last
        last = len(found)
        ((_, names),) = environment(state)
        at = int(names.get("i", 0)), int(names.get("j", 0))
        if at in order and state.root.span and state.root.span.line in (8, 18):
            looked, ended = looked + 1, order.index(at)
            assert ended <= len(found) <= ended + 1
    assert min(updating, looked) > 20 and last == len(order)


SHARED = """
    dev = cpu(:t, 2)
    C = Tensor({format}, 2, 2)
    C .= 0
    for j = parallel(1:2, dev, {schedule})
        for i = 1:2
            C[i, j] += 10 * i + j
        end
    end
    return C
"""


SHARED_FORMATS = [
    "Dense(Shard(dev, SparseList(Element(0))))",
    "Mutex(SparseDict(Mutex(SparseList(Element(0)))))",
    "Dense(Merge(dev, SparseList(Element(0))))",
    "Dense(Isolate(SparseDict(Element(0))))",
    "Merge(dev, SparseDict(SparseDict(Element(0))))",
]
SCHEDULES = ["static_schedule()", "dynamic_schedule(1)"]


@pytest.mark.parametrize(("form", "schedule"), few(list(product(SHARED_FORMATS, SCHEDULES)), 4))
def test_tasks_that_share_a_tree_add_to_it(form: str, schedule: str) -> None:
    """Also where copies are brought together only at the end: the tree has all of what each task has left behind."""
    trace, seen = Trace(api.parse(dedent(SHARED.format(format=form, schedule=schedule)))), {0}
    for state in states(trace, form):
        tree = trace.trees(state)["C"]
        if tree is not None:
            assert "unreadable" not in tree
            found = {at: value for at, value in elements(tree).items() if value != "0"}
            assert all(value == str(10 * i + j) for (i, j), value in found.items())
            assert max(seen) <= len(found) <= max(seen) + 1
            seen.add(len(found))
    assert seen == set(range(5))


@pytest.mark.parametrize(("name", "options"), few([each for each in PROGRAMS if each[0] != "karate.ws"], 12))
def test_values_are_those_of_their_cells(name: str, options: dict[str, Any]) -> None:
    """On any run of an example, races and faults too; and looking at a state leaves it as it is."""
    trace = Trace(api.bind(EXAMPLES / name, **options))
    safe = api.check(trace.program).verdict == "safe"
    for state in states(trace, name, many(1600)):
        heap = dict(state.heap)
        for tree in trace.trees(state).values():
            if tree is not None:
                assert not safe or "unreadable" not in tree
                for cell, value in cells(tree):
                    assert value == term(heap[cell])
        assert dict(state.heap) == heap


def cells(tree: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    """The cells in a tree, with the values beside them."""
    if "cell" in tree:
        yield tree["cell"], tree["value"]
    for child in tree["children"]:
        yield from cells(child.get("fiber", {**child, "children": []}))


def test_what_a_race_has_spoiled_is_said_and_its_cells_are_shown() -> None:
    """Two tasks append to one SparseList: where its counts are wrong, the level says so, and the stepper has both."""
    session = Session(Trace(EXAMPLES / "quiz_cousin_race.ws"))
    found = api.explore(session.trace.program, strategy="graph")
    broken = set()
    for result in found.verdict.results:
        session.go("-")
        for task in result.interleaving.replace("*", " ").split(","):
            name, _, times = task.partition(" ")
            for _ in range(int(times or 1)):
                if session.end:
                    break
                session.choose(name)
                tree = session.trace.trees(session.state)["C"]
                assert tree is not None
                lines = memory(session, 80)
                told = [line for line in lines if "not readable" in line]
                assert told == ([f"C is not readable: {tree['unreadable']}"] if "unreadable" in tree else [])
                assert any(line.startswith("C.ptr  ") for line in lines)
                broken |= {tree["unreadable"]} if "unreadable" in tree else set()
    assert broken == {"level 2 SparseList: its pointers are not in order"}


FULL = """
    dev = cpu(:t, 2)
    c = Tensor(Dense(Merge(dev, Element(0, u8))), 1)
    c .= 0
    for i = parallel(1:2, dev)
        c[1] += 200
    end
    return c
"""


def test_a_tree_that_cannot_be_frozen_says_why() -> None:
    """Both copies hold 200; their sum does not fit into a byte."""
    session = Session(Trace(api.parse(dedent(FULL))))
    while not session.end:
        session.forward() if len(session.choices) == 1 else session.choose("1")
    tree = session.trace.trees(session.state)["c"]
    assert tree is not None
    assert tree["children"] == [] and "400" in tree["unreadable"] and "u8" in tree["unreadable"]
    assert session.trace.trees(session.trace.machine.initial()) == {"c": None}


def test_the_stepper_has_a_line_for_each_last_fiber() -> None:
    """Before the buffers; none of a tensor that has a place for each index."""
    session = Session(Trace(api.bind(EXAMPLES / "spgemm_gustavson.ws", **OPEN["spgemm_gustavson.ws"])))
    assert "B[:, 2]" in "\n".join(memory(session, 80))
    session = Session(Trace(EXAMPLES / "quiz_cousin_race.ws"))
    session.go("1*5")
    lines = memory(session, 38)
    assert all(len(line) <= 38 for line in lines)
    assert [line.split()[0] for line in lines[:2]] == ["C[:,", "C[:,"]
    assert not any("[:" in line for line in memory(Session(Trace(EXAMPLES / "dependent.ws")), 38))
