"""No strategy misses a state in which a property fails, or holds: the oracle takes every step of all tasks."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from random import Random
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import due, many
from proofs_tests.explorer.test_explored_programs import SMALL
from wingspan import api
from wingspan.api.properties import ReadableProperty, observed_names, properties_of
from wingspan.base.errors import Fault, WingspanError
from wingspan.elaborate import Elaborated
from wingspan.explorer import Step
from wingspan.explorer.local import offers_local_steps
from wingspan.explorer.properties import Kind, Property
from wingspan.explorer.states import States
from wingspan.testing.programs import programs
from wingspan.testing.templates import meetings

MOST = 3_000
WAYS: dict[str, dict[str, Any]] = {
    "graph": {"strategy": "graph"},
    "dpor": {"strategy": "dpor"},
    "symmetry": {"strategy": "graph", "symmetry": True},
    "bounded": {"strategy": "bounded", "preemptions": 99},
}


def all_states(bound: Elaborated, name: str = "semantics") -> list[Any] | None:
    """All states of a machine, in each of which any task takes any next step; None if they are too many."""
    machine: Any = api.machine_of(bound, name)
    found = {machine.initial(): None}
    queue = deque(found)
    while queue:
        state = queue.popleft()
        for task in machine.tasks(state):
            step = machine.step(state, task)
            if isinstance(step, Step) and not isinstance(step.next, Fault) and step.next not in found:
                found[step.next] = None
                queue.append(step.next)
        if len(found) > MOST:
            return None
    return list(found)


def read_everywhere(asked: Property, states: list[Any]) -> set[bool]:
    """The values of a property in these states."""
    assert isinstance(asked, ReadableProperty)
    return {value for value in map(asked.holds, states) if value is not None}


def draw_condition(bound: Elaborated, random: Random) -> str:
    """A condition on some elements of one or two tensors."""

    def element() -> str:
        name = random.choice(sorted(bound.towers))
        shape = bound.towers[name].shape
        return f"{name}[{', '.join(str(random.randint(1, max(extent, 1))) for extent in shape)}]"

    sides = element(), random.choice([element(), str(random.randint(0, 3))])
    return f"{sides[0]} {random.choice(['==', '!=', '<=', '>'])} {sides[1]}"


def compare(bound: Elaborated, text: str, states: list[Any], seen: Counter[str], machine: str = "semantics") -> None:
    """All strategies give the answers that all states give; an interleaving leads to a state that shows it."""
    ask: dict[Kind, list[str]] = {"always": [text], "reach": [text], "ends": []}
    asked = properties_of(bound, ask, machine)
    values = read_everywhere(asked[0], states)
    right = (
        "undefined" if not values else "violated" if False in values else "holds",
        "undefined" if not values else "reached" if True in values else "unreached",
    )
    seen.update(right)
    for name, options in WAYS.items():
        found = api.explore(bound, always=text, reach=text, machine=machine, **options).verdict
        assert found.complete, name
        assert tuple(report.answer for report in found.properties) == right, (name, text)
        for report, shows in zip(found.properties, (False, True), strict=True):
            if report.interleaving is not None:
                followed = api.replay(bound, report.interleaving, watch=text, machine=machine)
                followed.finish = False
                list(followed.steps)
                assert followed.mismatch is None
                assert asked[0].holds(followed.state) is shows, (name, text, report.interleaving)


@pytest.mark.parametrize("machine", api.MACHINES)
def test_on_random_programs_all_strategies_give_the_answers_of_all_states(machine: str) -> None:
    """Two conditions each."""
    seen: Counter[str] = Counter()

    @settings(max_examples=many(192), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.one_of(meetings(), programs(replace(SMALL, spawning=1))), st.integers(0, 2**32))
    def compare_one(text: str, seed: int) -> None:
        try:
            bound = api.bind(api.parse(text))
            states = all_states(bound, machine)
        except WingspanError:
            return
        if states is None or not any(all(tower.shape) for tower in bound.towers.values()):
            return
        random = Random(seed)
        for _ in range(2):
            condition = draw_condition(bound, random)
            try:
                read_everywhere(properties_of(bound, {"always": [condition]}, machine)[0], states)
            except WingspanError:  # of no use in this program: a pair, a mistake, or in no cell of a plan
                continue
            compare(bound, condition, states, seen, machine)

    compare_one()
    least = {"violated": 60, "holds": 60, "reached": 60, "unreached": 60}
    assert all(seen[name] >= due(number) for name, number in least.items()), seen


PROGRAMS = {
    "two independent writes": (
        """
        a = Tensor(Dense(Element(0)), 2)
        a .= 0
        for i = parallel(_)
            a[i] = i
        end
        """,
        ["a[1] == 1 && a[2] == 0", "a[1] == 0 && a[2] == 2", "a[2] == 1"],
    ),
    "a serial program": (
        """
        x = 1
        a = Tensor(Dense(Element(0)), 2)
        a .= 0
        for i = 1:2
            x = x * 3
            a[i] = x
        end
        x = 0
        """,
        ["x == 3", "x == 9 && a[2] == 0", "i == 2 && a[1] == 3", "x == 2"],
    ),
    "a sparse tensor that is frozen, and declared anew": (
        """
        a = Tensor(SparseList(Element(0)), 2)
        b = Tensor(Dense(Element(0)), 2)
        b .= 0
        for k = 1:2
            a .= 0
            a[k] = 5
            for i = _
                b[i] += a[i]
            end
        end
        """,
        ["a[2] == 5", "a[1] == 5 && b[1] == 0", "a[1] == 5 && b[1] == 5", "a[2] == 5 && b[2] == 10"],
    ),
    "a variable that tasks share": (
        """
        x = 0
        a = Tensor(Dense(Element(0)), 2)
        a .= 0
        for i = parallel(_)
            x = i
            a[i] = 1
        end
        """,
        ["x == 1 && a[2] == 1", "x == 2 && a[1] == 0", "x == 0 && a[1] == 1"],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_strategies_give_the_answers_of_all_states(name: str) -> None:
    """On programs in which nobody but a property observes most steps."""
    text, conditions = PROGRAMS[name]
    bound = api.bind(api.parse(dedent(text)))
    states = all_states(bound)
    assert states is not None
    for condition in conditions:
        compare(bound, condition, states, Counter())


def test_a_serial_plan_shows_every_value_that_it_stores() -> None:
    """Nobody but a property observes its steps; also where a declaration is under way."""
    text = """
    a = Tensor(Dense(Element(7)), 3)
    a .= 7
    for i = 1:3
        a[i] = i
    end
    """
    bound = api.bind(api.parse(dedent(text)))
    states = all_states(bound, "native")
    assert states is not None
    for condition in ("a[1] == 1 && a[2] == 7", "a[2] == 2 && a[3] == 7", "all(a[i] == 7)", "any(a[i] == 0)"):
        compare(bound, condition, states, Counter(), "native")


def test_tables_and_the_machine_itself_visit_the_same_states() -> None:
    """Also where a property makes more steps visible, node by node."""
    bound = api.bind(api.parse(dedent(PROGRAMS["two independent writes"][0])))
    asked = properties_of(bound, {"always": ["a[1] <= a[2]"]}, "semantics")
    shown = []
    for tabled in (True, False):
        machine: Any = api.machine_of(bound, "semantics", observed_names(asked))
        states = States(machine)
        states.properties = asked
        assert offers_local_steps(machine)
        states.tabled = tabled
        states.search(states.flood)
        shown.append((states.nodes, states.shown, [states.moves(node) for node in range(states.nodes)]))
    assert shown[0] == shown[1]
    assert shown[0][1] == {0: shown[0][1][0]}


MANY_INCREMENTS = """
c = Tensor(Dense(Element(0)), 1)
c .= 0
for i = parallel(1:5, cpu(:t, 5))
    c[1] += 1
end
return c
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_nodes_that_are_found_in_batches_are_checked(threads: int) -> None:
    """As when the machine is asked for each step: the same nodes show each property, several thousand in all."""
    bound = api.bind(api.parse(MANY_INCREMENTS))
    asked = properties_of(bound, {"always": ["c[1] < 4"], "reach": ["c[1] == 2"]}, "native")
    shown = []
    for tabled in (True, False):
        machine: Any = api.machine_of(bound, "native", observed_names(asked))
        states = States(machine)
        states.properties, states.tabled, states.threads = asked, tabled, threads
        states.search(states.flood)
        shown.append(states.shown)
    assert shown[0] == shown[1]
    assert min(map(len, shown[0].values())) > 10
