"""SIGTERM and SIGHUP as an exception, so that what a process has begun is not left behind when they end it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""These end a block like Ctrl-C, within `terminating`."""


_cleanups: list[Callable[[], None]] = []


class Terminated(KeyboardInterrupt):
    """One of `ENDING` arrived: `number`."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def terminating() -> Iterator[None]:
    """Within, `ENDING` raise Terminated where they would just end the process; this works in the main thread only.

    Once a search has recorded one, further ones have no effect: timeout(1) sends it twice, and so do shells.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in ENDING if _ends_process(number)}
    for number in handlers:
        signal.signal(number, terminate)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def ending_after() -> Iterator[None]:
    """As `terminating`, and then the process ends by the signal after all, once the block has cleaned up."""
    try:
        with terminating():
            yield
    except Terminated as ended:
        if _ends_process(ended.number):  # it was set within this block only
            signal.raise_signal(ended.number)
        raise


def before_ending(cleanup: Callable[[], None]) -> None:
    """Call a function before one of `ENDING` ends the process, if that is what it does, and this is the main thread."""
    _cleanups.append(cleanup)
    if threading.current_thread() is threading.main_thread():
        for number in ENDING:
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, _clean_up)


def _clean_up(number: int, _: object) -> None:
    for cleanup in _cleanups:
        cleanup()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


def _ends_process(number: int) -> bool:
    """Whether a signal just ends the process, perhaps after some functions."""
    return signal.getsignal(number) in (signal.SIG_DFL, _clean_up)


@contextmanager
def deferring() -> Iterator[None]:
    """Within, signals that would raise an exception wait; the last to arrive is raised at the end.

    For what must not begin by halves, as starting a process whose number the caller needs in order to end it. In other
    threads than the main one no signal raises anything.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    arrived: list[int] = []
    for number in handlers:
        signal.signal(number, lambda number, _: arrived.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[-1])


def terminate(number: int, _: object) -> NoReturn:
    """Raise Terminated: the handler of `ENDING` within `terminating`."""
    raise Terminated(number)
