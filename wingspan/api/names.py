"""The names of machines and engines."""

MACHINES = ("semantics", "native")
ENGINES = ("semantics", "reference", "native", "native-controlled", "compiled")
"""The engines of this package."""
AUTO = "auto"
"""The default of `run`, which chooses an engine."""
ON_THREADS = ("native", "compiled")
"""The engines that run tasks on threads of the system."""
