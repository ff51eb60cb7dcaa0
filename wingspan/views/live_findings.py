"""Findings of a search, shown while it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock, Timer
from types import TracebackType

from wingspan.api import Sighting
from wingspan.base.errors import printable
from wingspan.explorer.properties import PropertyReport
from wingspan.views.paint import Line, remark

ON_TERMINAL, ELSEWHERE = 1.0, 10.0
"""A search that ends in so many seconds shows its findings in its report only."""


class LiveFindings:
    """The first finding of each kind, and of each property, on standard error: above the `line` of progress, if any."""

    def __init__(self, render: Callable[[Sighting], str], line: Line | None) -> None:
        self.render, self.line = render, line
        self.due = time.monotonic() + (ELSEWHERE if line is None else ON_TERMINAL)
        self.kinds: set[type | str] = set()
        self.waiting: list[str] = []
        self.timer: Timer | None = None
        self.lock = Lock()

    def __enter__(self) -> LiveFindings:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer.join()

    def report(self, sighting: Sighting) -> None:
        """Show a finding, or keep it until the search has taken a while."""
        finding = sighting.finding
        kind = finding.text if isinstance(finding, PropertyReport) else type(finding)
        if kind in self.kinds:
            return
        self.kinds.add(kind)
        with self.lock:
            self.waiting.append(printable(self.render(sighting)))
        left = self.due - time.monotonic()
        if left <= 0:
            self.show()
        elif self.timer is None:
            self.timer = Timer(left, self.show)
            self.timer.daemon = True
            self.timer.start()

    def show(self) -> None:
        """Show what waits."""
        with self.lock:
            for text in self.waiting:
                remark(f"{text}\n", self.line)
            self.waiting.clear()
