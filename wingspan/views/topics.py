"""The topics of messages, as the page of errors explains them: the text of an entry for the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import fill, indent, shorten

WIDTH = 80

_TITLE = re.compile(r"^(##|###) (.+)\n", re.M)
_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```$", re.M | re.S)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)", re.S)


def topics(page: str) -> dict[str, dict[str, str]]:
    """The entries of a page by their topics, by the titles of its chapters."""
    chapters: dict[str, dict[str, str]] = {}
    _, *parts = _TITLE.split(page)
    for mark, title, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if mark == "##":
            entries = chapters.setdefault(title, {})
        else:
            entries[title] = text.strip()
    return chapters


def summaries(chapters: dict[str, dict[str, str]]) -> str:
    """The topics, each with how its entry begins."""
    longest = max(len(topic) for entries in chapters.values() for topic in entries)
    parts = []
    for title, entries in chapters.items():
        begins = {topic: _plain(re.split(r"\.\s", text, maxsplit=1)[0]) for topic, text in entries.items()}
        lines = (
            f"  {topic:{longest}}  {shorten(text, WIDTH - longest - 4, placeholder=' …')}"
            for topic, text in begins.items()
        )
        parts.append("\n".join([_plain(title), *lines]))
    return "\n\n".join(parts)


def entry(topic: str, text: str) -> str:
    """One entry: sentences in lines that fit, and examples as they are, indented."""
    return "\n\n".join([topic, *_paragraphs(text)])


def _paragraphs(text: str) -> Iterator[str]:
    for number, part in enumerate(_FENCE.split(text)):
        if number % 2:
            yield indent(part.rstrip("\n"), "    ")
        else:
            yield from (fill(_plain(each), WIDTH) for each in part.strip().split("\n\n") if each)


def _plain(text: str) -> str:
    """Markdown without links."""
    return " ".join(_LINK.sub(r"\1", text).split())
