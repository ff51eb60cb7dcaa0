"""The arrays that formats with a restricted pattern can hold."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy.sparse

from wingspan.base.errors import InputError
from wingspan.levels import Level, Tower
from wingspan.tensors.frozen import exact_elements, round_to_width
from wingspan.tensors.tensor import hold, load


def refusal(tower: Tower, array: np.ndarray, written: np.ndarray) -> str | None:
    """The reason that a tensor cannot hold the written elements of an array of exact values; None if it can.

    What is set to false in a `Pattern` is not stored.
    """
    if not tower.rank:
        return None
    if tower.leaf.implied:
        written = written & array.astype(np.bool_)
    try:
        if tower.kind == "pair":
            load(tower, zip(map(tuple, (np.argwhere(written) + 1).tolist()), array[written], strict=True))
        else:
            entries = round_to_width(array[written], tower.dtype), np.nonzero(written)
            hold(tower, scipy.sparse.coo_array(entries, shape=tower.shape))
    except InputError as error:
        return error.message
    return None


@lru_cache(maxsize=1 << 12)
def partial(levels: tuple[Level, ...]) -> tuple[int, ...]:
    """The axes, from 0, on which these levels cannot hold three indices, with neighbours that differ.

    The other axes have one index.
    """
    rank = Tower(levels, ()).rank
    towers = [Tower(levels, tuple(3 if axis == k else 1 for axis in range(rank))) for k in range(rank)]
    elements: np.ndarray = np.array([exact_elements[Tower(levels, ()).kind](v) for v in (1, 0, 1)], dtype=object)
    written = np.ones(3, dtype=np.bool_)
    return tuple(
        k for k, tower in enumerate(towers)
        if refusal(tower, elements.reshape(tower.shape), written.reshape(tower.shape)) is not None
    )  # fmt: skip
