"""Arrays of pairs: records of NumPy's outside, and inside the words of `lang.pairs`, one by one in whole arrays."""

from __future__ import annotations

from functools import cache
from typing import Any

from wingspan.base.libraries import np
from wingspan.lang.pairs import KEYS, NAN_KEY

PAIR: np.dtype[Any]
"""The data type of a pair."""


def __getattr__(name: str) -> np.dtype[Any]:
    """Make the type of records when it is first asked for, as that loads NumPy."""
    if name != "PAIR":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _pair_dtype()


@cache
def _pair_dtype() -> np.dtype[Any]:
    return np.dtype([("first", np.float32), ("second", np.int32)])


def words(pairs: np.ndarray) -> np.ndarray:
    """The words of an array of pairs."""
    bits = np.ascontiguousarray(pairs["first"]).view(np.int32).astype(np.int64)
    keys = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    keys = np.where(np.isnan(pairs["first"]), NAN_KEY, keys)
    made: np.ndarray = keys * KEYS + pairs["second"]
    return made


def pairs(words: np.ndarray) -> np.ndarray:
    """The pairs with these words."""
    keys = (words + KEYS // 2) // KEYS
    made: np.ndarray = np.empty(words.shape, _pair_dtype())
    sizes = np.abs(keys).astype(np.int32).view(np.float32)
    made["first"] = np.where(keys == NAN_KEY, np.float32(np.nan), np.where(keys < 0, -sizes, sizes))
    made["second"] = words - keys * KEYS
    return made


def of_pairs(data: Any) -> bool:
    """Whether an array holds pairs, as records."""
    return isinstance(data, np.ndarray) and data.dtype == _pair_dtype()
