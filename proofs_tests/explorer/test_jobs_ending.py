"""How a search by several processes ends before its time: by Ctrl-C, or because one of them is killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.several import FORK, RACY, begun, ending
from wingspan.explorer import Search, explore, jobs
from wingspan.explorer.jobs import Team
from wingspan.explorer.states import States
from wingspan.explorer.workers import Found, Submit, Worker
from wingspan.testing.litmus import ninc


@pytest.fixture
def silence(small_parts: None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Two answers are given, and no others: if the first process waits for one Ctrl-C comes twice, so often by now."""
    asked: list[Future[Any]] = []
    interrupts: list[int] = []

    @contextmanager
    def processes(states: States[Any], _: int) -> Iterator[Submit]:
        worker = Worker(States(states.machine))

        def submit(do: Callable[..., Any], *part: Any) -> Future[Any]:
            answer: Future[Any] = Future()
            if len(asked) < 2:
                answer.set_result(do(worker, *part))
            asked.append(answer)
            return answer

        yield submit

    def waiting(running: Any, timeout: float | None, **how: Any) -> Any:
        assert timeout is None, "there is no bound"
        if not any(answer.done() for answer in running):
            assert not interrupts, "it waits again"
            for times in (1, 2):
                interrupts.append(times)
                signal.raise_signal(signal.SIGINT)
            pytest.fail("it waits for ever")
        return wait(running, timeout=0, **how)

    monkeypatch.setattr("wingspan.explorer.workers.processes", processes)
    monkeypatch.setattr(jobs, "wait", waiting)
    return interrupts


def test_a_second_ctrl_c_waits_for_nobody(silence: list[int]) -> None:
    """The first one ends nothing; afterwards Ctrl-C does what it did before."""
    before = signal.getsignal(signal.SIGINT)
    verdict = explore(ninc(4), Search("dpor", jobs=2))
    assert (verdict.complete, verdict.stopped_by, verdict.executions) == (False, "interrupt", 4)
    assert silence == [1, 2]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_lets_an_answer_be_heard(silence: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both come while it is; the other process, which searches, is not waited for."""
    hear = Team.hear

    def interrupted(self: Team, answer: Future[Found]) -> None:
        for _ in range(2 if self.covered.executions else 0):
            signal.raise_signal(signal.SIGINT)
        hear(self, answer)

    monkeypatch.setattr(Team, "hear", interrupted)
    verdict = explore(ninc(4), Search("dpor", jobs=2))
    assert (verdict.complete, verdict.stopped_by, verdict.executions) == (False, "interrupt", 4)
    assert not silence


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

    return lambda wait, others: begun(SCRIPT.format(wait=wait), others, file)


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
