"""A replay as an ITF trace is well formed, and says what the run did and no more."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.views.runs import programs_run, quizzes, report_on, runs
from wingspan import api
from wingspan.explorer import replay
from wingspan.lang.printer import value
from wingspan.views import itf
from wingspan.views.view import ReplayReport

few = settings(derandomize=True, deadline=None, max_examples=many(15))


def assert_expression(held: Any) -> None:
    """One of the forms that the format has, by its own page."""
    match held:
        case str() | bool():
            pass
        case {"#bigint": str() as digits} if len(held) == 1:
            assert re.fullmatch(r"-?[0-9]+", digits)
        case {"#map": list() as pairs} if len(held) == 1:
            assert len({json.dumps(key) for key, _ in pairs}) == len(pairs)
            for pair in pairs:
                assert isinstance(pair, list)
                for part in pair:
                    assert_expression(part)
        case _:
            raise AssertionError(held)


@given(st.one_of(runs(), programs_run()))
@few
def test_a_trace_keeps_to_the_format(report: ReplayReport) -> None:
    """As JSON of standard, without numbers but those about the trace; every variable is in every state."""
    made = json.loads(json.dumps(itf.replay(report), allow_nan=False))
    assert list(made) == ["#meta", "vars", "states"]
    assert len(made["states"]) == len(report.visible) + 1
    for index, state in enumerate(made["states"]):
        assert state.pop("#meta") == {"index": index}
        assert sorted(state) == sorted(made["vars"])
        for held in state.values():
            assert_expression(held)


@given(st.sampled_from(quizzes), st.lists(st.sampled_from(["1", "2"]), max_size=6))
@few
def test_a_trace_has_what_the_heap_holds(path: Path, tasks: list[str]) -> None:
    """State k is where a run of the first k visible steps alone comes to, but for the memory of copies given back."""
    text = ",".join(tasks) or "-"
    report = report_on(path, "semantics", text)
    states = itf.replay(report)["states"]
    machine = api.semantics(api.bind(path))
    taken = ["" if action.task == "0" else action.task for action in report.visible]
    for k, state in enumerate(states):
        run = replay(machine, taken[:k], finish=False)
        list(run)
        if run.end == "fault":
            continue
        heap = {str(cell): held for cell, held in run.state.heap.items()}
        for cell, held in state["cells"]["#map"]:
            if cell in heap and ".lock" not in cell:
                assert held == expression(heap[cell]), (k, cell)
        at = {task or "0": choice.span for task, choice in run.choices.items()}
        assert dict(state["at"]["#map"]) == {task: f"{s.line}:{s.column}" if s else "" for task, s in at.items()}
        assert (state["task"], state["rule"]) == (
            (report.visible[k - 1].task, report.visible[k - 1].rule) if k else ("", "")
        )


def expression(held: Any) -> Any:
    if isinstance(held, bool):
        return held
    return {"#bigint": str(held)} if isinstance(held, int) else value(held)
