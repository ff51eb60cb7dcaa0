"""The rules that a program fires, and their numbers: counted against the machine, state by state."""

from __future__ import annotations

from collections import Counter

import pytest

from proofs_tests import rule_coverage
from proofs_tests.places import EXAMPLES
from wingspan import api
from wingspan.base.errors import Fault
from wingspan.explorer.machine import Step
from wingspan.explorer.settle import settle
from wingspan.semantics.rules import ALL
from wingspan.trace import Trace
from wingspan.trace.coverage import coverage

FAULTY = """
c = Tensor(Dense(Element(0)), 1)
c .= 0
for i = 1:2
    c[i] += 1
end
"""
PROGRAMS = ("dependent.ws", "quiz_node_race.ws", "quiz_variable_race.ws", "quiz_last_writer_wins.ws")


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_are_those_of_every_step_of_every_state(name: str) -> None:
    """By a walk of its own through the states of the machine."""
    bound = api.bind(EXAMPLES / name)
    machine = api.semantics(bound)
    begun = settle(machine, machine.initial())
    states, steps = [begun.state], [*begun.taken]
    for state in states:
        for task in machine.tasks(state):
            step = machine.step(state, task)
            assert isinstance(step, Step) and not isinstance(step.next, Fault)
            after = settle(machine, step.next, task)
            steps += [step, *after.taken]
            states += [after.state] if after.state not in states else []
    fired: Counter[str] = Counter()
    for step in steps:
        fired[step.rule] += 1
        fired.update("ParLeft" if child == "1" else "ParRight" for child in step.task.split(".") if child)
    made = coverage(Trace(bound), 1_000)
    assert made.all and made.states == len(states)
    assert {rule: times for rule, times in made.fired.items() if times} == dict(fired)


def test_a_step_that_faults_fires_no_rule() -> None:
    made = coverage(Trace(api.parse(FAULTY)), 10)
    assert made.fired["Assign"] == 2 and made.fired["Declare"] == 1


def test_of_many_states_a_run_to_its_end_is_among_those_counted() -> None:
    made = coverage(Trace(EXAMPLES / "dependent.ws"), 12)
    assert (made.states, made.all) == (12, False)
    assert made.fired["Join"] == 1


def test_every_rule_of_the_figure_counts_once() -> None:
    made = coverage(Trace(EXAMPLES / "dependent.ws"), 1_000)
    assert made.figure == sum(1 for name in rule_coverage.FIGURE if made.fired[name])
    assert set(made.fired) == set(ALL)


def test_the_command_prints_all_that_is_fired_and_names_the_rest(command) -> None:
    done = command("explore", str(EXAMPLES / "dependent.ws"), "--coverage")
    text = done.out.partition("coverage: ")[2]
    assert text.startswith("15 of the figure's 24 rules, from all 32 states; in so many steps:\n")
    assert max(map(len, text.splitlines())) <= 80
    fired, _, never = text.partition("never:")
    made = coverage(Trace(EXAMPLES / "dependent.ws"), 1_000).fired
    shown = dict(zip(*[iter(fired.split("steps:")[1].split())] * 2, strict=True))
    assert shown == {name: str(times) for name, times in made.items() if times}
    assert never.replace(",", "").split() == [n for n, times in made.items() if not times and ALL[n].figure]
    as_json = command("explore", str(EXAMPLES / "dependent.ws"), "--coverage", "--json").json["coverage"]
    assert as_json == {"fired": made, "states": 32, "all": True}
    assert command("explore", str(EXAMPLES / "dependent.ws"), "--coverage", "--machine", "native").status == 2
