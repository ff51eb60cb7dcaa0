"""A stepping session, whatever is pressed, agrees with `replay`; predictions are judged by what happens."""

from __future__ import annotations

from random import Random
from textwrap import dedent

import pytest

from proofs_tests.effort import few, many
from proofs_tests.places import EXAMPLES
from proofs_tests.trace.walks import OPEN, SMALL
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.explorer import replay
from wingspan.results.listing import listing
from wingspan.results.outcome import Outcome
from wingspan.semantics.reads import NONE
from wingspan.trace import Session, Trace

each_small = pytest.mark.parametrize("name", few([*SMALL, "spgemm_gustavson.ws"], 8))
MOVES = ("to_race", "to_result", "back", "back", "fold", "forward")


@pytest.fixture(scope="module")
def traces():
    """The states of an example, found once."""
    known: dict[str, Trace] = {}

    def trace(name: str) -> Trace:
        if name not in known:
            known[name] = Trace(EXAMPLES / name, **OPEN.get(name, {}))
        return known[name]

    return trace


def at_random(session: Session, random: Random, presses: int) -> None:
    """Press keys, most of them tasks; what cannot be done changes nothing."""
    for _ in range(presses):
        before = session.interleaving, session.left, session.state
        try:
            if session.choices and random.random() < 0.6:
                session.choose(random.choice(session.choices).key)
            else:
                getattr(session, random.choice(MOVES))()
        except InputError:
            assert (session.interleaving, session.left, session.state) == before


@each_small
def test_any_walk_is_the_replay_of_its_interleaving(traces, name) -> None:
    """Steps, memory, what each task stands at, how the run ends and what it computes."""
    random = Random(name)
    for _ in range(max(many(20), 3)):
        session = Session(traces(name))
        at_random(session, random, random.randrange(1, 60))
        if not session.folded:
            session.fold()
        tasks = [move.step.task for move in session.moves]
        run = replay(session.trace.machine, tasks, finish=False)
        steps = list(run)
        assert [(s.task, s.rule, s.footprint) for s, _ in session.steps] == [
            (s.task, s.rule, s.footprint) for s in steps
        ]
        assert run.mismatch is None
        assert session.end == ("" if run.end == "stopped" else run.end)
        if run.incident is not None:
            assert session.ending == run.incident.message
        if session.end != "fault":
            assert session.state == run.state
            assert session.node is not None
            waiting = {each.task for each in session.node.waiting}
            assert {choice.task for choice in session.choices} | waiting == run.choices.keys()
        if session.end == "finished":
            outcome = session.trace.machine.outcome(run.state)
            assert isinstance(outcome, Outcome) and session.ending == listing(outcome)


@each_small
def test_invisible_steps_one_by_one_lead_to_the_same_states(traces, name) -> None:
    """Forward through each of them, and back again, state by state."""
    session = Session(traces(name))
    if session.folded:
        session.fold()
    else:
        session.to_result()
    random, states = Random(1), [session.state]
    while session.choices and len(states) < 120:
        session.choose(random.choice(session.choices).key)
        states.append(session.state)
    assert len(list(session.steps)) == len(session.trace.begin) + len(states) - 1
    for number in reversed(range(len(states))):
        assert session.state == states[number]
        if number:
            session.back()
    for _ in session.trace.begin:
        session.back()
    assert session.state == session.trace.machine.initial()
    with pytest.raises(InputError, match="this is the first state"):
        session.back()
    for _ in session.trace.begin:
        session.forward()
    assert session.state == states[0]


@each_small
def test_every_race_and_result_can_be_run_to(traces, name) -> None:
    """To the nearest race, if there is one; to each result, going back to the start after each."""
    session = Session(traces(name))
    bound = api.bind(EXAMPLES / name, **OPEN.get(name, {}))
    verdict = api.explore(bound, strategy="graph").verdict
    if session.node is not None and not session.node.races:
        if verdict.races:
            session.to_race()
            assert session.node is not None and session.node.races
        else:
            with pytest.raises(InputError, match="no race lies ahead"):
                session.to_race()
    found = []
    for _ in verdict.results:
        session.go("-")
        if session.end != "finished":
            session.to_result()
        found.append(session.ending)
    assert sorted(found) == sorted(listing(result.outcome) for result in verdict.results)
    session.go("-")
    with pytest.raises(InputError, match="no other result"):
        session.to_result()


def test_seen_states_and_results_ahead_are_counted(traces) -> None:
    session = Session(traces("dependent.ws"))
    assert (session.ahead.states, session.ahead.seen, session.ahead.results, session.ahead.complete) == (32, 1, 2, True)
    session.go("1*3,2,1,2")
    assert (session.ahead.seen, session.ahead.results) == (7, 1)
    session.to_result()
    assert (session.end, session.ahead.results) == ("finished", 0)


def test_a_lost_update_is_told_on_the_way_that_loses_it(traces) -> None:
    """Not on the way that leads to the same state without one."""
    session = Session(traces("dependent.ws"))
    session.go("1*3,2,1,2")
    assert [move.lost is not None for move in session.moves] == [False] * 5 + [True]
    assert session.moves[-1].lost is not None
    assert session.moves[-1].lost.text == "overwrites step 5 with a value computed from step 4's read"
    session.go("1*4,2*2")
    assert not any(move.lost for move in session.moves)


@pytest.mark.parametrize("name", SMALL)
def test_a_replay_loses_the_updates_that_a_walk_loses(traces, name) -> None:
    """Its machine does not say when a statement ends, and need not."""
    semantics = api.semantics(traces(name).program)
    for seed in range(many(24)):
        random, session, reads = Random(f"{name} {seed}"), Session(traces(name)), NONE
        while session.choices:
            session.choose(random.choice(session.choices).key)
        told = []
        for step in replay(semantics, [move.step.task for move in session.moves], finish=False):
            if step.visible:
                reads, lost = reads.after_step(step)
                told.append(lost)
        assert told == [move.lost for move in session.moves]


@pytest.mark.parametrize(
    ("text", "rule", "value"),
    [
        ("Assign 0", True, True),
        ("assign 0", True, True),
        ("Assign 7", True, False),
        ("Assign", True, False),
        ("Call 0", False, True),
        ("Call", False, False),
    ],
)
def test_predictions_are_judged_by_the_step(traces, text, rule, value) -> None:
    """It is taken whatever was predicted, and each part counts."""
    session = Session(traces("dependent.ws"))
    session.predict()
    session.choose("1")
    assert (session.asked, session.interleaving) == ("1", "-")
    guess = session.answer(text)
    assert (guess.rule, guess.value) == (rule, value)
    assert (session.right, session.guesses, session.interleaving, session.asked) == (rule + value, 2, "1", None)


def test_locks_have_no_value_to_predict(traces) -> None:
    session = Session(traces("quiz_deadlock_two_locks.ws"))
    session.predict()
    session.choose("1")
    assert session.node is not None
    step = session.node.steps["1"]
    assert [touch.effect for touch in step.footprint] == ["acquire"]
    guess = session.answer(step.rule)
    assert guess.rule and guess.value


def test_an_interleaving_that_does_not_fit_changes_nothing(traces) -> None:
    session = Session(traces("dependent.ws"))
    session.go("1,2")
    with pytest.raises(InputError, match=r"step 3 names task 1\.1"):
        session.go("2,2,1.1")
    assert session.interleaving == "1,2"


def test_what_cannot_be_done_says_what_can(traces) -> None:
    session = Session(traces("dependent.ws"))
    for text in ("3", "", "1.2", "x", "-1", "１"):
        with pytest.raises(InputError, match=r"choose 1, 2"):
            session.choose(text)
    with pytest.raises(InputError, match="several tasks can step"):
        session.forward()
    with pytest.raises(InputError, match="this is the first state"):
        session.back()
    with pytest.raises(InputError, match="no step is asked about"):
        session.answer("Assign 0")
    with pytest.raises(InputError, match=r"step 2 names task 3, which cannot step; tasks that can: 1, 2"):
        session.go("1,3")
    session.predict()
    session.choose("2")
    with pytest.raises(InputError, match="write the rule and the value"):
        session.answer("  ")
    session.back()
    assert session.asked is None
    session.predict()
    session.to_result()
    with pytest.raises(InputError, match="the run has ended"):
        session.forward()
    with pytest.raises(InputError, match="go back"):
        session.choose("1")


NESTED = """
    a = cpu(:a, 2)
    b = cpu(:b, 2, a)
    c = Tensor(Dense(Atomic(0)), 1)
    c .= 0
    for i = parallel(1:2, a)
        for j = parallel(1:2, b)
            c[1] += i * j
        end
    end
    return c
"""


def test_tasks_of_tasks_are_chosen_by_number_or_path() -> None:
    session = Session(Trace(api.parse(dedent(NESTED))))
    assert [(choice.key, choice.task) for choice in session.choices] == [
        ("1", "1.1"), ("2", "1.2"), ("3", "2.1"), ("4", "2.2"),
    ]  # fmt: skip
    session.choose("3")
    session.choose("1.2")
    assert session.interleaving == "2.1,1.2"


SERIAL = """
A = Tensor(SparseList(Element(0)), [0, 5])
s = Tensor(Element(0))
s .= 0
for i = _
    s[] += A[i]
end
return s
"""


def test_a_serial_program_is_walked_through_from_its_first_step() -> None:
    """There is nothing to choose; memory follows each step; folded, the run has ended at once."""
    session = Session(Trace(api.parse(SERIAL)))
    assert (session.state, session.interleaving) == (session.trace.machine.initial(), "-")
    rules, sums = [], []
    while session.choices:
        assert ([choice.key for choice in session.choices], session.end) == (["n"], "")
        session.forward()
        assert session.last is not None and session.last.next == session.state
        rules.append(session.last.rule)
        sums += [value for cell, value in session.state.heap.items() if cell.tensor == "s" and cell.buffer == "val"]
    assert (session.end, set(sums)) == ("finished", {0, 5})
    assert {"Declare", "Unfurl", "Child", "Payload", "Access", "Assign"} <= set(rules)
    session.back()
    session.fold()
    assert (session.end, session.choices) == ("finished", [])


def test_keys_lead_ahead_from_before_the_first_step() -> None:
    session = Session(Trace(api.parse(SERIAL)))
    session.to_result()
    assert (session.end, session.left) == ("finished", 0)
    with pytest.raises(InputError, match="no other result lies ahead"):
        session.to_result()
    again = Session(Trace(api.parse(SERIAL)))
    again.go("-")
    assert again.end == "finished"


def test_an_empty_program_steps_nowhere() -> None:
    session = Session(Trace(api.parse("skip")))
    assert (session.end, list(session.steps)) == ("finished", [])
    assert session.state == session.trace.nodes[0].state
