"""Sweeps: a verb with several values of a parameter gives a table, with the same results as one at a time."""

from __future__ import annotations

from itertools import product

import jsonschema
import pytest

import wingspan
from wingspan.cli.options import values

SHARED = (
    "dev = cpu(:d, nt)\nc = Tensor(Dense(Element(0)), 5)\nc .= 0\nfor i = parallel(1:n, dev, sch)\n"
    "    c[i - i % 2 + 1] += 1\nend\nreturn c\n"
)
FIXED = ["-p", "n=3", "-p", "sch=static_schedule()"]


def test_each_row_is_what_the_verb_gives_with_these_values(command, written) -> None:
    """All choices, the last parameter fastest; values with commas of their own; and the worst exit status."""
    file = written(SHARED)
    schedules = ["static_schedule()", "dynamic_schedule(1)"]
    done = command("explore", file, "-p", "nt=1,2", "-p", "n=3", "-p", f"sch={','.join(schedules)}", "--json")
    singly = []
    for nt, sch in product("12", schedules):
        one = command("explore", file, "-p", f"nt={nt}", "-p", "n=3", "-p", f"sch={sch}", "--json")
        singly.append(({"nt": nt, "sch": sch}, one.json | {"seconds": 0}, one.status))
    points = done.json["points"]
    assert [(point["params"], point["result"] | {"seconds": 0}) for point in points] == [(p, r) for p, r, _ in singly]
    assert done.status == max(status for *_, status in singly) == 1
    jsonschema.validate(done.json, wingspan.schema("sweep"))
    for point in points:
        jsonschema.validate(point["result"], wingspan.schema("explore"))


@pytest.mark.parametrize(
    ("words", "heading", "status"),
    [
        (["check"], ["nt", "verdict", "findings", "fix"], 1),
        (["explore"], ["nt", "verdict", "interleavings", "states", "results", "races", "time"], 0),
        (["run", "--engine", "semantics"], ["nt", "engine", "time", "c"], 0),
        (["diff", "--unsafe"], ["nt", "engines", "semantics", "reference", "native", "native-controlled"], 0),
        (["stress", "--runs", "3"], ["nt", "ends", "of", "surprises", "time"], 0),
    ],
)
def test_every_verb_that_judges_or_runs_has_a_table(command, written, words, heading, status) -> None:
    verb, *options = words
    done = command(verb, written(SHARED), "-p", "nt=1,2", *FIXED, *options)
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == heading and [line[0] for line in lines[1:]] == ["1", "2"] and done.status == status


def test_a_fault_is_a_row(command, written) -> None:
    done = command("run", written(SHARED), "-p", "nt=1", "-p", "n=3,7", *FIXED[2:], "--engine", "semantics")
    first, second = done.out.splitlines()[1:]
    assert "5 stored" in first and "the indices 1:5" in second and done.status == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan"], "plan takes one value of each parameter"),
        (["explore", "--html", "x.html"], "--html takes one value of each parameter, not nt=1,2"),
        (["explore", "-p", "m=1,,2"], "-p m: a value is missing between two commas"),
        (["explore", "-p", "m=1,0"], "the program has no parameter m"),
    ],
)
def test_what_cannot_be_swept_is_one_error(command, written, words: list[str], said: str) -> None:
    verb, *options = words
    done = command(verb, written(SHARED), "-p", "nt=1,2", *FIXED, *options)
    assert done.status == 2 and said in done.err


def test_a_sweep_in_python_takes_lists(written) -> None:
    program = wingspan.parse("x = a + b")
    made = wingspan.sweep(wingspan.run, program, params={"a": [1, 2], "b": (10, 20)}, engine="reference")
    assert [(dict(point.params), point.result["x"]) for point in made.points] == [
        ({"a": a, "b": b}, a + b) for a in (1, 2) for b in (10, 20)
    ]
    assert repr(made) == "<Sweep of run: 4 points>" and str(made).splitlines()[0].split() == [
        "a",
        "b",
        "engine",
        "time",
        "x",
    ]
    for params in ({"a": 1, "b": 2}, {"a": [], "b": [1]}):
        with pytest.raises(wingspan.InputError, match="values to choose from"):
            wingspan.sweep(wingspan.run, program, params=params)
    with pytest.raises(wingspan.InputError, match="bound already"):
        wingspan.sweep(wingspan.run, wingspan.bind(program, params={"a": 1, "b": 1}), params={"a": [1]})


def test_commas_in_parentheses_are_parts_of_a_value() -> None:
    assert values("cpu(:d, 2),cpu(:d, 4)") == ["cpu(:d, 2)", "cpu(:d, 4)"]
