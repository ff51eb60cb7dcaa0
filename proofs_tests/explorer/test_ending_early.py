"""Searches that end early claim no more than they saw, and machines that never end."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from proofs_tests.exploring import explore_graph
from wingspan.base.errors import InternalError
from wingspan.explorer import Blocked, Step
from wingspan.explorer.states import Status
from wingspan.testing.litmus import Add, Litmus, LitmusState, Load, Private, Store, lockinc, ninc


def test_a_truncated_search_is_never_safe() -> None:
    """Six by six states; with room for one less the search says that it is incomplete."""
    machine = Litmus((Load("x"),) * 5, (Load("x"),) * 5)
    for bound in range(1, 36):
        verdict = explore_graph(machine, max_states=bound)
        assert (verdict.verdict, verdict.complete, verdict.stopped_by) == ("incomplete", False, "max-states")
        assert (verdict.states, verdict.interleavings) == (bound, None)
    assert explore_graph(machine, max_states=36).verdict == "safe"


def test_what_a_truncated_search_found_stands() -> None:
    verdict = explore_graph(ninc(4), max_states=400)
    assert (verdict.verdict, verdict.complete, verdict.interleavings) == ("race", False, None)
    assert all(result.interleavings is None for result in verdict.results)


def test_time_runs_out() -> None:
    """Time is looked at before each step: without any, nothing is explored and nothing claimed."""
    verdict = explore_graph(lockinc(2), max_seconds=-1)
    assert (verdict.verdict, verdict.stopped_by, verdict.states) == ("incomplete", "max-seconds", 0)


def test_an_interrupt_ends_the_search_with_what_it_has() -> None:
    calls: list[Status] = []

    def interrupt(status: Status) -> None:
        calls.append(status)
        if len(calls) == 2:
            raise KeyboardInterrupt

    verdict = explore_graph(Litmus((Add("x"),) * 30, (Add("x"),) * 30), progress=interrupt)
    assert (verdict.verdict, verdict.complete, verdict.stopped_by) == ("incomplete", False, "interrupt")
    assert [(status.unit, status.explored) for status in calls] == [("state", 256), ("state", 512)]
    assert verdict.states == 512


def test_an_interrupt_inside_the_machine_ends_the_search() -> None:
    class Interrupted(Litmus):
        def outcome(self, state: LitmusState) -> Hashable:
            raise KeyboardInterrupt

    verdict = explore_graph(Interrupted((Add("x"),), (Load("x"),)))
    assert (verdict.verdict, verdict.stopped_by) == ("race", "interrupt")


class Spin(Litmus):
    """A task that loads the same cell, or does something private, for ever."""

    def __init__(self, visible: bool) -> None:
        super().__init__((Store("y", 1), Load("x") if visible else Private(0), Private(0)))

    def step(self, state: LitmusState, task: str) -> Step[LitmusState] | Blocked:
        if state.threads[1][0] == self.first[0]:
            return super().step(state, task)
        step = super().step(state, task)
        assert isinstance(step, Step)
        return Step(step.task, step.rule, step.footprint, step.visible, state, step.span)


@pytest.mark.parametrize("visible", [True, False])
def test_a_machine_that_does_not_end_is_an_internal_error(visible: bool) -> None:
    with pytest.raises(InternalError):
        explore_graph(Spin(visible))
