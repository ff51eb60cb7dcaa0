from .binding import Program, Progress, bind, files_of, load, parse
from .checking import Unsafe, check, guard
from .comparing import diff, stress
from .compiling import Kernel, compile
from .exploring import Exploration, Sighting, explore, replay
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
    "Exploration",
    "Judged",
    "Kernel",
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
    "diff",
    "emit_c",
    "engine",
    "explore",
    "files_of",
    "guard",
    "judge",
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
