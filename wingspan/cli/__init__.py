"""The command line. Each module of this package adds its verbs to `main`; what they share is in `wingspan.console`."""

from wingspan.cli.group import main

__all__ = ["main"]
