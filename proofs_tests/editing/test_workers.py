"""Jobs end at their bounds, and those after them are computed all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from proofs_tests.editing.test_fixes_as_edits import RACE
from wingspan.base.errors import InputError
from wingspan.editing.workers import MEMORY, RefusedJob, Workers

HOSTILE = "proofs_tests.editing.hostile"
GOOD = {"text": RACE, "name": "a.ws", "folder": ".", "fixes": False}


def using(body: Callable[[Workers], Awaitable[Any]], memory: int = MEMORY) -> Any:
    async def run() -> Any:
        workers = Workers(1, memory, [HOSTILE])
        try:
            return await body(workers)
        finally:
            await workers.close()

    return asyncio.run(run())


def test_a_job_that_does_not_end_well_is_an_error_and_the_next_one_is_computed() -> None:
    ends = {"spin": "no end within 0.1 s", "crash": "killed by SIGSEGV", "leave": "exited with status 3"}

    async def body(workers: Workers) -> None:
        for job, message in ends.items():
            with pytest.raises(InputError, match=message):
                await workers.run(job, {}, 0.1 if job == "spin" else 60)
            assert (await workers.run("diagnose", GOOD, 60))["verdict"] == "unsafe"

    using(body)


def test_a_job_that_takes_all_memory_is_refused() -> None:
    async def body(workers: Workers) -> None:
        with pytest.raises(RefusedJob, match="memory ran out"):
            await workers.run("devour", {}, 60)

    using(body, 2**30)


def test_a_job_that_is_cancelled_ends_its_process() -> None:
    async def body(workers: Workers) -> Any:
        spinning = asyncio.create_task(workers.run("spin", {}, 600))
        while not workers.running:
            await asyncio.sleep(0)
        spinning.cancel()
        return await workers.run("diagnose", GOOD, 60), workers.running

    found, running = using(body)
    assert found["verdict"] == "unsafe" and running == 0


def test_what_a_job_prints_does_not_spoil_its_result() -> None:
    async def body(workers: Workers) -> Any:
        return await workers.run("chatter", {}, 60)

    assert using(body) == "heard"
