"""Output on a terminal: colours, and the spinner of long searches. Rich is loaded only if there is one."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

PATIENCE = 0.3
"""A search that ends in so many seconds shows no spinner."""
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
        elapsed = time.monotonic() - self.began
        if elapsed > PATIENCE:
            self.status.update(f"{self.render(*progress)}, {int(elapsed)} s")
            self.status.start()

    def above(self, text: str) -> None:
        """Print a text above the spinner, where it stays."""
        from wingspan.views.colours import Painter

        self.console.print(Painter()(text), soft_wrap=True)


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
    try:
        yield line
    finally:
        line.status.stop()
