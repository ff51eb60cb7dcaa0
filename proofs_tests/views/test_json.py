"""JSON of results: by the published schemas, the same in Python as on the command line; and SARIF."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import wingspan
from proofs_tests.effort import few
from proofs_tests.places import EXAMPLES
from wingspan import api
from wingspan.base import documents
from wingspan.base.errors import InputError, ParseError
from wingspan.explorer import replay
from wingspan.trace import SCHEMA as TRACE
from wingspan.views.schemas import KINDS

RACY, SAFE = (str(EXAMPLES / name) for name in ("dependent.ws", "dependent_atomic.ws"))
QUIZ = sorted(path.name for path in EXAMPLES.glob("quiz_*.ws"))
VALUES = "x = 1.0 / 3\ny = Inf\nz = true\nT = Tensor(Dense(Dense(Element(NaN))), [1.0 2.5; -Inf 0.0])\nreturn T\n"
STUCK = "quiz_deadlock_two_locks.ws"


def closed(kind: str) -> dict[str, Any]:
    """The schema, with no room for members that it does not name."""
    made = deepcopy(wingspan.schema(kind))
    if kind == "step":
        return made  # proofs_tests/trace has more on it

    def close(node: Any) -> None:
        if isinstance(node, dict):
            if "object" in (node.get("type") or ()) and "properties" in node:  # else any object is meant
                node.setdefault("additionalProperties", False)
            for part in node.values():
                close(part)
        elif isinstance(node, list):
            for part in node:
                close(part)

    close(made)
    return made


def fits(kind: str, value: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(closed(kind)).validate(value)


def commands(folder: Path) -> list[tuple[str, list[str]]]:
    """Command lines of all verbs that print JSON, each with the schema of what it prints."""
    values = folder / "values.ws"
    values.write_text(VALUES)
    serial = folder / "serial.ws"
    serial.write_text("x = 0\nfor i = 1:2\nx = x + i\nend")
    log = folder / "kernel.log"
    log.write_text("1 look c[3]\n2 write c[3]\n")
    out = str(folder / "out.npy")
    return [
        ("check", ["check", RACY]),
        ("check", ["check", SAFE, "--format", "json"]),
        ("explore", ["explore", RACY]),
        ("explore", ["explore", RACY, "--strategy", "random", "--runs", "3", "--coverage"]),
        ("explore", ["explore", RACY, "--machine", "native", "--max-states", "3"]),
        ("replay", ["replay", RACY, "--interleaving", "1*3,2*9"]),
        ("replay", ["replay", RACY, "--interleaving", "1*3,2,1,2", "--machine", "native"]),
        ("step", ["step", str(EXAMPLES / "sum.ws")]),
        ("run", ["run", str(values), "--engine", "semantics"]),
        ("run", ["run", str(values)]),
        ("diff", ["diff", str(values)]),
        ("diff", ["diff", RACY, "--unsafe", "--engines", "reference,semantics", "--repeat", "2"]),
        ("stress", ["stress", RACY, "--runs", "5"]),
        ("parallelize", ["parallelize", RACY, "--threads", "2"]),
        ("parallelize", ["parallelize", str(serial), "--measure", "--top", "1"]),
        ("judge", ["judge", str(log)]),
        ("judge", ["judge", str(log), "--program", RACY]),
        ("plan", ["plan", SAFE]),
        ("passes", ["plan", SAFE, "--passes"]),
        ("sweep", ["check", str(EXAMPLES / "spadd.ws"), "-p", "nt=1,2", "-p", "sch=static_schedule()"]),
        ("emit-c", ["emit-c", SAFE, "-o", str(folder / "c")]),
        ("fmt", ["fmt", SAFE]),
        ("demo", ["demo", str(folder / "demo"), "--no-browser"]),
        ("cache", ["cache"]),
        ("convert", ["convert", str(EXAMPLES / "data" / "karate.mtx"), out]),
        ("show", ["show", str(EXAMPLES / "data" / "karate.mtx")]),
        ("error", ["run", RACY, "--engine", "native"]),
        ("error", ["explore", str(folder / "none.ws")]),
        ("error", ["explore", SAFE, "--runs", "none"]),
    ]


def test_what_every_verb_prints_is_by_its_schema(command, tmp_path: Path) -> None:
    """And every schema is one, and is that of some verb or of a result in Python."""
    seen = {"tensor", "kernel", "prove"}  # proofs_tests/proof has the JSON of proofs
    for kind, words in commands(tmp_path):
        printed = command(*words, *([] if "--format" in words else ["--json"])).json
        fits(kind, printed)
        assert kind == "step" or printed["schema"] == documents.SCHEMA
        seen.add(kind)
    assert seen == set(KINDS)


@pytest.mark.parametrize("name", few(QUIZ, 4))
def test_verdicts_and_runs_of_every_kind_are_by_their_schemas(name: str) -> None:
    """Races, faults, deadlocks, results and findings; every one replayed."""
    program = wingspan.load(EXAMPLES / name)
    found = wingspan.explore(program)
    fits("check", wingspan.check(program).to_dict())
    fits("explore", found.to_dict())
    findings: tuple[Any, ...] = (
        *found.verdict.races,
        *found.verdict.faults,
        *found.verdict.deadlocks,
        *found.verdict.results,
    )
    for each in findings[:4]:
        fits("replay", wingspan.replay(program, each.interleaving).to_dict())


def test_a_schema_refuses_what_lacks_a_member_or_has_another_type() -> None:
    made = wingspan.explore(RACY).to_dict()
    fits("explore", made)
    for name in made:
        with pytest.raises(jsonschema.ValidationError):
            fits("explore", {key: value for key, value in made.items() if key != name})
        with pytest.raises(jsonschema.ValidationError):
            fits("explore", {**made, name: {"no": []}})
    for name in made["races"][0]:
        with pytest.raises(jsonschema.ValidationError):
            fits("explore", {**made, "races": [{key: value for key, value in made["races"][0].items() if key != name}]})


def test_results_in_python_are_what_the_command_line_prints(command) -> None:
    """Except for times, and for comments, which `fmt` keeps."""
    pairs = [
        (wingspan.check(RACY), ["check", RACY]),
        (wingspan.explore(RACY), ["explore", RACY]),
        (wingspan.explore(RACY).verdict, ["explore", RACY]),
        (wingspan.replay(RACY, "1*3,2"), ["replay", RACY, "--interleaving", "1*3,2"]),
        (wingspan.run(SAFE), ["run", SAFE]),
        (wingspan.load(SAFE), ["fmt", SAFE]),
    ]
    for made, words in pairs:
        printed = command(*words, "--json").json
        if words[0] == "fmt":
            printed["program"] = "\n".join(line for line in printed["program"].splitlines() if line[0] != "#")
        assert {**json.loads(made.to_json()), "seconds": 0} == {**printed, "seconds": 0} != {"seconds": 0}
        assert json.loads(made.to_json(indent=2)) == made.to_dict()


def test_the_json_of_a_run_is_the_same_however_far_it_was_followed() -> None:
    one, other = (wingspan.replay(RACY, "1*3,2") for _ in range(2))
    next(one.steps)
    assert one.to_dict() == other.to_dict()


def test_values_that_json_lacks_are_text() -> None:
    made = wingspan.run(wingspan.parse(VALUES), engine="semantics")
    assert json.loads(made.to_json())["tensors"]["T"]["values"] == [[1.0, 2.5], ["-Inf", 0.0]]
    assert made.to_dict()["variables"] == {"x": 1 / 3, "y": "Inf", "z": True}


def test_tensors_and_kernels_have_json() -> None:
    small = wingspan.Tensor.from_numpy("Dense(Element(0.0))", [1.0, math.nan]).to_dict()
    large = wingspan.Tensor.from_numpy("Dense(Element(0))", [1] * 257).to_dict()
    kernel = wingspan.compile(EXAMPLES / "spadd.ws", params={"nt": 1, "sch": "static_schedule()"}, engine="native")
    for kind, made in (("tensor", small), ("tensor", large), ("kernel", kernel.to_dict())):
        fits(kind, made)
    assert (small["values"], large["values"]) == ([1.0, "NaN"], None)
    assert kernel.to_dict()["returns"] == ["C"]


def test_errors_have_the_json_that_is_printed(command, written) -> None:
    file = written("x = \n")
    with pytest.raises(ParseError) as caught:
        wingspan.load(file)
    assert caught.value.to_dict() == command("check", file, "--json").json
    fits("error", caught.value.to_dict())


def test_what_has_no_program_has_no_json() -> None:
    machine = api.semantics(api.bind(RACY))
    with pytest.raises(TypeError, match="no program"):
        replay(machine, "-").to_dict()


def test_a_schema_that_is_not_there_is_one_error(command) -> None:
    with pytest.raises(InputError, match="there is no schema chek") as caught:
        wingspan.schema("chek")
    assert caught.value.fix == "did you mean check?"
    assert command("schema", "chek").status == 2
    assert command("schema").out.split() == [*KINDS]
    assert json.loads(command("schema", "step").out) == TRACE == wingspan.schema("step")


# --------------------------------------------------------------------------------------------------------------- SARIF


def record(required: str, **members: Any) -> dict[str, Any]:
    """The schema of objects that have some of these members, and no others."""
    return {"type": "object", "properties": members, "required": required.split(), "additionalProperties": False}


def many_of(items: dict[str, Any], **bounds: Any) -> dict[str, Any]:
    """The schema of arrays."""
    return {"type": "array", "items": items, **bounds}


POSITIVE, WORD = {"type": "integer", "minimum": 1}, {"type": "string", "minLength": 1}
TEXT = record("text", text=WORD)
NUMBERS = ("startLine", "startColumn", "endLine", "endColumn")
PLACE = record(
    "physicalLocation",
    message=TEXT,
    physicalLocation=record(
        "artifactLocation",
        artifactLocation=record("uri", uri={"type": "string", "pattern": "^[A-Za-z0-9:/._~%-]+$"}),
        region=record("startLine", **dict.fromkeys(NUMBERS, POSITIVE)),
    ),
)
RESULT = record(
    "ruleId level message locations",
    ruleId=WORD,
    level={"enum": ["none", "note", "warning", "error"]},
    message=TEXT,
    locations=many_of(PLACE, maxItems=1),
    relatedLocations=many_of(PLACE, uniqueItems=True),
)
DRIVER = record(
    "name rules",
    name={"const": "wingspan"},
    version={"const": wingspan.__version__},
    rules=many_of(record("id shortDescription", id=WORD, shortDescription=TEXT), uniqueItems=True),
)
INVOCATION = record(
    "executionSuccessful",
    executionSuccessful={"type": "boolean"},
    toolExecutionNotifications=many_of(record("message", level={"const": "warning"}, message=TEXT)),
)
RUN = record(
    "tool results",
    tool=record("driver", driver=DRIVER),
    automationDetails=record("id", id=WORD),
    invocations=many_of(INVOCATION),
    columnKind={"const": "unicodeCodePoints"},
    results=many_of(RESULT),
)
HEAD = {"$schema": {"const": "https://json.schemastore.org/sarif-2.1.0.json"}, "version": {"const": "2.1.0"}}
SARIF = record("version runs", **HEAD, runs=many_of(RUN, minItems=1, maxItems=1))
"""The standard's requirements on the members that are used here (its sections 3.13 to 3.30)."""


def sarif(command, *words: str) -> tuple[int, dict[str, Any]]:
    done = command("check", *words, "--format", "sarif")
    jsonschema.Draft202012Validator(SARIF).validate(done.json)
    (run,) = done.json["runs"]
    assert {result["ruleId"] for result in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    return done.status, run


@pytest.mark.parametrize("name", [*few(QUIZ, 4), "dependent.ws", "dependent_atomic.ws"])
def test_findings_are_the_results_of_sarif(command, name: str) -> None:
    """One for each message, with its places, and the same exit status as otherwise."""
    file = str(EXAMPLES / name)
    status, run = sarif(command, file)
    as_text = command("check", file)
    assert status == as_text.status and run["invocations"] == [{"executionSuccessful": True}]
    assert as_text.out.count("error[") == len(run["results"]) == (0 if status == 0 else len(run["results"]) or 1)
    for result in run["results"]:
        (place,) = result["locations"]
        region = place["physicalLocation"]["region"]
        assert f"{file}:{region['startLine']}:{region['startColumn']}\n" in as_text.out
        assert f"error[{result['ruleId']}]: {result['message']['text'].splitlines()[0]}\n" in as_text.out
        assert place["physicalLocation"]["artifactLocation"]["uri"] == Path(file).as_uri()


def test_mistakes_are_results_of_sarif_with_their_places(command, written, monkeypatch, tmp_path) -> None:
    """Also in a file whose name no reference has as it is; and a command line that is wrong has no place."""
    written("c = Tensor(Some(Element(0)), 1)\nd = Tensor(Other(Element(0)), 1)\n", "a file.ws")
    monkeypatch.chdir(tmp_path)
    status, run = sarif(command, "a file.ws")
    assert status == 2 and run["invocations"] == [{"executionSuccessful": False}]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert [place["region"]["startLine"] for place in places] == [1, 2]
    assert {place["artifactLocation"]["uri"] for place in places} == {"a%20file.ws"}
    status, run = sarif(command, "none.ws", "--test", "nothing")
    assert (status, [(each["ruleId"], each["locations"]) for each in run["results"]]) == (2, [("usage", [])])


def test_two_forms_at_once_are_a_mistake(command) -> None:
    assert command("check", RACY, "--json", "--format", "sarif").status == 2
