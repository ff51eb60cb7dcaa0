"""Searches by several, for their tests: which must find what one finds."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.explorer.test_strategies import findings
from proofs_tests.places import ROOT
from wingspan.explorer import Machine, Search, Verdict, explore

FORK = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no process can be forked")

RACY = """
c = Tensor(Dense(Element(0)), 2)
c .= 0
for i = parallel(1:3, cpu(:t, 3))
    c[1] += 1
end
return c
"""
STUCK = """
a = Tensor(Mutex(Dense(Element(0))), 2)
a .= 0
for i = parallel(1:2, cpu(:t, 2))
    a[i] += 1
    for j = parallel(1:2, cpu(:u, 2))
        a[j] += 1
    end
end
return a
"""


def counted(verdict: Verdict) -> dict[Hashable, object]:
    """The number of executions, in all and of each result."""
    return {"all": verdict.executions, **{result.outcome: result.executions for result in verdict.results}}


def interleavings(verdict: Verdict) -> list[str]:
    """All that are shown. Which of several shortest ones is shown does not depend on who has found it."""
    return sorted(
        [
            *(result.interleaving for result in verdict.results),
            *(race.interleaving for race in verdict.races),
            *(fault.interleaving for fault in verdict.faults),
            *(deadlock.interleaving for deadlock in verdict.deadlocks),
        ]
    )


def same(machine: Machine[Any], **several: Any) -> Verdict:
    """The verdict of several, which is that of one."""
    one, more = (explore(machine, Search("dpor", exact=True, **who)) for who in ({}, several))
    assert findings(more) == findings(one)
    assert counted(more) == counted(one)
    assert interleavings(more) == interleavings(one)
    assert (one.processes, more.processes) == (1, several.get("jobs", 4))
    return more


def begun(script: str, others: int, *files: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A script that explores with several processes, and so many others, each of which has written who it is."""
    command = [sys.executable, "-c", script, *map(str, files)]
    env, pipe = {**os.environ, "PYTHONPATH": str(ROOT)}, subprocess.PIPE
    process = subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    assert process.stdout is not None
    return process, [int(process.stdout.readline()) for _ in range(others)]


def ending(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """The end of a process; its output ends only when the other processes are gone, too."""
    out, err = process.communicate(timeout=100)
    return process.returncode, out, err
