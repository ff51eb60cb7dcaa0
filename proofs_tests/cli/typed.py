"""Programs that the tests of the command line share, and ways to run what one types."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from functools import cache

from proofs_tests.places import ROOT

EXAMPLES = ROOT / "examples"
RACY = str(EXAMPLES / "dependent.ws")
SAFE = str(EXAMPLES / "dependent_atomic.ws")
RULES = ("--engine", "semantics")
KARATE = str(EXAMPLES / "karate.ws")

FAULTY = "c = Tensor(Dense(Element(0)), 2)\nc .= 0\nfor i = parallel(1:2)\n    c[i + 1] += 1\nend\nreturn c\n"
STUCK = """\
a = Tensor(Mutex(Dense(Element(0))), 1)
a .= 0
for i = _
    a[i] += 1
    for j = parallel(_)
        a[j] += 1
    end
end
"""
PARAMETERS = """\
dev = cpu(:t, nt)
c = Tensor(Dense(Element(0)), 2)
c .= 0
for i = parallel(1:n, dev, sch)
    c[1] += A[1]
end
return c
"""


def process(*words: str, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    command = [sys.executable, "-m", "wingspan", *words]
    return subprocess.run(command, env=environment, encoding="utf-8", errors="replace", timeout=60, **streams)


@cache
def explored() -> subprocess.CompletedProcess[str]:
    """The report on the racy program from a process of its own, on a stream of ASCII."""
    return process("explore", RACY, env={"PYTHONIOENCODING": "ascii"})


def pasted(command: str) -> subprocess.CompletedProcess[str]:
    """Runs a printed command in a shell, where `wingspan` is this one."""
    assert command.startswith("wingspan ")
    line = shlex.join([sys.executable, "-m"]) + f" {command}"
    return subprocess.run(
        line, shell=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, encoding="utf-8", timeout=60
    )


def commands(text: str) -> list[str]:
    """The commands that a report says to run."""
    return re.findall(r"^ +see +(.*)$", text, re.MULTILINE)


GOOD = ["good.ws", "-p", "nt=2", "-p", "n=2", "-p", "sch=static_schedule()", "-i", "A=A.npy"]
