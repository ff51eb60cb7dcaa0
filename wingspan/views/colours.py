"""Colours, which repeat in another way what the text says already."""

from __future__ import annotations

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


class Painter(RegexHighlighter):
    """Finds in a text what deserves a colour."""

    base_style = "ws."
    highlights = (
        r"\A(?P<good>safe|holds|same|finished|parallel)(?=  )",
        r"\A(?P<bad>unsafe|violated|wrong|order-dependent|race|deadlock|fault|differ)(?=  )",
        r"\A(?P<open>incomplete|unreached|undefined|serial)(?=  )",
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
