"""What machines and engines are called."""

MACHINES = ("semantics", "native")
ENGINES = ("semantics", "reference", "native", "native-controlled", "compiled")
"""The engines of this package."""
AUTO = "auto"
"""The engine that `run` chooses."""
ON_THREADS = ("native", "compiled")
"""Those that run tasks on threads of the system."""
