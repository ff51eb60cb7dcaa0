"""Strings, comments and lines of C: no text of a program gets out of what it is printed in."""

from __future__ import annotations

import re
from collections.abc import Iterable

from wingspan.base.errors import visible


def string(value: str) -> str:
    r"""A string of C, without trigraphs.

    >>> print(string('a "b" \\ ??/ \n'))
    "a \"b\" \\ \?\?/ \\n"
    """
    return '"' + re.sub(r'["\\?]', r"\\\g<0>", visible(value)) + '"'


def comment(text: str) -> str:
    """A comment to the end of the line, which no backslash or trigraph for one continues on the next."""
    line = f"// {visible(text)}".rstrip()
    return f"{line} ." if line.endswith(("\\", "??/")) else line


def indent(lines: Iterable[str]) -> list[str]:
    """Lines of a block."""
    return [f"    {line}" if line else line for line in lines]
