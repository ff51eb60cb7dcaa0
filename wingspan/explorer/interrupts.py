"""Ctrl-C while other processes search: it is noted, and obeyed where nothing is left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupts:
    """How often Ctrl-C has come. A second one is a KeyboardInterrupt where this process only waits for others."""

    def __init__(self) -> None:
        self.count = 0
        self.idle = False

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Within, Ctrl-C is counted; but only the main thread can do so."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Within, this process only waits."""
        self.idle = True
        try:
            yield
        finally:
            self.idle = False

    def _note(self, *_: object) -> None:
        self.count += 1
        if self.count > 1 and self.idle:
            raise KeyboardInterrupt
