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
>>> wingspan.run(program).tensors["c"].to_numpy().tolist()
[3]
"""

from wingspan.api import Exploration, Program, Run, Unsafe, check, diff, explore, load, parse, race, replay, run
from wingspan.dependence import Report
from wingspan.errors import Fault, InputError, InternalError, ParseError, ProgramError, WingspanError
from wingspan.explorer.verdict import Verdict
from wingspan.native.engine import Limits
from wingspan.tensor import Tensor

__all__ = [
    "Exploration",
    "Fault",
    "InputError",
    "InternalError",
    "Limits",
    "ParseError",
    "Program",
    "ProgramError",
    "Report",
    "Run",
    "Tensor",
    "Unsafe",
    "Verdict",
    "WingspanError",
    "check",
    "diff",
    "explore",
    "load",
    "parse",
    "race",
    "replay",
    "run",
]
