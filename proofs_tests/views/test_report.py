"""What a report says follows from the verdict, and it claims no more than the verdict does."""

from __future__ import annotations

import io
import json
import re
import shlex
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from wingspan import api
from wingspan.errors import Span
from wingspan.explorer.incident import Deadlock, FaultReport
from wingspan.explorer.interleaving import replay
from wingspan.explorer.machine import Blocked, Effect, Touch
from wingspan.explorer.verdict import VERDICTS, AccessReport, Race, Result, Verdict
from wingspan.lang.algebra import exactly
from wingspan.outcome import Outcome
from wingspan.testing.litmus import Litmus, Load, Lock, Store
from wingspan.trace.reads import Lost
from wingspan.views import json as as_json
from wingspan.views import steps, terminal
from wingspan.views.paint import painted, spinner
from wingspan.views.values import differences, listing, listings
from wingspan.views.view import Action, ExploreReport, Invocation, ReplayReport, explored, replayed

TEXT = """\
c = Tensor(Dense(Element(0)), 3)
x = 0
c .= 0
for i = parallel(1:3)
    c[1] += i
    x = x + i
    c[1] += i
end
return c
"""
PROGRAM = api.bind(api.parse(TEXT, "demo.ws"))
TREE = PROGRAM.plain
(SOURCE,) = {node.span.source for node in TREE.walk() if node.span}
RACED = Span(SOURCE, 5, 5, 5, 14)


def outcome(*values: int | Fraction) -> Outcome:
    return Outcome((("c", (len(values),), values),))


RIGHT = outcome(6, 0, 0)


def result(values: Outcome, n: int | None, interleaving: str = "1*2,2*2", **more: Any) -> Result:
    return Result(values, n, interleaving, **more)


def access(task: str, operation: str, span: Span | None = RACED, index: int | None = None) -> AccessReport:
    return AccessReport(task, "Assign", operation, 1, index, span, (("i", int(task[-1])), ("s1", 1)))


OVERFLOW = FaultReport("overflow", "2", "Call", RACED, (("i", 3), ("s1", 1)), "1,2")
STUCK = Deadlock((Blocked("", "lock a", ""),), "-")


def race(**changes) -> Race:
    first, second = access("1", "read"), access("2", "write")
    return replace(Race("c", 1, "Element", "val", "node", "c.val[1]", first, second, "1,2"), **changes)


def report(*results: Result, expected: Outcome | None = RIGHT, **changes: Any) -> ExploreReport:
    """A report on a complete search that found these results, all interleavings counted, with some of it changed."""
    total = sum(found.interleavings or 0 for found in results)
    made = Verdict("safe", True, None, "graph", "semantics", 3, total, 20, 30, 0.5, results, (), (), ())
    return explored(api.Exploration(replace(made, **changes), PROGRAM, expected), Invocation("demo.ws"))


def cut_short(*results: Result, **changes) -> ExploreReport:
    """The same of a search that was stopped."""
    verdict: dict[str, Any] = {
        "verdict": "incomplete",
        "complete": False,
        "stopped_by": "max-states",
        "interleavings": None,
    }
    return report(*results, **(verdict | changes))


# ------------------------------------------------------------------------------------------------- what may be claimed


def test_safe_says_how_far_the_values_can_be_trusted():
    text = terminal.explore(report(result(RIGHT, 70)))
    assert text.startswith("safe  demo.ws: all 70 interleavings give the sequential result\n")
    assert "exact: 64-bit integers and rationals, so results never differ merely by rounding" in text
    assert "search  complete: 20 states, 30 steps, 3 executions, in 0.50 s" in text


def test_one_interleaving_is_not_called_all():
    assert "the only interleaving gives the sequential result" in terminal.explore(report(result(RIGHT, 1)))


def test_a_sequential_result_that_is_a_fault_is_not_agreed_with():
    text = terminal.explore(report(result(RIGHT, 70), expected=None))
    assert "give the sequential result" not in text
    assert "the sequential result is a fault, so there is nothing to compare it with" in text


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("max-states", "--max-states"),
        ("max-seconds", "--max-seconds"),
        ("runs", "--runs"),
        ("preemptions", "--preemptions"),
        ("max-memory", "--max-memory"),
        ("interrupt", "Ctrl-C"),
    ],
)
def test_a_search_cut_short_is_never_called_safe(bound, said):
    text = terminal.explore(cut_short(result(RIGHT, None), stopped_by=bound))
    assert text.startswith("incomplete  demo.ws: ")
    assert "proves nothing" in text and "so far" in text
    assert f"stopped by {said}, so there may be more to find: 20 states" in text
    assert "safe" not in text and "complete:" not in text and "interleavings give" not in text


def test_what_a_search_cut_short_has_found_is_reported_without_shares():
    text = terminal.explore(
        cut_short(result(RIGHT, None), result(outcome(1, 0, 0), None), verdict="race", races=(race(),))
    )
    assert "results: 2 so far; they differ in c" in text
    assert "%" not in text and "from 0 interleavings" not in text
    assert "stopped by --max-states, so there may be more to find" in text


def test_wrong_shows_the_sequential_result_and_where_it_differs():
    text = terminal.explore(report(result(outcome(6, 1, 0), 12), verdict="wrong"))
    assert text.startswith("wrong  demo.ws: all 12 interleavings give one result, which is not the sequential result\n")
    assert "c = [6, 1, 0]  differs from the sequential result: c[2] is 1, not 0" in text
    assert "serial  c = [6, 0, 0]" in text


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_leads_its_report(verdict):
    text = terminal.explore(report(result(RIGHT, 3), verdict=verdict, races=(race(),)))
    assert text.startswith(f"{verdict}  demo.ws: ")


# --------------------------------------------------------------------------------------------------------- the results


def test_results_come_by_share_and_only_wrong_ones_with_a_command():
    text = terminal.explore(
        report(
            result(outcome(3, 0, 0), 15, "1,2*2,1", probability=0.25),
            result(RIGHT, 55, "1*2,2*2", probability=0.75),
            verdict="race",
            races=(race(),),
        )
    )
    table = text[text.index("results:") :].splitlines()
    assert table[0] == "results: 2, from 70 interleavings; they differ in c"
    assert (
        table[2].split("  ")[-1] == "the sequential result"
        and "78.6 %  75.0 %             55  c = [6, 0, 0]" in table[2]
    )
    assert (
        "21.4 %  25.0 %             15  c = [3, 0, 0]  differs from the sequential result: c[1] is 3, not 6" in table[3]
    )
    assert table[4].strip() == "see  wingspan replay demo.ws --interleaving '1,2*2,1'"
    assert "'1*2,2*2'" not in text


def test_many_results_are_cut_to_eight():
    results = [result(outcome(k, 0, 0), 100 - k) for k in range(12)]
    text = terminal.explore(report(*results, verdict="order-dependent"))
    assert "no race, but all 1 134 interleavings give 12 results" in text
    assert "c = [7, 0, 0]" in text and "c = [8, 0, 0]" not in text
    assert "and 4 more results: --json lists them all" in text


def test_interleavings_without_a_result_are_accounted_for():
    found = result(RIGHT, 30, probability=0.6)
    text = terminal.explore(report(found, verdict="fault", interleavings=40, faults=(OVERFLOW,)))
    assert re.search(r"25\.0 %  40\.0 % +10  none, but a fault$", text, re.MULTILINE)


@pytest.mark.parametrize(("strategy", "unit"), [("dpor", "traces"), ("random", "runs"), ("pct", "runs")])
def test_where_interleavings_are_not_counted_traces_or_runs_are(strategy: str, unit: str) -> None:
    found = [result(outcome(3, 0, 0), None, executions=1), result(RIGHT, None, executions=2)]
    changes: dict[str, Any] = {"interleavings": None, "strategy": strategy, "verdict": "fault", "executions": 4}
    changes["faults"] = (OVERFLOW,)
    text = terminal.explore(report(*found, **changes))
    assert re.search(rf"share  {unit}  result", text)
    assert re.search(r"50\.0 % +2  c = \[6, 0, 0\] +the sequential result\n +25\.0 % +1  c = \[3", text)
    assert re.search(r"25\.0 % +1  none, but a fault$", text, re.MULTILINE)
    assert f"4 {unit}, in 0.50 s (strategy {strategy}; machine semantics)" in text


def test_numbers_of_a_bounded_search_are_not_shares() -> None:
    found = [result(outcome(3, 0, 0), None, executions=1), result(RIGHT, None, executions=2)]
    text = terminal.explore(report(*found, interleavings=None, strategy="bounded", verdict="race", races=(race(),)))
    assert "share" not in text and "%" not in text and "c = [3, 0, 0]" in text


def test_why_a_strategy_was_picked_and_what_its_bound_means_is_said() -> None:
    text = terminal.explore(report(result(RIGHT, 3), reason="the states are few", remark="at most 2 preemptions"))
    assert "(strategy graph, as the states are few; machine semantics)" in text
    assert "\n  bound   at most 2 preemptions\n" in text


def test_it_is_said_if_several_processes_have_searched() -> None:
    assert "(strategy graph, 3 processes; machine semantics)" in terminal.explore(report(result(RIGHT, 3), processes=3))


def test_a_share_is_100_percent_only_if_it_is_all():
    text = terminal.explore(report(result(RIGHT, 10**40), result(outcome(1, 0, 0), 1), verdict="order-dependent"))
    assert ">99.9 %" in text and "<0.1 %" in text and "1.000e+40" in text
    assert "100 %" not in text


def test_a_number_of_interleavings_too_long_to_print_is_rounded_as_text_only():
    huge = 7**9000
    made = report(result(RIGHT, huge))
    assert "all 7.627e+7605 interleavings" in terminal.explore(made)
    assert as_json.explore(made.verdict)["interleavings"] == huge


def test_a_large_tensor_is_told_by_what_differs():
    right = outcome(*range(100))
    wrong = outcome(*[0] * 3, *range(3, 99), 7)
    text = terminal.explore(report(result(wrong, 1), result(right, 9), expected=right, verdict="race", races=(race(),)))
    assert "c: 100  differs from the sequential result: c[2] is 0, not 1; c[3] is 0, not 2; c[100] is 7, not 99" in text
    assert len(max(text.splitlines(), key=len)) < 200


def test_only_what_differs_is_listed():
    def both(x: int) -> Outcome:
        return Outcome(RIGHT.tensors, (("x", ("int", x)),))

    made = report(result(both(1), 5), result(both(2), 4), expected=both(1), verdict="order-dependent")
    text = terminal.explore(made)
    assert "they differ in x" in text and "x = 2   differs from the sequential result: x is 2, not 1" in text
    assert "c = [" not in text


def test_without_a_sequential_result_results_are_compared_with_the_first():
    made = report(result(RIGHT, 5), result(outcome(5, 0, 0), 4), expected=None, verdict="order-dependent")
    assert "differs from the first: c[1] is 5, not 6" in terminal.explore(made)
    assert "differs from the sequential result" not in terminal.explore(made)


# ------------------------------------------------------------------------------------------------------ what went wrong


def test_a_race_names_both_sides_the_loop_and_the_way_there():
    text = terminal.explore(report(result(RIGHT, 3), verdict="race", races=(race(),)))
    told = text.split("\n\n")[1].splitlines()
    assert told == [
        "error[race]: c[1] += i races with itself: a node race on level 1 Element of c",
        "  demo.ws:5:5",
        "    4 │ for i = parallel(1:3)",
        "      │ ───────────────────── these iterations run on 2 threads",
        "    5 │     c[1] += i",
        "      │     ^^^^^^^^^ task 1 (i = 1) reads c.val[1] while task 2 (i = 2) may write it",
        "  first   task 1 (i = 1)  Assign  reads c.val[1]   level 1 Element of c, position 1",
        "  second  task 2 (i = 2)  Assign  writes c.val[1]  level 1 Element of c, position 1",
        "  kind    node: the same position of the same level",
        "  see     wingspan replay demo.ws --interleaving 1,2",
    ]


def test_a_race_of_two_statements_marks_both():
    """The second side is an expression: the headline names its whole statement."""
    other = access("2", "read", Span(SOURCE, 6, 9, 6, 10))
    text = terminal.explore(report(verdict="race", races=(race(second=other),)))
    assert "error[race]: c[1] += i races with x = x + i: a node race" in text
    assert "^^^^^^^^^ task 1 (i = 1) reads c.val[1]\n" in text
    assert "        ─ task 2 (i = 2) may read it at the same time" in text


def test_two_statements_that_look_alike_are_told_apart():
    other = access("2", "write", Span(SOURCE, 7, 5, 7, 14))
    text = terminal.explore(report(verdict="race", races=(race(second=other),)))
    assert "c[1] += i (line 5) races with c[1] += i (line 7)" in text


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("node", "kind    node: the same index of the same fiber"),
        ("sibling", "kind    sibling: different indices of the same fiber, which share this cell"),
        ("cousin", "kind    cousin: different fibers of the level, which share this cell"),
    ],
)
def test_each_kind_of_race_is_explained(kind, said):
    sides = {"first": access("1", "read", index=1), "second": access("2", "atomic update", index=2)}
    text = terminal.explore(report(verdict="race", races=(race(kind=kind, level=2, level_name="SparseList", **sides),)))
    assert said in text and f"a {kind} race on level 2 SparseList of c" in text
    assert "task 2 (i = 2) may atomically update it" in text and "position 1, index 2" in text


def test_a_race_on_a_variable_has_no_level():
    variable = race(tensor="x", level=None, level_name="", buffer="variable", kind="", cell="x")
    text = terminal.explore(report(verdict="race", races=(variable,)))
    assert "a race on the variable x" in text and "None" not in text and "level" not in text


def test_a_race_without_spans_is_reported_by_its_rules():
    text = terminal.explore(report(verdict="race", races=(race(first=access("1", "read", None)),)))
    assert "error[race]: Assign races with c[1] += i" in text


def test_many_races_are_cut_to_eight():
    races = tuple(race(interleaving=f"1*{k},2") for k in range(2, 12))
    text = terminal.explore(report(verdict="race", races=races))
    assert text.count("error[race]") == 8 and "and 2 more races: --json lists them all" in text


def test_a_fault_has_message_place_task_rule_and_command():
    """Of the indices in force, those that elaboration made are left out."""
    text = terminal.explore(report(verdict="fault", faults=(OVERFLOW,), interleavings=4))
    assert text.split("\n\n")[1].splitlines() == [
        "error[fault]: overflow",
        "  demo.ws:5:5",
        "    5 │     c[1] += i",
        "      │     ^^^^^^^^^",
        "  task  task 2 (i = 3), by the rule Call",
        "  see   wingspan replay demo.ws --interleaving 1,2",
    ]


def test_a_deadlock_marks_each_place_with_the_tasks_that_wait_there():
    other = Span(SOURCE, 6, 5, 6, 14)
    places = {"1": RACED, "2": other, "3": RACED}
    waiting = tuple(Blocked(task, "lock a", "4", place) for task, place in places.items())
    text = terminal.explore(report(verdict="deadlock", deadlocks=(Deadlock(waiting, "2*3,1"),), interleavings=4))
    held = "waits for lock a, held by task 4"
    assert text.split("\n\n")[1].splitlines() == [
        f"error[deadlock]: task 1 {held}; task 2 {held}; task 3 {held}",
        "  demo.ws:5:5",
        "    5 │     c[1] += i",
        "      │     ^^^^^^^^^ tasks 1, 3 wait here",
        "    6 │     x = x + i",
        "      │     ───────── task 2 waits here",
        "  see  wingspan replay demo.ws --interleaving '2*3,1'",
    ]


def test_incidents_without_a_place_are_told_all_the_same():
    found: dict[str, Any] = {"faults": (replace(OVERFLOW, span=None),), "deadlocks": (STUCK,)}
    text = terminal.explore(report(verdict="fault", interleavings=4, **found))
    assert "error[fault]: overflow\n  task  task 2 (i = 3), by the rule Call\n  see " in text
    assert "error[deadlock]: task 0 waits for lock a, which it holds itself\n  see  wingspan replay" in text


def test_a_fault_of_the_serial_program_is_said_to_be_one():
    serially = "the sequential result is a fault, too"
    assert serially in terminal.explore(report(verdict="fault", faults=(OVERFLOW,), interleavings=4, expected=None))
    assert serially not in terminal.explore(report(verdict="fault", faults=(OVERFLOW,), interleavings=4))


# ------------------------------------------------------------------------------------------------------------ commands


def test_a_command_says_all_that_was_said_and_survives_the_shell():
    told = Invocation("it's a *.ws", {"nt": "4", "sch": "dynamic_schedule(2)"}, {"A": "my data/a.mtx"}, 3)
    assert shlex.split(told.replay("1*2,2")) == [
        "wingspan", "replay", "it's a *.ws", "-p", "nt=4", "-p", "sch=dynamic_schedule(2)", "-i", "A=my data/a.mtx",
        "--threads", "3", "--interleaving", "1*2,2",
    ]  # fmt: skip


def test_a_file_that_looks_like_an_option_stays_a_file():
    assert shlex.split(Invocation("-p.ws").replay("-"))[2:] == ["./-p.ws", "--interleaving", "-"]


# -------------------------------------------------------------------------------------------------------------- replay


def action(task: str, effect: Effect | None = None, value: object = 0) -> Action:
    touches = () if effect is None else (Touch("c.val[1]", effect, "c", 1, "Element", "val", 1, None, value),)
    return Action(task, "Assign", RACED, touches, effect is not None)


def told(*actions: Action, given: int = 0, **changes: Any) -> ReplayReport:
    """A run in which each task stands at every visible step, and that ends well."""
    everywhere: dict[str, Span | None] = {action.task: RACED for action in actions}
    places = (everywhere,) * sum(action.visible for action in actions)
    return replace(
        ReplayReport(Invocation("demo.ws"), "…", given, None, actions, (*places, {}), "finished", None, RIGHT, TREE),
        **changes,
    )


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
    text = steps.replay(replayed(replay(Litmus(*tasks), "1*2,2"), "1*2,2", TREE, Invocation("demo.ws")))
    assert "error[deadlock]: task 1 waits for lock b, held by task 2; task 2 waits for lock a, held by task 1" in text
    assert "finished" not in text and "result" not in text
    assert text.endswith("\n  see  wingspan replay demo.ws --interleaving '1*2,2*2'")


def test_a_lock_is_taken_and_given_back():
    touches = [Touch("c.lock[1]", "acquire", "c", value="1.2"), Touch("c.lock[1]", "release", "c", value=0)]
    assert [steps.touched(touch) for touch in touches] == ["takes c.lock[1]", "gives back c.lock[1]"]


# ---------------------------------------------------------------------------------------------------------------- JSON


def test_json_has_exactly_these_keys():
    made = as_json.explore(report(result(RIGHT, 3), verdict="race", races=(race(),)).verdict)
    assert (
        " ".join(made)
        == "verdict complete stopped_by strategy reason remark machine processes symmetry told_apart left_out "
        "executions interleavings states steps seconds outcomes results races faults deadlocks"
    )
    (found,) = made["races"]
    assert " ".join(found) == "tensor level level_name kind cell first second interleaving"
    assert found["first"] == {
        "task": "1", "line": 5, "column": 5, "rule": "Assign", "operation": "read", "position": 1, "index": None
    }  # fmt: skip
    counts = {"interleavings": 3, "executions": 0, "probability": None}
    assert made["results"] == [{"values": {"c": [6, 0, 0]}, **counts, "interleaving": "1*2,2*2"}]
    assert json.loads(json.dumps(made)) == made


FAULT = {"message": "overflow", "task": "2", "rule": "Call", "line": 5, "column": 5, "interleaving": "1,2"}


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


# ------------------------------------------------------------------------------------------------------------- colours


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def colourful(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "20")


SAMPLE = terminal.explore(report(result(RIGHT, 3), verdict="race", races=(race(),)))


def test_colours_add_nothing_and_wrap_nothing(colourful):
    """On a terminal 20 columns wide, the text without its colours is the text."""
    coloured = painted(SAMPLE, Terminal())
    assert coloured.count("\x1b[") > 10
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == SAMPLE


def test_there_are_no_colours_elsewhere(colourful, monkeypatch):
    assert painted(SAMPLE, io.StringIO()) == SAMPLE
    monkeypatch.setenv("NO_COLOR", "1")
    assert painted(SAMPLE, Terminal()) == SAMPLE


def test_text_that_looks_like_markup_is_left_alone(colourful):
    text = "error[fault]: [bold]a[1][/bold] :smile:\tb"
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted(text.replace("\t", " "), Terminal())) == text.replace("\t", " ")


def test_the_spinner_is_silent_off_a_terminal():
    stream = io.StringIO()
    with spinner(str, stream) as progress:
        assert progress is None
    assert stream.getvalue() == ""


def test_results_that_look_alike_are_printed_in_full():
    """They are the same double."""
    first, second = (Outcome.of({}, {"x": 1 + n * Fraction(1, 3**60)}) for n in (1, 2))
    assert listing(first) == listing(second) == "x = 1.0"
    full = [f"x = {3**60 + n}/{3**60}" for n in (1, 2)]
    assert listings([first, second]) == full and listings([first]) == ["x = 1.0"]
    assert differences(first, second) == f"x is {full[0][4:]}, not {full[1][4:]}"


def shown(*actions: Action, given: int, **changes) -> list[str]:
    """The lines that a report on an exploration has of a counterexample."""
    return list(steps.counterexample(told(*actions, given=given, **changes), ["c"]))


def test_a_counterexample_ends_with_the_last_update_that_it_loses():
    lost = Lost("c.val[1]", "2", 0, 2, 1)
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
