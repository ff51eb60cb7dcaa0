"""Sparse tensor programs with parallel loops: explored, checked and run.

>>> import wingspan
>>> program = wingspan.parse('''
... c = Tensor(Dense(Element(0)), 1)
... c .= 0
... for i = parallel(1:2)
...     c[1] += i
... end
... ''')
>>> verdict = wingspan.explore(program).verdict
>>> verdict.verdict, verdict.interleavings, len(verdict.races)
('race', 6, 1)
>>> wingspan.run(program, engine="semantics").tensors["c"].to_numpy().tolist()
[3]

All functions here, in `wingspan.api` and in `wingspan.testing` may be called by several threads at the same time, also
with the same programs and tensors. The limits:

- Arrays that a tensor shares with the caller must not be written meanwhile (see `Tensor`).
- An engine or a `progress` of your own must be safe in several threads itself.
- `explore` with `jobs` forks the process, which is not safe while other threads run. Use a `scheduler` there.
- Ctrl-C interrupts the main thread only.
"""

# isort: off
from wingspan.began import BEGAN as BEGAN

# isort: on
from wingspan.api import (
    Exploration,
    Kernel,
    Program,
    Run,
    Sighting,
    Unsafe,
    check,
    compile,
    diff,
    explore,
    load,
    parse,
    race,
    release,
    replay,
    run,
)
from wingspan.dependence import Report
from wingspan.errors import Fault, InputError, InternalError, ParseError, ProgramError, WingspanError
from wingspan.explorer.verdict import Verdict
from wingspan.runtime.lease import Limits
from wingspan.tensors.tensor import Tensor

__all__ = [
    "Exploration",
    "Fault",
    "InputError",
    "InternalError",
    "Kernel",
    "Limits",
    "ParseError",
    "Program",
    "ProgramError",
    "Report",
    "Run",
    "Sighting",
    "Tensor",
    "Unsafe",
    "Verdict",
    "WingspanError",
    "check",
    "compile",
    "diff",
    "explore",
    "load",
    "parse",
    "race",
    "release",
    "replay",
    "run",
]
