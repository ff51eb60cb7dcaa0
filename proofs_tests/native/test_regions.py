"""Parallel regions: on how many threads their tasks run, and that each runs once. See `ws_par` in runtime.h."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from proofs_tests.compiled import needs_compiler
from wingspan.compiled.build import INCLUDES, compiler
from wingspan.explorer import Search, explore
from wingspan.testing.litmus import Add, Check, Jump, Litmus, Load, Lock, Program, Store, Unlock

SHORTS = 3
"""So many short times in a row are a habit."""


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """regions.c, compiled."""
    made = tmp_path_factory.mktemp("regions") / "regions"
    strict = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fwrapv", "-pthread", "-O1")
    subprocess.run(
        [*compiler(), *strict, *INCLUDES, str(Path(__file__).with_name("regions.c")), "-o", made], check=True
    )
    return made


def regions(command: Path, *words: str) -> list[list[int]]:
    """Of each region whether it ended well, tasks that ran once, those in this thread, its habit, tasks that run."""
    lines = subprocess.run([command, *words], capture_output=True, text=True, check=True, timeout=60).stdout
    return [[int(word) for word in line.split()] for line in lines.splitlines()]


@needs_compiler
def test_each_task_runs_once_and_its_starter_goes_on_when_all_have_ended(command: Path) -> None:
    for words in ((), ("in order",)):
        tasks = [once for good, once, _, _, running in regions(command, *words) if good and running == 1]
        assert tasks == [1, 4, 4, 4, 4, 4]


@needs_compiler
def test_short_regions_run_in_one_thread_by_habit_and_a_long_one_ends_it(command: Path) -> None:
    (one, meeting, long, short, first_long, between) = regions(command)
    assert one[2] == 1
    assert meeting[2] == 1 and long[3] == 0
    assert short[2:4] == [4, SHORTS] and first_long[3] == 0
    assert between[3] == 0


@needs_compiler
def test_where_accesses_are_ordered_each_task_has_a_thread(command: Path) -> None:
    """There, tasks are to meet: `stress` looks for what they do to each other."""
    assert [here for _, _, here, _, _ in regions(command, "in order")] == [1] * 6


def look(*taken: Load | Store | Add | Lock | Unlock) -> Program:
    """Take a job from the slot of a worker, under its lock, if it is there; the other half of `taken` runs it."""
    guarded = (Lock("w"), Load("slot"), Jump(len(taken) + 2, 0), *taken, Jump(2), Unlock("w"))
    return tuple(guarded)


RUN = Add("runs"), Add("left", -1)
"""Run the job, and report that it has been done."""
WORKER = look(Store("slot", 0), Store("begun", 1), Unlock("w"), *RUN)
ASSIGNING = Lock("w"), Store("slot", 1), Unlock("w")
TAKING_BACK = look(Store("slot", 0), Unlock("w"), *RUN)


def protocol(worker: Program, taking_back: Program, starter: Program = ASSIGNING) -> Litmus:
    """A region of two jobs, of which the starter runs one, while a worker, awake or not, looks for the other."""
    starts = Add("left", 2), *starter, Add("left", -1), Load("begun"), Jump(len(taking_back) + 1, 1), *taking_back
    return Litmus(starts, worker, after=(Check("runs", 1), Check("left", 0)))


def test_a_job_is_run_once_by_its_worker_or_by_who_takes_it_back() -> None:
    """A worker that sleeps on has looked before the job was there."""
    found = explore(protocol(WORKER, TAKING_BACK), Search("graph"))
    assert found.complete and not found.faults and not found.deadlocks
    runs = {dict(result.outcome).get("begun", 0) for result in found.results}
    assert runs == {0, 1}, "some interleavings take it back, others do not"


def without(program: Program, name: str) -> Program:
    """A program that does without a lock; jumps go as far as before."""
    return tuple(Add("nothing", 0) if each in (Lock(name), Unlock(name)) else each for each in program)


@pytest.mark.parametrize(
    ("worker", "taking_back"), [(without(WORKER, "w"), TAKING_BACK), (WORKER, without(TAKING_BACK, "w"))]
)
def test_without_its_lock_a_job_could_run_twice(worker: Program, taking_back: Program) -> None:
    found = explore(protocol(worker, taking_back), Search("graph"))
    assert {fault.span is not None for fault in found.faults} == {True}


def test_without_taking_back_a_region_needs_each_worker_to_wake() -> None:
    """Nobody takes a job back here, so a worker that has looked before it was there leaves it undone."""
    alone = explore(protocol(WORKER, (Add("nothing", 0),)), Search("graph"))
    assert alone.faults and alone.complete
