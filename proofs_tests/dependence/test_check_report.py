"""The report of `wingspan check` follows from the test's findings, and claims no more."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest

from proofs_tests.places import ROOT
from wingspan import api
from wingspan.dependence.findings import TESTS, Advice, Finding, Iteration, Report, SafetyProof, Topic, Witness, promise
from wingspan.lang import ir
from wingspan.levels.base import Dependence
from wingspan.views import json as as_json
from wingspan.views.check import REFUSED, TITLES, check
from wingspan.views.paint import paint
from wingspan.views.terminal import MOST
from wingspan.views.view import CheckReport, Invocation

TEXT = """\
dev = cpu(:t, 2)
A = Tensor(Dense(Dense(Element(0.0))), [1.0 2.0 3.0; 4.0 5.0 6.0; 7.0 8.0 9.0])
BT = Tensor(Dense(Dense(Element(0.0))), [1.0 4.0 7.0; 2.0 5.0 8.0; 3.0 6.0 9.0])
C = Tensor(SparseDict(SparseDict(Element(0.0))), 3, 3)
C .= 0
for k = parallel(_, dev, static_schedule())
    for j = _
        for i = _
            C[i, j] += A[i, k] * BT[j, k]
        end
        C[k % 2 + 1, j] += 1.0
    end
end
for i = parallel(1:3)
    C[i, i] += 1.0
    C[i, i] += 2.0
end
return C
"""
PROGRAM = api.parse(TEXT, "outer.ws")
BODY = api.bind(PROGRAM).body
OUTER, SECOND = (n for n in BODY.walk() if isinstance(n, ir.For) and isinstance(n.range, ir.Parallel))
UPDATE, SHIFTED, ONE, TWO = (n.access.span for n in PROGRAM.tree.walk() if isinstance(n, ir.Assign) and n.access.span)
FIX = "C = Tensor(Merge(dev, SparseDict(SparseDict(Element(0.0)))))"
MERGED = Advice(FIX, 2, TEXT.replace("SparseDict(SparseDict(Element(0.0))), 3, 3", f"{FIX[11:-1]}, 3, 3"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def kinds(*names: Dependence) -> frozenset[Dependence]:
    return frozenset(names)


MET = Witness(
    Iteration("1", (("k", 1), ("j", 1), ("s1", 3), ("i", 3))),
    Iteration("2", (("k", 3), ("j", 1), ("s1", 3), ("i", 3))),
    "C[3, 1]",
)
DICT = Finding(
    "level-dependence", "C", "two iterations of k update one fiber", OUTER, UPDATE, UPDATE, 3, "SparseDict",
    kinds("node", "sibling"), kinds(), {"k": "*", "j": "*", "s1": "="}, replace(MET, element="C[:, :]"),
)  # fmt: skip
FIBER = replace(DICT, level=2, required=kinds("cousin", "node", "sibling"), witness=None)
LEAF = replace(
    DICT, level=1, level_name="Element", required=kinds("node", "cousin"), stability=kinds("cousin", "sibling"),
    witness=MET,
)  # fmt: skip
CLAIM = replace(DICT, topic="claim", reason="the position is another thread's already", loop=SECOND, access=ONE)


def told(*findings: Finding, verdict: Any = "unsafe", **changes: Any) -> CheckReport:
    """A report with these findings and no advice, some of it changed."""
    report = replace(Report(verdict, "repaired", findings), **changes)
    return CheckReport(Invocation("outer.ws", threads=2), report, PROGRAM.tree)


def messages(report: CheckReport) -> list[str]:
    return [part for part in check(report).split("\n\n") if part.startswith("error[")]


# -------------------------------------------------------------------------------------------------------- one message


def test_a_message_shows_both_sides_of_the_failed_inclusion_and_a_witness():
    """As docs show it: the levels from the root on in whatever order they were found, the leaf's witness, a remedy."""
    assert check(told(LEAF, DICT, FIBER, advice=(MERGED,))) == (
        "unsafe  outer.ws: 1 finding in C\n"
        "\n"
        "error[level-dependence]: C[i, j] may race when k is parallel on dev\n"
        "  outer.ws:9:13\n"
        "    6 │ for k = parallel(_, dev, static_schedule())\n"
        "      │     ─ this loop carries the dependence: direction * on k, * on j\n"
        "    9 │             C[i, j] += A[i, k] * BT[j, k]\n"
        "      │             ^^^^^^^ e.g. task 1 (k = 1, j = 1, i = 3) and task 2 (k = 3, j = 1, i = 3) "
        "both update C[3, 1]\n"
        "  level 3  SparseDict  needs {node, sibling}          supports {}\n"
        "  level 2  SparseDict  needs {node, sibling, cousin}  supports {}\n"
        "  level 1  Element     needs {node, cousin}           supports {sibling, cousin}\n"
        f"  fix  {FIX}\n"
        "  see  wingspan explore outer.ws --threads 2\n"
        "\n"
        f"  test  repaired: {REFUSED}"
    )


@pytest.mark.parametrize(
    "change",
    [{"topic": "claim"}, {"tensor": "w"}, {"access": SHIFTED}, {"other": SHIFTED}, {"loop": SECOND}, {"loop": None}],
    ids=lambda change: next(iter(change)),
)
def test_findings_share_a_message_only_if_they_differ_in_the_level_alone(change):
    """The two loops of the program differ in their places, not only as trees."""
    assert len(messages(told(DICT, LEAF))) == 1
    found = told(DICT, replace(LEAF, **change))
    assert len(messages(found)) == 2
    assert check(found).startswith("unsafe  outer.ws: 2 findings in C")


@pytest.mark.parametrize("topic", get_args(Topic))
def test_each_topic_has_a_headline_and_says_why(topic):
    """With what is known least about a finding, too; a failed inclusion is its own reason."""
    bare = Finding(topic, "C", "because", access=UPDATE, level=1 if topic == "level-dependence" else None)
    for found in (bare, replace(bare, access=None), replace(DICT, topic=topic, reason="because")):
        (message,) = messages(told(found))
        assert re.match(rf"error\[{topic}\]: .*C\b.*\n", message)
        assert ("  why  because\n" in message) == (topic != "level-dependence")
        assert ("  level 3  SparseDict" in message) == (topic == "level-dependence" and found.level == 3)
        assert "None" not in message and "{who}" not in message
    assert ("k is parallel on dev" in message) == ("{when}" in TITLES[topic])


def test_no_two_topics_have_the_same_headline():
    assert len(set(TITLES.values())) == len(TITLES) == len(get_args(Topic))


def test_two_accesses_are_both_named_and_shown():
    (message,) = messages(told(replace(DICT, other=SHIFTED)))
    assert "C[i, j] and C[k % 2 + 1, j] may race when" in message
    assert re.search(r"\n    11 │ +C\[k % 2 \+ 1, j\] \+= 1\.0\n +│ +─{15} the other access\n", message)


def test_accesses_that_read_the_same_are_told_apart_by_their_lines():
    (message,) = messages(told(replace(DICT, loop=SECOND, access=ONE, other=TWO)))
    assert "C[i, i] (line 15) and C[i, i] (line 16) may race when i is parallel on cpu(2)" in message


@pytest.mark.parametrize(
    ("first", "second", "element", "said"),
    [
        (("1", 1), ("2", 3), "C[3, 1]", "e.g. task 1 (k = 1) and task 2 (k = 3) both update C[3, 1]\n"),
        (("1", 1), ("2", 3), "C[:, 1]", "e.g. task 1 (k = 1) and task 2 (k = 3) both update C[:, 1] at level 3\n"),
        (
            ("1", 1),
            ("1", 2),
            "C[3, 1]",
            "e.g. task 1 (k = 1) and task 1 (k = 2) both update C[3, 1], on two tasks if there are more\n",
        ),
        (("", 1), ("", 1), "C[:, 1]", "e.g. task 0 (k = 1) updates C[:, 1] at level 3 twice\n"),
    ],
)
def test_a_witness_names_tasks_iterations_and_what_they_share(first, second, element, said):
    """An element needs no level. What is wrong within one task comes one after the other."""
    one, other = (Iteration(task, (("k", at), ("s1", at))) for task, at in (first, second))
    (message,) = messages(told(replace(CLAIM, witness=Witness(one, other, element))))
    assert said in message


def test_a_loop_is_shown_once():
    """An access in the loop's own line, in its bounds for example, gets no second mark."""
    header = OUTER.range.span
    (message,) = messages(told(replace(DICT, access=header, other=header)))
    assert message.count("for k = ") == 1 and "carries" not in message


@pytest.mark.parametrize(
    ("directions", "said"),
    [
        ([{}, {}], "dependence\n"),
        ([{"k": "<"}, {"k": "<"}], "dependence: direction < on k\n"),
        ([{"k": "<"}, {"k": ">"}], "dependence: direction * on k\n"),
        ([{"k": "<", "j": "="}, {"k": "<", "j": "*"}], "dependence: direction < on k, * on j\n"),
    ],
)
def test_the_direction_covers_all_levels_of_the_message(directions, said):
    one, other = directions
    (message,) = messages(told(replace(DICT, direction=one), replace(LEAF, direction=other)))
    assert f"this loop carries the {said}" in message


def test_inserted_loops_are_mentioned_nowhere():
    """The indices s1, … that concordization makes mean nothing to a reader."""
    assert "s1" in {n.index for n in BODY.walk() if isinstance(n, ir.For)}
    report = told(DICT, FIBER, LEAF, CLAIM)
    assert not re.search(r"\bs1\b", check(report) + json.dumps(as_json.check(report)))


def test_a_device_is_called_by_its_name_in_the_program():
    """Not by its symbol, :t. A device without a name is known by its threads, as many as it was given."""
    assert told().device(OUTER) == "dev"
    assert told().device(SECOND) == "cpu(2)"
    bound = api.bind(PROGRAM, threads=3)
    _, second = (n for n in bound.body.walk() if isinstance(n, ir.For) and isinstance(n.range, ir.Parallel))
    assert told().device(second) == "cpu(3)"


# ------------------------------------------------------------------------------------------------- the whole report


def test_alternatives_are_ranked_below_the_messages():
    serial = Advice("for k = _\nfor i = parallel(_)", 10, TEXT)
    text = check(told(DICT, CLAIM, advice=(MERGED, serial)))
    assert text.count(f"  fix  {FIX}\n") == 1
    ranked = text[text.index("advice:") :].split("\n\n")[0].splitlines()[1:]
    assert ranked == [
        "  cost  change",
        f"     2  {FIX}",
        "    10  for k = _",
        "        for i = parallel(_)",
    ]


def test_without_advice_none_is_given():
    text = check(told(DICT))
    assert "fix" not in text and "\n\nadvice: none;" in text
    assert "advice" not in check(told(DICT, advice=(MERGED,)))


def test_a_long_access_is_cut_in_the_headline_and_shown_below():
    text = TEXT.replace("C[k % 2 + 1, j]", f"C[{'k % 2 + ' * 12}1, j]")
    tree = api.parse(text, "outer.ws").tree
    _, span, *_ = (n.access.span for n in tree.walk() if isinstance(n, ir.Assign) and n.access.span)
    report = told(replace(DICT, access=span, other=span))
    title, *below = messages(replace(report, program=tree))[0].splitlines()
    assert len(title) < 120 and "… may race when" in title
    assert any("1, j] += 1.0" in line for line in below) and any(f" {'^' * len(span.text)} " in line for line in below)


def test_long_lists_are_cut_and_say_so():
    spans = [replace(UPDATE, column=n) for n in range(1, MOST + 3)]
    found = [replace(DICT, access=span, other=span) for span in spans]
    text = check(told(*found, advice=tuple(replace(MERGED, cost=n) for n in range(MOST + 1))))
    assert text.startswith(f"unsafe  outer.ws: {MOST + 2} findings in C\n")
    assert text.count("error[") == MOST
    assert "and 2 more findings: --json lists them all" in text
    assert "and 1 more change: --json lists them all" in text


def test_a_safe_report_proves_each_pair_once_below_its_loop():
    """The loops come as the program has them. Two pairs with one text and one reason are one line."""
    proofs = (
        SafetyProof(SECOND, "C", ONE, TWO, "strong SIV: the distance on i is 0"),
        SafetyProof(SECOND, "C", ONE, ONE, "strong SIV: the distance on i is 0"),
        SafetyProof(SECOND, "w", None, None, "w is private to a task"),
        SafetyProof(OUTER, "C", UPDATE, UPDATE, "strong SIV: the distance on k is 0"),
        SafetyProof(OUTER, "C", UPDATE, SHIFTED, "ZIV: 1 is not 2"),
    )
    further = Advice("for j = parallel(_)", 1, TEXT)
    report = told(verdict="safe", proofs=proofs, advice=(further,))
    assert check(report) == (
        "safe  outer.ws: every parallel loop is supported by its formats\n"
        "\n"
        "for k = parallel(_, dev, static_schedule())  (line 6)\n"
        "  C[i, j]                   strong SIV: the distance on k is 0\n"
        "  C[i, j], C[k % 2 + 1, j]  ZIV: 1 is not 2\n"
        "\n"
        "for i = parallel(1:3)  (line 14)\n"
        "  C[i, i]  strong SIV: the distance on i is 0\n"
        "  w        w is private to a task\n"
        "\n"
        "these loops could be parallel, too, one at a time:\n"
        "  cost  change\n"
        "     1  for j = parallel(_)\n"
        "\n"
        f"  test  repaired: {promise([])}"
    )


def test_the_reasons_of_one_proof_stand_below_each_other():
    """Also where two pairs have a reason in common."""
    proofs = (SafetyProof(OUTER, "C", UPDATE, UPDATE, "a; b"), SafetyProof(OUTER, "C", SHIFTED, SHIFTED, "c; b"))
    assert "\n  C[i, j]          a\n                   b\n  C[k % 2 + 1, j]  c\n                   b\n" in check(
        told(verdict="safe", proofs=proofs)
    )


def test_long_proofs_are_cut_and_say_so():
    proofs = tuple(SafetyProof(OUTER, f"T{n}", None, None, "because") for n in range(MOST + 3))
    text = check(told(verdict="safe", proofs=proofs))
    assert text.count("because") == MOST
    assert "\n  and 3 more proofs: --json lists them all\n" in text


@pytest.mark.parametrize("verdict", ["safe", "unsafe", "order-dependent"])
def test_the_verdict_is_coloured_on_a_terminal(verdict, monkeypatch):
    """And nothing else changes."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    text = check(told(DICT, CLAIM, verdict=verdict, advice=(MERGED,)))
    coloured = paint(text, Terminal())
    assert re.match(rf"\x1b\[[0-9;]+m{verdict}\x1b\[0m  outer\.ws", coloured)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text


def test_what_is_left_open_is_said_and_no_command_printed_that_cannot_run():
    for report in (told(DICT, symbols=("nt", "A")), told(verdict="safe", symbols=("nt", "A"))):
        text = check(report)
        assert text.endswith("\n  open  nt, A; the verdict holds for all that they can be")
        assert "explore" not in text
        assert as_json.check(report)["symbols"] == ["nt", "A"]


def test_a_program_without_parallel_loops_is_safe_for_that_reason():
    tree = api.parse("x = 1").tree
    assert check(CheckReport(Invocation("x.ws"), Report("safe", "exact", ()), tree)).startswith(
        "safe  x.ws: it has no parallel loop\n"
    )


@pytest.mark.parametrize("test", TESTS)
def test_the_report_says_what_its_verdict_is_worth(test):
    """The printed algorithm is never relied on."""
    assert check(told(test=test)).endswith(f"\n  test  {test}: {REFUSED}")
    text = check(told(verdict="safe", test=test))
    assert text.endswith(f"\n  test  {test}: {promise([])}") == (test != "printed") == ("do not rely on it" not in text)


# ---------------------------------------------------------------------------------------------------------------- JSON

KEYS = {
    "topic": str, "loop": str, "device": str, "tensor": str, "access": str, "other": str, "level": int,
    "level_name": str, "required": list, "stability": list, "missing": list, "direction": dict, "line": int,
    "column": int, "other_line": int, "other_column": int, "reads": list, "reason": str, "witness": dict,
}  # fmt: skip


def test_a_finding_has_these_keys_and_values():
    report = told(replace(LEAF, required=kinds("cousin", "sibling", "node"), stability=kinds("sibling")))
    made = json.loads(json.dumps(as_json.check(report)))
    assert list(made) == [
        "verdict",
        "test",
        "findings",
        "advice",
        "advice_complete",
        "proofs",
        "partial",
        "symbols",
        "alike",
    ]
    (found,) = made["findings"]
    assert {key: type(value) for key, value in found.items()} == KEYS
    assert (found["loop"], found["device"]) == ("for k = parallel(_, dev, static_schedule())", "dev")
    assert [found[key] for key in ("required", "stability", "missing")] == [
        ["node", "sibling", "cousin"], ["sibling"], ["node", "cousin"],
    ]  # fmt: skip
    assert found["direction"] == {"k": "*", "j": "*"}
    assert found["witness"] == {
        "first": {"task": "1", "indices": {"k": 1, "j": 1, "i": 3}},
        "second": {"task": "2", "indices": {"k": 3, "j": 1, "i": 3}},
        "element": "C[3, 1]",
        "certain": True,
    }


@pytest.mark.parametrize(
    ("statement", "reads"),
    [("a[i] = a[i + 1]", {True, False}), ("s[] = a[1]\n    a[i] = 1", {True, False}), ("a[1] += 1", {False})],
)
def test_a_finding_says_which_access_only_reads(statement, reads):
    text = f"""
a = Tensor(Dense(Element(0)), 4)
s = Tensor(Element(0))
a .= 0
s .= 0
for i = parallel(1:3)
    {statement}
end
"""
    findings = [each for each in api.check(api.parse(text)).to_dict()["findings"] if each["tensor"] == "a"]
    assert findings and all(len(each["reads"]) == 2 for each in findings)
    assert {read for each in findings for read in each["reads"]} == reads


def test_what_does_not_apply_is_null():
    (found,) = as_json.check(told(Finding("deadlock", "C", "because")))["findings"]
    nothing = {"loop", "device", "access", "other", "level", "line", "column", "other_line", "other_column", "witness"}
    assert {key for key, value in found.items() if value is None} == nothing


def test_json_lists_every_level_and_all_advice():
    spans = [replace(UPDATE, column=n) for n in range(1, MOST + 3)]
    found = [replace(finding, access=span) for span in spans for finding in (DICT, FIBER, LEAF)]
    made = as_json.check(told(*found, advice=(MERGED,) * 20))
    assert (len(made["findings"]), len(made["advice"])) == (len(found), 20)
    assert made["advice"][0] == {"change": FIX, "cost": 2, "program": MERGED.program}


def keys(value: object) -> Iterator[str]:
    """The keys of the objects in a value, without those that name loops."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield key
            if key not in ("direction", "indices"):
                yield from keys(below)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for below in value:
            yield from keys(below)


def test_every_key_is_documented():
    """docs/json.md names each key."""
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    section = text[text.index("## `check`") : text.index("## `explore`")]
    proof = SafetyProof(OUTER, "C", UPDATE, UPDATE, "because")
    named = set(re.findall(r"`([a-z_-]+)`", section))
    assert set(keys(as_json.check(told(LEAF, advice=(MERGED,), proofs=(proof,))))) <= named
