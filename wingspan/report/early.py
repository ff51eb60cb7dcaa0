"""What a search has found, shown while it goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from wingspan.api import Sighting
from wingspan.errors import printable
from wingspan.explorer.states import Status
from wingspan.report.paint import Line

PATIENCE = 1.0
"""A search that ends in so many seconds shows its findings in its report only."""


class Early:
    """The first finding of each kind, on standard error: above the `line` of progress, if there is one."""

    def __init__(self, render: Callable[[Sighting], str], line: Line | None) -> None:
        self.render, self.line = render, line
        self.began = time.monotonic()
        self.kinds: set[type] = set()
        self.waiting: list[Sighting] = []

    def found(self, sighting: Sighting) -> None:
        """Show a finding, or keep it until the search has taken a while."""
        if type(sighting.finding) not in self.kinds:
            self.kinds.add(type(sighting.finding))
            self.waiting.append(sighting)
            self.show()

    def progress(self, status: Status) -> None:
        """The search goes on."""
        self.show()
        if self.line is not None:
            self.line(status)

    def show(self) -> None:
        """Show what waits, if the search has taken a while."""
        if time.monotonic() - self.began < PATIENCE:
            return
        for sighting in self.waiting:
            text = printable(f"{self.render(sighting)}\n")
            if self.line is not None:
                self.line.above(text)
            else:
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()
        self.waiting.clear()
