"""Several processes search all traces as one does: each trace in one part, and all findings."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.effort import few
from proofs_tests.explorer.plain import Plain
from proofs_tests.explorer.test_strategies import WIDE, findings
from proofs_tests.several import FORK, RACY, STUCK, counted, same
from wingspan import api
from wingspan.base.errors import InternalError
from wingspan.explorer import Machine, Search, bounds, checkpoint, explore, search, shortest
from wingspan.explorer.states import States
from wingspan.explorer.workers import SearchWorker, Submit
from wingspan.testing.litmus import Assert, Jump, Litmus, Load, Private, Store, lastzero, lockinc, ninc


@FORK
@pytest.mark.parametrize(
    "machine", few([ninc(3), Plain(ninc(4)), Litmus(), lockinc(4), Plain(lastzero(4)), WIDE], 3), ids=lambda machine: ""
)
@pytest.mark.parametrize("processes", few([3, 5, 2], 1))
def test_processes_find_what_one_finds(small_parts: None, machine: Machine[Any], processes: int) -> None:
    """Also more processes than parts."""
    assert same(machine, jobs=processes).complete


@pytest.fixture
def short_sighted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks for shortest ways any further than to the first state, and so finds nothing that others have not."""
    monkeypatch.setattr(shortest, "MOST", 1)


def one_fault_is_found(result: int) -> None:
    """By two processes as by one, in four increments after which it is a fault if this is their result."""
    machine = Litmus(*ninc(4).programs[1:], after=(Load("x"), Jump(2, result), Load("nothing"), Assert(0)))
    one, two = (explore(machine, Search("dpor", jobs=n)) for n in (1, 2))
    assert findings(two) == findings(one)
    assert counted(two) == counted(one)
    assert len(two.faults) == (result > 0)


@FORK
@pytest.mark.parametrize("result", few(range(5), 2))
def test_all_that_was_found_is_told_where_no_shortest_way_is(
    small_parts: None, short_sighted: None, result: int
) -> None:
    one_fault_is_found(result)


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer is lost once, and the part searched again, by a worker that has done so before: clusters do that."""

    @contextmanager
    def cluster(states: States[Any], _: int) -> Iterator[Submit]:
        worker = SearchWorker(States(states.machine))

        def submit(do: Callable[..., Any], *asked: Any) -> Future[Any]:
            answer: Future[Any] = Future()
            do(worker, *asked)
            answer.set_result(do(worker, *asked))
            return answer

        yield submit

    monkeypatch.setattr("wingspan.explorer.workers.forked_workers", cluster)


@pytest.mark.parametrize("result", range(1, 5))
def test_an_answer_that_is_lost_takes_no_fault_along(
    small_parts: None, short_sighted: None, forgetful: None, result: int
) -> None:
    one_fault_is_found(result)


def test_an_answer_that_is_lost_takes_no_race_along(small_parts: None, forgetful: None) -> None:
    """Unlike faults, races are not found at the ends of runs."""
    assert same(lastzero(4), jobs=2).races


@FORK
@pytest.mark.parametrize("machine", api.MACHINES)
@pytest.mark.parametrize("text", [RACY, STUCK])
def test_processes_find_what_one_finds_in_wingspan_programs(small_parts: None, machine: str, text: str) -> None:
    assert same(api.machine_of(api.bind(api.parse(text)), machine), jobs=2).verdict in ("race", "deadlock")


@FORK
@pytest.mark.parametrize("most", few([1, 2, 300, 600], 2))
@pytest.mark.parametrize("machine", [ninc(4), Plain(ninc(4))], ids=["tables", "plain"])
def test_all_processes_together_keep_the_bound(small_parts: None, machine: Any, most: int) -> None:
    """Going after what they have found takes no more."""
    verdict = explore(machine, Search("dpor", jobs=2, max_states=most))
    assert (verdict.complete, verdict.stopped_by, verdict.states) == (False, "max-states", most)
    assert verdict.executions < 576


@FORK
def test_auto_lets_processes_search_traces(small_parts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PROBE", 20)
    monkeypatch.setattr(search, "MANY", 1e7)
    verdict = explore(ninc(4), Search(jobs=2))
    assert (verdict.strategy, verdict.complete, verdict.processes, verdict.executions) == ("dpor", True, 2, 576)
    assert not verdict.reason.endswith(", in one process")


class Elsewhere(Litmus):
    """Four increments, and what comes before each step in all processes but the first."""

    def __init__(self, happens: Callable[[], None]) -> None:
        super().__init__(*[(Load("x"), Private(), Store("x", relative=True))] * 4)
        self.origin, self.happens = os.getpid(), happens

    def step(self, state: Any, task: str) -> Any:
        if os.getpid() != self.origin:
            self.happens()
        return super().step(state, task)


@FORK
def test_a_defect_in_a_process_is_one_here(small_parts: None) -> None:
    def defect() -> None:
        raise InternalError("no rule applies")

    with pytest.raises(InternalError, match="no rule applies"):
        explore(Elsewhere(defect), Search("dpor", jobs=2))


@FORK
@pytest.mark.parametrize("steps", [1, 600])
def test_what_was_found_counts_when_time_is_over(
    small_parts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """The time of all processes is how many steps the others have taken. What is left can be taken up."""
    file = tmp_path / "search"
    clock = multiprocessing.get_context("fork").Value("q", 0)

    def ticks() -> None:
        with clock.get_lock():
            clock.value += 1

    monkeypatch.setattr(bounds, "monotonic", lambda: clock.value)
    verdict = explore(Elsewhere(ticks), Search("dpor", jobs=2, max_seconds=steps, checkpoint=file))
    assert (verdict.complete, verdict.stopped_by) == (False, "max-seconds")
    assert verdict.executions == sum(result.executions for result in verdict.results)
    assert (verdict.executions > 0) == (steps > 1)
    assert explore(Elsewhere(ticks), Search(resume=file)).executions == 576


@FORK
def test_progress_tells_of_all(small_parts: None) -> None:
    seen: list[tuple[str, int]] = []
    verdict = explore(ninc(4), Search("dpor", jobs=2), progress=lambda now: seen.append((now.unit, now.explored)))
    assert seen == sorted(seen)
    assert seen[-1] == ("trace", verdict.executions)


# ----------------------------------------------------------------------------------------------------------------- kept


@FORK
@pytest.mark.parametrize("most", few([((1,),), ((50, 2, 200),), ((300, 600, 600),)], 1))
def test_a_search_by_several_goes_on_where_it_was(small_parts: None, tmp_path: Path, most: tuple[int, ...]) -> None:
    """By as many, by more, or by one process; each time with a bound that it may hit anywhere."""
    file, whole = tmp_path / "search", explore(ninc(4), Search("dpor"))
    explore(ninc(4), Search("dpor", jobs=2, max_states=most[0], checkpoint=file))
    for processes, bound in enumerate(most[1:], start=1):
        explore(ninc(4), Search(jobs=processes, max_states=bound, checkpoint=file, resume=file))
    found = explore(ninc(4), Search(resume=file, checkpoint=file))
    assert (found.complete, counted(found), findings(found)) == (True, counted(whole), findings(whole))
    again = explore(ninc(4), Search(resume=file, jobs=3))
    assert (again.complete, counted(again), findings(again)) == (True, counted(whole), findings(whole))


@FORK
def test_parts_that_are_searched_are_kept_as_they_were_given(
    small_parts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written after each that comes back, and believed as if the process had been killed then."""
    file, whole = tmp_path / "search", explore(ninc(4), Search("dpor"))
    kept: list[bytes] = []
    monkeypatch.setattr(checkpoint, "EVERY", 0)
    write = checkpoint.Checkpoint.write

    def copied(self: checkpoint.Checkpoint, *args: Any) -> None:
        write(self, *args)
        kept.append(file.read_bytes())

    monkeypatch.setattr(checkpoint.Checkpoint, "write", copied)
    explore(ninc(4), Search("dpor", jobs=3, checkpoint=file))
    monkeypatch.setattr(checkpoint.Checkpoint, "write", write)
    monkeypatch.setattr(search, "RERUN", -1)
    assert len(kept) > 10
    for contents in (kept[0], kept[len(kept) // 2], kept[-2]):
        file.write_bytes(contents)
        found = explore(ninc(4), Search(resume=file, jobs=2))
        assert (found.complete, counted(found), findings(found)) == (True, counted(whole), findings(whole))


@FORK
def test_what_one_process_has_begun_several_end(tmp_path: Path) -> None:
    file, whole = tmp_path / "search", explore(ninc(4), Search("dpor"))
    cut = explore(ninc(4), Search("dpor", max_states=500, checkpoint=file))
    found = explore(ninc(4), Search(resume=file, jobs=2))
    assert 0 < cut.executions < found.executions
    assert (counted(found), findings(found)) == (counted(whole), findings(whole))
