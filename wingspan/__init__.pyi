from . import api
from .api.arrays import LazyTensor, compute, lazy
from .api.binding import bind
from .api.checking import Unsafe, check
from .api.comparing import diff, stress
from .api.compiling import Kernel, compile
from .api.exploring import Exploration, Sighting, explore, replay
from .api.expressions import Computed, einsum
from .api.functions import function
from .api.judging import Judged, judge
from .api.parallelizing import Parallelized, parallelize
from .api.printing import emit_c, passes, plan
from .api.proving import prove
from .api.running import Run, engine, run
from .api.sweeping import Sweep, sweep
from .base.errors import Fault, InputError, InternalError, ParseError, ProgramError, WingspanError
from .dependence import Report
from .explorer.interleaving import Replay
from .explorer.search import Search
from .explorer.verdict import Verdict
from .levels.registry import register, registered, unregister
from .notebook import load_ipython_extension, step
from .program import Function, Program, load, parse
from .results.comparison import Comparison
from .results.histogram import Histogram
from .runtime.lease import Limits
from .runtime.memory_reuse import release
from .tensors.foreign import with_fill
from .tensors.pairs import PAIR
from .tensors.tensor import Tensor
from .version import __version__
from .views.schemas import schema

__all__ = [
    "PAIR",
    "Comparison",
    "Computed",
    "Exploration",
    "Fault",
    "Function",
    "Histogram",
    "InputError",
    "InternalError",
    "Judged",
    "Kernel",
    "LazyTensor",
    "Limits",
    "Parallelized",
    "ParseError",
    "Program",
    "ProgramError",
    "Replay",
    "Report",
    "Run",
    "Search",
    "Sighting",
    "Sweep",
    "Tensor",
    "Unsafe",
    "Verdict",
    "WingspanError",
    "__version__",
    "api",
    "bind",
    "check",
    "compile",
    "compute",
    "diff",
    "einsum",
    "emit_c",
    "engine",
    "explore",
    "function",
    "judge",
    "lazy",
    "load",
    "load_ipython_extension",
    "parallelize",
    "parse",
    "passes",
    "plan",
    "prove",
    "register",
    "registered",
    "release",
    "replay",
    "run",
    "schema",
    "step",
    "stress",
    "sweep",
    "unregister",
    "with_fill",
]
