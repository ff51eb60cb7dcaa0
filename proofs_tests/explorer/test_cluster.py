"""The workers of a Dask cluster search all traces as one process does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.explorer.plain import Plain
from proofs_tests.explorer.test_strategies import findings
from proofs_tests.places import ROOT
from proofs_tests.several import RACY, STUCK, counted, same
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.explorer import Search, explore, jobs
from wingspan.explorer.cluster import AllWorkersLost, WorkerLost, connect
from wingspan.explorer.states import States
from wingspan.explorer.workers import SearchWorker, Submit
from wingspan.testing.litmus import Litmus, lockinc, ninc

pytestmark = pytest.mark.deep


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On busy processors a worker takes its time to begin."""
    monkeypatch.setattr("wingspan.explorer.cluster.PATIENCE", 100.0)


def test_a_cluster_finds_what_one_finds(scheduler: str) -> None:
    """With a worker's threads in one search each; machines are made anew there."""
    for machine in (ninc(4), lockinc(4), Litmus()):
        assert same(machine, scheduler=scheduler).complete
    for name in api.MACHINES:
        for text in (RACY, STUCK):
            assert same(api.machine_of(api.bind(api.parse(text)), name), scheduler=scheduler).complete


def test_workers_that_are_there_are_seen(scheduler: str) -> None:
    """Else a search would end as soon as patience does."""
    with connect(scheduler) as cluster:
        assert cluster.workers() == len(cluster.client.nthreads()) > 0


def test_a_cluster_takes_the_jobs_that_it_is_to(scheduler: str, tmp_path: Path) -> None:
    """And goes on with what processes have kept."""
    file, whole = tmp_path / "search", explore(ninc(4), Search("dpor"))
    explore(ninc(4), Search("dpor", jobs=2, max_states=300, checkpoint=file))
    found = explore(ninc(4), Search(resume=file, jobs=3, scheduler=scheduler))
    assert (found.processes, counted(found)) == (3, counted(whole))


def test_workers_without_wingspan_are_one_error(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked there for something that returns None."""
    monkeypatch.setattr("wingspan.explorer.cluster.find_spec", print)
    with pytest.raises(InputError, match="do not have wingspan"):
        explore(ninc(2), Search("dpor", scheduler=scheduler))


@pytest.mark.parametrize("address", ["nowhere", "tcp://127.0.0.1:1"])
def test_no_cluster_is_one_error(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wingspan.explorer.cluster.PATIENCE", 0.1)
    with pytest.raises(InputError, match=f"there is no Dask scheduler at {address}: "):
        explore(ninc(2), Search("dpor", scheduler=address))


# ----------------------------------------------------------------------------------------------------- workers are lost


def losing(monkeypatch: pytest.MonkeyPatch, lost: Callable[[int], Exception | None]) -> None:
    """A worker that is not real, some of whose answers are lost instead, by their numbers."""

    @contextmanager
    def processes(states: States[Any], _: int) -> Iterator[Submit]:
        worker, numbers = SearchWorker(States(states.machine)), count()

        def submit(do: Callable[..., Any], *asked: Any) -> Future[Any]:
            answer: Future[Any] = Future()
            loss = lost(next(numbers))
            if loss is None:
                answer.set_result(do(worker, *asked))
            else:
                answer.set_exception(loss)
            return answer

        yield submit

    monkeypatch.setattr("wingspan.explorer.workers.forked_workers", processes)


@pytest.mark.parametrize("strategy", ["graph", "dpor"])
@pytest.mark.parametrize("lost", [lambda n: n % 3, lambda n: n % 10, lambda n: n < 2 * jobs.LOSSES])
def test_a_search_survives_answers_that_are_lost(
    small_parts: None, monkeypatch: pytest.MonkeyPatch, strategy: str, lost: Callable[[int], bool]
) -> None:
    """Of three answers one comes, or of ten; or as many are lost in a row as may be."""
    losing(monkeypatch, lambda n: WorkerLost() if lost(n) else None)
    one, more = (explore(Plain(ninc(4)), Search(strategy, jobs=n)) for n in (1, 2))
    assert (more.complete, counted(more), findings(more)) == (True, counted(one), findings(one))


@pytest.mark.parametrize("loss", [WorkerLost(), AllWorkersLost()])
def test_without_workers_a_search_ends_with_what_it_has(
    small_parts: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loss: Exception
) -> None:
    """From the tenth answer on none comes. All traces cannot be searched then, and what is left is kept."""
    losing(monkeypatch, lambda n: loss if n >= 10 else None)
    cut = explore(ninc(4), Search("dpor", jobs=2, checkpoint=tmp_path / "search"))
    assert (cut.complete, cut.stopped_by, cut.verdict) == (False, "workers", "race")
    assert 0 < cut.executions < 576
    found = explore(ninc(4), Search(resume=tmp_path / "search"))
    assert (found.complete, counted(found)) == (True, counted(explore(ninc(4), Search("dpor"))))


@pytest.mark.parametrize("loss", [WorkerLost(), AllWorkersLost()])
def test_all_states_need_no_workers(monkeypatch: pytest.MonkeyPatch, loss: Exception) -> None:
    """The first process takes the steps itself; nobody is asked again who is gone."""
    asked: list[int] = []

    def lost(n: int) -> Exception | None:
        asked.append(n)
        return loss if n >= 10 else None

    losing(monkeypatch, lost)
    one, more = (explore(Plain(ninc(4)), Search("graph", jobs=n)) for n in (1, 2))
    assert replace(more, seconds=0.0, processes=1) == replace(one, seconds=0.0)
    assert (len(asked) < 20) == isinstance(loss, AllWorkersLost)


@pytest.mark.parametrize("strategy", ["graph", "dpor"])
def test_whichever_answer_is_lost_the_verdict_is_true(
    small_parts: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, strategy: str
) -> None:
    """One lost answer, or all from there on: a cut search claims no more than it has, and its checkpoint is resumed."""
    file, whole = tmp_path / "search", explore(Plain(ninc(3)), Search(strategy))
    monkeypatch.setattr("wingspan.explorer.checkpoint.EVERY", 0)
    monkeypatch.setattr("wingspan.explorer.search.RERUN", -1)
    stopped: list[str | None] = []
    for first in count():
        asked: set[int] = set()

        def one(n: int, first: int = first) -> Exception | None:
            return WorkerLost() if n == first else None

        def rest(n: int, first: int = first, asked: set[int] = asked) -> Exception | None:
            asked.add(n)
            return AllWorkersLost() if n >= first else None

        losing(monkeypatch, one)
        found = explore(Plain(ninc(3)), Search(strategy, jobs=2))
        assert (found.complete, counted(found), findings(found)) == (True, counted(whole), findings(whole))
        losing(monkeypatch, rest)
        cut = explore(Plain(ninc(3)), Search(strategy, jobs=2, checkpoint=file))
        stopped.append(cut.stopped_by)
        assert cut.complete == (cut.stopped_by is None)
        assert cut.executions < whole.executions or counted(cut) == counted(whole)
        assert cut.verdict == ("race" if cut.races else "incomplete")
        losing(monkeypatch, lambda n: None)
        found = explore(Plain(ninc(3)), Search(resume=file))
        assert (found.complete, counted(found), findings(found)) == (True, counted(whole), findings(whole))
        if first not in asked:
            break
    assert set(stopped[:-1]) == {None if strategy == "graph" else "workers"} and stopped[-1] is None
    assert len(stopped) > 5


def test_the_loss_of_workers_is_reported(
    small_parts: None, monkeypatch: pytest.MonkeyPatch, command: Any, written: Any
) -> None:
    losing(monkeypatch, lambda n: AllWorkersLost() if n else None)
    words = ("explore", written(RACY), "--strategy", "dpor", "--jobs", "2")
    done = command(*words)
    assert (done.status, done.err) == (1, "")
    assert "stopped by the loss of its workers, so there may be more to find" in done.out
    cut = command(*words, "--json").json
    assert (cut["complete"], cut["stopped_by"]) == (False, "workers")


class Mortal(Litmus):
    """Four increments, during which so many workers of another process end, each before it has done anything."""

    def __init__(self, deaths: Path, times: int) -> None:
        super().__init__(*ninc(4).programs[1:])
        self.origin, self.deaths, self.times = os.getpid(), deaths, times

    def step(self, state: Any, task: str) -> Any:
        if os.getpid() != self.origin:
            for n in range(self.times):
                with suppress(FileExistsError):
                    os.mkdir(self.deaths / str(n))
                    os._exit(1)
        return super().step(state, task)


ONE_WORKER = """
import subprocess, sys
from distributed import Client, LocalCluster

if __name__ == "__main__":
    inside = {"processes": False, "protocol": "tcp://"} if sys.argv[1] == "inside" else {}
    with LocalCluster(n_workers=0, dashboard_address=None, **inside) as cluster:
        address = cluster.scheduler_address
        if sys.argv[1] == "once":
            words = [address, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
            worker = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_worker", *words])
        else:
            cluster.scale(1)
        with Client(cluster) as client:
            client.wait_for_workers(1)
        print(address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def one_worker(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """The address of a scheduler with one worker.

    It is started `again` when it ends, or runs only `once`, or is `inside` of the scheduler, and takes that along.
    """
    begun: list[subprocess.Popen[str]] = []
    settings = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0", "PYTHONPATH": str(ROOT)}
    file, pipe, quiet = tmp_path / "cluster.py", subprocess.PIPE, subprocess.DEVNULL
    file.write_text(ONE_WORKER)

    def begin(how: str) -> str:
        command, env = [sys.executable, str(file), how], {**os.environ, **settings}
        begun.append(subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=quiet, text=True))
        assert begun[0].stdout is not None
        return begun[0].stdout.readline().strip()

    yield begin
    for process in begun:
        process.communicate(timeout=100)


def test_a_search_survives_the_loss_of_all_workers(one_worker: Callable[[str], str], tmp_path: Path) -> None:
    """There is one, and it ends again and again; each time another one is started, which knows of nothing."""
    (tmp_path / "deaths").mkdir()
    found = explore(Mortal(tmp_path / "deaths", 2), Search("dpor", scheduler=one_worker("again")))
    one = explore(ninc(4), Search("dpor"))
    assert (found.complete, counted(found), findings(found)) == (True, counted(one), findings(one))
    assert len(list((tmp_path / "deaths").iterdir())) == 2


@pytest.mark.parametrize("how", ["once", "inside"])
def test_a_search_ends_when_no_worker_comes_back(
    one_worker: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """With what it has, which is kept: whether there still is a scheduler, or not."""
    (tmp_path / "deaths").mkdir()
    address = one_worker(how)
    monkeypatch.setattr("wingspan.explorer.cluster.PATIENCE", 1.0)
    found = explore(Mortal(tmp_path / "deaths", 1), Search("dpor", scheduler=address, checkpoint=tmp_path / "search"))
    assert (found.complete, found.stopped_by, found.executions) == (False, "workers", 0)
    assert explore(ninc(4), Search(resume=tmp_path / "search")).executions == 576
