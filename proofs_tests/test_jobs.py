"""Several processes search all traces as one does: each trace in one part, and all findings."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Hashable
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
from wingspan.errors import InternalError
from wingspan.explorer import Machine, Search, Verdict, explore, jobs, search, shortest, states
from wingspan.explorer._dpor import Dpor
from wingspan.explorer.findings import Coverage, verdict
from wingspan.explorer.states import States
from wingspan.testing.litmus import Assert, Jump, Litmus, Load, Private, Store, lockinc, ninc

ROOT = Path(__file__).resolve().parent.parent
FORK = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no process can be forked")


def in_parts(machine: Machine[Any], probe: int, many: int) -> Verdict:
    """The verdict by searching parts, one after the other."""
    there, covered = States(machine), Coverage("dpor")

    def walk() -> None:
        for part in jobs.split(there, many, covered):
            search = Dpor(there, *part)
            assert search.run()
            assert part.waiting or not search.redundant
            jobs.count_runs(search, covered)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "PROBE", probe)
        there.search(walk)
    return verdict(there, covered, None, False)


def counted(verdict: Verdict) -> dict[Hashable, object]:
    """How many executions there are, and of each result."""
    return {"all": verdict.executions, **{result.outcome: result.executions for result in verdict.results}}


@settings(max_examples=300 * PROVE, derandomize=True, deadline=None)
@given(programs(), st.integers(1, 3), st.integers(1, 200))
def test_parts_have_each_trace_once(machine: Litmus, probe: int, many: int) -> None:
    """Down to parts that are one run; the same findings, though races between a part and what comes before it rest."""
    one, parts = searched(machine)[0], in_parts(machine, probe, many)
    assert findings(parts) == findings(one)
    assert counted(parts) == counted(one)


# ------------------------------------------------------------------------------------------------------- real processes


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part of more than one run is one for other processes."""
    monkeypatch.setattr(jobs, "PROBE", 1)


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


def same(machine: Machine[Any], processes: int = 2) -> Verdict:
    one, several = (explore(machine, Search("dpor", exact=True, jobs=n)) for n in (1, processes))
    assert findings(several) == findings(one)
    assert counted(several) == counted(one)
    assert interleavings(several) == interleavings(one)
    assert several.states >= one.states and several.steps >= several.states - 1
    return several


@FORK
@pytest.mark.parametrize("machine", [ninc(3), ninc(4), lockinc(4), WIDE, Litmus()], ids=lambda machine: "")
@pytest.mark.parametrize("processes", [2, 5])
def test_processes_find_what_one_finds(small: None, machine: Litmus, processes: int) -> None:
    """Also more processes than parts, and none that is needed."""
    assert same(machine, processes).complete


@FORK
def test_all_that_was_found_is_told_where_no_shortest_way_is(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if nobody looks for shortest ways any further than to the first state: faults that come of one result."""
    monkeypatch.setattr(shortest, "MOST", 1)
    monkeypatch.setattr(jobs, "PARTS", 1)
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
    assert same(api.machine_of(api.bind(api.parse(text)), machine)).verdict in ("race", "deadlock")


@FORK
@pytest.mark.parametrize("most", [1, 300, 600])
def test_all_processes_together_keep_the_bound(small: None, most: int) -> None:
    """Each has its share of it, also if they begin late; going after what they have found takes no more."""
    verdict = explore(ninc(4), Search("dpor", jobs=2, max_states=most))
    assert (verdict.complete, verdict.stopped_by) == (False, "max-states")
    assert verdict.states <= most
    assert verdict.executions < 576


@FORK
@pytest.mark.parametrize(("many", "strategy", "found"), [(1e7, "dpor", 576), (100, "graph", 24)])
def test_auto_lets_processes_search_traces_only(
    small: None, monkeypatch: pytest.MonkeyPatch, many: float, strategy: str, found: int
) -> None:
    monkeypatch.setattr(search, "PROBE", 20)
    monkeypatch.setattr(search, "MANY", many)
    verdict = explore(ninc(4), Search(jobs=2))
    assert (verdict.strategy, verdict.complete) == (strategy, True)
    assert (verdict.reason.endswith(", in one process")) == (strategy == "graph")
    assert strategy == "graph" or verdict.executions == found


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

    monkeypatch.setattr(states, "monotonic", lambda: clock.value)
    verdict = explore(Elsewhere(ticks), Search("dpor", jobs=2, max_seconds=steps))
    assert (verdict.complete, verdict.stopped_by) == (False, "max-seconds")
    assert verdict.executions == sum(result.executions for result in verdict.results)


@FORK
def test_progress_adds_up(small: None) -> None:
    """The states of all; the last call may come up to one step of progress before the end, in each process."""
    seen: list[int] = []
    verdict = explore(ninc(5), Search("dpor", jobs=2), progress=lambda status: seen.append(status.explored))
    assert verdict.states - 2 * 256 < max(seen) <= verdict.states


# ------------------------------------------------------------------------------------------------ how processes may end

SCRIPT = """
import os, signal, sys
from wingspan import cli
from wingspan.explorer import jobs
from wingspan.explorer.states import States

jobs.PROBE = 1
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
def script(tmp_path: Path) -> Callable[[bool], tuple[subprocess.Popen[str], list[int]]]:
    """Starts it: the first process, and the other two, which have begun. They would not come to an end."""
    file = tmp_path / "racy.ws"
    file.write_text(RACY.replace("1:3", "1:40"))

    def start(wait: bool) -> tuple[subprocess.Popen[str], list[int]]:
        command = [sys.executable, "-c", SCRIPT.format(wait=wait), str(file)]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
        assert process.stdout is not None
        return process, [int(process.stdout.readline()) for _ in range(2)]

    return start


def ending(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """How it ends; there is an end of what it writes only when the other processes are gone, too."""
    out, err = process.communicate(timeout=100)
    return process.returncode, out, err


@FORK
@pytest.mark.parametrize("all_of_them", [True, False])
def test_ctrl_c_ends_all_processes_with_what_they_have(script: Any, all_of_them: bool) -> None:
    """As a terminal sends it, and as `kill` does."""
    process, _ = script(wait=True)
    (os.killpg if all_of_them else os.kill)(process.pid, signal.SIGINT)
    status, out, err = ending(process)
    assert (status, err) == (1, "")
    assert out.startswith("race  ") and "stopped by Ctrl-C" in out


@FORK
def test_a_killed_process_is_one_error(script: Any) -> None:
    process, others = script(wait=True)
    os.kill(others[1], signal.SIGKILL)
    status, out, err = ending(process)
    assert (status, out) == (2, "")
    assert err.startswith("error[jobs]: a process of the search was killed by signal 9\n  fix  ")


@FORK
def test_processes_end_when_the_first_one_is_killed(script: Any) -> None:
    process, _ = script(wait=False)
    process.kill()
    assert ending(process) == (-signal.SIGKILL, "", "")
