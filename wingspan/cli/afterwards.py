"""Outputs that come after a verdict: it is printed first, and neither a bound nor Ctrl-C takes it back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from wingspan.base.errors import InputError, WingspanError
from wingspan.base.signals import Terminated
from wingspan.base.writing import write_atomically
from wingspan.console import MISTAKE
from wingspan.explorer.bounds import Bounds, Stopped
from wingspan.explorer.interrupts import Interrupts
from wingspan.views.paint import remark
from wingspan.views.values import BOUNDS


class Afterwards:
    """The documents of a verb besides its verdict, within the rest of its `bounds`.

    What is cut short is missing, and one line on standard error says why. Once a signal has arrived, the rest is
    missing, too. The exit status remains that of the verdict.
    """

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self.signal = ""
        """the signal that has arrived, in words"""
        self.memory_ran_out = False

    @contextmanager
    def printing(self) -> Iterator[None]:
        """Within, the verdict is printed: a signal takes effect after it, and only a second one at once."""
        interrupts = Interrupts(idle=True)
        with interrupts.counting():
            yield
        if interrupts.count:
            self._record_interrupt(interrupts.error())

    def attempt(self, missing: str, do: Callable[[], object]) -> None:
        """Make something. If that is cut short, a line says what is `missing`, and why."""
        try:
            if self.signal:
                raise KeyboardInterrupt
            do()
        except Stopped as stopped:
            remark(f"note: {missing}: it takes more than {BOUNDS.get(stopped.bound, stopped.bound)} leaves", None)
        except MemoryError:
            self.memory_ran_out = True
            remark(f"note: {missing}: memory ran out", None)
        except KeyboardInterrupt as error:
            if not self.signal:
                self._record_interrupt(error)
            remark(f"note: {missing}: {self.signal}", None)

    def write(self, path: Path, make: Callable[[], bytes]) -> None:
        """Write a file. If it cannot be written, the command ends with a message and status 2."""
        self.save(path, lambda: write_atomically(path, make()))

    def save(self, path: str | Path, do: Callable[[], object]) -> None:
        """The same by a function that writes it, whole or not at all."""
        try:
            self.attempt(f"{path} is not written", do)
        except InputError as error:  # with --json, too, standard output has the verdict alone
            fail_after(error)

    def _record_interrupt(self, error: KeyboardInterrupt) -> None:
        self.signal = f"ended by {error}" if isinstance(error, Terminated) else "interrupted"


def fail_after(error: WingspanError) -> None:
    """End with an error although a verdict is printed: the error goes to standard error alone."""
    remark(error.render(), None)
    sys.exit(MISTAKE)
