"""The traits of a level: how its fibers are iterated over, in which order they are updated, and where children are."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any


class Traversal(Enum):
    """The steps in which a cursor goes through a fiber that is read.

    In a *list*, `index(c)` is 0 unless c.q < c.end, and `next` past an entry or a stretch just adds 1 to c.q.
    """

    LOOKUP = "lookup"
    """none: every index has a child, whose position is computed"""
    ENTRIES = "entries"
    """from one index that has a child to the next"""
    ENTRY_LIST = "list of entries"
    BLOCKS = "blocks"
    """from one stretch of indices to the next; each index has a child, and these have consecutive positions"""
    BLOCK_LIST = "list of blocks"
    RUNS = "runs"
    """from one stretch of indices to the next; all indices of a stretch have one child"""
    RUN_LIST = "list of runs"


class UpdateOrder(Enum):
    """The order in which updates may visit the fibers and their indices."""

    ANY = "any"
    """any, any number of times"""
    ONE_INDEX = "one index"
    """one index of each fiber only, any number of times"""
    CONTIGUOUS = "contiguous"
    """ascending indices without gaps, in any number of visits of the fiber"""
    APPEND = "append"
    """each fiber once in a phase, and its indices, of which c.i is the last, ascending"""


class Identity(Enum):
    """The children of a fiber that exist, and their positions."""

    ENTERED = "entered"
    """the children that were entered, also if nothing was written there; at positions of which nothing is known"""
    ALL = "all"
    """one for each index, at a position computed from fiber and index"""
    BITMAP = "bitmap"
    """the children below which something was written, at such positions; elements elsewhere read as 0"""
    FIBER = "fiber"
    """the children below which something was written, at a position computed from the fiber alone"""
    APPENDED = "appended"
    """the children below which something was written, at positions that ascend with fibers and indices"""
    SPANNED = "spanned"
    """likewise, and the children between them"""
    NUMBERED = "numbered on insertion"
    """the children below which something was written, at the positions 1, 2, … as they are first entered"""


class _Derived:
    """The descriptor of `derive`."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer

    def __get__(self, level: object, of: type) -> Any:
        return self.answer(of)


def derive(answer: Callable[[Any], Any]) -> Any:
    """A class attribute that follows from what the class states; a class may state it itself instead."""
    return _Derived(answer)
