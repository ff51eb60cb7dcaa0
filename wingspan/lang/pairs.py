"""Pairs (x, i) of a number and an index, each in one word of 64 bits, so that one step updates one: ours.

    word = key(x) · 2³² + i

x has single precision, as a cell of the width `f32` has it, and i is an integer of 32 bits. The key of x is the number
that the bits of |x| are, with the sign of x. So words are in the order of x and, for equal x, of i; 0.0 and -0.0 are
one number; and the word of a cell that was never written is (0.0, 0).

`minby` keeps the lesser word, so of equal x the smaller i. `maxby` keeps the greater x, and of equal ones the smaller i
too. Both keep NaN, as min and max do: its key is below all others. NumPy's `argmin` and `argmax` do the same.
"""

from __future__ import annotations

import math
import struct

SECONDS = range(-(2**31), 2**31)
"""The range of a pair's second component."""

KEYS = 2**32
"""The distance between the words of neighbouring keys."""

NAN_KEY = -0x7F800001
"""The key of NaN: one less than that of -Inf."""


class Pair(int):
    """A pair, as its word. Words are ordered as pairs are.

    >>> p = Pair.of(0.5, 3)
    >>> p, p.first, p.second, p < Pair.of(0.5, 4) < Pair.of(2.0, -1)
    ((0.5, 3), 0.5, 3, True)
    """

    __slots__ = ()

    @staticmethod
    def of(first: float, second: int) -> Pair:
        """The pair of a double, which is rounded, and of one of `SECONDS`."""
        (bits,) = struct.unpack("<i", struct.pack("<f", single(first)))
        key = NAN_KEY if first != first else bits if bits >= 0 else -(bits & 0x7FFFFFFF)
        return Pair(key * KEYS + second)

    @property
    def key(self) -> int:
        """The number of `first` among all that it may be."""
        return (self + KEYS // 2) // KEYS

    @property
    def first(self) -> float:
        """The number."""
        if self.key == NAN_KEY:
            return math.nan
        size: float = struct.unpack("<f", struct.pack("<i", abs(self.key)))[0]
        return -size if self.key < 0 else size

    @property
    def second(self) -> int:
        """The index."""
        return self - self.key * KEYS

    def __repr__(self) -> str:
        return f"({_decimal(self.first)}, {self.second})"


def maxby(x: int, y: int) -> int:
    """Of two words the one with the greater number; with the smaller index if the numbers are equal; with NaN if any.

    >>> Pair(maxby(Pair.of(2.0, 3), Pair.of(2.0, 1)))
    (2.0, 1)
    """
    if NAN_KEY in (Pair(x).key, Pair(y).key):
        return min(x, y)
    return min(x, y, key=lambda word: 2 * Pair(word).second - word)


def single(x: float) -> float:
    """The nearest number of single precision, ties to even; an infinity beyond the largest."""
    from ctypes import c_float  # takes as long to load as this package's trees

    return c_float(x).value


def _decimal(x: float) -> str:
    """The shortest decimal that rounds to a number of single precision, as programs write it."""
    if not math.isfinite(x):
        return "NaN" if x != x else "Inf" if x > 0 else "-Inf"
    near = (float(f"{x:.{digits}g}") for digits in range(1, 10))
    return repr(next(d for d in near if single(d) == x))
