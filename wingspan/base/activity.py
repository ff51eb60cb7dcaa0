"""Activities that may take seconds, for whoever shows them: the package installs what does so on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Change = Callable[[str], None]
"""Changes the words for an activity."""


def ignore(words: str) -> None:
    """Change nothing: what activities yield that nobody sees."""


_show: list[Callable[[str, bool], AbstractContextManager[Change]]] = []


def install(show: Callable[[str, bool], AbstractContextManager[Change]]) -> None:
    """Show activities by `show`, from the words for one and whether it forks: a context that lasts as long as it."""
    _show[:] = [show]


@contextmanager
def activity(words: str, forks: bool = False) -> Iterator[Change]:
    """Within, show that this goes on. What it yields changes the words; it is `ignore` if nothing is shown.

    One that forks is shown by its changes alone, without a thread, as a process that is forked has no other threads.

    >>> with activity("compiling C") as change:
    ...     change("compiling C, the second file")
    """
    if not _show:
        yield ignore
        return
    with _show[0](words, forks) as change:
        yield change
