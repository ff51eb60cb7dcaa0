"""`replay` of what `explore` has found, by its number, and of the first finding."""

from __future__ import annotations

from typing import Any

import pytest

import wingspan
from proofs_tests.places import EXAMPLES
from wingspan.base.errors import InputError

RACY, SAFE = (str(EXAMPLES / name) for name in ("dependent.ws", "dependent_atomic.ws"))


def test_races_and_results_are_those_that_explore_numbers(command) -> None:
    made = command("explore", RACY, "--json").json
    assert len(made["races"]) == 1 and len(made["results"]) == 2
    for kind in ("race", "result"):
        for number, each in enumerate(made[f"{kind}s"], start=1):
            named: dict[str, Any] = {kind: number}
            asked = command("replay", RACY, f"--{kind}", str(number), "--json").json
            assert asked == command("replay", RACY, "--interleaving", each["interleaving"], "--json").json
            assert asked == wingspan.replay(RACY, **named).to_dict()
            if kind == "result":
                assert asked["values"] == each["values"]


@pytest.mark.parametrize(
    ("name", "found", "status"),
    [
        ("quiz_append_out_of_order.ws", "fault 1", 1),
        ("quiz_deadlock_two_locks.ws", "deadlock 1", 1),
        ("dependent.ws", "result 2", 0),
        ("quiz_same_value_race.ws", "race 1", 0),
    ],
)
def test_without_a_number_it_is_the_first_finding(command, name: str, found: str, status: int) -> None:
    """The worst one: a fault or a deadlock, then a result that is not the sequential result, then a race."""
    file = str(EXAMPLES / name)
    done = command("replay", file, "--json")
    assert (done.status, done.err) == (status, f"note: this is {found} of explore\n")
    kind, number = found.split()
    listed = [each["interleaving"] for each in command("explore", file, "--json").json[f"{kind}s"]]
    assert done.json == command("replay", file, "--interleaving", listed[int(number) - 1], "--json").json


def test_on_the_plan_it_is_the_finding_of_the_plan(command) -> None:
    words = ["replay", RACY, "--machine", "native", "--race", "1", "--json"]
    race = command("explore", RACY, "--machine", "native", "--json").json["races"][0]["interleaving"]
    assert command(*words).json == command(*words[:4], "--interleaving", race, "--json").json
    assert wingspan.replay(RACY, race=1, machine="native").to_dict() == command(*words).json


def test_where_nothing_goes_wrong_it_is_one_run(command) -> None:
    done = command("replay", SAFE, "--json")
    assert (done.status, done.err) == (0, "note: nothing goes wrong; this is one run\n")
    assert done.json["values"] == {"c": [1, 0, 2, 0, 1]}


@pytest.mark.parametrize("words", [["--race", "2"], ["--result", "3"]])
def test_a_number_that_explore_does_not_list_is_one_error(command, words: list[str]) -> None:
    done = command("replay", RACY, *words)
    assert done.status == 2 and "error[input]: there is no " in done.err
    assert done.err.endswith(f"fix  see `wingspan explore {RACY}`\n")


def test_a_number_in_python_counts_from_one() -> None:
    with pytest.raises(InputError, match="there is no race 0"):
        wingspan.replay(RACY, race=0)


def test_two_ways_to_name_an_interleaving_are_a_mistake(command) -> None:
    assert command("replay", RACY, "--interleaving", "1", "--race", "1").status == 2


def test_a_result_is_reached_also_where_a_watch_makes_steps_visible(command, written) -> None:
    """Steps of the root task, which are invisible otherwise, take part in its interleaving then."""
    text = "c = Tensor(Dense(Element(0)), 2)\nc .= 0\nx = 0\nfor i = parallel(1:2)\n    c[i] = i\nend\nx = 5\n"
    path = written(text)
    done = command("replay", path, "--watch", "x", "--result", "1", "--json")
    assert done.status == 0 and done.json["mismatch"] is None
    assert wingspan.replay(path, result=1, watch="x").to_dict() == done.json
