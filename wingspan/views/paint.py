"""Output on a terminal: colours, and the spinner of long searches. Rich is loaded only if there is one."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from typing import Any, TextIO

PATIENCE = 0.3
"""A search that ends in so many seconds shows no spinner."""
PATIENCE_IN_PYTHON = 2.0
"""An activity of a call in Python that ends in so many seconds is not shown."""
FORCING = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""The variables by which Rich takes for a terminal what is none."""


def paint(text: str, stream: TextIO | None) -> str:
    """The text with colours if the stream is a terminal that has them; untouched otherwise."""
    if stream is None or not (stream.isatty() or any(name in os.environ for name in FORCING)):
        return text
    from wingspan.views.colours import Painter, console

    screen = console(stream)
    if screen.color_system is None or screen.no_color:
        return text
    with screen.capture() as capture:
        screen.print(Painter()(text), soft_wrap=True, end="")
    return capture.get()


class Line:
    """The spinner of a search: called to report how far it is, which `render` puts in words."""

    def __init__(self, render: Callable[..., str], stream: TextIO) -> None:
        from wingspan.views.colours import console

        self.render = render
        self.began = time.monotonic()
        self.console = console(stream)
        self.status = self.console.status("")

    def __call__(self, *progress: Any) -> None:
        """Show how far the search is, if it has taken a while."""
        elapsed = time.monotonic() - self.began
        if elapsed > PATIENCE:
            self.status.update(f"{self.render(*progress)}, {int(elapsed)} s")
            self.status.start()

    def above(self, text: str) -> None:
        """Print a text above the spinner, where it stays."""
        from wingspan.views.colours import Painter

        self.console.print(Painter()(text), soft_wrap=True)


class _Shown:
    """The number of lines of progress that a terminal may show now. Two at once would overwrite each other."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *error: object) -> None:
        self.count -= 1


_SHOWING = _Shown()


@contextmanager
def show_activity(words: str, patience: float = PATIENCE_IN_PYTHON) -> Iterator[Callable[[str], None]]:
    """Show an activity in a line on standard error, after some seconds, and take the line away at the end.

    Nothing is shown where standard error is no terminal, in threads, and where a line of progress is shown already.
    """
    stream = sys.stderr
    if stream is None or not stream.isatty() or _SHOWING.count or current_thread() is not main_thread():
        yield lambda words: None
        return
    from rich.live import Live
    from rich.spinner import Spinner

    from wingspan.views.colours import console

    rolling = Spinner("dots", words)
    above = sys.stdout is not None and sys.stdout.isatty()  # what is printed into a file stays there
    live = Live(rolling, console=console(stream), transient=True, redirect_stdout=above)
    timer = Timer(patience, live.start)
    timer.daemon = True
    with _SHOWING:
        timer.start()
        try:
            yield lambda words: rolling.update(text=words)
        finally:
            timer.cancel()
            timer.join()
            live.stop()


def remark(text: str, line: Line | None) -> None:
    """Print a text on standard error while something goes on, above the `line` of progress if there is one."""
    if line is not None:
        line.above(text)
    elif sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


@contextmanager
def spinner(render: Callable[..., str], stream: TextIO | None) -> Iterator[Line | None]:
    """A callback to which a search reports its progress, worded by `render`; None unless a terminal shows it."""
    if stream is None or not stream.isatty():
        yield None
        return
    line = Line(render, stream)
    with _SHOWING:
        try:
            yield line
        finally:
            line.status.stop()
