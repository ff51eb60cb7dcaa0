"""The names of machines and engines, and when C pays."""

MACHINES = ("semantics", "native")
ENGINES = ("semantics", "reference", "native", "native-controlled", "compiled")
"""The engines of this package."""
AUTO = "auto"
"""The default of `run`, which chooses an engine."""
ON_THREADS = ("native", "compiled")
"""The engines that run tasks on threads of the system."""
MEANWHILE = 30_000_000
"""Iterations that the register machine makes in about the time that compiling C takes: more of them wait for C."""
WORTH = 100_000
"""Elements that inputs store, or iterations of one loop, from which on compiling C takes less time than it saves."""
