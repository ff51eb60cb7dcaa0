"""Colours, which repeat in another way what the text says already, and the spinner of long searches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.highlighter import RegexHighlighter
from rich.theme import Theme

THEME = Theme(
    {
        "ws.good": "bold green",
        "ws.bad": "bold red",
        "ws.open": "bold yellow",
        "ws.mark": "red",
        "ws.line": "cyan",
        "ws.word": "bold",
        "ws.quiet": "dim",
        "ws.command": "cyan",
    }
)

PATIENCE = 0.3
"""A search that ends in so many seconds shows no spinner."""


class Painter(RegexHighlighter):
    """Finds in a text what deserves a colour."""

    base_style = "ws."
    highlights = (
        r"\A(?P<good>safe|same|finished|parallel)(?=  )",
        r"\A(?P<bad>unsafe|wrong|order-dependent|race|deadlock|fault|differ)(?=  )",
        r"\A(?P<open>incomplete|serial)(?=  )",
        r"(?m)^(?P<bad>error\[[\w-]+\]:) (?P<word>.*)$",
        r"(?m)^ +\d* (?P<line>│) +(?P<mark>[\^─]+(?: .*)?)$",
        r"(?m)^ +(?P<line>\d+ │) ",
        r"(?m)^ +(?:see|fix) +(?P<command>.*)$",
        r"(?m)^(?P<quiet> +·  .*)$",
        r"(?m)^(?P<good>finished)(?=  )",
    )


def console(stream: TextIO, **options: Any) -> Console:
    """A console with our colours, whose text is ours in notebooks, too: rich would display it there by itself."""
    return Console(file=stream, theme=THEME, highlight=False, force_jupyter=False, **options)


def paint(text: str, stream: TextIO) -> str:
    """The text with colours if the stream is a terminal that has them; untouched otherwise."""
    screen = console(stream)
    if screen.color_system is None or screen.no_color:
        return text
    with screen.capture() as capture:
        screen.print(Painter()(text), soft_wrap=True, end="")
    return capture.get()


class Line:
    """The spinner of a search: called to report how far it is, which `render` puts in words."""

    def __init__(self, render: Callable[..., str], stream: TextIO) -> None:
        self.render = render
        self.began = time.monotonic()
        self.console = console(stream)
        self.status = self.console.status("")

    def __call__(self, *told: Any) -> None:
        elapsed = time.monotonic() - self.began
        if elapsed > PATIENCE:
            self.status.update(f"{self.render(*told)}, {int(elapsed)} s")
            self.status.start()

    def above(self, text: str) -> None:
        """Print a text above the spinner, where it stays."""
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
