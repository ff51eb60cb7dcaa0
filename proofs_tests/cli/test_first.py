"""A search shows a finding at once, and a search for the first finding ends there, soon."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.places import ROOT
from proofs_tests.several import FORK
from proofs_tests.testing.test_quiz import QUIZZES
from proofs_tests.views.reports import Terminal
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.console import STATUS
from wingspan.explorer import Deadlock, FaultReport, Machine, Race, Result, Search, explore, replay
from wingspan.explorer.properties import PropertyReport
from wingspan.testing.litmus import Add, Check, Litmus, Load, Lock, Store, Swap, Unlock, ninc
from wingspan.views import live_findings, terminal
from wingspan.views.live_findings import LiveFindings
from wingspan.views.paint import spinner
from wingspan.views.view import Invocation, sighting_report

Finding = Race | FaultReport | Deadlock | Result | PropertyReport

FILES = sorted({"examples/dependent.ws", *(quiz.file for quiz in QUIZZES)})
FEW = 50
"""States of a program in which something wrong is found."""

WAITING = (Lock("m"), Lock("n"), Unlock("n"), Unlock("m")), (Lock("n"), Lock("m"), Unlock("m"), Unlock("n"))
MACHINES: dict[str, tuple[Litmus, Hashable]] = {
    "race": (ninc(4), (("x", 4),)),
    "deadlock": (Litmus(*WAITING), ()),
    "fault": (Litmus((Store("x", 1), Add("x"), Add("x")), (Check("x", 0),)), (("x", 3),)),
    "result": (Litmus((Swap("x", 0, 1),), (Swap("x", 0, 2),)), (("x", 1),)),
}
"""Each with the result that it should have."""
SEARCHES: dict[str, dict[str, Any]] = {
    "auto": {},
    "graph": {"strategy": "graph"},
    "dpor": {"strategy": "dpor"},
    "random": {"strategy": "random"},
    "pct": {"strategy": "pct"},
    "bounded": {"strategy": "bounded"},
    "symmetry": {"symmetry": True},
}
SEVERAL: dict[str, dict[str, Any]] = {
    "graph": {"strategy": "graph", "jobs": 2},
    "dpor": {"strategy": "dpor", "jobs": 2},
}
each_machine = pytest.mark.parametrize("machine, expected", MACHINES.values(), ids=MACHINES)
each_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


def key(finding: Finding) -> Any:
    """The identity of a finding, without the interleaving that leads to it."""
    match finding:
        case Race():
            places = frozenset((finding.first.span, finding.second.span))
            return "race", finding.tensor, finding.level, finding.buffer, finding.kind, places
        case FaultReport():
            return "fault", finding.message, finding.span
        case Deadlock():
            return "deadlock", len(finding.waiting)
    assert isinstance(finding, Result), "no properties are asked for here"
    return "result", finding.outcome


def all_of(verdict: Any) -> list[Finding]:
    return [*verdict.races, *verdict.faults, *verdict.deadlocks, *verdict.results]


def assert_leads_to(machine: Machine[Any], finding: Finding) -> None:
    """Its interleaving can be followed, and ends with what it is about."""
    assert finding.interleaving is not None
    run = replay(machine, finding.interleaving, finish=False)
    steps = [step for step in run if step.visible]
    assert run.mismatch is None
    match finding:
        case Race():
            first, second = steps[-2:]
            assert {first.task, second.task} == {finding.first.task, finding.second.task}
            assert any(one.races(other) for one in first.footprint for other in second.footprint)
        case FaultReport() | Deadlock():
            assert run.incident is not None and run.incident.message == finding.message
        case Result():
            assert run.end == "finished" and machine.outcome(run.state) == finding.outcome


# --------------------------------------------------------------------------------------------------------- the first


@pytest.mark.parametrize("threads", [None, 8])
@pytest.mark.parametrize("file", FILES)
def test_something_wrong_is_found_in_few_states(file: str, threads: int | None) -> None:
    """In every program that is broken on purpose, by default, with many threads too; breadth first it would not be."""
    found = api.explore(ROOT / file, first=True, threads=threads).verdict
    assert (found.complete, found.stopped_by, found.left_out) == (False, "first", ())
    assert found.states <= FEW
    assert STATUS[found.verdict] == 1
    if api.explore(ROOT / file, threads=threads, max_states=500).verdict.races:
        assert found.races or found.faults or found.deadlocks, "a wrong result does not say what goes wrong"


@each_machine
@each_search
def test_a_search_ends_with_its_first_finding(machine: Litmus, expected: Hashable, search: dict[str, Any]) -> None:
    """By every strategy; it is one of all that there are, and can be replayed."""
    whole = explore(machine, expected=expected)
    found = explore(machine, Search(**search, first=True), expected=expected)
    assert (found.complete, found.stopped_by, found.left_out) == (False, "first", ())
    assert found.verdict not in ("safe", "incomplete")
    assert found.states <= whole.states
    assert set(map(key, all_of(found))) <= set(map(key, all_of(whole)))
    for finding in all_of(found):
        assert_leads_to(machine, finding)


@FORK
@pytest.mark.parametrize("search", SEVERAL.values(), ids=SEVERAL)
def test_several_processes_end_with_the_first_finding(small_parts: None, search: dict[str, Any]) -> None:
    machine = Litmus(*[(Load("a"), *WAITING[k], Load("a")) for k in (0, 1)], (Add("x", 1), Add("x", 1)))
    whole = explore(machine)
    found = explore(machine, Search(**search, first=True))
    assert (found.complete, found.stopped_by, found.verdict) == (False, "first", "deadlock")
    assert set(map(key, all_of(found))) <= set(map(key, all_of(whole)))
    assert len(found.deadlocks) == 1


@each_search
def test_a_search_that_finds_nothing_goes_on_to_its_end(search: dict[str, Any]) -> None:
    machine = Litmus((Add("x", 1),), (Add("x", 1),))
    found = explore(machine, Search(**search, first=True), expected=(("x", 2),))
    assert found.stopped_by == ("runs" if found.strategy in ("random", "pct") else None)
    assert found.verdict == ("incomplete" if found.stopped_by else "safe")


@each_search
def test_a_finding_in_the_last_state_leaves_nothing_complete(search: dict[str, Any]) -> None:
    """There are two."""
    machine = Litmus((Store("x", 1),))
    found = explore(machine, Search(**search, first=True), expected=(("x", 2),))
    assert (found.verdict, found.complete, found.stopped_by) == ("wrong", False, "first")


def test_without_a_sequential_result_another_result_is_a_finding() -> None:
    """The first one is none: there is nothing to compare it with."""
    machine, _ = MACHINES["result"]
    found = explore(machine, Search("graph", first=True))
    assert (found.verdict, found.stopped_by, len(found.results)) == ("order-dependent", "first", 2)


def test_a_search_that_ended_with_its_first_finding_goes_on(tmp_path: Path) -> None:
    """It ends with what a search that was never stopped ends with."""
    file, whole = tmp_path / "kept", explore(ninc(3), Search("dpor"))
    cut = explore(ninc(3), Search("dpor", first=True, checkpoint=file))
    found = explore(ninc(3), Search(resume=file))
    assert cut.executions < whole.executions == found.executions
    assert (found.complete, found.states, found.steps) == (True, whole.states, whole.steps)


# ----------------------------------------------------------------------------------------------------- as they come

RACY = "c = Tensor(Dense(Element(0)), 1)\nc .= 0\nfor i = parallel(1:3)\n    c[1] += 1\nend\nreturn c\n"
RACES = RACY.replace("    c[1] += 1\n", "    c[1] += 1\n    c[1] += 2\n")


@each_machine
@each_search
def test_each_finding_is_reported_once_and_can_be_replayed(
    machine: Litmus, expected: Hashable, search: dict[str, Any]
) -> None:
    """Races, faults, deadlocks and wrong results of the verdict, and nothing else."""
    seen: list[Finding] = []
    verdict = explore(machine, Search(**search), expected=expected, found=seen.append)
    wrong = [result for result in verdict.results if result.outcome != expected]
    told = [key(each) for each in seen]
    assert len(told) == len(set(told)) or search.get("symmetry")
    assert set(told) == set(map(key, wrong)) | {key(each) for each in all_of(verdict) if not isinstance(each, Result)}
    for finding in seen:
        assert_leads_to(machine, finding)


def test_a_race_in_several_places_is_reported_once() -> None:
    """In two cells, by one statement."""
    seen: list[api.Sighting] = []
    program = RACY.replace("1)\nc .=", "2)\nc .=").replace("1:3", "1:4").replace("c[1]", "c[i % 2 + 1]")
    verdict = api.explore(api.parse(program), threads=4, max_states=500, found=seen.append).verdict
    assert len(verdict.races) == sum(isinstance(each.finding, Race) for each in seen) == 1


def test_a_finding_is_reported_before_the_search_goes_on() -> None:
    seen: list[int] = []

    class Watched(Litmus):
        taken = 0

        def step(self, state: Any, task: str) -> Any:
            self.taken += 1
            return super().step(state, task)

    machine = Watched(*ninc(4).programs[1:])
    explore(machine, Search("graph"), found=lambda finding: seen.append(machine.taken))
    assert seen[0] < 100 < machine.taken / 10


# ------------------------------------------------------------------------------------------------ on the command line


def run_early(patience: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for where in ("ON_TERMINAL", "ELSEWHERE"):
        monkeypatch.setattr(live_findings, where, patience)


def test_a_finding_is_shown_as_the_report_shows_it(command, written, monkeypatch) -> None:
    """On standard error, and only the first of its kind; standard output is the report, as ever."""
    run_early(0, monkeypatch)
    made = command("explore", written(RACES))
    assert made.status == 1
    shown, printed = (set(re.findall(r"^error\[race\]: .*$", text, re.MULTILINE)) for text in (made.err, made.out))
    assert len(shown) == 1 and shown < printed
    (see, *_) = re.findall(r"^ +see +wingspan (replay .*)$", made.err, re.MULTILINE)
    replayed = command(*shlex.split(see))
    assert (replayed.status, replayed.err) == (0, "")
    run_early(1e9, monkeypatch)
    assert command("explore", written(RACY)).err == ""


def test_json_stays_one_document(command, written, monkeypatch) -> None:
    run_early(0, monkeypatch)
    made = command("explore", written(RACY), "--json")
    assert json.loads(made.out)["verdict"] == "race" and "error[race]" in made.err
    first = command("explore", written(RACY), "--json", "--first")
    assert (first.status, first.err) == (1, "")
    assert (first.json["stopped_by"], first.json["complete"], len(first.json["races"])) == ("first", False, 1)


def test_the_first_finding_is_the_report(command, written) -> None:
    made = command("explore", written(RACY), "--first")
    assert (made.status, made.err) == (1, "")
    assert made.out.startswith("race  ") and made.out.count("error[race]") == 1
    assert "stopped at the first finding (--first), so there may be more to find" in made.out


def test_a_search_either_stops_or_goes_on(command, written) -> None:
    with pytest.raises(InputError, match="goes on after its first finding"):
        explore(ninc(2), Search(first=True, exact=True))
    made = command("explore", written(RACY), "--first", "--shortest")
    assert made.status == 2 and "--first and --shortest exclude each other." in made.err


def test_findings_stay_above_the_line_of_progress(monkeypatch) -> None:
    for name in ("NO_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    monkeypatch.setattr("wingspan.views.paint.PATIENCE", -1)
    with spinner(lambda status: "looking", stream) as line:
        run_early(0, monkeypatch)
        assert line is not None
        with LiveFindings(lambda seen: terminal.sighting(sighting_report(seen, Invocation("a.ws"))), line) as shown:
            api.explore(api.parse(RACY), found=shown.report)
        line(None)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())
    assert text.count("error[race]") == 1 and "wingspan replay a.ws --interleaving" in text
    assert text.index("error[race]") < text.rindex("looking")


def test_a_finding_waits_until_the_search_has_taken_a_while(monkeypatch, capsys) -> None:
    """It is shown some seconds after the beginning, whatever the search does then; and not at all if it is over."""
    timers: list[Any] = []

    class Waiting:
        def __init__(self, seconds: float, show: Callable[[], None]) -> None:
            self.seconds, self.show, self.ended = seconds, show, 0
            timers.append(self)

        def start(self) -> None:
            pass

        def cancel(self) -> None:
            self.ended += 1

        join = cancel

    now = [10.0]
    monkeypatch.setattr("wingspan.views.live_findings.time.monotonic", lambda: now[0])
    monkeypatch.setattr(live_findings, "Timer", Waiting)
    with LiveFindings(lambda seen: terminal.sighting(sighting_report(seen, Invocation("a.ws"))), None) as shown:
        now[0] = 10.25
        api.explore(api.parse(RACY), found=shown.report)
        assert capsys.readouterr().err == ""
        (timer,) = timers
        assert timer.seconds == live_findings.ELSEWHERE - 0.25
        timer.show()
        assert capsys.readouterr().err.count("error[race]") == 1
    assert timer.ended == 2


@pytest.mark.parametrize(
    "text, shown",
    [
        ("a[i] = i", r"wrong result: a = \[1, 0\]"),
        ("a[1] = i", r"(wrong result: a = \[1, 0\]\n  why  differs from the sequential result: a\[1\] is 1, not 2)"),
    ],
)
def test_a_wrong_result_is_shown_with_what_is_wrong(text: str, shown: str) -> None:
    seen: list[api.Sighting] = []
    program = f"a = Tensor(Dense(Atomic(0)), 2)\na .= 0\nfor i = parallel(1:2)\n    {text}\nend\nreturn a\n"
    api.explore(api.parse(program), found=seen.append)
    told = [terminal.sighting(sighting_report(each, Invocation("a.ws"))) for each in seen]
    if text == "a[i] = i":
        assert told == []
    else:
        (message,) = told
        assert re.match(shown, message) and "\n  see  wingspan replay a.ws --interleaving " in message


@pytest.mark.parametrize("machine", api.MACHINES)
@pytest.mark.parametrize("strategy", ["graph", "dpor"])
def test_properties_are_reported_as_soon_as_they_are_decided(machine: str, strategy: str) -> None:
    """Each property of states once, and a result that violates one; each with values and a way to it."""
    seen: list[api.Sighting] = []
    asked: Any = {"always": ["c[1] < 3", "c[1] >= 0"], "reach": "c[1] == 3", "ends": "c[1] == 9"}
    program = api.parse(RACY.replace("c[1] += 1", "c[1] += i").replace("1:3", "1:2"))
    found = api.explore(program, machine=machine, strategy=strategy, found=seen.append, **asked)
    early = [each.finding for each in seen if isinstance(each.finding, PropertyReport)]
    decided = [each for each in found.verdict.properties if each.answer in ("violated", "reached")]
    assert {(each.text, each.answer) for each in early} == {(each.text, each.answer) for each in decided}
    assert [each.text for each in early if each.kind != "ends"] == [
        each.text for each in decided if each.kind != "ends"
    ]
    assert not any(isinstance(each.finding, Result) for each in seen)
    for each in early:
        if each.kind != "ends":
            assert each.values == {"c": [3]}
            followed = api.replay(found.program, each.interleaving, machine=machine, watch=found.watched)
            assert list(followed.steps) and followed.mismatch is None


def test_a_property_is_shown_early_with_its_values_and_a_command() -> None:
    seen: list[api.Sighting] = []
    api.explore(api.parse(RACY), always="c[1] < 3", reach="c[1] == 2", found=seen.append)
    shown = [
        terminal.sighting(sighting_report(each, Invocation("a.ws", watched=("c[1] < 3",))))
        for each in seen
        if isinstance(each.finding, PropertyReport)
    ]
    command = r"see +wingspan replay a\.ws --interleaving '?[\d,*]+'? --watch 'c\[1\] < 3'"
    wanted = {r"error\[property\]: c\[1\] < 3 does not hold": 3, r"c\[1\] == 2: reached": 2}
    assert len(shown) == len(wanted)
    for first, value in wanted.items():
        (text,) = (each for each in shown if re.match(first, each))
        assert re.search(rf"values +c = \[{value}\]", text) and re.search(command, text), text
