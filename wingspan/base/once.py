"""Objects that several threads of one process share: made once, and a lock for work of one thread at a time."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")

_LOCK = RLock()

# A process that is forked gets a lock that nobody holds.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


@contextmanager
def without_collection() -> Iterator[None]:
    """Within, no garbage is collected."""
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()


@contextmanager
def alone() -> Iterator[None]:
    """One thread at a time is inside, and no garbage is collected there: for parts of Python that need it.

    `warnings.catch_warnings` is not safe in several threads before Python 3.14. `ast.parse`, which Lark and NumPy call
    too, raises SystemError in CPython 3.11 if another thread parses while it builds the tree. Only Python code that a
    collection runs lets another thread in there, so this helps also against threads that are not ours.
    """
    with _LOCK, without_collection():
        yield


class Once(Generic[T]):
    """A function that is called once for each tuple of arguments; whoever asks again gets the same object.

    Under `functools.cache` two threads that ask at the same time make two objects. That is good enough for values, but
    not for what is compared by identity, nor if making it is not safe in several threads. Calls are made `alone`.

    >>> fresh = Once(lambda name: [name])
    >>> fresh("a") is fresh("a"), fresh("a") is fresh("b")
    (True, False)

    If `most` is given, what was not asked for while so many others were is forgotten, unless somebody has it still.
    """

    __qualname__: str

    def __init__(self, make: Callable[..., T], most: int | None = None) -> None:
        update_wrapper(self, make)
        self._make, self._most = make, most
        self._made, self._evicted = dict[tuple[Any, ...], T](), dict[tuple[Any, ...], T]()
        self._current = WeakValueDictionary[tuple[Any, ...], T]()
        """the evicted objects that are still alive"""

    def __call__(self, *args: Any) -> T:
        try:
            return self._made[args]
        except KeyError:
            pass
        with alone():
            if args not in self._made:
                self._made[args] = self._find_or_make(args)
            made = self._made[args]
            if self._most is not None and len(self._made) >= self._most:
                self._current.update(self._evicted)
                self._made, self._evicted = {}, self._made
            return made

    def _find_or_make(self, args: tuple[Any, ...]) -> T:
        """The object made earlier, if it is not gone; otherwise a new one."""
        for known in (self._evicted, self._current):
            if (found := known.get(args)) is not None:
                return found
        return self._make(*args)

    def __reduce__(self) -> str:
        """The name that it has in its module, as of any function."""
        return self.__qualname__

    def cache_clear(self) -> None:
        """Forget all that was made."""
        for known in (self._made, self._evicted, self._current):
            known.clear()
