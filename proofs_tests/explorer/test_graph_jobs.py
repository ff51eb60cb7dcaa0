"""Several processes search all states as one does: in the same order, to the same verdict and the same checkpoint."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import few, many
from proofs_tests.explorer.plain import Plain
from proofs_tests.explorer.test_jobs import Elsewhere
from proofs_tests.explorer.test_litmus import litmus
from proofs_tests.explorer.test_sent_states import COPIES, OVERFLOWS
from proofs_tests.several import FORK, RACY, STUCK, begun, ending
from wingspan import api
from wingspan.base.errors import InputError, InternalError, WingspanError
from wingspan.base.signals import terminating
from wingspan.explorer import Machine, Search, Verdict, checkpoint, explore, lookahead, search
from wingspan.explorer import states as states_module
from wingspan.explorer.interrupts import Interrupts
from wingspan.explorer.lookahead import Lookahead
from wingspan.explorer.settle import advance
from wingspan.explorer.states import States
from wingspan.explorer.workers import SearchWorker, pack, unpack
from wingspan.testing.litmus import Litmus, Load, Spawn, Store, lockinc, ninc
from wingspan.testing.programs import programs

FAULTY = """
a = Tensor(SparseList(Element(0)), 2)
a .= 0
for i = parallel(1:2, cpu(:t, 2))
    a[i] += 1
end
return a
"""


def comparable(states: States[Any]) -> dict[str, object]:
    """All that a search has come to, but for the states themselves."""
    found = states.finished, states.faults, states.deadlocks, states.races, states.at
    order = [list(each) for each in found]
    return {
        "kept": states.keep(), "steps": states.steps, "resumptions": states.resumptions, "found": found, "order": order,
    }  # fmt: skip


def alone(machine: Machine[Any], **bounds: Any) -> States[Any]:
    """The states that one process comes to."""
    states = States(machine, **bounds)
    states.search(states.flood)
    return states


def helped(
    machine: Machine[Any],
    processes: int,
    skip: Callable[[], bool] = lambda: False,
    interrupts: Interrupts | None = None,
    number: int = signal.SIGINT,
    **bounds: Any,
) -> Any:
    """The same with the help of so many others, which are not real, and which edges they have taken.

    Now and then one of them `skip`s an edge. A signal comes with the tenth message, if it is to come.
    """
    states, worker = States(machine, **bounds), SearchWorker(States(machine))
    seen: list[tuple[int, str]] = []
    messages = count(1)

    def submit(do: Any, *args: Any) -> Future[Any]:
        if next(messages) == 10 and interrupts is not None:
            signal.raise_signal(number)
        done: Future[Any] = Future()
        found, seconds = do(worker, *args)
        done.set_result((pack([None if skip() else each for each in unpack(found)]), seconds))
        return done

    class Noted(Lookahead):
        def __call__(self, node: int, path: str) -> Any:
            found = super().__call__(node, path)
            if found is not None:
                seen.append((node, path))
            return found

    def walk() -> None:
        noting = interrupts or Interrupts()
        with noting.counting(), Noted(states, submit, processes, noting).attaching():
            states.flood()

    states.search(walk)
    return states, seen


@settings(max_examples=many(300), derandomize=True, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.randoms(use_true_random=False), st.integers(1, 400))
def test_steps_that_others_have_taken_lead_where_ones_own_do(seed: int, processes: int, rng: Any, most: int) -> None:
    """In random programs of tasks that run tasks, with faults and deadlocks; also if a bound ends the search.

    Others take some of the steps only.
    """
    machine, share = Plain(litmus(seed)), rng.random()
    for bounds in (dict[str, Any](), {"max_states": most}):
        assert comparable(helped(machine, processes, lambda: rng.random() < share, **bounds)[0]) == comparable(
            alone(machine, **bounds)
        )


@settings(max_examples=many(40), derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.sampled_from(api.MACHINES))
def test_they_do_in_random_programs_of_the_language(text: str, name: str) -> None:
    """Cut after 60 states."""
    try:
        machine = api.machine_of(api.bind(api.parse(text)), name)
    except WingspanError:
        return
    assert comparable(helped(machine, 2, max_states=60)[0]) == comparable(alone(machine, max_states=60))


@pytest.mark.parametrize("most", range(1, 60, 4))
def test_a_bound_stops_several_at_the_state_at_which_it_stops_one(most: int) -> None:
    bounded = helped(Plain(ninc(4)), 3, max_states=most)[0]
    assert comparable(bounded) == comparable(alone(Plain(ninc(4)), max_states=most))
    assert (bounded.nodes, bounded.stopped_by) == (most, "max-states")


@pytest.mark.parametrize(("number", "stopped_by"), [(signal.SIGINT, "interrupt"), (signal.SIGTERM, "signal")])
def test_ctrl_c_is_obeyed_where_nothing_is_half_done(number: int, stopped_by: str) -> None:
    """Before the next step: what has been found by then is how the search of one begins."""
    interrupts = Interrupts()
    with terminating():
        states, seen = helped(Plain(ninc(4)), 3, interrupts=interrupts, number=number)
    assert (interrupts.count, states.stopped_by) == (1, stopped_by)
    one, cut = alone(Plain(ninc(4))).keep(), states.keep()
    assert seen and states.expanded < states.nodes
    assert one["parents"].startswith(cut["parents"])


def test_others_take_nearly_all_steps_and_none_twice() -> None:
    """But for those of the first states, of which there are too few."""
    states, seen = helped(Plain(ninc(4)), 3)
    assert states.edges - 3 <= len(seen) <= states.edges
    assert max(Counter(seen).values()) == 1


def test_messages_become_as_long_as_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of what waits, in so many seconds, and no more states than that."""
    monkeypatch.setattr(lookahead, "SECONDS", 1e9)
    monkeypatch.setattr(lookahead, "MOST", 7)
    lengths: list[int] = []
    give = Lookahead.request

    def giving(self: Lookahead, nodes: range) -> None:
        lengths.append(len(nodes))
        give(self, nodes)

    monkeypatch.setattr(Lookahead, "request", giving)
    helped(Plain(ninc(4)), 2)
    assert (min(lengths), max(lengths)) == (1, 7)
    monkeypatch.setattr(lookahead, "SECONDS", 0.0)
    lengths.clear()
    helped(Plain(ninc(4)), 2)
    assert set(lengths) == {1}


def test_what_takes_too_long_is_left_out() -> None:
    machine = Plain(ninc(2))
    states = alone(machine)
    batch = pack([(states.state(0), ["1", "2"])])
    for seconds, left_out in ((-1.0, True), (1e9, False)):
        found, _ = SearchWorker(states).compute_successors(batch, seconds)
        assert [taken is None for taken in unpack(found)] == [left_out] * 2


def test_equal_states_come_back_as_one() -> None:
    machine = Plain(ninc(2))
    states = alone(machine)
    ways = [(states.state(n), [states.paths[t] for t, _, _ in states.moves(n)]) for n in range(states.nodes)]
    found = [taken.state for taken in unpack(SearchWorker(states).compute_successors(pack(ways), 1e9)[0])]
    assert len({id(state) for state in found}) == len(set(found)) < len(found)


# ------------------------------------------------------------------------------------------------------- real processes


def bare(verdict: Verdict) -> Verdict:
    """A verdict without the time that it took, and who took it."""
    return replace(verdict, seconds=0.0, processes=1)


def same(machine: Machine[Any], several: dict[str, Any], **options: Any) -> Verdict:
    """The verdict of several, which is that of one."""
    one, more = (explore(machine, Search("graph", **options, **who)) for who in ({}, several))
    assert bare(more) == bare(one)
    assert (one.processes, more.processes) == (1, several.get("jobs", 4))
    return more


NESTED = Plain(
    Litmus(
        (Load("x"), Spawn(((Store("x", 1),), (Store("y", 2),))), Store("x", relative=True)), (Store("x", 3), Load("y"))
    )
)


@FORK
@pytest.mark.parametrize(
    "machine", few([Plain(ninc(4)), NESTED, Plain(Litmus()), Plain(lockinc(4))], 3), ids=lambda machine: ""
)
@pytest.mark.parametrize("processes", few([2, 3], 1))
@pytest.mark.parametrize(
    "options", few([{}, {"max_states": 40}, {"max_memory": 1}, {"graph": True, "exact": True}], 1), ids=str
)
def test_processes_find_what_one_finds(machine: Machine[Any], processes: int, options: dict[str, Any]) -> None:
    """In every field of the verdict, also of its graph."""
    same(machine, {"jobs": processes}, **options)


TEXTS = {"race": RACY, "deadlock": STUCK, "fault": FAULTY, "safe": COPIES}


@FORK
@pytest.mark.parametrize("machine", api.MACHINES)
@pytest.mark.parametrize("found", few(list(TEXTS), 1))
def test_processes_find_what_one_finds_in_wingspan_programs(machine: str, found: str) -> None:
    program = Plain(api.machine_of(api.bind(api.parse(TEXTS[found])), machine))
    assert same(program, {"jobs": 2}).verdict in (found, "order-dependent" if found == "safe" else found)
    assert same(Plain(api.machine_of(api.bind(api.parse(OVERFLOWS)), machine)), {"jobs": 2}).complete


@FORK
def test_processes_take_nearly_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process takes those that no other one has taken; those of others are not counted here."""
    taken: list[str] = []

    def record_and_advance(machine: Any, step: Any, tick: Any) -> Any:
        taken.append(step.task)
        return advance(machine, step, tick)

    monkeypatch.setattr(states_module, "advance", record_and_advance)
    verdict = explore(Plain(ninc(4)), Search("graph", jobs=2))
    assert (verdict.complete, len(taken) < 5) == (True, True)


@FORK
@pytest.mark.parametrize(
    ("many", "probe", "reason"), [(100, 20, "there seem to be "), (100, 2000, "the states are few")]
)
def test_auto_lets_processes_search_the_graph_if_it_is_large(
    monkeypatch: pytest.MonkeyPatch, many: float, probe: int, reason: str
) -> None:
    monkeypatch.setattr(search, "PROBE", probe)
    monkeypatch.setattr(search, "MANY", many)
    one, more = (explore(Plain(ninc(4)), Search(jobs=n)) for n in (1, 2))
    assert more.reason.removesuffix(", in one process").startswith(reason)
    assert (more.processes == 1) == more.reason.endswith(", in one process") == (probe == 2000)
    assert bare(replace(more, reason=one.reason)) == bare(one)


@FORK
def test_what_fails_elsewhere_is_done_here() -> None:
    """So that a defect of the program is one here; one of another process is none of the search."""

    def defect() -> None:
        raise InternalError("no rule applies")

    assert bare(explore(Elsewhere(defect), Search("graph", jobs=2))) == bare(explore(Plain(ninc(4)), Search("graph")))


@FORK
def test_states_that_cannot_be_sent_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = ninc(3)
    state = machine.initial()
    machine.initial = lambda: state._replace(cells=Unpicklable(state.cells))  # type: ignore[method-assign]
    with pytest.raises(InputError, match="states cannot be sent to other processes: "):
        explore(machine, Search("graph", jobs=2))


@FORK
def test_time_ends_the_search_of_several_with_what_they_have() -> None:
    """Of which one process would take much longer."""
    verdict = explore(Plain(ninc(7)), Search("graph", jobs=2, max_seconds=0.5))
    assert (verdict.complete, verdict.stopped_by, verdict.verdict) == (False, "max-seconds", "race")
    assert verdict.states > 1


class Unpicklable(tuple[int, ...]):
    def __reduce__(self) -> Any:
        raise TypeError("not to be pickled")


@FORK
def test_progress_tells_what_it_tells_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states_module, "LOOK_EVERY", 10)
    seen: dict[int, list[tuple[str, int, int]]] = {1: [], 2: []}

    def search_by(jobs: int) -> None:
        told = seen[jobs]
        search = Search("graph", jobs=jobs)
        explore(Plain(ninc(4)), search, progress=lambda now: told.append((now.unit, now.explored, now.planned)))

    search_by(1)
    search_by(2)
    assert len(seen[1]) > 5
    assert seen[2] == seen[1]


# ------------------------------------------------------------------------------------------------------ kept, a cluster


@FORK
def test_a_checkpoint_is_that_of_one_whoever_writes_and_takes_it_up(tmp_path: Path) -> None:
    """Byte by byte; in three parts, of which one process or several make the second."""
    whole = explore(Plain(ninc(4)), Search("graph"))
    files = {}
    for who in ((1, 1, 1), (1, 2, 1), (3, 2, 2)):
        file = files[who] = tmp_path / "-".join(map(str, who))
        explore(Plain(ninc(4)), Search("graph", jobs=who[0], max_states=200, checkpoint=file))
        first = file.read_bytes()
        explore(Plain(ninc(4)), Search(jobs=who[1], max_states=400, checkpoint=file, resume=file))
        second = file.read_bytes()
        found = explore(Plain(ninc(4)), Search(jobs=who[2], checkpoint=file, resume=file))
        assert bare(found) == bare(whole)
        if who == (1, 1, 1):
            expected = first, second, file.read_bytes()
        assert (first, second, file.read_bytes()) == expected


@FORK
def test_it_is_written_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was written while several searched is the beginning of the search of one."""
    file, written = tmp_path / "search", []
    monkeypatch.setattr(checkpoint, "EVERY", 0)
    monkeypatch.setattr("wingspan.explorer.graph.LOOK_EVERY", 50)
    write = checkpoint.Checkpoint.write

    def copied(self: checkpoint.Checkpoint, *args: Any) -> None:
        write(self, *args)
        written.append(file.read_bytes())

    monkeypatch.setattr(checkpoint.Checkpoint, "write", copied)
    explore(Plain(ninc(4)), Search("graph", checkpoint=file))
    one, written = written, []
    explore(Plain(ninc(4)), Search("graph", jobs=2, checkpoint=file))
    assert len(one) > 5
    assert written == one


@pytest.mark.deep
def test_a_cluster_finds_what_one_finds(scheduler: str) -> None:
    """With all of its threads, and machines that are made anew there."""
    for machine in (Plain(ninc(4)), NESTED):
        same(machine, {"scheduler": scheduler})
    for name in api.MACHINES:
        for text in TEXTS.values():
            same(api.machine_of(api.bind(api.parse(text)), name), {"scheduler": scheduler})


def test_a_cluster_goes_on_with_what_was_kept(scheduler: str, tmp_path: Path) -> None:
    file, whole = tmp_path / "search", explore(Plain(ninc(4)), Search("graph"))
    explore(Plain(ninc(4)), Search("graph", max_states=200, checkpoint=file))
    found = explore(Plain(ninc(4)), Search(resume=file, jobs=3, scheduler=scheduler))
    assert (bare(found), found.processes) == (bare(whole), 3)


@pytest.mark.parametrize("strategy", few(["graph", "dpor"], 1))
def test_a_client_that_came_to_nothing_is_gone(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask hangs if it is collected as garbage while another one begins."""
    from distributed import Client

    monkeypatch.setattr("wingspan.explorer.cluster.PATIENCE", 0.1)
    gc.collect()
    before = {id(each) for each in Client._instances}
    with pytest.raises(InputError, match="there is no Dask scheduler at tcp"):
        explore(Plain(ninc(2)), Search(strategy, scheduler="tcp://127.0.0.1:1"))
    assert {id(each) for each in Client._instances} <= before


# ------------------------------------------------------------------------------------------------ how processes may end

SCRIPT = """
import os, signal, sys
from wingspan import cli
from wingspan.explorer import states
from wingspan.explorer.workers import SearchWorker

states.offers_local_steps = lambda machine: False  # so that processes help
compute_successors, told = SearchWorker.compute_successors, []

def taking(self, *args):
    if not told:
        told.append(os.write(1, b"%d\\n" % os.getpid()))
        while {wait}:
            signal.pause()
    return compute_successors(self, *args)

SearchWorker.compute_successors = taking
cli.main(["explore", sys.argv[1], "--strategy", "graph", "--jobs", "2", "--threads", "6", "--checkpoint", sys.argv[2]])
"""
"""Explores a program with two processes, which write who they are when they are first asked, and may wait there."""


@pytest.fixture
def script(tmp_path: Path) -> Callable[[bool, int], tuple[subprocess.Popen[str], list[int]]]:
    """Starts it: the first process, and others, which have begun. They would not soon come to an end."""
    file = tmp_path / "racy.ws"
    file.write_text(RACY.replace("1:3", "1:40"))

    return lambda wait, others: begun(SCRIPT.format(wait=wait), others, file, tmp_path / "kept")


@FORK
@pytest.mark.parametrize(
    ("number", "all_of_them"), few([(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGHUP, True)], 1)
)
def test_a_signal_ends_all_processes_with_what_they_have(
    script: Any, number: int, all_of_them: bool, tmp_path: Path
) -> None:
    """As a terminal sends it, and as `kill` does; and the search is kept."""
    process, _ = script(False, 2)
    (os.killpg if all_of_them else os.kill)(process.pid, number)
    status, out, err = ending(process)
    assert (status, err) == (1, "")
    assert out.startswith("race  ") and f"stopped by {'Ctrl-C' if number == signal.SIGINT else 'SIGTERM'}" in out
    program = api.bind(api.load(tmp_path / "racy.ws"), threads=6)
    reached = api.explore(program, resume=tmp_path / "kept", max_states=1).verdict
    assert (reached.complete, reached.strategy) == (False, "graph")
    assert f"{reached.states:,} states" in out


@FORK
def test_a_killed_process_is_one_error(script: Any) -> None:
    process, others = script(True, 2)
    os.kill(others[0], signal.SIGKILL)
    status, out, err = ending(process)
    assert (status, out) == (2, "")
    assert err.startswith("error[jobs]: a process of the search was killed\n  fix  ")
