"""Notes on files as they are read, for whoever shows them: the command line does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from wingspan.base.errors import Mark

_SHOW: ContextVar[Callable[[Mark], None] | None] = ContextVar("show", default=None)


@contextmanager
def showing(show: Callable[[Mark], None]) -> Iterator[None]:
    """Within, show each note once."""
    seen: set[Mark] = set()

    def show_once(note: Mark) -> None:
        if note not in seen:
            seen.add(note)
            show(note)

    token = _SHOW.set(show_once)
    try:
        yield
    finally:
        _SHOW.reset(token)


def report(note: Mark) -> None:
    """Report a note to whoever shows them, if somebody does."""
    if show := _SHOW.get():
        show(note)


def format_note(note: Mark) -> str:
    """A note with its place.

    >>> from wingspan.base.errors import Source, Span
    >>> format_note(Mark(Span(Source("a.ws", "y[] = x[walk(1)]"), 1, 9, 1, 16), "`walk` has no effect"))
    'a.ws:1:9: `walk` has no effect'
    """
    return f"{note.span.source.name}:{note.span.line}:{note.span.column}: {note.text}"
