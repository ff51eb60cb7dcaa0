"""`explore` asked about properties: answers, counts, values, commands, mistakes."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from wingspan import api
from wingspan.trace import document_of

BOTH = """
c = Tensor(Dense(Atomic(0)), 2)
c .= 0
for i = parallel(1:2)
    c[i] += 1
end
return c
"""
FIRST = BOTH.replace("c[i] += 1", "c[1] = i")
SPARSE = """
s = Tensor(SparseList(Element(0)), 2)
s .= 0
s[1] = 1
return s
"""


def explored(text: str, **asked: Any) -> api.Exploration:
    return api.explore(api.parse(text), **asked)


@pytest.mark.parametrize(
    ("text", "asked", "verdict", "status"),
    [
        (FIRST, ["--ends", "c[1] == 1 || c[1] == 2"], "holds", 0),
        (FIRST, ["--ends", "c[1] == 1"], "violated", 1),
        (FIRST, ["--always", "all(c[i] >= 0)"], "order-dependent", 1),
        (BOTH, ["--always", "all(c[i] >= 0)", "--always", "c[1] <= 1"], "holds", 0),
        (BOTH, ["--always", "all(c[i] >= 0)", "--always", "c[1] <= 0"], "violated", 1),
        (BOTH, ["--reach", "c[1] == 1 && c[2] == 0", "--reach", "c[1] == 0 && c[2] == 1"], "safe", 0),
        (BOTH, ["--reach", "c[1] == 2"], "unreached", 1),
        (BOTH, ["--reach", "c[1] == 2", "--max-states", "3"], "incomplete", 3),
        (BOTH, ["--always", "c[1] < 2", "--max-states", "3"], "incomplete", 3),
        (BOTH, ["--ends", "c[1] == 1", "--max-states", "3"], "incomplete", 3),
        (SPARSE, ["--always", "s[1] == 1"], "holds", 0),
        (SPARSE.replace("s[1] = 1", "s[1] = 1 / 0"), ["--always", "s[1] == 1"], "fault", 1),
    ],
)
def test_the_verdict_and_the_status_answer_what_is_asked(wingspan, written, text, asked, verdict, status):
    done = wingspan("explore", written(text), *asked)
    assert (done.out.split()[0], done.status) == (verdict, status)


def test_a_violated_property_has_values_counts_and_a_command_that_leads_there(wingspan, written):
    done = wingspan("explore", written(BOTH), "--always", "c[1] == 0 || c[2] == 1", "--json")
    (asked,) = json.loads(done.out)["properties"]
    assert asked["values"] == {"c": [1, 0]}
    assert (asked["interleavings"], asked["probability"]) == (1, 0.5)
    text = wingspan("explore", written(BOTH), "--always", "c[1] == 0 || c[2] == 1").out
    see = next(line for line in text.splitlines() if line.strip().startswith("see"))
    replayed = wingspan(*shlex.split(see.split("wingspan ")[1]))
    assert replayed.status == 0 and "the given interleaving ends here" in replayed.out
    assert "c.val[1] = 1" in replayed.out.split("the given interleaving ends here")[0]


@pytest.mark.parametrize(
    ("reach", "interleavings", "chance"),
    [
        ("c[1] == 1", 2, 1.0),
        ("c[1] == 1 && c[2] == 0", 1, 0.5),
        ("c[1] == 1 && c[2] == 1", 2, 1.0),
        ("c[1] == 3", 0, 0),
    ],
)
def test_interleavings_through_states_are_counted(reach, interleavings, chance):
    (asked,) = explored(BOTH, reach=reach).verdict.properties
    assert (asked.interleavings, asked.probability) == (interleavings, chance)


def test_properties_of_results_are_asked_of_both_machines():
    for machine in api.MACHINES:
        for strategy in ("graph", "dpor"):
            found = explored(FIRST, ends=["c[1] > 0", "c[2] == 0"], machine=machine, strategy=strategy).verdict
            assert (found.verdict, [each.answer for each in found.properties]) == ("holds", ["holds", "holds"])
            found = explored(FIRST, ends=["c[1] > 0", "c[1] == 2"], machine=machine, strategy=strategy).verdict
            assert (found.verdict, [each.answer for each in found.properties]) == ("violated", ["holds", "violated"])


def test_a_search_for_the_first_finding_stops_at_a_violation():
    found = explored(BOTH, always="c[2] == 0", first=True).verdict
    assert (found.verdict, found.stopped_by) == ("violated", "first")


def test_pages_show_properties_and_lead_to_what_violates_them():
    document = document_of(explored(BOTH, always="c[2] == 0"))
    (finding,) = document["findings"]
    assert (finding["kind"], finding["text"]) == ("property", "always c[2] == 0: violated")
    assert document["watches"] == ["c[2] == 0"]
    assert document["states"][finding["states"][-1]]["watched"] == ["false"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--always", "c[1]"], "c[1] is 0, which neither holds nor does not"),
        (["--always", "q > 1"], "cannot ask about q > 1: q: the root task has no variable of this name"),
        (["--ends", "i > 1"], "cannot ask about i > 1: i: no result has it"),
        (["--reach", "all(c[q] > 1"], "cannot ask about all(c[q] > 1: this bracket is never closed"),
        (["--reach", "c[1, 2] > 1"], "cannot ask about c[1, 2] > 1: c has 1 axis but 2 subscripts"),
        (["--always", "i > 1", "--machine", "native"], "cannot ask about i > 1: a plan keeps variables in registers"),
    ],
)
def test_what_cannot_be_asked_is_one_message(wingspan, written, asked, message):
    done = wingspan("explore", written(BOTH), *asked)
    assert done.status == 2 and message in done.err and done.err.count("error[") == 1


def test_a_resumed_search_answers_the_same_properties_and_no_others(wingspan, written, tmp_path):
    file, kept = written(BOTH), str(tmp_path / "kept")
    asked = ("--always", "c[2] == 0", "--reach", "c[1] == 1 && c[2] == 0", "--json")
    whole = wingspan("explore", file, *asked).json
    wingspan("explore", file, *asked, "--max-states", "2", "--checkpoint", kept)
    assert wingspan("explore", file, *asked, "--resume", kept).json["properties"] == whole["properties"]
    other = wingspan("explore", file, "--always", "c[1] == 0", "--resume", kept)
    assert other.status == 2 and "is a search of another program" in other.err


def test_a_sweep_asks_of_each_choice(wingspan, written):
    file = written(BOTH.replace("parallel(1:2)", "parallel(1:2, cpu(:t, nt))"))
    done = wingspan("explore", file, "-p", "nt=1,2", "--reach", "c[1] == 0 && c[2] == 1", "--json")
    assert [point["result"]["verdict"] for point in done.json["points"]] == ["unreached", "safe"]
    assert done.status == 1


def test_a_property_that_faults_does_not_hold_and_says_why(command, written) -> None:
    done = command("explore", written(BOTH), "--always", "c[3] > 0")
    assert done.status == 1
    assert 'fault = "c has the indices 1:2 on axis 1, got 3"' in done.out
