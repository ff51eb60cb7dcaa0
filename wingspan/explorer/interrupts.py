"""Ctrl-C, SIGTERM and SIGHUP during a search: they are recorded, and take effect where nothing is left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from wingspan.base.signals import ENDING, Terminated, terminate


def _nothing(number: int, _: object) -> None:
    """Unlike SIG_IGN, this may be set while a signal is being handled: Python does not complain about it."""


class Interrupts:
    """A counter of Ctrl-C and similar signals. While `idle`, a second one is raised at once, anywhere.

    A process that waits for others is idle.
    """

    def __init__(self, idle: bool = False) -> None:
        self.count = 0
        self.idle = idle
        self._number = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Within, count signals that otherwise raise KeyboardInterrupt, or are counted elsewhere.

        This works in the main thread only. Signals that are ignored or handled otherwise are left alone.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
        before = {number: handler for number, handler in before.items() if _ends_search(handler)}
        for number in before:
            signal.signal(number, self._note)
        try:
            yield
        finally:
            for number, handler in before.items():
                if signal.getsignal(number) is not _nothing:
                    signal.signal(number, handler)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Within, this process only waits."""
        self.idle = True
        try:
            yield
        finally:
            self.idle = False

    def error(self) -> KeyboardInterrupt:
        """The exception that the last signal raises where it takes effect."""
        return Terminated(self._number) if self._number in ENDING else KeyboardInterrupt()

    def _note(self, number: int, _: object) -> None:
        if number in ENDING:
            if self._number in ENDING:
                return
            for each in ENDING:
                if signal.getsignal(each) == self._note:
                    signal.signal(each, _nothing)
        self._number = number
        self.count += 1
        if self.count > 1 and self.idle:
            raise self.error()


def _ends_search(handler: object) -> bool:
    """Whether a handler is one that may end a search."""
    noting = getattr(handler, "__func__", None) is Interrupts._note
    return noting or handler in (signal.default_int_handler, terminate)
