"""Bounds of time and memory hold for all that a command does, and a verdict says what they have left out.

The clock of these tests is work: it goes on by one with each step of the machine, each pair that the search for
shortest interleavings looks at, and each new node. So what runs on when time is up is counted, and nothing is timed.
"""

from __future__ import annotations

import gc
import multiprocessing
import weakref
from collections.abc import Callable, Iterator, Set
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import count
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.symmetry import PRODUCT
from proofs_tests.effort import few
from proofs_tests.several import FORK
from wingspan import api
from wingspan.explorer import Machine, Race, Search, bounds, checkpoint, explore, replay, states
from wingspan.explorer._dpor import Dpor
from wingspan.explorer.bounds import Bounds, Stopped
from wingspan.explorer.shortest import Shortest
from wingspan.explorer.states import States
from wingspan.explorer.walks import sample
from wingspan.explorer.workers import SearchWorker, Submit
from wingspan.reference import evaluator
from wingspan.testing.litmus import Litmus, Load, Private, Store, ninc
from wingspan.views import terminal
from wingspan.views.view import Invocation, exploration_report


class Work:
    """A clock that all processes share."""

    def __init__(self) -> None:
        self.done: Any = multiprocessing.get_context("fork").Value("q", 0)

    def __call__(self) -> int:
        return int(self.done.value)

    def add(self) -> None:
        with self.done.get_lock():
            self.done.value += 1


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """The clock, and the memory that is held: both grow with what is done."""
    clock = Work()
    settle, arrive, go = Shortest._settle, States._add_state, evaluator._Evaluator.assign

    def counted(do: Callable[..., Any]) -> Callable[..., Any]:
        def one(*args: Any) -> Any:
            clock.add()
            return do(*args)

        return one

    monkeypatch.setattr(Shortest, "_settle", counted(settle))
    monkeypatch.setattr(States, "_add_state", counted(arrive))
    monkeypatch.setattr(evaluator._Evaluator, "assign", counted(go))
    monkeypatch.setattr(bounds, "monotonic", clock)
    return clock


class Working(Litmus):
    """A program whose every step takes time."""

    def __init__(self, clock: Work, machine: Litmus) -> None:
        after, *tasks = machine.programs
        super().__init__(*tasks, after=after)
        self.clock = clock

    def step(self, state: Any, task: str) -> Any:
        self.clock.add()
        return super().step(state, task)


RACY = Litmus(*[(Load("x"), Private(), Store("x", relative=True), Load("y"), Store("y", 1))] * 4)
AFTER = 120
"""So much may be done when time is up: what is asked of the machine once more for each finding that is told."""
SEARCHES: dict[str, dict[str, Any]] = {
    "auto": {},
    "graph": {"strategy": "graph"},
    "dpor": {"strategy": "dpor"},
    "random": {"strategy": "random", "runs": 10**9},
    "pct": {"strategy": "pct", "runs": 10**9},
    "bounded": {"strategy": "bounded", "preemptions": 9},
    "shortest": {"strategy": "dpor", "exact": True},
    "symmetry": {"symmetry": True},
    "first": {"first": True, "strategy": "graph"},
}


def assert_back_to_back(machine: Machine[Any], race: Race) -> None:
    """The interleaving of a race can be followed, and ends with its two accesses; with the first if it faults."""
    run = replay(machine, race.interleaving, finish=False)
    steps = [step for step in run if step.visible]
    assert run.mismatch is None
    first, second = steps[-2:]
    assert {first.task, second.task} == {race.first.task, race.second.task}
    assert any(one.races(other) for one in first.footprint for other in second.footprint)


each_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


@each_search
@pytest.mark.parametrize("most", few([30, 3000, 700], 2))
def test_little_is_done_when_time_is_up(work: Work, search: dict[str, Any], most: int) -> None:
    """In any phase a search leaves time for its verdict."""
    verdict = explore(Working(work, RACY), Search(**search, max_seconds=most))
    assert verdict.stopped_by == ("first" if verdict.stopped_by == "first" else "max-seconds")
    assert work() <= most + AFTER


@each_search
@pytest.mark.parametrize("most", few([30, 3000, 700], 2))
def test_little_is_taken_when_memory_is_up(
    work: Work, search: dict[str, Any], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "resident_bytes", work)
    monkeypatch.setattr(bounds, "LOOK", 0)
    for cost in ("NODE_BYTES", "FINDING_BYTES"):
        monkeypatch.setattr(states, cost, 0)
    verdict = explore(Working(work, RACY), Search(**search, max_memory=most))
    assert verdict.stopped_by == ("first" if verdict.stopped_by == "first" else "max-memory")
    assert work() <= most + AFTER


@FORK
@pytest.mark.parametrize("strategy", few(["graph", "dpor"], 1))
@pytest.mark.parametrize("most", [30, 700, 3000])
def test_several_processes_keep_one_bound(small_parts: None, work: Work, strategy: str, most: int) -> None:
    verdict = explore(Working(work, RACY), Search(strategy, jobs=2, max_seconds=most))
    assert verdict.stopped_by == "max-seconds"
    assert work() <= most + 3 * AFTER


def test_a_search_leaves_time_to_write_it_down(work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As much as its nodes and findings take; it is written once."""
    wrote: list[int] = []
    write = checkpoint.Checkpoint.write
    monkeypatch.setattr(states, "NODE", 2)
    monkeypatch.setattr(states, "LOOK_EVERY", 4)

    def record_and_write(self: checkpoint.Checkpoint, *args: Any) -> None:
        wrote.append(work())
        write(self, *args)

    monkeypatch.setattr(checkpoint.Checkpoint, "write", record_and_write)
    verdict = explore(Working(work, RACY), Search("graph", max_seconds=2000, checkpoint=tmp_path / "kept"))
    assert verdict.states > 100 and len(wrote) == 1
    assert wrote[0] + 2 * verdict.states <= 2000 + AFTER


def test_there_is_time_for_shortest_interleavings(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of it, here."""
    monkeypatch.setattr(bounds, "SHARE", 0.5)
    monkeypatch.setattr(bounds, "MOST_SECONDS", inf)
    verdict = explore(Working(work, RACY), Search("graph", max_seconds=3000))
    assert (verdict.stopped_by, verdict.left_out) == ("max-seconds", ())
    assert verdict.races and 1500 < work() < 3000


@pytest.mark.parametrize("late", [49, 100])
@pytest.mark.parametrize("answers", [1, 7, 30])
def test_an_answer_that_there_is_no_time_for_is_not_lost(
    small_parts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: int, late: int
) -> None:
    """Its part is kept as it was given: who takes the search up ends with the totals of one that was never stopped.

    What comes when the search is over and its verdict is not due, after 48 and before 50 seconds, counts.
    """
    file, given = tmp_path / "kept", 0

    @contextmanager
    def here(states: States[Any], _: int) -> Iterator[Submit]:
        worker = SearchWorker(States(states.machine))

        def submit(do: Callable[..., Any], *part: Any) -> Future[Any]:
            nonlocal given
            given += 1
            answer: Future[Any] = Future()
            answer.set_result(do(worker, *part))
            return answer

        yield submit

    monkeypatch.setattr("wingspan.explorer.workers.forked_workers", here)
    monkeypatch.setattr(bounds, "monotonic", lambda: late if given >= answers else 0)
    cut = explore(ninc(4), Search("dpor", jobs=2, max_seconds=50, checkpoint=file))
    assert (cut.complete, cut.stopped_by) == (False, "max-seconds")
    assert cut.executions > 0 or late == 100
    monkeypatch.undo()
    whole = explore(ninc(4), Search(resume=file))
    assert (whole.complete, whole.executions) == (True, 576)
    assert sum(result.executions for result in whole.results) == 576


def test_a_worker_stops_looking_for_shortest_ways(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives those on which it has found what it has found."""
    machine = Working(work, RACY)
    known = States(machine, bounds=Bounds(10**6))
    worker = SearchWorker(known)
    known.search(lambda: sample(known, 20))
    monkeypatch.setattr(bounds, "monotonic", lambda: 10**6)
    before = work()
    assert len(worker.news(0)) == len(known.findings())
    assert work() == before


def test_to_take_a_search_up_takes_time_too(work: Work, tmp_path: Path) -> None:
    """A bound that ends it leaves what is kept as it is."""
    file, machine = tmp_path / "kept", Working(work, ninc(4))
    whole = explore(machine, Search("graph"))
    explore(machine, Search("graph", max_states=whole.states // 2, checkpoint=file))
    before, begun = file.read_bytes(), work()
    verdict = explore(machine, Search(resume=file, checkpoint=file, max_seconds=100))
    assert work() - begun <= 100 + AFTER
    assert (verdict.stopped_by, verdict.complete) == ("max-seconds", False)
    assert 0 < verdict.states < whole.states // 2
    assert file.read_bytes() == before
    assert explore(machine, Search(resume=file)).states == whole.states


def test_the_reduction_looks_at_the_clock_where_it_finds_no_new_states() -> None:
    """A search that is stopped there can be resumed, and loses and doubles nothing."""

    class Stopping(States[Any]):
        ticks, most = 0, inf

        def tick(self) -> None:
            self.ticks += 1
            if self.ticks > self.most:
                raise Stopped("max-seconds")

    known = Stopping(ninc(4))
    known.search(known.flood)
    search, stops, before = Dpor(known), 0, 0
    known.ticks, known.most = 0, 0
    while True:
        known.ticks = 0
        try:
            assert search.run()
            break
        except Stopped:
            stops += 1
            assert search.executions - before < 4096
            before, known.most = search.executions, 1
    assert search.executions == 576 and search.redundant == 0
    assert stops > 0


# --------------------------------------------------------------------------------------------------- what is left out


def test_counting_is_left_out_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is complete all the same; its report says what is missing. 8,638 states take over eight looks."""
    looks = 0

    class Counting(States[Any]):
        def tally(self, wanted: set[int], last_nodes: Set[int] = frozenset()) -> dict[int, tuple[int, float]]:
            monkeypatch.setattr(bounds, "monotonic", seconds)
            return super().tally(wanted, last_nodes)

    def seconds() -> int:
        nonlocal looks
        looks += 1
        return looks

    monkeypatch.setattr("wingspan.explorer.search.States", Counting)
    monkeypatch.setattr(bounds, "monotonic", lambda: 0)
    verdict = explore(ninc(5), Search("graph", max_seconds=3))
    assert (verdict.complete, verdict.interleavings, verdict.verdict) == (True, None, "race")
    assert all(result.interleavings is result.probability is None for result in verdict.results)
    assert ("numbers of interleavings, and chances", "max-seconds") in verdict.left_out
    assert looks < 3 + 10


def test_counting_is_complete_where_there_is_time() -> None:
    verdict = explore(ninc(3), Search("graph", max_seconds=1e9))
    assert (verdict.interleavings, verdict.left_out) == (90, ())


PROGRAM = """
c = Tensor(Dense(Element(0)), 2)
c .= 0
for i = parallel(1:1000)
    c[1] += i
end
return c
"""


def test_the_sequential_result_is_left_out_when_time_is_up(work: Work) -> None:
    """No result was compared with it, and none is there; it is not said to be a fault."""
    found = api.explore(api.parse(PROGRAM), max_seconds=50)
    assert work() <= 50 + AFTER
    verdict = found.verdict
    assert (verdict.verdict, verdict.stopped_by, verdict.states) == ("incomplete", "max-seconds", 0)
    assert verdict.left_out == (("the sequential result: no result was compared with it", "max-seconds"),)
    text = terminal.explore(exploration_report(found, Invocation("a.ws")))
    assert "left out  the sequential result: no result was compared with it (--max-seconds)" in text
    assert "fault" not in text


def test_time_begins_where_it_is_said_to(work: Work) -> None:
    """A command begins before its search does."""
    program = api.parse(PROGRAM.replace("1000", "2"))
    assert api.explore(program, max_seconds=1000).verdict.complete
    verdict = api.explore(program, max_seconds=1000, began=work() - 1001).verdict
    assert (verdict.stopped_by, verdict.states) == ("max-seconds", 0)


def test_interleavings_that_are_longer_than_need_be_are_told(work: Work) -> None:
    """Each of them can be followed to its end all the same."""
    machine = Working(work, RACY)
    verdict = explore(machine, Search("graph", max_seconds=700))
    assert verdict.left_out == (("shortest interleavings: some that are shown are longer", "max-seconds"),)
    assert verdict.races
    for race in verdict.races:
        assert_back_to_back(machine, race)


def test_places_that_are_too_many_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wingspan.explorer.shortest.MOST", 10)
    verdict = explore(ninc(3), Search("graph"))
    ((what, bound),) = verdict.left_out
    assert what.startswith("shortest interleavings") and bound.startswith("looking at ")


# ------------------------------------------------------------------------------------------------------ the collector


class Cycle:
    """An object that only the collector of garbage can delete."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture
def nothing_frozen() -> Iterator[None]:
    """The collector looks through all objects, also through those of these tests."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.parametrize("machine", [ninc(1), ninc(4)], ids=["short", "long"])
def test_what_the_caller_has_frozen_stays_frozen(machine: Litmus, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that freezes its states would thaw all at its end: objects of the caller, which may be many, too."""
    monkeypatch.setattr(states, "FREEZE_FROM", 1)
    gc.freeze()
    explore(machine, Search("graph"), progress=lambda status: None)
    assert gc.get_freeze_count()


@pytest.mark.usefixtures("nothing_frozen")
def test_the_collector_does_not_look_through_tables_of_local_steps_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """From some hundred questions to the machine on; and it does again when the search is over."""
    machine: Any = api.semantics(api.bind(api.parse(PRODUCT), inputs={"A": np.eye(2), "B": np.eye(2)}))
    local_step, asked, frozen = machine.local_step, count(1), []

    def counted_step(*args: Any) -> Any:
        if next(asked) == 700:
            frozen.append(gc.get_freeze_count())
        return local_step(*args)

    machine.local_step = counted_step
    explore(machine, Search("graph"))
    assert frozen and frozen[0] and not gc.get_freeze_count()


@pytest.mark.usefixtures("nothing_frozen")
def test_garbage_of_the_caller_is_collected_after_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier garbage is collected, too, although the collector does not look through old objects meanwhile."""
    monkeypatch.setattr(states, "FREEZE_FROM", 1)
    old = Cycle()
    gc.collect(1)  # which makes it old
    looks: list[Any] = []
    gone = weakref.ref(old)
    del old
    explore(ninc(4), Search("graph"), progress=looks.append)
    gc.collect()
    assert looks and gone() is None


# ------------------------------------------------------------------------------------------------------------- Bounds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    now = [0.0]
    monkeypatch.setattr(bounds, "monotonic", lambda: now[0])
    yield now


def test_a_tenth_of_the_time_is_kept_but_no_more_than_two_seconds(clock: list[float]) -> None:
    assert [Bounds(seconds).seconds_left() for seconds in (10, 20, 60, 0)] == [9, 18, 58, 0]
    assert Bounds().seconds_left() is None


def test_phases_follow_each_other(clock: list[float]) -> None:
    """The search, what follows it, and what may not be cut short."""
    made = Bounds(10)
    made.need(2, 0)
    clock[0] = 7.5
    with pytest.raises(Stopped, match="max-seconds"):
        made.tick()
    made.finish()
    made.tick()
    clock[0] = 8.5
    with pytest.raises(Stopped, match="max-seconds"):
        made.tick()


def test_a_bound_that_is_reached_ends_the_search_and_not_its_verdict(clock: list[float]) -> None:
    made = Bounds()
    made.reach("first")
    with pytest.raises(Stopped, match="first"):
        made.tick()
    with made.finishing():
        made.tick()
    with pytest.raises(Stopped, match="first"):
        made.tick()
    made.finish()
    made.tick()


def test_memory_is_looked_at_now_and_then(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    looks = count()
    monkeypatch.setattr(bounds, "resident_bytes", lambda: next(looks))
    made = Bounds(memory=2**31)
    for _ in range(1000):
        made.tick()
        clock[0] += bounds.LOOK / 10
    assert 90 <= next(looks) <= 110


@FORK
@pytest.mark.parametrize("jobs", [1, 2])
def test_processes_have_equal_parts_of_the_memory(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one, too: three that hold 400 bytes each hold more than 1000."""
    monkeypatch.setattr(bounds, "resident_bytes", lambda: 400)
    for cost in ("NODE_BYTES", "FINDING_BYTES"):
        monkeypatch.setattr(states, cost, 0)
    verdict = explore(ninc(2), Search("dpor", jobs=jobs, max_memory=1000))
    assert verdict.stopped_by == (None if jobs == 1 else "max-memory")


def test_a_limit_of_memory_is_that_of_what_is_held_now() -> None:
    """Not of the most that was ever held: what a notebook did before does not count."""
    before = bounds.resident_bytes()
    block = bytearray(64 << 20)
    assert bounds.resident_bytes() > before + (48 << 20)
    del block
    assert bounds.resident_bytes() < before + (16 << 20)
