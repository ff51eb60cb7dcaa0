"""Words of 64 bits held as integers, as machines have them: bit 63 is the sign. Bits are numbered from 0, modulo 64."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any


def bit(k: int) -> int:
    """The word with bit k alone."""
    k %= 64
    return 1 << k if k < 63 else -(1 << 63)


def from_bit(x: int, k: int) -> int:
    """The word without its bits below bit k."""
    return x >> k % 64 << k % 64


def lowest_set_bit(x: int) -> int:
    """The lowest bit of a word, 64 if it has none."""
    return (x & -x).bit_length() - 1 if x else 64


def clear_lowest(x: int) -> int:
    """The word without its lowest bit."""
    return x - bit(lowest_set_bit(x)) if x else 0


def popcount(x: int) -> int:
    """The number of bits that are set in a word."""
    return (x % 2**64).bit_count()


def same(x: Any, y: Any) -> bool:
    """Whether two values are the same to the bit, so that NaN is itself, and 0.0 is not -0.0."""
    if isinstance(x, float) or isinstance(y, float):
        return struct.pack("<d", x) == struct.pack("<d", y)
    return bool(x == y)


def equal_or_nan(x: Any, y: Any) -> bool:
    """Whether two values are equal, or both NaN."""
    return bool(x == y or (x != x and y != y))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "bit": bit,
    "since": from_bit,
    "first": lowest_set_bit,
    "rest": clear_lowest,
    "count": popcount,
    "same": same,
    "alike": equal_or_nan,
}
"""The functions by the names that texts of levels call them by."""
