"""The steps that a replay prints, and those of a counterexample."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proofs_tests.views.reports import OVERFLOW, RACED, TREE, action, told
from wingspan.explorer.interleaving import replay
from wingspan.explorer.machine import CellAccess
from wingspan.results.words import describe_access
from wingspan.semantics.reads import LostUpdate
from wingspan.testing.litmus import Litmus, Load, Lock, Store
from wingspan.views import steps
from wingspan.views.view import Action, Invocation, replay_report


def followed(*actions: Action, given: int, every: bool = False) -> str:
    return steps.replay(told(*actions, given=given), every)


def test_visible_steps_are_numbered_and_each_is_in_the_lane_of_its_task():
    actions = [
        action("0"),
        action("1", "read"),
        action("2"),
        action("2", "write", 7),
        action("1", "write", 1),
        action("0"),
    ]
    lines = followed(*actions, given=0).splitlines()[2:8]
    assert [line[2:12].rstrip() for line in lines] == ["·  0", "1  │ 1", "·  │ │ 2", "2  │ │ 2", "3  │ 1", "·  0"]
    assert lines[3].endswith("Assign  writes c.val[1] = 7  5:5 c[1] += i")


def test_a_conflict_at_the_end_of_the_given_steps_is_pointed_out():
    text = followed(action("1", "read"), action("2", "write"), action("1", "write"), given=2)
    assert "── steps 1 and 2 conflict: both touch c.val[1], at least one writes it\n" in text
    assert text.index("the given interleaving ends here") < text.index("  3  1")


@pytest.mark.parametrize(
    "pair",
    [
        [action("1", "read"), action("2", "read")],
        [action("1", "atomic"), action("2", "atomic")],
        [action("1", "read"), action("1", "write")],
    ],
    ids=["reads", "atomic", "one task"],
)
def test_steps_that_do_not_race_are_not_called_a_conflict(pair):
    assert "conflict" not in followed(*pair, given=2)


def test_steps_of_tasks_that_were_not_there_together_do_not_race():
    """The second of the two tasks began when the first had ended."""
    run = told(action("1", "write"), action("2", "write"), given=2)
    assert run.racing is not None
    assert replace(run, places=({"1": RACED}, {"2": RACED}, {})).racing is None


def test_invisible_steps_in_a_row_share_a_line_unless_all_are_asked_for():
    run = [action("1"), action("1"), action("1", "read"), action("1"), action("2"), action("2"), action("0")]
    lines = followed(*run, given=0).splitlines()[2:7]
    assert [line.split()[0] for line in lines] == ["·", "1", "·", "·", "·"]
    assert [line.split("  ")[-1] for line in (lines[0], lines[3])] == ["Assign … Assign: 2 invisible steps"] * 2
    assert len(followed(*run, given=0, every=True).splitlines()) == len(followed(*run, given=0).splitlines()) + 2


def test_loop_indices_in_force_are_told():
    run = replace(action("1", "read"), indices=(("i", 2), ("j", 1)))
    assert followed(run, given=0).splitlines()[2].endswith("5:5 c[1] += i (i = 2, j = 1)")


def test_more_tasks_than_lanes_share_one():
    text = followed(*(action(str(k), "read") for k in range(1, 30)), given=29)
    assert "│" not in text and "29  29  Assign" in text


def test_a_deadlock_says_who_waits_for_what():
    tasks = (Lock("a"), Load("x"), Lock("b")), (Lock("b"), Store("x"), Lock("a"))
    text = steps.replay(replay_report(replay(Litmus(*tasks), "1*2,2"), "1*2,2", TREE, Invocation("demo.ws")))
    assert "error[deadlock]: task 1 waits for lock b, held by task 2; task 2 waits for lock a, held by task 1" in text
    assert "finished" not in text and "result" not in text
    assert text.endswith("\n  see  wingspan replay demo.ws --interleaving '1*2,2*2'")


def test_a_lock_is_taken_and_given_back():
    touches = [CellAccess("c.lock[1]", "acquire", "c", value="1.2"), CellAccess("c.lock[1]", "release", "c", value=0)]
    assert [describe_access(touch) for touch in touches] == ["takes c.lock[1]", "gives back c.lock[1]"]


def shown(*actions: Action, given: int, **changes) -> list[str]:
    """The lines that a report on an exploration has of a counterexample."""
    return list(steps.counterexample(told(*actions, given=given, **changes), ["c"]))


def test_a_counterexample_ends_with_the_last_update_that_it_loses():
    lost = LostUpdate("c.val[1]", "2", 0, 2, 1)
    last = replace(action("1", "write", 1), lost=lost)
    lines = shown(action("1", "read"), action("2", "write", 2), last, action("2", "read"), given=4)
    assert [line[:12].rstrip() for line in lines[1:4]] == ["  1  1    re", "  2  │ 2  wr", "  3  1 │  wr"]
    assert lines[4:] == [
        "     ── step 3 overwrites step 2 with a value computed from step 1's read",
        "  … and 1 step more",
    ]


def test_a_long_counterexample_is_shown_by_its_last_steps():
    lines = shown(*(action("1", "write", k) for k in range(30)), given=30, end="fault", incident=OVERFLOW, outcome=None)
    assert lines[0].endswith("ends in a fault: overflow")
    assert lines[1] == "  … after 18 steps"
    assert [line.split()[0] for line in lines[2:]] == [str(number) for number in range(19, 31)]


def test_invisible_steps_are_left_out_of_a_counterexample():
    lines = shown(action("0"), action("1", "read"), action("1"), action("2", "write"), action("1", "write"), given=2)
    assert lines[0].endswith("leads to a race: steps 1 and 2 conflict")
    assert [line.split()[0] for line in lines[1:]] == ["1", "2"]
