"""Activities that may take seconds, for whoever shows them: the package installs what does so on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Change = Callable[[str], None]
"""Changes the words for an activity."""

_show: list[Callable[[str], AbstractContextManager[Change]]] = []


def install(show: Callable[[str], AbstractContextManager[Change]]) -> None:
    """Show activities by `show`, from the words for one: a context that lasts as long as it."""
    _show[:] = [show]


@contextmanager
def activity(words: str) -> Iterator[Change]:
    """Within, show that this goes on. What it yields changes the words.

    >>> with activity("compiling C") as change:
    ...     change("compiling C, the second file")
    """
    if not _show:
        yield lambda words: None
        return
    with _show[0](words) as change:
        yield change
