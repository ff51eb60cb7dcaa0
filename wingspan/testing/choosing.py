"""Random choices for the writers of programs: by Hypothesis, which simplifies what fails, or by a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

from wingspan.base.dataclass import dataclass

T = TypeVar("T")


CHOICES = st.binary(min_size=4, max_size=4)
"""A byte for each of four choices. Drawing each choice by itself takes longer and gives fewer different programs, since
Hypothesis often repeats what it has drawn. Drawing all at once leaves it few ways to vary and to simplify them.
"""


@dataclass
class Chooser:
    """Chooses among alternatives, of which Hypothesis takes the first for the simplest."""

    between: Callable[[int, int], int]
    """an integer of an interval, both ends included"""

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.between(0, len(items) - 1)] if len(items) > 1 else items[0]

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        return self.between(0, one_in - 1) == one_in - 1

    def subset(self, items: Sequence[T], least: int = 0) -> list[T]:
        """Some of the items, in their order; with `least` 1, one of them at least."""
        return [item for item in items if self.chance(2)] or [self.pick(items)] * least

    def shuffle(self, items: Sequence[T]) -> list[T]:
        """The items in any order."""
        left = list(items)
        return [left.pop(self.between(0, len(left) - 1)) for _ in items]


def drawn_by(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Chooser:
    """Choices by Hypothesis, which simplifies them, among up to 256 alternatives."""
    left = chain.from_iterable(iter(lambda: draw(CHOICES), None))
    return Chooser(lambda low, high: low + next(left) % (high - low + 1))


def by_seed(seed: int | str) -> Chooser:
    """The choices that a seed determines."""
    return Chooser(Random(seed).randint)
