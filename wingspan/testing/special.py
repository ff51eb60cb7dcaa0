"""Rare properties of inputs: stored zeros, axes of extent 0, integers that doubles cannot represent."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

SPECIAL = ("zeros", "empty", "large")
"""`zeros`: every input whose fill value is 0 also stores some zeros. `empty`: half of the programs have an axis of
extent 0. `large`: integers include ±2³¹ and larger ones, some of which doubles cannot represent.
"""

LARGE = [2**31, -(2**31) - 1, 2**53 + 1, 2**62]
"""Products of two of the first ones overflow 64 bits; sums of a few do not."""


def with_zeros(array: np.ndarray) -> Any:
    """The array as a SciPy array that stores every second zero, and all other elements."""
    flat = array.reshape(-1)
    kept = np.flatnonzero((flat != 0) | (np.arange(flat.size) % 2 == 0))
    return scipy.sparse.coo_array((flat[kept], np.unravel_index(kept, array.shape)), shape=array.shape)
