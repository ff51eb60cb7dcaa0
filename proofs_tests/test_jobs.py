"""Several processes search all traces as one does: each trace in one part, and all findings."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.exploring import PROVE
from proofs_tests.test_dpor import searched
from proofs_tests.test_explorer import programs
from proofs_tests.test_strategies import WIDE, findings
from wingspan import api
from wingspan.errors import InputError, InternalError
from wingspan.explorer import Machine, Search, Verdict, checkpoint, dpor, explore, jobs, search, shortest, states
from wingspan.explorer._dpor import Dpor
from wingspan.explorer.findings import Coverage, verdict
from wingspan.explorer.parts import Fork, Parts, Place
from wingspan.explorer.states import States
from wingspan.testing._litmus import LitmusSpace
from wingspan.testing.litmus import Assert, Jump, Litmus, Load, Private, Store, lastzero, lockinc, ninc

ROOT = Path(__file__).resolve().parent.parent
FORK = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no process can be forked")


def in_parts(machine: Machine[Any], several: int, most: int, seed: int) -> Verdict:
    """The verdict by searches that take turns, each of up to so many runs.

    Which of them goes on, for how long, whether a part is split, and whether all is written down and read again, is
    left to chance.
    """
    there, covered, parts = States(machine), Coverage("dpor"), Parts()
    searching: list[Place] = []
    rng = random.Random(seed)

    def turn() -> None:
        while len(parts.waiting) < several and rng.random() < 0.9 and parts.split():
            pass
        while parts.waiting and len(searching) < several and rng.random() < 0.7:
            searching.append(parts.give())
        if searching:
            search = Dpor(there)
            search.take_up(searching.pop(rng.randrange(len(searching))))
            done = search.run(rng.randint(1, most))
            parts.back(search.place(), done)
            covered.executions += search.executions
            covered.ends.update(search.ends)

    def walk() -> None:
        nonlocal parts
        while parts.waiting or searching:
            turn()
            if rng.random() < 0.1:
                kept = json.dumps([parts.current(place) for place in (*parts.waiting, *searching)])
                parts = Parts(map(Place.of, json.loads(kept)))
                searching.clear()
        assert all(below is None for below in parts.tree.values())

    there.search(walk)
    return verdict(there, covered, None, False)


def counted(verdict: Verdict) -> dict[Hashable, object]:
    """How many executions there are, and of each result."""
    return {"all": verdict.executions, **{result.outcome: result.executions for result in verdict.results}}


@settings(max_examples=400 * PROVE, derandomize=True, deadline=None)
@given(programs(), st.integers(1, 5), st.integers(1, 20), st.integers(0, 2**32))
def test_parts_have_each_trace_once(machine: Litmus, several: int, most: int, seed: int) -> None:
    """In whatever order they are searched, and wherever they are split, down to a run each; and the same findings."""
    one, parts = searched(machine)[0], in_parts(machine, several, most, seed)
    assert findings(parts) == findings(one)
    assert counted(parts) == counted(one)


@pytest.mark.parametrize("machine", [lastzero(6), ninc(4), lockinc(5)], ids=lambda machine: "")
@pytest.mark.parametrize("seed", range(5))
def test_what_wakes_late_is_not_lost(machine: Litmus, seed: int) -> None:
    """Programs with many traces, so that parts come of parts; in the first one runs end asleep."""
    parts = in_parts(machine, 3, 5, seed)
    assert counted(parts) == counted(searched(machine)[0])


@FORK
@pytest.mark.parametrize("machine", [lastzero(3), ninc(3)], ids=lambda machine: "")
def test_the_last_part_of_a_search_is_not_all_of_it(machine: Litmus) -> None:
    """One process that takes it up goes after what it wishes for on the way there, too."""
    for seed in range(10):
        executions, kept = divided(machine, random.Random(seed))
        assert kept
        for told in kept:
            assert resumed(machine, told) == executions == searched(machine)[1].executions


def divided(machine: Litmus, rng: random.Random) -> tuple[int, list[dict[str, Any]]]:
    """How many executions there are, by parts of a run each; and the search whenever it has one part, not all of it."""
    there, parts, covered = States(machine), Parts(), Coverage("dpor")
    kept: list[dict[str, Any]] = []

    def walk() -> None:
        while parts.waiting:
            if len(parts.waiting) == 1 and parts.waiting[0].shared:
                kept.append(json.loads(json.dumps(dpor.keep(covered, list(map(parts.current, parts.waiting))))))
            parts.split()
            rng.shuffle(parts.waiting)
            search = Dpor(there)
            search.take_up(parts.give())
            done = search.run(1)
            parts.back(search.place(), done)
            covered.executions += search.executions

    there.search(walk)
    return covered.executions, kept


def resumed(machine: Litmus, told: dict[str, Any]) -> int:
    """How many executions a search has in the end that one process takes up."""
    again, found = States(machine), Coverage("dpor")

    def walk() -> None:
        nonlocal found
        traces = Search().taken_up(again, told)
        traces.finish(checkpoint.Checkpoint(None, ""))
        found = traces.coverage()

    again.search(walk)
    return found.executions


def test_a_wish_is_granted_once() -> None:
    """Of two parts that wish for the same on their way, which they share: also if it has been explored by then."""
    parts = Parts()
    parts.back(parts.give()._replace(own=(Fork((), "1", (("2", "1"),)),), begun=True), False)
    assert parts.split() and not parts.split()
    one, two = parts.give(), parts.give()
    assert (one.shared, one.wishes) == ((Fork((), "2", given=("1",)),), (("1",),))
    assert (two.shared, two.wishes) == ((Fork((), "1", later=("2",)),), ())
    for place, new in ((one, ["3"]), (two, [])):
        (fork,) = place.shared
        parts.back(place._replace(shared=(fork._replace(wishes=(("3", "4"),)),)), True)
        assert [part.shared[-1].task for part in parts.waiting] == new
        for _ in new:
            parts.back(parts.give(), True)
    assert parts.tree == {"1": None, "2": None, "3": None}


def test_a_wish_for_a_task_that_waits_by_now_takes_nothing_along() -> None:
    """While one search wishes for t b a r r another one wishes for a, so that a waits below t and b.

    The order in which two parts begin is told; all of p is searched after one run of s.
    """
    code = {"r": "xyz", "c": "x", "b": "w", "q": "y", "a": "z", "t": "k", "p": "ywzx", "s": "k", "g": "k"}
    number = {name: str(n) for n, name in enumerate(code, start=1)}
    machine = Litmus(*[tuple(Store(cell, n) for cell in cells) for n, cells in enumerate(code.values(), start=1)])

    def part(fork: Fork, *wishes: str) -> Place:
        return Place((fork,), wishes=tuple(tuple(number[name] for name in wish) for wish in wishes))

    p, s = number["p"], number["s"]
    parts = Parts([part(Fork((), p, later=(s,)), "tqpppba", "tbarr"), part(Fork((), s, given=(p,)), "ag")])
    there, executions = LitmusSpace(machine), 0

    def go_on(place: Place, most: int = -1) -> None:
        nonlocal executions
        search = Dpor(there)
        search.take_up(place)
        done = search.run(most)
        parts.back(search.place(), done)
        executions += search.executions

    second, first = parts.give(), parts.give()
    go_on(second, 1)
    go_on(first)
    while parts.waiting:
        go_on(parts.give())
    alone = Dpor(LitmusSpace(machine))
    alone.run()
    assert executions == alone.executions == 1620


# ------------------------------------------------------------------------------------------------------- real processes


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part is put back after its first slice, and a slice is two runs."""
    monkeypatch.setattr(jobs, "LONG", 0.0)
    monkeypatch.setattr(jobs, "SHORT", 0.0)
    monkeypatch.setattr("wingspan.explorer.workers.SLICE", 2)


def interleavings(verdict: Verdict) -> list[str]:
    """All that are shown. Which of several shortest ones is shown does not depend on who has found it."""
    return sorted(
        [
            *(result.interleaving for result in verdict.results),
            *(race.interleaving for race in verdict.races),
            *(fault.interleaving for fault in verdict.faults),
            *(deadlock.interleaving for deadlock in verdict.deadlocks),
        ]
    )


def same(machine: Machine[Any], **several: Any) -> Verdict:
    """The verdict of several, which is that of one."""
    one, more = (explore(machine, Search("dpor", exact=True, **who)) for who in ({}, several))
    assert findings(more) == findings(one)
    assert counted(more) == counted(one)
    assert interleavings(more) == interleavings(one)
    assert (one.processes, more.processes) == (1, several.get("jobs", 4))
    return more


@FORK
@pytest.mark.parametrize("machine", [ninc(3), ninc(4), lockinc(4), lastzero(4), WIDE, Litmus()], ids=lambda machine: "")
@pytest.mark.parametrize("processes", [2, 5])
def test_processes_find_what_one_finds(small: None, machine: Litmus, processes: int) -> None:
    """Also more processes than parts."""
    assert same(machine, jobs=processes).complete


@FORK
def test_all_that_was_found_is_told_where_no_shortest_way_is(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if nobody looks for shortest ways any further than to the first state: faults that come of one result."""
    monkeypatch.setattr(shortest, "MOST", 1)
    for wrong in range(5):
        machine = Litmus(*ninc(4).programs[1:], after=(Load("x"), Jump(2, wrong), Load("nothing"), Assert(0)))
        one, two = (explore(machine, Search("dpor", jobs=n)) for n in (1, 2))
        assert findings(two) == findings(one)
        assert counted(two) == counted(one)
        assert len(two.faults) == (wrong > 0)


RACY = """
c = Tensor(Dense(Element(0)), 2)
c .= 0
for i = parallel(1:3, cpu(:t, 3))
    c[1] += 1
end
return c
"""
STUCK = """
a = Tensor(Mutex(Dense(Element(0))), 2)
a .= 0
for i = parallel(1:2, cpu(:t, 2))
    a[i] += 1
    for j = parallel(1:2, cpu(:u, 2))
        a[j] += 1
    end
end
return a
"""


@FORK
@pytest.mark.parametrize("machine", api.MACHINES)
@pytest.mark.parametrize("text", [RACY, STUCK])
def test_processes_find_what_one_finds_in_wingspan_programs(small: None, machine: str, text: str) -> None:
    assert same(api.machine_of(api.bind(api.parse(text)), machine), jobs=2).verdict in ("race", "deadlock")


@FORK
@pytest.mark.parametrize("most", [1, 2, 300, 600])
def test_all_processes_together_keep_the_bound(small: None, most: int) -> None:
    """Going after what they have found takes no more."""
    verdict = explore(ninc(4), Search("dpor", jobs=2, max_states=most))
    assert (verdict.complete, verdict.stopped_by, verdict.states) == (False, "max-states", most)
    assert verdict.executions < 576


@FORK
def test_auto_lets_processes_search_traces(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_defect_in_a_process_is_one_here(small: None) -> None:
    def defect() -> None:
        raise InternalError("no rule applies")

    with pytest.raises(InternalError, match="no rule applies"):
        explore(Elsewhere(defect), Search("dpor", jobs=2))


@FORK
@pytest.mark.parametrize("steps", [1, 600])
def test_what_was_found_counts_when_time_is_over(small: None, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """The time of all processes is how many steps the others have taken."""
    clock = multiprocessing.get_context("fork").Value("q", 0)

    def ticks() -> None:
        with clock.get_lock():
            clock.value += 1

    for module in (states, jobs):
        monkeypatch.setattr(module, "monotonic", lambda: clock.value)
    verdict = explore(Elsewhere(ticks), Search("dpor", jobs=2, max_seconds=steps))
    assert (verdict.complete, verdict.stopped_by) == (False, "max-seconds")
    assert verdict.executions == sum(result.executions for result in verdict.results)
    assert (verdict.executions > 0) == (steps > 1)


@FORK
def test_progress_tells_of_all(small: None) -> None:
    seen: list[tuple[str, int]] = []
    verdict = explore(ninc(4), Search("dpor", jobs=2), progress=lambda now: seen.append((now.unit, now.explored)))
    assert seen == sorted(seen)
    assert seen[-1] == ("trace", verdict.executions)


# ------------------------------------------------------------------------------------------------------ kept, a cluster


@FORK
@pytest.mark.parametrize("bounds", [(1,), (50, 2, 200), (300, 600, 600)])
def test_a_search_by_several_goes_on_where_it_was(small: None, tmp_path: Path, bounds: tuple[int, ...]) -> None:
    """By as many, by more, or by one process; each time with a bound that it may hit anywhere."""
    file, whole = tmp_path / "search", explore(ninc(4), Search("dpor"))
    explore(ninc(4), Search("dpor", jobs=2, max_states=bounds[0], checkpoint=file))
    for processes, most in enumerate(bounds[1:], start=1):
        explore(ninc(4), Search(jobs=processes, max_states=most, checkpoint=file, resume=file))
    found = explore(ninc(4), Search(resume=file, checkpoint=file))
    assert (found.complete, counted(found), findings(found)) == (True, counted(whole), findings(whole))
    again = explore(ninc(4), Search(resume=file, jobs=3))
    assert (again.complete, counted(again), findings(again)) == (True, counted(whole), findings(whole))


@FORK
def test_parts_that_are_searched_are_kept_as_they_were_given(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written after each that comes back, and read as if the process had been killed then."""
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
    assert len(kept) > 10
    for contents in (kept[0], kept[1], kept[len(kept) // 2], kept[-2]):
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


CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster's scheduler. Its threads and those of processes that are forked must not meet."""
    file = tmp_path_factory.mktemp("cluster") / "cluster.py"
    file.write_text(CLUSTER)
    env, pipe = {**os.environ, "PYTHONPATH": str(ROOT)}, subprocess.PIPE
    process = subprocess.Popen([sys.executable, str(file)], env=env, stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.communicate()


def test_a_cluster_finds_what_one_finds(scheduler: str) -> None:
    """With a worker's threads in one search each; machines are made anew there."""
    for machine in (ninc(4), lockinc(4), Litmus()):
        assert same(machine, scheduler=scheduler).complete
    for name in api.MACHINES:
        for text in (RACY, STUCK):
            assert same(api.machine_of(api.bind(api.parse(text)), name), scheduler=scheduler).complete


def test_a_cluster_takes_the_jobs_that_it_is_to(scheduler: str, tmp_path: Path) -> None:
    """And goes on with what processes have kept."""
    file, whole = tmp_path / "search", explore(ninc(4), Search("dpor"))
    explore(ninc(4), Search("dpor", jobs=2, max_states=300, checkpoint=file))
    assert counted(explore(ninc(4), Search(resume=file, jobs=3, scheduler=scheduler))) == counted(whole)


def test_workers_without_wingspan_are_one_error(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked there for something that returns None."""
    monkeypatch.setattr("wingspan.explorer.workers.find_spec", print)
    with pytest.raises(InputError, match="do not have wingspan"):
        explore(ninc(2), Search("dpor", scheduler=scheduler))


@pytest.mark.parametrize("address", ["nowhere", "tcp://127.0.0.1:1"])
def test_no_cluster_is_one_error(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wingspan.explorer.workers.PATIENCE", 0.1)
    with pytest.raises(InputError, match=f"there is no Dask scheduler at {address}: "):
        explore(ninc(2), Search("dpor", scheduler=address))


# ------------------------------------------------------------------------------------------------ how processes may end

SCRIPT = """
import os, signal, sys
from wingspan import cli
from wingspan.explorer import jobs, workers
from wingspan.explorer.states import States

jobs.SHORT = 0
workers.SLICE = 1
first, enter, told = os.getpid(), States.enter, []

def entering(self, node, task):
    if os.getpid() != first and not told:
        told.append(os.write(1, b"%d\\n" % os.getpid()))
        while {wait}:
            signal.pause()
    return enter(self, node, task)

States.enter = entering
cli.main(["explore", sys.argv[1], "--strategy", "dpor", "--jobs", "2", "--threads", "4"])
"""
"""Explores a program with two processes, which write who they are at their first new state, and may wait there."""


@pytest.fixture
def script(tmp_path: Path) -> Callable[[bool, int], tuple[subprocess.Popen[str], list[int]]]:
    """Starts it: the first process, and others, which have begun. They would not come to an end."""
    file = tmp_path / "racy.ws"
    file.write_text(RACY.replace("1:3", "1:40"))

    def start(wait: bool, others: int) -> tuple[subprocess.Popen[str], list[int]]:
        command = [sys.executable, "-c", SCRIPT.format(wait=wait), str(file)]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
        assert process.stdout is not None
        return process, [int(process.stdout.readline()) for _ in range(others)]

    return start


def ending(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """How it ends; there is an end of what it writes only when the other processes are gone, too."""
    out, err = process.communicate(timeout=100)
    return process.returncode, out, err


@FORK
@pytest.mark.parametrize("all_of_them", [True, False])
def test_ctrl_c_ends_all_processes_with_what_they_have(script: Any, all_of_them: bool) -> None:
    """As a terminal sends it, and as `kill` does."""
    process, _ = script(False, 2)
    (os.killpg if all_of_them else os.kill)(process.pid, signal.SIGINT)
    status, out, err = ending(process)
    assert (status, err) == (1, "")
    assert out.startswith("race  ") and "stopped by Ctrl-C" in out


@FORK
def test_a_killed_process_is_one_error(script: Any) -> None:
    process, others = script(True, 1)
    os.kill(others[0], signal.SIGKILL)
    status, out, err = ending(process)
    assert (status, out) == (2, "")
    assert err.startswith("error[jobs]: a process of the search was killed\n  fix  ")


@FORK
def test_processes_end_when_the_first_one_is_killed(script: Any) -> None:
    process, _ = script(False, 2)
    process.kill()
    assert ending(process)[0] == -signal.SIGKILL
