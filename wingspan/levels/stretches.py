"""What levels have in common whose entries are stretches of indices: runs of one child, and blocks of children."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from wingspan.levels.base import Below, Children, Unusual

HOLDS = """
    def holds(c, i):
        return 0 < c.i and c.i <= i and i <= c.last
"""
"""Whether i is in what is left, from c.i on, of the stretch that ends at c.last."""

WITH_GAPS = """
    def seek(c, i):
        if c.i < i:
            lvl.skip(c, i)
            lvl.load(c)
            c.i = i if c.i < i else c.i
    def index(c):
        return c.i if c.q < c.end else 0
    def stop(c):
        return c.last
    def next(c, i):
        if c.q < c.end and c.i <= i:
            if i < c.last:
                c.i = i + 1
            else:
                c.q = c.q + 1
                lvl.load(c)
"""
"""How a cursor goes through stretches with gaps between them: c.i to c.last is left of stretch c.q, and `load` reads
where it is.
"""


def begins(sizes: np.ndarray, indices: np.ndarray, below: Below | None = None) -> np.ndarray:
    """Which children of some fibers begin a stretch: those that follow no neighbour, nor one that equals what is below.

    `sizes` has the number of children of each fiber, `indices` all their indices.
    """
    new: np.ndarray = np.ones(len(indices), dtype=np.bool_)
    new[1:] = np.diff(indices) != 1
    if below is not None:
        values = below()
        new[1:] |= (values[1:] != values[:-1]).any(axis=1)
    new[firsts(sizes)] = True
    return new


def firsts(sizes: np.ndarray) -> np.ndarray:
    """The numbers of the first children of the fibers that have some."""
    begin: np.ndarray = np.cumsum(sizes) - sizes
    return begin[sizes > 0]


def sums(sizes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The sum of the values of each fiber's children."""
    total: np.ndarray = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=total[1:])
    last = np.cumsum(sizes)
    found: np.ndarray = total[last] - total[last - sizes]
    return found


def spread(
    sizes: np.ndarray, left: np.ndarray, right: np.ndarray, positions: np.ndarray, n: int, step: int = 0
) -> Children:
    """The children of fibers with so many stretches each, from `left` to `right`; Unusual if these do not ascend.

    The first child of a stretch is at its position, each following one `step` further on.
    """
    new: np.ndarray = np.ones(len(left), dtype=np.bool_)
    new[1:] = left[1:] > right[:-1]
    new[firsts(sizes)] = True
    if not (new & (left <= right) & (left >= 0) & (right < n)).all():
        raise Unusual
    return Spread(sizes, left, (right - left + 1).astype(np.int64), positions, step)


class Spread(Children):
    """The children of stretches, which take room only where their indices or positions are asked for."""

    def __init__(
        self, sizes: np.ndarray, left: np.ndarray, lengths: np.ndarray, positions: np.ndarray, step: int
    ) -> None:
        self.sizes = sums(sizes, lengths)
        self.left, self.lengths, self.starts, self.step = left, lengths, positions, step

    @cached_property
    def indices(self) -> np.ndarray:  # type: ignore[override]
        return self._spread(self.left, 1)

    @cached_property
    def positions(self) -> np.ndarray:  # type: ignore[override]
        return self._spread(self.starts, self.step)

    def _spread(self, first: np.ndarray, step: int) -> np.ndarray:
        """A number for each child: the first one of its stretch, and `step` more for each child before it there."""
        before = np.cumsum(self.lengths) - self.lengths
        found: np.ndarray = np.repeat(first - step * before, self.lengths)
        if step:
            found += np.arange(len(found))
        return found


def disorder(
    positions: np.ndarray, sizes: np.ndarray, entries: np.ndarray, left: np.ndarray, right: np.ndarray, gap: int
) -> str | None:
    """What is wrong with the stretches of some fibers, counted from 0; there are `gap` indices between two at least."""
    follows: np.ndarray = np.ones(len(left), dtype=np.bool_)
    follows[firsts(sizes)] = False
    after: np.ndarray = np.zeros(len(left), dtype=np.bool_)
    after[1:] = left[1:] <= right[:-1] + gap
    for bad, what in (
        (left > right, "it ends before it begins"),
        (follows & after, "it overlaps the one before it" if gap == 0 else "it touches the one before it"),
    ):
        if bad.any():
            k = int(np.argmax(bad))
            fiber = int(np.searchsorted(np.cumsum(sizes), k, side="right"))
            return f"fiber {positions[fiber] + 1}, entry {entries[k] + 1}: {what}"
    return None
