"""The command line. Each module of this package adds its verbs to `main`; what they share is in `wingspan.console`."""

from wingspan.cli import judging, keeping, pages, printing, proving, running, stepping, teaching, tensors
from wingspan.cli.group import main

__all__ = ["judging", "keeping", "main", "pages", "printing", "proving", "running", "stepping", "teaching", "tensors"]
