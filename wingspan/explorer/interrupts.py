"""Ctrl-C, SIGTERM and SIGHUP during a search: they are noted, and obeyed where nothing is left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""They end a search like Ctrl-C, within `terminating`."""


class Terminated(KeyboardInterrupt):
    """One of `ENDING` has come: `number`."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def terminating() -> Iterator[None]:
    """Within, `ENDING` raise Terminated where they would just end the process; but only the main thread can do so.

    After a search has noted one, more of them do nothing: timeout(1) sends it twice, and so do shells.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for number in ENDING if signal.getsignal(number) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _terminate(number: int, _: object) -> NoReturn:
    raise Terminated(number)


def _nothing(number: int, _: object) -> None:
    """Unlike SIG_IGN, this may be set while a signal is being handled: Python does not complain about it."""


class Interrupts:
    """How often Ctrl-C or a like signal has come. While `idle`, a second one is raised at once, wherever that is.

    A process that waits for others is idle.
    """

    def __init__(self, idle: bool = False) -> None:
        self.count = 0
        self.idle = idle
        self._number = 0

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Within, signals are counted that are a KeyboardInterrupt so far, or counted elsewhere.

        Only the main thread can do so. What is ignored or handled otherwise still is.
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
        """What the last signal raises where it is obeyed."""
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
    """Whether this is what a signal does that may end a search."""
    noting = getattr(handler, "__func__", None) is Interrupts._note
    return noting or handler in (signal.default_int_handler, _terminate)
