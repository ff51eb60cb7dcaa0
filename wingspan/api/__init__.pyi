from . import indexing as indexing
from . import namespace as namespace
from .arrays import LazyTensor, compute, lazy
from .binding import Program, Progress, bind, files_of, load, parse
from .checking import Unsafe, check, guard
from .comparing import diff, stress
from .compiling import Kernel, compile
from .exploring import Exploration, Sighting, explore, replay
from .expressions import Computed, einsum
from .functions import function
from .judging import Judged, Sighted, judge
from .machines import compiled, compiled_c, machine_of, native, semantics
from .names import AUTO, ENGINES, MACHINES, ON_THREADS
from .parallelizing import Candidate, Parallelized, parallelize
from .printing import emit_c, passes, plan
from .proving import Proved, Refutation, prove
from .running import BuiltIn, Run, engine, release, run
from .sweeping import Point, Sweep, sweep

__all__ = [
    "AUTO",
    "ENGINES",
    "MACHINES",
    "ON_THREADS",
    "BuiltIn",
    "Candidate",
    "Computed",
    "Exploration",
    "Judged",
    "Kernel",
    "LazyTensor",
    "Parallelized",
    "Point",
    "Program",
    "Progress",
    "Proved",
    "Refutation",
    "Run",
    "Sighted",
    "Sighting",
    "Sweep",
    "Unsafe",
    "bind",
    "check",
    "compile",
    "compiled",
    "compiled_c",
    "compute",
    "diff",
    "einsum",
    "emit_c",
    "engine",
    "explore",
    "files_of",
    "function",
    "guard",
    "judge",
    "lazy",
    "load",
    "machine_of",
    "native",
    "parallelize",
    "parse",
    "passes",
    "plan",
    "prove",
    "release",
    "replay",
    "run",
    "semantics",
    "stress",
    "sweep",
]
