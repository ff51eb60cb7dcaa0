"""The exit status of the command says how a verb ended."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from proofs_tests.cli.typed import FAULTY, RACY, RULES, SAFE, STUCK, commands
from wingspan.console import STATUS
from wingspan.explorer.verdict import VERDICTS

ORDER = "c = Tensor(Dense(Atomic(0)), 1)\nc .= 0\nfor i = parallel(1:2)\n    c[1] = i\nend\nreturn c\n"


@pytest.mark.parametrize(
    ("program", "options", "verdict", "status"),
    [
        (Path(SAFE).read_text(), [], "safe", 0),
        (Path(RACY).read_text(), [], "race", 1),
        (ORDER, [], "order-dependent", 1),
        (FAULTY, [], "fault", 1),
        (STUCK, [], "deadlock", 1),
        (Path(SAFE).read_text(), ["--max-states", "2"], "incomplete", 3),
        (Path(SAFE).read_text(), ["--max-seconds", "0"], "incomplete", 3),
    ],
)
def test_the_exit_status_tells_the_verdict(wingspan, written, program, options, verdict, status):
    file = written(program)
    done = wingspan("explore", file, *options)
    assert (done.status, done.err) == (status, "")
    assert done.out.startswith(f"{verdict}  {file}: ")
    assert wingspan("explore", file, *options, "--json").json["verdict"] == verdict


def test_every_verdict_has_an_exit_status_and_only_safe_and_holds_have_0():
    assert set(STATUS) == {*VERDICTS, "incomplete"}
    assert [verdict for verdict, status in STATUS.items() if status == 0] == ["safe", "holds"]
    assert [verdict for verdict, status in STATUS.items() if status == 3] == ["incomplete"]


def test_a_finding_counts_more_than_a_search_cut_short(wingspan):
    done = wingspan("explore", RACY, "--max-states", "10")
    assert done.status == 1 and "stopped by --max-states" in done.out


def test_a_fault_met_while_running_is_an_error(wingspan, written):
    file = written(FAULTY)
    for engine in ("semantics", "reference"):
        done = wingspan("run", file, "--engine", engine)
        assert (done.status, done.out) == (1, "")
        assert re.match(r"error\[fault\]: .*\n  .*program\.ws:4:", done.err)


@pytest.mark.parametrize("text", [FAULTY, STUCK])
def test_explore_run_and_replay_end_in_the_same_words(wingspan, written, text):
    """Each with a command, and the commands lead to the same end; the search finds a shortest way."""
    file = written(text)
    explored, ran = wingspan("explore", file).out.split("\n\n")[1], wingspan("run", file, *RULES)
    assert (ran.status, ran.out) == (1, "")
    replayed = [wingspan(*shlex.split(see)[1:]) for see in (*commands(explored), *commands(ran.err))]
    assert len(replayed) == 2
    for told in (ran.err, *(done.out for done in replayed)):
        assert without_command(told[told.index("error[") :]) == without_command(explored)


def without_command(text: str) -> str:
    return re.split(r"^ +see ", text, flags=re.MULTILINE)[0]


def test_a_replay_ends_well_or_in_the_fault_that_it_leads_to(wingspan, written):
    done = wingspan("replay", RACY, "--interleaving", "-")
    assert (done.status, done.err) == (0, "") and "\nfinished  after " in done.out
    file = written(FAULTY)
    (see,) = commands(wingspan("explore", file).out)
    done = wingspan(*shlex.split(see)[1:])
    assert (done.status, done.err) == (1, "") and "\nerror[fault]: " in done.out
