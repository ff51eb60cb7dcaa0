"""The package's verbs: what joins language, elaboration, machines, exploration and the reference."""

from wingspan.api.binding import Progress, bind, files_of
from wingspan.api.checking import Unsafe, check, guard
from wingspan.api.comparing import diff, stress
from wingspan.api.compiling import Kernel, compile
from wingspan.api.exploring import Exploration, Sighting, explore, replay
from wingspan.api.machines import MACHINES, compiled, compiled_c, machine_of, native, semantics
from wingspan.api.printing import emit_c, passes, show_plan
from wingspan.api.proving import Proved, Refutation, prove
from wingspan.api.running import AUTO, ENGINES, ON_THREADS, BuiltIn, Run, engine, run
from wingspan.program import Program, load, parse
from wingspan.runtime.spare import release

__all__ = [
    "AUTO",
    "ENGINES",
    "MACHINES",
    "ON_THREADS",
    "BuiltIn",
    "Exploration",
    "Kernel",
    "Program",
    "Progress",
    "Proved",
    "Refutation",
    "Run",
    "Sighting",
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
    "load",
    "machine_of",
    "native",
    "parse",
    "passes",
    "prove",
    "release",
    "replay",
    "run",
    "semantics",
    "show_plan",
    "stress",
]
