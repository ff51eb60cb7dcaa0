"""Findings for CI: the SARIF and the JUnit of each verb that has findings, on the command line and in Python."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wingspan
from proofs_tests.views.test_json import SARIF
from wingspan.accesses import parse_log
from wingspan.testing import campaign
from wingspan.views import junit, sarif
from wingspan.views.findings import FindingsReport, Location, ReportedFinding

RACY, QUIET = "examples/dependent.ws", "examples/independent.ws"
LOG = "1 write c[3] at a kernel.c:12\n2 write c[3] at a kernel.c:12\n"

KINDS = {"failure", "error", "skipped"}
COUNTED = {"testsuites": ("testsuite", set()), "testsuite": ("testcase", {"skipped"})}


def read_junit(text: str) -> Element:
    """The test of a document, which has the form that readers of JUnit's XML agree on.

    Elements and attributes are those of Ant and Jenkins; the counts are right; a test has at most one outcome.
    """
    root = fromstring(text)
    top = root
    for tag, (inner, more) in COUNTED.items():
        assert top.tag == tag and [each.tag for each in top] == [inner]
        assert set(top.attrib) == {"name", "tests", "failures", "errors", "time"} | more
        (top,) = top
    assert set(top.attrib) == {"classname", "name", "time"} and float(top.attrib["time"]) >= 0
    outcomes = [each for each in top if each.tag in KINDS]
    assert len(outcomes) <= 1 and all(each.tag in KINDS | {"system-out"} for each in top)
    assert all(set(each.attrib) == {"type", "message"} and each.text for each in outcomes)
    for counts in (root, root[0]):
        number = {kind: str(sum(each.tag == kind for each in outcomes)) for kind in KINDS}
        assert (counts.attrib["failures"], counts.attrib["errors"]) == (number["failure"], number["error"])
        assert counts.attrib["tests"] == "1" and counts.attrib.get("skipped", "0") == number["skipped"]
    return top


def read_sarif(text: str) -> dict[str, Any]:
    """The run of a SARIF log."""
    log = json.loads(text)
    jsonschema.Draft202012Validator(SARIF).validate(log)
    (run,) = log["runs"]
    assert {result["ruleId"] for result in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    return dict(run)


VERBS: dict[str, tuple[list[str], int, str, list[str]]] = {
    "explore a race": (["explore", RACY], 1, "failure", ["race"]),
    "explore nothing wrong": (["explore", QUIET], 0, "", []),
    "explore a part": (["explore", QUIET, "--max-states", "1"], 3, "error", []),
    "explore a fault": (["explore", "examples/quiz_overflow.ws"], 1, "failure", ["fault"]),
    "explore a deadlock": (["explore", "examples/quiz_deadlock_two_locks.ws"], 1, "failure", ["deadlock"]),
    "explore results": (["explore", "examples/quiz_last_writer_wins.ws"], 1, "failure", ["order-dependent"]),
    "check": (["check", RACY], 1, "failure", ["level-dependence"]),
    "check nothing wrong": (["check", QUIET], 0, "", []),
    "diff": (["diff", QUIET, "--engines", "semantics,native"], 0, "", []),
    "judge a race": (["judge", "a.log"], 1, "failure", ["race"]),
    "judge no race": (["judge", "quiet.log"], 0, "", []),
    "judge beside a part": (
        ["judge", "quiet.log", "--program", RACY, "--max-states", "1"], 3, "error", []
    ),
    "no file": (["explore", "none.ws"], 2, "error", ["input"]),
    "no option": (["judge", "a.log", "--none"], 2, "error", ["usage"]),
}  # fmt: skip


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_prints_its_findings_for_ci(name: str, command: Any, tmp_path: Path) -> None:
    """With the usual exit status; the test in JUnit's XML has passed exactly if that is 0."""
    words, status, kind, topics = VERBS[name]
    (tmp_path / "a.log").write_text(LOG)
    (tmp_path / "quiet.log").write_text("1 write c[3]\n0 join\n2 write c[3]\n")
    words = [str(tmp_path / word) if word.endswith(".log") else word for word in words]
    as_sarif, as_junit = (command(*words, "--format", form) for form in ("sarif", "junit"))
    assert (as_sarif.status, as_junit.status) == (status, status)
    run = read_sarif(as_sarif.out)
    assert list(dict.fromkeys(each["ruleId"] for each in run["results"])) == topics
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] == (status != 2)
    assert ("toolExecutionNotifications" in invocation) == (status == 3)
    case = read_junit(as_junit.out)
    assert [each.tag for each in case if each.tag in KINDS] == ([kind] if kind else [])
    assert case.attrib["classname"] == f"wingspan.{words[0]}"
    for each in case:
        assert each.attrib["type"] == (", ".join(topics) or "incomplete")


def test_each_race_has_its_places(command: Any) -> None:
    (result,) = read_sarif(command("explore", RACY, "--format", "sarif").out)["results"]
    (place,), (loop,) = result["locations"], result["relatedLocations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == RACY
    assert place["physicalLocation"]["region"]["startLine"] == 6
    assert loop["message"]["text"] == "the parallel loop" and loop["physicalLocation"]["region"]["startLine"] == 5
    first, *_, see = result["message"]["text"].splitlines()
    assert first in command("explore", RACY).out
    assert see.startswith("see: wingspan replay")
    assert command(*shlex.split(see.removeprefix("see: wingspan "))).status == 0


ATOMIC = "examples/dependent_atomic.ws"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["--always", "c[3] < 2"], ["c[3] < 2 does not hold in every state"]),
        (["--ends", "c[3] == 2", "--ends", "c[1] == 0"], ["c[1] == 0 does not hold of every result"]),
        (["--always", "c[3] <= 2", "--reach", "c[3] == 1"], []),
    ],
)
def test_a_property_is_a_finding_if_it_is_violated(asked: list[str], found: list[str], command: Any) -> None:
    done = command("explore", ATOMIC, "--format", "sarif", *asked)
    results = read_sarif(done.out)["results"]
    assert [result["ruleId"] for result in results] == ["property"] * len(found)
    assert [result["message"]["text"].splitlines()[0] for result in results] == found
    assert done.status == bool(found)


def test_what_is_never_reached_is_a_finding(command: Any) -> None:
    done = command("explore", ATOMIC, "--format", "sarif", "--reach", "c[3] == 7")
    assert [result["ruleId"] for result in read_sarif(done.out)["results"]] == ["unreached"]


def test_the_races_of_a_log_are_at_its_statements() -> None:
    judged = wingspan.judge(parse_log(LOG, "kernel.log"))
    (result,) = read_sarif(judged.to_sarif())["results"]
    (place,) = result["locations"]
    assert place == {
        "physicalLocation": {"artifactLocation": {"uri": "a%20kernel.c"}, "region": {"startLine": 12}}
    }  # fmt: skip
    assert read_junit(judged.to_junit()).attrib["name"] == "kernel.log"
    unplaced = wingspan.judge(parse_log(LOG.replace(" at a kernel.c:12", ""), "kernel.log"))
    (place,) = read_sarif(unplaced.to_sarif())["results"][0]["locations"]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": "kernel.log"}, "region": {"startLine": 2}}


class Off:
    """An engine whose results are one too large, or that raises."""

    name = "off"

    def __init__(self, raises: bool = False) -> None:
        self.raises = raises

    def run(self, program: Any, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        if self.raises:
            raise ValueError("no luck")
        return {name: np.asarray(x) + 1 for name, x in wingspan.api.engine("native").run(program, inputs).items()}


def test_a_difference_of_engines_is_a_finding() -> None:
    compared = wingspan.diff(wingspan.load(QUIET), engines=["native", Off()])
    (result,) = read_sarif(compared.to_sarif())["results"]
    assert result["ruleId"] == "difference" and "off has" in result["message"]["text"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == QUIET
    failure = next(iter(read_junit(compared.to_junit())))
    assert failure.tag == "failure" and compared.difference and compared.difference.place in failure.attrib["message"]


def test_the_traceback_of_an_engine_is_part_of_its_finding() -> None:
    compared = wingspan.diff(wingspan.load(QUIET), engines=["native", Off(raises=True)])
    (result,) = read_sarif(compared.to_sarif())["results"]
    assert 'raise ValueError("no luck")' in result["message"]["text"]


def test_a_campaign_has_a_finding_for_each_symptom() -> None:
    programs = st.just("c = Tensor(Dense(Element(0)), 1)\nc .= 0\nc[1] = 3\nreturn c")
    tally = campaign(["semantics"], [Off()], programs=programs, examples=1, collect=True)
    (result,) = read_sarif(tally.to_sarif())["results"]
    assert result["ruleId"] == "difference" and "return c" in result["message"]["text"]
    assert [each.tag for each in read_junit(tally.to_junit())] == ["failure", "system-out"]
    passed = campaign(["semantics"], ["native"], programs=programs, examples=1)
    assert read_sarif(passed.to_sarif())["results"] == []
    assert [each.tag for each in read_junit(passed.to_junit())] == ["system-out"]


@pytest.mark.parametrize("form", ["sarif", "junit"])
def test_results_in_python_have_the_findings_of_the_command_line(form: str, command: Any) -> None:
    """But for commands, which are calls there, and times."""
    report = wingspan.check(wingspan.load(RACY))
    assert getattr(report, f"to_{form}")() == command("check", RACY, "--format", form).out.rstrip("\n")
    explored = getattr(wingspan.explore(wingspan.load(RACY)), f"to_{form}")()
    assert "wingspan.replay(program, '1*4,2')" in explored
    assert read_sarif(explored)["results"] if form == "sarif" else len(read_junit(explored)) == 1


TEXTS = st.text(st.characters(categories=None), max_size=8)  # surrogates and what is no character, too


@given(TEXTS, TEXTS, TEXTS)
def test_whatever_is_in_a_finding_the_documents_can_be_read(name: str, message: str, details: str) -> None:
    found = ReportedFinding("race", message or "a race", (details,), (Location(name or "a.ws", 3),))
    for report in (FindingsReport("explore", name, (found,)), FindingsReport("explore", name, (), incomplete=message)):
        read_junit(junit.text(report).encode("utf-8").decode("utf-8"))
        read_sarif(sarif.text(report).encode("utf-8").decode("utf-8"))


def test_formats_for_ci_exclude_others(command: Any) -> None:
    for words in (
        ["explore", RACY, "--json", "--format", "junit"],
        ["explore", RACY, "--coverage", "--format", "sarif"],
        ["explore", RACY, "--format", "sarif", "-p", "n=1,2"],
    ):
        done = command(*words)
        assert done.status == 2 and "--format" in done.err
    assert command("explore", RACY, "--format", "json").json["verdict"] == "race"
