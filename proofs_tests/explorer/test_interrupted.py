"""A search that is interrupted, wherever that is, ends after `resume` with the verdict of one that never was."""

from __future__ import annotations

import signal
import threading
from collections.abc import Hashable
from dataclasses import replace
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.effort import few, many
from proofs_tests.explorer.plain import Plain
from wingspan.explorer import Blocked, Machine, Search, Step, Verdict, bounds, dpor, explore, search
from wingspan.explorer import states as states_module
from wingspan.explorer.bounds import Bounds
from wingspan.explorer.estimate import estimate_traces
from wingspan.explorer.states import States
from wingspan.testing.litmus import Check, Litmus, LitmusState, Load, Lock, Private, Spawn, Store, Unlock, lastzero

PROGRAMS = {
    "many traces": lastzero(3),
    "faults and locks": Litmus(
        (Load("x"), Store("x", 1), Check("x", 1)),
        (Load("x"), Lock("m"), Store("x", 2), Unlock("m")),
        (Lock("m"), Store("y", 1), Unlock("m"), Load("x")),
    ),
    "regions": Litmus(
        (Spawn(((Store("x", 1), Private()), (Load("x"), Store("y", 1)))), Spawn(((Load("y"),), (Store("y", 2),)))),
        (Store("y", 3),),
        after=(Spawn(((Load("x"), Store("z", 1)), (Store("x", 2), Private()))),),
    ),
}


class Counting(Litmus):
    """The same program. It counts what it is asked, and when that is `at`, Ctrl-C comes."""

    def __init__(self, machine: Litmus, at: int = -1) -> None:
        after, *tasks = machine.programs
        super().__init__(*tasks, after=after)
        self.asked, self.at = 0, at

    def ask(self) -> None:
        """One question more."""
        self.asked += 1
        if self.asked == self.at:
            signal.raise_signal(signal.SIGINT)

    def step(self, state: LitmusState, task: str) -> Step[LitmusState] | Blocked:
        self.ask()
        return super().step(state, task)

    def fingerprint(self, state: LitmusState) -> Hashable:
        self.ask()
        return super().fingerprint(state)

    def outcome(self, state: LitmusState) -> Hashable:
        self.ask()
        return super().outcome(state)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of traces asks how many there are, and looks at the memory, after every tenth run or state."""
    monkeypatch.setattr(dpor, "SLICE", 5)
    monkeypatch.setattr(dpor, "LOOK_EVERY", 2)
    monkeypatch.setattr(states_module, "LOOK_EVERY", 10)
    monkeypatch.setattr(search, "PROBE", 10)
    monkeypatch.setattr(search, "FEW", 3)


def facts(verdict: Verdict) -> dict[str, Any]:
    """All of a verdict but the time it took."""
    return {**vars(verdict), "seconds": 0.0}


def searched(machine: Machine[Any], how: Search) -> Verdict:
    """The verdict for somebody who wants to know how far the search is."""
    return explore(machine, how, progress=lambda status: None)


def assert_taken_up(machine: Machine[Any], strategy: str, cut: Verdict, file: Path) -> None:
    """The search in the file goes on to the verdict of a whole one, with the strategy that was picked by then."""
    if not cut.complete:
        found, whole = searched(machine, Search(resume=file)), searched(machine, Search(strategy))
        if cut.strategy != whole.strategy:
            whole = replace(searched(machine, Search(cut.strategy)), reason=found.reason)
        assert facts(found) == facts(whole)


def points(most: int) -> range:
    """Some numbers up to this one."""
    return range(0, most, max(1, most // max(6, many(6))))


EVERY = pytest.mark.parametrize(("strategy", "program"), few(list(product(["graph", "dpor", "auto"], PROGRAMS)), 3))


@EVERY
def test_a_bound_of_states_changes_no_verdict(small: None, tmp_path: Path, strategy: str, program: str) -> None:
    machine, file = Plain(PROGRAMS[program]), tmp_path / "search"
    for most in points(searched(machine, Search(strategy)).states):
        cut = searched(machine, Search(strategy, max_states=most, checkpoint=file))
        assert cut.stopped_by == "max-states"
        assert_taken_up(machine, strategy, cut, file)


@EVERY
def test_a_bound_of_time_changes_no_verdict(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str, program: str
) -> None:
    """The time is how often the clock has been looked at: before the first state, too."""
    machine, file = Plain(PROGRAMS[program]), tmp_path / "search"
    clock, stopped = count(), 0
    monkeypatch.setattr(bounds, "monotonic", lambda: next(clock))
    searched(machine, Search(strategy))
    for seconds in points(next(clock)):
        cut = searched(machine, Search(strategy, max_seconds=seconds, checkpoint=file))
        stopped += cut.stopped_by == "max-seconds"
        assert_taken_up(machine, strategy, cut, file)
    assert stopped >= 2


@EVERY
def test_a_bound_of_memory_changes_no_verdict(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str, program: str
) -> None:
    """The process holds a megabyte for each look at its memory, which is looked at before each step."""
    machine, file = Plain(PROGRAMS[program]), tmp_path / "search"
    looks, stopped = count(), 0
    monkeypatch.setattr(bounds, "LOOK", 0.0)
    monkeypatch.setattr(bounds, "resident_bytes", lambda: next(looks) << 20)
    searched(machine, Search(strategy, max_memory=10**15))
    for most in points(next(looks)):
        looks = count()
        cut = searched(machine, Search(strategy, max_memory=most << 20, checkpoint=file))
        stopped += cut.stopped_by == "max-memory"
        assert_taken_up(machine, strategy, cut, file)
    assert stopped >= 2


@EVERY
def test_ctrl_c_changes_no_verdict(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str, program: str
) -> None:
    """It comes while the machine is asked, or between the edges of a new state, and waits for the next step."""
    whole, file = Counting(PROGRAMS[program]), tmp_path / "search"
    searched(whole, Search(strategy))
    interrupted, act = 0, States._act
    for at in points(whole.asked):
        file.unlink(missing_ok=True)
        counting = Counting(whole, at)

        def counted(states: States[Any], *of: Any, machine: Counting = counting) -> int:
            if states.machine is machine:
                machine.ask()
            return act(states, *of)

        monkeypatch.setattr(States, "_act", counted)
        try:
            cut = searched(counting, Search(strategy, checkpoint=file))
        except KeyboardInterrupt:  # in the end, where the ways to what has been found are looked for
            continue
        interrupted += cut.stopped_by == "interrupt"
        assert_taken_up(whole, strategy, cut, file)
    assert interrupted >= 2


def test_a_second_ctrl_c_ends_more_than_the_search() -> None:
    """It comes at once; and afterwards Ctrl-C does what it did before."""

    class Twice(Litmus):
        def step(self, state: LitmusState, task: str) -> Step[LitmusState] | Blocked:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            raise AssertionError

    with pytest.raises(KeyboardInterrupt):
        explore(Twice((Load("x"),)))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_search_leaves_a_signal_to_who_has_asked_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C that is ignored ends no search; and a search in another thread asks for no signal."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert explore(Counting(PROGRAMS["regions"], 9)).complete
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    found: list[Verdict] = []
    thread = threading.Thread(target=lambda: found.append(explore(PROGRAMS["regions"])))
    thread.start()
    thread.join()
    assert found[0].complete


def test_the_estimate_of_traces_enters_no_state() -> None:
    """Its walks are on states of their own."""
    states: States[LitmusState] = States(lastzero(4))
    states.search(lambda: estimate_traces(states.fresh_copy()))
    assert (states.nodes, states.steps, states.stopped_by) == (1, 0, None)


def test_the_estimate_of_traces_is_interrupted_like_the_search() -> None:
    """By the end of its time, and by Ctrl-C."""
    states: States[LitmusState] = States(lastzero(4), bounds=Bounds(3600.0))

    def late() -> None:
        states.bounds.deadline = states.started
        states.bounds.need(0.0, 0)  # which looks at the deadline again
        estimate_traces(states.fresh_copy())

    states.search(late)
    assert states.stopped_by == "max-seconds"
    states = States(Counting(lastzero(4), 40))
    states.search(lambda: estimate_traces(states.fresh_copy()))
    assert states.stopped_by == "interrupt"
