"""A report follows from the verdict, and claims no more than the verdict does."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from proofs_tests.views.reports import (
    OVERFLOW,
    RACED,
    RIGHT,
    SOURCE,
    STUCK,
    access,
    cut_short,
    outcome,
    race,
    report,
    result,
)
from wingspan.base.errors import Span
from wingspan.explorer.incident import Deadlock
from wingspan.explorer.machine import Blocked
from wingspan.explorer.properties import PropertyReport
from wingspan.explorer.verdict import VERDICTS
from wingspan.results.listing import listing, listings
from wingspan.results.outcome import Outcome
from wingspan.views import json as as_json
from wingspan.views import terminal
from wingspan.views.values import differences
from wingspan.views.view import Invocation

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
    asked = PropertyReport("always", "c[1] == 6", verdict, 1, 1, 1.0, "1*2", {"c": [5, 0, 0]})
    text = terminal.explore(report(result(RIGHT, 3), verdict=verdict, races=(race(),), properties=(asked,)))
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


# ------------------------------------------------------------------------------------------------------------- colours


def test_results_that_look_alike_are_printed_in_full():
    """The two results are the same double."""
    first, second = (Outcome.from_arrays({}, {"x": 1 + n * Fraction(1, 3**60)}) for n in (1, 2))
    assert listing(first) == listing(second) == "x = 1.0"
    full = [f"x = {3**60 + n}/{3**60}" for n in (1, 2)]
    assert listings([first, second]) == full and listings([first]) == ["x = 1.0"]
    assert differences(first, second) == f"x is {full[0][4:]}, not {full[1][4:]}"
