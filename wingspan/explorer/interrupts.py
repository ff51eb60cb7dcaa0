"""Ctrl-C during a search: it is noted, and obeyed where nothing is left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext


class Interrupts:
    """How often Ctrl-C has come. While `idle`, a second one is a KeyboardInterrupt at once, wherever that is.

    A process that waits for others is idle.
    """

    def __init__(self, idle: bool = False) -> None:
        self.count = 0
        self.idle = idle

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

    def raised(self) -> AbstractContextManager[None]:
        """The same where Ctrl-C is a KeyboardInterrupt so far; where it is ignored, say, it still is."""
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        return self.noted() if usual else nullcontext()

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
