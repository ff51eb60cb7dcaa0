"""The terminal, the plain stepper and the document that pages draw show the same facts after every step."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from random import Random
from textwrap import dedent
from typing import Any

import pytest

from proofs_tests.effort import few, many
from proofs_tests.places import EXAMPLES
from proofs_tests.trace.test_session import NESTED
from proofs_tests.views.showing import WIDTH, of_document, of_plain, of_terminal
from wingspan import api
from wingspan.elaborate import Elaborated
from wingspan.trace import Session, Trace, document
from wingspan.views import stepper_plain

TASKS_ALIKE = """
c = Tensor(Dense(Element(0)), 1)
c .= 0
for i = parallel(1:3, cpu(:t, 3))
    c[1] += 1
end
return c
"""
PROGRAMS: dict[str, Path | str] = {
    "racy": EXAMPLES / "dependent.ws",
    "deadlocked": EXAMPLES / "quiz_deadlock_two_locks.ws",
    "faulty": EXAMPLES / "quiz_overflow.ws",
    "reads differ by path": EXAMPLES / "quiz_check_then_act.ws",
    "sparse": EXAMPLES / "quiz_cousin_race.ws",
    "tasks alike": TASKS_ALIKE,
    "nested": dedent(NESTED),
    "sequential": "x = 1\ny = x + 1\n",
}


def bind(name: str) -> Elaborated:
    """One of the programs, bound."""
    given = PROGRAMS[name]
    return api.bind(api.parse(given) if isinstance(given, str) else given)


@cache
def document_of_program(name: str) -> Any:
    """The document of one of them, for all tests. Nobody may change it."""
    return document(bind(name))


@pytest.mark.parametrize("name", few(list(PROGRAMS), 3))
def test_all_forms_show_the_same_after_every_step(name, monkeypatch) -> None:
    """Places of tasks, steps, lost updates, reads, memory with what was written, the rule, the next steps, the end.

    On random runs to their ends, and back from there to the first state.
    """
    monkeypatch.setattr(stepper_plain, "WIDTH", WIDTH)
    trace, found = Trace(bind(name)), document_of_program(name)
    for seed in range(max(many(100), 3)):
        session, random = Session(trace), Random(seed)
        if not session.folded:
            session.fold()
        agree(session, found)
        while session.choices:
            session.choose(random.choice(session.choices).key)
            agree(session, found)
        while session.moves:
            session.back()
            agree(session, found)


def agree(session, found) -> None:
    """All forms show the same where a session stands."""
    shown = of_terminal(session)
    assert of_plain(session) == shown
    assert of_document(found, [move.step.task for move in session.moves]) == shown


def test_paths_on_which_tasks_have_read_something_else_have_views_of_their_own() -> None:
    """Of 28 states one can be reached so; the first view of each is that of the first path to it."""
    found = document_of_program("reads differ by path")
    size = len(found["states"])
    assert [view["state"] for view in found["views"][:size]] == list(range(size))
    (other,) = found["views"][size:]
    assert sorted(other["reads"]) != sorted(found["views"][other["state"]]["reads"])


def test_a_document_has_a_bounded_number_of_views(monkeypatch) -> None:
    """Beyond it, paths share the first view of their state; every step leads to some view."""
    whole = document_of_program("tasks alike")
    monkeypatch.setattr(sys.modules["wingspan.trace.document"], "OTHERS", 0)
    cut = document(api.parse(TASKS_ALIKE))
    assert len(cut["views"]) == len(cut["states"]) == len(whole["states"]) < len(whole["views"])
    for view in cut["views"]:
        assert all(onward is not None and onward < len(cut["views"]) for onward, _ in view["next"].values())
