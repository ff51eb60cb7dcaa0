"""The races of a log against the definition of happens-before, and searches that are ended early."""

from __future__ import annotations

import os
import signal
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from proofs_tests.accesses.logs import DEPENDENT
from proofs_tests.effort import many
from wingspan import api, happens_before
from wingspan.accesses import ACCESSES, BATCH, Log, LogAccess, parse_log
from wingspan.explorer.bounds import Stopped
from wingspan.explorer.machine import CellAccess
from wingspan.happens_before import Detector, races

PAIRS = {("release", "acquire"), ("signal", "wait"), ("release", "wait"), ("signal", "acquire")}


def related(one: str, other: str) -> bool:
    """Whether one of two tasks is the other, or above it."""
    return all(x == y for x, y in zip(one.split(".") if one else [], other.split(".") if other else [], strict=False))


Site = tuple[str, str]
"""An operation, and the place of its statement in the source."""


def site(access: LogAccess) -> Site:
    return access.operation, access.place


def racing(log: list[LogAccess]) -> set[tuple[str, frozenset[Site], int]]:
    """The cell, the sites and the line of the second access of each race, by the definition.

    An event comes before a later one if their tasks are related, or it lets the later one go on; and what comes before
    it does, too.
    """
    before: list[set[int]] = []
    for j, later in enumerate(log):
        direct = [
            i for i, e in enumerate(log[:j])
            if related(e.task, later.task) or ((e.operation, later.operation) in PAIRS and e.cell == later.cell)
        ]  # fmt: skip
        before.append(set(direct).union(*(before[i] for i in direct)))
    first: dict[tuple[str, frozenset[Site]], int] = {}
    for j, i in ((j, i) for i, j in combinations(range(len(log)), 2)):
        one, other = log[i], log[j]
        if i in before[j] or one.cell != other.cell or not {one.operation, other.operation} <= set(ACCESSES):
            continue
        if CellAccess("", one.operation, "").races(CellAccess("", other.operation, "")):  # type: ignore[arg-type]
            key = one.cell, frozenset((site(one), site(other)))
            first[key] = min(j, first.get(key, j))
    return {(cell, pair, log[j].span.line) for (cell, pair), j in first.items()}


TASKS = [
    ["1", "2", "3"],
    ["0", "1", "2"],
    [str(k) for k in range(1, 10)],
    ["0", "1", "1.1", "1.2", "1.1.1", "1.1.2", "2", "2.1"],
    ["1", "1.1", "1.2", "1.3", "1.1.1", "1.2.2", "2", "2.1", "2.2"],
    ["1.1.1", "1.1.2", "1.2.1", "1.3", "2.1", "1"],
]


def random_log(seed: int) -> str:
    """Tasks of up to three levels with accesses, locks, signals and joins, of each kind none, few or many.

    Some logs name the statements of some accesses.
    """
    chosen = Random(seed)
    places = chosen.choice([[""], ["", " at a.c:1", " at a.c:2"], [" at a.c:1", " at b.c:1"]])
    tasks, holders = chosen.choice(TASKS), dict[str, str]()
    locks, signals, joins = chosen.choice([0, 2, 5]), chosen.choice([0, 1, 3]), chosen.choice([0, 1])
    lines = []
    for _ in range(chosen.choice([6, 15, 40, 80])):
        task, cell = chosen.choice(tasks), chosen.choice("abc")
        kind = chosen.choices(["lock", "signal", "join", "access"], [locks, signals, joins, 5])[0]
        if kind == "access":
            lines.append(f"{task} {chosen.choice(ACCESSES)} {cell}{chosen.choice(places)}")
        elif kind == "join":
            lines.append(f"{task} join")
        elif kind == "signal":
            lines.append(f"{task} {chosen.choice(['signal', 'wait'])} {chosen.choice('efl')}")
        elif own := [lock for lock, holder in holders.items() if holder == task]:
            holders.pop(own[0])
            lines.append(f"{task} release {own[0]}")
        elif (lock := chosen.choice("lm")) not in holders:
            holders[lock] = task
            lines.append(f"{task} acquire {lock}")
    return "\n".join(lines)


@pytest.mark.many
@pytest.mark.parametrize("block", [2, 256])
def test_the_races_of_a_log_are_those_of_the_definition(block: int, monkeypatch: Any) -> None:
    """With clocks of one block, and of several."""
    monkeypatch.setattr(happens_before, "BLOCK", block)
    monkeypatch.setattr(happens_before, "NOTHING", bytes(4 * block))
    met = nested = 0
    for seed in range(many(4000)):
        log = parse_log(random_log(seed))
        found = {
            (race.cell, frozenset((site(race.first), site(race.second))), race.second.span.line) for race in races(log)
        }
        assert found == racing(list(log)), random_log(seed)
        met += bool(found)
        nested += any("." in race.first.task for race in races(log))
    assert many(4000) / 4 < met < many(4000) and nested > many(4000) / 8


def deep(depth: int) -> Log:
    """Each task starts the next one, and all update one cell."""
    names = [".".join(["1"] * k) for k in range(1, depth + 1)]
    return parse_log("\n".join(f"{name} {operation} c" for name in names for operation in ("read", "write")))


def test_tasks_may_be_nested_deeper_than_functions_may_be() -> None:
    log = deep(1200)
    assert races(log) == ()
    log = parse_log("\n".join(f"{a.task} {a.operation} {a.cell}" for a in log) + "\n2 write c")
    assert {race.first.task.count(".") for race in races(log)} == {0}


@pytest.mark.parametrize(
    ("lines", "by_line", "most"),
    [
        (["{k} read x", "{k} write c[{k}]"], False, 1),
        (["{k} acquire l", "{k} read c", "{k} write c", "{k} release l"], False, 3),
        (["{k} read c", "{k} signal b", "{k} wait b", "{k} atomic c"], True, 3),
    ],
    ids=["rows", "lock", "barrier"],
)
def test_the_work_grows_like_the_log(lines: list[str], by_line: bool, most: int, monkeypatch: Any) -> None:
    """Each access is compared with a bounded number of others, however many tasks there are."""
    asked = 0
    related = happens_before.Order.on_one_path

    def counted(self: Any, task: int, other: int) -> bool:
        nonlocal asked
        asked += 1
        return related(self, task, other)

    monkeypatch.setattr(happens_before.Order, "on_one_path", counted)
    pairs = product(lines, range(1, 801)) if by_line else ((line, k) for k in range(1, 801) for line in lines)
    log = parse_log("\n".join(line.format(k=k) for line, k in pairs))
    assert races(log) == () and asked <= most * len(log)


def racy(length: int) -> str:
    """A race in the first two lines, and one at the end."""
    return "1 write a\n2 write a\n" + "1 read b\n" * length + "2 write b\n"


def test_a_search_that_is_ended_has_the_races_found_so_far() -> None:
    detector = Detector(parse_log(racy(BATCH)))

    def tick(done: int, left: int) -> None:
        assert done + left == BATCH + 3
        raise Stopped("max-seconds")

    with pytest.raises(Stopped):
        detector.run(tick)
    assert [race.cell for race in detector.found.values()] == ["a"] and detector.examined == BATCH - 1


@pytest.mark.parametrize("log", [racy(BATCH), racy(BATCH)[20:]], ids=["race", "none yet"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_search_and_what_was_found_is_said(
    number: int, log: str, command: Any, written: Any, monkeypatch: Any
) -> None:
    """Never as if the log had no race; and the program is not explored then."""
    file = written(log, "kernel.log")
    run = Detector.run

    def interrupted(self: Detector, tick: Any) -> None:
        os.kill(os.getpid(), number)
        run(self, tick)

    monkeypatch.setattr(Detector, "run", interrupted)
    done = command("judge", file, "--program", str(DEPENDENT))
    name = "Ctrl-C" if number == signal.SIGINT else "SIGTERM or SIGHUP"
    first, *_, last = done.out.splitlines()
    assert last == f"  stopped by {name}: accesses after these are not examined, and may race"
    if log == racy(BATCH):
        assert done.status == 1 and first.endswith("1 race in the first 4 095 of 4 099 accesses of 2 tasks")
    else:
        assert done.status == 3 and first.startswith("no race so far  ") and "the first 4 095 of" in first
    printed = command("judge", file, "--json").json
    assert printed["stopped_by"] == ("interrupt" if number == signal.SIGINT else "signal")
    assert printed["examined"] == BATCH - 1 < printed["accesses"] and printed["complete"] is None


@pytest.mark.parametrize("bound", [["--max-seconds", "0"], ["--max-memory", "1K"]])
def test_a_bound_ends_the_reading_too(bound: list[str], command: Any, written: Any) -> None:
    file = written(racy(BATCH), "kernel.log")
    done = command("judge", file, *bound)
    said = f"no race so far  {file}: nothing is examined\n  stopped by {bound[0]} while the log was read\n"
    assert (done.status, done.out) == (3, said)
    assert command("judge", file, *bound, "--json").json["examined"] == 0


def test_progress_has_all_phases(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    (tmp_path / "a.log").write_text(racy(BATCH))
    api.judge(tmp_path / "a.log", progress=lambda *told: seen.append(told))
    assert seen == [("reading", BATCH, 3), ("judging", BATCH - 1, 4)]
