"""Early ends of a search by several processes: by Ctrl-C, or because one of them is killed."""

from __future__ import annotations

import errno
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from multiprocessing.synchronize import SemLock
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.explorer.plain import Plain
from proofs_tests.failing import each_in_turn
from proofs_tests.several import FORK, RACY, begun, counted, ending
from wingspan.base.errors import InputError
from wingspan.base.signals import ENDING
from wingspan.explorer import Search, Verdict, checkpoint, explore, jobs, workers
from wingspan.explorer.findings import verdict
from wingspan.explorer.jobs import ParallelSearch
from wingspan.explorer.states import States
from wingspan.explorer.workers import PartResult, SearchWorker, Submit
from wingspan.testing.litmus import ninc

pytestmark = pytest.mark.deep


@pytest.fixture
def silence(small_parts: None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Two answers are given, and no others: if the first process waits for one Ctrl-C comes twice, so often by now."""
    asked: list[Future[Any]] = []
    interrupts: list[int] = []

    @contextmanager
    def processes(states: States[Any], _: int) -> Iterator[Submit]:
        worker = SearchWorker(States(states.machine))

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

    monkeypatch.setattr("wingspan.explorer.workers.forked_workers", processes)
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
    hear = ParallelSearch.collect

    def interrupted(self: ParallelSearch, answer: Future[PartResult]) -> None:
        for _ in range(2 if self.covered.executions else 0):
            signal.raise_signal(signal.SIGINT)
        hear(self, answer)

    monkeypatch.setattr(ParallelSearch, "collect", interrupted)
    verdict = explore(ninc(4), Search("dpor", jobs=2))
    assert (verdict.complete, verdict.stopped_by, verdict.executions) == (False, "interrupt", 4)
    assert not silence


SCRIPT = """
import os, signal, sys
from wingspan import cli
from wingspan.explorer import jobs, workers
from wingspan.explorer import states
from wingspan.explorer.states import States

jobs.SHORT = 0
workers.SLICE = 1
states.offers_local_steps = lambda machine: False  # so that each step is entered
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


STOPPED = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM or SIGHUP", signal.SIGHUP: "SIGTERM or SIGHUP"}


@FORK
@pytest.mark.parametrize(
    ("number", "all_of_them"), [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGTERM, True)]
)
def test_a_signal_ends_all_processes_with_what_they_have(script: Any, number: int, all_of_them: bool) -> None:
    """As a terminal or an init system sends it, and as `kill` does."""
    process, _ = script(False, 2)
    (os.killpg if all_of_them else os.kill)(process.pid, number)
    status, out, err = ending(process)
    assert (status, err) == (1, "")
    assert out.startswith("race  ") and f"stopped by {STOPPED[signal.Signals(number)]}" in out


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


@FORK
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process that does not run cannot see it")
def test_a_process_that_does_not_run_ends_with_the_first_one(script: Any) -> None:
    """It is stopped, so that it cannot notice by itself."""
    process, others = script(True, 1)
    os.kill(others[0], signal.SIGSTOP)
    process.kill()
    try:
        assert ending(process)[0] == -signal.SIGKILL
    finally:
        with suppress(ProcessLookupError):
            os.kill(others[0], signal.SIGKILL)


# ------------------------------------------------------------------------------------------- signals, in one process


@pytest.fixture(params=[signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def ends(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    """A signal that ends the process, as far as that goes in here."""
    before = signal.signal(request.param, signal.SIG_DFL)
    yield request.param
    assert signal.getsignal(request.param) == signal.SIG_DFL
    signal.signal(request.param, before)


def at_the_tenth_step(monkeypatch: pytest.MonkeyPatch, *numbers: signal.Signals) -> None:
    """The tenth that the machine is asked for."""
    act_of, steps = States.act_of, itertools.count(1)

    def asking(self: States[Any], choice: Any) -> int:
        if next(steps) == 10:
            for number in numbers:
                signal.raise_signal(number)
        return act_of(self, choice)

    monkeypatch.setattr(States, "act_of", asking)


@pytest.mark.parametrize("strategy", ["graph", "dpor"])
def test_a_signal_ends_a_search_like_ctrl_c(
    command: Any, written: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ends: signal.Signals, strategy: str
) -> None:
    """It is kept, and goes on to what it would have come to."""
    file, words = tmp_path / "search", ("explore", written(RACY), "--json", "--strategy", strategy)
    whole = command(*words).json
    with monkeypatch.context() as patch:
        at_the_tenth_step(patch, ends)
        cut = command(*words, "--checkpoint", str(file))
    assert (cut.status, cut.json["stopped_by"], cut.json["verdict"], cut.err) == (1, "signal", "race", "")
    assert 0 < cut.json["states"] < whole["states"]
    found = command(*words[:3], "--resume", str(file)).json
    assert {**found, "seconds": 0} == {**whole, "seconds": 0}


def test_a_signal_that_is_repeated_changes_nothing(
    command: Any, written: Any, monkeypatch: pytest.MonkeyPatch, ends: signal.Signals
) -> None:
    """Neither before the search has obeyed it nor while its verdict is made."""
    at_the_tenth_step(monkeypatch, ends, *ENDING)

    def signalled(*of: Any) -> Verdict:
        for number in ENDING:
            signal.raise_signal(number)
        return verdict(*of)

    monkeypatch.setattr("wingspan.explorer.search.verdict", signalled)
    done = command("explore", written(RACY), "--json")
    assert (done.status, done.json["stopped_by"], done.err) == (1, "signal", "")


def test_ctrl_c_after_a_signal_waits_for_nothing(
    command: Any, written: Any, monkeypatch: pytest.MonkeyPatch, ends: signal.Signals
) -> None:
    at_the_tenth_step(monkeypatch, ends, signal.SIGINT)
    done = command("explore", written(RACY))
    assert (done.status, done.out, done.err) == (130, "", "interrupted\n")


@FORK
@pytest.mark.parametrize("strategy", ["graph", "dpor"])
def test_ctrl_c_that_is_ignored_ends_no_search_by_several(monkeypatch: pytest.MonkeyPatch, strategy: str) -> None:
    at_the_tenth_step(monkeypatch, signal.SIGINT)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert explore(Plain(ninc(3)), Search(strategy, jobs=2)).complete
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_signal_outside_of_a_search_has_its_status(
    command: Any, written: Any, monkeypatch: pytest.MonkeyPatch, ends: signal.Signals
) -> None:
    monkeypatch.setattr("wingspan.api.exploring.bind", lambda *_, **__: signal.raise_signal(ends))
    done = command("explore", written(RACY))
    assert (done.status, done.out, done.err) == (128 + ends, "", f"ended by {ends.name}\n")


def test_a_signal_that_is_ignored_ends_nothing(
    command: Any, written: Any, monkeypatch: pytest.MonkeyPatch, ends: signal.Signals
) -> None:
    """As after nohup."""
    at_the_tenth_step(monkeypatch, ends)
    signal.signal(ends, signal.SIG_IGN)
    try:
        assert command("explore", written(RACY), "--json").json["complete"]
    finally:
        signal.signal(ends, signal.SIG_DFL)


# ------------------------------------------------------------------------------------- processes that cannot be started


def answer(to: Any) -> None:
    """Send the result of a search by two processes, in this process."""
    try:
        to.send(explore(ninc(3), Search("dpor", jobs=2)).executions)
    except Exception as error:
        to.send([type(error).__name__, str(error), getattr(error, "fix", "")])


@FORK
@pytest.mark.parametrize("daemon", [True, False])
def test_a_daemonic_process_says_that_it_cannot_start_others(daemon: bool) -> None:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=answer, args=(theirs,), daemon=daemon)
    process.start()
    said = ours.recv()
    process.join()
    if not daemon:
        assert said == 36
    else:
        assert said[0] == "InputError" and "a daemonic process cannot start others" in said[1]
        assert said[2] == "leave out --jobs, or start this process with daemon=False"


@FORK
@pytest.mark.parametrize("error", [OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)), MemoryError()])
@pytest.mark.parametrize("strategy", ["graph", "dpor"])
def test_a_process_or_lock_that_cannot_be_made_is_one_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: BaseException, strategy: str
) -> None:
    """Each in turn; then no process is left, and the file that was kept before is as it was."""
    file, outcomes = tmp_path / "search", []
    explore(Plain(ninc(3)), Search(strategy, max_states=20, checkpoint=file))
    before = file.read_bytes()
    for failing in each_in_turn(error):
        with monkeypatch.context() as patch:
            failing.within(patch, ((os, "fork"), (SemLock, "__init__")))
            file.write_bytes(before)
            try:
                outcomes.append(explore(Plain(ninc(3)), Search(jobs=3, checkpoint=file, resume=file)).complete)
            except InputError as raised:
                assert raised.message.startswith("3 processes cannot be started: ") and raised.fix
                assert file.read_bytes() == before
                outcomes.append(False)
        left = multiprocessing.active_children()
        for each in left:  # pytest would wait for them
            each.kill()
        assert not left
    assert outcomes == [False] * (len(outcomes) - 1) + [True]
    assert len(outcomes) > 6


HERE = workers._run_in_process
LEFT = multiprocessing.Value("i", 0)
"""With so many messages to processes that are forked from this one, one of them is killed."""


def mortal(*of: Any) -> Any:
    """Handle a message in such a process."""
    with LEFT.get_lock():
        LEFT.value -= 1
        last = LEFT.value == 0
    if last:
        os.kill(os.getpid(), signal.SIGKILL)
    return HERE(*of)


@FORK
@pytest.mark.parametrize("strategy", ["graph", "dpor"])
def test_whenever_a_process_is_killed_what_is_kept_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, strategy: str
) -> None:
    """With the first message to a process, with the second one, and so on. It is one error, and nothing is left.

    What is kept is not run again, so that all is lost that is not kept.
    """
    monkeypatch.setattr(checkpoint, "EVERY", 0)
    monkeypatch.setattr("wingspan.explorer.search.RERUN", -1)
    monkeypatch.setattr(jobs, "LONG", 0.0)
    monkeypatch.setattr(jobs, "SHORT", 0.0)
    monkeypatch.setattr("wingspan.explorer.workers.SLICE", 8)
    monkeypatch.setattr("wingspan.explorer.lookahead.MOST", 8)
    file, whole, outcomes = tmp_path / "search", explore(Plain(ninc(3)), Search(strategy)), []
    explore(Plain(ninc(3)), Search(strategy, max_states=5, checkpoint=file))
    before = file.read_bytes()
    for last in itertools.count(1):
        file.write_bytes(before)
        with monkeypatch.context() as patch:
            # a new one each time: another process, which is killed thereupon, may hold the lock
            patch.setitem(globals(), "LEFT", multiprocessing.Value("i", last))
            patch.setattr(workers, "_run_in_process", mortal)
            try:
                outcomes.append(counted(explore(Plain(ninc(3)), Search(resume=file, checkpoint=file, jobs=2))))
            except InputError as raised:
                assert raised.message == "a process of the search was killed" and raised.fix
        assert multiprocessing.active_children() == []
        assert [each.name for each in tmp_path.iterdir()] == ["search"]
        found = explore(Plain(ninc(3)), Search(resume=file))
        assert (found.complete, counted(found)) == (True, counted(whole))
        if outcomes:
            break
    assert outcomes == [counted(whole)] and last > 3


@FORK
@pytest.mark.parametrize("strategy", ["graph", "dpor"])
def test_a_worker_without_memory_is_no_defect(
    command: Any, written: Any, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """By graph the first process does what others cannot; else it is one error."""

    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("wingspan.explorer.workers.advance", full)
    monkeypatch.setattr("wingspan.explorer.workers.Dpor", full)
    done = command("explore", written(RACY), "--strategy", strategy, "--jobs", "2")
    if strategy == "graph":
        assert (done.status, done.err) == (1, "") and "complete: " in done.out
    else:
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith("error[memory]: memory ran out\n  fix  ")
    assert multiprocessing.active_children() == []
