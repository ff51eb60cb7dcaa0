"""The commands that reports print can be pasted into a shell, and end as the report says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from proofs_tests.cli.typed import GOOD, RACY, commands, explored, pasted


@pytest.fixture
def typed(wingspan):
    """Runs a printed command in this process, as a shell takes it apart."""

    def run(command: str):
        name, *words = shlex.split(command)
        assert name == "wingspan"
        return wingspan(*words)

    return run


def steps_of(text: str) -> list[dict]:
    return [step for step in json.loads(text)["steps"] if step["visible"]]


def test_the_command_of_a_race_ends_with_the_two_racing_steps(wingspan, typed, written):
    """The file has a name that a shell would take apart."""
    file = written(Path(RACY).read_text(), "it's a *.ws")
    (race,) = wingspan("explore", file, "--json").json["races"]
    see, *_ = commands(wingspan("explore", file).out)
    length = sum(int(times or 1) for times in re.findall(r"\d(?:\*(\d+))?", race["interleaving"]))
    done = pasted(f"{see} --json")
    assert done.stderr == ""
    first, second = steps_of(done.stdout)[length - 2 : length]
    for step, side in ((first, race["first"]), (second, race["second"])):
        (touch,) = step["touches"]
        assert (step["task"], step["rule"], step["line"]) == (side["task"], side["rule"], side["line"])
        assert (touch["cell"], touch["operation"]) == (race["cell"], side["operation"])
    assert first["task"] != second["task"]
    assert f"── steps {length - 1} and {length} conflict: both touch {race['cell']}" in typed(see).out


def test_the_command_repeats_parameters_inputs_and_threads(wingspan, typed, files):
    """Without them the program could not run; with 3 threads the third one races too."""
    explored = wingspan("explore", *GOOD, "-p", "extra=1", "--threads", "3")
    assert explored.status == 2  # no such parameter: nothing is dropped silently
    words = ["good.ws", "-p", "nt=2", "-p", "n=3", "-p", "sch=dynamic_schedule(1)", "-i", "A=A.npy", "--threads", "3"]
    found = commands(wingspan("explore", *words).out)
    assert found
    for command in found:
        assert shlex.split(command)[2:-2] == words
        done = typed(command)
        assert (done.status, done.err) == (0, ""), command


def test_the_command_of_a_result_ends_with_that_result(wingspan, typed):
    text = wingspan("explore", RACY).out
    rows = re.findall(r"%.*?(c = \[.*?\])  differs.*\n +see +(.*)", text)
    assert rows
    for values, command in rows:
        assert typed(command).out.endswith(f"  result  {values}\n")


def test_the_commands_name_the_program_as_it_was_started():
    found = commands(explored().stdout)
    assert found and all(line.startswith("python -m wingspan replay ") for line in found)
