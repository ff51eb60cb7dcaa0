"""Reports as JSON say what the text says, in full."""

from __future__ import annotations

import json
from fractions import Fraction

from proofs_tests.views.reports import OVERFLOW, RIGHT, STUCK, action, outcome, race, report, result, told
from wingspan.lang.algebra import exactly
from wingspan.views import json as as_json
from wingspan.views import terminal


def test_json_has_exactly_these_keys():
    made = as_json.explore(report(result(RIGHT, 3), verdict="race", races=(race(),)).verdict)
    assert (
        " ".join(made) == "verdict complete stopped_by strategy reason remark machine processes symmetry told_apart "
        "executions interleavings states steps seconds left_out outcomes results races faults deadlocks properties"
    )
    (found,) = made["races"]
    assert " ".join(found) == "tensor level level_name kind cell interleaving first second"
    assert found["first"] == {
        "task": "1", "line": 5, "column": 5, "rule": "Assign", "operation": "read", "position": 1, "index": None
    }  # fmt: skip
    counts = {"interleavings": 3, "executions": 0, "probability": None}
    assert made["results"] == [{"values": {"c": [6, 0, 0]}, **counts, "interleaving": "1*2,2*2"}]
    assert json.loads(json.dumps(made)) == made


FAULT = {
    "topic": "fault", "message": "overflow", "task": "2", "rule": "Call", "line": 5, "column": 5, "interleaving": "1,2"
}  # fmt: skip


def test_json_tells_tasks_and_places_of_faults_and_deadlocks():
    made = as_json.explore(report(verdict="fault", faults=(OVERFLOW,), deadlocks=(STUCK,)).verdict)
    assert made["faults"] == [FAULT]
    waiting = {"task": "0", "waits_for": "lock a", "holder": "0", "line": None, "column": None}
    assert made["deadlocks"] == [
        {"message": STUCK.message, "waiting": [waiting], "line": None, "column": None, "interleaving": "-"}
    ]


def test_json_lists_what_the_text_leaves_out():
    results = [result(outcome(k, 0, 0), 1) for k in range(12)]
    made = as_json.explore(report(*results, verdict="race", races=(race(),) * 10).verdict)
    assert (made["outcomes"], len(made["results"]), len(made["races"])) == (12, 12, 10)


def test_rationals_are_doubles_in_json_and_in_text_unless_they_are_asked_for():
    third = outcome(Fraction(1, 3))
    made = report(result(third, 2), expected=third)
    assert as_json.explore(made.verdict)["results"][0]["values"] == {"c": [1 / 3]}
    assert "c = [0.3333333333333333]" in terminal.explore(made)
    with exactly():
        assert "c = [1/3]" in terminal.explore(made)


def test_a_touch_shows_the_root_as_0_and_its_value_as_a_number():
    actions = (action("0", "write", Fraction(1, 4)),)
    made = told(*actions, given=1, end="fault", incident=OVERFLOW, outcome=None)
    assert as_json.replay(made) == {
        "steps": [
            {
                "task": "0", "rule": "Assign", "line": 5, "column": 5, "visible": True, "indices": {},
                "lost": None,
                "touches": [
                    {
                        "tensor": "c", "level": 1, "level_name": "Element", "buffer": "val", "cell": "c.val[1]",
                        "operation": "write", "position": 1, "index": None, "value": 0.25,
                    }
                ],
            }
        ],
        "mismatch": None, "end": "fault", "message": "overflow", "incident": FAULT, "values": None,
    }  # fmt: skip
