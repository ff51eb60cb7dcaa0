"""States of both machines, terms and codes arrive in other processes as they were."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import few, many
from proofs_tests.exploring import machine_of
from proofs_tests.places import ROOT
from wingspan import api
from wingspan.base.errors import WingspanError
from wingspan.buffers import procedures
from wingspan.explorer.machine import Blocked, Machine, Step
from wingspan.explorer.states import States
from wingspan.testing.programs import programs

COPIES = """
d = cpu(:t, 3)
T = Tensor(Merge(d, Dense(Isolate(SparseDict(Element(0.0))))), 2, 3)
W = Tensor(SparseByteMap(Element(0.0)), 2)
T .= 0.0
for i = parallel(1:3, d, dynamic_schedule(1))
    W .= 0.0
    for j = 1:2
        W[j] += i
    end
    for j = 1:2
        T[j, i] += W[j]
    end
end
return T
"""
"""Copies of levels by thread, by fiber and by iteration: registers hold instances of all of them."""

OVERFLOWS = """
a = Tensor(Dense(Element(0.0)), 2)
b = Tensor(Dense(Element(0.0)), 1)
b .= 0.0
b[1] = 1.0e308
a .= 0.0
for i = parallel(1:2, cpu(:t, 2))
    a[i] += b[1] * 10.0 - b[1] * 10.0
end
return a
"""
"""In doubles infinity less infinity."""


def sent(what: Any) -> Any:
    return pickle.loads(pickle.dumps(what, pickle.HIGHEST_PROTOCOL))


def choice(machine: Machine[Any], state: Any, task: str) -> tuple[Step[Any] | Blocked | str, Any]:
    """The next step of a task, with its place in the program; of a fault the message."""
    found = machine.step(state, task)
    if isinstance(found, Step) and isinstance(found.next, WingspanError):
        return str(found.next), found.span
    return found, found.span


def assert_same(machine: Machine[Any], state: Any) -> None:
    """A state that was sent is the same, and the same can happen in it."""
    there = sent(state)
    assert there == state
    assert hash(there) == hash(state)
    assert list(machine.tasks(there)) == list(machine.tasks(state))
    for task in machine.tasks(state):
        assert choice(machine, there, task) == choice(machine, state, task)


@settings(max_examples=many(60), derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.sampled_from(api.MACHINES), st.randoms(use_true_random=False))
def test_states_of_random_runs_are_the_same_after_they_were_sent(text: str, name: str, rng: Any) -> None:
    """After each step of a run that is picked at random, up to 300 of them; each goes on from what was sent."""
    try:
        machine = machine_of(text, name)
    except WingspanError:
        return
    state: Any = machine.initial()
    for _ in range(300):
        assert_same(machine, state)
        steps = [machine.step(state, task) for task in machine.tasks(state)]
        able = [s.next for s in steps if isinstance(s, Step) and not isinstance(s.next, WingspanError)]
        if not able:
            break
        state = sent(rng.choice(able))


def all_states(machine: Machine[Any]) -> set[Any]:
    """The states that a search by graph comes to."""
    states = States(machine)
    states.search(states.flood)
    return {states.state(node) for node in range(states.nodes)}


ELSEWHERE = """
import pickle, sys
from wingspan import api
from wingspan.explorer.states import States

machine = api.machine_of(api.bind(api.parse(sys.argv[1])), sys.argv[2])
state = machine.initial()
while tasks := machine.tasks(state):
    state = machine.step(state, tasks[-1]).next
states = States(machine)
states.search(states.flood)
sys.stdout.buffer.write(pickle.dumps({states.state(node) for node in range(states.nodes)}))
"""
"""A run in which the last tasks go first, so that instances come in another order; then the states of a search."""


@pytest.mark.parametrize("name", few(api.MACHINES, 1))
def test_states_of_another_process_are_those_of_this_one(name: str) -> None:
    """Strings have other hashes there, and instances other numbers."""
    made = subprocess.run([sys.executable, "-c", ELSEWHERE, COPIES, name], cwd=ROOT, capture_output=True, check=True)
    here, there = all_states(machine_of(COPIES, name)), pickle.loads(made.stdout)
    assert len(here) > 200
    assert here == there


def test_a_number_that_is_none_equals_itself_after_it_was_sent() -> None:
    machine = machine_of(OVERFLOWS, "native")
    found = all_states(machine)
    assert any(value != value for state in found for value in state.heap.values())
    for state in found:
        assert_same(machine, state)


def test_a_code_that_was_sent_is_the_one_that_is_there() -> None:
    bound = api.bind(api.parse(COPIES))
    tower = bound.towers["T"]
    for code in (
        procedures.unwrap(tower),
        procedures.whole_tensor_code(tower, "declare"),
        procedures.leave(tower, 2, True, "+"),
    ):
        assert sent(code) is code


@pytest.mark.parametrize("name", few(api.MACHINES, 1))
def test_states_that_are_sent_together_share_what_they_have_in_common(name: str) -> None:
    """So that they take a thousand bytes each or so."""
    found = list(all_states(machine_of(COPIES, name)))
    assert len(pickle.dumps(found, pickle.HIGHEST_PROTOCOL)) < 1300 * len(found)
