"""Output while it is made: colours, and the line of progress of what takes seconds, on terminals and in notebooks.

Rich is loaded only if there is a terminal.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread, current_thread, main_thread
from typing import Any, Protocol, TextIO

from wingspan.base.activity import Change, ignore

PATIENCE = 0.3
"""A search that ends in so many seconds shows no spinner."""
PATIENCE_IN_PYTHON = 2.0
"""An activity of a call in Python that ends in so many seconds is not shown."""
PERIOD, PERIOD_OF_SPINNERS = 1.0, 0.08
"""The seconds between two changes of a line of progress, and of that of a command on a terminal."""
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


class _Shown:
    """The number of lines of progress that a terminal may show now. Two at once would overwrite each other."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *error: object) -> None:
        self.count -= 1


_SHOWING = _Shown()


class Screen(Protocol):
    """A place for one line of progress."""

    def show(self, words: str) -> None:
        """Show the words in place of those before."""

    def clear(self) -> None:
        """Take the line away."""

    def above(self, text: str) -> None:
        """Print a text above the line, where it stays."""


class TerminalLine:
    """A line with a spinner at the bottom of a terminal. Without `rolling` it has no thread, and stands still."""

    def __init__(self, stream: TextIO, rolling: bool) -> None:
        from rich.live import Live
        from rich.spinner import Spinner

        from wingspan.views.colours import console

        above = sys.stdout is not None and sys.stdout.isatty()  # what is printed into a file stays there
        self.spinner = Spinner("dots", style="status.spinner")
        self.live = Live(
            self.spinner, console=console(stream), transient=True, redirect_stdout=above, auto_refresh=rolling
        )

    def show(self, words: str) -> None:
        """Show the words in place of those before."""
        self.spinner.update(text=words)
        self.live.start()
        self.live.refresh()

    def clear(self) -> None:
        """Take the line away."""
        self.live.stop()

    def above(self, text: str) -> None:
        """Print a text above the line, where it stays."""
        from wingspan.views.colours import Painter

        self.live.console.print(Painter()(text), soft_wrap=True)


class CellLine:
    """A line in the output of a notebook's cell, which IPython updates in place."""

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, words: str) -> None:
        """Show the words in place of those before."""
        from IPython import display

        new_output: Any = display.display  # which has no types
        bundle = {"text/plain": words}
        if self.handle is None:
            self.handle = new_output(bundle, raw=True, display_id=True)
        else:
            self.handle.update(bundle, raw=True)

    def clear(self) -> None:
        """Take the words away; notebooks keep the empty output."""
        if self.handle is not None:
            self.handle.update({"text/plain": "", "text/html": ""}, raw=True)

    def above(self, text: str) -> None:
        """Print a text among the errors of the cell."""
        print(text, file=sys.stderr)


def is_in_notebook() -> bool:
    """Whether this process runs the cells of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _Activity:
    """Something that goes on, shown on a screen once it has taken a while."""

    def __init__(self, screen: Screen, words: str, patience: float, period: float = PERIOD) -> None:
        self.screen, self.words, self.period = screen, words, period
        self.began = time.monotonic()
        self.due = self.began + patience
        self.over = Event()

    def show(self) -> None:
        """Show the words of now and the time, if that is due."""
        now = time.monotonic()
        if now >= self.due:
            self.due = now + self.period
            self.screen.show(f"{self.words}, {int(now - self.began)} s")

    def change(self, words: str) -> None:
        """Change the words, which the thread shows."""
        self.words = words

    def change_and_show(self, words: str) -> None:
        """Change the words, and show them, as no thread does so."""
        self.words = words
        self.show()

    def watch(self) -> None:
        """Show the words again and again until it is over."""
        while not self.over.wait(max(0.0, self.due - time.monotonic())):
            self.show()


@contextmanager
def show_activity(words: str, forks: bool = False, patience: float = PATIENCE_IN_PYTHON) -> Iterator[Change]:
    """Show an activity in a line on standard error or of a notebook, after some seconds, and take it away at the end.

    Nothing is shown where standard error is no terminal, in threads, and where a line of progress is shown already.
    One that forks is shown when its words change, without a thread.
    """
    stream = sys.stderr
    terminal = stream is not None and stream.isatty()
    if _SHOWING.count or current_thread() is not main_thread() or not (terminal or is_in_notebook()):
        yield ignore
        return
    screen: Screen = TerminalLine(stream, rolling=not forks) if terminal else CellLine()
    shown = _Activity(screen, words, patience)
    thread = Thread(target=shown.watch, daemon=True)
    with _SHOWING:
        if not forks:
            thread.start()
        try:
            yield shown.change_and_show if forks else shown.change
        finally:
            shown.over.set()
            if not forks:
                thread.join()
            screen.clear()


def remark(text: str, line: Line | None) -> None:
    """Print a text on standard error while something goes on, above the `line` of progress if there is one."""
    if line is not None:
        line.above(text)
    elif sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class Line:
    """The progress of a command in a line on a screen, which `render` puts in words."""

    def __init__(self, render: Callable[..., str], screen: Screen, patience: float, period: float) -> None:
        self.render, self.screen = render, screen
        self.shown = _Activity(screen, "", patience, period)

    def __call__(self, *progress: Any) -> None:
        """Show how far it is, if it has taken a while."""
        if time.monotonic() >= self.shown.due:
            self.shown.change_and_show(self.render(*progress))

    def above(self, text: str) -> None:
        """Print a text above the line, where it stays."""
        self.screen.above(text)


@contextmanager
def spinner(render: Callable[..., str], stream: TextIO | None) -> Iterator[Line | None]:
    """A callback to which a search reports its progress, worded by `render`; None unless somebody sees it."""
    if stream is not None and stream.isatty():
        line = Line(render, TerminalLine(stream, rolling=True), PATIENCE, PERIOD_OF_SPINNERS)
    elif is_in_notebook():
        line = Line(render, CellLine(), PATIENCE_IN_PYTHON, PERIOD)
    else:
        yield None
        return
    with _SHOWING:
        try:
            yield line
        finally:
            line.screen.clear()
