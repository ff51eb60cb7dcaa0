"""Text as a stream can show it: no wider than the terminal, and in ASCII where it has no other characters."""

from __future__ import annotations

import codecs
import re
from textwrap import wrap
from typing import TextIO

from wingspan.base.errors import WIDTH, width

GUTTER = 12
"""Columns of an excerpt before and after the source line: its number, and a sign where it is cut."""
NARROWEST = 40
"""A narrower terminal gets lines of this width."""
COPIED = re.compile(r" *(?:see +|fix +.*=)")
"""Commands and pieces of programs stay as they are."""
DRAWN = re.compile(r" +\d* +│ | *[│├└]| *[·\d]+  [\d│ ]")
"""Lines of excerpts, of fibertrees and of lanes stay as they are: what stands below each other belongs together."""
KEY = re.compile(r" *(?:\S.{0,24}?  +)?")
"""The indentation and key of a line; its continuation lines are indented as far."""

PLAIN = {
    **dict.fromkeys("│┃", "|"),
    **dict.fromkeys("─━–—−", "-"),
    **dict.fromkeys("├└┌┐┘┤┬┴┼╶", "+"),
    **dict.fromkeys("·•⋅", "."),
    **dict.fromkeys("→▶⟩▸", ">"),
    **dict.fromkeys("←◀⟨", "<"),
    **{"×": "x", "…": "~", "÷": "/", "“": '"', "”": '"', "‘": "'", "’": "'"},
}  # fmt: skip
"""A character of ASCII for each of those that reports are drawn with: of equal width, so that columns stay."""


def in_ascii(error: UnicodeError) -> tuple[str, int]:
    """An error handler of codecs: what stands for characters that an encoding lacks."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(PLAIN.get(c, "?") for c in error.object[error.start : error.end]), error.end


IN_ASCII = "wingspan"
"""The name of that handler."""
codecs.register_error(IN_ASCII, in_ascii)


def columns(stream: TextIO | None) -> int | None:
    """The columns of a terminal; None of other streams, whose lines are of any length."""
    if stream is None or not stream.isatty():
        return None
    import shutil  # loads all kinds of archives

    return max(NARROWEST, shutil.get_terminal_size().columns)


def set_width(stream: TextIO | None) -> None:
    """From now on excerpts fit the terminal, if the stream is one."""
    wide = columns(stream)
    if wide is not None:
        WIDTH.set(min(WIDTH.get() or wide, wide - GUTTER))


def fit(text: str, stream: TextIO | None) -> str:
    """A report in which prose is broken at blanks where a line is too long, and goes on where it began."""
    wide = columns(stream)
    return text if wide is None else "\n".join(line for each in text.split("\n") for line in _lines(each, wide))


def _lines(line: str, wide: int) -> list[str]:
    if width(line) <= wide or COPIED.match(line) or DRAWN.match(line):
        return [line]
    found = KEY.match(line)
    indent = found.end() if found else 0
    if indent > wide // 2:
        indent = len(line) - len(line.lstrip()) + 2
    return wrap(line, wide, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
