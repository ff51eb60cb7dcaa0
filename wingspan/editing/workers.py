"""Processes that compute jobs within bounds of time and memory, for servers that run on asyncio."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from wingspan.base.errors import InputError

SECONDS = 15.0
"""The time that a job may take."""
MEMORY = 2**31
"""The address space that a process may have, in bytes."""


class Workers:
    """A few processes, started when they are needed. Jobs beyond their number wait for their turn.

    A job that takes longer than its time, or that is cancelled, takes its process with it; the next one gets a new one.
    `modules` are imported in each process first, and may add jobs to `jobs.JOBS`.
    """

    def __init__(self, most: int = 2, memory: int = MEMORY, modules: Sequence[str] = ()) -> None:
        self._words = [sys.executable, "-m", "wingspan.editing.worker", str(os.getpid()), str(memory), *modules]
        self._turn = asyncio.Semaphore(most)
        self._idle: list[Process] = []
        self.running = 0
        """the number of jobs that are computed now"""

    async def run(self, job: str, arguments: Mapping[str, Any], seconds: float = SECONDS) -> Any:
        """The result of a job. InputError with the reason if it has none."""
        async with self._turn:
            process = self._idle.pop() if self._idle else await self._start()
            self.running += 1
            try:
                async with asyncio.timeout(seconds):
                    made = await _ask(process, job, arguments)
            except TimeoutError:
                fix = "use a smaller program, smaller inputs, or the command line, which has no such bound"
                raise InputError(f"no end within {seconds:g} s", topic="bounds", fix=fix) from None
            except (asyncio.IncompleteReadError, OSError):
                status = await process.wait()
                raise InputError(f"the computation ended: {_describe(status)}", topic="bounds") from None
            else:
                self._idle.append(process)
            finally:
                self.running -= 1
                if process not in self._idle:
                    await _end(process)
        if "error" in made:
            raise RefusedJob(made["error"])
        return made["result"]

    async def _start(self) -> Process:
        return await asyncio.create_subprocess_exec(*self._words, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)

    async def close(self) -> None:
        """End the processes that are idle."""
        while self._idle:
            await _end(self._idle.pop())


class RefusedJob(InputError):
    """An error that a job ended with, as text."""

    def render(self) -> str:
        """The text, which is rendered already."""
        return self.message


async def _ask(process: Process, job: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None
    request = json.dumps([job, arguments]).encode()
    process.stdin.write(len(request).to_bytes(4) + request)
    await process.stdin.drain()
    length = int.from_bytes(await process.stdout.readexactly(4))
    made: dict[str, Any] = json.loads(await process.stdout.readexactly(length))
    return made


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def _describe(status: int) -> str:
    with suppress(ValueError):
        return f"killed by {signal.Signals(-status).name}"
    return f"it exited with status {status}"
