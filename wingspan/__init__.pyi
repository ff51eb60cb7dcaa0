from . import api
from .api.checking import Unsafe, check
from .api.comparing import diff, stress
from .api.compiling import Kernel, compile
from .api.exploring import Exploration, Sighting, explore, replay
from .api.running import Run, run
from .dependence import Report
from .errors import Fault, InputError, InternalError, ParseError, ProgramError, WingspanError
from .explorer.verdict import Verdict
from .levels.registry import register, registered
from .notebook import load_ipython_extension, step
from .program import Program, load, parse
from .runtime.lease import Limits
from .runtime.spare import release
from .tensors.tensor import Tensor
from .version import __version__

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
    "__version__",
    "api",
    "check",
    "compile",
    "diff",
    "explore",
    "load",
    "load_ipython_extension",
    "parse",
    "register",
    "registered",
    "release",
    "replay",
    "run",
    "step",
    "stress",
]
