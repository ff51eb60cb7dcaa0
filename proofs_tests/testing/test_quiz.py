"""The quiz programs: each goes wrong as examples/quiz.md says, prints what is kept beside it, and is repaired there."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from proofs_tests.places import ROOT
from wingspan import api, cli
from wingspan.api import Exploration
from wingspan.explorer.incident import Deadlock, FaultReport
from wingspan.explorer.interleaving import parse_interleaving
from wingspan.explorer.properties import Answer
from wingspan.explorer.verdict import VERDICTS, Race, Result

Finding = FaultReport | Deadlock | Race | Result

EXAMPLES = ROOT / "examples"
HEADING = re.compile(r"^\[(quiz_\w+)\]\(\1\.ws\): \[`([a-z-]+)`\]\(\1\.out\)\n")
MOST_STATES = 1000
"""A quiz is explored while a lecturer goes on talking."""


@dataclass(frozen=True)
class Quiz:
    """A section of the page. It shows a whole program as a diff: broken without the lines `+`, repaired without `-`."""

    name: str
    verdict: str
    broken: str
    repaired: str

    @property
    def file(self) -> str:
        """As it is named on the command line."""
        return f"examples/{self.name}.ws"

    @property
    def output(self) -> Path:
        return EXAMPLES / f"{self.name}.out"


def sections() -> list[Quiz]:
    """The sections of the page."""
    found = []
    _, *texts = re.split(r"^### ", (EXAMPLES / "quiz.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for text in texts:
        ((name, verdict),) = HEADING.findall(text)
        (diff,) = re.findall(r"^```diff\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        found.append(Quiz(name, verdict, without("+", diff), without("-", diff)))
    return found


def without(mark: str, diff: str) -> str:
    """The lines of a diff that do not bear a mark."""
    return "".join(line[1:] for line in diff.splitlines(keepends=True) if not line.startswith(mark))


QUIZZES = sections()
each_quiz = pytest.mark.parametrize("quiz", QUIZZES, ids=lambda quiz: quiz.name)


@cache
def explored(text: str) -> Exploration:
    """The exploration of a program, which must be complete and small."""
    found = api.explore(api.parse(text))
    assert found.verdict.complete
    assert found.verdict.states < MOST_STATES
    return found


@pytest.fixture
def wingspan(capsys, monkeypatch):
    """Runs the command in this process, at the root of the project, and gives what it prints."""
    monkeypatch.chdir(ROOT)

    def run(*words: str) -> str:
        with pytest.raises(SystemExit):
            cli.main(list(words), prog_name="wingspan")
        return str(capsys.readouterr().out)

    return run


def timeless(output: str) -> str:
    """The output of `explore`, without the seconds that it took."""
    return re.sub(r", in [\d.]+ s \(", ", in … s (", output)


# ----------------------------------------------------------------------------------------------------------- the page


def test_every_quiz_has_a_section_and_every_section_a_quiz() -> None:
    assert sorted(quiz.name for quiz in QUIZZES) == sorted(path.stem for path in EXAMPLES.glob("quiz_*.ws"))
    assert {quiz.output for quiz in QUIZZES} >= set(EXAMPLES.glob("quiz_*.out"))


@each_quiz
def test_the_page_shows_the_program(quiz: Quiz) -> None:
    """Its first line asks the question."""
    assert quiz.broken == (ROOT / quiz.file).read_text(encoding="utf-8")
    assert re.match(r"# .*\?\n(?!#)", quiz.broken)


# --------------------------------------------------------------------------------------------------- what goes wrong


@each_quiz
def test_the_output_is_as_kept(quiz: Quiz, wingspan, pytestconfig) -> None:
    """`--accept` keeps what is printed now."""
    output = timeless(wingspan("explore", quiz.file))
    if pytestconfig.getoption("--accept"):
        quiz.output.write_text(output, encoding="utf-8")
    assert output == quiz.output.read_text(encoding="utf-8")


@each_quiz
def test_the_verdict_is_that_of_the_page(quiz: Quiz) -> None:
    assert explored(quiz.broken).verdict.verdict == quiz.verdict != "safe"


@each_quiz
def test_each_printed_replay_does_what_its_finding_says(quiz: Quiz, wingspan) -> None:
    """A fault or a deadlock ends it, a race's two accesses come last, a result is what it computes."""
    verdict = explored(quiz.broken).verdict
    findings: list[Finding] = [*verdict.faults, *verdict.deadlocks, *verdict.races, *verdict.results]
    commands = re.findall(r"^ +see +wingspan (replay .*)$", wingspan("explore", quiz.file), re.MULTILINE)
    assert len(commands) >= len(verdict.faults) + len(verdict.deadlocks) + len(verdict.races)
    for command in commands:
        *words, interleaving = shlex.split(command)
        told = [finding for finding in findings if finding.interleaving == interleaving]
        assert told, command
        replayed = json.loads(wingspan(*words, interleaving, "--json"))
        for finding in told:
            check(finding, replayed)


def check(finding: Finding, replayed: dict[str, Any]) -> None:
    """Compare a replay with a finding."""
    match finding:
        case FaultReport() | Deadlock():
            assert (replayed["end"], replayed["message"]) == (finding.topic, finding.message)
        case Result(outcome):
            assert replayed["values"] == outcome.values()
        case Race():
            given = len(parse_interleaving(finding.interleaving))
            taken = [step for step in replayed["steps"] if step["visible"]][:given]
            for side, step in zip((finding.first, finding.second), taken[-2:], strict=True):
                assert (side.task, side.rule) == (step["task"], step["rule"])
                assert (finding.cell, side.operation) in [(at["cell"], at["operation"]) for at in step["touches"]]


def test_everything_that_can_go_wrong_does() -> None:
    """Every verdict without properties but `safe`; every kind of race, on variables too; races with one result, faults
    without a race.
    """
    verdicts = [explored(quiz.broken).verdict for quiz in QUIZZES]
    assert {verdict.verdict for verdict in verdicts} == set(VERDICTS) - {"safe", *get_args(Answer)}
    assert {race.kind for verdict in verdicts for race in verdict.races} == {"node", "sibling", "cousin", ""}
    assert any(verdict.races and len(verdict.results) == 1 for verdict in verdicts)
    assert any(verdict.faults and verdict.results and not verdict.races for verdict in verdicts)


# ----------------------------------------------------------------------------------------------------- what repairs it


@each_quiz
def test_the_repaired_program_is_safe(quiz: Quiz) -> None:
    """One line differs, and the sequential result of every tensor is the same."""
    assert abs(quiz.broken.count("\n") - quiz.repaired.count("\n")) <= 1
    repaired = explored(quiz.repaired)
    assert repaired.verdict.verdict == "safe"
    assert repaired.expected is not None
    assert repaired.expected.tensors == explored(quiz.broken).expected.tensors  # type: ignore[union-attr]
